/*
 * i8 products of eight rows with one vector, for the types with blocks of 256.
 *
 * Integers are summed over the whole block, sub-scales included: each 32 bytes
 * give i16 sums of pairs, which one madd multiplies by their sub-scale and
 * widens to i32. Offsets and minima are products of sub-block integers with the
 * activations' sums over 16 elements, another madd. Eight rows' sums are then
 * folded into one register with a lane for each row.
 */
#include "kernels/x86/gemv_i8_avx2.h"

#include <stddef.h>

#include "kernels/activation_row.h"
#include "kernels/x86/far_rows_avx2.h"
#include "kernels/x86/products_i8_avx2.h"
#include "kernels/x86/sub_scales_avx2.h"
#include "kernels/x86/unpack_avx2.h"

typedef __m256i unpack_fn(const void *block, int i);

/* Sub-scales for elements 32 i .. 32 i + 31: entry 2 i in every i16 of the lower
 * half, entry 2 i + 1 in the upper. lower and upper are the first and the last
 * eight entries, in both halves. */
RMLI_INLINE __m256i spread_scales(__m256i lower, __m256i upper, int i)
{
    const __m256i first = _mm256_setr_epi16(0x100, 0x100, 0x100, 0x100, 0x100, 0x100, 0x100, 0x100,
                                            0x302, 0x302, 0x302, 0x302, 0x302, 0x302, 0x302, 0x302);
    __m256i pattern = _mm256_add_epi8(first, _mm256_set1_epi8((char)(4 * (i % 4))));
    return _mm256_shuffle_epi8(i < 4 ? lower : upper, pattern);
}

/* Parameters as for blocks of 32; d_at and m_at are the byte offsets of d and
 * dmin in a block. */
RMLI_INLINE void multiply_rows(unpack_fn *unpack, sub_integers_fn *integers, size_t block_nbytes,
                               size_t d_at, size_t m_at, enum weight_bytes kind, int offset,
                               bool has_m, float *sums, const uint8_t *const rows[8],
                               size_t n_blocks, const struct rmli_activation_block_256 *x)
{
    __m256 acc = _mm256_setzero_ps();
    for (size_t b = 0, at = 0; b < n_blocks; b++, at += block_nbytes) {
        __m256i a_sums = load_32(x[b].sum);
        __m256i products[8], minima[8];
        for (int r = 0; r < 8; r++) {
            const uint8_t *block = rows[r] + at;
            prefetch_stream(block, block_nbytes);
            struct sub_integers s;
            integers(&s, block);
            __m256i lower = _mm256_permute2x128_si256(s.sc, s.sc, 0x00);
            __m256i upper = _mm256_permute2x128_si256(s.sc, s.sc, 0x11);
            __m256i sum = _mm256_setzero_si256();
            if (offset != 0) {
                sum = _mm256_madd_epi16(s.sc, a_sums);
                sum = _mm256_mullo_epi32(sum, _mm256_set1_epi32(-offset));
            }
            RMLI_UNROLL
            for (int i = 0; i < 8; i++) {
                __m256i w = unpack(block, i);
                __m256i pairs =
                    multiply_pairs(kind, w, _mm256_abs_epi8(w), load_32(x[b].q + 32 * i));
                sum =
                    _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, spread_scales(lower, upper, i)));
            }
            products[r] = sum;
            if (has_m)
                minima[r] = _mm256_madd_epi16(s.mn, a_sums);
        }
        __m256 da = _mm256_set1_ps(x[b].d);
        acc = _mm256_fmadd_ps(_mm256_mul_ps(gather_f16(rows, at + d_at), da),
                              _mm256_cvtepi32_ps(fold_rows(products, 0)), acc);
        if (has_m) {
            /* -dmin * da: the sign goes with the exact factor */
            __m256 m = _mm256_mul_ps(gather_f16(rows, at + m_at), da);
            acc = _mm256_fnmadd_ps(m, _mm256_cvtepi32_ps(fold_rows(minima, 0)), acc);
        }
    }
    _mm256_storeu_ps(sums, acc);
}

#define DEFINE_GEMV_256(name, kind, offset, has_m, m_at)                                           \
    void rmli_gemv_i8_##name##_avx2(float sums[8], const uint8_t *const rows[8], size_t n_blocks,  \
                                    const void *x)                                                 \
    {                                                                                              \
        multiply_rows(unpack_##name, sub_integers_##name, sizeof(struct rmli_block_##name),        \
                      offsetof(struct rmli_block_##name, d), m_at, kind, offset, has_m, sums,      \
                      rows, n_blocks, x);                                                          \
    }

DEFINE_GEMV_256(q2_k, UNSIGNED_BYTES, 0, true, offsetof(struct rmli_block_q2_k, dmin))
DEFINE_GEMV_256(q3_k, UNSIGNED_BYTES, OFFSET_Q3_K, false, 0)
DEFINE_GEMV_256(q4_k, UNSIGNED_BYTES, 0, true, offsetof(struct rmli_block_q4_k, dmin))
DEFINE_GEMV_256(q5_k, UNSIGNED_BYTES, 0, true, offsetof(struct rmli_block_q5_k, dmin))
DEFINE_GEMV_256(q6_k, UNSIGNED_BYTES, OFFSET_Q6_K, false, 0)
DEFINE_GEMV_256(iq4_xs, SIGNED_BYTES, 0, false, 0)
