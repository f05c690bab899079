/*
 * Filling a case of a golden file from what a checkpoint computes.
 */
#ifndef GOLDENS_GOLDEN_CAPTURE_H
#define GOLDENS_GOLDEN_CAPTURE_H

#include "goldens/golden_compare.h"

struct golden_capture_settings {
    size_t n_top; /* greatest logits kept at each position, at most the vocabulary */
    bool all_logits;
    size_t n_greedy;
    bool residual; /* fingerprints of every layer, branch and position */
};

/*
 * Fills positions, greedy steps and residual of a case that has a name and tokens. When a
 * number is not finite, *nonfinite says where, and the case is not to be used. False when it
 * could not be run. What was allocated belongs to the case either way.
 */
bool golden_capture_case(const struct golden_engine *engine,
                         const struct golden_capture_settings *settings, struct golden_case *c,
                         struct golden_deviation *nonfinite, struct rml_error *err);

#endif
