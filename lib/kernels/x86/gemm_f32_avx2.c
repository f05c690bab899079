/*
 * f32 arithmetic for several vectors: a panel of weights is widened once into
 * scratch memory and multiplied with all of them, tile by tile.
 *
 * A tile is 4 rows x 3 vectors: 12 sums of 8 lanes along k, which with three
 * vectors and one row in flight fills the 16 registers; 7 loads feed 12 fma.
 * A panel is PANEL_ROWS rows of PANEL_NELEMS elements (it stays in the first
 * level cache) laid out as the tiles read it:
 *
 *     panel  [PANEL_ROWS / 4][PANEL_NELEMS / 8][4 rows][8 elements]
 *
 * Many vectors are cut into batches that stay in the second level cache while
 * all panels pass. Rows longer than a panel are cut along k; the sums of all
 * tiles then wait in memory, lanes unfolded, so that cutting does not change
 * the order of additions:
 *
 *     sums   [tiles of vectors][PANEL_ROWS / 4][4 rows][3 vectors][8 lanes]
 */
#include "kernels/x86/gemm_f32_avx2.h"

#include <assert.h>

#include "kernels/x86/lanes_avx2.h"

enum {
    TILE_ROWS = 4,
    TILE_VECTORS = 3,
    TILE_FLOATS = TILE_ROWS * TILE_VECTORS * 8,
    PANEL_ROWS = 24,
    PANEL_NELEMS = 256, /* a multiple of every block */
    PANEL_GROUPS = PANEL_ROWS / TILE_ROWS,
    MAX_TILES = 128,         /* tiles of vectors for which sums fit the scratch memory */
    BATCH_NFLOATS = 1 << 17, /* of x: half a megabyte, which stays in the second level cache */
    BATCH_MIN = 24, /* vectors at least, however long: each batch widens the weights anew */
};
static_assert((PANEL_ROWS * PANEL_NELEMS + MAX_TILES * PANEL_GROUPS * TILE_FLOATS) *
                      sizeof(float) <=
                  RMLI_MATMUL_SCRATCH_NBYTES,
              "panel and sums fit the scratch memory");
static_assert(RMLI_MATMUL_ROW_GRAIN % PANEL_ROWS == 0, "tasks are whole panels");

/* sums (+)= 4 rows x n_vectors (1, 2 or 3) over n elements of k. */
RMLI_INLINE void multiply_tile(float *sums, bool first, const float *panel, const float *x,
                               size_t ld_x, size_t n, int n_vectors)
{
    __m256 acc[TILE_ROWS][TILE_VECTORS];
    RMLI_UNROLL
    for (int r = 0; r < TILE_ROWS; r++) {
        RMLI_UNROLL
        for (int c = 0; c < n_vectors; c++)
            acc[r][c] =
                first ? _mm256_setzero_ps() : _mm256_load_ps(sums + (r * TILE_VECTORS + c) * 8);
    }
    size_t k = 0;
    for (; k + 8 <= n; k += 8, panel += 8 * TILE_ROWS) {
        __m256 v[TILE_VECTORS];
        RMLI_UNROLL
        for (int c = 0; c < n_vectors; c++)
            v[c] = _mm256_loadu_ps(x + (size_t)c * ld_x + k);
        RMLI_UNROLL
        for (int r = 0; r < TILE_ROWS; r++) {
            __m256 row = _mm256_load_ps(panel + 8 * r);
            RMLI_UNROLL
            for (int c = 0; c < n_vectors; c++)
                acc[r][c] = _mm256_fmadd_ps(row, v[c], acc[r][c]);
        }
    }
    if (k < n) {
        __m256i lanes = lanes_below(n - k);
        RMLI_UNROLL
        for (int c = 0; c < n_vectors; c++) {
            __m256 v = _mm256_maskload_ps(x + (size_t)c * ld_x + k, lanes);
            RMLI_UNROLL
            for (int r = 0; r < TILE_ROWS; r++)
                acc[r][c] = fma_in_lanes(_mm256_load_ps(panel + 8 * r), v, acc[r][c], lanes);
        }
    }
    RMLI_UNROLL
    for (int r = 0; r < TILE_ROWS; r++) {
        RMLI_UNROLL
        for (int c = 0; c < n_vectors; c++)
            _mm256_store_ps(sums + (r * TILE_VECTORS + c) * 8, acc[r][c]);
    }
}

