/*
 * The loops in portable C: the roof of the reference kernels. The compiler makes vectors of
 * them for the least processor it compiles for.
 */
#include "bench/roof_kernels.h"

static uint64_t read_ref(const void *p, size_t nbytes)
{
    size_t n = nbytes / ROOF_READ_STREAMS / sizeof(uint64_t);
    const uint64_t *stream = p;
    uint64_t sums[ROOF_READ_STREAMS][8] = {{0}};
    for (size_t i = 0; i < n; i += 8) {
        for (size_t s = 0; s < ROOF_READ_STREAMS; s++)
            for (size_t j = 0; j < 8; j++)
                sums[s][j] += stream[s * n + i + j];
    }
    uint64_t sum = 0;
    for (size_t s = 0; s < ROOF_READ_STREAMS; s++)
        for (size_t j = 0; j < 8; j++)
            sum += sums[s][j];
    return sum;
}

#define FMA_LANES 48 /* 12 registers of 4 lanes: of 16, four are left for operands */

static float fma_f32_ref(size_t n, float a, float b)
{
    float acc[FMA_LANES] = {0};
    while (n-- > 0) {
        for (size_t i = 0; i < FMA_LANES; i++)
            acc[i] = a * acc[i] + b;
    }
    float sum = 0;
    for (size_t i = 0; i < FMA_LANES; i++)
        sum += acc[i];
    return sum;
}

#define DOT_LANES 8
#define DOT_BYTES 512 /* of the operands, which stay in the first-level cache */

static int32_t dot_i8_ref(size_t n, int8_t w, int8_t x)
{
    int8_t ws[DOT_BYTES], xs[DOT_BYTES];
    for (size_t i = 0; i < DOT_BYTES; i++) {
        ws[i] = w;
        xs[i] = x;
    }
    int32_t acc[DOT_LANES] = {0};
    while (n-- > 0) {
        __asm__ volatile("" : : "r"(ws), "r"(xs) : "memory"); /* they might have changed */
        for (size_t i = 0; i < DOT_BYTES; i += DOT_LANES)
            for (size_t j = 0; j < DOT_LANES; j++)
                acc[j] += ws[i + j] * xs[i + j];
    }
    return acc[0];
}

static const struct roof_kernels roof_kernels_ref = {
    .isa = RML_ISA_REF,
    .read = read_ref,
    .fma_f32 = fma_f32_ref,
    .fma_f32_lanes = FMA_LANES,
    .dot_i8 = dot_i8_ref,
    .dot_i8_products = DOT_BYTES,
    .dot_i8_lane_products = DOT_BYTES / DOT_LANES,
};

const struct roof_kernels *roof_kernels_for(enum rml_isa isa)
{
    if (isa == RML_ISA_REF)
        return &roof_kernels_ref;
#if defined(__x86_64__)
    if (isa == RML_ISA_AVX2 && rml_isa_available(isa))
        return &roof_kernels_avx2;
    if (isa == RML_ISA_AVX512 && rml_isa_available(isa))
        return &roof_kernels_avx512;
#endif
    return NULL;
}
