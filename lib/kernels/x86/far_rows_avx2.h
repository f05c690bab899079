/*
 * The order in which the kernels for one vector visit rows.
 *
 * Weights come from memory faster in several sequential streams than in one,
 * and much faster than from neighbouring rows in lockstep, each of which is a
 * stream that ends after a few cache lines. So the rows of a call are cut into
 * N parts of equal size, and group g takes row g of each part: N streams that
 * run on from group to group.
 */
#ifndef RML_KERNELS_X86_FAR_ROWS_AVX2_H
#define RML_KERNELS_X86_FAR_ROWS_AVX2_H

#include "kernels/x86/lanes_avx2.h"
#include "tensor/matrix.h"

/* Groups of n_parts rows that the rows make. */
RMLI_INLINE size_t far_groups(size_t n_rows, size_t n_parts)
{
    return (n_rows + n_parts - 1) / n_parts;
}

/* The rows of group g; where a part is shorter the last row is repeated. */
RMLI_INLINE void far_rows(const uint8_t **rows, size_t n_parts, const struct rmli_matrix *w,
                          size_t row_begin, size_t row_end, size_t g)
{
    size_t step = far_groups(row_end - row_begin, n_parts);
    RMLI_UNROLL
    for (size_t p = 0; p < n_parts; p++) {
        size_t row = row_begin + g + p * step;
        rows[p] = rmli_matrix_row(w, row < row_end ? row : row_end - 1);
    }
}

/* Asks for what a stream reads PREFETCH_NBYTES later: the hardware follows a
 * stream too, but not far enough ahead of one that is read this slowly. Streams
 * run on from row to row, and asking for memory that is not there does nothing. */
enum { PREFETCH_NBYTES = 1024 };

RMLI_INLINE void prefetch_stream(const uint8_t *p, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i += 64)
        _mm_prefetch((const char *)p + PREFETCH_NBYTES + i, _MM_HINT_T0);
}

/* Writes the values of group g, or adds them to what is there. */
RMLI_INLINE void store_far(float *out, const float *values, size_t n_parts, size_t row_begin,
                           size_t row_end, size_t g, _Bool accumulate)
{
    size_t step = far_groups(row_end - row_begin, n_parts);
    size_t row = row_begin + g;
    for (size_t p = 0; p < n_parts && row < row_end; p++, row += step)
        out[row] = accumulate ? out[row] + values[p] : values[p];
}

#endif
