/*
 * A weight matrix: a borrowed view of row-major data in its stored format.
 *
 *     y = W x,  W [n_rows][n_cols],  x [n_cols],  y [n_rows]
 *
 * Rows are contiguous and whole blocks long. The view owns nothing; the data
 * (aligned to the dtype's alignment) outlives it.
 */
#ifndef RML_TENSOR_MATRIX_H
#define RML_TENSOR_MATRIX_H

#include "tensor/dtype.h"

struct rmli_matrix {
    enum rml_dtype dtype; /* below RML_N_WEIGHT_DTYPES */
    size_t n_rows;
    size_t n_cols;
    size_t row_nbytes;
    const uint8_t *data; /* [n_rows][row_nbytes] */
};

static inline const uint8_t *rmli_matrix_row(const struct rmli_matrix *m, size_t row)
{
    return m->data + row * m->row_nbytes;
}

#endif
