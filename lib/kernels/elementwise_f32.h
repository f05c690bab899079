/*
 * The nonlinear functions of the forward pass, one element at a time.
 *
 * e^x in f32 by a fixed sequence of operations, so that every compiler and
 * every instruction set gives the same bits (libm picks variants by CPU).
 *
 *     n = round(x / ln 2)                     by adding 1.5 * 2^23
 *     r = x - n ln 2                          ln 2 in two parts, |r| < 0.3467
 *     e^r by a polynomial of degree 6         |relative error| < 3.2e-9
 *     e^x = e^r 2^n                           n added to the exponent field
 *
 * The result is within 1 ulp, e^0 is exactly 1, and
 *
 *     x > 88.72283     +inf, as is right from ln(FLT_MAX) on
 *     x < -87.33654    +0: results below 2^-126 are flushed, because a weight
 *                      that small changes no sum and subnormal operands cost
 *                      some processors 150 cycles each
 *     -inf  +inf  NaN  0, +inf, NaN
 *
 * The activations are built on it:
 *
 *     silu(x)      = x / (1 + e^-x)
 *     gelu_tanh(x) = x / (1 + e^-2u),  u = sqrt(2/pi) (x + 0.044715 x^3)
 *
 * The second is 0.5 x (1 + tanh u) of Hendrycks and Gimpel (arXiv:1606.08415)
 * with tanh written out: the same function, with one exponential and without
 * the cancellation where tanh u is near -1. Both are NaN at -inf (-inf / inf),
 * as in PyTorch, and +inf at +inf.
 *
 * The vector versions follow these functions operation by operation.
 */
#ifndef RML_KERNELS_ELEMENTWISE_F32_H
#define RML_KERNELS_ELEMENTWISE_F32_H

#include <math.h>

#include "base/half.h"

#define RMLI_EXP_MAX 0x1.62e42ep6f    /* the last f32 whose exponential is finite */
#define RMLI_EXP_MIN (-0x1.5d589ep6f) /* the last f32 whose exponential is normal */
#define RMLI_EXP_LOG2E 0x1.715476p0f
#define RMLI_EXP_ROUND 0x1.8p23f        /* adding it leaves the integer in the low mantissa bits */
#define RMLI_EXP_LN2_HIGH 0x1.62e43p-1f /* ln 2 in f32; n times it is exact in fma */
#define RMLI_EXP_LN2_LOW (-0x1.05c61p-29f)
/* From ref/exp_coefficients.py. */
#define RMLI_EXP_C2 0x1.fffffcp-2f
#define RMLI_EXP_C3 0x1.555492p-3f
#define RMLI_EXP_C4 0x1.5558aap-5f
#define RMLI_EXP_C5 0x1.12396cp-7f
#define RMLI_EXP_C6 0x1.6a5228p-10f

static inline float rmli_exp_f32(float x)
{
    if (!(x <= RMLI_EXP_MAX))
        return x + INFINITY; /* keeps a NaN */
    if (x < RMLI_EXP_MIN)
        return 0;
    float shifted = fmaf(x, RMLI_EXP_LOG2E, RMLI_EXP_ROUND);
    float n = shifted - RMLI_EXP_ROUND;
    float r = fmaf(n, -RMLI_EXP_LN2_HIGH, x);
    r = fmaf(n, -RMLI_EXP_LN2_LOW, r);
    float p = fmaf(RMLI_EXP_C6, r, RMLI_EXP_C5);
    p = fmaf(p, r, RMLI_EXP_C4);
    p = fmaf(p, r, RMLI_EXP_C3);
    p = fmaf(p, r, RMLI_EXP_C2);
    p = fmaf(p, r, 1.0f);
    p = fmaf(p, r, 1.0f);
    /* p in [0.70, 1.42]; within the bounds on x the field stays in [1, 254]. */
    return rmli_f32_from_bits(rmli_f32_bits(p) + (rmli_f32_bits(shifted) << 23));
}

static inline float rmli_silu_f32(float x)
{
    return x / (1.0f + rmli_exp_f32(-x));
}

#define RMLI_GELU_LINEAR (-0x1.988454p0f) /* -2 sqrt(2/pi) */
#define RMLI_GELU_CUBIC (-0x1.2444f2p-4f) /* that times 0.044715 */

static inline float rmli_gelu_tanh_f32(float x)
{
    float minus_2u = x * fmaf(x * x, RMLI_GELU_CUBIC, RMLI_GELU_LINEAR);
    return x / (1.0f + rmli_exp_f32(minus_2u));
}

#endif
