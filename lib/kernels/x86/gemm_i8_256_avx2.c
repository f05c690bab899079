/*
 * i8 products of a panel with several vectors, for the types with blocks of 256.
 *
 * Lanes are the eight rows. i16 sums within a sub-block are multiplied by the
 * sub-scale and widened to i32 by one madd; i32 sums run over the whole block.
 */
#include "kernels/x86/gemm_i8_avx2.h"

#include <string.h>

#include "kernels/activation_row.h"
#include "kernels/x86/products_i8_avx2.h"

enum { TILE = 4 }; /* vectors: with more, registers run out */

/* How a panel's mn take part. */
enum minima { NO_MINIMA, INTEGER_OFFSETS, MINIMA };

RMLI_INLINE __m256i broadcast_dword(const void *p)
{
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm256_set1_epi32(v);
}

/* n vectors (at most TILE). pairs: multiplications whose results may be added in
 * i16; sub: multiplications of a sub-block, 4 or 8. */
RMLI_INLINE void multiply_tile(enum weight_bytes kind, int pairs, int sub, enum minima minima,
                               float (*acc)[8], const struct rmli_panel_block_256 *p,
                               size_t n_blocks, const uint8_t *x, size_t ld_x, int n)
{
    for (size_t b = 0; b < n_blocks; b++, p++, x += sizeof(struct rmli_activation_block_256)) {
        __m256i i32[TILE], s[TILE];
        RMLI_UNROLL
        for (int c = 0; c < n; c++)
            i32[c] = s[c] = _mm256_setzero_si256();
        for (int i = 0; minima != NO_MINIMA && i < 8; i++) {
            __m256i mn = _mm256_loadu_si256((const __m256i *)p->mn[i]);
            RMLI_UNROLL
            for (int c = 0; c < n; c++) {
                const struct rmli_activation_block_256 *a = (const void *)(x + (size_t)c * ld_x);
                s[c] =
                    _mm256_add_epi32(s[c], _mm256_madd_epi16(mn, broadcast_dword(a->sum + 2 * i)));
            }
        }
        if (minima == INTEGER_OFFSETS) {
            RMLI_UNROLL
            for (int c = 0; c < n; c++)
                i32[c] = s[c];
        }
        for (int k0 = 0; k0 < 64; k0 += 8) {
            __m256i i16[TILE];
            RMLI_UNROLL
            for (int k = 0; k < 8; k++) {
                __m256i w = _mm256_loadu_si256((const __m256i *)p->q[k0 + k]);
                __m256i magnitude = _mm256_abs_epi8(w);
                __m256i sc = _mm256_loadu_si256((const __m256i *)p->sc[(k0 + k) / sub]);
                RMLI_UNROLL
                for (int c = 0; c < n; c++) {
                    const struct rmli_activation_block_256 *a =
                        (const void *)(x + (size_t)c * ld_x);
                    __m256i v =
                        multiply_pairs(kind, w, magnitude, broadcast_dword(a->q + 4 * (k0 + k)));
                    i16[c] = k % pairs == 0 ? v : _mm256_add_epi16(i16[c], v);
                    RMLI_PIN(i16[c]);
                    if (k % pairs == pairs - 1) {
                        i32[c] = _mm256_add_epi32(i32[c], _mm256_madd_epi16(i16[c], sc));
                        RMLI_PIN(i32[c]);
                    }
                }
            }
        }
        RMLI_UNROLL
        for (int c = 0; c < n; c++) {
            const struct rmli_activation_block_256 *a = (const void *)(x + (size_t)c * ld_x);
            __m256 da = _mm256_set1_ps(a->d);
            __m256 d = _mm256_mul_ps(_mm256_loadu_ps(p->d), da);
            __m256 sum = _mm256_fmadd_ps(d, _mm256_cvtepi32_ps(i32[c]), _mm256_loadu_ps(acc[c]));
            if (minima == MINIMA) {
                __m256 m = _mm256_mul_ps(_mm256_loadu_ps(p->m), da);
                sum = _mm256_fnmadd_ps(m, _mm256_cvtepi32_ps(s[c]), sum);
            }
            _mm256_storeu_ps(acc[c], sum);
        }
    }
}

#define DEFINE_MULTIPLY_256(name, kind, pairs, sub, minima)                                        \
    void rmli_multiply_panel_##name##_avx2(float(*acc)[8], const void *panel, size_t n_blocks,     \
                                           const uint8_t *x, size_t ld_x, size_t n_x)              \
    {                                                                                              \
        size_t j = 0;                                                                              \
        for (; j + TILE <= n_x; j += TILE)                                                         \
            multiply_tile(kind, pairs, sub, minima, acc + j, panel, n_blocks, x + j * ld_x, ld_x,  \
                          TILE);                                                                   \
        if (n_x - j == 3)                                                                          \
            multiply_tile(kind, pairs, sub, minima, acc + j, panel, n_blocks, x + j * ld_x, ld_x,  \
                          3);                                                                      \
        else if (n_x - j == 2)                                                                     \
            multiply_tile(kind, pairs, sub, minima, acc + j, panel, n_blocks, x + j * ld_x, ld_x,  \
                          2);                                                                      \
        else if (n_x - j == 1)                                                                     \
            multiply_tile(kind, pairs, sub, minima, acc + j, panel, n_blocks, x + j * ld_x, ld_x,  \
                          1);                                                                      \
    }

DEFINE_MULTIPLY_256(q2_k, UNSIGNED_BYTES, 4, 4, MINIMA)
DEFINE_MULTIPLY_256(q3_k, UNSIGNED_BYTES, 4, 4, INTEGER_OFFSETS)
DEFINE_MULTIPLY_256(q4_k, UNSIGNED_BYTES, 8, 8, MINIMA)
DEFINE_MULTIPLY_256(q5_k, UNSIGNED_BYTES, 4, 8, MINIMA)
DEFINE_MULTIPLY_256(q6_k, UNSIGNED_BYTES, 2, 4, INTEGER_OFFSETS)
DEFINE_MULTIPLY_256(iq4_xs, SIGNED_BYTES, 1, 8, NO_MINIMA)
