/*
 * Scores many requests with one model: the engine of every command.
 *
 * Requests are sorted into a tree of common prefixes (prefix_tree.h); each node is run once
 * and handed on to its children by forking the sequence, which shares pages of keys and
 * values. Passes are filled to a fixed number of rows with whatever nodes are ready, long ones
 * a piece at a time, so there is no padding and no waiting for a longest sequence. Logits come
 * a tile of rows at a time and are reduced at once: memory does not grow with the windows.
 *
 * By contract 5 of the library none of this moves a bit: every score equals, with ==, the one
 * of its request run alone.
 */
#ifndef EVAL_SCORER_H
#define EVAL_SCORER_H

#include "eval/eval_engine.h"
#include "eval/request.h"

struct scorer_options {
    size_t batch_rows;    /* rows of a pass; 0: 512 */
    size_t cache_nbytes;  /* of keys and values that more than one line of the tree may use;
                             0: 1 GiB. One line always fits. */
    bool without_sharing; /* for tests: every request on its own */
};

struct scorer_progress {
    size_t n_done, n_requests; /* of the requests chosen */
    size_t n_rows, n_rows_all; /* ids run so far, and in all */
};

/*
 * Sees requests as they are finished, in no particular order, between passes and on the calling
 * thread: `finished` [n] are indices into the array of requests, whose scores are there; n may
 * be 0. Returning false stops scoring with RML_CANCELLED unless *err says why.
 */
typedef bool scorer_finished_fn(void *user, const size_t *finished, size_t n,
                                const struct scorer_progress *progress, struct rml_error *err);

/*
 * Scores the requests `chosen` [n_chosen] (indices) into scores, whose logprobs the caller has
 * made room for. All ids are in the vocabulary. What is finished when it fails stays so.
 *
 * RML_CANCELLED when `finished` stopped it or a signal came (cli_interrupted). A logit that is
 * NaN or infinite ends it with RML_FORMAT, naming the document, the position and the layer
 * after which the first such value was.
 */
bool scorer_run(const struct eval_engine *engine, const struct eval_request *requests,
                const size_t *chosen, size_t n_chosen, struct eval_score *scores,
                const struct scorer_options *options, scorer_finished_fn *finished, void *user,
                struct rml_error *err);

/* Room for the log-probabilities of all requests. */
bool eval_scores_init(struct eval_scores *scores, const struct eval_request *requests, size_t n,
                      struct rml_error *err);
void eval_scores_release(struct eval_scores *scores);

#endif
