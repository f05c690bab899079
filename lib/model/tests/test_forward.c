/* The forward pass: its rules about errors, logits, probes and memory. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tests/allocation_count.h"
#include "drawn_model.h"

/* ---- Fixture --------------------------------------------------------------- */

enum { N_VOCAB = 50, N_PAGES = 6, MAX_TOKENS = 300 };

struct fixture {
    struct rml_model *model;
    struct rml_thread_pool *pool;
    struct rml_context *ctx;
    struct rml_kv_cache *cache;
    struct rml_sequence *sequence;
    int32_t tokens[MAX_TOKENS];
    float logits[MAX_TOKENS * N_VOCAB];
};

static struct rml_model_config small_config(void)
{
    struct rml_model_config c = {
        .architecture = "mixtral",
        .n_vocab = N_VOCAB,
        .n_embd = 32,
        .n_layer = 2,
        .n_head = 4,
        .n_head_kv = 2,
        .head_dim = 8,
        .n_context = MAX_TOKENS,
        .norm_eps = 1e-5f,
        .embedding_scale = 1,
        .attention_scale = 0.35f,
        .rope_theta = 1e4,
        .n_expert = 4,
        .n_expert_used = 2,
        .n_ff_expert = 32,
        .normalize_expert_weights = true,
        .bos = -1,
    };
    return c;
}

static void set_up(struct fixture *f, const struct rml_context_params *params)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_model_config config = small_config();
    f->model = rml_model_random(&config, RML_Q8_0, 7, &err);
    cr_assert(f->model, "%s", err.message);
    f->pool = rml_thread_pool_create(2, &err);
    f->ctx = rml_context_create(f->model, f->pool, params, &err);
    cr_assert(f->ctx, "%s", err.message);
    struct rml_kv_shape shape = rml_model_kv_shape(f->model, RML_KV_F16, RML_KV_I8);
    f->cache = rml_kv_cache_create(&shape, N_PAGES, &err);
    f->sequence = rml_sequence_create(f->cache, MAX_TOKENS, &err);
    cr_assert(f->sequence, "%s", err.message);
    for (int i = 0; i < MAX_TOKENS; i++)
        f->tokens[i] = (i * 17 + 3) % N_VOCAB;
}

static void tear_down(struct fixture *f)
{
    rml_sequence_destroy(f->sequence);
    rml_kv_cache_destroy(f->cache);
    rml_context_destroy(f->ctx);
    rml_thread_pool_destroy(f->pool);
    rml_model_destroy(f->model);
}

static struct fixture fixture; /* too large for a stack */

/* ---- Memory ---------------------------------------------------------------- */

Test(forward, decode_allocates_nothing)
{
#ifdef SANITIZED
    fprintf(stderr, "skipped: the sanitizer owns the allocator\n");
#else
    for (int arithmetic = 0; arithmetic < 2; arithmetic++) {
        struct rml_error err = RML_ERROR_INIT;
        const struct rml_context_params params = {.arithmetic = (enum rml_arithmetic)arithmetic};
        set_up(&fixture, &params);
        cr_assert(rml_forward_tokens(fixture.ctx, fixture.sequence, fixture.tokens, 60, false,
                                     fixture.logits, &err));
        size_t before = atomic_load(&n_allocations);
        cr_assert(before > 0, "the counter counts");
        for (int i = 60; i < 200; i++) /* crosses pages */
            cr_assert(rml_forward_tokens(fixture.ctx, fixture.sequence, &fixture.tokens[i], 1,
                                         false, fixture.logits, &err));
        cr_expect_eq(atomic_load(&n_allocations), before);
        tear_down(&fixture);
    }
#endif
}

/* ---- Errors ---------------------------------------------------------------- */

/* Runs a batch that must fail and checks that nothing has changed. */
static void expect_refused(const struct rml_batch *batch, enum rml_code code, const char *text)
{
    struct rml_error err = RML_ERROR_INIT;
    size_t length = rml_sequence_length(fixture.sequence);
    size_t n_free = rml_kv_cache_n_free_pages(fixture.cache);
    cr_expect_not(rml_forward(fixture.ctx, batch, &err));
    cr_expect_eq(err.code, code, "%s: %s", text, err.message);
    cr_expect(strstr(err.message, text), "'%s' is not in '%s'", text, err.message);
    cr_expect_eq(rml_sequence_length(fixture.sequence), length);
    cr_expect_eq(rml_kv_cache_n_free_pages(fixture.cache), n_free);
}

