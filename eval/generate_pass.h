/*
 * Replies to many prompts at once: continuous batches, without padding.
 *
 * Each pass decodes one token of every sequence that is alive and prefills prompts for those that
 * have ended. Prompts are taken in the order of their ids, so that what one has in common with the
 * one before it (a few-shot header) is computed once and shared. A reply's bits depend neither on
 * the batch nor on threads nor on what is shared (contract 5 of the architecture), and each has
 * its own seed, so they do not depend on the order either.
 */
#ifndef EVAL_GENERATE_PASS_H
#define EVAL_GENERATE_PASS_H

#include "eval/eval_engine.h"

#define GENERATE_MAX_BATCH 64

struct generate_rules {
    size_t max_tokens;
    const int32_t *stop_ids; /* [n_stop_ids] */
    size_t n_stop_ids;
    const char *const *until; /* [n_until] texts, none empty; the reply ends before the first */
    size_t n_until;
    struct rml_sampler_params sampling; /* its seed is not used: each request has its own */
    size_t n_batch;                     /* sequences at a time, 1 to GENERATE_MAX_BATCH */
};

struct generate_request {
    const char *doc_id; /* borrowed */
    int32_t *ids;       /* [n_prompt + max_tokens] owned; the reply goes behind the prompt */
    size_t n_prompt;
    size_t n_truncated; /* ids that were dropped from its beginning */
    uint64_t seed;
    double *logprobs;   /* [max_tokens] owned, ln p of each token of the reply */
    size_t n_generated; /* tokens of the reply, a stop id included; 0: not done */
};

/* The reply as text: without a stop id, cut before the first of `until`. `finish` gets "stop",
 * "until" or "limit", NULL when the tokens so far end nothing. *text grows. */
bool generate_text(const struct eval_engine *engine, const struct generate_rules *rules,
                   const struct generate_request *request, struct rml_bytes *text,
                   const char **finish, struct rml_error *err);

/* Told of each reply when it is there; returning false ends it. */
typedef bool generate_done_fn(void *user, size_t request, struct rml_error *err);

/* Generates replies to requests[chosen[..]]. A NaN or infinite logit is an error that names item,
 * position and layer; a signal ends it with RML_CANCELLED. */
bool generate_run(const struct eval_engine *engine, const struct generate_rules *rules,
                  struct generate_request *requests, const size_t *chosen, size_t n_chosen,
                  generate_done_fn *done, void *user, struct rml_error *err);

#endif
