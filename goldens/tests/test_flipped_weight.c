/*
 * A checkpoint with one weight flipped: the check names the layer and branch that
 * the weight is in, for every tensor of toys that together have every kind.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "goldens/golden_capture.h"
#include "goldens/tests/flipped_checkpoint.h"

#define N_TOKENS 64 /* each id of a toy once, so that every expert is chosen */

struct fixed {
    struct rml_thread_pool *pool;
    struct golden_case golden; /* recorded from the unharmed toy */
    struct golden_settings settings;
    int32_t tokens[N_TOKENS];
    char name[8];
};

static void configure(struct golden_engine *engine)
{
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(golden_engine_configure(engine, RML_ARITHMETIC_F32, RML_KV_F32, RML_KV_F32,
                                      N_TOKENS + 8, &err),
              "%s", err.message);
}

static void record(struct fixed *fixed, struct golden_engine *engine)
{
    struct rml_error err = RML_ERROR_INIT;
    uint32_t n_vocab = rml_model_config(engine->model)->n_vocab;
    for (size_t i = 0; i < N_TOKENS; i++)
        fixed->tokens[i] = (int32_t)((i * 37 + 5) % n_vocab);
    strcpy(fixed->name, "case");
    fixed->golden =
        (struct golden_case){.name = fixed->name, .tokens = fixed->tokens, .n_tokens = N_TOKENS};
    const struct golden_capture_settings capture = {.n_top = 8, .n_greedy = 4, .residual = true};
    struct golden_deviation nonfinite;
    configure(engine);
    cr_assert(golden_capture_case(engine, &capture, &fixed->golden, &nonfinite, &err), "%s",
              err.message);
    cr_assert_eq(nonfinite.kind, GOLDEN_NO_DEVIATION);
}

static void release(struct fixed *fixed)
{
    for (size_t i = 0; i < fixed->golden.n_positions; i++) {
        free(fixed->golden.positions[i].ids);
        free(fixed->golden.positions[i].logits);
    }
    free(fixed->golden.positions);
    free(fixed->golden.greedy);
    free(fixed->golden.residual);
}

/* Where a tensor of this name has its effect, written down apart from the library. */
static void expected_place(const char *tensor, int n_layer, int *layer, const char **branch)
{
    *layer = n_layer;
    if (strcmp(tensor, "token_embd.weight") == 0) {
        *layer = -1;
        *branch = "embedding";
    } else if (strcmp(tensor, "output_norm.weight") == 0) {
        *branch = "output";
    } else if (strcmp(tensor, "output.weight") == 0) {
        *branch = "head";
    } else if (strcmp(tensor, "rope_freqs.weight") == 0) {
        *layer = 0;
        *branch = "attention";
    } else {
        char part[64];
        cr_assert_eq(sscanf(tensor, "blk.%d.%63s", layer, part), 2, "%s", tensor);
        bool attention =
            strncmp(part, "attn", 4) == 0 || strncmp(part, "post_attention_norm", 19) == 0;
        cr_assert(attention || strncmp(part, "ffn_", 4) == 0 ||
                      strncmp(part, "post_ffw_norm", 13) == 0,
                  "%s", tensor);
        *branch = attention ? "attention" : "feed_forward";
    }
}

static struct golden_outcome check_bytes(struct fixed *fixed, const uint8_t *bytes, size_t nbytes)
{
    char path[] = "/tmp/rml-flipped-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    close(fd);
    write_bytes(path, bytes, nbytes);
    struct rml_error err = RML_ERROR_INIT;
    struct golden_engine engine;
    struct golden_outcome outcome;
    cr_assert(golden_engine_init(&engine, path, fixed->pool, &err), "%s", err.message);
    configure(&engine);
    cr_assert(golden_compare_case(&engine, &fixed->golden, &fixed->settings, &outcome, &err), "%s",
              err.message);
    golden_engine_release(&engine);
    unlink(path);
    return outcome;
}

