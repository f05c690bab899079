#include "generate_toys.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static struct toy finish(struct rml_model *model, size_t max_context)
{
    struct rml_error err = RML_ERROR_INIT;
    const struct rml_context_params params = {.max_context = max_context};
    struct toy toy = {.model = model};
    toy.pool = rml_thread_pool_create(1, &err);
    toy.context = rml_context_create(toy.model, toy.pool, &params, &err);
    cr_assert(toy.context, "%s", err.message);
    return toy;
}

struct toy toy_random(size_t n_vocab, uint64_t seed, size_t max_context)
{
    const struct rml_model_config config = {
        .architecture = "llama",
        .n_vocab = (uint32_t)n_vocab,
        .n_embd = 32,
        .n_layer = 2,
        .n_head = 4,
        .n_head_kv = 2,
        .head_dim = 8,
        .n_ff = 32,
        .n_context = (uint32_t)max_context,
        .norm_eps = 1e-5f,
        .embedding_scale = 1,
        .attention_scale = 0.35f,
        .rope_theta = 1e4,
        .bos = -1,
    };
    struct rml_error err = RML_ERROR_INIT;
    struct rml_model *model = rml_model_random(&config, RML_F32, seed, &err);
    cr_assert(model, "%s", err.message);
    return finish(model, max_context);
}

struct toy toy_fixture(const char *name)
{
    char path[4096];
    const char *root = getenv("RML_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/goldens/fixtures/%s", root ? root : ".", name);
    struct rml_error err = RML_ERROR_INIT;
    struct rml_checkpoint *cp = rml_checkpoint_open(path, &err);
    struct rml_model *model = cp ? rml_model_load(cp, &err) : NULL;
    cr_assert(model, "%s: %s", path, err.message);
    return finish(model, 0);
}

void toy_release(struct toy *toy)
{
    rml_context_destroy(toy->context);
    rml_thread_pool_destroy(toy->pool);
    rml_model_destroy(toy->model);
}

float *toy_logits(struct toy *toy, const int32_t *ids, size_t n)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_kv_shape shape = rml_model_kv_shape(toy->model, RML_KV_F32, RML_KV_F32);
    struct rml_kv_cache *cache = rml_kv_cache_create(&shape, (n - 1) / RML_PAGE_TOKENS + 1, &err);
    struct rml_sequence *sequence = rml_sequence_create(cache, n, &err);
    float *logits = malloc(n * rml_model_config(toy->model)->n_vocab * sizeof *logits);
    cr_assert(logits && rml_forward_tokens(toy->context, sequence, ids, n, true, logits, &err),
              "%s", err.message);
    rml_sequence_destroy(sequence);
    rml_kv_cache_destroy(cache);
    return logits;
}

bool reply_add(void *user, int32_t id)
{
    struct reply *reply = user;
    cr_assert_lt(reply->n, sizeof reply->ids / sizeof *reply->ids);
    reply->ids[reply->n++] = id;
    return reply->n != reply->stop_after;
}
