/*
 * KL divergence of one row, in 8 lanes of double precision as log_softmax.c.
 */
#include "eval/kld_row.h"

#include "eval/exp_negative.h"

#define N_LANES 8

/* exp(x) ln(e^x / q) with ln p = x - a, ln q = y - b. Rounding can leave ln p above 0 by some
 * 1e-16, where the argument of exp is cut to 0. */
static inline __attribute__((always_inline)) double term(double log_p, double log_q)
{
    return exp_negative(log_p < 0 ? log_p : 0) * (log_p - log_q);
}

static inline __attribute__((always_inline)) double add_lanes(const double lanes[N_LANES])
{
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
           ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

static inline __attribute__((always_inline)) double
sum_terms(const float *p, double log_sum_p, const float *q, double log_sum_q, size_t n)
{
    double lanes[N_LANES] = {0};
    size_t i = 0;
    for (; i + N_LANES <= n; i += N_LANES)
        for (size_t j = 0; j < N_LANES; j++)
            lanes[j] += term((double)p[i + j] - log_sum_p, (double)q[i + j] - log_sum_q);
    for (size_t j = 0; i < n; i++, j++)
        lanes[j] += term((double)p[i] - log_sum_p, (double)q[i] - log_sum_q);
    return add_lanes(lanes);
}

static double sum_terms_any(const float *p, double log_sum_p, const float *q, double log_sum_q,
                            size_t n)
{
    return sum_terms(p, log_sum_p, q, log_sum_q, n);
}

#if defined(__x86_64__)
/* The same operations in the same order, four doubles at a time: the same bits. */
__attribute__((target("avx2"))) static double
sum_terms_avx2(const float *p, double log_sum_p, const float *q, double log_sum_q, size_t n)
{
    return sum_terms(p, log_sum_p, q, log_sum_q, n);
}
#endif

static double divergence(const struct base_row *base, const float *q, double log_sum_q, size_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return sum_terms_avx2(base->logits, base->logsumexp, q, log_sum_q, n);
#endif
    return sum_terms_any(base->logits, base->logsumexp, q, log_sum_q, n);
}

static float coded_logprob(const struct base_row *base, size_t v)
{
    return base->scale * (float)base->codes[v] + base->min_log_prob;
}

static double divergence_from_codes(const struct base_row *base, const float *q, double log_sum_q,
                                    size_t n)
{
    double sum = 0;
    for (size_t v = 0; v < n; v++) {
        float log_p = coded_logprob(base, v);
        if (log_p > -16.0F)
            sum += term((double)log_p, (double)q[v] - log_sum_q);
    }
    return sum;
}

struct kld_token kld_row(const struct base_row *base, const float *logits,
                         const struct logit_row *candidate, size_t n_vocab, int32_t target)
{
    size_t t = (size_t)target;
    struct kld_token token = {
        .logprob = (double)logits[t] - candidate->logsumexp,
        .same_top = base->best == candidate->best,
    };
    if (base->codes) {
        token.base_logprob = (double)coded_logprob(base, t);
        token.kld = divergence_from_codes(base, logits, candidate->logsumexp, n_vocab);
    } else {
        token.base_logprob = (double)base->logits[t] - base->logsumexp;
        token.kld = divergence(base, logits, candidate->logsumexp, n_vocab);
    }
    return token;
}
