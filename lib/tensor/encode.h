/*
 * f32 values into the blocks of any weight dtype: the inverse of tensor/blocks.h.
 *
 * F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0 have one accepted rounding, that of ggml's
 * reference, and equal it bit for bit. For the K-quants and the IQ4 types nobody prescribes
 * the bits; here each block is a search for the least sum of squared errors.
 *
 * The result depends on the values of a block alone, not on the machine's instruction set.
 * Any thread, any number at a time.
 */
#ifndef RML_TENSOR_ENCODE_H
#define RML_TENSOR_ENCODE_H

#include "tensor/dtype.h"

/*
 * Writes n / block_nelems blocks for x[n]; n is a multiple of block_nelems, dtype a weight's,
 * dst aligned to it. Every x is finite.
 *
 * Returns n; or the index of the first element of a block that the dtype cannot hold because
 * its scale would not fit an f16 (or the element an f16 or bf16). The blocks before that one are
 * written.
 */
size_t rmli_encode(enum rml_dtype dtype, void *dst, const float *x, size_t n);

#endif
