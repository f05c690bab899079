/*
 * log-softmax against long double sums, and at the values where it could go wrong.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "eval/log_softmax.h"

static long double logsumexp_exactly(const float *x, size_t n)
{
    long double max = x[0], sum = 0;
    for (size_t i = 0; i < n; i++)
        max = x[i] > max ? x[i] : max;
    for (size_t i = 0; i < n; i++)
        sum += expl((long double)x[i] - max);
    return max + logl(sum);
}

Test(log_softmax, bf16_log_softmax_that_quantises_sums)
{
    uint64_t state = 1;
    float x[1000];
    for (int round = 0; round < 200; round++) {
        size_t n = 1 + (size_t)round * 5;
        float scale = (float)(1 + round % 40);
        for (size_t i = 0; i < n; i++) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            x[i] = ((float)(state >> 40) / 8388608.0F - 1) * scale;
        }
        struct logit_row row = log_softmax_row(x, n);
        double want = (double)logsumexp_exactly(x, n);
        cr_expect(row.bad == -1);
        /* f64 rounding of the result, of the sum's logarithm, and 1e-14 of exp */
        cr_expect(fabs(row.logsumexp - want) <= 3e-14 + 4e-16 * fabs(want),
                  "n %zu: %.17g, want %.17g", n, row.logsumexp, want);
        for (size_t i = 0; i < n; i++)
            cr_expect(x[i] < x[row.best] || (int32_t)i >= row.best);
    }
}

Test(log_softmax, far_values_vanish_and_equal_ones_count)
{
    const float far[] = {3e38F, -3e38F, 0};
    cr_expect(log_softmax_row(far, 3).logsumexp == (double)3e38F);
    const float equal[] = {-2, -2, -2, -2};
    struct logit_row row = log_softmax_row(equal, 4);
    cr_expect(row.best == 0 && fabs(row.logsumexp - (log(4) - 2)) < 1e-15);
    const float one[] = {7.5F};
    cr_expect(log_softmax_row(one, 1).logsumexp == 7.5);
}

Test(log_softmax, a_nan_or_infinite_logit_is_told)
{
    float x[21] = {0};
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t at = 0; at < 21; at++)
        for (int b = 0; b < 3; b++) {
            x[at] = bad[b];
            cr_expect(log_softmax_row(x, 21).bad == (int32_t)at);
            x[at] = 0;
        }
    cr_expect(log_softmax_row(x, 21).bad == -1);
}

Test(log_softmax, does_not_depend_on_the_number_of_workers)
{
    enum { N_ROWS = 9, N_VOCAB = 777 };
    static float logits[N_ROWS * N_VOCAB];
    for (size_t i = 0; i < N_ROWS * N_VOCAB; i++)
        logits[i] = (float)((i * 7919) % 1009) * 0.03F;
    struct logit_row rows[N_ROWS];
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct rml_thread_pool *pool = rml_thread_pool_create(threads, NULL);
        log_softmax_rows(pool, logits, N_ROWS, N_VOCAB, rows);
        for (size_t r = 0; r < N_ROWS; r++)
            cr_expect(rows[r].logsumexp ==
                      log_softmax_row(logits + r * N_VOCAB, N_VOCAB).logsumexp);
        rml_thread_pool_destroy(pool);
    }
}
