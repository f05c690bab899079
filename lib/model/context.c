/* Sizes and owns the scratch memory of a forward pass. */
#include "model/context.h"

#include <stdlib.h>
#include <strings.h>

#include "base/memory.h"

#define DEFAULT_CHUNK 512
/* Enough rows that reading the head's weights once a tile costs little, few enough that the
 * tile of the largest vocabulary (262144) stays at 64 MiB. */
#define LOGIT_TILE 64

const char *rml_arithmetic_name(enum rml_arithmetic arithmetic)
{
    return arithmetic == RML_ARITHMETIC_F32 ? "f32" : "i8";
}

bool rml_arithmetic_parse(const char *name, enum rml_arithmetic *arithmetic)
{
    if (strcasecmp(name, "f32") == 0)
        *arithmetic = RML_ARITHMETIC_F32;
    else if (strcasecmp(name, "i8") == 0)
        *arithmetic = RML_ARITHMETIC_I8;
    else
        return false;
    return true;
}

/* Allocates rows * cols elements and counts them; *failed is sticky, so that a list of
 * allocations needs one check at its end. */
static void *scratch(struct rml_context *ctx, size_t rows, size_t cols, size_t elem_nbytes,
                     bool *failed, struct rml_error *err)
{
    size_t nelems, nbytes;
    if (*failed)
        return NULL;
    if (!rmli_size_mul(rows, cols, &nelems) || !rmli_size_mul(nelems, elem_nbytes, &nbytes)) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "scratch of %zu x %zu elements is too large", rows,
                  cols);
        *failed = true;
        return NULL;
    }
    void *p = rmli_alloc(nelems, elem_nbytes, err);
    *failed = !p;
    ctx->scratch_nbytes += nbytes;
    return p;
}

static bool allocate_rows(struct rml_context *ctx, struct rml_error *err)
{
    const struct rml_model_config *c = &ctx->model->config;
    size_t n = ctx->chunk, q_dim = (size_t)c->n_head * c->head_dim;
    size_t kv_dim = (size_t)c->n_head_kv * c->head_dim;
    bool failed = false;
    ctx->rows = scratch(ctx, n, 1, sizeof *ctx->rows, &failed, err);
    ctx->row_token = scratch(ctx, n, 1, sizeof *ctx->row_token, &failed, err);
    ctx->row_segment = scratch(ctx, n, 1, sizeof *ctx->row_segment, &failed, err);
    ctx->row_angles = scratch(ctx, n, 1, sizeof *ctx->row_angles, &failed, err);
    ctx->row_wanted = scratch(ctx, n, 1, sizeof *ctx->row_wanted, &failed, err);
    ctx->row_position = scratch(ctx, n, 1, sizeof *ctx->row_position, &failed, err);
    ctx->x = scratch(ctx, n, c->n_embd, sizeof(float), &failed, err);
    ctx->normed = scratch(ctx, n, c->n_embd, sizeof(float), &failed, err);
    if (c->sandwich_norms)
        ctx->branch = scratch(ctx, n, c->n_embd, sizeof(float), &failed, err);
    ctx->q = scratch(ctx, n, q_dim, sizeof(float), &failed, err);
    ctx->k = scratch(ctx, n, kv_dim, sizeof(float), &failed, err);
    ctx->v = scratch(ctx, n, kv_dim, sizeof(float), &failed, err);
    ctx->attended = scratch(ctx, n, q_dim, sizeof(float), &failed, err);
    ctx->cos = scratch(ctx, n, c->head_dim / 2, sizeof(float), &failed, err);
    ctx->sin = scratch(ctx, n, c->head_dim / 2, sizeof(float), &failed, err);
    if (c->rope_local_theta > 0) {
        ctx->cos_local = scratch(ctx, n, c->head_dim / 2, sizeof(float), &failed, err);
        ctx->sin_local = scratch(ctx, n, c->head_dim / 2, sizeof(float), &failed, err);
    }
    ctx->logits = scratch(ctx, ctx->logit_tile, c->n_vocab, sizeof(float), &failed, err);
    if (!c->n_expert) {
        ctx->gate = scratch(ctx, n, c->n_ff, sizeof(float), &failed, err);
        ctx->up = scratch(ctx, n, c->n_ff, sizeof(float), &failed, err);
        return !failed;
    }
    size_t slots = n * c->n_expert_used;
    ctx->gate = scratch(ctx, slots, c->n_ff_expert, sizeof(float), &failed, err);
    ctx->up = scratch(ctx, slots, c->n_ff_expert, sizeof(float), &failed, err);
    ctx->router = scratch(ctx, n, c->n_expert, sizeof(float), &failed, err);
    ctx->chosen = scratch(ctx, slots, 1, sizeof *ctx->chosen, &failed, err);
    ctx->expert_weight = scratch(ctx, slots, 1, sizeof(float), &failed, err);
    ctx->slot = scratch(ctx, slots, 1, sizeof *ctx->slot, &failed, err);
    ctx->gathered = scratch(ctx, slots, c->n_embd, sizeof(float), &failed, err);
    ctx->jobs = scratch(ctx, 2, c->n_expert, sizeof *ctx->jobs, &failed, err);
    return !failed;
}

