/*
 * f32 arithmetic for the quantised types: widening, and products with one
 * vector that widen in registers. Products with several vectors are in
 * gemm_f32_avx2.c.
 *
 * Integers become floats from the top byte of a 32-bit lane: the conversion
 * then gives q * 2^24, which the scale, multiplied by 2^-24 beforehand, takes
 * back. Both steps are exact (the smallest scale that is not zero is an f16
 * subnormal, 2^-24), so the product is what d * q is; and signed bytes need no
 * instruction to extend their sign.
 *
 * The contract rounds d * sc, times q, and the addition of m one by one. The
 * products are exact: d has 11 significant bits and sc * q, of the types with
 * m, at most 6 + 5. So an fma that adds m rounds where the contract does.
 */
#include "kernels/x86/matmul_avx2.h"

#include <stddef.h>

#include "kernels/x86/far_rows_avx2.h"
#include "kernels/x86/gemm_f32_avx2.h"
#include "kernels/x86/sub_scales_avx2.h"
#include "kernels/x86/unpack_avx2.h"

/*
 * Rows are taken in units: one block of 256, or eight blocks of 32 (fewer at the
 * end of a row). The scales of a unit are found first, since eight of them cost
 * little more than one.
 *
 * Scales of a unit, for each sub-block of 16 or of 32 elements; products are
 * rounded to f32 here.
 */
struct f32_scales {
    float d[16]; /* (d * sc) * 2^-24 */
    float m[16]; /* to be added: m, or -(dmin * m) */
};

/* What a type is: constants at each use of the templates below. */
struct block_format {
    size_t block_nelems; /* 32 or 256 */
    size_t block_nbytes;
    int sub_nelems; /* 16 or 32 elements have one entry of f32_scales */
    int offset;     /* subtracted from the unpacked bytes */
    bool has_m;
};
typedef __m256i unpack_fn(const void *block, int i);
/* n: parts of 32 elements in the unit, 1 .. 8 (8 for blocks of 256). */
typedef void scales_fn(struct f32_scales *s, const uint8_t *unit, size_t n);

/* ---- Scales ---------------------------------------------------------------- */

static const float from_top_byte = 0x1p-24f;

/* The f16 at the start of each of n blocks, times a factor. */
RMLI_INLINE void scale_blocks(float *dst, const uint8_t *unit, size_t block_nbytes, size_t n,
                              float factor)
{
    if (n == 8) {
        __m256 d = gather_f16_steps(unit, block_nbytes);
        _mm256_storeu_ps(dst, _mm256_mul_ps(d, _mm256_set1_ps(factor)));
        return;
    }
    for (size_t b = 0; b < n; b++)
        dst[b] = f32_of_f16(load_u16(unit + b * block_nbytes)) * factor;
}

