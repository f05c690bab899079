/*
 * Shapes of real models, for decoders with random weights.
 */
#ifndef BENCH_DECODER_SHAPES_H
#define BENCH_DECODER_SHAPES_H

#include "rml.h"

/* Ends with a NULL name. The first is the default: two layers of TinyLlama 1.1B with a vocabulary
 * of 8192, which a small machine measures in seconds. */
struct decoder_shape {
    const char *name;
    /* Rotation has no limit of its own, so n_context is larger than the model's. */
    void (*set)(struct rml_model_config *config);
};
extern const struct decoder_shape decoder_shapes[];

const struct decoder_shape *decoder_find_shape(const char *name); /* NULL: not known */

#endif
