/*
 * A checkpoint made ready to be scored: model, tokenizer, settings, and what identifies
 * them in the database.
 */
#ifndef EVAL_EVAL_ENGINE_H
#define EVAL_EVAL_ENGINE_H

#include "rml.h"

struct eval_settings {
    enum rml_arithmetic arithmetic;
    enum rml_kv_dtype k_dtype, v_dtype;
};

struct eval_engine {
    const char *name;             /* as the user gave it; borrowed */
    struct rml_thread_pool *pool; /* borrowed */
    struct rml_model *model;
    struct rml_tokenizer *tokenizer; /* NULL until eval_engine_need_tokenizer */
    struct eval_settings settings;
    enum rml_isa isa;          /* the one that computes */
    char sha256[65];           /* of the checkpoint */
    char tokenizer_sha256[65]; /* "" without a tokenizer */
    uint32_t n_vocab;          /* of the model: rows of logits are this wide */
};

/* Loads the checkpoint and hashes it. On failure *engine is all zero. */
bool eval_engine_init(struct eval_engine *engine, const char *checkpoint,
                      const struct eval_settings *settings, struct rml_thread_pool *pool,
                      struct rml_error *err);
void eval_engine_release(struct eval_engine *engine); /* safe on a zero struct */

/* Opens the checkpoint's tokenizer, which must not know ids beyond the model's vocabulary
 * for the texts given: such an id is refused when a text is encoded. */
bool eval_engine_need_tokenizer(struct eval_engine *engine, struct rml_error *err);

/* Appends the ids of a text, all within the model's vocabulary. */
bool eval_engine_encode(const struct eval_engine *engine, const char *text, size_t nbytes,
                        unsigned flags, struct rml_ids *ids, struct rml_error *err);

/* Refuses ids from `begin` on that the model does not have. */
bool eval_engine_check_ids(const struct eval_engine *engine, const struct rml_ids *ids,
                           size_t begin, struct rml_error *err);

/* The longest sequence that the model was made for. */
size_t eval_engine_n_context(const struct eval_engine *engine);

/* A context and a cache of n_pages pages for sequences of up to max_tokens. */
struct rml_context *eval_engine_context(const struct eval_engine *engine, size_t max_tokens,
                                        size_t batch_rows, struct rml_error *err);
struct rml_kv_cache *eval_engine_cache(const struct eval_engine *engine, size_t n_pages,
                                       struct rml_error *err);

#endif
