/*
 * What becomes of a task's scores: its figures, its documents in the database, lines of --items.
 */
#ifndef EVAL_TASK_REPORT_H
#define EVAL_TASK_REPORT_H

#include "eval/task_run.h"

struct task_report {
    const struct task_run *task;
    const struct eval_engine *engine;
    const struct chat_options *chat;
    const struct cli_output *items; /* NULL: no lines */
    struct json_t *result;          /* figures are added */
};

bool task_report_choices(const struct task_report *report, struct eval_run *run,
                         const struct eval_task *row, const struct eval_scores *scores,
                         struct rml_error *err);
/* acc: every token of the target is the likeliest; perplexity: exp of minus the mean. */
bool task_report_pairs(const struct task_report *report, struct eval_run *run,
                       const struct eval_task *row, const struct eval_scores *scores,
                       struct rml_error *err);
/* What is stored of these two is so already. */
bool task_report_replies(const struct task_report *report, const struct generate_result *result,
                         struct rml_error *err);
bool task_report_documents(const struct task_report *report, const struct perplexity_result *result,
                           struct rml_error *err);

#endif
