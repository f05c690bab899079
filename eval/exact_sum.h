/*
 * Sums of doubles in which no addition rounds: what is added is kept as a whole number of 2^-1074,
 * the least double, and only reading the sum rounds, once, to the nearest double (ties to even).
 * So a total over items has the same last bit in any order of the items, and cancellation and
 * overflow on the way do no harm.
 *
 * The idea is Kulisch's long accumulator, in the form of Neal's "Fast exact summation using small
 * and large superaccumulators" (arXiv 1505.05571): digits of 32 bits in words of 64, so that carries
 * can wait.
 *
 *     struct exact_sum sum = {0};
 *     exact_sum_add(&sum, x);
 *     total = exact_sum_value(&sum);
 */
#ifndef EVAL_EXACT_SUM_H
#define EVAL_EXACT_SUM_H

#include <stdint.h>

/* Digit i counts 2^(32 i - 1074): 66 of them reach beyond 2^1024, the others hold the carries of
 * 2^63 additions. */
#define EXACT_SUM_N_DIGITS 68

struct exact_sum {                      /* zero: nothing was added */
    int64_t digits[EXACT_SUM_N_DIGITS]; /* of any sign until carries are taken */
    uint32_t n_uncarried;               /* additions since they were */
    double nonfinite;                   /* the infinities and NaNs, added; 0: none */
};

void exact_sum_add(struct exact_sum *sum, double x);

/* 0 for nothing, and for zeros of either sign; an infinity when the sum is beyond the doubles or
 * one was added; NaN when one was added, or both infinities were. */
double exact_sum_value(const struct exact_sum *sum);

#endif
