/*
 * The functions of kernels/elementwise_f32.h on eight elements, operation by
 * operation. Include only from files compiled for AVX2, FMA and F16C.
 */
#ifndef RML_KERNELS_X86_ELEMENTWISE_AVX2_H
#define RML_KERNELS_X86_ELEMENTWISE_AVX2_H

#include <immintrin.h>

#include "kernels/elementwise_f32.h"

static inline __m256 rmli_exp_avx2(__m256 x)
{
    const __m256 round = _mm256_set1_ps(RMLI_EXP_ROUND), one = _mm256_set1_ps(1);
    __m256 shifted = _mm256_fmadd_ps(x, _mm256_set1_ps(RMLI_EXP_LOG2E), round);
    __m256 n = _mm256_sub_ps(shifted, round);
    __m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(-RMLI_EXP_LN2_HIGH), x);
    r = _mm256_fmadd_ps(n, _mm256_set1_ps(-RMLI_EXP_LN2_LOW), r);
    __m256 p = _mm256_fmadd_ps(_mm256_set1_ps(RMLI_EXP_C6), r, _mm256_set1_ps(RMLI_EXP_C5));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(RMLI_EXP_C4));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(RMLI_EXP_C3));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(RMLI_EXP_C2));
    p = _mm256_fmadd_ps(p, r, one);
    p = _mm256_fmadd_ps(p, r, one);
    __m256i exponent = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
    __m256 y = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), exponent));
    /* 0 where x is too small; x + inf where it is too large or NaN. */
    y = _mm256_and_ps(y, _mm256_cmp_ps(x, _mm256_set1_ps(RMLI_EXP_MIN), _CMP_GE_OQ));
    __m256 above = _mm256_cmp_ps(x, _mm256_set1_ps(RMLI_EXP_MAX), _CMP_NLE_UQ);
    return _mm256_blendv_ps(y, _mm256_add_ps(x, _mm256_set1_ps(INFINITY)), above);
}

/* x / (1 + e^y) */
static inline __m256 rmli_divide_by_1_plus_exp_avx2(__m256 x, __m256 y)
{
    return _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1), rmli_exp_avx2(y)));
}

static inline __m256 rmli_silu_avx2(__m256 x)
{
    return rmli_divide_by_1_plus_exp_avx2(x, _mm256_xor_ps(x, _mm256_set1_ps(-0.0f)));
}

static inline __m256 rmli_gelu_tanh_avx2(__m256 x)
{
    __m256 factor = _mm256_fmadd_ps(_mm256_mul_ps(x, x), _mm256_set1_ps(RMLI_GELU_CUBIC),
                                    _mm256_set1_ps(RMLI_GELU_LINEAR));
    return rmli_divide_by_1_plus_exp_avx2(x, _mm256_mul_ps(x, factor));
}

#endif
