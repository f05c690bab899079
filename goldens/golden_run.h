/*
 * The run in the results database that a check or a recording is.
 */
#ifndef GOLDENS_GOLDEN_RUN_H
#define GOLDENS_GOLDEN_RUN_H

#include "goldens/golden_engine.h"
#include "goldens/golden_file.h"
#include "results/store.h"
#include "tools/cli/options.h"

struct golden_verdict;

struct golden_run {
    struct store *store; /* NULL with --no-db: then all of this does nothing */
    int64_t run_id;
    int64_t model_id; /* of model_sha256 */
    char model_sha256[65];
};

/* Opens the database and inserts the run, before any work. */
bool golden_run_begin(struct golden_run *run, const struct cli_options *options,
                      struct rml_error *err);

/* Adds the outcome of a case: a row for each of logits, greedy, residual and text that it
 * has. */
bool golden_run_add(struct golden_run *run, struct golden_engine *engine,
                    const struct golden *golden, const struct golden_verdict *verdict,
                    size_t case_index, struct rml_error *err);

/* Ends the run and closes the database; returns the program's exit code, which is CLI_ERROR,
 * with the error printed, when the database does not take it. */
int golden_run_end(struct golden_run *run, int exit_code);

#endif
