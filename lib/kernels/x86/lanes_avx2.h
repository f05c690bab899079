/*
 * Lane order (kernels.h) in AVX2: a register is the eight partial sums.
 * Include only from files compiled for AVX2, FMA and F16C.
 */
#ifndef RML_KERNELS_X86_LANES_AVX2_H
#define RML_KERNELS_X86_LANES_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

/* For functions that are templates: their function and integer arguments are
 * constants at each call and must be folded. */
#define RMLI_INLINE static inline __attribute__((always_inline))

/* In front of a loop of a constant number of turns over registers. */
#ifdef __clang__
#define RMLI_UNROLL _Pragma("clang loop unroll(full)")
#else
#define RMLI_UNROLL _Pragma("GCC unroll 16")
#endif

/* Has a running integer sum finished here. Without it gcc regroups the additions
 * of a long chain into a tree, whose leaves do not fit the registers. */
#define RMLI_PIN(v) __asm__("" : "+x"(v))

/* All bits set in lanes below n, 0 <= n <= 8. */
RMLI_INLINE __m256i lanes_below(size_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* acc = fma(w, x, acc) in the chosen lanes; the others stay, sign of zero included. */
RMLI_INLINE __m256 fma_in_lanes(__m256 w, __m256 x, __m256 acc, __m256i lanes)
{
    return _mm256_blendv_ps(acc, _mm256_fmadd_ps(w, x, acc), _mm256_castsi256_ps(lanes));
}

/* Folds four sums at once; element i of the result is
 * ((l0 + l4) + (l2 + l6)) + ((l1 + l5) + (l3 + l7)) of sum i. */
RMLI_INLINE __m128 fold_lanes_4(__m256 s0, __m256 s1, __m256 s2, __m256 s3)
{
    /* l0+l4 l1+l5 l2+l6 l3+l7 of s0 in the lower half, of s2 in the upper */
    __m256 h02 =
        _mm256_add_ps(_mm256_permute2f128_ps(s0, s2, 0x20), _mm256_permute2f128_ps(s0, s2, 0x31));
    __m256 h13 =
        _mm256_add_ps(_mm256_permute2f128_ps(s1, s3, 0x20), _mm256_permute2f128_ps(s1, s3, 0x31));
    /* even and odd sums, of s0 and s1 in the lower half, of s2 and s3 in the upper */
    __m256d a = _mm256_castps_pd(h02), b = _mm256_castps_pd(h13);
    __m256 q = _mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(a, b)),
                             _mm256_castpd_ps(_mm256_unpackhi_pd(a, b)));
    __m128 low = _mm256_castps256_ps128(q), high = _mm256_extractf128_ps(q, 1);
    return _mm_add_ps(_mm_shuffle_ps(low, high, 0x88), _mm_shuffle_ps(low, high, 0xdd));
}

/* Writes, or adds to what is there, the first n of four values, 1 <= n <= 4. */
RMLI_INLINE void store_values_4(float *out, __m128 values, size_t n, _Bool accumulate)
{
    if (n == 4) {
        if (accumulate)
            values = _mm_add_ps(_mm_loadu_ps(out), values);
        _mm_storeu_ps(out, values);
        return;
    }
    float v[4];
    _mm_storeu_ps(v, values);
    for (size_t i = 0; i < n; i++)
        out[i] = accumulate ? out[i] + v[i] : v[i];
}

#endif
