/* The entries of the AVX2 table of matrix products, by the file they are in. */
#ifndef RML_KERNELS_X86_MATMUL_AVX2_H
#define RML_KERNELS_X86_MATMUL_AVX2_H

#include "kernels/kernels.h"

typedef void rmli_widen_fn(float *dst, const void *src, size_t n);

/* matmul_f32_plain_avx2.c */
rmli_widen_fn rmli_widen_f32_avx2, rmli_widen_f16_avx2, rmli_widen_bf16_avx2;
rmli_matmul_f32_fn rmli_matmul_f32_f32_avx2, rmli_matmul_f32_f16_avx2, rmli_matmul_f32_bf16_avx2;

/* matmul_f32_blocks_avx2.c */
rmli_widen_fn rmli_widen_q4_0_avx2, rmli_widen_q4_1_avx2, rmli_widen_q5_0_avx2,
    rmli_widen_q5_1_avx2, rmli_widen_q8_0_avx2, rmli_widen_iq4_nl_avx2, rmli_widen_q2_k_avx2,
    rmli_widen_q3_k_avx2, rmli_widen_q4_k_avx2, rmli_widen_q5_k_avx2, rmli_widen_q6_k_avx2,
    rmli_widen_iq4_xs_avx2;
rmli_matmul_f32_fn rmli_matmul_f32_q4_0_avx2, rmli_matmul_f32_q4_1_avx2, rmli_matmul_f32_q5_0_avx2,
    rmli_matmul_f32_q5_1_avx2, rmli_matmul_f32_q8_0_avx2, rmli_matmul_f32_iq4_nl_avx2,
    rmli_matmul_f32_q2_k_avx2, rmli_matmul_f32_q3_k_avx2, rmli_matmul_f32_q4_k_avx2,
    rmli_matmul_f32_q5_k_avx2, rmli_matmul_f32_q6_k_avx2, rmli_matmul_f32_iq4_xs_avx2;

/* matmul_i8_avx2.c */
rmli_matmul_i8_fn rmli_matmul_i8_q4_0_avx2, rmli_matmul_i8_q4_1_avx2, rmli_matmul_i8_q5_0_avx2,
    rmli_matmul_i8_q5_1_avx2, rmli_matmul_i8_q8_0_avx2, rmli_matmul_i8_iq4_nl_avx2,
    rmli_matmul_i8_q2_k_avx2, rmli_matmul_i8_q3_k_avx2, rmli_matmul_i8_q4_k_avx2,
    rmli_matmul_i8_q5_k_avx2, rmli_matmul_i8_q6_k_avx2, rmli_matmul_i8_iq4_xs_avx2;

/* quantize_activations_avx2.c */
rmli_quantize_activations_fn rmli_quantize_activations_32_avx2, rmli_quantize_activations_256_avx2;

#endif
