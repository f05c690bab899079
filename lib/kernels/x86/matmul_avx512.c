/*
 * The AVX-512 table of matrix products. f32 arithmetic is AVX2's: wider registers
 * do not make its sums of eight lanes faster where 512-bit fma run at half the
 * rate, and change no bit anyway.
 */
#include "kernels/x86/matmul_avx512.h"

#include "kernels/x86/matmul_avx2.h"

const struct rmli_matmul_kernels rmli_matmul_avx512 = {
    .widen =
        {
            [RML_F32] = rmli_widen_f32_avx2,
            [RML_F16] = rmli_widen_f16_avx2,
            [RML_BF16] = rmli_widen_bf16_avx2,
            [RML_Q4_0] = rmli_widen_q4_0_avx2,
            [RML_Q4_1] = rmli_widen_q4_1_avx2,
            [RML_Q5_0] = rmli_widen_q5_0_avx2,
            [RML_Q5_1] = rmli_widen_q5_1_avx2,
            [RML_Q8_0] = rmli_widen_q8_0_avx2,
            [RML_Q2_K] = rmli_widen_q2_k_avx2,
            [RML_Q3_K] = rmli_widen_q3_k_avx2,
            [RML_Q4_K] = rmli_widen_q4_k_avx2,
            [RML_Q5_K] = rmli_widen_q5_k_avx2,
            [RML_Q6_K] = rmli_widen_q6_k_avx2,
            [RML_IQ4_NL] = rmli_widen_iq4_nl_avx2,
            [RML_IQ4_XS] = rmli_widen_iq4_xs_avx2,
        },
    .matmul_f32 =
        {
            [RML_F32] = rmli_matmul_f32_f32_avx2,
            [RML_F16] = rmli_matmul_f32_f16_avx2,
            [RML_BF16] = rmli_matmul_f32_bf16_avx2,
            [RML_Q4_0] = rmli_matmul_f32_q4_0_avx2,
            [RML_Q4_1] = rmli_matmul_f32_q4_1_avx2,
            [RML_Q5_0] = rmli_matmul_f32_q5_0_avx2,
            [RML_Q5_1] = rmli_matmul_f32_q5_1_avx2,
            [RML_Q8_0] = rmli_matmul_f32_q8_0_avx2,
            [RML_Q2_K] = rmli_matmul_f32_q2_k_avx2,
            [RML_Q3_K] = rmli_matmul_f32_q3_k_avx2,
            [RML_Q4_K] = rmli_matmul_f32_q4_k_avx2,
            [RML_Q5_K] = rmli_matmul_f32_q5_k_avx2,
            [RML_Q6_K] = rmli_matmul_f32_q6_k_avx2,
            [RML_IQ4_NL] = rmli_matmul_f32_iq4_nl_avx2,
            [RML_IQ4_XS] = rmli_matmul_f32_iq4_xs_avx2,
        },
    .matmul_i8 =
        {
            [RML_Q4_0] = rmli_matmul_i8_q4_0_avx512,
            [RML_Q4_1] = rmli_matmul_i8_q4_1_avx512,
            [RML_Q5_0] = rmli_matmul_i8_q5_0_avx512,
            [RML_Q5_1] = rmli_matmul_i8_q5_1_avx512,
            [RML_Q8_0] = rmli_matmul_i8_q8_0_avx512,
            [RML_Q2_K] = rmli_matmul_i8_q2_k_avx512,
            [RML_Q3_K] = rmli_matmul_i8_q3_k_avx512,
            [RML_Q4_K] = rmli_matmul_i8_q4_k_avx512,
            [RML_Q5_K] = rmli_matmul_i8_q5_k_avx512,
            [RML_Q6_K] = rmli_matmul_i8_q6_k_avx512,
            [RML_IQ4_NL] = rmli_matmul_i8_iq4_nl_avx512,
            [RML_IQ4_XS] = rmli_matmul_i8_iq4_xs_avx512,
        },
    .quantize_activations =
        {
            [RML_Q4_0] = rmli_quantize_activations_32_avx2,
            [RML_Q4_1] = rmli_quantize_activations_32_avx2,
            [RML_Q5_0] = rmli_quantize_activations_32_avx2,
            [RML_Q5_1] = rmli_quantize_activations_32_avx2,
            [RML_Q8_0] = rmli_quantize_activations_32_avx2,
            [RML_Q2_K] = rmli_quantize_activations_256_avx2,
            [RML_Q3_K] = rmli_quantize_activations_256_avx2,
            [RML_Q4_K] = rmli_quantize_activations_256_avx2,
            [RML_Q5_K] = rmli_quantize_activations_256_avx2,
            [RML_Q6_K] = rmli_quantize_activations_256_avx2,
            [RML_IQ4_NL] = rmli_quantize_activations_32_avx2,
            [RML_IQ4_XS] = rmli_quantize_activations_256_avx2,
        },
};
