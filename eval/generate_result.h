/*
 * From replies to verdicts: exact_match, by each way of making an answer of a reply.
 */
#ifndef EVAL_GENERATE_RESULT_H
#define EVAL_GENERATE_RESULT_H

#include "eval/answer_pipeline.h"
#include "eval/choice_items.h"
#include "eval/eval_run.h"
#include "eval/generate_requests.h"

struct json_t;

/* What was replied to one item. */
struct generate_outcome {
    const struct choice_item *item;
    struct rml_bytes reply, answers[ANSWER_MAX_PIPELINES];
    const char *finish;
    double exact_match[ANSWER_MAX_PIPELINES]; /* 0 or 1; NaN without an accepted answer */
};

struct generate_result {
    struct generate_outcome *outcomes; /* [n] in order of the requests */
    size_t n, n_judged, n_tokens, n_truncated;
    bool is_grouped; /* some judged item has a group: standard errors are clustered by it */
    double mean[ANSWER_MAX_PIPELINES], standard_error[ANSWER_MAX_PIPELINES];
};

/* items->items[chosen[i]] is what request i asks. */
bool generate_result_init(struct generate_result *result, const struct eval_engine *engine,
                          const struct generate_rules *rules, const struct answer_judge *judge,
                          const struct choice_items *items, const size_t *chosen,
                          const struct generate_requests *requests, struct rml_error *err);
void generate_result_release(struct generate_result *result);

/* "exact_match", or with several pipelines "exact_match,NAME". */
const char *generate_metric_name(const struct answer_judge *judge, size_t pipeline,
                                 char buffer[96]);

/* A line of --items. */
struct json_t *generate_item_json(const struct generate_result *result,
                                  const struct answer_judge *judge,
                                  const struct generate_requests *requests, size_t i);

/* Documents with their verdicts, and the task's figures. */
bool generate_result_store(const struct generate_result *result, const struct answer_judge *judge,
                           struct eval_run *run, const struct eval_task *task,
                           const struct choice_items *items, struct rml_error *err);

#endif