static struct rml_segment segment_of(size_t n_tokens)
{
    return (struct rml_segment){.sequence = fixture.sequence,
                                .tokens = fixture.tokens,
                                .n_tokens = n_tokens,
                                .n_logit_rows = 1};
}

Test(forward, refuses_and_changes_nothing)
{
    struct rml_error err = RML_ERROR_INIT;
    set_up(&fixture, NULL);
    cr_assert(rml_forward_tokens(fixture.ctx, fixture.sequence, fixture.tokens, 5, false,
                                 fixture.logits, &err));
    struct rml_segment good = segment_of(3), bad = good;
    struct rml_batch batch = {.segments = &bad, .n_segments = 1, .logits = fixture.logits};

    expect_refused(&(struct rml_batch){.logits = fixture.logits}, RML_INVALID_ARGUMENT, "is empty");
    bad.n_tokens = 0;
    expect_refused(&batch, RML_INVALID_ARGUMENT, "segment 0 is empty");
    bad = good;
    const int32_t past[] = {1, 2, N_VOCAB}, negative[] = {1, -1, 2};
    bad.tokens = past;
    expect_refused(&batch, RML_INVALID_ARGUMENT, "token 2 of segment 0 is 50");
    bad.tokens = negative;
    expect_refused(&batch, RML_INVALID_ARGUMENT, "token 1 of segment 0 is -1");
    bad = good;
    bad.n_logit_rows = 4;
    expect_refused(&batch, RML_INVALID_ARGUMENT, "wants logits of 4 rows and has 3");
    const size_t unsorted[] = {1, 1}, outside[] = {0, 3};
    bad.n_logit_rows = 2;
    bad.logit_rows = unsorted;
    expect_refused(&batch, RML_INVALID_ARGUMENT, "logit row 1 of segment 0 is 1");
    bad.logit_rows = outside;
    expect_refused(&batch, RML_INVALID_ARGUMENT, "logit row 1 of segment 0 is 3");
    bad = good;
    batch.logits = NULL;
    expect_refused(&batch, RML_INVALID_ARGUMENT, "neither a buffer nor a consumer");
    batch.logits = fixture.logits;
    const struct rml_segment twice[] = {good, good};
    expect_refused(&(struct rml_batch){twice, 2, fixture.logits, NULL, NULL, NULL},
                   RML_INVALID_ARGUMENT, "are the same sequence");
    bad.n_tokens = MAX_TOKENS - 4; /* 5 are there */
    expect_refused(&batch, RML_OUT_OF_RANGE, "the context holds 300");
    tear_down(&fixture);
}

Test(forward, a_full_cache_changes_nothing)
{
    struct rml_error err = RML_ERROR_INIT;
    set_up(&fixture, NULL);
    struct rml_sequence *other = rml_sequence_create(fixture.cache, MAX_TOKENS, &err);
    cr_assert(rml_forward_tokens(fixture.ctx, other, fixture.tokens, 200, false, fixture.logits,
                                 &err));                /* 4 of 6 pages */
    const struct rml_segment segment = segment_of(129); /* 3 pages */
    const struct rml_batch batch = {
        .segments = &segment, .n_segments = 1, .logits = fixture.logits};
    expect_refused(&batch, RML_OUT_OF_RANGE, "page");
    cr_expect_eq(rml_kv_cache_n_free_pages(fixture.cache), 2);
    rml_sequence_destroy(other);
    cr_expect(rml_forward(fixture.ctx, &batch, &err), "%s", err.message);
    tear_down(&fixture);
}

Test(forward, a_cache_of_another_model_is_refused)
{
    struct rml_error err = RML_ERROR_INIT;
    set_up(&fixture, NULL);
    struct rml_kv_shape shape = rml_model_kv_shape(fixture.model, RML_KV_F32, RML_KV_F32);
    shape.head_dim = 16;
    struct rml_kv_cache *cache = rml_kv_cache_create(&shape, 1, &err);
    struct rml_sequence *sequence = rml_sequence_create(cache, 10, &err);
    cr_expect_not(
        rml_forward_tokens(fixture.ctx, sequence, fixture.tokens, 3, false, fixture.logits, &err));
    cr_expect_eq(err.code, RML_INVALID_ARGUMENT);
    rml_sequence_destroy(sequence);
    rml_kv_cache_destroy(cache);
    tear_down(&fixture);
}

