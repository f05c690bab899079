/*
 * One attention layer with a filled cache, and its decode step.
 *
 * A step stores one token's keys and values behind `depth` cached ones and lets its
 * queries attend over all of them: what decoding costs in attention, without the
 * projections and the rotation. The step is done over and over at the same position
 * of the same layer, so the processor's caches are as warm as their size allows.
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
    size_t depth; /* tokens cached before the step */
    uint64_t seed;
};

/* Of one step, from the shapes: keys and values read, the new ones written, queries and
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

/* Output of the last step: [n_head * head_dim] f32. */
const float *attention_case_output(const struct attention_case *c, size_t *nbytes);

/* Compares the output with the definition in double precision over the same cache: false
 * with RML_INTERNAL when it is off by more than 1e-4 of the largest value or not finite. A
 * fast wrong kernel gets no score. */
bool attention_case_verify(const struct attention_case *c, struct rml_error *err);

size_t attention_case_kv_nbytes(const struct attention_case *c); /* pages in use */

#endif
