/*
 * f16 and bf16 against three independent sources: the definition of the
 * formats by ldexp, the neighbours of every value for rounding, and the
 * processor's own conversion where it has one.
 */
#include "base/half.h"

#include <criterion/criterion.h>
#include <math.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* ---- The definitions ---------------------------------------------------- */

static double f16_by_definition(uint32_t h)
{
    int exponent = (int)(h >> 10 & 31), mantissa = (int)(h & 1023);
    double magnitude = exponent == 0    ? ldexp(mantissa, -24)
                       : exponent == 31 ? (mantissa ? (double)NAN : (double)INFINITY)
                                        : ldexp(1024 + mantissa, exponent - 25);
    return h & 0x8000 ? -magnitude : magnitude;
}

static double bf16_by_definition(uint32_t h)
{
    int exponent = (int)(h >> 7 & 255), mantissa = (int)(h & 127);
    double magnitude = exponent == 0     ? ldexp(mantissa, -133)
                       : exponent == 255 ? (mantissa ? (double)NAN : (double)INFINITY)
                                         : ldexp(128 + mantissa, exponent - 134);
    return h & 0x8000 ? -magnitude : magnitude;
}

Test(half, every_f16_widens_to_its_definition)
{
    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = rmli_f32_from_f16((uint16_t)h);
        double expected = f16_by_definition(h);
        if (isnan(expected)) {
            cr_assert(isnan(f), "%04x", h);
            cr_assert_eq(rmli_f32_bits(f), (h & 0x8000) << 16 | 0x7fc00000 | (h & 1023) << 13);
        } else {
            cr_assert_eq((double)f, expected, "%04x", h);
            cr_assert_eq(signbit(f) != 0, h >> 15 == 1, "%04x", h);
        }
    }
}

Test(half, every_bf16_widens_to_its_definition)
{
    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = rmli_f32_from_bf16((uint16_t)h);
        double expected = bf16_by_definition(h);
        if (isnan(expected)) {
            cr_assert(isnan(f), "%04x", h);
        } else {
            cr_assert_eq((double)f, expected, "%04x", h);
            cr_assert_eq(signbit(f) != 0, h >> 15 == 1, "%04x", h);
        }
    }
}

/* ---- Narrowing ---------------------------------------------------------- */

/*
 * Between each two neighbours lies a midpoint that f32 represents exactly;
 * there and one f32 step to each side narrowing is known. Beyond the largest
 * finite value the next step of the grid stands for infinity.
 */
static void check_interval(uint16_t (*narrow)(float), double (*define)(uint32_t), uint16_t low,
                           uint16_t infinity)
{
    uint16_t high = (uint16_t)(low + 1), even = low & 1 ? high : low;
    double a = define(low), b = define(high);
    if (high == infinity)
        b = 2 * a - define((uint32_t)low - 1);
    float middle = (float)((a + b) / 2);
    cr_assert_eq((double)middle, (a + b) / 2, "%04x", low);
    cr_assert_eq(narrow((float)a), low, "%04x", low);
    cr_assert_eq(narrow(middle), even, "%04x", low);
    cr_assert_eq(narrow(nextafterf(middle, -INFINITY)), low, "%04x", low);
    cr_assert_eq(narrow(nextafterf(middle, INFINITY)), high, "%04x", low);
    cr_assert_eq(narrow(-(float)a), low | 0x8000, "%04x", low);
    cr_assert_eq(narrow(-middle), even | 0x8000, "%04x", low);
    cr_assert_eq(narrow(-nextafterf(middle, -INFINITY)), low | 0x8000, "%04x", low);
    cr_assert_eq(narrow(-nextafterf(middle, INFINITY)), high | 0x8000, "%04x", low);
}

Test(half, f16_rounds_to_nearest_even_everywhere)
{
    for (uint16_t h = 0; h < 0x7c00; h++)
        check_interval(rmli_f16_from_f32, f16_by_definition, h, 0x7c00);
}

Test(half, bf16_rounds_to_nearest_even_everywhere)
{
    for (uint16_t h = 0; h < 0x7f80; h++) {
        if (h == 0x7f7f) /* its midpoint to 2^128 is the one above all f32 but one step */
            continue;
        check_interval(rmli_bf16_from_f32, bf16_by_definition, h, 0x7f80);
    }
    cr_assert_eq(rmli_bf16_from_f32(rmli_f32_from_bits(0x7f7f7fff)), 0x7f7f);
    cr_assert_eq(rmli_bf16_from_f32(rmli_f32_from_bits(0x7f7f8000)), 0x7f80);
    cr_assert_eq(rmli_bf16_from_f32(rmli_f32_from_bits(0x7f7fffff)), 0x7f80);
}

Test(half, extremes)
{
    cr_assert_eq(rmli_f16_from_f32(INFINITY), 0x7c00);
    cr_assert_eq(rmli_f16_from_f32(-INFINITY), 0xfc00);
    cr_assert_eq(rmli_f16_from_f32(3.4e38f), 0x7c00);
    cr_assert_eq(rmli_f16_from_f32(0x1p-149f), 0);
    cr_assert_eq(rmli_f16_from_f32(-0x1p-149f), 0x8000);
    cr_assert_eq(rmli_f16_from_f32(0x1p-25f), 0, "half the least subnormal goes to even");
    cr_assert_eq(rmli_bf16_from_f32(INFINITY), 0x7f80);
    cr_assert_eq(rmli_bf16_from_f32(-0.0f), 0x8000);
}

Test(half, nans_stay_nans)
{
    for (uint32_t mantissa = 1; mantissa < 0x800000; mantissa += 977) {
        float nan = rmli_f32_from_bits(0x7f800000 | mantissa);
        uint16_t h = rmli_f16_from_f32(nan), b = rmli_bf16_from_f32(nan);
        cr_assert((h & 0x7c00) == 0x7c00 && (h & 0x3ff) != 0, "%06x", mantissa);
        cr_assert((b & 0x7f80) == 0x7f80 && (b & 0x7f) != 0, "%06x", mantissa);
    }
}

Test(half, round_trips)
{
    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = rmli_f32_from_f16((uint16_t)h), b = rmli_f32_from_bf16((uint16_t)h);
        if (!isnan(f))
            cr_assert_eq(rmli_f16_from_f32(f), h);
        if (!isnan(b))
            cr_assert_eq(rmli_bf16_from_f32(b), h);
    }
}

/* ---- The processor ------------------------------------------------------ */

#if defined(__x86_64__)
__attribute__((target("f16c"))) static void check_f16c(void)
{
    for (uint32_t h = 0; h < 0x10000; h++) {
        float expected = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128((int)h)));
        cr_assert_eq(rmli_f32_bits(rmli_f32_from_f16((uint16_t)h)), rmli_f32_bits(expected), "%04x",
                     h);
    }
    /* An odd stride visits all exponents and, over them, all low bits. */
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += 257) {
        float f = rmli_f32_from_bits((uint32_t)bits);
        __m128i narrow = _mm_cvtps_ph(_mm_set_ss(f), _MM_FROUND_TO_NEAREST_INT);
        uint16_t expected = (uint16_t)_mm_cvtsi128_si32(narrow);
        cr_assert_eq(rmli_f16_from_f32(f), expected, "%08x", (unsigned)bits);
    }
}
#endif

Test(half, f16_agrees_with_the_processor)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) { /* such processors have F16C */
        check_f16c();
        return;
    }
#endif
    cr_skip("no F16C here");
}
