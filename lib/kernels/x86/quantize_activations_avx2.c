/*
 * Quantised activations: the arithmetic of ref/quantize_activations_ref.c, 32
 * elements at a time.
 */
#include "kernels/x86/matmul_avx2.h"

#include "base/half.h"
#include "kernels/activation_row.h"
#include "kernels/x86/lanes_avx2.h"

/* The largest of the bits of |x| over n elements (a multiple of 32). */
RMLI_INLINE uint32_t max_magnitude_bits(const float *x, size_t n)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i max = _mm256_setzero_si256();
    for (size_t i = 0; i < n; i += 8) {
        __m256i bits = _mm256_loadu_si256((const __m256i *)(x + i));
        max = _mm256_max_epi32(max, _mm256_and_si256(bits, magnitude));
    }
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(max), _mm256_extracti128_si256(max, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

RMLI_INLINE __m256i round_8(const float *x, __m256 inverse)
{
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), inverse));
}

/* Writes 32 q; returns sums of pairs, i16, q(2j) + q(2j + 1) in element j. */
RMLI_INLINE __m256i quantize_32(int8_t *q, const float *x, __m256 inverse)
{
    __m256i low = _mm256_packs_epi32(round_8(x, inverse), round_8(x + 8, inverse));
    __m256i high = _mm256_packs_epi32(round_8(x + 16, inverse), round_8(x + 24, inverse));
    /* packing works on halves: dwords of q come as 0 2 4 6 1 3 5 7 */
    __m256i packed = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high),
                                                 _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((__m256i *)q, packed);
    return _mm256_maddubs_epi16(_mm256_set1_epi8(1), packed);
}

/* The sums of elements 0 .. 15 and 16 .. 31 from the sums of pairs. */
RMLI_INLINE void sum_halves(int sums[2], __m256i pairs)
{
    __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    __m256i eights = _mm256_add_epi32(fours, _mm256_shuffle_epi32(fours, 0x4e));
    __m256i all = _mm256_add_epi32(eights, _mm256_shuffle_epi32(eights, 0xb1));
    sums[0] = _mm_cvtsi128_si32(_mm256_castsi256_si128(all));
    sums[1] = _mm_cvtsi128_si32(_mm256_extracti128_si256(all, 1));
}

/* Sets the factor for q and returns d; a factor of 0 with zero true means that
 * every q is 0 and x must not be looked at (it may hold NaN). */
RMLI_INLINE float scale_of(uint32_t max_bits, float *inverse, bool *zero)
{
    float max = rmli_f32_from_bits(max_bits);
    *inverse = 127.0f / max;
    *zero = max_bits >= 0x7f800000 || rmli_f32_bits(*inverse) == 0x7f800000;
    return max / 127.0f;
}

void rmli_quantize_activations_32_avx2(void *dst, const float *x, size_t n)
{
    static const float zeros[32];
    struct rmli_activation_block_32 *block = dst;
    for (size_t k = 0; k < n; k += 32, block++) {
        float inverse;
        bool zero;
        int sums[2];
        block->d = scale_of(max_magnitude_bits(x + k, 32), &inverse, &zero);
        __m256i pairs = zero ? quantize_32(block->q, zeros, _mm256_setzero_ps())
                             : quantize_32(block->q, x + k, _mm256_set1_ps(inverse));
        sum_halves(sums, pairs);
        block->sum = sums[0] + sums[1];
    }
}

void rmli_quantize_activations_256_avx2(void *dst, const float *x, size_t n)
{
    static const float zeros[32];
    struct rmli_activation_block_256 *block = dst;
    for (size_t k = 0; k < n; k += 256, block++) {
        float inverse;
        bool zero;
        block->d = scale_of(max_magnitude_bits(x + k, 256), &inverse, &zero);
        __m256 factor = zero ? _mm256_setzero_ps() : _mm256_set1_ps(inverse);
        for (size_t i = 0; i < 8; i++) {
            int sums[2];
            sum_halves(sums, quantize_32(block->q + 32 * i, zero ? zeros : x + k + 32 * i, factor));
            block->sum[2 * i] = (int16_t)sums[0];
            block->sum[2 * i + 1] = (int16_t)sums[1];
        }
    }
}
