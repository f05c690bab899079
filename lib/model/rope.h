/*
 * Rotary position embeddings: the table of inverse frequencies and the angles.
 *
 * Pair i of a head turns at inv_freq[i] = theta^(-2i / head_dim) radians a
 * position, changed by the scaling scheme. Frequencies are computed in double
 * precision, the cosine and sine of position * inv_freq[i] with double libm and
 * rounded to f32 (times YaRN's attention factor before rounding), so no
 * precision is lost at long positions. Rotation itself is a kernel.
 */
#ifndef RML_MODEL_ROPE_H
#define RML_MODEL_ROPE_H

#include <stddef.h>

#include "model/model_config.h"

struct rmli_rope {
    uint32_t n_pairs; /* head_dim / 2 */
    double attention_factor;
    double *inv_freq; /* [n_pairs] */
};

/* factors: [n_pairs] for RML_ROPE_SCALING_FACTORS, else NULL. */
bool rmli_rope_init(struct rmli_rope *rope, uint32_t head_dim, double theta,
                    const struct rml_rope_scaling *scaling, const float *factors,
                    struct rml_error *err);
void rmli_rope_release(struct rmli_rope *rope); /* safe on an all-zero struct */

/* cos[i], sin[i] for every pair at that position. */
void rmli_rope_angles(const struct rmli_rope *rope, size_t position, float *cos, float *sin);

#endif
