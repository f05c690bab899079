#include "bench/decoder_case.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/rng.h"

const char decoder_shape_name[] = "tinyllama-2-layers";

void decoder_shape_config(struct rml_model_config *config)
{
    *config = (struct rml_model_config){
        .architecture = "llama",
        .n_vocab = 8192,
        .n_embd = 2048,
        .n_layer = 2,
        .n_head = 32,
        .n_head_kv = 4,
        .head_dim = 64,
        .n_ff = 5632,
        .n_context = 1 << 20, /* rotation has no limit of its own */
        .activation = RML_SILU,
        .norm_eps = 1e-5f,
        .embedding_scale = 1,
        .attention_scale = 0.125f, /* 1 / sqrt(64) */
        .rope_pairing = RML_ROPE_HALF,
        .rope_theta = 10000,
        .rope_scaling = {.type = RML_ROPE_SCALING_NONE, .factor = 1, .attention_factor = 1},
        .bos = -1,
    };
}

struct decoder_case {
    struct decoder_settings settings;
    const struct rml_model *model;
    struct rml_context *context;
    struct rml_kv_cache *cache;
    struct rml_sequence *sequence;
    int32_t *tokens; /* [n_tokens] the prompt, or the depth and what is decoded */
    size_t n_tokens;
    float *logits; /* [n_vocab] */
};

static bool prepare_depth(void *arg, struct rml_error *err)
{
    struct decoder_case *c = arg;
    (void)err;
    rml_sequence_truncate(c->sequence, c->settings.n_prompt ? 0 : c->settings.n_depth);
    return true;
}

static bool build(struct decoder_case *c, struct rml_thread_pool *pool, struct rml_error *err)
{
    const struct decoder_settings *s = &c->settings;
    const struct rml_model_config *config = rml_model_config(c->model);
    struct rml_context_params params = {.arithmetic = s->arithmetic, .max_context = c->n_tokens};
    struct rml_kv_shape shape = rml_model_kv_shape(c->model, s->k, s->v);
    size_t n_pages = (c->n_tokens + RML_PAGE_TOKENS - 1) / RML_PAGE_TOKENS;
    if (!(c->tokens = rmli_alloc(c->n_tokens, sizeof *c->tokens, err)) ||
        !(c->logits = rmli_alloc_zeroed(config->n_vocab, sizeof *c->logits, err)) ||
        !(c->context = rml_context_create(c->model, pool, &params, err)) ||
        !(c->cache = rml_kv_cache_create(&shape, n_pages, err)) ||
        !(c->sequence = rml_sequence_create(c->cache, c->n_tokens, err)))
        return false;

    struct rmli_rng rng;
    rmli_rng_seed(&rng, s->seed);
    for (size_t i = 0; i < c->n_tokens; i++)
        c->tokens[i] = (int32_t)rmli_rng_below(&rng, config->n_vocab);
    return s->n_prompt || s->n_depth == 0 ||
           rml_forward_tokens(c->context, c->sequence, c->tokens, s->n_depth, false, c->logits,
                              err);
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
    rml_sequence_destroy(c->sequence);
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
        rml_sequence_truncate(c->sequence, 0);
        if (!rml_forward_tokens(c->context, c->sequence, c->tokens, c->settings.n_prompt, false,
                                c->logits, err))
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
            rml_sequence_truncate(c->sequence, depth);
        if (!rml_forward_tokens(c->context, c->sequence, c->tokens + depth + step, 1, false,
                                c->logits, err))
            return false;
        if (times)
            times[i] = rmli_clock_ns();
    }
    return true;
}

struct bench_work decoder_case_work(struct decoder_case *c)
{
    bool prefills = c->settings.n_prompt > 0;
    return (struct bench_work){.run = prefills ? prefill : decode,
                               .prepare = prepare_depth,
                               .arg = c,
                               .iters_step = prefills ? 1 : (int64_t)c->settings.n_gen,
                               .wants_token_times = !prefills};
}

enum rml_isa decoder_case_isa(const struct decoder_case *c)
{
    return rml_context_isa(c->context);
}

const float *decoder_case_logits(const struct decoder_case *c, size_t *nbytes)
{
    *nbytes = rml_model_config(c->model)->n_vocab * sizeof *c->logits;
    return c->logits;
}

bool decoder_case_verify(const struct decoder_case *c, struct rml_error *err)
{
    uint32_t n_vocab = rml_model_config(c->model)->n_vocab;
    for (uint32_t id = 0; id < n_vocab; id++) {
        if (!isfinite(c->logits[id]))
            return rmli_fail(err, RML_INTERNAL, NULL, -1, "logit of token %u is not finite: %g", id,
                             (double)c->logits[id]);
    }
    return true;
}

size_t decoder_case_kv_nbytes(const struct decoder_case *c)
{
    return rml_kv_cache_nbytes_used(c->cache);
}
