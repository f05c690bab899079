/*
 * Initialisers of the x86 tables of matrix products: one entry for each data type, its
 * kernel's name made of `op` (rmli_widen, rmli_matmul_f32 ...) and `isa`.
 */
#ifndef RMLI_KERNELS_X86_MATMUL_TABLES_H
#define RMLI_KERNELS_X86_MATMUL_TABLES_H

#define RMLI_EACH_QUANTISED(op, isa)                                                               \
    [RML_Q4_0] = op##_q4_0_##isa, [RML_Q4_1] = op##_q4_1_##isa, [RML_Q5_0] = op##_q5_0_##isa,      \
    [RML_Q5_1] = op##_q5_1_##isa, [RML_Q8_0] = op##_q8_0_##isa, [RML_Q2_K] = op##_q2_k_##isa,      \
    [RML_Q3_K] = op##_q3_k_##isa, [RML_Q4_K] = op##_q4_k_##isa, [RML_Q5_K] = op##_q5_k_##isa,      \
    [RML_Q6_K] = op##_q6_k_##isa, [RML_IQ4_NL] = op##_iq4_nl_##isa,                                \
    [RML_IQ4_XS] = op##_iq4_xs_##isa

#define RMLI_EACH_DTYPE(op, isa)                                                                   \
    [RML_F32] = op##_f32_##isa, [RML_F16] = op##_f16_##isa, [RML_BF16] = op##_bf16_##isa,          \
    RMLI_EACH_QUANTISED(op, isa)

/* The activations of a product come in blocks as long as those of the weights. */
#define RMLI_EACH_ACTIVATION(op, isa)                                                              \
    [RML_Q4_0] = op##_32_##isa, [RML_Q4_1] = op##_32_##isa, [RML_Q5_0] = op##_32_##isa,            \
    [RML_Q5_1] = op##_32_##isa, [RML_Q8_0] = op##_32_##isa, [RML_Q2_K] = op##_256_##isa,           \
    [RML_Q3_K] = op##_256_##isa, [RML_Q4_K] = op##_256_##isa, [RML_Q5_K] = op##_256_##isa,         \
    [RML_Q6_K] = op##_256_##isa, [RML_IQ4_NL] = op##_32_##isa, [RML_IQ4_XS] = op##_256_##isa

#endif
