/*
 * i8 products of eight rows with one vector, weights unpacked in registers: the
 * path for one vector or a few (gemm_i8_avx2.h is the other).
 */
#ifndef RML_KERNELS_X86_GEMV_I8_AVX2_H
#define RML_KERNELS_X86_GEMV_I8_AVX2_H

#include "kernels/kernels.h"

/* Eight rows of n_blocks blocks times one row of quantised activations. */
typedef void rmli_gemv_i8_fn(float sums[8], const uint8_t *const rows[8], size_t n_blocks,
                             const void *x);

rmli_gemv_i8_fn rmli_gemv_i8_q4_0_avx2, rmli_gemv_i8_q4_1_avx2, rmli_gemv_i8_q5_0_avx2,
    rmli_gemv_i8_q5_1_avx2, rmli_gemv_i8_q8_0_avx2, rmli_gemv_i8_iq4_nl_avx2,
    rmli_gemv_i8_q2_k_avx2, rmli_gemv_i8_q3_k_avx2, rmli_gemv_i8_q4_k_avx2, rmli_gemv_i8_q5_k_avx2,
    rmli_gemv_i8_q6_k_avx2, rmli_gemv_i8_iq4_xs_avx2;

#endif
