/* Tokens beside the cache that holds them. */
#include "generate/cached_tokens.h"

#include <string.h>

#include "base/memory.h"

bool rmli_cached_tokens_init(struct rmli_cached_tokens *tokens, struct rml_context *context,
                             enum rml_kv_dtype k_dtype, enum rml_kv_dtype v_dtype, size_t limit,
                             struct rml_error *err)
{
    struct rml_kv_shape shape = rml_model_kv_shape(rml_context_model(context), k_dtype, v_dtype);
    *tokens = (struct rmli_cached_tokens){.context = context, .limit = limit};
    tokens->ids = rmli_alloc(limit, sizeof *tokens->ids, err);
    tokens->cache =
        tokens->ids ? rml_kv_cache_create(&shape, (limit - 1) / RML_PAGE_TOKENS + 1, err) : NULL;
    tokens->sequence = tokens->cache ? rml_sequence_create(tokens->cache, limit, err) : NULL;
    if (!tokens->sequence)
        rmli_cached_tokens_release(tokens);
    return tokens->sequence;
}

void rmli_cached_tokens_release(struct rmli_cached_tokens *tokens)
{
    rml_sequence_destroy(tokens->sequence);
    rml_kv_cache_destroy(tokens->cache);
    rmli_free(tokens->ids);
    memset(tokens, 0, sizeof *tokens);
}

size_t rmli_cached_tokens_shared(const struct rmli_cached_tokens *tokens, const int32_t *ids,
                                 size_t n)
{
    size_t most = tokens->n < n - 1 ? tokens->n : n - 1, shared = 0;
    while (shared < most && tokens->ids[shared] == ids[shared])
        shared++;
    return shared;
}

bool rmli_cached_tokens_append(struct rmli_cached_tokens *tokens, const int32_t *ids, size_t n,
                               size_t n_rows, float *logits, struct rml_error *err)
{
    const struct rml_segment segment = {
        .sequence = tokens->sequence, .tokens = ids, .n_tokens = n, .n_logit_rows = n_rows};
    const struct rml_batch batch = {.segments = &segment, .n_segments = 1, .logits = logits};
    if (!rml_forward(tokens->context, &batch, err))
        return false;
    memmove(tokens->ids + tokens->n, ids, n * sizeof *ids);
    tokens->n += n;
    return true;
}

void rmli_cached_tokens_truncate(struct rmli_cached_tokens *tokens, size_t n)
{
    rml_sequence_truncate(tokens->sequence, n);
    tokens->n = rml_sequence_length(tokens->sequence);
}
