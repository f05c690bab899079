/*
 * One side of a KL divergence as it runs: a checkpoint in its settings, and the sequences of the
 * windows that are under way.
 */
#ifndef EVAL_KLD_SIDE_H
#define EVAL_KLD_SIDE_H

#include "eval/eval_engine.h"
#include "eval/kld_schedule.h"
#include "eval/nonfinite.h"

struct kld_side {
    const struct eval_engine *engine; /* borrowed */
    struct rml_context *context;
    bool owns_context;
    struct rml_kv_cache *cache;
    struct rml_sequence *sequences[KLD_MAX_PIECES];
    int64_t run_ns; /* what the last forward pass took, consumer included */
};

/*
 * Room for a schedule whose windows feed at most max_tokens ids, batch_rows a pass. `context`
 * is NULL, or the one of another side with the same model and arithmetic, which outlives this one.
 * On failure *side is all zero.
 *
 * Pages: the window under way holds those of max_tokens at most, and those that begin in a pass
 * hold those of its rows, rounded up for each; untouched ones take no memory.
 */
bool kld_side_init(struct kld_side *side, const struct eval_engine *engine,
                   struct rml_context *context, size_t max_tokens, size_t batch_rows,
                   struct rml_error *err);
void kld_side_release(struct kld_side *side); /* safe on a zero struct */

/* Where logits go: `logits` [sum of n][n_vocab], or, when that is NULL, `consumer`; `bad` is what
 * the consumer stopped for when it returned false. */
struct kld_sink {
    float *logits;
    rml_logits_fn *consumer;
    void *user;
    const struct nonfinite *bad;
};

/* Runs pieces [n >= 1] of a pass; their rows are numbered in order, whatever piece->row says. */
bool kld_side_run(struct kld_side *side, const struct kld_piece *pieces, size_t n,
                  const struct kld_sink *sink, struct rml_error *err);

#endif
