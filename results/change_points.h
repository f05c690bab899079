/*
 * Where in a series the distribution changes.
 *
 * The statistic is that of E-divisive (Matteson and James, "A Nonparametric Approach for
 * Multiple Change Point Analysis of Multivariate Data", JASA 109:334, 2014, with alpha = 1): of
 * a split into m and k values, m k / (m + k) times their energy distance,
 *
 *     2 mean |x - y|  -  mean |x - x'|  -  mean |y - y'|
 *
 * which assumes nothing about the distribution. The best split of the series is kept when a
 * permutation test finds it: among the best splits of shuffled series a larger one is rare
 * (p <= alpha). Then both parts are searched alike. In noise without order the test is
 * exact: a series without a change gets one with probability at most alpha. Noise in which
 * neighbours are alike (a machine with moods) gets more.
 */
#ifndef RESULTS_CHANGE_POINTS_H
#define RESULTS_CHANGE_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHANGE_ALPHA 0.01
#define CHANGE_PERMUTATIONS 999
#define CHANGE_MIN_SEGMENT 4 /* values on each side of a change */

struct change_point {
    size_t at;      /* first value that belongs to what is new */
    double p_value; /* of the permutation test */
};

/* The best split of x[0 .. n), each part at least CHANGE_MIN_SEGMENT long: its statistic, 0 when n
 * is too small; *at as above. NaN when memory is exhausted. */
double change_statistic(const double *x, size_t n, size_t *at);

/* Change points in ascending order into found [n]; their number in *n_found. The same for the
 * same values and seed. False when memory is exhausted. x is finite. */
bool change_points_find(const double *x, size_t n, uint64_t seed, struct change_point *found,
                        size_t *n_found);

#endif
