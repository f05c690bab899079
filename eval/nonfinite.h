/*
 * A NaN or infinite logit: where it comes from.
 *
 * Such a logit makes every log-probability of its row NaN, which other programs have scored
 * as "the first choice". Here it ends the run. The sequence is run again with a probe on the
 * residual stream, to name the layer in which the first such value appeared.
 */
#ifndef EVAL_NONFINITE_H
#define EVAL_NONFINITE_H

#include "eval/eval_engine.h"
#include "eval/request.h"

struct nonfinite {
    const struct eval_request *request; /* NULL: none */
    size_t position;                    /* the row, counted from the start of its tokens */
    int32_t id;
    float value;
};

/* Always false, with *err saying all of it. */
bool nonfinite_explain(const struct eval_engine *engine, const struct nonfinite *bad,
                       struct rml_error *err);

#endif
