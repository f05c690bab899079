/*
 * The attention half of a layer: norm, q k v, biases, QK-norm, rotation, cache,
 * attention, output projection, residual.
 *
 * In the last layer only the rows whose logits are wanted go further than their
 * keys and values: nobody would read the rest.
 */
#include <string.h>

#include "model/context.h"

struct norm_loop {
    struct rml_context *ctx;
    const float *weight;
};

static void norm_row(void *arg, size_t r, unsigned worker)
{
    (void)worker;
    const struct norm_loop *loop = arg;
    const struct rml_context *ctx = loop->ctx;
    const struct rml_model_config *c = &ctx->model->config;
    ctx->kernels->vector->rms_norm(ctx->normed + r * c->n_embd, ctx->x + r * c->n_embd,
                                   loop->weight, c->n_embd, c->norm_eps);
}

void rmli_norm_rows(struct rml_context *ctx, const float *weight)
{
    struct norm_loop loop = {ctx, weight};
    rmli_parallel_for(ctx->pool, ctx->n_rows, norm_row, &loop);
}

static void add_branch_row(void *arg, size_t r, unsigned worker)
{
    (void)worker;
    const struct norm_loop *loop = arg;
    const struct rml_context *ctx = loop->ctx;
    const struct rml_model_config *c = &ctx->model->config;
    float *branch = ctx->branch + r * c->n_embd;
    ctx->kernels->vector->rms_norm(branch, branch, loop->weight, c->n_embd, c->norm_eps);
    ctx->kernels->vector->add(ctx->x + r * c->n_embd, branch, c->n_embd);
}

void rmli_add_branch(struct rml_context *ctx, const float *post_norm)
{
    struct norm_loop loop = {ctx, post_norm};
    rmli_parallel_for(ctx->pool, ctx->n_rows, add_branch_row, &loop);
}

struct head_loop {
    struct rml_context *ctx;
    uint32_t layer;
};

/* Bias, QK-norm and rotation of the n_heads heads of one row of q or k. */
static void finish_heads(const struct rml_context *ctx, uint32_t layer, size_t r, float *x,
                         uint32_t n_heads, const float *bias, const float *norm)
{
    const struct rml_model_config *c = &ctx->model->config;
    const struct rmli_vector_kernels *kernels = ctx->kernels->vector;
    size_t dim = (size_t)n_heads * c->head_dim, n_pairs = c->head_dim / 2;
    bool local = c->rope_local_theta > 0 && c->sliding_layer[layer];
    const float *cos = (local ? ctx->cos_local : ctx->cos) + ctx->row_angles[r] * n_pairs;
    const float *sin = (local ? ctx->sin_local : ctx->sin) + ctx->row_angles[r] * n_pairs;
    if (bias)
        kernels->add(x, bias, dim);
    if (norm && c->qk_norm == RML_QK_NORM_WHOLE)
        kernels->rms_norm(x, x, norm, dim, c->norm_eps);
    for (uint32_t h = 0; h < n_heads; h++) {
        float *head = x + (size_t)h * c->head_dim;
        if (norm && c->qk_norm == RML_QK_NORM_HEAD)
            kernels->rms_norm(head, head, norm, c->head_dim, c->norm_eps);
        if (c->rope_pairing == RML_ROPE_HALF)
            kernels->rope_half(head, cos, sin, c->head_dim);
        else
            kernels->rope_interleaved(head, cos, sin, c->head_dim);
    }
}

static void finish_query_row(void *arg, size_t r, unsigned worker)
{
    (void)worker;
    const struct head_loop *loop = arg;
    const struct rml_context *ctx = loop->ctx;
    const struct rml_model_config *c = &ctx->model->config;
    const struct rmli_layer_weights *w = &ctx->model->weights.layers[loop->layer];
    finish_heads(ctx, loop->layer, r, ctx->q + r * c->n_head * c->head_dim, c->n_head, w->q_bias,
                 w->q_norm);
}

static void store_key_value_row(void *arg, size_t r, unsigned worker)
{
    (void)worker;
    const struct head_loop *loop = arg;
    const struct rml_context *ctx = loop->ctx;
    const struct rml_model_config *c = &ctx->model->config;
    const struct rmli_layer_weights *w = &ctx->model->weights.layers[loop->layer];
    const struct rmli_row *row = &ctx->rows[r];
    const struct rml_kv_shape *shape = rml_kv_cache_shape(rml_sequence_cache(row->sequence));
    size_t dim = (size_t)c->n_head_kv * c->head_dim;
    float *k = ctx->k + r * dim, *v = ctx->v + r * dim;
    finish_heads(ctx, loop->layer, r, k, c->n_head_kv, w->k_bias, w->k_norm);
    if (w->v_bias)
        ctx->kernels->vector->add(v, w->v_bias, dim);
    for (uint32_t h = 0; h < c->n_head_kv; h++) {
        size_t at = (size_t)h * c->head_dim;
        ctx->kernels->attention->store[shape->k_dtype](
            rmli_sequence_key(row->sequence, loop->layer, h, row->position), k + at, c->head_dim);
        ctx->kernels->attention->store[shape->v_dtype](
            rmli_sequence_value(row->sequence, loop->layer, h, row->position), v + at, c->head_dim);
    }
}

