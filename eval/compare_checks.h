/*
 * Are two tasks about the same question? Each check names the field that differs.
 */
#ifndef EVAL_COMPARE_CHECKS_H
#define EVAL_COMPARE_CHECKS_H

#include "eval/compare_tasks.h"

/* Protocol, tokenizer where tokens are compared, settings that change what is asked. */
bool compare_check_settings(const struct task_comparison *task, const char *file,
                            struct rml_error *err);

/* The same items on both sides (b has n_b), with the same text, tokens and right answers, each
 * with its figure. */
bool compare_check_pairs(const struct task_comparison *task, const struct json_t *pairs, size_t n_b,
                         const char *file, struct rml_error *err);

/* The figure of an item that tells which choice `metric` is about; NULL: there is none. */
const char *compare_pick_of(const char *metric);

#endif
