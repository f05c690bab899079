/* The AVX2 table of matrix products. The i8 entries still go to the reference. */
#include "kernels/x86/matmul_avx2.h"

static void i8(float *out, size_t ld_out, const struct rmli_matrix *w, size_t row_begin,
               size_t row_end, const void *x, size_t n_x, bool accumulate, void *scratch)
{
    rmli_matmul_ref.matmul_i8[w->dtype](out, ld_out, w, row_begin, row_end, x, n_x, accumulate,
                                        scratch);
}
static void quantize_32(void *dst, const float *x, size_t n)
{
    rmli_matmul_ref.quantize_activations[RML_Q4_0](dst, x, n);
}
static void quantize_256(void *dst, const float *x, size_t n)
{
    rmli_matmul_ref.quantize_activations[RML_Q4_K](dst, x, n);
}

const struct rmli_matmul_kernels rmli_matmul_avx2 = {
    .widen[RML_F32] = rmli_widen_f32_avx2,
    .matmul_f32[RML_F32] = rmli_matmul_f32_f32_avx2,
    .widen[RML_F16] = rmli_widen_f16_avx2,
    .matmul_f32[RML_F16] = rmli_matmul_f32_f16_avx2,
    .widen[RML_BF16] = rmli_widen_bf16_avx2,
    .matmul_f32[RML_BF16] = rmli_matmul_f32_bf16_avx2,
    .widen[RML_Q4_0] = rmli_widen_q4_0_avx2,
    .matmul_f32[RML_Q4_0] = rmli_matmul_f32_q4_0_avx2,
    .matmul_i8[RML_Q4_0] = i8,
    .quantize_activations[RML_Q4_0] = quantize_32,
    .widen[RML_Q4_1] = rmli_widen_q4_1_avx2,
    .matmul_f32[RML_Q4_1] = rmli_matmul_f32_q4_1_avx2,
    .matmul_i8[RML_Q4_1] = i8,
    .quantize_activations[RML_Q4_1] = quantize_32,
    .widen[RML_Q5_0] = rmli_widen_q5_0_avx2,
    .matmul_f32[RML_Q5_0] = rmli_matmul_f32_q5_0_avx2,
    .matmul_i8[RML_Q5_0] = i8,
    .quantize_activations[RML_Q5_0] = quantize_32,
    .widen[RML_Q5_1] = rmli_widen_q5_1_avx2,
    .matmul_f32[RML_Q5_1] = rmli_matmul_f32_q5_1_avx2,
    .matmul_i8[RML_Q5_1] = i8,
    .quantize_activations[RML_Q5_1] = quantize_32,
    .widen[RML_Q8_0] = rmli_widen_q8_0_avx2,
    .matmul_f32[RML_Q8_0] = rmli_matmul_f32_q8_0_avx2,
    .matmul_i8[RML_Q8_0] = i8,
    .quantize_activations[RML_Q8_0] = quantize_32,
    .widen[RML_Q2_K] = rmli_widen_q2_k_avx2,
    .matmul_f32[RML_Q2_K] = rmli_matmul_f32_q2_k_avx2,
    .matmul_i8[RML_Q2_K] = i8,
    .quantize_activations[RML_Q2_K] = quantize_256,
    .widen[RML_Q3_K] = rmli_widen_q3_k_avx2,
    .matmul_f32[RML_Q3_K] = rmli_matmul_f32_q3_k_avx2,
    .matmul_i8[RML_Q3_K] = i8,
    .quantize_activations[RML_Q3_K] = quantize_256,
    .widen[RML_Q4_K] = rmli_widen_q4_k_avx2,
    .matmul_f32[RML_Q4_K] = rmli_matmul_f32_q4_k_avx2,
    .matmul_i8[RML_Q4_K] = i8,
    .quantize_activations[RML_Q4_K] = quantize_256,
    .widen[RML_Q5_K] = rmli_widen_q5_k_avx2,
    .matmul_f32[RML_Q5_K] = rmli_matmul_f32_q5_k_avx2,
    .matmul_i8[RML_Q5_K] = i8,
    .quantize_activations[RML_Q5_K] = quantize_256,
    .widen[RML_Q6_K] = rmli_widen_q6_k_avx2,
    .matmul_f32[RML_Q6_K] = rmli_matmul_f32_q6_k_avx2,
    .matmul_i8[RML_Q6_K] = i8,
    .quantize_activations[RML_Q6_K] = quantize_256,
    .widen[RML_IQ4_NL] = rmli_widen_iq4_nl_avx2,
    .matmul_f32[RML_IQ4_NL] = rmli_matmul_f32_iq4_nl_avx2,
    .matmul_i8[RML_IQ4_NL] = i8,
    .quantize_activations[RML_IQ4_NL] = quantize_32,
    .widen[RML_IQ4_XS] = rmli_widen_iq4_xs_avx2,
    .matmul_f32[RML_IQ4_XS] = rmli_matmul_f32_iq4_xs_avx2,
    .matmul_i8[RML_IQ4_XS] = i8,
    .quantize_activations[RML_IQ4_XS] = quantize_256,
};
