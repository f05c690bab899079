/*
 * A comparison in the database: one row a task, with the candidate's run.
 */
#ifndef EVAL_COMPARE_KEEP_H
#define EVAL_COMPARE_KEEP_H

#include "eval/compare_output.h"

/* The same comparison takes the place of the one before. */
bool compare_keep(const struct compare_report *report, struct store *store, struct rml_error *err);

#endif