static void plan_matrix(void *user, const struct rmli_matrix *matrix)
{
    struct rml_context *ctx = user;
    size_t per_row = ctx->model->config.n_expert ? ctx->model->config.n_expert_used : 1;
    rmli_projector_plan(&ctx->projector, matrix, ctx->chunk * per_row);
}

static bool allocate_projector(struct rml_context *ctx, enum rml_arithmetic arithmetic,
                               struct rml_error *err)
{
    ctx->projector.pool = ctx->pool;
    ctx->projector.kernels = ctx->kernels;
    ctx->projector.arithmetic = arithmetic;
    rmli_model_visit_matrices(ctx->model, plan_matrix, ctx);
    if (!rmli_projector_allocate(&ctx->projector, err))
        return false;
    ctx->scratch_nbytes += rmli_projector_nbytes(&ctx->projector);
    return true;
}

struct rml_context *rml_context_create(const struct rml_model *model, struct rml_thread_pool *pool,
                                       const struct rml_context_params *params,
                                       struct rml_error *err)
{
    const struct rml_context_params defaults = {.arithmetic = RML_ARITHMETIC_F32};
    if (!params)
        params = &defaults;
    if (params->arithmetic != RML_ARITHMETIC_F32 && params->arithmetic != RML_ARITHMETIC_I8) {
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "arithmetic %d found, expected f32 or i8",
                  (int)params->arithmetic);
        return NULL;
    }
    const struct rmli_kernels *kernels = rmli_kernels_best(err);
    if (!kernels)
        return NULL;
    struct rml_context *ctx = calloc(1, sizeof *ctx);
    if (!ctx) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a context");
        return NULL;
    }
    const struct rml_model_config *c = &model->config;
    ctx->model = model;
    ctx->pool = pool;
    ctx->kernels = kernels;
    ctx->cancelled = params->cancelled;
    ctx->cancelled_user = params->cancelled_user;
    ctx->chunk = params->chunk ? params->chunk : DEFAULT_CHUNK;
    ctx->max_context = params->max_context ? params->max_context : c->n_context;
    if (ctx->chunk > ctx->max_context && !params->chunk)
        ctx->chunk = ctx->max_context;
    ctx->logit_tile = ctx->chunk < LOGIT_TILE ? ctx->chunk : LOGIT_TILE;
    ctx->attention = rmli_attention_create(pool, c->n_head, c->n_head_kv, c->head_dim, ctx->chunk,
                                           ctx->max_context, err);
    if (!ctx->attention || !allocate_rows(ctx, err) ||
        !allocate_projector(ctx, params->arithmetic, err)) {
        rml_context_destroy(ctx);
        return NULL;
    }
    return ctx;
}

void rml_context_destroy(struct rml_context *ctx)
{
    if (!ctx)
        return;
    void *const buffers[] = {
        ctx->rows,
        ctx->row_segment,
        ctx->row_angles,
        ctx->row_wanted,
        ctx->row_position,
        ctx->x,
        ctx->normed,
        ctx->branch,
        ctx->q,
        ctx->k,
        ctx->v,
        ctx->attended,
        ctx->cos,
        ctx->sin,
        ctx->cos_local,
        ctx->sin_local,
        ctx->gate,
        ctx->up,
        ctx->router,
        ctx->chosen,
        ctx->slot,
        ctx->gathered,
        ctx->row_token,
        ctx->expert_weight,
        ctx->jobs,
        ctx->logits,
    };
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        rmli_free(buffers[i]);
    rmli_projector_release(&ctx->projector);
    rmli_attention_destroy(ctx->attention);
    free(ctx);
}

enum rml_isa rml_context_isa(const struct rml_context *ctx)
{
    return ctx->kernels->isa;
}

size_t rml_context_scratch_nbytes(const struct rml_context *ctx)
{
    return ctx->scratch_nbytes;
}

const struct rml_model *rml_context_model(const struct rml_context *ctx)
{
    return ctx->model;
}
