/*
 * Exact integer products for the i8 arithmetic: what the kernels for one vector
 * and for several share.
 *
 * maddubs multiplies unsigned bytes of weights with signed bytes of activations
 * (|a| <= 127) and adds pairs to i16, saturating; so the sums that may be kept
 * in i16 are bounded by the largest weight:
 *
 *     bits   one pair            pairs added   bound (below 32768)
 *     2, 3   7 * 127 * 2              8        14224
 *     4      15 * 127 * 2 = 3810      8        30480
 *     5      31 * 127 * 2 = 7874      4        31496
 *     6      63 * 127 * 2             2        32004
 *     signed 128 * 127 * 2            1        32512
 *
 * Signed weights go in as magnitudes, their signs moved over to the activations.
 */
#ifndef RML_KERNELS_X86_PRODUCTS_I8_AVX2_H
#define RML_KERNELS_X86_PRODUCTS_I8_AVX2_H

#include "kernels/x86/lanes_avx2.h"
#include "kernels/x86/sub_scales_avx2.h"

/* How the bytes of a weight type are multiplied. */
enum weight_bytes { SIGNED_BYTES, UNSIGNED_BYTES };

/* Sums of two products in i16; magnitude = |w| for signed weights, else w. */
RMLI_INLINE __m256i multiply_pairs(enum weight_bytes kind, __m256i w, __m256i magnitude, __m256i a)
{
    return kind == SIGNED_BYTES ? _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(a, w))
                                : _mm256_maddubs_epi16(w, a);
}

/* i16 pairs to i32. */
RMLI_INLINE __m256i add_pairs(__m256i v)
{
    return _mm256_madd_epi16(v, _mm256_set1_epi16(1));
}

/* Adds the upper half of each register to its lower, for two registers at
 * once: the sums of a fill the lower half of the result, those of b the upper. */
RMLI_INLINE __m256i fold_halves(__m256i a, __m256i b, _Bool i16)
{
    __m256i own = _mm256_blend_epi32(a, b, 0xf0);
    __m256i other = _mm256_permute2x128_si256(a, b, 0x21);
    return i16 ? _mm256_add_epi16(own, other) : _mm256_add_epi32(own, other);
}

RMLI_INLINE __m256i fold_dwords(__m256i a, __m256i b, _Bool i16)
{
    __m256i low = _mm256_unpacklo_epi32(a, b), high = _mm256_unpackhi_epi32(a, b);
    return i16 ? _mm256_add_epi16(low, high) : _mm256_add_epi32(low, high);
}

RMLI_INLINE __m256i fold_qwords(__m256i a, __m256i b, _Bool i16)
{
    __m256i low = _mm256_unpacklo_epi64(a, b), high = _mm256_unpackhi_epi64(a, b);
    return i16 ? _mm256_add_epi16(low, high) : _mm256_add_epi32(low, high);
}

/*
 * The sums over each of eight registers as one register of i32. The registers
 * hold i32, or, with i16_levels of 1 to 3, i16 sums of pairs of which
 * 2^i16_levels may be added without overflow; with 0, they hold i32.
 */
RMLI_INLINE __m256i fold_rows(__m256i v[8], int i16_levels)
{
    __m256i h[4], d[2];
    RMLI_UNROLL
    for (int i = 0; i < 4; i++) {
        h[i] = fold_halves(v[i], v[i + 4], i16_levels >= 1);
        if (i16_levels == 1)
            h[i] = add_pairs(h[i]);
    }
    RMLI_UNROLL
    for (int i = 0; i < 2; i++) {
        d[i] = fold_dwords(h[2 * i], h[2 * i + 1], i16_levels >= 2);
        if (i16_levels == 2)
            d[i] = add_pairs(d[i]);
    }
    __m256i sums = fold_qwords(d[0], d[1], i16_levels >= 3);
    return i16_levels == 3 ? add_pairs(sums) : sums;
}

/* Eight 16-bit fields, one from each row, at rows[r] + offset. */
RMLI_INLINE __m128i gather_u16(const uint8_t *const rows[8], size_t offset)
{
    __m128i v = _mm_setzero_si128();
    v = _mm_insert_epi16(v, load_u16(rows[0] + offset), 0);
    v = _mm_insert_epi16(v, load_u16(rows[1] + offset), 1);
    v = _mm_insert_epi16(v, load_u16(rows[2] + offset), 2);
    v = _mm_insert_epi16(v, load_u16(rows[3] + offset), 3);
    v = _mm_insert_epi16(v, load_u16(rows[4] + offset), 4);
    v = _mm_insert_epi16(v, load_u16(rows[5] + offset), 5);
    v = _mm_insert_epi16(v, load_u16(rows[6] + offset), 6);
    return _mm_insert_epi16(v, load_u16(rows[7] + offset), 7);
}

/* Eight f16 fields as f32. */
RMLI_INLINE __m256 gather_f16(const uint8_t *const rows[8], size_t offset)
{
    return _mm256_cvtph_ps(gather_u16(rows, offset));
}

/* Writes, or adds to what is there, the first n of eight values, 1 <= n <= 8. */
RMLI_INLINE void store_values_8(float *out, __m256 values, size_t n, _Bool accumulate)
{
    store_values_4(out, _mm256_castps256_ps128(values), n < 4 ? n : 4, accumulate);
    if (n > 4)
        store_values_4(out + 4, _mm256_extractf128_ps(values, 1), n - 4, accumulate);
}

#endif
