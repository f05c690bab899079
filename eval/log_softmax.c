/*
 * log-softmax of rows of logits, in double precision.
 *
 * The sum runs in 8 lanes, element i in lane i mod 8, which are added pairwise at the end.
 */
#include "eval/log_softmax.h"

#include <math.h>
#include <string.h>

#include "eval/exp_negative.h"

#define N_LANES 8

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
