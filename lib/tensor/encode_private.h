/* The encoders of single blocks, and the arithmetic that they share; only encode*.c include it. */
#ifndef RML_TENSOR_ENCODE_PRIVATE_H
#define RML_TENSOR_ENCODE_PRIVATE_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/half.h"
#include "tensor/blocks.h"

/* One block each. False when its scale does not fit an f16; the block is then undefined. */
bool rmli_encode_q4_0(struct rmli_block_q4_0 *block, const float *x);
bool rmli_encode_q4_1(struct rmli_block_q4_1 *block, const float *x);
bool rmli_encode_q5_0(struct rmli_block_q5_0 *block, const float *x);
bool rmli_encode_q5_1(struct rmli_block_q5_1 *block, const float *x);
bool rmli_encode_q8_0(struct rmli_block_q8_0 *block, const float *x);
bool rmli_encode_q2_k(struct rmli_block_q2_k *block, const float *x);
bool rmli_encode_q3_k(struct rmli_block_q3_k *block, const float *x);
bool rmli_encode_q4_k(struct rmli_block_q4_k *block, const float *x);
bool rmli_encode_q5_k(struct rmli_block_q5_k *block, const float *x);
bool rmli_encode_q6_k(struct rmli_block_q6_k *block, const float *x);
bool rmli_encode_iq4_nl(struct rmli_block_iq4_nl *block, const float *x);
bool rmli_encode_iq4_xs(struct rmli_block_iq4_xs *block, const float *x);

/* Largest finite f16, and its smallest positive number. */
#define RMLI_F16_MAX 65504.0f
#define RMLI_F16_STEP 0x1p-24f

/* Values below this in magnitude are nearer to zero than to any other number that a block of
 * small integers times an f16 can hold. */
#define RMLI_ENCODE_ZERO (RMLI_F16_STEP / 2)

/* The value that an f16 field will have. */
static inline float rmli_as_f16(float x)
{
    return rmli_f32_from_f16(rmli_f16_from_f32(x));
}

/* Nearest integer, ties to even, for |x| < 2^22: the sum has no bits left for a fraction. Unlike
 * a call of rintf, compilers turn it into vector code on every machine. */
static inline float rmli_round(float x)
{
    return (x + 0x1.8p23f) - 0x1.8p23f;
}

static inline float rmli_clamp(float x, float low, float high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

/*
 * Sums over a block run in four lanes of a vector, added up at the end in one order. (A compiler
 * may not find that out by itself from a plain loop: it would have to reorder additions.) The
 * type is gcc's and clang's own; it becomes what the machine has, NEON or SSE.
 */
typedef float rmli_lanes __attribute__((vector_size(16)));
enum { RMLI_N_LANES = 4 };

static inline rmli_lanes rmli_load_lanes(const float *x)
{
    rmli_lanes lanes;
    memcpy(&lanes, x, sizeof lanes);
    return lanes;
}

static inline float rmli_add_lanes(rmli_lanes lanes)
{
    return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

static inline float rmli_max_magnitude(const float *x, int n)
{
    float max = 0;
    for (int i = 0; i < n; i++)
        max = fabsf(x[i]) > max ? fabsf(x[i]) : max;
    return max;
}

#endif
