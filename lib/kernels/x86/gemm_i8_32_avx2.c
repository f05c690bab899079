/*
 * i8 products of a panel with several vectors, for the types with blocks of 32.
 *
 * Lanes are the eight rows. For each vector the products of a block are summed
 * in i16 as far as the bound in products_i8_avx2.h allows, then in i32, and
 * added to the f32 sum by one fma (two for types with m).
 */
#include "kernels/x86/gemm_i8_avx2.h"

#include "kernels/activation_row.h"
#include "kernels/x86/products_i8_avx2.h"

enum { TILE = 4 }; /* vectors: with more, registers run out */

RMLI_INLINE __m256i broadcast_4(const int8_t *q)
{
    return _mm256_set1_epi32((int)load_u32((const uint8_t *)q));
}

/* n vectors (at most TILE). pairs: multiplications whose results may be added in
 * i16, 8 or 4 or 1. offset_log2: 2^that is subtracted from the panel's bytes
 * to get q; 0 for none. */
RMLI_INLINE void multiply_tile(enum weight_bytes kind, int pairs, int offset_log2, bool has_m,
                               float (*acc)[8], const struct rmli_panel_block_32 *p,
                               size_t n_blocks, const uint8_t *x, size_t ld_x, int n)
{
    __m256 sums[TILE];
    RMLI_UNROLL
    for (int c = 0; c < n; c++)
        sums[c] = _mm256_loadu_ps(acc[c]);
    for (size_t b = 0; b < n_blocks; b++, p++, x += sizeof(struct rmli_activation_block_32)) {
        __m256i i16[TILE], i32[TILE];
        RMLI_UNROLL
        for (int k = 0; k < 8; k++) {
            __m256i w = _mm256_loadu_si256((const __m256i *)p->q[k]);
            __m256i magnitude = _mm256_abs_epi8(w);
            RMLI_UNROLL
            for (int c = 0; c < n; c++) {
                const struct rmli_activation_block_32 *a = (const void *)(x + (size_t)c * ld_x);
                __m256i v = multiply_pairs(kind, w, magnitude, broadcast_4(a->q + 4 * k));
                i16[c] = k % pairs == 0 ? v : _mm256_add_epi16(i16[c], v);
                RMLI_PIN(i16[c]);
                if (k % pairs == pairs - 1) {
                    v = add_pairs(i16[c]);
                    i32[c] = k < pairs ? v : _mm256_add_epi32(i32[c], v);
                    RMLI_PIN(i32[c]);
                }
            }
        }
        __m256 d = _mm256_loadu_ps(p->d), m = has_m ? _mm256_loadu_ps(p->m) : d;
        RMLI_UNROLL
        for (int c = 0; c < n; c++) {
            const struct rmli_activation_block_32 *a = (const void *)(x + (size_t)c * ld_x);
            __m256i a_sum = _mm256_set1_epi32(a->sum);
            if (offset_log2 > 0)
                i32[c] = _mm256_sub_epi32(i32[c], _mm256_slli_epi32(a_sum, offset_log2));
            __m256 da = _mm256_set1_ps(a->d);
            sums[c] = _mm256_fmadd_ps(_mm256_mul_ps(d, da), _mm256_cvtepi32_ps(i32[c]), sums[c]);
            if (has_m)
                sums[c] = _mm256_fmadd_ps(_mm256_mul_ps(m, da), _mm256_cvtepi32_ps(a_sum), sums[c]);
        }
    }
    RMLI_UNROLL
    for (int c = 0; c < n; c++)
        _mm256_storeu_ps(acc[c], sums[c]);
}

#define DEFINE_MULTIPLY_32(name, kind, pairs, offset_log2, has_m)                                  \
    void rmli_multiply_panel_##name##_avx2(float(*acc)[8], const void *panel, size_t n_blocks,     \
                                           const uint8_t *x, size_t ld_x, size_t n_x)              \
    {                                                                                              \
        size_t j = 0;                                                                              \
        for (; j + TILE <= n_x; j += TILE)                                                         \
            multiply_tile(kind, pairs, offset_log2, has_m, acc + j, panel, n_blocks, x + j * ld_x, \
                          ld_x, TILE);                                                             \
        if (n_x - j == 3)                                                                          \
            multiply_tile(kind, pairs, offset_log2, has_m, acc + j, panel, n_blocks, x + j * ld_x, \
                          ld_x, 3);                                                                \
        else if (n_x - j == 2)                                                                     \
            multiply_tile(kind, pairs, offset_log2, has_m, acc + j, panel, n_blocks, x + j * ld_x, \
                          ld_x, 2);                                                                \
        else if (n_x - j == 1)                                                                     \
            multiply_tile(kind, pairs, offset_log2, has_m, acc + j, panel, n_blocks, x + j * ld_x, \
                          ld_x, 1);                                                                \
    }

DEFINE_MULTIPLY_32(q4_0, UNSIGNED_BYTES, 8, 3, false)
DEFINE_MULTIPLY_32(q4_1, UNSIGNED_BYTES, 8, 0, true)
DEFINE_MULTIPLY_32(q5_0, UNSIGNED_BYTES, 4, 4, false)
DEFINE_MULTIPLY_32(q5_1, UNSIGNED_BYTES, 4, 0, true)
DEFINE_MULTIPLY_32(q8_0, SIGNED_BYTES, 1, 0, false)
