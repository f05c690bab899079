/*
 * Random caches, sequences and batches for tests of attention: ragged lengths,
 * prefixes shared by forks, windows, every mix of dtypes. Used by the Criterion
 * tests and by the plain program for ThreadSanitizer.
 */
#ifndef RML_MODEL_TESTS_ATTENTION_ATTENTION_CASES_H
#define RML_MODEL_TESTS_ATTENTION_ATTENTION_CASES_H

#include "base/rng.h"
#include "model/attention.h"

enum { ATTENTION_MAX_SEQUENCES = 6 };

struct attention_case {
    struct rml_kv_shape shape;
    struct rmli_attention_params params;
    struct rml_kv_cache *cache;
    struct rml_sequence *sequences[ATTENTION_MAX_SEQUENCES];
    /* The same contents, row for row, in pages shared with nobody. */
    struct rml_sequence *unshared[ATTENTION_MAX_SEQUENCES];
    size_t n_sequences;
    struct rmli_row *rows; /* the batch */
    size_t n_rows;
    size_t max_context;
    float *q;   /* [n_rows][n_head * head_dim] */
    float *out; /* the same */
};

/* What is drawn, at most. */
struct attention_limits {
    uint32_t n_head_kv, group, n_layer;
    size_t n_tokens; /* of a sequence */
};

/* Aborts when there is no memory: test code. */
void attention_case_init(struct attention_case *c, struct rmli_rng *rng,
                         const struct attention_limits *limits);
void attention_case_release(struct attention_case *c);

/* Appends n random positions to a sequence. */
void attention_append(struct rml_sequence *s, struct rmli_rng *rng, size_t n);

/* The whole batch in one call, with a scratch made for it, into `out`. */
void attention_run(const struct attention_case *c, const struct rmli_kernels *kernels,
                   struct rml_thread_pool *pool, float *out);

/* Row r in a call of its own into out [n_head * head_dim], with the sequence it
 * has in the batch or its unshared copy. */
void attention_run_row(const struct attention_case *c, const struct rmli_kernels *kernels,
                       struct rml_thread_pool *pool, size_t r, bool unshared, float *out);

/* RML_TEST_SEED, or one that changes from run to run; printed by the caller. */
uint64_t attention_seed(void);

#endif
