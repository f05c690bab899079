/*
 * One invocation of rml-bench: a run in the database, and its rows.
 *
 *     struct bench_session session;
 *     if (!bench_session_begin(&session, &options, &plan, n_reps, resume, &err))
 *         return cli_error(&err);
 *     for (each case) {
 *         ... a row, measured or failed ...
 *         if (!bench_session_take(&session, row, &err))
 *             break;
 *     }
 *     return bench_session_end(&session, &err);
 */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include "bench/row.h"
#include "tools/cli/options.h"

struct bench_session {
    const struct cli_options *options;
    struct store *store; /* NULL with --no-db */
    int64_t run_id;
    int64_t model_id;        /* of the plan's checkpoint; 0: none */
    struct bench_row **rows; /* [n_rows], owned */
    size_t n_rows, n_room;
    size_t n_cases; /* expected, for the progress line; 0: not known */
};

/* Opens the database and begins the run of the plan, which outlives the session. Nothing is left
 * behind on failure. */
bool bench_session_begin(struct bench_session *session, const struct cli_options *options,
                         const struct bench_plan *plan, struct rml_error *err);

/* Says on standard error what is measured now. */
void bench_session_announce(const struct bench_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Takes over a row and stores it. The row's text of an error is also told on standard error.
 * False when it cannot be stored: that ends the run.
 */
bool bench_session_take(struct bench_session *session, struct bench_row *row,
                        struct rml_error *err);

/*
 * Ends the run, prints rows and, when *err holds one, the error, and gives everything back.
 * Returns the exit code: cli_interrupted_code() when *err is RML_CANCELLED, 1 with any other
 * error, when a row has the status `error` or when nothing was measured, else 0.
 */
int bench_session_end(struct bench_session *session, const struct rml_error *err);

/* The rows as a JSON document {"host", "build", "rows"}; NULL on failure. */
struct json_t *bench_rows_json(const struct bench_session *session, struct rml_error *err);
/* The rows as a table on standard output. */
void bench_rows_print(const struct bench_session *session);

#endif
