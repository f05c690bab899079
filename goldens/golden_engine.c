/*
 * A checkpoint made ready to run.
 */
#include "goldens/golden_engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/paths.h"
#include "tools/cli/options.h"

bool golden_engine_init(struct golden_engine *engine, const char *checkpoint,
                        struct rml_thread_pool *pool, struct rml_error *err)
{
    *engine = (struct golden_engine){.pool = pool, .tokenizer_error = RML_ERROR_INIT};
    struct rml_checkpoint *cp = rml_checkpoint_open(checkpoint, err);
    if (!cp)
        return false;
    engine->model = rml_model_load(cp, err);
    if (!engine->model) {
        rml_checkpoint_close(cp);
        return false;
    }
    engine->checkpoint = strdup(checkpoint);
    if (!engine->checkpoint) {
        golden_engine_release(engine);
        return rmli_fail(err, RML_NO_MEMORY, checkpoint, -1, "no memory for its name");
    }
    return true;
}

static void drop_context(struct golden_engine *engine)
{
    rml_context_destroy(engine->context);
    rml_kv_cache_destroy(engine->cache);
    engine->context = NULL;
    engine->cache = NULL;
}

void golden_engine_release(struct golden_engine *engine)
{
    drop_context(engine);
    rml_tokenizer_destroy(engine->tokenizer);
    rml_model_destroy(engine->model);
    free(engine->checkpoint);
    *engine = (struct golden_engine){0};
}

bool golden_engine_hash(struct golden_engine *engine, struct rml_error *err)
{
    if (engine->sha256[0])
        return true;
    char *cache_file = cli_content_hash_cache();
    bool ok = rml_checkpoint_content_sha256(rml_model_checkpoint(engine->model), cache_file,
                                            engine->sha256, err);
    free(cache_file);
    if (!ok)
        engine->sha256[0] = 0;
    return ok;
}

const struct rml_tokenizer *golden_engine_tokenizer(struct golden_engine *engine,
                                                    struct rml_error *err)
{
    const struct rml_error *why = &engine->tokenizer_error;
    if (!engine->tokenizer_tried)
        engine->tokenizer = rml_tokenizer_from_checkpoint(rml_model_checkpoint(engine->model), NULL,
                                                          &engine->tokenizer_error);
    engine->tokenizer_tried = true;
    if (!engine->tokenizer)
        rmli_fail(err, why->code, why->file, why->offset, "%s", why->message);
    return engine->tokenizer;
}

bool golden_engine_configure(struct golden_engine *engine, enum rml_arithmetic arithmetic,
                             enum rml_kv_dtype k_dtype, enum rml_kv_dtype v_dtype,
                             size_t max_tokens, struct rml_error *err)
{
    if (engine->context && engine->arithmetic == arithmetic && engine->k_dtype == k_dtype &&
        engine->v_dtype == v_dtype && engine->max_tokens >= max_tokens)
        return true;
    drop_context(engine);
    struct rml_context_params params = {
        .arithmetic = arithmetic, .max_context = max_tokens, .cancelled = cli_cancelled};
    struct rml_kv_shape shape = rml_model_kv_shape(engine->model, k_dtype, v_dtype);
    size_t n_pages = (max_tokens + RML_PAGE_TOKENS - 1) / RML_PAGE_TOKENS;
    engine->context = rml_context_create(engine->model, engine->pool, &params, err);
    engine->cache = engine->context ? rml_kv_cache_create(&shape, n_pages, err) : NULL;
    if (!engine->cache) {
        drop_context(engine);
        return false;
    }
    engine->arithmetic = arithmetic;
    engine->k_dtype = k_dtype;
    engine->v_dtype = v_dtype;
    engine->max_tokens = max_tokens;
    return true;
}

struct rml_sequence *golden_engine_sequence(const struct golden_engine *engine,
                                            struct rml_error *err)
{
    return rml_sequence_create(engine->cache, engine->max_tokens, err);
}

double golden_logsumexp(const float *logits, size_t n_vocab)
{
    float max = -INFINITY;
    for (size_t i = 0; i < n_vocab; i++)
        if (logits[i] > max || isnan(logits[i]))
            max = logits[i];
    if (!isfinite(max))
        return max;
    double sum = 0;
    for (size_t i = 0; i < n_vocab; i++)
        sum += exp((double)logits[i] - max);
    return max + log(sum);
}

int32_t golden_best(const float *logits, size_t n_vocab, double *gap)
{
    size_t best = 0;
    for (size_t i = 1; i < n_vocab; i++)
        if (logits[i] > logits[best])
            best = i;
    float second = -INFINITY;
    for (size_t i = 0; i < n_vocab; i++)
        if (i != best && logits[i] > second)
            second = logits[i];
    *gap = (double)logits[best] - second;
    return (int32_t)best;
}

int32_t golden_first_nonfinite(const float *logits, size_t n_vocab)
{
    for (size_t i = 0; i < n_vocab; i++)
        if (!isfinite(logits[i]))
            return (int32_t)i;
    return -1;
}
