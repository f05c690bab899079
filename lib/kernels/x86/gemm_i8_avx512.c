/*
 * i8 products of a panel with several vectors, by the dot product instruction of
 * AVX-512 VNNI: four unsigned bytes times four signed ones, added to i32 without
 * saturation. One instruction does what AVX2 does in three or four, at the same
 * rate for every number of bits.
 *
 * Registers stay 256 bits wide: the panel is the one of AVX2 (lanes are its eight
 * rows), and processors that slow down for 512-bit arithmetic do not. What is
 * used of AVX-512 otherwise is its 32 registers, for tiles of eight vectors, and
 * the broadcast of four activations in the operand itself.
 *
 * Signed bytes have 128 added (their top bit turned over) to become unsigned,
 * which makes 128 an offset like the others.
 */
#include <string.h>

#include "kernels/activation_row.h"
#include "kernels/x86/gemm_i8_avx2.h"
#include "kernels/x86/matmul_avx512.h"
#include "kernels/x86/products_i8_avx2.h"

enum { TILE = 8 };

RMLI_INLINE __m256i broadcast_dword(const void *p)
{
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm256_set1_epi32(v);
}

RMLI_INLINE __m256i load_bytes(const uint8_t (*q)[4], enum weight_bytes kind)
{
    __m256i w = _mm256_loadu_si256((const __m256i *)q);
    return kind == SIGNED_BYTES ? _mm256_xor_si256(w, _mm256_set1_epi8((char)0x80)) : w;
}

/* n vectors (at most TILE). offset_log2: 2^that is subtracted from the unsigned
 * bytes to get q; 0 for none. */