static void multiply_tile_of_any(float *sums, bool first, const float *panel, const float *x,
                                 size_t ld_x, size_t n, size_t n_vectors)
{
    if (n_vectors == 3)
        multiply_tile(sums, first, panel, x, ld_x, n, 3);
    else if (n_vectors == 2)
        multiply_tile(sums, first, panel, x, ld_x, n, 2);
    else
        multiply_tile(sums, first, panel, x, ld_x, n, 1);
}

/* Folds the sums of a tile into out, which points at its first row and vector. */
static void store_tile(float *out, size_t ld_out, const float *sums, size_t n_rows,
                       size_t n_vectors, bool accumulate)
{
    for (size_t c = 0; c < n_vectors; c++) {
        const float *s = sums + 8 * c;
        __m128 values = fold_lanes_4(_mm256_load_ps(s), _mm256_load_ps(s + 8 * TILE_VECTORS),
                                     _mm256_load_ps(s + 16 * TILE_VECTORS),
                                     _mm256_load_ps(s + 24 * TILE_VECTORS));
        store_values_4(out + c * ld_out, values, n_rows, accumulate);
    }
}

/* Asks for the same part of the next panel, to be in the second level cache. */
static void prefetch(const uint8_t *p, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i += 64)
        _mm_prefetch((const char *)p + i, _MM_HINT_T1);
}

/* Vectors of a batch: as many as the caches and the scratch memory hold. */
static size_t batch_size(size_t n_cols)
{
    size_t n = BATCH_NFLOATS / n_cols / TILE_VECTORS * TILE_VECTORS;
    size_t max = MAX_TILES * TILE_VECTORS;
    return n < BATCH_MIN ? BATCH_MIN : n > max ? max : n;
}

/* Vectors of the next tile: 3, but 4 that are left make 2 and 2. */
static size_t tile_width(size_t n_left)
{
    return n_left == 4 ? 2 : n_left < TILE_VECTORS ? n_left : TILE_VECTORS;
}

void rmli_gemm_f32_avx2(float *out, size_t ld_out, const struct rmli_matrix *w, size_t row_begin,
                        size_t row_end, const float *x, size_t ld_x, size_t n_x, bool accumulate,
                        void *scratch, rmli_widen_strided_fn *widen)
{
    float *panel = scratch;
    float *all_sums = panel + PANEL_ROWS * PANEL_NELEMS;
    const struct rml_dtype_traits *traits = rml_dtype_traits(w->dtype);
    const size_t sums_step = w->n_cols > PANEL_NELEMS ? TILE_FLOATS : 0;
    const size_t batch_max = batch_size(w->n_cols);

    for (size_t batch = 0; batch < n_x; batch += batch_max) {
        size_t batch_end = n_x - batch < batch_max ? n_x : batch + batch_max;
        for (size_t row = row_begin; row < row_end; row += PANEL_ROWS) {
            size_t n_rows = row_end - row < PANEL_ROWS ? row_end - row : PANEL_ROWS;
            for (size_t k = 0; k < w->n_cols; k += PANEL_NELEMS) {
                size_t n = w->n_cols - k < PANEL_NELEMS ? w->n_cols - k : PANEL_NELEMS;
                size_t offset = k / traits->block_nelems * traits->block_nbytes;
                size_t nbytes = n / traits->block_nelems * traits->block_nbytes;
                for (size_t r = 0; r < n_rows || r % TILE_ROWS != 0; r++) {
                    /* a last tile that lacks rows repeats the last row */
                    const uint8_t *source = rmli_matrix_row(w, row + (r < n_rows ? r : n_rows - 1));
                    prefetch(source + offset + PANEL_ROWS * w->row_nbytes, nbytes);
                    widen(panel + r / TILE_ROWS * TILE_ROWS * PANEL_NELEMS + r % TILE_ROWS * 8,
                          8 * TILE_ROWS, source + offset, n);
                }
                float *sums = all_sums;
                for (size_t j = batch, width; j < batch_end; j += width) {
                    width = tile_width(batch_end - j);
                    for (size_t r = 0; r < n_rows; r += TILE_ROWS, sums += sums_step) {
                        multiply_tile_of_any(sums, k == 0, panel + r * PANEL_NELEMS,
                                             x + j * ld_x + k, ld_x, n, width);
                        if (k + n == w->n_cols)
                            store_tile(out + j * ld_out + row + r, ld_out, sums,
                                       n_rows - r < TILE_ROWS ? n_rows - r : TILE_ROWS, width,
                                       accumulate);
                    }
                }
            }
        }
    }
}
