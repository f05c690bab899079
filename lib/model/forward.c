/*
 * The forward pass: checks the batch, reserves cache pages for all of it, then
 * runs it a chunk of rows at a time; lengths move only when everything is done, so
 * a pass that fails or is cancelled leaves every sequence as it was.
 */
#include <inttypes.h>
#include <string.h>

#include "model/context.h"

const char *rml_branch_name(enum rml_branch branch)
{
    static const char *const names[] = {"embedding", "attention", "feed_forward", "output"};
    return names[branch];
}

/* ---- Checks -------------------------------------------------------------- */

static bool check_sequence(const struct rml_context *ctx, const struct rml_batch *batch, size_t s,
                           struct rml_error *err)
{
    const struct rml_segment *segment = &batch->segments[s];
    const struct rml_model_config *c = &ctx->model->config;
    const struct rml_kv_cache *cache = rml_sequence_cache(segment->sequence);
    const struct rml_kv_shape *shape = rml_kv_cache_shape(cache);
    if (shape->n_layer != c->n_layer || shape->n_head_kv != c->n_head_kv ||
        shape->head_dim != c->head_dim)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "the cache of segment %zu has %u layers of %u heads of %u dimensions, the "
                         "model %u of %u of %u",
                         s, shape->n_layer, shape->n_head_kv, shape->head_dim, c->n_layer,
                         c->n_head_kv, c->head_dim);
    if (cache != rml_sequence_cache(batch->segments[0].sequence))
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "segment %zu is in another cache than segment 0", s);
    for (size_t other = 0; other < s; other++) {
        if (batch->segments[other].sequence == segment->sequence)
            return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                             "segments %zu and %zu are the same sequence", other, s);
    }
    size_t length = rml_sequence_length(segment->sequence);
    if (length > ctx->max_context || segment->n_tokens > ctx->max_context - length)
        return rmli_fail(err, RML_OUT_OF_RANGE, NULL, -1,
                         "segment %zu appends %zu tokens to %zu, the context holds %zu", s,
                         segment->n_tokens, length, ctx->max_context);
    return true;
}

static bool check_segment(const struct rml_context *ctx, const struct rml_batch *batch, size_t s,
                          struct rml_error *err)
{
    const struct rml_segment *segment = &batch->segments[s];
    if (!segment->sequence || !segment->tokens || !segment->n_tokens)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "segment %zu is empty", s);
    for (size_t i = 0; i < segment->n_tokens; i++) {
        int32_t id = segment->tokens[i];
        if (id < 0 || (uint32_t)id >= ctx->model->config.n_vocab)
            return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                             "token %zu of segment %zu is %" PRId32 ", the vocabulary has %u ids",
                             i, s, id, ctx->model->config.n_vocab);
    }
    if (segment->n_logit_rows > segment->n_tokens)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "segment %zu wants logits of %zu rows and has %zu", s,
                         segment->n_logit_rows, segment->n_tokens);
    for (size_t i = 0; segment->logit_rows && i < segment->n_logit_rows; i++) {
        size_t row = segment->logit_rows[i];
        if (row >= segment->n_tokens || (i && row <= segment->logit_rows[i - 1]))
            return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                             "logit row %zu of segment %zu is %zu, expected ascending rows below "
                             "%zu",
                             i, s, row, segment->n_tokens);
    }
    return check_sequence(ctx, batch, s, err);
}

static bool check_batch(const struct rml_context *ctx, const struct rml_batch *batch,
                        struct rml_error *err)
{
    bool wanted = false;
    if (!batch->segments || !batch->n_segments)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "the batch is empty");
    for (size_t s = 0; s < batch->n_segments; s++) {
        if (!check_segment(ctx, batch, s, err))
            return false;
        wanted |= batch->segments[s].n_logit_rows > 0;
    }
    if (wanted && !batch->logits && !batch->consumer)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "logits are wanted, but there is neither a buffer nor a consumer");
    return true;
}

/* ---- Rows of a chunk ----------------------------------------------------- */

/* Where the next chunk starts. */
struct cursor {
    size_t segment, token, logit_row;
};

