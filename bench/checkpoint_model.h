/*
 * The checkpoint that a plan is about.
 */
#ifndef BENCH_CHECKPOINT_MODEL_H
#define BENCH_CHECKPOINT_MODEL_H

#include "bench/plan.h"
#include "results/store.h"

/* Opens and loads a checkpoint; NULL on failure. */
struct rml_model *bench_open_model(const char *path, struct rml_error *err);
/* The same, and makes it the plan's, with its hash (cached between runs). */
struct rml_model *bench_load_model(struct bench_plan *plan, const char *path,
                                   struct rml_error *err);

/* Makes the checkpoint the plan's, unless its hash would have to be computed or it is no model that
 * can be loaded: for cases that are not about its weights. Call it when the cases are listed: they
 * then have keys without a model. */
void bench_recognise_model(struct bench_plan *plan, const char *path);

/* As store_add_model. */
int64_t bench_store_model(struct store *store, int64_t run_id, const struct bench_model *m,
                          struct rml_error *err);

#endif
