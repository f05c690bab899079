/*
 * Frequencies of the rotary embeddings and their scalings.
 *
 *   llama3   Meta's Llama 3.1: turns over the original context decide; between
 *            low_freq_factor and high_freq_factor turns the slowed and the
 *            original frequency are blended
 *   yarn     Peng et al., arXiv:2309.00071: the blend runs linearly along the
 *            pair's index, between the (fractional) pairs that complete
 *            beta_fast and beta_slow turns within the original context
 */
#include "model/rope.h"

#include <math.h>

#include "base/memory.h"

static const double two_pi = 6.283185307179586476925286766559;

/* Slowed by the factor where `blend` is 0, unchanged where it is 1. */
static double blended(double inv_freq, double factor, double blend)
{
    return inv_freq / factor * (1 - blend) + inv_freq * blend;
}

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

static void scale_llama3(struct rmli_rope *rope, const struct rml_rope_scaling *s)
{
    for (uint32_t i = 0; i < rope->n_pairs; i++) {
        double n_turns = s->original_context * rope->inv_freq[i] / two_pi;
        double blend = (n_turns - s->low_freq_factor) / (s->high_freq_factor - s->low_freq_factor);
        rope->inv_freq[i] = blended(rope->inv_freq[i], s->factor, clamp(blend, 0, 1));
    }
}

/* The index of the pair, as a real number, that turns n times within the
 * original context: theta^(-2i / head_dim) * context = 2 pi n, solved for i. */
static double pair_with_turns(double n_turns, uint32_t head_dim, double theta, double context)
{
    return head_dim * log(context / (two_pi * n_turns)) / (2 * log(theta));
}

static void scale_yarn(struct rmli_rope *rope, uint32_t head_dim, double theta,
                       const struct rml_rope_scaling *s)
{
    double first = pair_with_turns(s->beta_fast, head_dim, theta, s->original_context);
    double last = pair_with_turns(s->beta_slow, head_dim, theta, s->original_context);
    if (s->truncate) {
        first = floor(first);
        last = ceil(last);
    }
    first = fmax(first, 0);
    last = fmin(last, head_dim - 1.0); /* not n_pairs - 1: as the paper's code has it */
    if (first == last)
        last += 0.001;
    for (uint32_t i = 0; i < rope->n_pairs; i++) {
        double slowed = clamp((i - first) / (last - first), 0, 1);
        rope->inv_freq[i] = blended(rope->inv_freq[i], s->factor, 1 - slowed);
    }
    rope->attention_factor = s->attention_factor;
}

static bool all_finite_and_positive(const struct rmli_rope *rope)
{
    for (uint32_t i = 0; i < rope->n_pairs; i++)
        if (!(rope->inv_freq[i] > 0) || !isfinite(rope->inv_freq[i]))
            return false;
    return rope->attention_factor > 0 && isfinite(rope->attention_factor);
}

bool rmli_rope_init(struct rmli_rope *rope, uint32_t head_dim, double theta,
                    const struct rml_rope_scaling *scaling, const float *factors,
                    struct rml_error *err)
{
    *rope = (struct rmli_rope){0};
    if (scaling->type == RML_ROPE_SCALING_FACTORS && !factors)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "rope scaling by factors, but there are none");
    struct rmli_rope r = {.n_pairs = head_dim / 2, .attention_factor = 1};
    r.inv_freq = rmli_alloc(r.n_pairs, sizeof *r.inv_freq, err);
    if (!r.inv_freq)
        return false;
    for (uint32_t i = 0; i < r.n_pairs; i++)
        r.inv_freq[i] = pow(theta, -2.0 * i / head_dim);

    switch (scaling->type) {
    case RML_ROPE_SCALING_NONE:
        break;
    case RML_ROPE_SCALING_LINEAR:
        for (uint32_t i = 0; i < r.n_pairs; i++)
            r.inv_freq[i] /= scaling->factor;
        break;
    case RML_ROPE_SCALING_LLAMA3:
        scale_llama3(&r, scaling);
        break;
    case RML_ROPE_SCALING_FACTORS:
        for (uint32_t i = 0; i < r.n_pairs; i++)
            r.inv_freq[i] /= (double)factors[i];
        break;
    case RML_ROPE_SCALING_YARN:
        scale_yarn(&r, head_dim, theta, scaling);
        break;
    }
    if (!all_finite_and_positive(&r)) {
        rmli_rope_release(&r);
        return rmli_fail(
            err, RML_INVALID_ARGUMENT, NULL, -1,
            "a rotary base of %g, scaling factor of %g and attention factor of %g give "
            "frequencies that are no positive numbers",
            theta, scaling->factor, scaling->attention_factor);
    }
    *rope = r;
    return true;
}

void rmli_rope_release(struct rmli_rope *rope)
{
    rmli_free(rope->inv_freq);
    *rope = (struct rmli_rope){0};
}

void rmli_rope_angles(const struct rmli_rope *rope, size_t position, float *cos_out, float *sin_out)
{
    for (uint32_t i = 0; i < rope->n_pairs; i++) {
        double angle = (double)position * rope->inv_freq[i];
        cos_out[i] = (float)(cos(angle) * rope->attention_factor);
        sin_out[i] = (float)(sin(angle) * rope->attention_factor);
    }
}
