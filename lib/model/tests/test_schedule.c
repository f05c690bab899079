/*
 * Contract 5 as a property: each logit has the same bits whatever the thread count, the
 * chunk, the batch in which its row is computed, and with or without a shared prefix.
 *
 * Each trial draws a recipe, a dtype, an arithmetic, cache dtypes and an instruction set,
 * computes the logits of a few sequences one token at a time on one thread (the plain
 * way), then again in a drawn schedule, and compares every bit.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drawn_model.h"
#include "kernels/kernels.h"

enum { MAX_SEQUENCES = 4, MAX_TOKENS = 160, N_PAGES = 64 };

/* Parameters a drawn model may have, so that a trial ends in a second or two under a
 * sanitizer too: the reference kernels take some 5 ns for each parameter and token there. */
enum { MAX_PARAMETERS = 3000000, MAX_PARAMETERS_REF = 1500000 };

struct trial {
    struct rmli_rng rng;
    struct rml_model *model;
    size_t n_vocab;
    enum rml_arithmetic arithmetic;
    struct rml_kv_shape shape;
    size_t n_sequences, n_tokens[MAX_SEQUENCES];
    int32_t tokens[MAX_SEQUENCES][MAX_TOKENS];
    float *want[MAX_SEQUENCES], *got[MAX_SEQUENCES]; /* [n_tokens][n_vocab] */
};

static struct rml_context *context(struct trial *t, struct rml_thread_pool *pool, size_t chunk)
{
    struct rml_error err = RML_ERROR_INIT;
    const struct rml_context_params params = {.arithmetic = t->arithmetic, .chunk = chunk};
    struct rml_context *ctx = rml_context_create(t->model, pool, &params, &err);
    cr_assert(ctx, "%s", err.message);
    return ctx;
}

static void compute_plainly(struct trial *t)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_thread_pool *pool = rml_thread_pool_create(1, &err);
    struct rml_context *ctx = context(t, pool, 1);
    struct rml_kv_cache *cache = rml_kv_cache_create(&t->shape, N_PAGES, &err);
    for (size_t s = 0; s < t->n_sequences; s++) {
        struct rml_sequence *sequence = rml_sequence_create(cache, MAX_TOKENS, &err);
        for (size_t i = 0; i < t->n_tokens[s]; i++)
            cr_assert(rml_forward_tokens(ctx, sequence, &t->tokens[s][i], 1, false,
                                         t->want[s] + i * t->n_vocab, &err),
                      "%s", err.message);
        rml_sequence_destroy(sequence);
    }
    rml_kv_cache_destroy(cache);
    rml_context_destroy(ctx);
    rml_thread_pool_destroy(pool);
}

struct collector {
    struct trial *t;
    size_t n_rows;
    size_t sequence[MAX_SEQUENCES * MAX_TOKENS], position[MAX_SEQUENCES * MAX_TOKENS];
};

static bool collect(void *user, size_t first, size_t n_rows, const float *logits)
{
    struct collector *c = user;
    for (size_t r = 0; r < n_rows; r++) {
        float *to = c->t->got[c->sequence[first + r]] + c->position[first + r] * c->t->n_vocab;
        memcpy(to, logits + r * c->t->n_vocab, c->t->n_vocab * sizeof *to);
    }
    return true;
}