/* Moves the wanted rows of the chunk to its front and forgets the others. */
static void drop_unwanted_rows(struct rml_context *ctx)
{
    size_t n_embd = ctx->model->config.n_embd, kept = 0;
    for (size_t r = 0; r < ctx->n_rows; r++) {
        if (!ctx->row_wanted[r])
            continue;
        if (kept < r) {
            memcpy(ctx->x + kept * n_embd, ctx->x + r * n_embd, n_embd * sizeof *ctx->x);
            memcpy(ctx->normed + kept * n_embd, ctx->normed + r * n_embd,
                   n_embd * sizeof *ctx->normed);
            ctx->rows[kept] = ctx->rows[r];
            ctx->row_segment[kept] = ctx->row_segment[r];
            ctx->row_angles[kept] = ctx->row_angles[r];
            ctx->row_wanted[kept] = true;
        }
        kept++;
    }
    ctx->n_rows = kept;
}

static void attend(struct rml_context *ctx, uint32_t layer)
{
    const struct rml_model_config *c = &ctx->model->config;
    const struct rmli_attention_params params = {
        .n_head = c->n_head,
        .n_head_kv = c->n_head_kv,
        .head_dim = c->head_dim,
        .layer = layer,
        .window = c->sliding_layer[layer] ? c->sliding_window : 0,
        .scale = c->attention_scale,
    };
    rmli_attend(ctx->attention, ctx->pool, ctx->kernels, &params, ctx->rows, ctx->n_rows, ctx->q,
                ctx->attended);
}

void rmli_attention_half(struct rml_context *ctx, uint32_t layer, bool drop_unwanted)
{
    const struct rml_model_config *c = &ctx->model->config;
    const struct rmli_layer_weights *w = &ctx->model->weights.layers[layer];
    size_t q_dim = (size_t)c->n_head * c->head_dim, kv_dim = (size_t)c->n_head_kv * c->head_dim;
    struct head_loop loop = {ctx, layer};

    rmli_norm_rows(ctx, w->attention_norm);
    rmli_profile(ctx, RML_OP_NORM);
    struct rmli_job qkv[3] = {
        {.matrix = &w->k, .n_rows = ctx->n_rows, .out = ctx->k, .ld_out = kv_dim},
        {.matrix = &w->v, .n_rows = ctx->n_rows, .out = ctx->v, .ld_out = kv_dim},
        {.matrix = &w->q, .n_rows = ctx->n_rows, .out = ctx->q, .ld_out = q_dim},
    };
    rmli_project(&ctx->projector, ctx->normed, c->n_embd, ctx->n_rows, qkv, drop_unwanted ? 2 : 3);
    rmli_profile(ctx, RML_OP_QKV);
    rmli_parallel_for(ctx->pool, ctx->n_rows, store_key_value_row, &loop);
    rmli_profile(ctx, RML_OP_ROPE_STORE);
    if (drop_unwanted) {
        drop_unwanted_rows(ctx);
        if (!ctx->n_rows)
            return;
        qkv[2].n_rows = ctx->n_rows;
        rmli_project(&ctx->projector, ctx->normed, c->n_embd, ctx->n_rows, &qkv[2], 1);
        rmli_profile(ctx, RML_OP_QKV);
    }
    rmli_parallel_for(ctx->pool, ctx->n_rows, finish_query_row, &loop);
    rmli_profile(ctx, RML_OP_ROPE_STORE);
    attend(ctx, layer);
    rmli_profile(ctx, RML_OP_ATTENTION);

    struct rmli_job output = {
        .matrix = &w->o,
        .n_rows = ctx->n_rows,
        .out = c->sandwich_norms ? ctx->branch : ctx->x,
        .ld_out = c->n_embd,
        .accumulate = !c->sandwich_norms,
    };
    rmli_project(&ctx->projector, ctx->attended, q_dim, ctx->n_rows, &output, 1);
    rmli_profile(ctx, RML_OP_ATTENTION_OUT);
    if (c->sandwich_norms) {
        rmli_add_branch(ctx, w->post_attention_norm);
        rmli_profile(ctx, RML_OP_NORM);
    }
}
