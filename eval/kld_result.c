/*
 * Figures of a KL divergence.
 */
#include "eval/kld_result.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/exact_sum.h"
#include "eval/standard_errors.h"
#include "tools/cli/json_out.h"
#include "tools/cli/order_statistics.h"

static const double dp_levels[7] = {0, 0.01, 0.05, 0.5, 0.95, 0.99, 1};
static const char *const dp_names[7] = {"dp_min", "dp_p01", "dp_p05", "dp_median",
                                        "dp_p95", "dp_p99", "dp_max"};

/* ---- Figures ----------------------------------------------------------------------------------- */

/* Standard error of the mean of x [n] with windows as blocks. */
static double block_error(const double *x, const struct kld_tokens *tokens, size_t n_windows,
                          struct block *blocks)
{
    for (size_t w = 0; w < n_windows; w++) {
        blocks[w] = (struct block){.size = (double)(tokens->first[w + 1] - tokens->first[w])};
        for (size_t i = tokens->first[w]; i < tokens->first[w + 1]; i++)
            blocks[w].sum += x[i];
    }
    return block_standard_error(blocks, n_windows);
}

/* Pearson's; NaN when one of them does not vary. */
static double correlation(const struct kld_tokens *tokens, double mean, double base_mean)
{
    struct exact_sum sums[3] = {0};
    for (size_t i = 0; i < tokens->n; i++) {
        double x = tokens->tokens[i].logprob - mean, y = tokens->tokens[i].base_logprob - base_mean;
        exact_sum_add(&sums[0], x * x);
        exact_sum_add(&sums[1], y * y);
        exact_sum_add(&sums[2], x * y);
    }
    double xx = exact_sum_value(&sums[0]), yy = exact_sum_value(&sums[1]);
    return xx > 0 && yy > 0 ? exact_sum_value(&sums[2]) / sqrt(xx * yy) : NAN;
}

static void figures_of_kld(struct kld_result *r, const struct kld_tokens *tokens, double *x,
                           size_t n_windows, struct block *blocks)
{
    size_t n = tokens->n;
    for (size_t i = 0; i < n; i++)
        x[i] = tokens->tokens[i].kld;
    r->kld_mean = mean_of(x, n);
    r->kld_stderr = block_error(x, tokens, n_windows, blocks);
    r->kld_stderr_iid = mean_standard_error(x, n);
    sort_ascending(x, n);
    r->kld_min = x[0];
    r->kld_median = quantile_of_sorted(x, n, 0.5);
    r->kld_p90 = quantile_of_sorted(x, n, 0.9);
    r->kld_p95 = quantile_of_sorted(x, n, 0.95);
    r->kld_p99 = quantile_of_sorted(x, n, 0.99);
    r->kld_p999 = quantile_of_sorted(x, n, 0.999);
    r->kld_max = x[n - 1];
}

static void figures_of_probability(struct kld_result *r, const struct kld_tokens *tokens, double *x,
                                   size_t n_windows, struct block *blocks)
{
    size_t n = tokens->n;
    struct exact_sum squares = {0};
    for (size_t i = 0; i < n; i++) {
        x[i] = exp(tokens->tokens[i].logprob) - exp(tokens->tokens[i].base_logprob);
        exact_sum_add(&squares, x[i] * x[i]);
    }
    r->dp_mean = mean_of(x, n);
    r->dp_mean_stderr = block_error(x, tokens, n_windows, blocks);
    r->dp_rms = sqrt(exact_sum_value(&squares) / (double)n);
    sort_ascending(x, n);
    for (size_t i = 0; i < 7; i++)
        r->dp_quantiles[i] = quantile_of_sorted(x, n, dp_levels[i]);
}

static void figures_of_perplexity(struct kld_result *r, const struct kld_tokens *tokens, double *x,
                                  size_t n_windows, struct block *blocks)
{
    size_t n = tokens->n;
    struct exact_sum sum = {0}, base_sum = {0};
    for (size_t i = 0; i < n; i++) {
        exact_sum_add(&sum, tokens->tokens[i].logprob);
        exact_sum_add(&base_sum, tokens->tokens[i].base_logprob);
        x[i] = tokens->tokens[i].base_logprob - tokens->tokens[i].logprob;
    }
    double mean = exact_sum_value(&sum) / (double)n;
    double base_mean = exact_sum_value(&base_sum) / (double)n;
    r->ppl = exp(-mean);
    r->base_ppl = exp(-base_mean);
    r->ln_ppl_ratio = mean_of(x, n);
    r->ln_ppl_ratio_stderr = block_error(x, tokens, n_windows, blocks);
    r->ppl_ratio = exp(r->ln_ppl_ratio);
    r->correlation = correlation(tokens, mean, base_mean);
}