/* One pass over drawn numbers of further tokens of drawn sequences; true while any is left. */
static bool drawn_pass(struct trial *t, struct rml_context *ctx, struct rml_sequence **sequences)
{
    struct collector c = {.t = t};
    struct rml_segment segments[MAX_SEQUENCES];
    static size_t rows[MAX_SEQUENCES][MAX_TOKENS];
    size_t n_segments = 0;
    bool left = false;
    for (size_t s = 0; s < t->n_sequences; s++) {
        size_t done = rml_sequence_length(sequences[s]), todo = t->n_tokens[s] - done;
        if (!todo)
            continue;
        left = true;
        if (rmli_rng_below(&t->rng, 4) == 0)
            continue;
        size_t n = rmli_rng_below(&t->rng, 3) ? 1 + rmli_rng_below(&t->rng, todo) : 1;
        struct rml_segment *segment = &segments[n_segments];
        *segment = (struct rml_segment){
            .sequence = sequences[s], .tokens = t->tokens[s] + done, .n_tokens = n};
        bool all = rmli_rng_below(&t->rng, 2);
        for (size_t i = 0; i < n; i++) {
            if (!all && rmli_rng_below(&t->rng, 2))
                continue;
            rows[n_segments][segment->n_logit_rows++] = i;
            c.sequence[c.n_rows] = s;
            c.position[c.n_rows++] = done + i;
        }
        segment->logit_rows = rows[n_segments++];
    }
    struct rml_error err = RML_ERROR_INIT;
    const struct rml_batch batch = {
        .segments = segments, .n_segments = n_segments, .consumer = collect, .user = &c};
    if (n_segments)
        cr_assert(rml_forward(ctx, &batch, &err), "%s", err.message);
    return left;
}

static void compute_as_drawn(struct trial *t)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_thread_pool *pool =
        rml_thread_pool_create(1 + (unsigned)rmli_rng_below(&t->rng, 4), &err);
    struct rml_context *ctx = context(t, pool, 1 + rmli_rng_below(&t->rng, 100));
    struct rml_kv_cache *cache = rml_kv_cache_create(&t->shape, N_PAGES, &err);
    struct rml_sequence *sequences[MAX_SEQUENCES];
    for (size_t s = 0; s < t->n_sequences; s++) {
        /* Half of the time a sequence starts as a fork of the first one, whose tokens it
         * shares up to there: its pages are shared and copied when written. */
        size_t shared = 0;
        while (s && shared + 1 < t->n_tokens[0] && shared + 1 < t->n_tokens[s] &&
               t->tokens[s][shared] == t->tokens[0][shared])
            shared++;
        if (shared && rml_sequence_length(sequences[0]) >= shared && rmli_rng_below(&t->rng, 2))
            sequences[s] = rml_sequence_fork(sequences[0], shared, &err);
        else
            sequences[s] = rml_sequence_create(cache, MAX_TOKENS, &err);
        cr_assert(sequences[s], "%s", err.message);
        if (s == 0 && rmli_rng_below(&t->rng, 2)) {
            float *last = t->got[0] + (t->n_tokens[0] - 1) * t->n_vocab;
            cr_assert(rml_forward_tokens(ctx, sequences[0], t->tokens[0], t->n_tokens[0], false,
                                         last, &err));
            if (rmli_rng_below(&t->rng, 2))
                rml_sequence_truncate(sequences[0], rmli_rng_below(&t->rng, t->n_tokens[0]));
        }
    }
    while (drawn_pass(t, ctx, sequences))
        continue;
    for (size_t s = 0; s < t->n_sequences; s++)
        rml_sequence_destroy(sequences[s]);
    rml_kv_cache_destroy(cache);
    rml_context_destroy(ctx);
    rml_thread_pool_destroy(pool);
}

static void draw_tokens(struct trial *t)
{
    t->n_sequences = 1 + rmli_rng_below(&t->rng, MAX_SEQUENCES);
    for (size_t s = 0; s < t->n_sequences; s++) {
        t->n_tokens[s] = 1 + rmli_rng_below(&t->rng, MAX_TOKENS);
        size_t shared = rmli_rng_below(&t->rng, MAX_TOKENS);
        for (size_t i = 0; i < t->n_tokens[s]; i++)
            t->tokens[s][i] = s && i < shared && i < t->n_tokens[0]
                                  ? t->tokens[0][i]
                                  : (int32_t)rmli_rng_below(&t->rng, t->n_vocab);
        t->want[s] = calloc(t->n_tokens[s] * t->n_vocab, sizeof(float));
        /* 0xff: NaN, so that a row nobody asked for can be told from a wrong one. */
        t->got[s] = malloc(t->n_tokens[s] * t->n_vocab * sizeof(float));
        memset(t->got[s], 0xff, t->n_tokens[s] * t->n_vocab * sizeof(float));
    }
}

