/*
 * Quantised activations as the i8 kernels keep them.
 *
 * A row of n activations becomes n / 32 or n / 256 of these blocks, one behind
 * the other, and is padded to a multiple of 64 bytes. A block carries the sums
 * that offsets and minima multiply, because every row of weights needs them.
 * The layout is shared by all kernel tables, but is private to them.
 */
#ifndef RML_KERNELS_ACTIVATION_ROW_H
#define RML_KERNELS_ACTIVATION_ROW_H

#include <assert.h>
#include <stdint.h>

#include "tensor/dtype.h"

/* For Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 IQ4_NL. */
struct rmli_activation_block_32 {
    float d;      /* max|x| / 127 */
    int32_t sum;  /* of q, within +-4064 */
    int8_t q[32]; /* within +-127 */
};
static_assert(sizeof(struct rmli_activation_block_32) == 40, "no padding");

/* For Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_XS. */
struct rmli_activation_block_256 {
    float d;
    int16_t sum[16]; /* of q[16 i .. 16 i + 15], within +-2032 */
    int8_t q[256];
};
static_assert(sizeof(struct rmli_activation_block_256) == 292, "no padding");

/* Elements of an activation block for weights of that dtype: 32 or 256, or 0
 * for the types that have no i8 kernel. */
static inline size_t rmli_activation_block_nelems(enum rml_dtype dtype)
{
    switch (dtype) {
    case RML_Q4_0:
    case RML_Q4_1:
    case RML_Q5_0:
    case RML_Q5_1:
    case RML_Q8_0:
    case RML_IQ4_NL:
        return 32;
    case RML_Q2_K:
    case RML_Q3_K:
    case RML_Q4_K:
    case RML_Q5_K:
    case RML_Q6_K:
    case RML_IQ4_XS:
        return 256;
    default:
        return 0;
    }
}

#endif