/* ---- Consumers and probes -------------------------------------------------- */

struct watch {
    size_t n_calls, n_rows, stop_after;
    size_t n_probed[4];
    double sum;
};

static bool watch_logits(void *user, size_t first, size_t n_rows, const float *logits)
{
    struct watch *w = user;
    cr_assert_eq(first, w->n_rows);
    w->n_rows += n_rows;
    w->sum += (double)logits[0];
    return ++w->n_calls != w->stop_after;
}

static void watch_residual(void *user, int layer, enum rml_branch branch, size_t n_rows,
                           const size_t *segments, const size_t *positions, const float *x)
{
    struct watch *w = user;
    (void)layer;
    w->n_probed[branch] += n_rows;
    for (size_t r = 0; r < n_rows; r++)
        cr_assert(segments[r] == 0 && positions[r] < MAX_TOKENS && isfinite(x[r * 32]));
}

Test(forward, a_consumer_that_stops_takes_the_pass_back)
{
    const struct rml_context_params params = {.chunk = 16};
    set_up(&fixture, &params);
    struct watch watch = {.stop_after = 3};
    struct rml_segment segment = segment_of(100);
    segment.n_logit_rows = 100;
    const struct rml_batch batch = {
        .segments = &segment, .n_segments = 1, .consumer = watch_logits, .user = &watch};
    expect_refused(&batch, RML_CANCELLED, "stopped");
    cr_expect_eq(watch.n_calls, 3);
    cr_expect_eq(watch.n_rows, 48);
    tear_down(&fixture);
}

/* True when it has been asked so often. */
static bool cancel_at(void *user)
{
    return --*(int *)user == 0;
}

/* 40 rows in chunks of 16 through 2 layers: 4 halves a chunk, but of the last layer only the half
 * that fills the cache where no logits are wanted. */
Test(forward, cancelled_takes_the_pass_back_wherever_it_is_asked)
{
    enum { N_ASKED = 3 + 3 + 4 };
    struct rml_error err = RML_ERROR_INIT;
    int left = 0;
    const struct rml_context_params params = {
        .chunk = 16, .cancelled = cancel_at, .cancelled_user = &left};
    set_up(&fixture, &params);
    const struct rml_segment segment = segment_of(40);
    const struct rml_batch batch = {
        .segments = &segment, .n_segments = 1, .logits = fixture.logits};
    for (int at = 1; at <= N_ASKED; at++) {
        left = at;
        expect_refused(&batch, RML_CANCELLED, "cancelled");
        cr_expect_eq(left, 0);
    }
    left = N_ASKED + 1;
    cr_expect(rml_forward(fixture.ctx, &batch, &err), "%s", err.message);
    cr_expect_eq(left, 1);
    tear_down(&fixture);
}

/* Writing to a shared page copies it; a pass that does not come about puts the page back. */
Test(forward, a_copied_page_is_given_back)
{
    struct rml_error err = RML_ERROR_INIT;
    set_up(&fixture, NULL);
    struct rml_sequence *other = rml_sequence_create(fixture.cache, MAX_TOKENS, &err);
    cr_assert(
        rml_forward_tokens(fixture.ctx, other, fixture.tokens, 40, false, fixture.logits, &err));
    rml_sequence_destroy(fixture.sequence);
    fixture.sequence = rml_sequence_fork(other, 5, &err);
    size_t n_free = rml_kv_cache_n_free_pages(fixture.cache);
    struct watch watch = {.stop_after = 1};
    const struct rml_segment segment = segment_of(10);
    const struct rml_batch batch = {
        .segments = &segment, .n_segments = 1, .consumer = watch_logits, .user = &watch};
    expect_refused(&batch, RML_CANCELLED, "stopped");
    cr_expect_eq(rml_kv_cache_n_free_pages(fixture.cache), n_free);

    /* The second segment does not fit: the first one's copy goes back too. */
    struct rml_segment both[] = {segment, {.sequence = other, .tokens = fixture.tokens}};
    both[1].n_tokens = MAX_TOKENS - 40;
    struct rml_sequence *filler = rml_sequence_create(fixture.cache, MAX_TOKENS, &err);
    cr_assert(
        rml_forward_tokens(fixture.ctx, filler, fixture.tokens, 129, false, fixture.logits, &err));
    expect_refused(&(struct rml_batch){both, 2, fixture.logits, NULL, NULL, NULL}, RML_OUT_OF_RANGE,
                   "page");

    /* And both can be written in one batch, each to a page of its own. */
    both[1].n_tokens = 10;
    cr_expect(rml_forward(fixture.ctx,
                          &(struct rml_batch){both, 2, fixture.logits, NULL, NULL, NULL}, &err),
              "%s", err.message);
    cr_expect_eq(rml_kv_cache_n_free_pages(fixture.cache), N_PAGES - 3 - 2);
    rml_sequence_destroy(filler);
    rml_sequence_destroy(other);
    tear_down(&fixture);
}

