/*
 * The feed-forward half of a layer: dense, or a mixture of experts.
 *
 * Experts: the router's softmax over all experts gives each row its k best (ties to
 * the lower id). Rows are gathered by expert, so that an expert's weights are read once
 * however many rows of the chunk chose it; each row then adds its experts' outputs in
 * order of rank, which keeps its bits independent of the rest of the batch.
 */
#include <string.h>

#include "model/context.h"

/* Elements of gate * up that one task computes: whole rows when there are many. */
#define GLU_GRAIN 2048

struct glu_loop {
    struct rml_context *ctx;
    size_t n_ff;
    size_t grains; /* of a row */
};

static void glu_part(void *arg, size_t task, unsigned worker)
{
    (void)worker;
    const struct glu_loop *loop = arg;
    const struct rml_context *ctx = loop->ctx;
    size_t row = task / loop->grains, begin = task % loop->grains * GLU_GRAIN;
    size_t n = loop->n_ff - begin < GLU_GRAIN ? loop->n_ff - begin : GLU_GRAIN;
    float *gate = ctx->gate + row * loop->n_ff + begin;
    const float *up = ctx->up + row * loop->n_ff + begin;
    if (ctx->model->config.activation == RML_SILU)
        ctx->kernels->vector->silu_mul(gate, up, n);
    else
        ctx->kernels->vector->gelu_tanh_mul(gate, up, n);
}

/* gate = act(gate) * up for n_rows rows of n_ff elements. */
static void gated_activation(struct rml_context *ctx, size_t n_rows, size_t n_ff)
{
    struct glu_loop loop = {ctx, n_ff, (n_ff + GLU_GRAIN - 1) / GLU_GRAIN};
    rmli_parallel_for(ctx->pool, n_rows * loop.grains, glu_part, &loop);
}

static void dense(struct rml_context *ctx, const struct rmli_layer_weights *w, float *out,
                  bool accumulate)
{
    const struct rml_model_config *c = &ctx->model->config;
    const struct rmli_job gate_up[2] = {
        {.matrix = &w->gate, .n_rows = ctx->n_rows, .out = ctx->gate, .ld_out = c->n_ff},
        {.matrix = &w->up, .n_rows = ctx->n_rows, .out = ctx->up, .ld_out = c->n_ff},
    };
    rmli_project(&ctx->projector, ctx->normed, c->n_embd, ctx->n_rows, gate_up, 2);
    rmli_profile(ctx, RML_OP_GATE_UP);
    gated_activation(ctx, ctx->n_rows, c->n_ff);
    rmli_profile(ctx, RML_OP_ACTIVATION);
    const struct rmli_job down = {
        .matrix = &w->down,
        .n_rows = ctx->n_rows,
        .out = out,
        .ld_out = c->n_embd,
        .accumulate = accumulate,
    };
    rmli_project(&ctx->projector, ctx->gate, c->n_ff, ctx->n_rows, &down, 1);
    rmli_profile(ctx, RML_OP_DOWN);
}

/* Turns one row of router scores into its k experts and their weights. */
static void choose_experts(void *arg, size_t r, unsigned worker)
{
    (void)worker;
    struct rml_context *ctx = arg;
    const struct rml_model_config *c = &ctx->model->config;
    float *p = ctx->router + r * c->n_expert;
    uint32_t *chosen = ctx->chosen + r * c->n_expert_used;
    float *weight = ctx->expert_weight + r * c->n_expert_used;
    bool taken[RML_MAX_EXPERTS] = {false};
    float total = 0;

    ctx->kernels->vector->softmax(p, c->n_expert);
    for (uint32_t rank = 0; rank < c->n_expert_used; rank++) {
        int best = -1; /* comparisons with a NaN are false: it is taken first, and shows */
        for (uint32_t e = 0; e < c->n_expert; e++) {
            if (!taken[e] && (best < 0 || p[e] > p[best]))
                best = (int)e;
        }
        taken[best] = true;
        chosen[rank] = (uint32_t)best;
        weight[rank] = p[best];
        total += p[best];
    }
    for (uint32_t rank = 0; c->normalize_expert_weights && rank < c->n_expert_used; rank++)
        weight[rank] /= total;
}

/* Gives every (row, rank) its slot, sorted by expert; count[e] slots for expert e. */
static void assign_slots(struct rml_context *ctx, size_t *count)
{
    const struct rml_model_config *c = &ctx->model->config;
    size_t n = ctx->n_rows * c->n_expert_used, next[RML_MAX_EXPERTS], total = 0;
    memset(count, 0, c->n_expert * sizeof *count);
    for (size_t i = 0; i < n; i++)
        count[ctx->chosen[i]]++;
    for (uint32_t e = 0; e < c->n_expert; e++) {
        next[e] = total;
        total += count[e];
    }
    for (size_t i = 0; i < n; i++)
        ctx->slot[i] = next[ctx->chosen[i]]++;
}

