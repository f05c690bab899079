/* Unpacks weights into panels; the layout is in the header. */
#include "kernels/x86/panel_i8_avx2.h"

#include <stdbool.h>

#include "kernels/x86/products_i8_avx2.h"
#include "kernels/x86/unpack_avx2.h"

typedef __m256i unpack_fn(const void *block, int i);

/* Sub-scales (and minima) of one block as i16, 16 or 8 entries. */
typedef void integers_fn(int16_t *sc, int16_t *mn, const void *block);

/* Eight registers of eight dwords: row r, column c becomes row c, column r. */
RMLI_INLINE void transpose_dwords(__m256i v[8])
{
    __m256i d[8], q[8];
    RMLI_UNROLL
    for (int i = 0; i < 4; i++) {
        d[2 * i] = _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
        d[2 * i + 1] = _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
    }
    RMLI_UNROLL
    for (int i = 0; i < 2; i++) {
        q[4 * i] = _mm256_unpacklo_epi64(d[4 * i], d[4 * i + 2]);
        q[4 * i + 1] = _mm256_unpackhi_epi64(d[4 * i], d[4 * i + 2]);
        q[4 * i + 2] = _mm256_unpacklo_epi64(d[4 * i + 1], d[4 * i + 3]);
        q[4 * i + 3] = _mm256_unpackhi_epi64(d[4 * i + 1], d[4 * i + 3]);
    }
    RMLI_UNROLL
    for (int i = 0; i < 4; i++) {
        v[i] = _mm256_permute2x128_si256(q[i], q[i + 4], 0x20);
        v[i + 4] = _mm256_permute2x128_si256(q[i], q[i + 4], 0x31);
    }
}

/* Elements 32 i .. 32 i + 31 of a block of each row. */
RMLI_INLINE void pack_32(unpack_fn *unpack, uint8_t q[8][8][4], const uint8_t *const rows[8],
                         size_t at, int i)
{
    __m256i v[8];
    RMLI_UNROLL
    for (int r = 0; r < 8; r++)
        v[r] = unpack(rows[r] + at, i);
    transpose_dwords(v);
    RMLI_UNROLL
    for (int k = 0; k < 8; k++)
        _mm256_storeu_si256((__m256i *)q[k], v[k]);
}

