/*
 * The decoder: a model (recipe and weights) and contexts that run it.
 *
 * A forward pass takes a batch of segments. A segment is some tokens appended to
 * one sequence; the batch may mix prefill and decode of any number of sequences
 * of one cache. Logits are computed for chosen rows only and go to the caller's
 * buffer or, a bounded tile of rows at a time, to a consumer function.
 *
 * Numbers do not depend on how work is scheduled: for one instruction set,
 * arithmetic and pair of cache dtypes each logit has the same bits for any
 * thread count, batch, chunk and reuse of a prefix.
 *
 * Thread rule: a model is read-only and may serve any number of contexts; a
 * context, its pool and the sequences passed to it belong to one thread at a time.
 */
#ifndef RML_MODEL_DECODER_H
#define RML_MODEL_DECODER_H

#include "base/thread_pool.h"
#include "files/checkpoint.h"
#include "kernels/cpu_features.h"
#include "model/kv_cache.h"
#include "model/model_config.h"

/* ---- Model -------------------------------------------------------------- */

struct rml_model;

/* Loads the recipe and finds every weight. On success the model owns `cp` and
 * closes it when destroyed; on failure (NULL) `cp` stays the caller's. */
struct rml_model *rml_model_load(struct rml_checkpoint *cp, struct rml_error *err);

/* Random weights for benchmarks: normal with standard deviation 0.02 (norms 1), drawn
 * from `seed`, matrices stored as `dtype` (those whose columns are no whole blocks of it:
 * RML_INVALID_ARGUMENT). */
struct rml_model *rml_model_random(const struct rml_model_config *config, enum rml_dtype dtype,
                                   uint64_t seed, struct rml_error *err);

/* Whether rml_model_random can make it; false with what it would say. */
bool rml_random_model_fits(const struct rml_model_config *config, enum rml_dtype dtype,
                           struct rml_error *err);

void rml_model_destroy(struct rml_model *model); /* NULL is allowed */

const struct rml_model_config *rml_model_config(const struct rml_model *model);
const struct rml_checkpoint *rml_model_checkpoint(const struct rml_model *model); /* or NULL */
/* Bytes of all weights in their stored formats, and of what was copied out of the file. */
size_t rml_model_weight_nbytes(const struct rml_model *model);
size_t rml_model_copied_nbytes(const struct rml_model *model);
/* The dtype that most weight bytes are stored in: the name a table shows. */
enum rml_dtype rml_model_weight_dtype(const struct rml_model *model);
/* True when some matrix is quantised, so that i8 arithmetic differs from f32. */
bool rml_model_is_quantised(const struct rml_model *model);

/* The shape of this model's cache. */
struct rml_kv_shape rml_model_kv_shape(const struct rml_model *model, enum rml_kv_dtype k_dtype,
                                       enum rml_kv_dtype v_dtype);

/* ---- Context ------------------------------------------------------------ */

enum rml_arithmetic { RML_ARITHMETIC_F32, RML_ARITHMETIC_I8 };
const char *rml_arithmetic_name(enum rml_arithmetic arithmetic); /* "f32", "i8" */
bool rml_arithmetic_parse(const char *name, enum rml_arithmetic *arithmetic);

struct rml_context_params {
    enum rml_arithmetic arithmetic; /* default RML_ARITHMETIC_F32 */
    size_t chunk;                   /* rows computed at a time; 0: 512 */
    size_t max_context;             /* longest sequence; 0: the model's trained positions */
    /* NULL, or asked between the halves of layers by the thread that calls rml_forward: true
     * ends the pass with RML_CANCELLED. */
    bool (*cancelled)(void *user);
    void *cancelled_user;
};

struct rml_context;

/* All scratch memory is allocated here, so a forward pass allocates none. The pool and
 * the model are borrowed and outlive the context. params may be NULL (all defaults). The
 * instruction set is the best of the machine, capped by RML_CPU. */
struct rml_context *rml_context_create(const struct rml_model *model, struct rml_thread_pool *pool,
                                       const struct rml_context_params *params,
                                       struct rml_error *err);
void rml_context_destroy(struct rml_context *context); /* NULL is allowed */
enum rml_isa rml_context_isa(const struct rml_context *context);
size_t rml_context_scratch_nbytes(const struct rml_context *context);
const struct rml_model *rml_context_model(const struct rml_context *context);

/* Tokens appended to one sequence. */
struct rml_segment {
    struct rml_sequence *sequence; /* each at most once in a batch, all of one cache */
    const int32_t *tokens;         /* [n_tokens], ids in [0, n_vocab) */
    size_t n_tokens;               /* at least 1 */
    const size_t *logit_rows;      /* [n_logit_rows] indices into tokens, ascending and distinct;
                                      NULL: the last n_logit_rows of them */
    size_t n_logit_rows;           /* 0: no logits of this segment */
};

/* Some rows of logits, in the order of segments and of logit_rows. `first` counts all
 * chosen rows of the batch from 0; logits is [n_rows][n_vocab]. Returning false stops the
 * pass with RML_CANCELLED. */
typedef bool rml_logits_fn(void *user, size_t first, size_t n_rows, const float *logits);

/* Where the residual stream is shown to a probe. */
enum rml_branch {
    RML_BRANCH_EMBEDDING,    /* layer -1: after the embedding scale */
    RML_BRANCH_ATTENTION,    /* after the attention branch has been added */
    RML_BRANCH_FEED_FORWARD, /* after the feed-forward branch has been added */
    RML_BRANCH_OUTPUT        /* layer = n_layer: after the last norm */
};
const char *rml_branch_name(enum rml_branch branch); /* "feed_forward" ... */

/* Row i of x [n_rows][n_embd] is position positions[i] of segment segments[i]. */
typedef void rml_residual_fn(void *user, int layer, enum rml_branch branch, size_t n_rows,
                             const size_t *segments, const size_t *positions, const float *x);

struct rml_batch {
    const struct rml_segment *segments;
    size_t n_segments;
    float *logits;             /* [sum of n_logit_rows][n_vocab], or NULL with a consumer */
    rml_logits_fn *consumer;   /* used when logits is NULL */
    rml_residual_fn *residual; /* NULL, or sees every row after every branch (and makes the
                                  last layer compute rows that nobody needs) */
    void *user;                /* of consumer and residual */
};

/*
 * Runs the batch: each segment's tokens at positions length, length + 1, ... of its
 * sequence, which then is n_tokens longer. On failure every sequence and its cache are as
 * before: RML_INVALID_ARGUMENT for an empty batch or segment, an id outside the vocabulary,
 * a sequence given twice or from a cache of another shape; RML_OUT_OF_RANGE when pages or a
 * sequence's limit do not suffice; RML_CANCELLED when the consumer or `cancelled` stopped it.
 */
bool rml_forward(struct rml_context *context, const struct rml_batch *batch, struct rml_error *err);

/* The simplest case: n tokens of one sequence. logits [n_vocab] of the last token, or
 * [n_tokens][n_vocab] when all_logits. */
bool rml_forward_tokens(struct rml_context *context, struct rml_sequence *sequence,
                        const int32_t *tokens, size_t n_tokens, bool all_logits, float *logits,
                        struct rml_error *err);

#endif
