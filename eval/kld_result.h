/*
 * From tokens of two runs to the figures of a KL divergence.
 */
#ifndef EVAL_KLD_RESULT_H
#define EVAL_KLD_RESULT_H

#include "eval/kld_pass.h"

struct json_t;

/* Rates and differences of probability are fractions. Standard errors count windows as blocks
 * (those of one window: NaN), *_iid take tokens as independent, as llama.cpp does. */
struct kld_result {
    size_t n_scored;
    double kld_mean, kld_stderr, kld_stderr_iid, kld_median, kld_p90, kld_p95, kld_p99, kld_p999,
        kld_max, kld_min;
    double same_top, same_top_stderr;
    double dp_mean, dp_mean_stderr, dp_rms; /* of the probability of the token that is there */
    double dp_quantiles[7];                 /* min, 1, 5, 50, 95, 99 %, max */
    double ppl, base_ppl, ln_ppl_ratio, ln_ppl_ratio_stderr, ppl_ratio, correlation;
};

bool kld_result_compute(struct kld_result *result, const struct kld_tokens *tokens,
                        size_t n_windows, struct rml_error *err);

/* The document of --json without settings. */
struct json_t *kld_json(const struct kld_result *result, const char *protocol, size_t n_ctx);
void kld_print(const struct kld_result *result, const char *protocol, size_t n_ctx);
bool kld_store(const struct kld_result *result, struct eval_run *run, const struct eval_task *task,
               struct rml_error *err);

#endif
