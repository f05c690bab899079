/*
 * One invocation of rml-bench: a run in the database, and its rows.
 *
 *     struct bench_session session;
 *     if (!bench_session_begin(&session, &options, &plan, n_reps, profile, resume, label,
 *                              &err))
 *         return cli_error(&err);
 *     for (each case) {
 *         ... a row, measured or failed ...
 *         if (!bench_session_take(&session, row, &err))
 *             break;
 *     }
 *     return bench_session_end(&session, NULL, &err);
 */
#ifndef BENCH_BENCH_RUN_H
#define BENCH_BENCH_RUN_H

#include "bench/row.h"
#include "tools/cli/options.h"

struct bench_session {
    const struct cli_options *options;
    struct store *store; /* NULL with --no-db */
    int64_t run_id;
    bool resumed;            /* the run had been begun before */
    int64_t model_id;        /* of the plan's checkpoint; 0: none */
    struct bench_row **rows; /* [n_rows], owned */
    size_t n_rows, n_room;
};

/*
 * Opens the database and begins the run of the plan, which outlives the session; `resume`: goes on
 * with the newest unfinished one of the same plan, number of repetitions and profiling, if there is
 * one. label: of the run; NULL: none. Nothing is left behind on failure.
 */
bool bench_session_begin(struct bench_session *session, const struct cli_options *options,
                         const struct bench_plan *plan, int n_reps, bool profile, bool resume,
                         const char *label, struct rml_error *err);

/* Takes the row of a case that the resumed run has already, with its samples; *found: whether it
 * has. */
bool bench_session_recall(struct bench_session *session, const struct bench_spec *spec, bool *found,
                          struct rml_error *err);

/*
 * Takes over a row and stores it. The row's text of an error is also told on standard error.
 * False when it cannot be stored: that ends the run.
 */
bool bench_session_take(struct bench_session *session, struct bench_row *row,
                        struct rml_error *err);

/*
 * Ends the run, prints rows (and writes `outputs`) and, when *err holds one, the error, and gives
 * everything back.
 * Returns the exit code: cli_interrupted_code() when *err is RML_CANCELLED, 1 with any other
 * error, when a row has the status `error` or when nothing was measured, else 0.
 */
struct bench_outputs;
int bench_session_end(struct bench_session *session, struct bench_outputs *outputs,
                      const struct rml_error *err);

/* The rows as a JSON document {"host", "build", "rows"}; NULL on failure. */
json_t *bench_rows_json(const struct bench_session *session, struct rml_error *err);
json_t *bench_row_json(const struct bench_row *row, struct rml_error *err);
/* The rows as a table, to be destroyed. */
struct cli_table *bench_rows_table(const struct bench_session *session);
/* Its profile as a table; NULL when it has none. */
struct cli_table *bench_profile_table(const struct bench_row *row);

#endif
