/*
 * The AVX-512 table of matrix products. f32 arithmetic is AVX2's: wider registers
 * do not make its sums of eight lanes faster where 512-bit fma run at half the
 * rate, and change no bit anyway.
 */
#include "kernels/x86/matmul_avx512.h"

#include "kernels/x86/matmul_avx2.h"
#include "kernels/x86/matmul_tables.h"

const struct rmli_matmul_kernels rmli_matmul_avx512 = {
    .widen = {RMLI_EACH_DTYPE(rmli_widen, avx2)},
    .matmul_f32 = {RMLI_EACH_DTYPE(rmli_matmul_f32, avx2)},
    .matmul_i8 = {RMLI_EACH_QUANTISED(rmli_matmul_i8, avx512)},
    .quantize_activations = {RMLI_EACH_ACTIVATION(rmli_quantize_activations, avx2)},
};