#define DEFINE_PACK_32(name, has_m)                                                                \
    void rmli_pack_##name##_avx2(void *panel, const uint8_t *const rows[8], size_t n_blocks)       \
    {                                                                                              \
        struct rmli_panel_block_32 *p = panel;                                                     \
        for (size_t b = 0; b < n_blocks; b++, p++) {                                               \
            size_t at = b * sizeof(struct rmli_block_##name);                                      \
            _mm256_storeu_ps(p->d, gather_f16(rows, at));                                          \
            if (has_m)                                                                             \
                _mm256_storeu_ps(p->m, gather_f16(rows, at + 2));                                  \
            pack_32(unpack_##name, p->q, rows, at, 0);                                             \
        }                                                                                          \
    }

DEFINE_PACK_32(q4_0, false)
DEFINE_PACK_32(q4_1, true)
DEFINE_PACK_32(q5_0, false)
DEFINE_PACK_32(q5_1, true)
DEFINE_PACK_32(q8_0, false)
DEFINE_PACK_32(iq4_nl, false)

/* ---- Blocks of 256 ----------------------------------------------------------- */

RMLI_INLINE void store_16(int16_t *dst, __m256i v)
{
    _mm256_storeu_si256((__m256i *)dst, v);
}

RMLI_INLINE void integers_q2_k(int16_t *sc, int16_t *mn, const void *block)
{
    store_16(sc, scales_q2_k(block));
    store_16(mn, minima_q2_k(block));
}

RMLI_INLINE void integers_q3_k(int16_t *sc, int16_t *mn, const void *block)
{
    __m256i s = scales_q3_k(block);
    store_16(sc, s);
    store_16(mn, _mm256_mullo_epi16(s, _mm256_set1_epi16(-OFFSET_Q3_K)));
}

RMLI_INLINE void store_q4_k(int16_t *sc, int16_t *mn, const uint8_t *scales)
{
    __m256i both = scales_and_minima_q4_k(scales);
    _mm_storeu_si128((__m128i *)sc, _mm256_castsi256_si128(both));
    _mm_storeu_si128((__m128i *)mn, _mm256_extracti128_si256(both, 1));
}

RMLI_INLINE void integers_q4_k(int16_t *sc, int16_t *mn, const void *block)
{
    store_q4_k(sc, mn, ((const struct rmli_block_q4_k *)block)->scales);
}

RMLI_INLINE void integers_q5_k(int16_t *sc, int16_t *mn, const void *block)
{
    store_q4_k(sc, mn, ((const struct rmli_block_q5_k *)block)->scales);
}

RMLI_INLINE void integers_q6_k(int16_t *sc, int16_t *mn, const void *block)
{
    __m256i s = scales_q6_k(block);
    store_16(sc, s);
    store_16(mn, _mm256_mullo_epi16(s, _mm256_set1_epi16(-OFFSET_Q6_K)));
}

RMLI_INLINE void integers_iq4_xs(int16_t *sc, int16_t *mn, const void *block)
{
    (void)mn;
    _mm_storeu_si128((__m128i *)sc, scales_iq4_xs(block));
}

/* n_sub: sub-blocks of a block, 8 or 16. has_mn: the panel's mn are used.
 * m_at: where dmin is, or -1. */
RMLI_INLINE void pack_256(unpack_fn *unpack, integers_fn *integers, size_t block_nbytes,
                          size_t d_at, int m_at, int n_sub, bool has_mn,
                          struct rmli_panel_block_256 *p, const uint8_t *const rows[8],
                          size_t n_blocks)
{
    for (size_t b = 0, at = 0; b < n_blocks; b++, at += block_nbytes, p++) {
        _mm256_storeu_ps(p->d, gather_f16(rows, at + d_at));
        if (m_at >= 0)
            _mm256_storeu_ps(p->m, gather_f16(rows, at + (size_t)m_at));
        for (int r = 0; r < 8; r++) {
            int16_t sc[16], mn[16];
            integers(sc, mn, rows[r] + at);
            for (int i = 0; i < n_sub; i++)
                p->sc[i][r][0] = p->sc[i][r][1] = sc[i];
            for (int i = 0; has_mn && i < 8; i++) {
                p->mn[i][r][0] = mn[n_sub == 16 ? 2 * i : i];
                p->mn[i][r][1] = mn[n_sub == 16 ? 2 * i + 1 : i];
            }
        }
        for (int i = 0; i < 8; i++)
            pack_32(unpack, p->q + 8 * i, rows, at, i);
    }
}

#define DEFINE_PACK_256(name, m_at, n_sub, has_mn)                                                 \
    void rmli_pack_##name##_avx2(void *panel, const uint8_t *const rows[8], size_t n_blocks)       \
    {                                                                                              \
        pack_256(unpack_##name, integers_##name, sizeof(struct rmli_block_##name),                 \
                 offsetof(struct rmli_block_##name, d), m_at, n_sub, has_mn, panel, rows,          \
                 n_blocks);                                                                        \
    }

DEFINE_PACK_256(q2_k, offsetof(struct rmli_block_q2_k, dmin), 16, true)
DEFINE_PACK_256(q3_k, -1, 16, true)
DEFINE_PACK_256(q4_k, offsetof(struct rmli_block_q4_k, dmin), 8, true)
DEFINE_PACK_256(q5_k, offsetof(struct rmli_block_q5_k, dmin), 8, true)
DEFINE_PACK_256(q6_k, -1, 16, true)
DEFINE_PACK_256(iq4_xs, -1, 8, false)
