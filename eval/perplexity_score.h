/*
 * From windows to a perplexity in the database: what rml-eval perplexity and the rolling tasks of
 * rml-eval task have in common.
 */
#ifndef EVAL_PERPLEXITY_SCORE_H
#define EVAL_PERPLEXITY_SCORE_H

#include "eval/eval_options.h"
#include "eval/eval_run.h"
#include "eval/perplexity_result.h"

/* Windows that are scored, ascending; *chosen [*n_chosen] is the caller's to free. Items of the
 * selection are windows, in lm-eval's protocol documents: its figures are of whole ones. */
bool perplexity_choose(const struct windows *windows, enum protocol protocol,
                       const struct selection *selection, uint64_t seed, size_t **chosen,
                       size_t *n_chosen, struct rml_error *err);

/* Scores the windows chosen, and stores documents and figures. On failure *result is zero. */
bool perplexity_score(struct perplexity_result *result, struct eval_run *run,
                      const struct eval_task *task, const struct documents *documents,
                      const struct windows *windows, const struct window_settings *settings,
                      const size_t *chosen, size_t n_chosen, struct rml_error *err);

#endif