static void compare(struct trial *t, const char *what)
{
    size_t n_compared = 0;
    for (size_t s = 0; s < t->n_sequences; s++) {
        for (size_t i = 0; i < t->n_tokens[s]; i++) {
            const float *want = t->want[s] + i * t->n_vocab, *got = t->got[s] + i * t->n_vocab;
            uint32_t first;
            memcpy(&first, got, sizeof first);
            if (first == 0xffffffff)
                continue;
            n_compared++;
            cr_assert(memcmp(want, got, t->n_vocab * sizeof *want) == 0,
                      "%s: sequence %zu, position %zu: logit 0 is %a, plainly computed %a", what, s,
                      i, (double)got[0], (double)want[0]);
        }
    }
    cr_assert(n_compared > 0 || t->n_sequences == 0 || t->n_tokens[0] < 4);
}

static void run_trial(struct rmli_rng *rng)
{
    struct rml_error err = RML_ERROR_INIT;
    static const enum rml_dtype dtypes[] = {RML_F32,  RML_F16,  RML_BF16, RML_Q4_0,   RML_Q4_1,
                                            RML_Q5_0, RML_Q8_0, RML_Q4_K, RML_IQ4_NL, RML_Q6_K};
    enum rml_dtype dtype = dtypes[rmli_rng_below(rng, sizeof dtypes / sizeof *dtypes)];
    uint32_t block = rml_dtype_traits(dtype)->block_nelems;
    struct trial t = {.rng = *rng};
    /* Mostly the best instruction set of the machine; the reference is slow. */
    bool ref = rmli_rng_below(&t.rng, 6) == 0;
    setenv("RML_CPU", ref ? "ref" : "neon", 1);
    struct rml_model_config config;
    do {
        config = drawn_config(&t.rng, block > 1 ? block : 20);
    } while (rml_parameter_count(&config) > (ref ? MAX_PARAMETERS_REF : MAX_PARAMETERS));
    t.model = rml_model_random(&config, dtype, rmli_rng_next(&t.rng), &err);
    cr_assert(t.model, "%s", err.message);
    t.n_vocab = config.n_vocab;
    t.arithmetic = (enum rml_arithmetic)rmli_rng_below(&t.rng, 2);
    t.shape = rml_model_kv_shape(t.model, (enum rml_kv_dtype)rmli_rng_below(&t.rng, 3),
                                 (enum rml_kv_dtype)rmli_rng_below(&t.rng, 3));
    draw_tokens(&t);
    char what[200];
    snprintf(what, sizeof what, "%s %s kv %s:%s isa %s layers %u experts %u",
             rml_dtype_traits(dtype)->name, rml_arithmetic_name(t.arithmetic),
             rml_kv_dtype_name(t.shape.k_dtype), rml_kv_dtype_name(t.shape.v_dtype),
             ref ? "ref" : "best", config.n_layer, config.n_expert);
    compute_plainly(&t);
    compute_as_drawn(&t);
    compare(&t, what);
    for (size_t s = 0; s < t.n_sequences; s++) {
        free(t.want[s]);
        free(t.got[s]);
    }
    rml_model_destroy(t.model);
}

Test(schedule, bits_do_not_depend_on_it)
{
    const char *n = getenv("RML_TEST_TRIALS");
    struct rmli_rng rng;
    rmli_rng_seed(&rng, drawn_seed("schedule"));
    for (int i = n ? atoi(n) : 20; i > 0; i--) {
        run_trial(&rng);
        rmli_rng_next(&rng);
    }
}