bool kld_result_compute(struct kld_result *r, const struct kld_tokens *tokens, size_t n_windows,
                        struct rml_error *err)
{
    *r = (struct kld_result){.n_scored = tokens->n};
    double *x = calloc(tokens->n + 1, sizeof *x);
    struct block *blocks = calloc(n_windows + 1, sizeof *blocks);
    if (!x || !blocks || tokens->n == 0) {
        free(x);
        free(blocks);
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu tokens", tokens->n);
    }
    figures_of_kld(r, tokens, x, n_windows, blocks);
    figures_of_probability(r, tokens, x, n_windows, blocks);
    figures_of_perplexity(r, tokens, x, n_windows, blocks);
    for (size_t i = 0; i < tokens->n; i++)
        x[i] = tokens->tokens[i].same_top;
    r->same_top = mean_of(x, tokens->n);
    r->same_top_stderr = block_error(x, tokens, n_windows, blocks);
    free(x);
    free(blocks);
    return true;
}

/* ---- Output ------------------------------------------------------------------------------------- */

json_t *kld_json(const struct kld_result *r, const char *protocol, size_t n_ctx)
{
    const struct {
        const char *key;
        double value;
    } figures[] = {
        {"kld_mean", r->kld_mean},
        {"kld_stderr", r->kld_stderr},
        {"kld_stderr_iid", r->kld_stderr_iid},
        {"kld_median", r->kld_median},
        {"kld_p90", r->kld_p90},
        {"kld_p95", r->kld_p95},
        {"kld_p99", r->kld_p99},
        {"kld_p999", r->kld_p999},
        {"kld_max", r->kld_max},
        {"kld_min", r->kld_min},
        {"same_top", r->same_top},
        {"same_top_stderr", r->same_top_stderr},
        {"dp_mean", r->dp_mean},
        {"dp_mean_stderr", r->dp_mean_stderr},
        {"dp_rms", r->dp_rms},
        {"ppl", r->ppl},
        {"base_ppl", r->base_ppl},
        {"ppl_ratio", r->ppl_ratio},
        {"ln_ppl_ratio", r->ln_ppl_ratio},
        {"ln_ppl_ratio_stderr", r->ln_ppl_ratio_stderr},
        {"correlation", r->correlation},
    };
    json_t *json = json_pack("{ss sI sI}", "protocol", protocol, "n_ctx", (json_int_t)n_ctx,
                             "n_scored", (json_int_t)r->n_scored);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        json_object_set_new(json, figures[i].key, cli_json_real(figures[i].value));
    for (size_t i = 0; i < 7; i++)
        json_object_set_new(json, dp_names[i], cli_json_real(r->dp_quantiles[i]));
    return json;
}

static void print_with_error(const char *name, double value, double standard_error)
{
    printf("%-22s %.6g", name, value);
    if (!isnan(standard_error))
        printf(" +- %.3g", standard_error);
    putchar('\n');
}

void kld_print(const struct kld_result *r, const char *protocol, size_t n_ctx)
{
    printf("%-22s %s, context %zu, tokens scored %zu\n", "protocol", protocol, n_ctx, r->n_scored);
    print_with_error("KL divergence", r->kld_mean, r->kld_stderr);
    printf("%-22s median %.6g, 90 %% %.6g, 95 %% %.6g, 99 %% %.6g, 99.9 %% %.6g\n", "",
           r->kld_median, r->kld_p90, r->kld_p95, r->kld_p99, r->kld_p999);
    printf("%-22s from %.6g to %.6g\n", "", r->kld_min, r->kld_max);
    print_with_error("same best token", r->same_top, r->same_top_stderr);
    print_with_error("change of p, mean", r->dp_mean, r->dp_mean_stderr);
    printf("%-22s %.6g\n", "change of p, RMS", r->dp_rms);
    printf("%-22s %.6g, base %.6g\n", "perplexity", r->ppl, r->base_ppl);
    print_with_error("ln of their ratio", r->ln_ppl_ratio, r->ln_ppl_ratio_stderr);
    print_with_error("correlation of ln p", r->correlation, NAN);
}

bool kld_store(const struct kld_result *r, struct eval_run *run, const struct eval_task *task,
               struct rml_error *err)
{
    const struct {
        const char *name;
        double value, standard_error;
    } figures[] = {
        {"kld_mean", r->kld_mean, r->kld_stderr},
        {"kld_median", r->kld_median, NAN},
        {"kld_p99", r->kld_p99, NAN},
        {"kld_max", r->kld_max, NAN},
        {"same_top", r->same_top, r->same_top_stderr},
        {"dp_rms", r->dp_rms, NAN},
        {"ppl", r->ppl, NAN},
        {"ln_ppl_ratio", r->ln_ppl_ratio, r->ln_ppl_ratio_stderr},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        if (!eval_run_metric(run, task, figures[i].name, figures[i].value,
                             figures[i].standard_error, (int64_t)r->n_scored, err))
            return false;
    return true;
}
