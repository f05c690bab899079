/*
 * One form for the content of every quantised block, which lets the reference
 * kernels state their arithmetic once for all types:
 *
 *     f32 value of element k   (d * sc[k / 16]) * q[k]  +  m * mn[k / 16]
 *     integers of the i8 dot   sum of sc[k / 16] * q[k] * a[k],  of mn * a
 *
 * Types without integer sub-scales have sc = 1, where the product is exact;
 * types without an offset have has_offset false, and the addition is left out
 * (adding zero would turn -0 into +0). See tensor/blocks.h.
 */
#ifndef RML_KERNELS_REF_BLOCK_VALUES_REF_H
#define RML_KERNELS_REF_BLOCK_VALUES_REF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/dtype.h"

struct rmli_block_values {
    float d;
    float m; /* the block's m, or -dmin */
    bool has_offset;
    int16_t sc[16]; /* one for every 16 elements */
    int16_t mn[16];
    int8_t q[256];
};

/* Reads the block at src, of a quantised type. */
void rmli_block_values_ref(struct rmli_block_values *out, enum rml_dtype dtype, const void *src);

#endif
