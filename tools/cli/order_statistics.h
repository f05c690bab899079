/*
 * Medians, and intervals for them that assume nothing about the distribution.
 *
 * Each of n independent samples lies below the true median with probability 1/2,
 * whatever the distribution, so the number of them that do is Binomial(n, 1/2), and
 * the interval from the l-th smallest to the l-th largest sample misses the median
 * with probability 2 P(Bin(n, 1/2) < l). Times on a shared machine have long tails and several
 * modes; this is the interval that stays right for them.
 */
#ifndef TOOLS_CLI_ORDER_STATISTICS_H
#define TOOLS_CLI_ORDER_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* P(Bin(n, 1/2) < k). */
double binomial_half_below(size_t n, size_t k);

/* The largest rank l (counted from 1) whose interval [x(l), x(n + 1 - l)] covers the
 * median with at least that probability; 0 when even [x(1), x(n)] does not.
 * confidence in (0, 1). */
size_t median_interval_rank(size_t n, double confidence);

/* The probability with which [x(l), x(n + 1 - l)] covers the median; 1 <= l <= (n + 1) / 2. */
double median_interval_coverage(size_t n, size_t l);

void sort_ascending(double *x, size_t n);

/* Of x in ascending order; NaN for n = 0. */
double median_of_sorted(const double *x, size_t n);

/* Median of the distances from `center` (MAD when it is the median). x is overwritten. */
double median_distance(double *x, size_t n, double center);

/* The value below which a fraction p in [0, 1] of x (ascending) lies, interpolated linearly
 * between ranks (p = 0: the least, 1: the greatest); NaN for n = 0. */
double quantile_of_sorted(const double *x, size_t n, double p);

struct summary {
    size_t n;
    double median, mad, min, max;
    double mean, sd;     /* in two passes; sd is NaN for n < 2 */
    double ci_lo, ci_hi; /* NaN when n is too small for the confidence asked for */
    double ci_coverage;  /* what the interval really has, at least what was asked for */
};

/* Overwrites x. All members but n are NaN for n = 0. */
struct summary summarize(double *x, size_t n, double confidence);

#endif
