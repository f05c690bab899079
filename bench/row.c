#include "bench/row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/build_info.h"
#include "tools/cli/json_out.h"

#define PROFILE_PREFIX "profile."

static void clear_figures(struct bench_row *row)
{
    row->stats = summarize(NULL, 0, BENCH_CONFIDENCE);
    row->ttft_ns = row->itl_p50_ns = row->itl_p90_ns = row->itl_p99_ns = row->itl_max_ns = NAN;
    row->roof_fraction = NAN;
}

struct bench_row *bench_row_create(const struct bench_spec *spec, struct rml_error *err)
{
    struct bench_row *row = calloc(1, sizeof *row);
    if (!row) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a result");
        return NULL;
    }
    snprintf(row->engine_version, sizeof row->engine_version, "%s%s%.12s%s", build_info.version,
             build_info.git_commit[0] ? "+" : "", build_info.git_commit,
             build_info.git_dirty ? "+dirty" : "");
    row->spec = spec;
    row->what = spec->what;
    row->result = (struct store_result){.engine_version = row->engine_version,
                                        .items_per_iter = NAN,
                                        .bytes_per_iter = -1,
                                        .flops_per_iter = -1,
                                        .rss_bytes = -1,
                                        .kv_bytes = -1};
    clear_figures(row);
    if (spec->skip_reason) {
        snprintf(row->error, sizeof row->error, "%s", spec->skip_reason);
        row->result.status = STORE_SKIPPED;
        row->result.error = row->error;
    }
    return row;
}

void bench_row_destroy(struct bench_row *row)
{
    if (row) {
        bench_samples_release(&row->samples);
        json_decref(row->profile);
        free(row->counters);
        free(row->counter_names);
    }
    free(row);
}

void bench_row_fail(struct bench_row *row, const struct rml_error *err)
{
    bench_samples_release(&row->samples);
    snprintf(row->error, sizeof row->error, "%s%s%s", err->file, err->file[0] ? ": " : "",
             err->message);
    row->result.status = STORE_ERROR;
    row->result.error = row->error;
    row->result.samples = NULL;
    row->result.token_times = NULL;
    row->result.n_samples = row->result.n_token_times = row->result.n_counters = 0;
    row->result.iters_per_rep = row->result.warmup_iters = 0;
    row->result.output_sha256 = NULL;
    clear_figures(row);
}

/* ---- Figures ------------------------------------------------------------------------- */

static bool summarize_samples(struct bench_row *row, struct rml_error *err)
{
    const struct bench_samples *s = &row->samples;
    double *ns = malloc(s->n_samples * sizeof *ns);
    if (!ns)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for statistics");
    size_t n = 0;
    for (size_t i = 0; i < s->n_samples; i++) {
        if (!s->samples[i].is_warmup)
            ns[n++] = (double)s->samples[i].wall_ns / (double)s->samples[i].iters;
    }
    row->stats = summarize(ns, n, BENCH_CONFIDENCE);
    free(ns);
    return true;
}

/* Time from each token to the next; the first of a repetition counts from its start. */
static bool summarize_tokens(struct bench_row *row, struct rml_error *err)
{
    const struct bench_samples *s = &row->samples;
    if (s->n_token_times == 0)
        return true;
    double *ns = malloc(s->n_token_times * sizeof *ns);
    if (!ns)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for statistics");
    for (size_t i = 0; i < s->n_token_times; i++) {
        const struct store_token_time *t = &s->token_times[i];
        int64_t before = t->idx > 0 ? t[-1].t_mono_ns : s->samples[t->rep].t_mono_ns;
        ns[i] = (double)(t->t_mono_ns - before);
    }
    sort_ascending(ns, s->n_token_times);
    row->itl_p50_ns = quantile_of_sorted(ns, s->n_token_times, 0.50);
    row->itl_p90_ns = quantile_of_sorted(ns, s->n_token_times, 0.90);
    row->itl_p99_ns = quantile_of_sorted(ns, s->n_token_times, 0.99);
    row->itl_max_ns = ns[s->n_token_times - 1];
    free(ns);
    return true;
}

void bench_row_set_facts(struct bench_row *row, const struct bench_facts *facts)
{
    row->what.isa = facts->isa;
    row->what.work_version = facts->work_version;
    row->result.items_per_iter = facts->items_per_iter;
    row->result.bytes_per_iter = facts->bytes_per_iter;
    row->result.flops_per_iter = facts->flops_per_iter;
    row->result.kv_bytes = facts->kv_nbytes;
}

bool bench_row_take_samples(struct bench_row *row, struct bench_samples *samples,
                            struct rml_error *err)
{
    bench_samples_release(&row->samples);
    row->samples = *samples;
    *samples = (struct bench_samples){0};
    if (!summarize_samples(row, err) || !summarize_tokens(row, err)) {
        bench_samples_release(&row->samples);
        return false;
    }
    if (row->spec->ends_with_token)
        row->ttft_ns = row->stats.median;
    struct store_result *r = &row->result;
    r->status = row->samples.steady ? STORE_OK : STORE_UNSTABLE;
    r->warmup_iters = row->samples.warmup_iters;
    r->iters_per_rep = row->samples.iters_per_rep;
    r->samples = row->samples.samples;
    r->n_samples = row->samples.n_samples;
    r->token_times = row->samples.token_times;
    r->n_token_times = row->samples.n_token_times;
    return true;
}

