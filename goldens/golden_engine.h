/*
 * A checkpoint made ready to run: the model, and a context and cache for one
 * arithmetic and pair of cache types at a time.
 */
#ifndef GOLDENS_GOLDEN_ENGINE_H
#define GOLDENS_GOLDEN_ENGINE_H

#include "rml.h"

struct golden_engine {
    char *checkpoint;             /* as the user named it */
    struct rml_thread_pool *pool; /* borrowed */
    struct rml_model *model;
    char sha256[65];             /* "" until golden_engine_hash */
    struct rml_context *context; /* NULL until golden_engine_configure, as the cache */
    struct rml_kv_cache *cache;
    enum rml_arithmetic arithmetic;
    enum rml_kv_dtype k_dtype, v_dtype;
    size_t max_tokens;
    struct rml_tokenizer
        *tokenizer; /* NULL until golden_engine_tokenizer, or none that is usable */
    bool tokenizer_tried;
    struct rml_error tokenizer_error; /* why there is none */
    bool text_noted;                  /* said once that text is not compared */
};

/* Loads the checkpoint. On failure *engine is all zero. */
bool golden_engine_init(struct golden_engine *engine, const char *checkpoint,
                        struct rml_thread_pool *pool, struct rml_error *err);
void golden_engine_release(struct golden_engine *engine); /* safe on a zero struct */

/* Sets engine->sha256; reads the whole checkpoint unless its hash is cached. */
bool golden_engine_hash(struct golden_engine *engine, struct rml_error *err);

/* The checkpoint's tokenizer, opened when first asked for. Borrowed; NULL when the checkpoint has
 * none, or none that is known, which is found out once. */
const struct rml_tokenizer *golden_engine_tokenizer(struct golden_engine *engine,
                                                    struct rml_error *err);

/* A context and cache for sequences of up to max_tokens; kept when they fit already. On
 * failure there is none. */
bool golden_engine_configure(struct golden_engine *engine, enum rml_arithmetic arithmetic,
                             enum rml_kv_dtype k_dtype, enum rml_kv_dtype v_dtype,
                             size_t max_tokens, struct rml_error *err);

/* An empty sequence of max_tokens positions. */
struct rml_sequence *golden_engine_sequence(const struct golden_engine *engine,
                                            struct rml_error *err);

/* ---- Numbers of a row of logits [n_vocab] ---------------------------------- */

/* log(sum(exp(x))) in double precision. NaN or infinite when a logit is. */
double golden_logsumexp(const float *logits, size_t n_vocab);

/* The id of the greatest logit, the lower one of equals; *gap is how far the next best is
 * below it (infinite for a vocabulary of one). */
int32_t golden_best(const float *logits, size_t n_vocab, double *gap);

/* The first id whose logit is NaN or infinite, or -1. */
int32_t golden_first_nonfinite(const float *logits, size_t n_vocab);

#endif
