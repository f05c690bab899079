/* One round of speculative decoding; what it does and why it is exact stands in session.h. */
#ifndef RML_GENERATE_SPECULATIVE_H
#define RML_GENERATE_SPECULATIVE_H

#include "generate/cached_tokens.h"
#include "generate/session.h"

struct rmli_speculation {
    struct rmli_cached_tokens draft;
    size_t n_draft;
    size_t n_vocab;
    float *draft_logits; /* [n_vocab] */
    float *logits;       /* [n_draft + 1][n_vocab] the target's */
    double *q;           /* [n_draft][n_vocab] what each guess was drawn from */
    double *p;           /* [n_vocab] the target's distribution at one place */
};

/* Buffers and the draft's cache. On failure *speculation is all zero. */
bool rmli_speculation_init(struct rmli_speculation *speculation,
                           const struct rml_session_params *params, size_t limit,
                           struct rml_error *err);
void rmli_speculation_release(struct rmli_speculation *speculation); /* safe on a zero struct */

/*
 * One round: `pending`, which is not in the target's cache yet, is run there behind at most `most`
 * guesses. out [n_draft + 1] gets the tokens that follow it, *n_out of them (at least 1), of which
 * all but the last are in the target's cache; *n_drafted were guessed. The target's cache has room
 * for `pending`. On failure target and draft hold what they held of the conversation.
 */
bool rmli_speculation_round(struct rmli_speculation *speculation, struct rmli_cached_tokens *target,
                            struct rml_sampler *sampler, int32_t pending, size_t most, int32_t *out,
                            size_t *n_out, size_t *n_drafted, struct rml_error *err);

#endif
