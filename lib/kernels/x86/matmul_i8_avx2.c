/*
 * i8 arithmetic: the loop over rows and vectors, and the entry of each type.
 *
 * One vector, or two or three: eight rows at a time straight from the packed
 * blocks (gemv_i8_*). More: eight rows are unpacked into a panel in scratch
 * memory and multiplied with a batch of vectors (panel_i8, gemm_i8_*). Rows
 * longer than a panel are cut between blocks; the f32 sums wait in memory and go
 * on where they stopped.
 *
 *     scratch   acc [MAX_BATCH][8 rows]   panel [up to PANEL_NBYTES]
 */
#include "kernels/x86/matmul_avx2.h"

#include <assert.h>
#include <string.h>

#include "kernels/activation_row.h"
#include "kernels/x86/far_rows_avx2.h"
#include "kernels/x86/gemm_i8_avx2.h"
#include "kernels/x86/gemv_i8_avx2.h"
#include "kernels/x86/products_i8_avx2.h"

enum {
    GEMV_MAX = 4,             /* vectors up to which unpacking a panel does not pay */
    PANEL_NELEMS = 2048,      /* of a row; a panel and a tile stay in the first level cache */
    BATCH_NBYTES = 384 << 10, /* of activations: they stay in the second level cache */
    BATCH_MIN = 32,           /* vectors at least: each batch unpacks the weights anew */
    BATCH_MAX = 1024,
};
static_assert(BATCH_MAX * 8 * sizeof(float) +
                      PANEL_NELEMS / 32 * sizeof(struct rmli_panel_block_32) +
                      PANEL_NELEMS / 256 * sizeof(struct rmli_panel_block_256) <=
                  RMLI_MATMUL_SCRATCH_NBYTES,
              "sums and a panel fit the scratch memory");

/* Eight rows from `row` on; behind the last row the last row is repeated. */
static void find_rows(const uint8_t *rows[RMLI_PANEL_ROWS], const struct rmli_matrix *w, size_t row,
                      size_t n_rows)
{
    for (size_t r = 0; r < RMLI_PANEL_ROWS; r++)
        rows[r] = rmli_matrix_row(w, row + (r < n_rows ? r : n_rows - 1));
}

static size_t batch_size(size_t ld_x)
{
    size_t n = BATCH_NBYTES / ld_x;
    return n < BATCH_MIN ? BATCH_MIN : n > BATCH_MAX ? BATCH_MAX : n;
}

/* Many vectors. */
static void multiply_panels(const struct rmli_i8_format *format, float *out, size_t ld_out,
                            const struct rmli_matrix *w, size_t row_begin, size_t row_end,
                            const uint8_t *x, size_t n_x, bool accumulate, void *scratch)
{
    const struct rml_dtype_traits *traits = rml_dtype_traits(w->dtype);
    const size_t n_blocks = w->n_cols / traits->block_nelems;
    const size_t panel_blocks = PANEL_NELEMS / traits->block_nelems;
    const size_t x_block_nbytes = traits->block_nelems == 32
                                      ? sizeof(struct rmli_activation_block_32)
                                      : sizeof(struct rmli_activation_block_256);
    const size_t ld_x = rmli_activation_row_nbytes(w->dtype, w->n_cols);
    const size_t batch_max = batch_size(ld_x);
    float(*acc)[8] = scratch;
    void *panel = acc + BATCH_MAX;

    for (size_t first = 0; first < n_x; first += batch_max) {
        size_t n = n_x - first < batch_max ? n_x - first : batch_max;
        const uint8_t *batch = x + first * ld_x;
        for (size_t row = row_begin; row < row_end; row += RMLI_PANEL_ROWS) {
            size_t n_rows = row_end - row < RMLI_PANEL_ROWS ? row_end - row : RMLI_PANEL_ROWS;
            const uint8_t *rows[RMLI_PANEL_ROWS];
            find_rows(rows, w, row, n_rows);
            memset(acc, 0, n * sizeof *acc);
            for (size_t b = 0; b < n_blocks; b += panel_blocks) {
                size_t some = n_blocks - b < panel_blocks ? n_blocks - b : panel_blocks;
                format->pack(panel, rows, some, RMLI_PANEL_ROWS * w->row_nbytes);
                format->multiply(acc, panel, some, batch + b * x_block_nbytes, ld_x, n);
                for (size_t r = 0; r < RMLI_PANEL_ROWS; r++)
                    rows[r] += some * traits->block_nbytes;
            }
            for (size_t j = 0; j < n; j++)
                store_values_8(out + (first + j) * ld_out + row, _mm256_loadu_ps(acc[j]), n_rows,
                               accumulate);
        }
    }
}

