/*
 * exp of numbers that are not positive, in double precision.
 *
 * exp(x) for x <= 0 is 2^k exp(r) with k = round(x / ln 2) and |r| <= ln(2) / 2; exp(r) is its
 * Taylor series to r^11 (the next term is below 0.3466^12 / 12! = 6.3e-15). Written without
 * branches so that the compiler makes vectors of it; nothing is contracted (-ffp-contract=off),
 * so a wider instruction set gives the same bits, and so does any C library.
 */
#ifndef EVAL_EXP_NEGATIVE_H
#define EVAL_EXP_NEGATIVE_H

#include <stdint.h>
#include <string.h>

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
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits <<= 52; /* k lands in the exponent's field, the shifter's own bits fall out */
    uint64_t value;
    memcpy(&value, &p, sizeof value);
    value += bits;
    double scaled;
    memcpy(&scaled, &value, sizeof scaled);
    return x < -708.0 ? 0.0 : scaled;
}

#endif
