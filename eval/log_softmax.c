/*
 * log-softmax of rows of logits, in double precision.
 *
 * exp(x) for x <= 0 is 2^k exp(r) with k = round(x / ln 2) and |r| <= ln(2) / 2; exp(r) is its
 * Taylor series to r^11 (the next term is below 0.3466^12 / 12! = 6.3e-15). Written
 * without branches so that the compiler makes vectors of it; nothing is contracted
 * (-ffp-contract=off), so a wider instruction set gives the same bits.
 *
 * The sum runs in 8 lanes, element i in lane i mod 8, which are added pairwise at the end.
 */
#include "eval/log_softmax.h"

#include <math.h>
#include <string.h>

#define N_LANES 8

/* exp(x), x <= 0; exactly 0 below -708, where the exponent would leave its field. */
static inline __attribute__((always_inline)) double exp_negative(double x)
{
    /* x / ln 2 + 1.5 * 2^52 rounds to a whole number in the low bits of the mantissa. */
    const double shifter = 0x1.8p52;
    const double clipped = x < -708.0 ? -708.0 : x;
    double shifted = clipped * 0x1.71547652b82fep+0 + shifter;
    double k = shifted - shifter;
    /* ln 2 in two parts, the first with enough low zero bits for k to multiply it exactly. */
    double r = (clipped - k * 0x1.62e42fefa3800p-1) - k * 0x1.ef35793c76730p-45;
    double p = 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    int64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits <<= 52; /* k lands in the exponent's field, the shifter's own bits fall out */
    int64_t value;
    memcpy(&value, &p, sizeof value);
    value += bits;
    double scaled;
    memcpy(&scaled, &value, sizeof scaled);
    return x < -708.0 ? 0.0 : scaled;
}

/* sum exp(x[i] - max) */
static inline __attribute__((always_inline)) double sum_exponentials(const float *x, size_t n,
                                                                     double max)
{
    double lanes[N_LANES] = {0};
    size_t i = 0;
    for (; i + N_LANES <= n; i += N_LANES)
        for (size_t j = 0; j < N_LANES; j++)
            lanes[j] += exp_negative((double)x[i + j] - max);
    for (size_t j = 0; i < n; i++, j++)
        lanes[j] += exp_negative((double)x[i] - max);
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
           ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/* The greatest of x, and whether all are finite: an exponent field of ones is not. */
static inline __attribute__((always_inline)) bool find_max(const float *x, size_t n, float *max)
{
    float lanes[N_LANES];
    uint32_t wrong[N_LANES] = {0};
    for (size_t j = 0; j < N_LANES; j++)
        lanes[j] = x[0];
    for (size_t i = 0; i < n; i += N_LANES) {
        size_t n_here = n - i < N_LANES ? n - i : N_LANES;
        float values[N_LANES];
        uint32_t bits[N_LANES];
        if (n_here == N_LANES) {
            memcpy(values, x + i, sizeof values);
        } else {
            for (size_t j = 0; j < N_LANES; j++)
                values[j] = x[i + (j < n_here ? j : 0)];
        }
        memcpy(bits, values, sizeof bits);
        for (size_t j = 0; j < N_LANES; j++) {
            lanes[j] = values[j] > lanes[j] ? values[j] : lanes[j];
            wrong[j] |= (bits[j] & 0x7f800000U) == 0x7f800000U;
        }
    }
    uint32_t any = 0;
    *max = lanes[0];
    for (size_t j = 0; j < N_LANES; j++) {
        *max = lanes[j] > *max ? lanes[j] : *max;
        any |= wrong[j];
    }
    return any == 0;
}

static inline __attribute__((always_inline)) struct logit_row reduce(const float *x, size_t n)
{
    struct logit_row row = {.logsumexp = NAN, .best = 0, .bad = -1};
    float max;
    if (!find_max(x, n, &max)) {
        for (size_t i = 0; row.bad < 0; i++)
            row.bad = isfinite(x[i]) ? -1 : (int32_t)i;
        return row;
    }
    while (x[row.best] != max)
        row.best++;
    row.logsumexp = (double)max + log(sum_exponentials(x, n, max));
    return row;
}

static struct logit_row reduce_any(const float *x, size_t n)
{
    return reduce(x, n);
}

#if defined(__x86_64__)
/* The same operations in the same order, four doubles at a time: the same bits. */
__attribute__((target("avx2"))) static struct logit_row reduce_avx2(const float *x, size_t n)
{
    return reduce(x, n);
}
#endif

struct logit_row log_softmax_row(const float *logits, size_t n_vocab)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return reduce_avx2(logits, n_vocab);
#endif
    return reduce_any(logits, n_vocab);
}

struct row_tasks {
    const float *logits;
    size_t n_vocab;
    struct logit_row *rows;
};

static void one_row(void *arg, size_t r, unsigned worker)
{
    (void)worker;
    const struct row_tasks *tasks = arg;
    tasks->rows[r] = log_softmax_row(tasks->logits + r * tasks->n_vocab, tasks->n_vocab);
}

void log_softmax_rows(struct rml_thread_pool *pool, const float *logits, size_t n_rows,
                      size_t n_vocab, struct logit_row *rows)
{
    struct row_tasks tasks = {.logits = logits, .n_vocab = n_vocab, .rows = rows};
    rmli_parallel_for(pool, n_rows, one_row, &tasks);
}
