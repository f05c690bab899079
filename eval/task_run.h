/*
 * One task of rml-eval task: prepared from its file, encoded for a checkpoint, scored, reported.
 *
 * It only makes items and requests; scoring, keeping and figures are those of rml-eval choices,
 * loglik, generate and perplexity --protocol lm-eval.
 */
#ifndef EVAL_TASK_RUN_H
#define EVAL_TASK_RUN_H

#include "eval/choice_requests.h"
#include "eval/choice_result.h"
#include "eval/generate_keep.h"
#include "eval/generate_result.h"
#include "eval/perplexity_score.h"
#include "eval/task_items.h"

struct cli_output;

struct task_options {
    struct cli_options options;
    struct eval_options eval_options;
    struct choice_rules rules; /* boundary, overlong, chat */
    bool has_num_fewshot;      /* --num-fewshot */
    size_t num_fewshot, n_batch;
    bool double_bos; /* --compat double-bos */
};

struct task_run {
    struct task_config config;
    struct task_docs docs;
    struct task_items items;
    size_t *chosen, n_chosen; /* of the items; of a rolling task the windows */
    struct json_t *settings;

    /* By output type, one of: */
    struct choice_rules rules;
    struct choice_requests choices;
    struct generate_rules generate_rules;
    struct generate_requests prompts;
    struct window_settings window_settings;
    struct windows windows;
};

/* Reads the file, the documents and makes every prompt. */
bool task_run_prepare(struct task_run *task, const char *file, const struct task_options *options,
                      struct rml_error *err);
/* Encodes what --limit and --shard choose. options->rules.chat is settled. */
bool task_run_encode(struct task_run *task, const struct eval_engine *engine,
                     const struct task_options *options, struct rml_error *err);
/* Scores and stores within a run; *result gets the figures as printed, lines of --items go to
 * `items` (NULL: none). */
bool task_run_score(struct task_run *task, struct eval_engine *engine, struct eval_run *run,
                    const struct task_options *options, const struct cli_output *items,
                    struct json_t **result, struct rml_error *err);
void task_run_release(struct task_run *task); /* safe on a zero struct */

#endif
