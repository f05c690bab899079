/*
 * What is made of a reply before it is compared: a few steps in order, as in a filter_list of
 * lm-eval whose end is take_first.
 */
#ifndef EVAL_ANSWER_PIPELINE_H
#define EVAL_ANSWER_PIPELINE_H

#include "eval/answer_match.h"

#define ANSWER_MAX_STEPS 8
#define ANSWER_MAX_PIPELINES 8
#define ANSWER_MAX_NAME 80 /* bytes of a pipeline's name, which is part of its figures' */

enum answer_step_kind { STEP_REGEX, STEP_STRIP, STEP_LOWER, STEP_UPPER };
struct answer_step {
    enum answer_step_kind kind;
    struct answer_matcher *matcher; /* of STEP_REGEX, owned */
};

struct answer_pipeline {
    const char *name; /* borrowed, at most ANSWER_MAX_NAME bytes */
    struct answer_step steps[ANSWER_MAX_STEPS];
    size_t n_steps;
};

/* How replies are judged. */
struct answer_judge {
    struct answer_pipeline pipelines[ANSWER_MAX_PIPELINES];
    size_t n;                           /* at least 1 */
    struct answer_matcher *exact_match; /* how an answer is compared, owned */
};
void answer_judge_release(struct answer_judge *judge); /* safe on a zero struct */

/* Appends the answer that a pipeline makes of a reply (UTF-8). */
bool answer_pipeline_apply(const struct answer_pipeline *pipeline, const char *reply, size_t nbytes,
                           struct rml_bytes *answer, struct rml_error *err);

#endif
