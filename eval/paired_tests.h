/*
 * Two runs on the same items: is one better, and how small a difference could have been seen
 * (eval-semantics.md, section 4)?
 *
 * Items of two runs are paired, so the difference of each item is what is averaged: what makes
 * an item hard for both cancels. Items that are not independent of each other (of one group, of
 * one document) go into one block, and the blocks are what the standard error is made of.
 *
 * What is not defined (a single item, no variance) is NaN.
 */
#ifndef EVAL_PAIRED_TESTS_H
#define EVAL_PAIRED_TESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "eval/standard_errors.h"

struct paired_difference {
    size_t n_blocks;
    double estimate;       /* sum of the blocks' sums / sum of their sizes */
    double standard_error; /* NaN for one block; 0 when there is no variance */
    double lo, hi;         /* interval by Student's t with n_blocks - 1 degrees of freedom */
    double p_value;        /* two-sided, of no difference */
};

/*
 * Blocks of differences: `sum` that of the items' differences a - b, `size` the number of items
 * (or of tokens, for a difference of mean nll: ln(PPL_a / PPL_b); or bytes). With one item a
 * block this is the paired t test. lo, hi and p_value are NaN without variance: nothing is
 * known of how the next items would differ.
 */
struct paired_difference paired_difference(const struct block *blocks, size_t n, double confidence);

/* p = min(1, 2 P[Bin(n10 + n01, 1/2) <= min(n10, n01)]): items that only a, and that only b has
 * right. 1 when there are none. */
double mcnemar_exact(size_t n10, size_t n01);

/*
 * The least true difference that a two-sided test at level `alpha` finds with probability
 * `power`, given the standard error of the difference: (z_{alpha/2} + z_power) x SE. NaN
 * without variance.
 */
double minimum_detectable_effect(double standard_error, double alpha, double power);
/* How many items like these n it takes to find a difference of `delta`:
 * (z_{alpha/2} + z_power)^2 sd^2 / delta^2 with sd^2 = n x SE^2, rounded up. */
double items_needed(double standard_error, double n, double delta, double alpha, double power);

/* Wilson's score interval of a proportion of `n_right` in n > 0 independent items. */
void wilson_interval(double n_right, double n, double confidence, double *lo, double *hi);

/*
 * What the chance of an event may be, at this one-sided confidence, when n independent items had
 * none: 1 - (1 - confidence)^(1/n) (Clopper and Pearson).
 */
double unseen_event_bound(double n, double confidence);

/* Holm's step-down: adjusted[i] is to be held against the level of the whole family. NaN stays
 * NaN and does not count. `adjusted` may be `p`. False when memory is exhausted. */
bool holm_adjust(const double *p, size_t n, double *adjusted);

#endif
