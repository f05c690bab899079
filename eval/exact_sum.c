/*
 * Sums of doubles in which no addition rounds.
 */
#include "eval/exact_sum.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Any number up to 2^30 keeps the digits in 64 bits: each addition adds less than 2^32. */
#define N_UNCARRIED_MAX (1U << 20)

/* All digits but the last to [0, 2^32); the last has the sign of the whole. */
static void take_carries(int64_t digits[EXACT_SUM_N_DIGITS])
{
    for (int i = 0; i + 1 < EXACT_SUM_N_DIGITS; i++) {
        int64_t rest = digits[i] & 0xffffffff;
        digits[i + 1] += (digits[i] - rest) / ((int64_t)1 << 32);
        digits[i] = rest;
    }
}

void exact_sum_add(struct exact_sum *sum, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (!isfinite(x)) {
        sum->nonfinite += x;
        return;
    }
    /* |x| = significand * 2^(place - 1074). */
    int exponent = (int)(bits >> 52 & 0x7ff), place = exponent > 0 ? exponent - 1 : 0;
    uint64_t significand = (bits & 0xfffffffffffff) | (uint64_t)(exponent > 0) << 52;
    /* 53 bits moved by up to 31 lie in three digits. */
    uint64_t low = (significand & 0xffffffff) << place % 32;
    uint64_t high = (significand >> 32) << place % 32;
    int64_t sign = bits >> 63 ? -1 : 1;
    int64_t *digits = sum->digits + place / 32;
    high += low >> 32;
    digits[0] += sign * (int64_t)(low & 0xffffffff);
    digits[1] += sign * (int64_t)(high & 0xffffffff);
    digits[2] += sign * (int64_t)(high >> 32);
    if (++sum->n_uncarried == N_UNCARRIED_MAX) {
        take_carries(sum->digits);
        sum->n_uncarried = 0;
    }
}

/* 64 bits from bit `from` on of digits in [0, 2^32). */
static uint64_t bits_from(const int64_t *digits, int from)
{
    uint64_t window = 0;
    for (int i = 0, at = from / 32; i < 3 && at + i < EXACT_SUM_N_DIGITS; i++) {
        int shift = 32 * i - from % 32;
        uint64_t digit = (uint64_t)digits[at + i];
        window |= shift < 0 ? digit >> -shift : shift < 64 ? digit << shift : 0;
    }
    return window;
}

static bool any_below(const int64_t *digits, int end)
{
    bool any = false;
    for (int i = 0; i < end / 32; i++)
        any |= digits[i] != 0;
    return any || (digits[end / 32] & (((int64_t)1 << end % 32) - 1)) != 0;
}

double exact_sum_value(const struct exact_sum *sum)
{
    int64_t digits[EXACT_SUM_N_DIGITS];
    if (sum->nonfinite != 0)
        return sum->nonfinite;
    memcpy(digits, sum->digits, sizeof digits);
    take_carries(digits);
    bool negative = digits[EXACT_SUM_N_DIGITS - 1] < 0;
    if (negative) {
        for (int i = 0; i < EXACT_SUM_N_DIGITS; i++)
            digits[i] = -digits[i];
        take_carries(digits);
    }
    int top = EXACT_SUM_N_DIGITS - 1;
    while (top > 0 && digits[top] == 0)
        top--;
    if (digits[top] == 0)
        return 0;
    /* The 64 bits from the highest on, the lowest of them set for what lies below: rounding these
     * to 53 is rounding the whole. Sums of fewer bits are converted as they are. */
    int n_bits = 32 * top + 64 - __builtin_clzll((uint64_t)digits[top]);
    int from = n_bits > 64 ? n_bits - 64 : 0;
    uint64_t window = bits_from(digits, from);
    if (from > 0)
        window |= any_below(digits, from);
    double value = ldexp((double)window, from - 1074);
    return negative ? -value : value;
}
