/*
 * One attention layer with a filled cache, and its step: of one token, or of a block.
 *
 * A step stores the keys and values of n_rows tokens behind `depth` cached ones and lets their
 * queries attend over all that came before: what decoding (one row) and prefill (many) cost in
 * attention, without the projections and the rotation. The step is done over and over at the same
 * position of the same layer, so the processor's caches are as warm as their size allows.
 */
#ifndef BENCH_ATTENTION_CASE_H
#define BENCH_ATTENTION_CASE_H

#include "bench/measure.h"
#include "rml.h"

struct attention_shape {
    const char *name;
    uint32_t n_head, n_head_kv, head_dim;
};

struct attention_settings {
    struct attention_shape shape;
    enum rml_kv_dtype k, v;
    size_t depth;  /* tokens cached before the step */
    size_t n_rows; /* of the step, at least 1 */
    uint64_t seed;
};

/* Whether there can be such a layer: false with RML_INVALID_ARGUMENT. */
bool attention_shape_fits(const struct attention_shape *shape, struct rml_error *err);

/* Of one step, from the shapes: keys and values read once, the new ones written, queries and
 * output; two operations for each multiply-add. */
double attention_bytes(const struct attention_settings *settings);
double attention_flops(const struct attention_settings *settings);
/* About what a case has resident: its cache. */
double attention_memory_nbytes(const struct attention_settings *settings);

struct attention_case;

/* Keys, values and queries are normal, from the seed. The pool is borrowed and outlives
 * the case. */
struct attention_case *attention_case_create(const struct attention_settings *settings,
                                             struct rml_thread_pool *pool, struct rml_error *err);
void attention_case_destroy(struct attention_case *c); /* NULL is allowed */

struct bench_work attention_case_work(struct attention_case *c);
enum rml_isa attention_case_isa(const struct attention_case *c);

/* Output of the last step: [n_rows][n_head * head_dim] f32. */
const float *attention_case_output(const struct attention_case *c, size_t *nbytes);

/* Compares the output (of eight rows among many) with the definition in double precision over the
 * same cache: false with RML_INTERNAL when it is off by more than 1e-4 of the largest value or not
 * finite. A fast wrong kernel gets no score. */
bool attention_case_verify(const struct attention_case *c, struct rml_error *err);

size_t attention_case_kv_nbytes(const struct attention_case *c); /* pages in use */

#endif
