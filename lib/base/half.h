/*
 * Conversions between f32 and the two 16-bit float formats, exact and in
 * portable C: the reference for the vector versions and the path of
 * everything that is not hot.
 *
 *     f16   s eeeee mmmmmmmmmm        IEEE 754 binary16, bias 15
 *     bf16  s eeeeeeee mmmmmmm        the upper half of an f32
 *
 * Narrowing rounds to nearest, ties to even; overflow gives infinity; a NaN
 * stays a NaN (quietened, as F16C does).
 */
#ifndef RML_BASE_HALF_H
#define RML_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float rmli_f32_from_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t rmli_f32_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float rmli_f32_from_bf16(uint16_t h)
{
    return rmli_f32_from_bits((uint32_t)h << 16);
}

static inline float rmli_f32_from_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t exponent = (h >> 10) & 31, mantissa = h & 1023;
    if (exponent == 31) { /* infinity, or a NaN made quiet */
        uint32_t quiet = mantissa ? 0x400000 : 0;
        return rmli_f32_from_bits(sign | 0x7f800000 | quiet | mantissa << 13);
    }
    if (exponent == 0) { /* zero or subnormal: mantissa * 2^-24, exact in f32 */
        float magnitude = (float)mantissa * 0x1p-24f;
        return rmli_f32_from_bits(sign | rmli_f32_bits(magnitude));
    }
    return rmli_f32_from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

static inline uint16_t rmli_f16_from_f32(float f)
{
    uint32_t bits = rmli_f32_bits(f);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) /* NaN */
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x477ff000) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000) { /* below 2^-14: subnormal or zero */
        /* Adding 0.5 aligns the f16 subnormal unit 2^-24 with the last bit of
         * the f32 mantissa, so the hardware rounds to nearest even for us. */
        float shifted = rmli_f32_from_bits(magnitude) + 0.5f;
        return (uint16_t)(sign | (rmli_f32_bits(shifted) - 0x3f000000));
    }
    uint32_t odd = magnitude >> 13 & 1;
    return (uint16_t)(sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13));
}

static inline uint16_t rmli_bf16_from_f32(float f)
{
    uint32_t bits = rmli_f32_bits(f);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
