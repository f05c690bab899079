/*
 * Which figure of items two runs of a task are compared by.
 */
#ifndef EVAL_COMPARE_METRIC_H
#define EVAL_COMPARE_METRIC_H

#include "eval/compare_tasks.h"

/*
 * Sets kind, metric and lower_is_better from what both sides have. asked NULL: acc, else
 * exact_match, else the first figure of items by name; of texts perplexity (bits per byte in
 * lm-eval's protocol). A figure that was asked for
 * and that neither side has, or that says nothing of quality, is a mistake of the command line's;
 * else *incomparable tells that the two do not meet.
 */
bool compare_choose_metric(struct task_comparison *task, const char *asked, const char *file,
                           bool *incomparable, struct rml_error *err);

#endif
