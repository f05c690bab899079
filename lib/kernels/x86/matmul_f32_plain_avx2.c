/*
 * f32 arithmetic for weights stored as F32, F16 and BF16.
 *
 * One vector: weights are widened in registers, eight elements of four rows at
 * a time. Several: gemm_f32_avx2.c. These types are the ones whose rows need
 * not be a multiple of eight long.
 */
#include "kernels/x86/matmul_avx2.h"

#include <string.h>

#include "kernels/x86/far_rows_avx2.h"
#include "kernels/x86/gemm_f32_avx2.h"
#include "kernels/x86/lanes_avx2.h"

/* ---- Eight elements, or the n < 8 of a tail with zeros behind them --------- */

RMLI_INLINE __m256 load_f32(const uint8_t *p)
{
    return _mm256_loadu_ps((const float *)p);
}

RMLI_INLINE __m256 load_f16(const uint8_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

RMLI_INLINE __m256 load_bf16(const uint8_t *p)
{
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

typedef __m256 load_fn(const uint8_t *p);

RMLI_INLINE __m256 load_tail(load_fn *load, size_t elem_nbytes, const uint8_t *p, size_t n)
{
    uint8_t padded[32] = {0};
    memcpy(padded, p, n * elem_nbytes);
    return load(padded);
}

/* ---- Templates over the way to load (a constant at each use) --------------- */

RMLI_INLINE void widen_strided(load_fn *load, size_t elem_nbytes, float *dst, size_t step,
                               const uint8_t *src, size_t n)
{
    size_t k = 0;
    for (; k + 8 <= n; k += 8, dst += step)
        _mm256_storeu_ps(dst, load(src + k * elem_nbytes));
    if (k < n)
        _mm256_storeu_ps(dst, load_tail(load, elem_nbytes, src + k * elem_nbytes, n - k));
}

RMLI_INLINE void widen_whole(load_fn *load, size_t elem_nbytes, float *dst, const uint8_t *src,
                             size_t n)
{
    size_t k = n / 8 * 8;
    widen_strided(load, elem_nbytes, dst, 8, src, k);
    if (k < n)
        _mm256_maskstore_ps(dst + k, lanes_below(n - k),
                            load_tail(load, elem_nbytes, src + k * elem_nbytes, n - k));
}

/* One vector. The fma of eight rows hide each other's latency. */
RMLI_INLINE void multiply_vector(load_fn *load, size_t elem_nbytes, float *out,
                                 const struct rmli_matrix *w, size_t row_begin, size_t row_end,
                                 const float *x, bool accumulate)
{
    enum { ROWS = 8 };
    for (size_t g = 0; g < far_groups(row_end - row_begin, ROWS); g++) {
        const uint8_t *rows[ROWS];
        far_rows(rows, ROWS, w, row_begin, row_end, g);
        __m256 acc[ROWS];
        RMLI_UNROLL
        for (size_t r = 0; r < ROWS; r++)
            acc[r] = _mm256_setzero_ps();
        size_t k = 0;
        for (; k + 8 <= w->n_cols; k += 8) {
            __m256 v = _mm256_loadu_ps(x + k);
            for (size_t r = 0; k % 32 == 0 && r < ROWS; r++)
                prefetch_stream(rows[r] + k * elem_nbytes, 32 * elem_nbytes);
            RMLI_UNROLL
            for (size_t r = 0; r < ROWS; r++)
                acc[r] = _mm256_fmadd_ps(load(rows[r] + k * elem_nbytes), v, acc[r]);
        }
        if (k < w->n_cols) {
            size_t n = w->n_cols - k;
            __m256i lanes = lanes_below(n);
            __m256 v = _mm256_maskload_ps(x + k, lanes);
            RMLI_UNROLL
            for (size_t r = 0; r < ROWS; r++)
                acc[r] = fma_in_lanes(load_tail(load, elem_nbytes, rows[r] + k * elem_nbytes, n), v,
                                      acc[r], lanes);
        }
        float sums[ROWS];
        _mm_storeu_ps(sums, fold_lanes_4(acc[0], acc[1], acc[2], acc[3]));
        _mm_storeu_ps(sums + 4, fold_lanes_4(acc[4], acc[5], acc[6], acc[7]));
        store_far(out, sums, ROWS, row_begin, row_end, g, accumulate);
    }
}

/* The functions of one dtype: widen_strided_<name>, and the two table entries. */
#define DEFINE_PLAIN(name, elem_nbytes)                                                            \
    static void widen_strided_##name(float *dst, size_t step, const uint8_t *src, size_t n)        \
    {                                                                                              \
        widen_strided(load_##name, elem_nbytes, dst, step, src, n);                                \
    }                                                                                              \
    void rmli_widen_##name##_avx2(float *dst, const void *src, size_t n)                           \
    {                                                                                              \
        widen_whole(load_##name, elem_nbytes, dst, src, n);                                        \
    }                                                                                              \
    void rmli_matmul_f32_##name##_avx2(float *out, size_t ld_out, const struct rmli_matrix *w,     \
                                       size_t row_begin, size_t row_end, const float *x,           \
                                       size_t ld_x, size_t n_x, bool accumulate, void *scratch)    \
    {                                                                                              \
        if (n_x == 1)                                                                              \
            multiply_vector(load_##name, elem_nbytes, out, w, row_begin, row_end, x, accumulate);  \
        else                                                                                       \
            rmli_gemm_f32_avx2(out, ld_out, w, row_begin, row_end, x, ld_x, n_x, accumulate,       \
                               scratch, widen_strided_##name);                                     \
    }

DEFINE_PLAIN(f32, 4)
DEFINE_PLAIN(f16, 2)
DEFINE_PLAIN(bf16, 2)
