/* Draws small recipes with random switches, for property tests of the decoder. */
#ifndef RML_MODEL_TESTS_DRAWN_MODEL_H
#define RML_MODEL_TESTS_DRAWN_MODEL_H

#include "base/rng.h"
#include "model/decoder.h"

/* Seed of random tests: RML_TEST_SEED when set, else from the clock; printed, so that a
 * failure can be repeated. */
uint64_t drawn_seed(const char *test);

/* A recipe of few thousand parameters in which every switch of model_config may be on.
 * block: all matrix columns are multiples of it. */
struct rml_model_config drawn_config(struct rmli_rng *rng, uint32_t block);

#endif
