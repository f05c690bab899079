/*
 * Replies and the database: each is committed when it is there, and found again by its content
 * key by any later run.
 */
#ifndef EVAL_GENERATE_KEEP_H
#define EVAL_GENERATE_KEEP_H

#include "eval/eval_run.h"
#include "eval/generate_pass.h"

struct generate_keep {
    struct eval_run *run;
    const struct eval_task *task;
    const struct generate_rules *rules;
    struct generate_request *requests; /* [n] */
    size_t n, n_done;
    char (*keys)[REQUEST_KEY_NBYTES]; /* [n] */
};

/* Generates what the database does not hold, and stores all. On failure, also by a signal, what
 * was finished is stored. */
bool generate_all(struct eval_run *run, const struct eval_task *task,
                  const struct generate_rules *rules, struct generate_request *requests, size_t n,
                  struct rml_error *err);

#endif
