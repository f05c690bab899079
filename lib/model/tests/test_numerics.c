/*
 * A tripwire, not a proof: the bits of the logits of a few toys are those of
 * RML_NUMERICS_VERSION. That the numbers are right is for the goldens to say; this test says
 * that they have moved. After a change that moves them on purpose, raise the version and commit
 * the hashes that the failing test prints.
 *
 * Every instruction set gives the same bits, so there is one hash for all of them.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/content_hash.h"
#include "kernels/kernels.h"
#include "model/decoder.h"
#include "model/numerics.h"

enum { N_TOKENS = 100, MAX_VOCAB = 64 };

static const struct {
    const char *fixture;
    enum rml_arithmetic arithmetic;
    enum rml_kv_dtype k_dtype, v_dtype;
    const char *sha256; /* of the f32 logits of all positions */
} cases[] = {
    {"llama/model.gguf", RML_ARITHMETIC_F32, RML_KV_F32, RML_KV_F32,
     "9814793c73af5d9294b127543ad0907da8f677ec4d624b5d39de828d728bd157"},
    {"gemma3/model.gguf", RML_ARITHMETIC_F32, RML_KV_F16, RML_KV_F16,
     "2c4e852ec1ef067ee7ceb91b3465253f27420fa0b864d7015372910d3fc0bae7"},
    {"qwen3_moe/hf", RML_ARITHMETIC_F32, RML_KV_I8, RML_KV_I8,
     "c412718430c7951d4c80abe3e2fd22042ebd8f5eda62cd3d4798cc2ab849b255"},
    {"olmoe/hf", RML_ARITHMETIC_F32, RML_KV_F16, RML_KV_I8,
     "c7cc96e26537f6ee0bb627750c325bd43223744fab3cf1d0ed1724fb498f1176"},
    {"llama-q4_1/model.gguf", RML_ARITHMETIC_I8, RML_KV_F32, RML_KV_F32,
     "27782000ca00782262bcd446f311ea4a522abe828a53ecb5fc57657f591b7d0d"},
    {"llama-q8_0/model.gguf", RML_ARITHMETIC_I8, RML_KV_F16, RML_KV_F16,
     "bb92f4d48aadd67a0cacb6e82d3c47d0a16f499262f884c3ad475bba79d6249d"},
    {"llama-q4_k/model.gguf", RML_ARITHMETIC_I8, RML_KV_F32, RML_KV_F32,
     "44b20a81c79e982905e08cf21178549d7f36bed1016ae8d7f8c20d5d57beb631"},
    {"llama-q6_k/model.gguf", RML_ARITHMETIC_I8, RML_KV_I8, RML_KV_F16,
     "8c03d304f5257a1db7eefc84c67e2431c8e4727fa4d631f7855bf25653cec6ae"},
    {"llama-iq4_xs/model.gguf", RML_ARITHMETIC_I8, RML_KV_F32, RML_KV_F32,
     "12bbb3be3100ec913571bdf1fba5c3628559b783793a80dc99101d5057fcedeb"},
};

static void hash_of_case(size_t i, char hex[65])
{
    struct rml_error err = RML_ERROR_INIT;
    char path[4096];
    const char *source = getenv("RML_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/goldens/fixtures/%s", source ? source : ".", cases[i].fixture);
    struct rml_checkpoint *cp = rml_checkpoint_open(path, &err);
    struct rml_model *model = cp ? rml_model_load(cp, &err) : NULL;
    cr_assert(model, "%s: %s", err.file, err.message);
    struct rml_thread_pool *pool = rml_thread_pool_create(2, &err);
    const struct rml_context_params params = {.arithmetic = cases[i].arithmetic};
    struct rml_context *context = rml_context_create(model, pool, &params, &err);
    struct rml_kv_shape shape = rml_model_kv_shape(model, cases[i].k_dtype, cases[i].v_dtype);
    struct rml_kv_cache *cache = rml_kv_cache_create(&shape, 2, &err);
    struct rml_sequence *sequence = rml_sequence_create(cache, N_TOKENS, &err);
    int32_t tokens[N_TOKENS];
    static float logits[N_TOKENS * MAX_VOCAB];
    for (int t = 0; t < N_TOKENS; t++)
        tokens[t] = (t * 37 + 5) % MAX_VOCAB;
    cr_assert(rml_forward_tokens(context, sequence, tokens, N_TOKENS, true, logits, &err), "%s",
              err.message);
    cr_assert(rmli_sha256_bytes(logits, sizeof logits, hex, &err));
    rml_sequence_destroy(sequence);
    rml_kv_cache_destroy(cache);
    rml_context_destroy(context);
    rml_thread_pool_destroy(pool);
    rml_model_destroy(model);
}

Test(numerics, bits_are_those_of_the_version)
{
    for (enum rml_isa isa = RML_ISA_REF; isa < RML_N_ISAS; isa++) {
        if (!rmli_kernels_for(isa)) {
            fprintf(stderr, "skipped: no %s kernels on this machine\n", rml_isa_name(isa));
            continue;
        }
        setenv("RML_CPU", rml_isa_name(isa), 1);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            char hex[65];
            hash_of_case(i, hex);
            cr_expect_str_eq(hex, cases[i].sha256, "%s, %s: version %d had another hash than %s",
                             cases[i].fixture, rml_isa_name(isa), RML_NUMERICS_VERSION, hex);
        }
    }
}
