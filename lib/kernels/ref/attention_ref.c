/*
 * Attention kernels in portable C: the definition, bit by bit, of what the
 * vector versions compute; and the sizes of cached head rows.
 *
 * Scores that are not finite: NaN stays NaN through the exponential into sum
 * and output; +inf gives NaN (inf - inf), for a softmax cannot weigh it; -inf
 * has weight 0. A block of nothing but -inf has maximum -inf, sum 0 and output
 * 0, and changes nothing when merged: in exponents, a maximum of -inf is
 * replaced by 0.
 */
#include "kernels/kernels.h"

#include "kernels/elementwise_f32.h"
#include "kernels/kv_rows.h"
#include "kernels/ref/lane_order.h"

size_t rmli_kv_group(size_t head_dim)
{
    size_t group = head_dim & (~head_dim + 1); /* lowest set bit */
    return group < 32 ? group : 32;
}

size_t rmli_kv_head_nbytes(enum rml_kv_dtype dtype, size_t head_dim)
{
    switch (dtype) {
    case RML_KV_F32:
        return head_dim * 4;
    case RML_KV_F16:
        return head_dim * 2;
    case RML_KV_I8:
        return head_dim / rmli_kv_group(head_dim) * sizeof(float) + (head_dim + 3) / 4 * 4;
    case RML_N_KV_DTYPES:
        break;
    }
    return 0;
}

typedef void widen_fn(float *dst, const uint8_t *row, size_t head_dim);

static void scores(const struct rmli_attention_tile *t, const uint8_t *keys, size_t key_nbytes,
                   widen_fn *widen)
{
    float key[RMLI_MAX_HEAD_DIM];
    for (size_t i = 0; i < RMLI_ATTENTION_BLOCK; i++) {
        bool widened = false;
        for (size_t r = 0; r < t->n_rows; r++) {
            if (i < t->first[r] || i >= t->last[r])
                continue;
            if (!widened)
                widen(key, keys + i * key_nbytes, t->head_dim);
            widened = true;
            t->weights[r * RMLI_ATTENTION_BLOCK + i] =
                t->scale * rmli_dot_lanes(t->q[r], key, t->head_dim);
        }
    }
}

/* acc = fma(weight * scale, value, acc): scales is NULL but for i8. */
static void add_value(float *out, float weight, const float *value, const float *scales,
                      size_t head_dim)
{
    size_t group = rmli_kv_group(head_dim);
    for (size_t d = 0; d < head_dim; d++) {
        float w = scales ? weight * scales[d / group] : weight;
        out[d] = fmaf(w, value[d], out[d]);
    }
}

static void values(const struct rmli_attention_tile *t, const uint8_t *rows, size_t value_nbytes,
                   enum rml_kv_dtype dtype)
{
    float value[RMLI_MAX_HEAD_DIM], scales[RMLI_MAX_HEAD_DIM];
    memset(t->out, 0, t->n_rows * t->head_dim * sizeof *t->out);
    for (size_t i = 0; i < RMLI_ATTENTION_BLOCK; i++) {
        bool widened = false;
        for (size_t r = 0; r < t->n_rows; r++) {
            if (i < t->first[r] || i >= t->last[r])
                continue;
            const uint8_t *row = rows + i * value_nbytes;
            if (!widened && dtype == RML_KV_F32)
                rmli_kv_widen_f32(value, row, t->head_dim);
            else if (!widened && dtype == RML_KV_F16)
                rmli_kv_widen_f16(value, row, t->head_dim);
            else if (!widened)
                rmli_kv_split_i8(scales, value, row, t->head_dim);
            widened = true;
            add_value(t->out + r * t->head_dim, t->weights[r * RMLI_ATTENTION_BLOCK + i], value,
                      dtype == RML_KV_I8 ? scales : NULL, t->head_dim);
        }
    }
}

static void scores_f32_ref(const struct rmli_attention_tile *t, const uint8_t *keys,
                           size_t key_nbytes)
{
    scores(t, keys, key_nbytes, rmli_kv_widen_f32);
}

static void scores_f16_ref(const struct rmli_attention_tile *t, const uint8_t *keys,
                           size_t key_nbytes)
{
    scores(t, keys, key_nbytes, rmli_kv_widen_f16);
}

static void scores_i8_ref(const struct rmli_attention_tile *t, const uint8_t *keys,
                          size_t key_nbytes)
{
    scores(t, keys, key_nbytes, rmli_kv_widen_i8);
}

static void values_f32_ref(const struct rmli_attention_tile *t, const uint8_t *rows,
                           size_t value_nbytes)
{
    values(t, rows, value_nbytes, RML_KV_F32);
}

static void values_f16_ref(const struct rmli_attention_tile *t, const uint8_t *rows,
                           size_t value_nbytes)
{
    values(t, rows, value_nbytes, RML_KV_F16);
}

static void values_i8_ref(const struct rmli_attention_tile *t, const uint8_t *rows,
                          size_t value_nbytes)
{
    values(t, rows, value_nbytes, RML_KV_I8);
}

/* What exponents are taken relative to. */
static float shift_of(float max)
{
    return max == -INFINITY ? 0 : max;
}

static void softmax_ref(const struct rmli_attention_tile *t)
{
    for (size_t r = 0; r < t->n_rows; r++) {
        float *weights = t->weights + r * RMLI_ATTENTION_BLOCK;
        float max = -INFINITY; /* NaN is not greater: it goes on to the sum */
        for (size_t i = t->first[r]; i < t->last[r]; i++)
            max = weights[i] > max ? weights[i] : max;
        float lanes[8] = {0};
        for (size_t i = t->first[r]; i < t->last[r]; i++) {
            weights[i] = rmli_exp_f32(weights[i] - shift_of(max));
            lanes[i % 8] += weights[i];
        }
        t->max[r] = max;
        t->sum[r] = rmli_fold_lanes(lanes);
    }
}

static void merge_ref(float *a_max, float *a_sum, float *a_out, float b_max, float b_sum,
                      const float *b_out, size_t head_dim)
{
    float max = b_max > *a_max ? b_max : *a_max;
    float a_factor = rmli_exp_f32(*a_max - shift_of(max));
    float b_factor = rmli_exp_f32(b_max - shift_of(max));
    *a_max = max;
    *a_sum = *a_sum * a_factor + b_sum * b_factor;
    for (size_t d = 0; d < head_dim; d++)
        a_out[d] = a_out[d] * a_factor + b_out[d] * b_factor;
}

const struct rmli_attention_kernels rmli_attention_ref = {
    .scores = {scores_f32_ref, scores_f16_ref, scores_i8_ref},
    .softmax = softmax_ref,
    .values = {values_f32_ref, values_f16_ref, values_i8_ref},
    .merge = merge_ref,
    .store = {rmli_kv_store_f32, rmli_kv_store_f16, rmli_kv_store_i8},
};