/* Few vectors. */
static void multiply_unpacked(const struct rmli_i8_format *format, float *out, size_t ld_out,
                              const struct rmli_matrix *w, size_t row_begin, size_t row_end,
                              const uint8_t *x, size_t n_x, bool accumulate)
{
    const size_t n_blocks = w->n_cols / rml_dtype_traits(w->dtype)->block_nelems;
    const size_t ld_x = rmli_activation_row_nbytes(w->dtype, w->n_cols);
    for (size_t g = 0; g < far_groups(row_end - row_begin, 8); g++) {
        const uint8_t *rows[8];
        far_rows(rows, 8, w, row_begin, row_end, g);
        for (size_t j = 0; j < n_x; j++) {
            float sums[8];
            format->gemv(sums, rows, n_blocks, x + j * ld_x);
            store_far(out + j * ld_out, sums, 8, row_begin, row_end, g, accumulate);
        }
    }
}

void rmli_matmul_i8_avx2(const struct rmli_i8_format *format, float *out, size_t ld_out,
                         const struct rmli_matrix *w, size_t row_begin, size_t row_end,
                         const void *x, size_t n_x, bool accumulate, void *scratch)
{
    if (n_x <= GEMV_MAX)
        multiply_unpacked(format, out, ld_out, w, row_begin, row_end, x, n_x, accumulate);
    else
        multiply_panels(format, out, ld_out, w, row_begin, row_end, x, n_x, accumulate, scratch);
}

/* same_sums: the type whose bytes are summed in the same way. */
#define DEFINE_MATMUL_I8(name, same_sums)                                                          \
    void rmli_matmul_i8_##name##_avx2(float *out, size_t ld_out, const struct rmli_matrix *w,      \
                                      size_t row_begin, size_t row_end, const void *x, size_t n_x, \
                                      bool accumulate, void *scratch)                              \
    {                                                                                              \
        static const struct rmli_i8_format format = {rmli_gemv_i8_##name##_avx2,                   \
                                                     rmli_pack_##name##_avx2,                      \
                                                     rmli_multiply_panel_##same_sums##_avx2};      \
        rmli_matmul_i8_avx2(&format, out, ld_out, w, row_begin, row_end, x, n_x, accumulate,       \
                            scratch);                                                              \
    }

DEFINE_MATMUL_I8(q4_0, q4_0)
DEFINE_MATMUL_I8(q4_1, q4_1)
DEFINE_MATMUL_I8(q5_0, q5_0)
DEFINE_MATMUL_I8(q5_1, q5_1)
DEFINE_MATMUL_I8(q8_0, q8_0)
DEFINE_MATMUL_I8(iq4_nl, q8_0)
DEFINE_MATMUL_I8(q2_k, q2_k)
DEFINE_MATMUL_I8(q3_k, q3_k)
DEFINE_MATMUL_I8(q4_k, q4_k)
DEFINE_MATMUL_I8(q5_k, q5_k)
DEFINE_MATMUL_I8(q6_k, q6_k)
DEFINE_MATMUL_I8(iq4_xs, iq4_xs)
