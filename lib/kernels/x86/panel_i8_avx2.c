/* Unpacks weights into panels; the layout is in the header. */
#include "kernels/x86/panel_i8_avx2.h"

#include <stdbool.h>
#include <string.h>

#include "kernels/x86/products_i8_avx2.h"
#include "kernels/x86/unpack_avx2.h"

typedef __m256i unpack_fn(const void *block, int i);

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

RMLI_INLINE void prefetch_rows(const uint8_t *const rows[8], size_t at, size_t nbytes)
{
    for (int r = 0; r < 8; r++)
        for (size_t i = 0; i < nbytes; i += 64)
            _mm_prefetch((const char *)rows[r] + at + i, _MM_HINT_T0);
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
    void rmli_pack_##name##_avx2(void *panel, const uint8_t *const rows[8], size_t n_blocks,       \
                                 size_t ahead)                                                     \
    {                                                                                              \
        struct rmli_panel_block_32 *p = panel;                                                     \
        for (size_t b = 0; b < n_blocks; b++, p++) {                                               \
            size_t at = b * sizeof(struct rmli_block_##name);                                      \
            prefetch_rows(rows, at + ahead, sizeof(struct rmli_block_##name));                     \
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

/* dst[i][r] = dword i of v[r]. */
RMLI_INLINE void store_transposed(int16_t (*dst)[8][2], __m256i v[8])
{
    transpose_dwords(v);
    RMLI_UNROLL
    for (int i = 0; i < 8; i++)
        _mm256_storeu_si256((__m256i *)dst[i], v[i]);
}

/* Sub-scales and minima of a block of each row. Those of types with sub-blocks of
 * 32 come doubled already. */
RMLI_INLINE void pack_integers(sub_integers_fn *integers, int n_sub, int offset, bool has_m,
                               struct rmli_panel_block_256 *p, const uint8_t *const rows[8],
                               size_t at)
{
    __m256i low[8], high[8], mn[8];
    RMLI_UNROLL
    for (int r = 0; r < 8; r++) {
        struct sub_integers s;
        integers(&s, rows[r] + at);
        /* entries 0 .. 3 and 8 .. 11 doubled, and 4 .. 7 and 12 .. 15 */
        low[r] = n_sub == 16 ? _mm256_unpacklo_epi16(s.sc, s.sc) : s.sc;
        high[r] = _mm256_unpackhi_epi16(s.sc, s.sc);
        mn[r] = has_m ? s.mn : _mm256_mullo_epi16(s.sc, _mm256_set1_epi16((short)-offset));
    }
    if (n_sub == 8) {
        store_transposed(p->sc, low);
    } else {
        int16_t doubled[16][8][2];
        store_transposed(doubled, low);
        store_transposed(doubled + 8, high);
        memcpy(p->sc, doubled, sizeof doubled[0] * 4);
        memcpy(p->sc + 8, doubled + 4, sizeof doubled[0] * 4);
        memcpy(p->sc + 4, doubled + 8, sizeof doubled[0] * 4);
        memcpy(p->sc + 12, doubled + 12, sizeof doubled[0] * 4);
    }
    store_transposed(p->mn, mn);
}

/* n_sub: sub-blocks of a block, 8 or 16. offset: subtracted from the bytes to
 * get q. m_at: where dmin is, when has_m. */
RMLI_INLINE void pack_256(unpack_fn *unpack, sub_integers_fn *integers, size_t block_nbytes,
                          size_t d_at, size_t m_at, int n_sub, int offset, bool has_m,
                          struct rmli_panel_block_256 *p, const uint8_t *const rows[8],
                          size_t n_blocks, size_t ahead)
{
    for (size_t b = 0, at = 0; b < n_blocks; b++, at += block_nbytes, p++) {
        prefetch_rows(rows, at + ahead, block_nbytes);
        _mm256_storeu_ps(p->d, gather_f16(rows, at + d_at));
        if (has_m)
            _mm256_storeu_ps(p->m, gather_f16(rows, at + m_at));
        pack_integers(integers, n_sub, offset, has_m, p, rows, at);
        for (int i = 0; i < 8; i++)
            pack_32(unpack, p->q + 8 * i, rows, at, i);
    }
}

#define DEFINE_PACK_256(name, n_sub, offset, has_m, m_at)                                          \
    void rmli_pack_##name##_avx2(void *panel, const uint8_t *const rows[8], size_t n_blocks,       \
                                 size_t ahead)                                                     \
    {                                                                                              \
        pack_256(unpack_##name, sub_integers_##name, sizeof(struct rmli_block_##name),             \
                 offsetof(struct rmli_block_##name, d), m_at, n_sub, offset, has_m, panel, rows,   \
                 n_blocks, ahead);                                                                 \
    }

DEFINE_PACK_256(q2_k, 16, 0, true, offsetof(struct rmli_block_q2_k, dmin))
DEFINE_PACK_256(q3_k, 16, OFFSET_Q3_K, false, 0)
DEFINE_PACK_256(q4_k, 8, 0, true, offsetof(struct rmli_block_q4_k, dmin))
DEFINE_PACK_256(q5_k, 8, 0, true, offsetof(struct rmli_block_q5_k, dmin))
DEFINE_PACK_256(q6_k, 16, OFFSET_Q6_K, false, 0)
DEFINE_PACK_256(iq4_xs, 8, 128, false, 0) /* for kernels that add 128 to signed bytes */