/* The profile that the counters were made from (take_profile); NULL when there was none. */
static json_t *recall_profile(const struct store_result *r)
{
    json_t *profile = NULL;
    for (size_t i = 0; i < r->n_counters; i++) {
        size_t n_prefix = strlen(PROFILE_PREFIX);
        if (strncmp(r->counters[i].metric, PROFILE_PREFIX, n_prefix) != 0)
            continue;
        const char *name = r->counters[i].metric + n_prefix, *kind = strrchr(name, '.');
        char operation[64];
        if (!kind)
            continue;
        snprintf(operation, sizeof operation, "%.*s", (int)(kind - name), name);
        profile = profile ? profile : json_object();
        json_t *times = json_object_get(profile, operation);
        if (!times && json_object_set_new(profile, operation, times = json_object()) != 0)
            continue;
        json_object_set_new(times, kind + 1, cli_json_real(r->counters[i].value));
    }
    return profile;
}

bool bench_row_recall(struct bench_row *row, const struct store_result *r, struct rml_error *err)
{
    struct bench_samples samples = {
        .samples = calloc(r->n_samples + 1, sizeof *samples.samples),
        .n_samples = r->n_samples,
        .token_times = calloc(r->n_token_times + 1, sizeof *samples.token_times),
        .n_token_times = r->n_token_times,
        .iters_per_rep = r->iters_per_rep,
        .warmup_iters = r->warmup_iters,
        .steady = r->status == STORE_OK,
    };
    if (!samples.samples || !samples.token_times) {
        bench_samples_release(&samples);
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for samples");
    }
    memcpy(samples.samples, r->samples, r->n_samples * sizeof *samples.samples);
    memcpy(samples.token_times, r->token_times, r->n_token_times * sizeof *samples.token_times);
    row->profile = recall_profile(r);
    row->result.items_per_iter = r->items_per_iter;
    row->result.bytes_per_iter = r->bytes_per_iter;
    row->result.flops_per_iter = r->flops_per_iter;
    row->result.rss_bytes = r->rss_bytes;
    row->result.kv_bytes = r->kv_bytes;
    if (r->n_samples > 0 && !bench_row_take_samples(row, &samples, err))
        return false;
    bench_samples_release(&samples);
    row->result.status = r->status;
    snprintf(row->output_sha256, sizeof row->output_sha256, "%s",
             r->output_sha256 ? r->output_sha256 : "");
    row->result.output_sha256 = row->output_sha256[0] ? row->output_sha256 : NULL;
    snprintf(row->error, sizeof row->error, "%s", r->error ? r->error : "");
    row->result.error = row->error[0] ? row->error : NULL;
    return true;
}

/* "profile.qkv.wall_ns" and so on, as counters of the result. */
static bool take_profile(struct bench_row *row, json_t *profile, struct rml_error *err)
{
    row->profile = profile;
    size_t n = 2 * json_object_size(profile), i = 0;
    if (n == 0)
        return true;
    row->counters = calloc(n, sizeof *row->counters);
    row->counter_names = calloc(n, sizeof *row->counter_names);
    if (!row->counters || !row->counter_names)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a profile");
    const char *operation;
    json_t *times;
    json_object_foreach(profile, operation, times)
    {
        static const char *const kinds[] = {"wall_ns", "wait_ns"};
        for (size_t k = 0; k < 2; k++, i++) {
            snprintf(row->counter_names[i], sizeof row->counter_names[i], PROFILE_PREFIX "%s.%s",
                     operation, kinds[k]);
            row->counters[i] = (struct store_counter){
                .metric = row->counter_names[i],
                .value = json_number_value(json_object_get(times, kinds[k]))};
        }
    }
    row->result.counters = row->counters;
    row->result.n_counters = n;
    return true;
}

static bool measure(struct bench_row *row, struct bench_child *child, int n_reps, bool profile,
                    struct rml_error *err)
{
    struct bench_facts facts;
    struct bench_samples samples;
    struct bench_outcome outcome;
    if (!bench_child_open(child, row->spec, &facts, err))
        return false;
    bench_row_set_facts(row, &facts);
    if (!bench_child_measure(child, n_reps, profile, &samples, &outcome, err))
        return false;
    if (!bench_row_take_samples(row, &samples, err)) {
        json_decref(outcome.profile);
        return false;
    }
    if (!take_profile(row, outcome.profile, err))
        return false;
    snprintf(row->output_sha256, sizeof row->output_sha256, "%s", outcome.output_sha256);
    row->result.output_sha256 = row->output_sha256[0] ? row->output_sha256 : NULL;
    row->result.rss_bytes = outcome.rss_nbytes;
    row->result.kv_bytes = outcome.kv_nbytes;
    return true;
}

bool bench_row_measure(struct bench_row *row, struct bench_child *child, int n_reps, bool profile,
                       struct rml_error *err)
{
    if (measure(row, child, n_reps, profile, err))
        return true;
    if (err->code != RML_CANCELLED)
        bench_row_fail(row, err);
    return false;
}

static double per_second(const struct bench_row *row, double amount)
{
    return amount < 0 ? NAN : amount * 1e9 / row->stats.median;
}

double bench_row_tokens_per_second(const struct bench_row *row)
{
    return per_second(row, row->result.items_per_iter);
}

double bench_row_bytes_per_second(const struct bench_row *row)
{
    return per_second(row, row->result.bytes_per_iter);
}

double bench_row_flops_per_second(const struct bench_row *row)
{
    return per_second(row, row->result.flops_per_iter);
}