#define DEFINE_SCALES_PLAIN(name)                                                                  \
    RMLI_INLINE void scales_f32_##name(struct f32_scales *s, const uint8_t *unit, size_t n)        \
    {                                                                                              \
        scale_blocks(s->d, unit, sizeof(struct rmli_block_##name), n, from_top_byte);              \
    }
DEFINE_SCALES_PLAIN(q4_0)
DEFINE_SCALES_PLAIN(q5_0)
DEFINE_SCALES_PLAIN(q8_0)
DEFINE_SCALES_PLAIN(iq4_nl)

#define DEFINE_SCALES_WITH_M(name)                                                                 \
    RMLI_INLINE void scales_f32_##name(struct f32_scales *s, const uint8_t *unit, size_t n)        \
    {                                                                                              \
        const size_t m_at = offsetof(struct rmli_block_##name, m);                                 \
        scale_blocks(s->d, unit, sizeof(struct rmli_block_##name), n, from_top_byte);              \
        scale_blocks(s->m, unit + m_at, sizeof(struct rmli_block_##name), n, 1.0f);                \
    }
DEFINE_SCALES_WITH_M(q4_1)
DEFINE_SCALES_WITH_M(q5_1)

/* dst[i] = factor * sc[i] for eight i16. */
RMLI_INLINE void scale_8(float *dst, __m128i sc, float factor)
{
    __m256 wide = _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(sc));
    _mm256_storeu_ps(dst, _mm256_mul_ps(wide, _mm256_set1_ps(factor)));
}

RMLI_INLINE void scale_16(float *dst, __m256i sc, float factor)
{
    scale_8(dst, _mm256_castsi256_si128(sc), factor);
    scale_8(dst + 8, _mm256_extracti128_si256(sc, 1), factor);
}

RMLI_INLINE void scales_f32_q2_k(struct f32_scales *s, const uint8_t *unit, size_t n)
{
    const struct rmli_block_q2_k *b = (const void *)unit;
    (void)n;
    scale_16(s->d, scales_q2_k(b), f32_of_f16(b->d) * from_top_byte);
    scale_16(s->m, minima_q2_k(b), -f32_of_f16(b->dmin));
}

RMLI_INLINE void scales_f32_q3_k(struct f32_scales *s, const uint8_t *unit, size_t n)
{
    const struct rmli_block_q3_k *b = (const void *)unit;
    (void)n;
    scale_16(s->d, scales_q3_k(b), f32_of_f16(b->d) * from_top_byte);
}

#define DEFINE_SCALES_Q4_K(name)                                                                   \
    RMLI_INLINE void scales_f32_##name(struct f32_scales *s, const uint8_t *unit, size_t n)        \
    {                                                                                              \
        const struct rmli_block_##name *b = (const void *)unit;                                    \
        __m256i both = scales_and_minima_q4_k(b->scales);                                          \
        scale_8(s->d, _mm256_castsi256_si128(both), f32_of_f16(b->d) * from_top_byte);             \
        scale_8(s->m, _mm256_extracti128_si256(both, 1), -f32_of_f16(b->dmin));                    \
        (void)n;                                                                                   \
    }
DEFINE_SCALES_Q4_K(q4_k)
DEFINE_SCALES_Q4_K(q5_k)

RMLI_INLINE void scales_f32_q6_k(struct f32_scales *s, const uint8_t *unit, size_t n)
{
    const struct rmli_block_q6_k *b = (const void *)unit;
    (void)n;
    scale_16(s->d, scales_q6_k(b), f32_of_f16(b->d) * from_top_byte);
}

RMLI_INLINE void scales_f32_iq4_xs(struct f32_scales *s, const uint8_t *unit, size_t n)
{
    const struct rmli_block_iq4_xs *b = (const void *)unit;
    (void)n;
    scale_8(s->d, scales_iq4_xs(b), f32_of_f16(b->d) * from_top_byte);
}

/* ---- Templates -------------------------------------------------------------- */

/* Elements of a unit; units of n_cols elements; parts of 32 in the unit at k. */
enum { UNIT_NELEMS = 256 };

RMLI_INLINE size_t parts_at(size_t k, size_t n)
{
    return n - k < UNIT_NELEMS ? (n - k) / 32 : UNIT_NELEMS / 32;
}

RMLI_INLINE size_t unit_nbytes(struct block_format f)
{
    return UNIT_NELEMS / f.block_nelems * f.block_nbytes;
}

/* The f32 values of elements 32 i .. 32 i + 31 of a unit. */
RMLI_INLINE void values_32(__m256 v[4], struct block_format f, unpack_fn *unpack,
                           const struct f32_scales *s, const uint8_t *unit, int i)
{
    /* Dword j of pattern p takes byte 8 p + j of the half that it finds twice. */
    const __m256i pattern[2] = {
        _mm256_setr_epi8(-1, -1, -1, 0, -1, -1, -1, 1, -1, -1, -1, 2, -1, -1, -1, 3, -1, -1, -1, 4,
                         -1, -1, -1, 5, -1, -1, -1, 6, -1, -1, -1, 7),
        _mm256_setr_epi8(-1, -1, -1, 8, -1, -1, -1, 9, -1, -1, -1, 10, -1, -1, -1, 11, -1, -1, -1,
                         12, -1, -1, -1, 13, -1, -1, -1, 14, -1, -1, -1, 15)};
    __m256i q =
        f.block_nelems == 32 ? unpack(unit + (size_t)i * f.block_nbytes, 0) : unpack(unit, i);
    if (f.offset != 0)
        q = _mm256_sub_epi8(q, _mm256_set1_epi8((char)f.offset));
    __m256i half[2] = {_mm256_permute2x128_si256(q, q, 0x00),
                       _mm256_permute2x128_si256(q, q, 0x11)};
    RMLI_UNROLL
    for (int j = 0; j < 4; j++) {
        int sub = f.sub_nelems == 16 ? 2 * i + j / 2 : i;
        __m256 wide = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(half[j / 2], pattern[j % 2]));
        __m256 d = _mm256_set1_ps(s->d[sub]);
        v[j] =
            f.has_m ? _mm256_fmadd_ps(wide, d, _mm256_set1_ps(s->m[sub])) : _mm256_mul_ps(wide, d);
    }
}

RMLI_INLINE void widen_blocks(struct block_format f, unpack_fn *unpack, scales_fn *scales,
                              float *dst, size_t step, const uint8_t *src, size_t n)
{
    for (size_t k = 0; k < n; k += UNIT_NELEMS, src += unit_nbytes(f)) {
        size_t n_parts = parts_at(k, n);
        struct f32_scales s;
        scales(&s, src, n_parts);
        for (size_t i = 0; i < n_parts; i++) {
            __m256 v[4];
            values_32(v, f, unpack, &s, src, (int)i);
            RMLI_UNROLL
            for (int j = 0; j < 4; j++, dst += step)
                _mm256_storeu_ps(dst, v[j]);
        }
    }
}

/* One vector. Four rows hide the latency of each other's fma and conversions. */
RMLI_INLINE void multiply_vector(struct block_format f, unpack_fn *unpack, scales_fn *scales,
                                 float *out, const struct rmli_matrix *w, size_t row_begin,
                                 size_t row_end, const float *x, bool accumulate)
{
    enum { ROWS = 4 };
    /* Four parts at a time make the shifts of the types with 256 elements constants. */
    const size_t steps = f.block_nelems == 256 ? 4 : 1;
    for (size_t g = 0; g < far_groups(row_end - row_begin, ROWS); g++) {
        const uint8_t *rows[ROWS];
        far_rows(rows, ROWS, w, row_begin, row_end, g);
        __m256 acc[ROWS];
        RMLI_UNROLL
        for (size_t r = 0; r < ROWS; r++)
            acc[r] = _mm256_setzero_ps();
        for (size_t k = 0, at = 0; k < w->n_cols; k += UNIT_NELEMS, at += unit_nbytes(f)) {
            size_t n_parts = parts_at(k, w->n_cols);
            struct f32_scales s[ROWS];
            RMLI_UNROLL
            for (int r = 0; r < ROWS; r++) {
                prefetch_stream(rows[r] + at, unit_nbytes(f));
                scales(&s[r], rows[r] + at, n_parts);
            }
            const float *v = x + k;
            for (size_t first = 0; first < n_parts; first += steps) {
                RMLI_UNROLL
                for (size_t step = 0; step < steps; step++, v += 32) {
                    RMLI_UNROLL
                    for (int r = 0; r < ROWS; r++) {
                        __m256 values[4];
                        values_32(values, f, unpack, &s[r], rows[r] + at, (int)(first + step));
                        RMLI_UNROLL
                        for (int j = 0; j < 4; j++)
                            acc[r] = _mm256_fmadd_ps(values[j], _mm256_loadu_ps(v + 8 * j), acc[r]);
                    }
                }
            }
        }
        float sums[ROWS];
        _mm_storeu_ps(sums, fold_lanes_4(acc[0], acc[1], acc[2], acc[3]));
        store_far(out, sums, ROWS, row_begin, row_end, g, accumulate);
    }
}

/* ---- Types ------------------------------------------------------------------ */

/* The functions of one dtype: widen_strided_<name>, and the two table entries.
 * Parameters as in struct block_format. */
#define DEFINE_BLOCKS(name, block_nelems, sub_nelems, offset, has_m)                               \
    static const struct block_format format_##name = {                                             \
        block_nelems, sizeof(struct rmli_block_##name), sub_nelems, offset, has_m};                \
    static void widen_strided_##name(float *dst, size_t step, const uint8_t *src, size_t n)        \
    {                                                                                              \
        widen_blocks(format_##name, unpack_##name, scales_f32_##name, dst, step, src, n);          \
    }                                                                                              \
    void rmli_widen_##name##_avx2(float *dst, const void *src, size_t n)                           \
    {                                                                                              \
        widen_strided_##name(dst, 8, src, n);                                                      \
    }                                                                                              \
    void rmli_matmul_f32_##name##_avx2(float *out, size_t ld_out, const struct rmli_matrix *w,     \
                                       size_t row_begin, size_t row_end, const float *x,           \
                                       size_t ld_x, size_t n_x, bool accumulate, void *scratch)    \
    {                                                                                              \
        if (n_x == 1)                                                                              \
            multiply_vector(format_##name, unpack_##name, scales_f32_##name, out, w, row_begin,    \
                            row_end, x, accumulate);                                               \
        else                                                                                       \
            rmli_gemm_f32_avx2(out, ld_out, w, row_begin, row_end, x, ld_x, n_x, accumulate,       \
                               scratch, widen_strided_##name);                                     \
    }

DEFINE_BLOCKS(q4_0, 32, 32, OFFSET_Q4_0, false)
DEFINE_BLOCKS(q4_1, 32, 32, 0, true)
DEFINE_BLOCKS(q5_0, 32, 32, OFFSET_Q5_0, false)
DEFINE_BLOCKS(q5_1, 32, 32, 0, true)
DEFINE_BLOCKS(q8_0, 32, 32, 0, false)
DEFINE_BLOCKS(iq4_nl, 32, 32, 0, false)
DEFINE_BLOCKS(q2_k, 256, 16, 0, true)
DEFINE_BLOCKS(q3_k, 256, 16, OFFSET_Q3_K, false)
DEFINE_BLOCKS(q4_k, 256, 32, 0, true)
DEFINE_BLOCKS(q5_k, 256, 32, 0, true)
DEFINE_BLOCKS(q6_k, 256, 16, OFFSET_Q6_K, false)
DEFINE_BLOCKS(iq4_xs, 256, 32, 0, false)
