/* The entries of the AVX-512 table of matrix products that are its own. */
#ifndef RML_KERNELS_X86_MATMUL_AVX512_H
#define RML_KERNELS_X86_MATMUL_AVX512_H

#include "kernels/kernels.h"

/* gemm_i8_avx512.c */
rmli_matmul_i8_fn rmli_matmul_i8_q4_0_avx512, rmli_matmul_i8_q4_1_avx512,
    rmli_matmul_i8_q5_0_avx512, rmli_matmul_i8_q5_1_avx512, rmli_matmul_i8_q8_0_avx512,
    rmli_matmul_i8_iq4_nl_avx512, rmli_matmul_i8_q2_k_avx512, rmli_matmul_i8_q3_k_avx512,
    rmli_matmul_i8_q4_k_avx512, rmli_matmul_i8_q5_k_avx512, rmli_matmul_i8_q6_k_avx512,
    rmli_matmul_i8_iq4_xs_avx512;

#endif
