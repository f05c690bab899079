/*
 * The definition of attention, in double precision: for each query row and
 * head, softmax over all scores in one piece and the weighted sum of values.
 * No blocks, no tiles, no merging; slow, and for tests only. Scores are computed
 * twice, which spares an array of them.
 */
#include "model/attention.h"

#include <math.h>

#include "kernels/kv_rows.h"

/* The row's values in double. */
static void widen(double *dst, const uint8_t *row, enum rml_kv_dtype dtype, size_t head_dim)
{
    float values[RMLI_MAX_HEAD_DIM];
    switch (dtype) {
    case RML_KV_F32:
        rmli_kv_widen_f32(values, row, head_dim);
        break;
    case RML_KV_F16:
        rmli_kv_widen_f16(values, row, head_dim);
        break;
    default:
        rmli_kv_widen_i8(values, row, head_dim);
        break;
    }
    for (size_t d = 0; d < head_dim; d++)
        dst[d] = (double)values[d];
}

static double score(const struct rmli_attention_params *p, const struct rml_sequence *sequence,
                    uint32_t kv_head, size_t position, const float *q)
{
    const struct rml_kv_shape *shape = rml_kv_cache_shape(rml_sequence_cache(sequence));
    double key[RMLI_MAX_HEAD_DIM], dot = 0;
    widen(key, rmli_sequence_key(sequence, p->layer, kv_head, position), shape->k_dtype,
          p->head_dim);
    for (size_t d = 0; d < p->head_dim; d++)
        dot += (double)q[d] * key[d];
    return dot * (double)p->scale;
}

static void attend_head(const struct rmli_attention_params *p, const struct rmli_row *row,
                        uint32_t kv_head, const float *q, float *out)
{
    const struct rml_kv_shape *shape = rml_kv_cache_shape(rml_sequence_cache(row->sequence));
    size_t begin = p->window > 0 && row->position >= p->window ? row->position - p->window + 1 : 0;
    double max = -INFINITY, sum = 0;
    double total[RMLI_MAX_HEAD_DIM] = {0}, value[RMLI_MAX_HEAD_DIM];
    for (size_t j = begin; j <= row->position; j++)
        max = fmax(max, score(p, row->sequence, kv_head, j, q));
    for (size_t j = begin; j <= row->position; j++) {
        double weight = exp(score(p, row->sequence, kv_head, j, q) - max);
        sum += weight;
        widen(value, rmli_sequence_value(row->sequence, p->layer, kv_head, j), shape->v_dtype,
              p->head_dim);
        for (size_t d = 0; d < p->head_dim; d++)
            total[d] += weight * value[d];
    }
    for (size_t d = 0; d < p->head_dim; d++)
        out[d] = (float)(total[d] / sum);
}

void rmli_attend_ref(const struct rmli_attention_params *params, const struct rmli_row *rows,
                     size_t n_rows, const float *q, float *out)
{
    uint32_t group = params->n_head / params->n_head_kv;
    for (size_t r = 0; r < n_rows; r++) {
        for (uint32_t h = 0; h < params->n_head; h++) {
            size_t at = (r * params->n_head + h) * params->head_dim;
            attend_head(params, &rows[r], h / group, q + at, out + at);
        }
    }
}
