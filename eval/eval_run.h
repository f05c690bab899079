/*
 * A run of rml-eval in the results database: a row before it is work, every score committed
 * about a second after it is there, scores of earlier runs found by their content key.
 *
 *     struct eval_run run;
 *     if (!eval_run_begin(&run, &options, &eval_options, &err)) ...
 *     struct eval_task task = {.name = "choices", .protocol = "lm-eval", .engine = &engine};
 *     if (!eval_run_add_task(&run, &task, &err)) ...
 *     if (!eval_run_score(&run, &task, requests, n, &scores, NULL, &err)) ...
 *     eval_run_metric(&run, &task, "acc", acc, se, n, &err);
 *     return eval_run_end(&run, exit_code);
 */
#ifndef EVAL_EVAL_RUN_H
#define EVAL_EVAL_RUN_H

#include "eval/eval_engine.h"
#include "eval/request.h"
#include "eval/request_key.h"
#include "eval/scorer.h"
#include "results/store.h"
#include "tools/cli/options.h"

struct eval_run {
    struct store *store; /* NULL with --no-db: nothing is found, nothing kept */
    int64_t run_id;
    bool fresh;        /* --fresh: scores of earlier runs are not looked for */
    size_t n_reused;   /* scores that were found, */
    size_t n_computed; /* and that were not */
};

/* Ends the run, says on standard error which it was, and closes the database. Returns the exit
 * code, which is CLI_ERROR, with the error printed, when the database does not take it. */
int eval_run_end(struct eval_run *run, int exit_code);

/* Says on standard error how much of a task was found in the database: "scores" or what they are;
 * nothing when none was. */
void eval_run_tell_reused(const char *task, size_t n_reused, size_t n_new, const char *what);

struct eval_task {
    const char *name;     /* unique within the run: the column `task` of every table */
    const char *protocol; /* of the row in `eval` */
    struct eval_engine *engine;
    struct eval_engine *base;  /* NULL, or the other side of a comparison */
    const char *base_identity; /* NULL, or what identifies it in keys */
    const char *settings_json; /* an object; NULL: {} */
};

/* The row of `eval`, and the models. */
bool eval_run_add_task(struct eval_run *run, const struct eval_task *task, struct rml_error *err);

/* How a task looks while it runs. */
struct eval_watch {
    /* Adds to the progress line ("ppl 16.4"); called between passes. NULL: nothing. */
    void (*status)(void *user, char *text, size_t nbytes);
    void *user;
    const struct scorer_options *scorer; /* NULL: defaults */
};

/*
 * Scores all n requests: looks each up by its key, computes the rest, and stores all of them as
 * items of this run. (doc_id, choice_idx) are distinct. On failure, also by a signal
 * (RML_CANCELLED), what was finished is stored.
 */
bool eval_run_score(struct eval_run *run, const struct eval_task *task,
                    const struct eval_request *requests, size_t n, struct eval_scores *scores,
                    const struct eval_watch *watch, struct rml_error *err);

/* One figure of the task; value and standard error may be NaN (not defined), n negative. */
bool eval_run_metric(struct eval_run *run, const struct eval_task *task, const char *metric,
                     double value, double standard_error, int64_t n, struct rml_error *err);

#endif