static void gather_row(void *arg, size_t r, unsigned worker)
{
    (void)worker;
    struct rml_context *ctx = arg;
    const struct rml_model_config *c = &ctx->model->config;
    for (uint32_t rank = 0; rank < c->n_expert_used; rank++) {
        size_t slot = ctx->slot[r * c->n_expert_used + rank];
        memcpy(ctx->gathered + slot * c->n_embd, ctx->normed + r * c->n_embd,
               c->n_embd * sizeof(float));
    }
}

struct combine_loop {
    struct rml_context *ctx;
    float *out; /* [n_rows][n_embd] */
    bool accumulate;
};

static void combine_row(void *arg, size_t r, unsigned worker)
{
    (void)worker;
    const struct combine_loop *loop = arg;
    const struct rml_context *ctx = loop->ctx;
    const struct rml_model_config *c = &ctx->model->config;
    float *out = loop->out + r * c->n_embd;
    if (!loop->accumulate)
        memset(out, 0, c->n_embd * sizeof *out);
    for (uint32_t rank = 0; rank < c->n_expert_used; rank++) {
        size_t i = r * c->n_expert_used + rank;
        ctx->kernels->vector->add_scaled(out, ctx->gathered + ctx->slot[i] * c->n_embd,
                                         ctx->expert_weight[i], c->n_embd);
    }
}

static void experts(struct rml_context *ctx, const struct rmli_layer_weights *w, float *out,
                    bool accumulate)
{
    const struct rml_model_config *c = &ctx->model->config;
    size_t n_slots = ctx->n_rows * c->n_expert_used, count[RML_MAX_EXPERTS], n_jobs = 0;
    const struct rmli_job route = {
        .matrix = &w->router, .n_rows = ctx->n_rows, .out = ctx->router, .ld_out = c->n_expert};
    rmli_project(&ctx->projector, ctx->normed, c->n_embd, ctx->n_rows, &route, 1);
    rmli_parallel_for(ctx->pool, ctx->n_rows, choose_experts, ctx);
    assign_slots(ctx, count);
    rmli_parallel_for(ctx->pool, ctx->n_rows, gather_row, ctx);
    rmli_profile(ctx, RML_OP_ROUTE);

    size_t row0 = 0, n_ff = c->n_ff_expert;
    for (uint32_t e = 0; e < c->n_expert; row0 += count[e++]) {
        if (!count[e])
            continue;
        ctx->jobs[n_jobs++] = (struct rmli_job){&w->expert_gate[e],      row0, count[e],
                                                ctx->gate + row0 * n_ff, n_ff, false};
        ctx->jobs[n_jobs++] =
            (struct rmli_job){&w->expert_up[e], row0, count[e], ctx->up + row0 * n_ff, n_ff, false};
    }
    rmli_project(&ctx->projector, ctx->gathered, c->n_embd, n_slots, ctx->jobs, n_jobs);
    rmli_profile(ctx, RML_OP_GATE_UP);
    gated_activation(ctx, n_slots, n_ff);
    rmli_profile(ctx, RML_OP_ACTIVATION);

    /* The inputs are no longer needed: the outputs take their place. */
    row0 = n_jobs = 0;
    for (uint32_t e = 0; e < c->n_expert; row0 += count[e++]) {
        if (count[e])
            ctx->jobs[n_jobs++] = (struct rmli_job){
                &w->expert_down[e], row0, count[e], ctx->gathered + row0 * c->n_embd,
                c->n_embd,          false};
    }
    rmli_project(&ctx->projector, ctx->gate, n_ff, n_slots, ctx->jobs, n_jobs);
    rmli_profile(ctx, RML_OP_DOWN);
    struct combine_loop loop = {ctx, out, accumulate};
    rmli_parallel_for(ctx->pool, ctx->n_rows, combine_row, &loop);
    rmli_profile(ctx, RML_OP_COMBINE);
}

void rmli_feed_forward_half(struct rml_context *ctx, uint32_t layer)
{
    const struct rml_model_config *c = &ctx->model->config;
    const struct rmli_layer_weights *w = &ctx->model->weights.layers[layer];
    float *out = c->sandwich_norms ? ctx->branch : ctx->x;

    rmli_norm_rows(ctx, w->feed_forward_norm);
    rmli_profile(ctx, RML_OP_NORM);
    if (c->n_expert)
        experts(ctx, w, out, !c->sandwich_norms);
    else
        dense(ctx, w, out, !c->sandwich_norms);
    if (c->sandwich_norms) {
        rmli_add_branch(ctx, w->post_feed_forward_norm);
        rmli_profile(ctx, RML_OP_NORM);
    }
}