static void harm(struct fixed *fixed, const uint8_t *original, size_t nbytes,
                 const struct rml_tensor_info *tensor, size_t element, int n_layer, bool nan)
{
    uint8_t *bytes = malloc(nbytes);
    cr_assert_not_null(bytes);
    memcpy(bytes, original, nbytes);
    if (strcmp(tensor->name, "rope_freqs.weight") == 0)
        flip_exponent(bytes, tensor, element); /* another sign, or NaN, is refused when loading */
    else if (nan)
        put_nan(bytes, tensor, element);
    else
        flip_sign(bytes, tensor, element);
    struct golden_outcome outcome = check_bytes(fixed, bytes, nbytes);
    free(bytes);

    int layer;
    const char *branch;
    char text[256];
    expected_place(tensor->name, n_layer, &layer, &branch);
    golden_deviation_text(&outcome.first, text, sizeof text);
    cr_expect_not(outcome.passed, "%s[%zu]: passed", tensor->name, element);
    cr_expect(outcome.first.branch && outcome.first.layer == layer &&
                  strcmp(outcome.first.branch, branch) == 0,
              "%s[%zu]: layer %d, %s expected: %s", tensor->name, element, layer, branch, text);
    if (nan && strcmp(tensor->name, "rope_freqs.weight") != 0)
        cr_expect_eq(outcome.first.kind, GOLDEN_NONFINITE, "%s: %s", tensor->name, text);
}

/* One weight of each tensor; of the embedding one that the prompt uses; of stacked experts one
 * of each. */
static void harm_each(const char *toy, bool nan)
{
    char path[64];
    snprintf(path, sizeof path, "%s/model.gguf", toy);
    struct rml_error err = RML_ERROR_INIT;
    struct fixed fixed = {.settings = {.logit_abs = 2e-4,
                                       .logsumexp_abs = 2e-4,
                                       .residual_rel = 2e-5,
                                       .compare_residual = true}};
    fixed.pool = rml_thread_pool_create(1, &err);
    cr_assert_not_null(fixed.pool, "%s", err.message);
    struct golden_engine engine;
    cr_assert(golden_engine_init(&engine, fixture(path), fixed.pool, &err), "%s", err.message);
    record(&fixed, &engine);

    size_t nbytes;
    uint8_t *original = read_bytes(fixture(path), &nbytes);
    struct golden_outcome unharmed = check_bytes(&fixed, original, nbytes);
    cr_expect(unharmed.passed);
    cr_expect_eq(unharmed.first.kind, GOLDEN_NO_DEVIATION);
    cr_expect_eq(unharmed.max_residual_error, 0);

    const struct rml_checkpoint *cp = rml_model_checkpoint(engine.model);
    int n_layer = (int)rml_model_config(engine.model)->n_layer;
    for (size_t t = 0; t < rml_checkpoint_n_tensors(cp); t++) {
        const struct rml_tensor_info *tensor = rml_checkpoint_tensor(cp, t);
        size_t n = 1, n_parts = tensor->n_dims == 3 ? tensor->dims[0] : 1;
        for (int d = 0; d < tensor->n_dims; d++)
            n *= tensor->dims[d];
        n /= n_parts;
        size_t first = 0;
        if (strcmp(tensor->name, "token_embd.weight") == 0) {
            n = tensor->dims[1];
            first = (size_t)fixed.tokens[0] * n;
        }
        for (size_t part = 0; part < n_parts; part++)
            harm(&fixed, original, nbytes, tensor, greatest_element(tensor, first + part * n, n),
                 n_layer, nan);
    }
    free(original);
    release(&fixed);
    golden_engine_release(&engine);
    rml_thread_pool_destroy(fixed.pool);
}

Test(flipped_weight, llama_rope_factors)
{
    harm_each("llama", false);
}
Test(flipped_weight, gemma3_sandwich_norms_and_tied_head)
{
    harm_each("gemma3", false);
}
Test(flipped_weight, qwen2_biases)
{
    harm_each("qwen2", false);
}
Test(flipped_weight, qwen3_head_norms)
{
    harm_each("qwen3", false);
}
Test(flipped_weight, mixtral_experts)
{
    harm_each("mixtral", false);
}
Test(flipped_weight, olmoe_whole_norms_and_experts)
{
    harm_each("olmoe", false);
}
Test(flipped_weight, qwen3_moe_experts)
{
    harm_each("qwen3_moe", false);
}

/* A NaN is named as such, at the place where it enters the stream. */
Test(nan_weight, llama)
{
    harm_each("llama", true);
}
Test(nan_weight, gemma3)
{
    harm_each("gemma3", true);
}
Test(nan_weight, mixtral)
{
    harm_each("mixtral", true);
}
