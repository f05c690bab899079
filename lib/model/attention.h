/*
 * Attention of query rows over their cached keys and values.
 *
 * Each row sees positions [window start, its own position]. Keys are taken in
 * blocks of 64 fixed by position; each block is reduced alone to (maximum, sum,
 * output) and the reductions are merged from left to right, on every path: so
 * the bits of a row depend neither on the thread count nor on what else is in
 * the batch. Work is split into tasks of (kv head, tile of consecutive rows of
 * one sequence); when there are too few of them for the threads (decode with
 * few kv heads), blocks are reduced in parallel into partials and merged after.
 */
#ifndef RML_MODEL_ATTENTION_H
#define RML_MODEL_ATTENTION_H

#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "model/kv_cache.h"

/* One row of the batch: its sequence and position (keys up to it are stored). */
struct rmli_row {
    struct rml_sequence *sequence;
    size_t position;
};

struct rmli_attention_params {
    uint32_t n_head, n_head_kv, head_dim;
    uint32_t layer;
    uint32_t window; /* keys seen at most, itself included; 0: all */
    float scale;
};

struct rmli_attention; /* scratch memory */

/* Scratch for calls with at most max_rows rows whose positions are below
 * max_context. */
struct rmli_attention *rmli_attention_create(const struct rml_thread_pool *pool, uint32_t n_head,
                                             uint32_t n_head_kv, uint32_t head_dim, size_t max_rows,
                                             size_t max_context, struct rml_error *err);
void rmli_attention_destroy(struct rmli_attention *attention); /* NULL is allowed */

/* out[r][n_head * head_dim] from q[r][n_head * head_dim], r in [0, n_rows); rows of
 * one sequence are adjacent with ascending positions. out may not overlap q.
 * Allocates nothing. */
void rmli_attend(struct rmli_attention *attention, struct rml_thread_pool *pool,
                 const struct rmli_kernels *kernels, const struct rmli_attention_params *params,
                 const struct rmli_row *rows, size_t n_rows, const float *q, float *out);

/* The plain definition, for tests: every score, one softmax, one weighted sum, in double
 * precision over the cached (dequantised) values. */
void rmli_attend_ref(const struct rmli_attention_params *params, const struct rmli_row *rows,
                     size_t n_rows, const float *q, float *out);

#endif
