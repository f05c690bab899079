/*
 * Bytes and operations of a decoder's iteration, from its shape.
 */
#include "bench/decoder_case.h"

#include "kernels/kernels.h"

#define CHUNK 512 /* rows that rml_forward computes at a time by default */

/* Elements of one layer's matrices. */
static double layer_elements(const struct rml_model_config *c)
{
    double q = (double)c->n_head * c->head_dim, kv = (double)c->n_head_kv * c->head_dim;
    return c->n_embd * (2 * q + 2 * kv) + 3.0 * c->n_embd * c->n_ff;
}

static double row_nbytes(enum rml_dtype dtype, uint32_t n_cols)
{
    size_t nbytes = 0;
    rml_dtype_row_nbytes(dtype, n_cols, &nbytes);
    return (double)nbytes;
}

static double layer_nbytes(const struct rml_model_config *c, enum rml_dtype dtype)
{
    uint32_t q = c->n_head * c->head_dim, kv = c->n_head_kv * c->head_dim;
    return (q + 2.0 * kv + 2.0 * c->n_ff) * row_nbytes(dtype, c->n_embd) +
           c->n_embd * (row_nbytes(dtype, q) + row_nbytes(dtype, c->n_ff));
}

/* Keys that all rows of an iteration see together; for decoding the mean of a token. */
static double keys_seen(const struct decoder_settings *s)
{
    double n = (double)s->n_prompt;
    return s->n_prompt ? n * (n + 1) / 2 : (double)s->n_depth + ((double)s->n_gen + 1) / 2;
}

double decoder_flops(const struct rml_model *model, const struct decoder_settings *s)
{
    const struct rml_model_config *c = rml_model_config(model);
    double rows = s->n_prompt ? (double)s->n_prompt : 1;
    double matrices = c->n_layer * layer_elements(c) * rows + (double)c->n_vocab * c->n_embd;
    double attention = 2.0 * c->n_layer * c->n_head * c->head_dim * keys_seen(s);
    return 2 * (matrices + attention);
}

double decoder_bytes(const struct rml_model *model, const struct decoder_settings *s)
{
    const struct rml_model_config *c = rml_model_config(model);
    enum rml_dtype dtype = rml_model_weight_dtype(model);
    size_t rows = s->n_prompt ? s->n_prompt : 1;
    size_t n_chunks = (rows + CHUNK - 1) / CHUNK;
    double weights = (double)n_chunks * c->n_layer * layer_nbytes(c, dtype) +
                     ((double)c->n_vocab + (double)rows) * row_nbytes(dtype, c->n_embd);

    double position =
        c->n_layer * c->n_head_kv *
        (double)(rmli_kv_head_nbytes(s->k, c->head_dim) + rmli_kv_head_nbytes(s->v, c->head_dim));
    double positions_read = 0;
    if (s->n_prompt) {
        for (size_t end = CHUNK; end < rows + CHUNK; end += CHUNK)
            positions_read += (double)(end < rows ? end : rows);
    } else {
        positions_read = keys_seen(s);
    }
    return weights + position * (positions_read + (double)rows);
}
