/*
 * Standard errors of the figures that rml-eval prints (eval-semantics.md, section 4). Sums are
 * exact before they are rounded (eval/exact_sum.h), so that no bit depends on the order given; what
 * is not defined (one block, one item) is NaN, never 0 and never a negative variance: deviations
 * are squared, not differences of squares.
 */
#ifndef EVAL_STANDARD_ERRORS_H
#define EVAL_STANDARD_ERRORS_H

#include <stddef.h>

/* A block of values that are not independent of each other (a window, a document). */
struct block {
    double sum;  /* of the values */
    double size; /* how many, or what they are related to (bytes) */
};

/* The sum of block sums over the sum of sizes; NaN when there is no size. */
double block_ratio(const struct block *blocks, size_t n);

/*
 * Standard error of block_ratio: sqrt(G / (G - 1) * sum_g (sum_g - ratio * size_g)^2) / sum of
 * sizes. With sizes that count values this is the block standard error of their mean, with
 * sizes in bytes the ratio estimator. Blocks of size 0 do not count. NaN for fewer than two.
 */
double block_standard_error(const struct block *blocks, size_t n);

/* s / sqrt(n) of independent values, s with n - 1: the standard error of their mean. */
double mean_standard_error(const double *x, size_t n);

/* The mean; NaN for n = 0. */
double mean_of(const double *x, size_t n);

#endif
