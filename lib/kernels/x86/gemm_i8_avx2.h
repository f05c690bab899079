/*
 * i8 products of a panel (panel_i8_avx2.h) with several vectors; see the .c
 * files.
 */
#ifndef RML_KERNELS_X86_GEMM_I8_AVX2_H
#define RML_KERNELS_X86_GEMM_I8_AVX2_H

#include "kernels/kernels.h"
#include "kernels/x86/gemv_i8_avx2.h"
#include "kernels/x86/panel_i8_avx2.h"

/* acc[j][row] goes on with n_blocks blocks: of the panel, and of n_x rows of
 * activations x + j * ld_x bytes. */
typedef void rmli_multiply_panel_fn(float (*acc)[8], const void *panel, size_t n_blocks,
                                    const uint8_t *x, size_t ld_x, size_t n_x);

/* The parts of a type's product. */
struct rmli_i8_format {
    rmli_gemv_i8_fn *gemv;
    rmli_pack_panel_fn *pack;
    rmli_multiply_panel_fn *multiply;
};

/* The loop over rows and vectors, in matmul_i8_avx2.c: the contract of
 * rmli_matmul_i8_fn. */
void rmli_matmul_i8_avx2(const struct rmli_i8_format *format, float *out, size_t ld_out,
                         const struct rmli_matrix *w, size_t row_begin, size_t row_end,
                         const void *x, size_t n_x, bool accumulate, void *scratch);

/* By how a type's bytes are summed: gemm_i8_32_avx2.c ... */
rmli_multiply_panel_fn rmli_multiply_panel_q4_0_avx2, rmli_multiply_panel_q4_1_avx2,
    rmli_multiply_panel_q5_0_avx2, rmli_multiply_panel_q5_1_avx2, rmli_multiply_panel_q8_0_avx2;
/* ... and gemm_i8_256_avx2.c */
rmli_multiply_panel_fn rmli_multiply_panel_q2_k_avx2, rmli_multiply_panel_q3_k_avx2,
    rmli_multiply_panel_q4_k_avx2, rmli_multiply_panel_q5_k_avx2, rmli_multiply_panel_q6_k_avx2,
    rmli_multiply_panel_iq4_xs_avx2;

#endif
