/*
 * A sequence together with the ids of the tokens whose keys and values it holds, so that what a
 * new prompt has in common with it need not be computed again.
 *
 * Always: n is the length of the sequence, ids[0, n) are its tokens, n <= limit.
 */
#ifndef RML_GENERATE_CACHED_TOKENS_H
#define RML_GENERATE_CACHED_TOKENS_H

#include "model/decoder.h"

struct rmli_cached_tokens {
    struct rml_context *context; /* borrowed */
    struct rml_kv_cache *cache;
    struct rml_sequence *sequence;
    int32_t *ids; /* [limit] */
    size_t n, limit;
};

/* A cache of its own for `limit` tokens, at least 1. On failure *tokens is all zero. */
bool rmli_cached_tokens_init(struct rmli_cached_tokens *tokens, struct rml_context *context,
                             enum rml_kv_dtype k_dtype, enum rml_kv_dtype v_dtype, size_t limit,
                             struct rml_error *err);
void rmli_cached_tokens_release(struct rmli_cached_tokens *tokens); /* safe on a zero struct */

/* How many of ids [n] the cache holds from the beginning, at most n - 1: one is always left to be
 * run, whose logits are needed. n > 0. */
size_t rmli_cached_tokens_shared(const struct rmli_cached_tokens *tokens, const int32_t *ids,
                                 size_t n);

/* Runs ids [n] behind what is there; the logits [n_rows][n_vocab] of the last n_rows go to
 * `logits`. On failure nothing has changed. Allocates nothing. */
bool rmli_cached_tokens_append(struct rmli_cached_tokens *tokens, const int32_t *ids, size_t n,
                               size_t n_rows, float *logits, struct rml_error *err);

/* Forgets all tokens from the n-th on; no effect when there are no more. */
void rmli_cached_tokens_truncate(struct rmli_cached_tokens *tokens, size_t n);

#endif
