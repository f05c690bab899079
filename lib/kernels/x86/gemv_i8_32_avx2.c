/*
 * i8 products of eight rows with one vector, for the types with blocks of 32.
 *
 * A block of each of eight rows is multiplied along k and the eight registers of
 * partial sums are folded into one with a lane for each row. From there on the
 * lanes are rows: scales, conversion and fma serve eight rows at once.
 */
#include "kernels/x86/gemv_i8_avx2.h"

#include "kernels/activation_row.h"
#include "kernels/x86/far_rows_avx2.h"
#include "kernels/x86/products_i8_avx2.h"
#include "kernels/x86/unpack_avx2.h"

typedef __m256i unpack_fn(const void *block, int i);

/* offset: subtracted from the unpacked bytes to get q. i16_levels: see
 * fold_rows; 0 for signed bytes. has_m: the block's second f16 is m. */
RMLI_INLINE void multiply_rows(unpack_fn *unpack, size_t block_nbytes, enum weight_bytes kind,
                               int i16_levels, int offset, bool has_m, float *sums,
                               const uint8_t *const rows[8], size_t n_blocks,
                               const struct rmli_activation_block_32 *x)
{
    __m256 acc = _mm256_setzero_ps();
    for (size_t b = 0, at = 0; b < n_blocks; b++, at += block_nbytes) {
        __m256i a = load_32(x[b].q);
        for (int r = 0; b % 2 == 0 && r < 8; r++) /* two blocks are about a cache line */
            prefetch_stream(rows[r] + at, 1);
        __m256i products[8];
        RMLI_UNROLL
        for (int r = 0; r < 8; r++) {
            __m256i w = unpack(rows[r] + at, 0);
            products[r] = multiply_pairs(kind, w, _mm256_abs_epi8(w), a);
            if (i16_levels == 0)
                products[r] = add_pairs(products[r]);
        }
        __m256i i = fold_rows(products, i16_levels);
        if (offset != 0)
            i = _mm256_sub_epi32(i, _mm256_set1_epi32(offset * x[b].sum));
        __m256 da = _mm256_set1_ps(x[b].d);
        acc = _mm256_fmadd_ps(_mm256_mul_ps(gather_f16(rows, at), da), _mm256_cvtepi32_ps(i), acc);
        if (has_m)
            acc = _mm256_fmadd_ps(_mm256_mul_ps(gather_f16(rows, at + 2), da),
                                  _mm256_set1_ps((float)x[b].sum), acc);
    }
    _mm256_storeu_ps(sums, acc);
}

#define DEFINE_GEMV_32(name, kind, i16_levels, offset, has_m)                                      \
    void rmli_gemv_i8_##name##_avx2(float sums[8], const uint8_t *const rows[8], size_t n_blocks,  \
                                    const void *x)                                                 \
    {                                                                                              \
        multiply_rows(unpack_##name, sizeof(struct rmli_block_##name), kind, i16_levels, offset,   \
                      has_m, sums, rows, n_blocks, x);                                             \
    }

DEFINE_GEMV_32(q4_0, UNSIGNED_BYTES, 3, OFFSET_Q4_0, false)
DEFINE_GEMV_32(q4_1, UNSIGNED_BYTES, 3, 0, true)
DEFINE_GEMV_32(q5_0, UNSIGNED_BYTES, 2, OFFSET_Q5_0, false)
DEFINE_GEMV_32(q5_1, UNSIGNED_BYTES, 2, 0, true)
DEFINE_GEMV_32(q8_0, SIGNED_BYTES, 0, 0, false)
DEFINE_GEMV_32(iq4_nl, SIGNED_BYTES, 0, 0, false)
