/*
 * What is scored, and what comes of it: the two structs between the commands and the scorer.
 *
 * Every protocol comes down to this: a sequence of ids of which the last ones are targets.
 *
 *     tokens   t[0] ... t[first_target - 1]   t[first_target] ... t[n_tokens - 1]
 *              context, at least one id       each scored: ln p(t[i] | t[0 .. i - 1])
 *
 * The model is fed all but the last. A continuation of a question is scored behind its
 * context; a window of a text behind its first id, or behind the part that the window before
 * has scored.
 */
#ifndef EVAL_REQUEST_H
#define EVAL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eval_request {
    const int32_t *tokens; /* [n_tokens] borrowed */
    size_t n_tokens;       /* at least 2 */
    size_t first_target;   /* in [1, n_tokens - 1] */
    const char *doc_id;    /* borrowed; names it in messages and in the database */
    int64_t choice_idx;    /* number within the document, from 0 */
    size_t n_truncated;    /* ids that were dropped from its beginning, told of in the database */
};

struct eval_score {
    double *logprobs; /* [n_targets]; of a struct eval_scores */
    bool is_greedy;   /* each target is the most probable token, the lowest id of equals */
    bool is_done;
};

/* Scores of n requests, their log-probabilities in one piece of memory. */
struct eval_scores {
    struct eval_score *scores; /* [n] */
    double *values;
};

static inline size_t eval_n_targets(const struct eval_request *request)
{
    return request->n_tokens - request->first_target;
}

/* The number of ids that the model is fed. */
static inline size_t eval_n_fed(const struct eval_request *request)
{
    return request->n_tokens - 1;
}

/* ln p of all targets, added from the first to the last in double precision. */
static inline double eval_loglik(const struct eval_request *request, const struct eval_score *score)
{
    double sum = 0;
    for (size_t i = 0; i < eval_n_targets(request); i++)
        sum += score->logprobs[i];
    return sum;
}

#endif
