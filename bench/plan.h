/*
 * What is to be measured, as data: a plan is a list of cases, a case is a `bench_spec`.
 *
 * A suite writes the list before anything is measured. So it can be shown (--plan), its
 * incompatible combinations are named at the start, a child process can be told what to open,
 * and a run that was cut short can be gone on with. A spec holds what fixes the work
 * (struct store_case and `params`: the case key is made of them) and estimates of what it takes.
 *
 *     struct bench_spec *spec = bench_plan_add(plan, &suite, "llama-3-8b", err);
 *     if (!spec)
 *         return false;
 *     spec->what.k_dtype = "f16"; ...
 *     bench_spec_params(spec, json_pack("{si}", "head_dim", 128));
 *     spec->bytes_per_iter = ...;
 *     if (...)
 *         bench_spec_skip(spec, "%u columns are no whole blocks of %s", n, name);
 */
#ifndef BENCH_PLAN_H
#define BENCH_PLAN_H

#include <jansson.h>

#include "results/store.h"
#include "rml.h"

struct bench_suite;

struct bench_spec {
    const struct bench_suite *suite;
    struct store_case what; /* texts are static, those below, or of `document` */
    char name[96];
    json_t *params; /* object; what.params_json is its text */
    char *params_json;
    char *skip_reason;        /* NULL: the case can be measured */
    bool ends_with_token;     /* an iteration ends with the first new token: its time is ttft */
    const char *checkpoint;   /* path that the child opens; NULL: none. Borrowed */
    const char *input;        /* another file that the case reads; NULL: none. Borrowed */
    const char *model_sha256; /* its content hash; NULL: none. Borrowed */

    /* Estimates, of which none has to be right; negative: not known. */
    double bytes_per_iter, flops_per_iter;
    int64_t iters_step;   /* iterations of the shortest repetition; 1 at first */
    double open_bytes;    /* written or read to open the case: the weights */
    double memory_nbytes; /* resident in the child at most */

    json_t *document; /* in a child: what the spec was read from */
};

/* The checkpoint that all cases of a plan are about. */
struct bench_model {
    char *path;
    char sha256[65], tokenizer_sha256[65]; /* the second may be "" */
    uint64_t nbytes;
    struct rml_model_config config;
    const char *weight_dtype; /* NULL: not known */
};

struct bench_plan {
    struct bench_spec **specs; /* [n_specs], owned */
    size_t n_specs, n_room;
    struct bench_model *model; /* owned; NULL: no checkpoint */
};

void bench_plan_release(struct bench_plan *plan); /* safe on an all-zero struct */

/* Appends a case of our engine with the best instruction set: batch 1, other counts -1 (they do
 * not apply), estimates not known, the plan's model when it has one. NULL on failure. */
struct bench_spec *bench_plan_add(struct bench_plan *plan, const struct bench_suite *suite,
                                  const char *name, struct rml_error *err);
/* Takes over the object (NULL: out of memory). */
bool bench_spec_params(struct bench_spec *spec, json_t *params, struct rml_error *err);
/* Why the case cannot be measured; the first reason stays. */
void bench_spec_skip(struct bench_spec *spec, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* store_case_key with the model's hash; to be freed, NULL when memory is exhausted. */
char *bench_spec_key(const struct bench_spec *spec);

/* "attention/llama-3-8b f16:i8, depth 512, 2 threads": for messages. */
void bench_spec_describe(const struct bench_spec *spec, char *text, size_t nbytes);
/* The same of two, with what differs as "kv f16:f16 -> i8:i8". */
void bench_spec_describe_pair(const struct bench_spec *base, const struct bench_spec *head,
                              char *text, size_t nbytes);

/* The same plan has the same hash: keys of its cases in order, the number of repetitions, and
 * whether operations are profiled. */
bool bench_plan_sha256(const struct bench_plan *plan, int n_reps, bool profile, char hex[65],
                       struct rml_error *err);

/* ---- For a child ------------------------------------------------------------------------- */

json_t *bench_spec_to_json(const struct bench_spec *spec);
/* A spec whose suite is known to this program: NULL with RML_INVALID_ARGUMENT when it is not, or
 * when a member is missing or of the wrong type. Does not keep a reference of the caller's. */
struct bench_spec *bench_spec_from_json(json_t *document, struct rml_error *err);
void bench_spec_destroy(struct bench_spec *spec); /* NULL is allowed */

/* Members of params; false with RML_INVALID_ARGUMENT when there is no such member in the range. */
bool bench_spec_u64(const struct bench_spec *spec, const char *name, uint64_t min, uint64_t max,
                    uint64_t *value, struct rml_error *err);
bool bench_spec_u32(const struct bench_spec *spec, const char *name, uint32_t max, uint32_t *value,
                    struct rml_error *err);
/* The member "seed", whose bits stand as a signed number; 0 when there is none. */
uint64_t bench_spec_seed(const struct bench_spec *spec);
/* k_dtype and v_dtype; arithmetic. */
bool bench_spec_kv(const struct bench_spec *spec, enum rml_kv_dtype *k, enum rml_kv_dtype *v,
                   struct rml_error *err);
bool bench_spec_arithmetic(const struct bench_spec *spec, enum rml_arithmetic *arithmetic,
                           struct rml_error *err);

#endif
