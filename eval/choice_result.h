/*
 * From log-likelihoods of choices to picks and accuracies.
 */
#ifndef EVAL_CHOICE_RESULT_H
#define EVAL_CHOICE_RESULT_H

#include "eval/choice_requests.h"
#include "eval/eval_run.h"

struct json_t;

/* What a choice is picked by; the first of equals. */
enum choice_metric {
    CHOICE_ACC,             /* log-likelihood */
    CHOICE_ACC_NORM,        /* by characters (code points) of the choice, without delimiter */
    CHOICE_ACC_BYTES,       /* by its UTF-8 bytes */
    CHOICE_ACC_TOKEN,       /* by the tokens scored */
    CHOICE_ACC_MUTUAL_INFO, /* minus the log-likelihood of the choice alone */
    CHOICE_ACC_HELLASWAG,   /* by the tokens after the common prefix of all choices */
    N_CHOICE_METRICS
};
const char *choice_metric_name(enum choice_metric metric); /* "acc_norm" */

/* Of one item that was scored. */
struct choice_outcome {
    const struct choice_slots *slots;
    size_t picks[N_CHOICE_METRICS];
    bool right[N_CHOICE_METRICS];
};

struct choice_result {
    struct choice_outcome *outcomes; /* [n] in order of the items */
    size_t n;
    bool has[N_CHOICE_METRICS]; /* which metrics there are */
    bool is_grouped;            /* some item has a group: standard errors are clustered by it */
    double mean[N_CHOICE_METRICS], standard_error[N_CHOICE_METRICS];
};

/* No bit depends on the order of the items. Standard errors are clustered where items have groups. */
bool choice_result_init(struct choice_result *result, const struct choice_items *items,
                        const struct choice_requests *requests, const struct eval_scores *scores,
                        bool mutual_info, bool hellaswag, struct rml_error *err);
void choice_result_release(struct choice_result *result);
/* Of an item; NULL when it was skipped. */
const struct choice_outcome *choice_result_of(const struct choice_result *result,
                                              const struct choice_slots *slots);

/* One line of --items; `outcome` NULL for an item that was skipped. */
struct json_t *choice_item_json(const struct choice_items *items,
                                const struct choice_requests *requests,
                                const struct choice_slots *slots,
                                const struct choice_outcome *outcome,
                                const struct eval_scores *scores);

/* Documents with their figures, and the task's. */
bool choice_result_store(const struct choice_result *result, struct eval_run *run,
                         const struct eval_task *task, const struct choice_items *items,
                         struct rml_error *err);

#endif