Test(forward, a_probe_sees_every_row_and_changes_no_bit)
{
    struct rml_error err = RML_ERROR_INIT;
    static float probed[N_VOCAB];
    set_up(&fixture, NULL);
    cr_assert(rml_forward_tokens(fixture.ctx, fixture.sequence, fixture.tokens, 90, false,
                                 fixture.logits, &err));
    rml_sequence_truncate(fixture.sequence, 0);
    struct watch watch = {0};
    const struct rml_segment segment = segment_of(90);
    const struct rml_batch batch = {.segments = &segment,
                                    .n_segments = 1,
                                    .logits = probed,
                                    .residual = watch_residual,
                                    .user = &watch};
    cr_assert(rml_forward(fixture.ctx, &batch, &err), "%s", err.message);
    cr_expect_eq(watch.n_probed[RML_BRANCH_EMBEDDING], 90);
    cr_expect_eq(watch.n_probed[RML_BRANCH_ATTENTION], 180);
    cr_expect_eq(watch.n_probed[RML_BRANCH_FEED_FORWARD], 180);
    cr_expect_eq(watch.n_probed[RML_BRANCH_OUTPUT], 90);
    cr_expect(memcmp(probed, fixture.logits, sizeof probed) == 0);
    tear_down(&fixture);
}

Test(forward, rows_of_the_buffer_are_in_order_of_segments)
{
    struct rml_error err = RML_ERROR_INIT;
    static float alone[3][N_VOCAB];
    set_up(&fixture, NULL);
    struct rml_sequence *other = rml_sequence_create(fixture.cache, MAX_TOKENS, &err);
    const size_t wanted[] = {2, 7};
    const struct rml_segment segments[] = {
        {.sequence = fixture.sequence,
         .tokens = fixture.tokens,
         .n_tokens = 10,
         .logit_rows = wanted,
         .n_logit_rows = 2},
        {.sequence = other, .tokens = fixture.tokens + 5, .n_tokens = 4, .n_logit_rows = 1},
    };
    const struct rml_batch batch = {
        .segments = segments, .n_segments = 2, .logits = fixture.logits};
    cr_assert(rml_forward(fixture.ctx, &batch, &err), "%s", err.message);
    const size_t lengths[] = {3, 8, 4};
    for (int i = 0; i < 3; i++) {
        rml_sequence_truncate(other, 0);
        cr_assert(rml_forward_tokens(fixture.ctx, other, fixture.tokens + (i == 2 ? 5 : 0),
                                     lengths[i], false, alone[i], &err));
    }
    cr_expect(memcmp(alone, fixture.logits, sizeof alone) == 0);
    rml_sequence_destroy(other);
    tear_down(&fixture);
}

Test(forward, an_unknown_arithmetic_is_refused)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_model_config config = small_config();
    struct rml_model *model = rml_model_random(&config, RML_Q8_0, 7, &err);
    struct rml_thread_pool *pool = rml_thread_pool_create(1, &err);
    cr_assert(model && pool, "%s", err.message);
    for (int arithmetic = -1; arithmetic < 8; arithmetic += 3) { /* -1, 2, 5 */
        struct rml_context_params params = {.arithmetic = (enum rml_arithmetic)arithmetic};
        cr_expect_null(rml_context_create(model, pool, &params, &err));
        cr_expect_eq(err.code, RML_INVALID_ARGUMENT);
        rml_error_clear(&err);
    }
    rml_thread_pool_destroy(pool);
    rml_model_destroy(model);
}
