/*
 * Vector operations in portable C: the definition that the vector versions are
 * compared with, bit by bit. Activations and their values at the edges are in
 * kernels/elementwise_f32.h.
 */
#include "kernels/kernels.h"

#include <math.h>

#include "kernels/elementwise_f32.h"
#include "kernels/ref/lane_order.h"

static void rms_norm_ref(float *dst, const float *x, const float *w, size_t n, float eps)
{
    float r = 1.0f / sqrtf(rmli_dot_lanes(x, x, n) / (float)n + eps);
    for (size_t i = 0; i < n; i++)
        dst[i] = x[i] * r * w[i];
}

static void add_ref(float *dst, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] += x[i];
}

static void add_scaled_ref(float *dst, const float *x, float s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = fmaf(s, x[i], dst[i]);
}

static void scale_ref(float *dst, float s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] *= s;
}

static void silu_mul_ref(float *gate, const float *up, size_t n)
{
    for (size_t i = 0; i < n; i++)
        gate[i] = rmli_silu_f32(gate[i]) * up[i];
}

static void gelu_tanh_mul_ref(float *gate, const float *up, size_t n)
{
    for (size_t i = 0; i < n; i++)
        gate[i] = rmli_gelu_tanh_f32(gate[i]) * up[i];
}

static void softmax_ref(float *x, size_t n)
{
    float max = -INFINITY; /* NaN is not greater: it stays in x and poisons the sum */
    for (size_t i = 0; i < n; i++)
        max = x[i] > max ? x[i] : max;
    float lanes[8] = {0};
    for (size_t i = 0; i < n; i++) {
        x[i] = rmli_exp_f32(x[i] - max);
        lanes[i % 8] += x[i];
    }
    float sum = rmli_fold_lanes(lanes);
    for (size_t i = 0; i < n; i++)
        x[i] /= sum;
}

/* One pair: (*a, *b) turned by the angle. */
static void rotate(float *a, float *b, float cos, float sin)
{
    float turned_a = *a * cos - *b * sin;
    float turned_b = *b * cos + *a * sin;
    *a = turned_a;
    *b = turned_b;
}

static void rope_half_ref(float *x, const float *cos, const float *sin, size_t n)
{
    for (size_t i = 0; i < n / 2; i++)
        rotate(&x[i], &x[i + n / 2], cos[i], sin[i]);
}

static void rope_interleaved_ref(float *x, const float *cos, const float *sin, size_t n)
{
    for (size_t i = 0; i < n / 2; i++)
        rotate(&x[2 * i], &x[2 * i + 1], cos[i], sin[i]);
}

const struct rmli_vector_kernels rmli_vector_ref = {
    .rms_norm = rms_norm_ref,
    .add = add_ref,
    .add_scaled = add_scaled_ref,
    .scale = scale_ref,
    .silu_mul = silu_mul_ref,
    .gelu_tanh_mul = gelu_tanh_mul_ref,
    .softmax = softmax_ref,
    .rope_half = rope_half_ref,
    .rope_interleaved = rope_interleaved_ref,
};
