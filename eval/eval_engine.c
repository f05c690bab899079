/*
 * A checkpoint made ready to be scored.
 */
#include "eval/eval_engine.h"

#include <stdlib.h>
#include <string.h>

#include "tools/cli/paths.h"
#include "tools/cli/options.h"

static bool hash(struct eval_engine *engine, struct rml_error *err)
{
    char *cache_file = cli_content_hash_cache();
    bool ok = rml_checkpoint_content_sha256(rml_model_checkpoint(engine->model), cache_file,
                                            engine->sha256, err);
    free(cache_file);
    return ok;
}

/* The instruction set is the context's to choose, so the smallest context is asked. */
static bool find_isa(struct eval_engine *engine, struct rml_error *err)
{
    struct rml_context *context = eval_engine_context(engine, 1, 1, err);
    if (context)
        engine->isa = rml_context_isa(context);
    rml_context_destroy(context);
    return context != NULL;
}

bool eval_engine_init(struct eval_engine *engine, const char *checkpoint,
                      const struct eval_settings *settings, struct rml_thread_pool *pool,
                      struct rml_error *err)
{
    *engine = (struct eval_engine){.name = checkpoint, .pool = pool, .settings = *settings};
    struct rml_checkpoint *cp = rml_checkpoint_open(checkpoint, err);
    engine->model = cp ? rml_model_load(cp, err) : NULL;
    if (!engine->model) {
        rml_checkpoint_close(cp);
        *engine = (struct eval_engine){0};
        return false;
    }
    engine->n_vocab = rml_model_config(engine->model)->n_vocab;
    if (!hash(engine, err) || !find_isa(engine, err)) {
        eval_engine_release(engine);
        return false;
    }
    return true;
}

void eval_engine_release(struct eval_engine *engine)
{
    rml_tokenizer_destroy(engine->tokenizer);
    rml_model_destroy(engine->model);
    *engine = (struct eval_engine){0};
}

bool eval_engine_need_tokenizer(struct eval_engine *engine, struct rml_error *err)
{
    if (engine->tokenizer)
        return true;
    engine->tokenizer =
        rml_tokenizer_from_checkpoint(rml_model_checkpoint(engine->model), NULL, err);
    return engine->tokenizer &&
           rml_tokenizer_content_sha256(engine->tokenizer, engine->tokenizer_sha256, err);
}

bool eval_engine_check_ids(const struct eval_engine *engine, const struct rml_ids *ids,
                           size_t begin, struct rml_error *err)
{
    for (size_t i = begin; i < ids->n; i++)
        if (ids->ids[i] < 0 || (uint32_t)ids->ids[i] >= engine->n_vocab)
            return rmli_fail(err, RML_FORMAT, engine->name, -1,
                             "the tokenizer gives id %d, the model has %u tokens", ids->ids[i],
                             engine->n_vocab);
    return true;
}

bool eval_engine_encode(const struct eval_engine *engine, const char *text, size_t nbytes,
                        unsigned flags, struct rml_ids *ids, struct rml_error *err)
{
    size_t begin = ids->n;
    return rml_tokenizer_encode(engine->tokenizer, text, nbytes, flags, ids, err) &&
           eval_engine_check_ids(engine, ids, begin, err);
}

size_t eval_engine_n_context(const struct eval_engine *engine)
{
    return rml_model_config(engine->model)->n_context;
}

struct rml_context *eval_engine_context(const struct eval_engine *engine, size_t max_tokens,
                                        size_t batch_rows, struct rml_error *err)
{
    struct rml_context_params params = {.arithmetic = engine->settings.arithmetic,
                                        .chunk = batch_rows,
                                        .max_context = max_tokens,
                                        .cancelled = cli_cancelled};
    return rml_context_create(engine->model, engine->pool, &params, err);
}

struct rml_kv_cache *eval_engine_cache(const struct eval_engine *engine, size_t n_pages,
                                       struct rml_error *err)
{
    struct rml_kv_shape shape =
        rml_model_kv_shape(engine->model, engine->settings.k_dtype, engine->settings.v_dtype);
    return rml_kv_cache_create(&shape, n_pages, err);
}
