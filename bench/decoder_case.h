/*
 * A decoder, its prefill and its decode.
 *
 * Tokens are drawn from the seed, never one id repeated. Both computations give logits
 * of one row of each sequence an iteration, the last one's.
 */
#ifndef BENCH_DECODER_CASE_H
#define BENCH_DECODER_CASE_H

#include "bench/measure.h"
#include "rml.h"

struct decoder_settings {
    enum rml_arithmetic arithmetic;
    enum rml_kv_dtype k, v;
    size_t n_batch;  /* sequences at once, at least 1 */
    size_t n_prompt; /* tokens of a prefill of each; 0: the case decodes */
    size_t n_gen;    /* tokens of a pass of decoding, at least 1 */
    size_t n_depth;  /* tokens cached before the first of them */
    uint64_t seed;
};

struct decoder_case;

/* The model and the pool are borrowed and outlive the case. */
struct decoder_case *decoder_case_create(const struct rml_model *model,
                                         const struct decoder_settings *settings,
                                         struct rml_thread_pool *pool, struct rml_error *err);
void decoder_case_destroy(struct decoder_case *c); /* NULL is allowed */

/* An iteration is a prefill of n_prompt tokens into empty caches, or one decoded token of each
 * sequence; decoding goes back to n_depth after each n_gen tokens. */
struct bench_work decoder_case_work(struct decoder_case *c);
enum rml_isa decoder_case_isa(const struct decoder_case *c);

/* Logits of the last iteration: [n_batch][n_vocab] f32. */
const float *decoder_case_logits(const struct decoder_case *c, size_t *nbytes);
/* False with RML_INTERNAL when one of them is not finite. */
bool decoder_case_verify(const struct decoder_case *c, struct rml_error *err);

/* Runs so many iterations with the profile on. */
bool decoder_case_profile(struct decoder_case *c, int64_t iters, struct rml_profile *profile,
                          struct rml_error *err);

size_t decoder_case_kv_nbytes(const struct decoder_case *c); /* pages in use */

#endif
