/* Products of widened weights with several vectors; see the .c file. */
#ifndef RML_KERNELS_X86_GEMM_F32_AVX2_H
#define RML_KERNELS_X86_GEMM_F32_AVX2_H

#include "kernels/kernels.h"

/* Widens n elements of a row, from the start of a block on. Elements 8 i ..
 * 8 i + 7 go to dst + step * i; a last part that is not whole is padded with
 * zeros. n is a multiple of the block, or for plain types any number. */
typedef void rmli_widen_strided_fn(float *dst, size_t step, const uint8_t *src, size_t n);

/* The contract of rmli_matmul_f32_fn, for n_x of 2 and more (any, in fact). */
void rmli_gemm_f32_avx2(float *out, size_t ld_out, const struct rmli_matrix *w, size_t row_begin,
                        size_t row_end, const float *x, size_t ld_x, size_t n_x, bool accumulate,
                        void *scratch, rmli_widen_strided_fn *widen);

#endif
