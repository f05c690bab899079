/*
 * The sampler: from the logits of one position to the next token.
 *
 * The steps are those of Hugging Face's logits processors, in their order; each is off by
 * default:
 *
 *     1. repetition penalty: the logit of each token that the context holds is divided by the
 *        penalty when positive, else multiplied by it (Keskar et al., "CTRL", 2019)
 *     2. temperature: logits are divided by it; 0 takes the best token and skips the rest
 *     3. top-k: the k best tokens stay
 *     4. top-p: of those, best first, as many as it takes to reach the share p of their
 *        probability (Holtzman et al., "The Curious Case of Neural Text Degeneration", 2020)
 *     5. min-p: of those, what has at least min_p times the probability of the best
 *     6. one is drawn
 *
 * "Best" is by logit, and by the lower id among equals, so exactly k tokens stay where Hugging
 * Face keeps all that equal the k-th. Probabilities are kept relative to the best token's, which
 * is exactly 1: exp((logit - best) / temperature), in double precision. The draw adds them up in
 * the order of ids, so equal seeds give equal tokens.
 *
 * Thread rule: a sampler belongs to one thread at a time.
 */
#ifndef RML_GENERATE_SAMPLER_H
#define RML_GENERATE_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct rml_sampler_params {
    double temperature;        /* >= 0; 0: greedy */
    int64_t top_k;             /* >= 0; 0: off */
    double top_p;              /* in (0, 1]; 1: off */
    double min_p;              /* in [0, 1); 0: off */
    double repetition_penalty; /* > 0; 1: off */
    int64_t repetition_window; /* last tokens of the context that it covers; 0: all of them */
    uint64_t seed;
};

/* The model's own distribution: temperature 1, every step off, seed 0. */
/* clang-format off */
#define RML_SAMPLER_DEFAULTS {.temperature = 1, .top_p = 1, .repetition_penalty = 1}
/* clang-format on */

struct rml_sampler;

/* All scratch memory is allocated here, so the calls below allocate none. params NULL:
 * RML_SAMPLER_DEFAULTS. A value outside its range, or no number: RML_INVALID_ARGUMENT. */
struct rml_sampler *rml_sampler_create(size_t n_vocab, const struct rml_sampler_params *params,
                                       struct rml_error *err);
void rml_sampler_destroy(struct rml_sampler *sampler); /* NULL is allowed */
size_t rml_sampler_n_vocab(const struct rml_sampler *sampler);
const struct rml_sampler_params *rml_sampler_params(const struct rml_sampler *sampler);

/* Starts the draws again as if made with this seed. */
void rml_sampler_seed(struct rml_sampler *sampler, uint64_t seed);

/*
 * Draws the token that follows `context` [n_context] (ids in [0, n_vocab); what the repetition
 * penalty looks at) from logits [n_vocab]. A logit of -inf is a token that cannot come; NaN, +inf
 * or nothing but -inf is RML_INVALID_ARGUMENT, as is a wrong id where the penalty looks.
 */
bool rml_sampler_sample(struct rml_sampler *sampler, const float *logits, const int32_t *context,
                        size_t n_context, int32_t *id, struct rml_error *err);

/* The distribution that rml_sampler_sample draws from: probabilities [n_vocab] that sum to 1, 0
 * for what the steps removed, 1 for the best token when greedy. Draws nothing. */
bool rml_sampler_distribution(struct rml_sampler *sampler, const float *logits,
                              const int32_t *context, size_t n_context, double *probabilities,
                              struct rml_error *err);

/* An index drawn in proportion to weights [n], finite and not negative; -1 when all are 0. */
int64_t rml_sampler_draw(struct rml_sampler *sampler, const double *weights, size_t n);

/* A double in [0, 1) from the same generator. */
double rml_sampler_uniform(struct rml_sampler *sampler);

#endif
