/*
 * Head rows of the key-value cache, one element or group at a time: what the
 * layouts of kernels.h mean, and the path of every shape that is not hot.
 *
 *     i8 row of head_dim 12 (groups of 4):
 *     | scale 0 | scale 1 | scale 2 | q0 q1 q2 ... q11 |
 *       f32       f32       f32       int8
 */
#ifndef RML_KERNELS_KV_ROWS_H
#define RML_KERNELS_KV_ROWS_H

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "kernels/kernels.h"

/* Groups whose largest magnitude is below this are stored as zeros: 127 / max
 * must not overflow. */
#define RMLI_KV_I8_TINY 0x1p-120f

/* dst[head_dim] = the row's values in f32, exactly. */
static inline void rmli_kv_widen_f32(float *dst, const uint8_t *row, size_t head_dim)
{
    memcpy(dst, row, head_dim * sizeof *dst);
}

static inline void rmli_kv_widen_f16(float *dst, const uint8_t *row, size_t head_dim)
{
    for (size_t d = 0; d < head_dim; d++) {
        uint16_t half;
        memcpy(&half, row + d * sizeof half, sizeof half);
        dst[d] = rmli_f32_from_f16(half);
    }
}

/* The scales of an i8 row [head_dim / group] and its integers in f32 [head_dim]. */
static inline void rmli_kv_split_i8(float *scales, float *q, const uint8_t *row, size_t head_dim)
{
    size_t scales_nbytes = head_dim / rmli_kv_group(head_dim) * sizeof *scales;
    memcpy(scales, row, scales_nbytes);
    const int8_t *integers = (const int8_t *)row + scales_nbytes;
    for (size_t d = 0; d < head_dim; d++)
        q[d] = (float)integers[d];
}

static inline void rmli_kv_widen_i8(float *dst, const uint8_t *row, size_t head_dim)
{
    float scales[RMLI_MAX_HEAD_DIM / 2];
    size_t group = rmli_kv_group(head_dim);
    rmli_kv_split_i8(scales, dst, row, head_dim);
    for (size_t d = 0; d < head_dim; d++)
        dst[d] *= scales[d / group];
}

/* Quantises one group. The maximum is taken of the bits of |x|, whose order is
 * that of the values with NaN above all: so a group that holds an infinity or
 * a NaN gets a scale that is not finite and reads as NaN. */
static inline void rmli_kv_quantize_group(float *scale, int8_t *q, const float *x, size_t n)
{
    uint32_t max_bits = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = rmli_f32_bits(x[i]) & 0x7fffffff;
        max_bits = bits > max_bits ? bits : max_bits;
    }
    float max = rmli_f32_from_bits(max_bits);
    bool has_values = max >= RMLI_KV_I8_TINY && max < INFINITY;
    *scale = max < RMLI_KV_I8_TINY ? 0 : max / 127.0f;
    float inverse = has_values ? 127.0f / max : 0;
    for (size_t i = 0; i < n; i++)
        q[i] = has_values ? (int8_t)lrintf(x[i] * inverse) : 0;
}

/* As `store` of kernels.h. */
static inline void rmli_kv_store_i8(void *row, const float *x, size_t head_dim)
{
    char *bytes = row;
    size_t group = rmli_kv_group(head_dim), n_groups = head_dim / group;
    int8_t *q = (int8_t *)row + n_groups * sizeof(float);
    for (size_t g = 0; g < n_groups; g++) {
        float scale;
        rmli_kv_quantize_group(&scale, q + g * group, x + g * group, group);
        memcpy(bytes + g * sizeof scale, &scale, sizeof scale);
    }
    memset(q + head_dim, 0, (4 - head_dim % 4) % 4); /* no byte of a row is undefined */
}

static inline void rmli_kv_store_f16(void *row, const float *x, size_t head_dim)
{
    char *bytes = row;
    for (size_t d = 0; d < head_dim; d++) {
        uint16_t half = rmli_f16_from_f32(x[d]);
        memcpy(bytes + d * sizeof half, &half, sizeof half);
    }
}

static inline void rmli_kv_store_f32(void *row, const float *x, size_t head_dim)
{
    memcpy(row, x, head_dim * sizeof *x);
}

#endif