RMLI_INLINE void multiply_tile_32(enum weight_bytes kind, int offset_log2, bool has_m,
                                  float (*acc)[8], const struct rmli_panel_block_32 *p,
                                  size_t n_blocks, const uint8_t *x, size_t ld_x, int n)
{
    __m256 sums[TILE];
    RMLI_UNROLL
    for (int c = 0; c < n; c++)
        sums[c] = _mm256_loadu_ps(acc[c]);
    for (size_t b = 0; b < n_blocks; b++, p++, x += sizeof(struct rmli_activation_block_32)) {
        __m256i i32[TILE];
        RMLI_UNROLL
        for (int c = 0; c < n; c++)
            i32[c] = _mm256_setzero_si256();
        RMLI_UNROLL
        for (int k = 0; k < 8; k++) {
            __m256i w = load_bytes(p->q[k], kind);
            RMLI_UNROLL
            for (int c = 0; c < n; c++) {
                const struct rmli_activation_block_32 *a = (const void *)(x + (size_t)c * ld_x);
                i32[c] = _mm256_dpbusd_epi32(i32[c], w, broadcast_dword(a->q + 4 * k));
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

/* sub: registers of the panel that make a sub-block, 4 or 8. has_m: mn are minima,
 * else integer offsets. */
RMLI_INLINE void multiply_tile_256(enum weight_bytes kind, int sub, bool has_m, float (*acc)[8],
                                   const struct rmli_panel_block_256 *p, size_t n_blocks,
                                   const uint8_t *x, size_t ld_x, int n)
{
    for (size_t b = 0; b < n_blocks; b++, p++, x += sizeof(struct rmli_activation_block_256)) {
        __m256i i32[TILE], s[TILE];
        RMLI_UNROLL
        for (int c = 0; c < n; c++)
            s[c] = _mm256_setzero_si256();
        for (int i = 0; i < 8; i++) {
            __m256i mn = _mm256_loadu_si256((const __m256i *)p->mn[i]);
            RMLI_UNROLL
            for (int c = 0; c < n; c++) {
                const struct rmli_activation_block_256 *a = (const void *)(x + (size_t)c * ld_x);
                s[c] = _mm256_dpwssd_epi32(s[c], mn, broadcast_dword(a->sum + 2 * i));
            }
        }
        RMLI_UNROLL
        for (int c = 0; c < n; c++)
            i32[c] = has_m ? _mm256_setzero_si256() : s[c];
        for (int k0 = 0; k0 < 64; k0 += sub) {
            __m256i part[TILE];
            RMLI_UNROLL
            for (int c = 0; c < n; c++)
                part[c] = _mm256_setzero_si256();
            RMLI_UNROLL
            for (int k = 0; k < sub; k++) {
                __m256i w = load_bytes(p->q[k0 + k], kind);
                RMLI_UNROLL
                for (int c = 0; c < n; c++) {
                    const struct rmli_activation_block_256 *a =
                        (const void *)(x + (size_t)c * ld_x);
                    part[c] = _mm256_dpbusd_epi32(part[c], w, broadcast_dword(a->q + 4 * (k0 + k)));
                }
            }
            __m256i twice = _mm256_loadu_si256((const __m256i *)p->sc[k0 / sub]);
            __m256i sc = _mm256_srai_epi32(twice, 16);
            RMLI_UNROLL
            for (int c = 0; c < n; c++)
                i32[c] = _mm256_add_epi32(i32[c], _mm256_mullo_epi32(part[c], sc));
        }
        RMLI_UNROLL
        for (int c = 0; c < n; c++) {
            const struct rmli_activation_block_256 *a = (const void *)(x + (size_t)c * ld_x);
            __m256 da = _mm256_set1_ps(a->d);
            __m256 d = _mm256_mul_ps(_mm256_loadu_ps(p->d), da);
            __m256 sum = _mm256_fmadd_ps(d, _mm256_cvtepi32_ps(i32[c]), _mm256_loadu_ps(acc[c]));
            if (has_m) {
                __m256 m = _mm256_mul_ps(_mm256_loadu_ps(p->m), da);
                sum = _mm256_fnmadd_ps(m, _mm256_cvtepi32_ps(s[c]), sum);
            }
            _mm256_storeu_ps(acc[c], sum);
        }
    }
}

/* The function multiply_<name>: tiles of 8 vectors, then of 4, 2 and 1. `tile` is
 * called with the parameters in `...`, which end in what comes before acc. */
#define DEFINE_MULTIPLY(name, tile, ...)                                                           \
    static void multiply_##name(float(*acc)[8], const void *panel, size_t n_blocks,                \
                                const uint8_t *x, size_t ld_x, size_t n_x)                         \
    {                                                                                              \
        size_t j = 0;                                                                              \
        for (; j + 8 <= n_x; j += 8)                                                               \
            tile(__VA_ARGS__, acc + j, panel, n_blocks, x + j * ld_x, ld_x, 8);                    \
        if (n_x - j >= 4) {                                                                        \
            tile(__VA_ARGS__, acc + j, panel, n_blocks, x + j * ld_x, ld_x, 4);                    \
            j += 4;                                                                                \
        }                                                                                          \
        if (n_x - j >= 2) {                                                                        \
            tile(__VA_ARGS__, acc + j, panel, n_blocks, x + j * ld_x, ld_x, 2);                    \
            j += 2;                                                                                \
        }                                                                                          \
        if (n_x > j)                                                                               \
            tile(__VA_ARGS__, acc + j, panel, n_blocks, x + j * ld_x, ld_x, 1);                    \
    }

DEFINE_MULTIPLY(offset_8, multiply_tile_32, UNSIGNED_BYTES, 3, false)
DEFINE_MULTIPLY(offset_16, multiply_tile_32, UNSIGNED_BYTES, 4, false)
DEFINE_MULTIPLY(signed, multiply_tile_32, SIGNED_BYTES, 7, false)
DEFINE_MULTIPLY(with_m, multiply_tile_32, UNSIGNED_BYTES, 0, true)
DEFINE_MULTIPLY(sub_16_minima, multiply_tile_256, UNSIGNED_BYTES, 4, true)
DEFINE_MULTIPLY(sub_16_offset, multiply_tile_256, UNSIGNED_BYTES, 4, false)
DEFINE_MULTIPLY(sub_32_minima, multiply_tile_256, UNSIGNED_BYTES, 8, true)
DEFINE_MULTIPLY(sub_32_signed, multiply_tile_256, SIGNED_BYTES, 8, false)

/* The table entry of a type: everything but the multiplication is AVX2's. */
#define DEFINE_MATMUL_I8(name, multiply)                                                           \
    void rmli_matmul_i8_##name##_avx512(float *out, size_t ld_out, const struct rmli_matrix *w,    \
                                        size_t row_begin, size_t row_end, const void *x,           \
                                        size_t n_x, bool accumulate, void *scratch)                \
    {                                                                                              \
        static const struct rmli_i8_format format = {rmli_gemv_i8_##name##_avx2,                   \
                                                     rmli_pack_##name##_avx2, multiply};           \
        rmli_matmul_i8_avx2(&format, out, ld_out, w, row_begin, row_end, x, n_x, accumulate,       \
                            scratch);                                                              \
    }

DEFINE_MATMUL_I8(q4_0, multiply_offset_8)
DEFINE_MATMUL_I8(q4_1, multiply_with_m)
DEFINE_MATMUL_I8(q5_0, multiply_offset_16)
DEFINE_MATMUL_I8(q5_1, multiply_with_m)
DEFINE_MATMUL_I8(q8_0, multiply_signed)
DEFINE_MATMUL_I8(iq4_nl, multiply_signed)
DEFINE_MATMUL_I8(q2_k, multiply_sub_16_minima)
DEFINE_MATMUL_I8(q3_k, multiply_sub_16_offset)
DEFINE_MATMUL_I8(q4_k, multiply_sub_32_minima)
DEFINE_MATMUL_I8(q5_k, multiply_sub_32_minima)
DEFINE_MATMUL_I8(q6_k, multiply_sub_16_offset)
DEFINE_MATMUL_I8(iq4_xs, multiply_sub_32_signed)