static bool wants_logits(const struct rml_segment *segment, struct cursor *at)
{
    if (at->logit_row == segment->n_logit_rows)
        return false;
    size_t next = segment->logit_rows ? segment->logit_rows[at->logit_row]
                                      : segment->n_tokens - segment->n_logit_rows + at->logit_row;
    if (next != at->token)
        return false;
    at->logit_row++;
    return true;
}

/* Takes the next rows from the batch. Returns how many of them want logits. */
static size_t take_rows(struct rml_context *ctx, const struct rml_batch *batch, struct cursor *at)
{
    size_t n_wanted = 0;
    for (ctx->n_rows = 0; ctx->n_rows < ctx->chunk && at->segment < batch->n_segments;) {
        const struct rml_segment *segment = &batch->segments[at->segment];
        size_t r = ctx->n_rows++;
        ctx->rows[r].sequence = segment->sequence;
        ctx->rows[r].position = rml_sequence_length(segment->sequence) + at->token;
        ctx->row_token[r] = segment->tokens[at->token];
        ctx->row_segment[r] = at->segment;
        ctx->row_angles[r] = r;
        ctx->row_wanted[r] = wants_logits(segment, at);
        n_wanted += ctx->row_wanted[r];
        if (++at->token == segment->n_tokens)
            *at = (struct cursor){.segment = at->segment + 1};
    }
    return n_wanted;
}

static void embed_row(void *arg, size_t r, unsigned worker)
{
    (void)worker;
    struct rml_context *ctx = arg;
    const struct rml_model *model = ctx->model;
    const struct rml_model_config *c = &model->config;
    const struct rmli_matrix *embedding = &model->weights.embedding;
    float *x = ctx->x + r * c->n_embd;
    ctx->kernels->matmul->widen[embedding->dtype](
        x, rmli_matrix_row(embedding, (size_t)ctx->row_token[r]), c->n_embd);
    if (c->embedding_scale != 1)
        ctx->kernels->vector->scale(x, c->embedding_scale, c->n_embd);

    size_t n_pairs = c->head_dim / 2;
    rmli_rope_angles(&model->rope, ctx->rows[r].position, ctx->cos + r * n_pairs,
                     ctx->sin + r * n_pairs);
    if (c->rope_local_theta > 0)
        rmli_rope_angles(&model->rope_local, ctx->rows[r].position, ctx->cos_local + r * n_pairs,
                         ctx->sin_local + r * n_pairs);
}

static void probe(struct rml_context *ctx, const struct rml_batch *batch, int layer,
                  enum rml_branch branch, const float *x)
{
    if (!batch->residual)
        return;
    for (size_t r = 0; r < ctx->n_rows; r++)
        ctx->row_position[r] = ctx->rows[r].position;
    batch->residual(batch->user, layer, branch, ctx->n_rows, ctx->row_segment, ctx->row_position,
                    x);
}

/* ---- Logits -------------------------------------------------------------- */

/* Moves the normed rows whose logits are wanted to the front and returns their number. */
static size_t gather_wanted(struct rml_context *ctx)
{
    size_t n_embd = ctx->model->config.n_embd, kept = 0;
    for (size_t r = 0; r < ctx->n_rows; r++) {
        if (!ctx->row_wanted[r])
            continue;
        if (kept < r)
            memcpy(ctx->normed + kept * n_embd, ctx->normed + r * n_embd,
                   n_embd * sizeof *ctx->normed);
        kept++;
    }
    return kept;
}

/* Logits of the chunk's wanted rows; *first counts the wanted rows of the batch so far. */
static bool give_logits(struct rml_context *ctx, const struct rml_batch *batch, size_t *first,
                        struct rml_error *err)
{
    const struct rml_model_config *c = &ctx->model->config;
    size_t n_wanted = gather_wanted(ctx);
    size_t tile = batch->logits ? n_wanted : ctx->logit_tile;
    for (size_t begin = 0; begin < n_wanted; begin += tile) {
        size_t n = n_wanted - begin < tile ? n_wanted - begin : tile;
        float *out = batch->logits ? batch->logits + *first * c->n_vocab : ctx->logits;
        const struct rmli_job head = {
            .matrix = &ctx->model->weights.head, .n_rows = n, .out = out, .ld_out = c->n_vocab};
        rmli_project(&ctx->projector, ctx->normed + begin * c->n_embd, c->n_embd, n, &head, 1);
        rmli_profile(ctx, RML_OP_HEAD);
        if (!batch->logits && !batch->consumer(batch->user, *first, n, out))
            return rmli_fail(err, RML_CANCELLED, NULL, -1, "the consumer of logits stopped");
        *first += n;
    }
    return true;
}

