/*
 * KL divergence of one row: sum over the whole vocabulary of p_b (ln p_b - ln p_q), no floor.
 */
#ifndef EVAL_KLD_ROW_H
#define EVAL_KLD_ROW_H

#include "eval/log_softmax.h"

/* What is known of a row of the base. */
struct base_row {
    const float *logits; /* [n_vocab]: ln p_b(v) = logits[v] - logsumexp; NULL: of codes */
    double logsumexp;
    int32_t best;

    /* llama.cpp's 16 bits: ln p_b(v) = scale * codes[v] + min_log_prob in f32. Its writer cuts
     * log-probabilities 16 below the greatest, so those of -16 and less are left out of the sum,
     * as its reader does; p_b is not normalised again. */
    const uint16_t *codes;
    float scale, min_log_prob;
};

/* Of one scored token. */
struct kld_token {
    double logprob, base_logprob; /* ln p of the token that is there */
    double kld;
    double same_top; /* 1 when both have the same best token, else 0 */
};

/* One worker computes a row in one order of additions. */
struct kld_token kld_row(const struct base_row *base, const float *logits,
                         const struct logit_row *candidate, size_t n_vocab, int32_t target);

#endif
