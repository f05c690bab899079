/*
 * Loops that run into one limit of the machine each: reading memory, f32 multiply-adds,
 * products of 8-bit integers. What a row reaches is judged against them (roof.h).
 *
 * One set for each instruction set that has kernels (kernels/kernels.h). Each loop's result is
 * known beforehand, so that one which leaves work out is noticed (roof_case.c).
 */
#ifndef BENCH_ROOF_KERNELS_H
#define BENCH_ROOF_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu_features.h"

#define ROOF_READ_STREAMS 4
#define ROOF_READ_STEP ((size_t)ROOF_READ_STREAMS * 256) /* bytes; sizes are multiples of it */

struct roof_kernels {
    enum rml_isa isa;

    /* The sum of the 64-bit words, modulo 2^64; p is 64-byte aligned. Read as four streams in
     * lockstep, which is faster than one: each has a hardware prefetcher of its own. */
    uint64_t (*read)(const void *p, size_t nbytes);

    /* n rounds of acc = a * acc + b in many accumulators that start at 0: enough of them to
     * cover the latency of an operation on every multiplier. Returns their sum. Fused where the
     * instruction set has it, two operations a lane either way. */
    float (*fma_f32)(size_t n, float a, float b);
    size_t fma_f32_lanes; /* of all accumulators together */

    /* n rounds of adding up products of bytes that are all `w` (0 .. 15) with bytes that are all
     * `x` (-127 .. 127), in 32-bit lanes. Returns the sum of one lane. The instruction set's
     * fastest way for 4-bit weights: without an instruction that adds up four products, pairs
     * are added in 16 bits as long as they fit. */
    int32_t (*dot_i8)(size_t n, int8_t w, int8_t x);
    size_t dot_i8_products;      /* of a round, over all lanes */
    size_t dot_i8_lane_products; /* of a round, in one lane: the result is n * this * w * x */
};

/* NULL when there are none or this machine cannot run them; never for RML_ISA_REF. */
const struct roof_kernels *roof_kernels_for(enum rml_isa isa);

/* The sets of x86, for roof_kernels_for. */
extern const struct roof_kernels roof_kernels_avx2, roof_kernels_avx512;

#endif
