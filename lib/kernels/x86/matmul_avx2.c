/* The AVX2 table of matrix products. */
#include "kernels/x86/matmul_avx2.h"

#include "kernels/x86/matmul_tables.h"

const struct rmli_matmul_kernels rmli_matmul_avx2 = {
    .widen = {RMLI_EACH_DTYPE(rmli_widen, avx2)},
    .matmul_f32 = {RMLI_EACH_DTYPE(rmli_matmul_f32, avx2)},
    .matmul_i8 = {RMLI_EACH_QUANTISED(rmli_matmul_i8, avx2)},
    .quantize_activations = {RMLI_EACH_ACTIVATION(rmli_quantize_activations, avx2)},
};
