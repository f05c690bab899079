/*
 * The run in the results database that a command is.
 */
#ifndef TOOLS_CLI_STORED_RUN_H
#define TOOLS_CLI_STORED_RUN_H

#include "results/store.h"
#include "tools/cli/options.h"

/* Opens the database of the options and begins a run there; seed negative: none. With --no-db
 * *store is NULL, and nothing else is done. *store is NULL after a failure too. */
bool cli_run_begin(const struct cli_options *options, enum store_run_kind kind, int64_t seed,
                   struct store **store, int64_t *run_id, struct rml_error *err);

/* The parts of it, for a command that is several runs: opens the database (*store stays NULL with
 * --no-db); begins a run (*run_id 0 in a NULL store); ends one and returns the exit code as below,
 * without closing the database. label NULL: none. */
bool cli_store_open(const struct cli_options *options, struct store **store, struct rml_error *err);
bool cli_run_add(struct store *store, enum store_run_kind kind, int64_t seed, const char *label,
                 int64_t *run_id, struct rml_error *err);
int cli_run_finish(struct store *store, int64_t run_id, int exit_code);

/* As store_add_model, of a loaded model. sha256: its content hash; tokenizer_sha256 NULL: not
 * known. */
int64_t cli_run_add_model(struct store *store, int64_t run_id, const struct rml_model *model,
                          const char *sha256, const char *tokenizer_sha256, struct rml_error *err);

/* The same where the hash is known without reading all of the checkpoint (it was computed before); else
 * nothing is stored. */
bool cli_run_add_known_model(struct store *store, int64_t run_id, const struct rml_model *model,
                             const char *tokenizer_sha256, struct rml_error *err);

/* Ends the run as the exit code says, and closes the database. Returns the exit code, which is
 * CLI_ERROR, with the error printed, when the database does not take it. */
int cli_run_end(struct store *store, int64_t run_id, int exit_code);

#endif
