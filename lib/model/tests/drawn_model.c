#include "drawn_model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t drawn_seed(const char *test)
{
    const char *given = getenv("RML_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    fprintf(stderr, "%s: RML_TEST_SEED=%" PRIu64 "\n", test, seed);
    return seed;
}

static bool coin(struct rmli_rng *rng)
{
    return rmli_rng_below(rng, 2);
}

static uint32_t between(struct rmli_rng *rng, uint32_t low, uint32_t high)
{
    return low + (uint32_t)rmli_rng_below(rng, high - low + 1);
}

struct rml_model_config drawn_config(struct rmli_rng *rng, uint32_t block)
{
    struct rml_model_config c = {
        .architecture = "llama",
        .n_vocab = between(rng, 16, 100),
        .n_embd = block * between(rng, 1, 2),
        .n_layer = between(rng, 1, 3),
        .n_head_kv = between(rng, 1, 3),
        .n_context = 512,
        .activation = coin(rng) ? RML_SILU : RML_GELU_TANH,
        .norm_eps = 1e-5f,
        .embedding_scale = coin(rng) ? 1 : 3.5f,
        .attention_bias = coin(rng),
        .qk_norm = (enum rml_qk_norm)rmli_rng_below(rng, 3),
        .sandwich_norms = coin(rng),
        .tied_head = coin(rng),
        .rope_pairing = coin(rng) ? RML_ROPE_HALF : RML_ROPE_INTERLEAVED,
        .rope_theta = 10000,
        .rope_local_theta = coin(rng) ? 0 : 500,
        .sliding_window = coin(rng) ? 0 : between(rng, 1, 90),
        .bos = -1,
    };
    /* n_head * head_dim must be whole blocks too. */
    c.head_dim = block >= 32 ? block : 2 * between(rng, 1, 12);
    c.n_head = c.n_head_kv * between(rng, 1, 4);
    c.attention_scale = 1 / sqrtf((float)c.head_dim);
    for (uint32_t l = 0; l < c.n_layer; l++)
        c.sliding_layer[l] = c.sliding_window ? coin(rng) : 0;
    if (coin(rng)) {
        c.n_expert = between(rng, 2, 9);
        c.n_expert_used = between(rng, 1, c.n_expert < 4 ? c.n_expert : 4);
        c.n_ff_expert = block * between(rng, 1, 2);
        c.normalize_expert_weights = coin(rng);
    } else {
        c.n_ff = block * between(rng, 1, 3);
    }
    return c;
}