/* ---- Pass ---------------------------------------------------------------- */

static bool cancelled(const struct rml_context *ctx, struct rml_error *err)
{
    return ctx->cancelled && ctx->cancelled(ctx->cancelled_user) &&
           !rmli_fail(err, RML_CANCELLED, NULL, -1, "cancelled");
}

static bool run_chunk(struct rml_context *ctx, const struct rml_batch *batch, size_t n_wanted,
                      size_t *first_logit, struct rml_error *err)
{
    const struct rml_model_config *c = &ctx->model->config;
    rmli_profile(ctx, RML_OP_OTHER);
    rmli_parallel_for(ctx->pool, ctx->n_rows, embed_row, ctx);
    rmli_profile(ctx, RML_OP_EMBED);
    probe(ctx, batch, -1, RML_BRANCH_EMBEDDING, ctx->x);
    for (uint32_t layer = 0; layer < c->n_layer; layer++) {
        bool last = layer + 1 == c->n_layer;
        if (cancelled(ctx, err))
            return false;
        rmli_attention_half(ctx, layer, last && !batch->residual && n_wanted < ctx->n_rows);
        if (!ctx->n_rows)
            return true;
        probe(ctx, batch, (int)layer, RML_BRANCH_ATTENTION, ctx->x);
        if (cancelled(ctx, err))
            return false;
        rmli_feed_forward_half(ctx, layer);
        probe(ctx, batch, (int)layer, RML_BRANCH_FEED_FORWARD, ctx->x);
    }
    rmli_norm_rows(ctx, ctx->model->weights.output_norm);
    rmli_profile(ctx, RML_OP_NORM);
    probe(ctx, batch, (int)c->n_layer, RML_BRANCH_OUTPUT, ctx->normed);
    return give_logits(ctx, batch, first_logit, err);
}

static bool run_batch(struct rml_context *ctx, const struct rml_batch *batch, struct rml_error *err)
{
    struct cursor at = {0};
    size_t first_logit = 0;
    while (at.segment < batch->n_segments) {
        size_t n_wanted = take_rows(ctx, batch, &at);
        if (!run_chunk(ctx, batch, n_wanted, &first_logit, err))
            return false;
    }
    return true;
}

bool rml_forward(struct rml_context *ctx, const struct rml_batch *batch, struct rml_error *err)
{
    if (ctx->profile)
        rmli_profile_begin(ctx);
    if (!check_batch(ctx, batch, err))
        return false;
    bool done = true;
    for (size_t s = 0; done && s < batch->n_segments; s++)
        done = rmli_sequence_reserve(batch->segments[s].sequence, batch->segments[s].n_tokens, err);
    done = done && run_batch(ctx, batch, err);
    for (size_t s = 0; s < batch->n_segments; s++) {
        if (done)
            rmli_sequence_commit(batch->segments[s].sequence, batch->segments[s].n_tokens);
        else
            rmli_sequence_unreserve(batch->segments[s].sequence);
    }
    rmli_profile(ctx, RML_OP_OTHER);
    return done;
}

bool rml_forward_tokens(struct rml_context *ctx, struct rml_sequence *sequence,
                        const int32_t *tokens, size_t n_tokens, bool all_logits, float *logits,
                        struct rml_error *err)
{
    const struct rml_segment segment = {
        .sequence = sequence,
        .tokens = tokens,
        .n_tokens = n_tokens,
        .n_logit_rows = all_logits ? n_tokens : 1,
    };
    const struct rml_batch batch = {.segments = &segment, .n_segments = 1, .logits = logits};
    return rml_forward(ctx, &batch, err);
}
