#include "bench/decoder_cost.h"

#include <math.h>

#include "kernels/kernels.h"
#include "model/model.h"

#define CHUNK 512 /* rows that rml_forward computes at a time by default */

/* ---- Weights -------------------------------------------------------------------------------- */

static double matrix_nbytes(enum rml_dtype dtype, double n_rows, uint32_t n_cols)
{
    size_t nbytes = 0;
    rml_dtype_row_nbytes(dtype, n_cols, &nbytes);
    return n_rows * (double)nbytes;
}

struct decoder_weights decoder_weights_of_type(const struct rml_model_config *c,
                                               enum rml_dtype dtype)
{
    uint32_t q = c->n_head * c->head_dim, kv = c->n_head_kv * c->head_dim;
    uint32_t ff = c->n_expert ? c->n_ff_expert : c->n_ff;
    double attention =
        matrix_nbytes(dtype, q + 2.0 * kv, c->n_embd) + matrix_nbytes(dtype, c->n_embd, q);
    double feed_forward =
        matrix_nbytes(dtype, 2.0 * ff, c->n_embd) + matrix_nbytes(dtype, c->n_embd, ff);
    struct decoder_weights w = {
        .head = matrix_nbytes(dtype, c->n_vocab, c->n_embd),
        .embedding_row = matrix_nbytes(dtype, 1, c->n_embd),
    };
    if (c->n_expert) {
        w.every_row = c->n_layer * (attention + matrix_nbytes(dtype, c->n_expert, c->n_embd));
        w.expert = c->n_layer * feed_forward;
    } else {
        w.every_row = c->n_layer * (attention + feed_forward);
    }
    w.total = w.every_row + c->n_expert * w.expert + (c->tied_head ? 1 : 2) * w.head;
    return w;
}

static double stored(const struct rmli_matrix *m)
{
    return (double)m->n_rows * (double)m->row_nbytes;
}

struct decoder_weights decoder_weights_of_model(const struct rml_model *model)
{
    const struct rml_model_config *c = &model->config;
    const struct rmli_weights *weights = &model->weights;
    struct decoder_weights w = {
        .head = stored(&weights->head),
        .embedding_row = (double)weights->embedding.row_nbytes,
    };
    for (uint32_t l = 0; l < c->n_layer; l++) {
        const struct rmli_layer_weights *layer = &weights->layers[l];
        w.every_row +=
            stored(&layer->q) + stored(&layer->k) + stored(&layer->v) + stored(&layer->o);
        if (!c->n_expert) {
            w.every_row += stored(&layer->gate) + stored(&layer->up) + stored(&layer->down);
            continue;
        }
        w.every_row += stored(&layer->router);
        for (uint32_t e = 0; e < c->n_expert; e++)
            w.expert += (stored(&layer->expert_gate[e]) + stored(&layer->expert_up[e]) +
                         stored(&layer->expert_down[e])) /
                        c->n_expert;
    }
    w.total = (double)rml_model_weight_nbytes(model);
    return w;
}

/* ---- Iterations ----------------------------------------------------------------------------- */

/* Rows of an iteration. */
static double row_count(const struct decoder_settings *s)
{
    return (double)s->n_batch * (s->n_prompt ? (double)s->n_prompt : 1);
}

/* Keys that all rows of one sequence see together; for decoding the mean of a token. */
static double keys_seen(const struct decoder_settings *s)
{
    double n = (double)s->n_prompt;
    return s->n_prompt ? n * (n + 1) / 2 : (double)s->n_depth + ((double)s->n_gen + 1) / 2;
}

/* Elements of one layer's matrices that a row is multiplied with. */
static double layer_elements(const struct rml_model_config *c)
{
    double q = (double)c->n_head * c->head_dim, kv = (double)c->n_head_kv * c->head_dim;
    double ff = c->n_expert ? (double)c->n_expert_used * c->n_ff_expert : c->n_ff;
    return c->n_embd * (2 * q + 2 * kv) + 3.0 * c->n_embd * ff + (double)c->n_expert * c->n_embd;
}

double decoder_flops(const struct rml_model_config *c, const struct decoder_settings *s)
{
    double matrices =
        c->n_layer * layer_elements(c) * row_count(s) + (double)s->n_batch * c->n_vocab * c->n_embd;
    double attention =
        2.0 * c->n_layer * c->n_head * c->head_dim * keys_seen(s) * (double)s->n_batch;
    return 2 * (matrices + attention);
}

/* Positions of one sequence that are read, each once for a chunk of rows. */
static double positions_read(const struct decoder_settings *s)
{
    if (!s->n_prompt)
        return keys_seen(s);
    double n = 0;
    for (size_t end = CHUNK; end < s->n_prompt + CHUNK; end += CHUNK)
        n += (double)(end < s->n_prompt ? end : s->n_prompt);
    return n;
}

double decoder_bytes(const struct rml_model_config *c, const struct decoder_weights *w,
                     const struct decoder_settings *s)
{
    double rows = row_count(s), n_chunks = ceil(rows / CHUNK);
    double weights = n_chunks * w->every_row + w->head + rows * w->embedding_row;
    if (c->n_expert) {
        double missed = pow(1 - (double)c->n_expert_used / c->n_expert, rows / n_chunks);
        weights += n_chunks * w->expert * c->n_expert * (1 - missed);
    }
    double position =
        c->n_layer * c->n_head_kv *
        (double)(rmli_kv_head_nbytes(s->k, c->head_dim) + rmli_kv_head_nbytes(s->v, c->head_dim));
    return weights + position * ((double)s->n_batch * positions_read(s) + rows);
}

double decoder_memory_nbytes(const struct rml_model_config *c, const struct decoder_weights *w,
                             const struct decoder_settings *s)
{
    const struct rml_kv_shape kv = {.n_layer = c->n_layer,
                                    .n_head_kv = c->n_head_kv,
                                    .head_dim = c->head_dim,
                                    .k_dtype = s->k,
                                    .v_dtype = s->v};
    size_t n_tokens = s->n_prompt ? s->n_prompt : s->n_depth + s->n_gen;
    size_t n_pages = (n_tokens + RML_PAGE_TOKENS - 1) / RML_PAGE_TOKENS;
    double cache = (double)s->n_batch * (double)n_pages * (double)rml_kv_page_nbytes(&kv);
    double ff =
        c->n_expert ? (double)c->n_expert_used * (2.0 * c->n_ff_expert + c->n_embd) : 2.0 * c->n_ff;
    double row = 3.0 * c->n_embd + 2.0 * c->head_dim * (c->n_head + c->n_head_kv) + ff;
    double logits = (double)s->n_batch * c->n_vocab;
    return w->total + cache + 4 * (CHUNK * row + logits);
}
