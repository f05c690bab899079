#include "bench/decoder_case.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"

struct decoder_case {
    struct decoder_settings settings;
    const struct rml_model *model;
    struct rml_context *context;
    struct rml_kv_cache *cache;
    struct rml_sequence **sequences; /* [n_batch] */
    struct rml_segment *segments;    /* [n_batch] of the batch at hand */
    int32_t *tokens; /* [n_batch][n_tokens] the prompt, or the depth and what is decoded */
    size_t n_tokens;
    float *logits; /* [n_batch][n_vocab] */
};

static void truncate_all(struct decoder_case *c, size_t n_tokens)
{
    for (size_t s = 0; s < c->settings.n_batch; s++)
        rml_sequence_truncate(c->sequences[s], n_tokens);
}

/* The next n tokens of every sequence, from the `at`-th on. */
static bool forward(struct decoder_case *c, size_t at, size_t n, struct rml_error *err)
{
    for (size_t s = 0; s < c->settings.n_batch; s++)
        c->segments[s] = (struct rml_segment){.sequence = c->sequences[s],
                                              .tokens = c->tokens + s * c->n_tokens + at,
                                              .n_tokens = n,
                                              .n_logit_rows = 1};
    const struct rml_batch batch = {
        .segments = c->segments, .n_segments = c->settings.n_batch, .logits = c->logits};
    return rml_forward(c->context, &batch, err);
}

static bool prepare(void *arg, struct rml_error *err)
{
    struct decoder_case *c = arg;
    (void)err;
    truncate_all(c, c->settings.n_prompt ? 0 : c->settings.n_depth);
    return true;
}

static bool make_sequences(struct decoder_case *c, struct rml_error *err)
{
    const struct decoder_settings *s = &c->settings;
    struct rml_kv_shape shape = rml_model_kv_shape(c->model, s->k, s->v);
    size_t n_pages = (c->n_tokens + RML_PAGE_TOKENS - 1) / RML_PAGE_TOKENS;
    c->cache = rml_kv_cache_create(&shape, s->n_batch * n_pages, err);
    c->sequences = calloc(s->n_batch, sizeof *c->sequences);
    c->segments = calloc(s->n_batch, sizeof *c->segments);
    if (!c->sequences || !c->segments)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for sequences");
    for (size_t i = 0; i < s->n_batch && c->cache; i++)
        if (!(c->sequences[i] = rml_sequence_create(c->cache, c->n_tokens, err)))
            return false;
    return c->cache != NULL;
}

static bool build(struct decoder_case *c, struct rml_thread_pool *pool, struct rml_error *err)
{
    const struct decoder_settings *s = &c->settings;
    const struct rml_model_config *config = rml_model_config(c->model);
    struct rml_context_params params = {.arithmetic = s->arithmetic, .max_context = c->n_tokens};
    size_t n_tokens = s->n_batch * c->n_tokens;
    if (!(c->tokens = rmli_alloc(n_tokens, sizeof *c->tokens, err)) ||
        !(c->logits = rmli_alloc_zeroed(s->n_batch * config->n_vocab, sizeof *c->logits, err)) ||
        !(c->context = rml_context_create(c->model, pool, &params, err)) || !make_sequences(c, err))
        return false;

    struct rmli_rng rng;
    rmli_rng_seed(&rng, s->seed);
    for (size_t i = 0; i < n_tokens; i++)
        c->tokens[i] = (int32_t)rmli_rng_below(&rng, config->n_vocab);
    return s->n_prompt || s->n_depth == 0 || forward(c, 0, s->n_depth, err);
}

struct decoder_case *decoder_case_create(const struct rml_model *model,
                                         const struct decoder_settings *settings,
                                         struct rml_thread_pool *pool, struct rml_error *err)
{
    struct decoder_case *c = calloc(1, sizeof *c);
    if (!c) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a decoder");
        return NULL;
    }
    c->settings = *settings;
    c->model = model;
    c->n_tokens = settings->n_prompt ? settings->n_prompt : settings->n_depth + settings->n_gen;
    if (!build(c, pool, err)) {
        decoder_case_destroy(c);
        return NULL;
    }
    return c;
}

void decoder_case_destroy(struct decoder_case *c)
{
    if (!c)
        return;
    for (size_t i = 0; c->sequences && i < c->settings.n_batch; i++)
        rml_sequence_destroy(c->sequences[i]);
    free(c->sequences);
    free(c->segments);
    rml_kv_cache_destroy(c->cache);
    rml_context_destroy(c->context);
    rmli_free(c->logits);
    rmli_free(c->tokens);
    free(c);
}

/* ---- The work --------------------------------------------------------------------------- */

static bool prefill(void *arg, int64_t iters, int64_t *times, struct rml_error *err)
{
    struct decoder_case *c = arg;
    (void)times;
    for (int64_t i = 0; i < iters; i++) {
        truncate_all(c, 0);
        if (!forward(c, 0, c->settings.n_prompt, err))
            return false;
    }
    return true;
}

static bool decode(void *arg, int64_t iters, int64_t *times, struct rml_error *err)
{
    struct decoder_case *c = arg;
    size_t depth = c->settings.n_depth, n_gen = c->settings.n_gen;
    for (int64_t i = 0; i < iters; i++) {
        size_t step = (size_t)i % n_gen;
        if (step == 0)
            truncate_all(c, depth);
        if (!forward(c, depth + step, 1, err))
            return false;
        if (times)
            times[i] = rmli_clock_ns();
    }
    return true;
}

static const void *output(const void *arg, size_t *nbytes)
{
    return decoder_case_logits(arg, nbytes);
}

struct bench_work decoder_case_work(struct decoder_case *c)
{
    bool prefills = c->settings.n_prompt > 0;
    return (struct bench_work){.run = prefills ? prefill : decode,
                               .prepare = prepare,
                               .output = output,
                               .arg = c,
                               .iters_step = prefills ? 1 : (int64_t)c->settings.n_gen,
                               .wants_token_times = !prefills};
}

bool decoder_case_profile(struct decoder_case *c, int64_t iters, struct rml_profile *profile,
                          struct rml_error *err)
{
    struct bench_work work = decoder_case_work(c);
    *profile = (struct rml_profile){0};
    if (!work.prepare(c, err))
        return false;
    rml_context_set_profile(c->context, profile);
    bool ok = work.run(c, iters, NULL, err);
    rml_context_set_profile(c->context, NULL);
    return ok;
}

enum rml_isa decoder_case_isa(const struct decoder_case *c)
{
    return rml_context_isa(c->context);
}

const float *decoder_case_logits(const struct decoder_case *c, size_t *nbytes)
{
    *nbytes = c->settings.n_batch * rml_model_config(c->model)->n_vocab * sizeof *c->logits;
    return c->logits;
}

bool decoder_case_verify(const struct decoder_case *c, struct rml_error *err)
{
    size_t n_vocab = rml_model_config(c->model)->n_vocab;
    for (size_t i = 0; i < c->settings.n_batch * n_vocab; i++) {
        if (!isfinite(c->logits[i]))
            return rmli_fail(err, RML_INTERNAL, NULL, -1,
                             "logit of token %zu in sequence %zu is not finite: %g", i % n_vocab,
                             i / n_vocab, (double)c->logits[i]);
    }
    return true;
}

size_t decoder_case_kv_nbytes(const struct decoder_case *c)
{
    return rml_kv_cache_nbytes_used(c->cache);
}
