/*
 * One pass over a prompt and its greedy continuation, shown to whoever wants to
 * record or compare it. Never more than a tile of logits is held at a time.
 */
#ifndef GOLDENS_GOLDEN_TRACE_H
#define GOLDENS_GOLDEN_TRACE_H

#include "goldens/golden_engine.h"

/* A place where a number is no number. */
struct golden_place_in_model {
    bool found;
    int layer; /* layer count and "head": only the logit is affected */
    const char *branch;
    size_t position;
    int32_t id;   /* of the logit, for "head"; else -1 */
    double value; /* NaN or an infinity */
};

struct golden_trace {
    const int32_t *tokens; /* [n_tokens] */
    size_t n_tokens;
    const size_t *positions; /* [n_positions] ascending: those whose logits are shown */
    size_t n_positions;
    size_t n_greedy;

    /* Sees the logits [n_vocab] of positions[index]; false: out of memory. */
    bool (*on_logits)(void *user, size_t index, const float *logits);
    rml_residual_fn *on_residual; /* NULL: not looked at; sees the prompt only */
    void *user;

    /* Results */
    int32_t *greedy;           /* [n_greedy] the caller's: ids chosen, of equals the lowest */
    double *greedy_gaps;       /* [n_greedy] the caller's: best minus second best logit */
    size_t n_chosen;           /* less than n_greedy only when a logit was not finite */
    bool nonfinite;            /* a logit was NaN or infinite ... */
    size_t nonfinite_position; /* ... here first */
    int32_t nonfinite_id;
};

/*
 * Runs it, from an empty sequence; the engine is configured for its length. RML_CANCELLED
 * after SIGINT. A number that is not finite is a result, not a failure.
 */
bool golden_trace_run(const struct golden_engine *engine, struct golden_trace *trace,
                      struct rml_error *err);

/* Runs the prompt again to find where a number first stops being finite, by layer, branch and
 * position; a logit of the trace when the residual stream is finite everywhere. */
bool golden_locate_nonfinite(const struct golden_engine *engine, const struct golden_trace *trace,
                             struct golden_place_in_model *place, struct rml_error *err);

#endif
