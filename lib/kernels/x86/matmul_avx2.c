/* The AVX2 table. Entries still go to the reference. */
#include "kernels/kernels.h"

static void f32(float *out, size_t ld_out, const struct rmli_matrix *w, size_t row_begin,
                size_t row_end, const float *x, size_t ld_x, size_t n_x, bool accumulate,
                void *scratch)
{
    rmli_matmul_ref.matmul_f32[w->dtype](out, ld_out, w, row_begin, row_end, x, ld_x, n_x,
                                         accumulate, scratch);
}

static void i8(float *out, size_t ld_out, const struct rmli_matrix *w, size_t row_begin,
               size_t row_end, const void *x, size_t n_x, bool accumulate, void *scratch)
{
    rmli_matmul_ref.matmul_i8[w->dtype](out, ld_out, w, row_begin, row_end, x, n_x, accumulate,
                                        scratch);
}

#define WIDEN(name, dtype)                                                                         \
    static void widen_##name(float *dst, const void *src, size_t n)                                \
    {                                                                                              \
        rmli_matmul_ref.widen[dtype](dst, src, n);                                                 \
    }
WIDEN(f32, RML_F32)
WIDEN(f16, RML_F16)
WIDEN(bf16, RML_BF16)
WIDEN(q4_0, RML_Q4_0)
WIDEN(q4_1, RML_Q4_1)
WIDEN(q5_0, RML_Q5_0)
WIDEN(q5_1, RML_Q5_1)
WIDEN(q8_0, RML_Q8_0)
WIDEN(q2_k, RML_Q2_K)
WIDEN(q3_k, RML_Q3_K)
WIDEN(q4_k, RML_Q4_K)
WIDEN(q5_k, RML_Q5_K)
WIDEN(q6_k, RML_Q6_K)
WIDEN(iq4_nl, RML_IQ4_NL)
WIDEN(iq4_xs, RML_IQ4_XS)
static void quantize_32(void *dst, const float *x, size_t n)
{
    rmli_matmul_ref.quantize_activations[RML_Q4_0](dst, x, n);
}
static void quantize_256(void *dst, const float *x, size_t n)
{
    rmli_matmul_ref.quantize_activations[RML_Q4_K](dst, x, n);
}

const struct rmli_matmul_kernels rmli_matmul_avx2 = {
    .widen[RML_F32] = widen_f32,
    .matmul_f32[RML_F32] = f32,
    .widen[RML_F16] = widen_f16,
    .matmul_f32[RML_F16] = f32,
    .widen[RML_BF16] = widen_bf16,
    .matmul_f32[RML_BF16] = f32,
    .widen[RML_Q4_0] = widen_q4_0,
    .matmul_f32[RML_Q4_0] = f32,
    .matmul_i8[RML_Q4_0] = i8,
    .quantize_activations[RML_Q4_0] = quantize_32,
    .widen[RML_Q4_1] = widen_q4_1,
    .matmul_f32[RML_Q4_1] = f32,
    .matmul_i8[RML_Q4_1] = i8,
    .quantize_activations[RML_Q4_1] = quantize_32,
    .widen[RML_Q5_0] = widen_q5_0,
    .matmul_f32[RML_Q5_0] = f32,
    .matmul_i8[RML_Q5_0] = i8,
    .quantize_activations[RML_Q5_0] = quantize_32,
    .widen[RML_Q5_1] = widen_q5_1,
    .matmul_f32[RML_Q5_1] = f32,
    .matmul_i8[RML_Q5_1] = i8,
    .quantize_activations[RML_Q5_1] = quantize_32,
    .widen[RML_Q8_0] = widen_q8_0,
    .matmul_f32[RML_Q8_0] = f32,
    .matmul_i8[RML_Q8_0] = i8,
    .quantize_activations[RML_Q8_0] = quantize_32,
    .widen[RML_Q2_K] = widen_q2_k,
    .matmul_f32[RML_Q2_K] = f32,
    .matmul_i8[RML_Q2_K] = i8,
    .quantize_activations[RML_Q2_K] = quantize_256,
    .widen[RML_Q3_K] = widen_q3_k,
    .matmul_f32[RML_Q3_K] = f32,
    .matmul_i8[RML_Q3_K] = i8,
    .quantize_activations[RML_Q3_K] = quantize_256,
    .widen[RML_Q4_K] = widen_q4_k,
    .matmul_f32[RML_Q4_K] = f32,
    .matmul_i8[RML_Q4_K] = i8,
    .quantize_activations[RML_Q4_K] = quantize_256,
    .widen[RML_Q5_K] = widen_q5_k,
    .matmul_f32[RML_Q5_K] = f32,
    .matmul_i8[RML_Q5_K] = i8,
    .quantize_activations[RML_Q5_K] = quantize_256,
    .widen[RML_Q6_K] = widen_q6_k,
    .matmul_f32[RML_Q6_K] = f32,
    .matmul_i8[RML_Q6_K] = i8,
    .quantize_activations[RML_Q6_K] = quantize_256,
    .widen[RML_IQ4_NL] = widen_iq4_nl,
    .matmul_f32[RML_IQ4_NL] = f32,
    .matmul_i8[RML_IQ4_NL] = i8,
    .quantize_activations[RML_IQ4_NL] = quantize_32,
    .widen[RML_IQ4_XS] = widen_iq4_xs,
    .matmul_f32[RML_IQ4_XS] = f32,
    .matmul_i8[RML_IQ4_XS] = i8,
    .quantize_activations[RML_IQ4_XS] = quantize_256,
};
