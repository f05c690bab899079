/*
 * Profiles: they count everything, change nothing, and end when they are taken away.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/clock.h"
#include "rml.h"

static void small_config(struct rml_model_config *c, bool experts)
{
    *c = (struct rml_model_config){
        .architecture = "llama",
        .n_vocab = 64,
        .n_embd = 64,
        .n_layer = 2,
        .n_head = 4,
        .n_head_kv = 2,
        .head_dim = 16,
        .n_ff = experts ? 0 : 128,
        .n_context = 256,
        .norm_eps = 1e-5f,
        .embedding_scale = 1,
        .attention_scale = 0.25f,
        .rope_theta = 10000,
        .rope_scaling = {.factor = 1, .attention_factor = 1},
        .sandwich_norms = experts,
        .n_expert = experts ? 4 : 0,
        .n_expert_used = experts ? 2 : 0,
        .n_ff_expert = experts ? 64 : 0,
        .bos = -1,
    };
}

static void pass(struct rml_context *context, struct rml_sequence *sequence, float *logits)
{
    static const int32_t tokens[5] = {1, 2, 3, 60, 7};
    struct rml_error err = RML_ERROR_INIT;
    rml_sequence_truncate(sequence, 0);
    cr_assert(rml_forward_tokens(context, sequence, tokens, 5, false, logits, &err), "%s",
              err.message);
}

Test(profile, adds_up_and_changes_nothing)
{
    struct rml_error err = RML_ERROR_INIT;
    for (int experts = 0; experts < 2; experts++) {
        for (unsigned n_threads = 1; n_threads <= 3; n_threads += 2) {
            static struct rml_model_config config;
            small_config(&config, experts);
            struct rml_model *model = rml_model_random(&config, RML_Q8_0, 3, &err);
            cr_assert(model, "%s", err.message);
            struct rml_thread_pool *pool = rml_thread_pool_create(n_threads, &err);
            struct rml_context *context = rml_context_create(model, pool, NULL, &err);
            struct rml_kv_shape shape = rml_model_kv_shape(model, RML_KV_F16, RML_KV_F16);
            struct rml_kv_cache *cache = rml_kv_cache_create(&shape, 1, &err);
            struct rml_sequence *sequence = rml_sequence_create(cache, 64, &err);
            float plain[64], profiled[64];
            pass(context, sequence, plain);

            struct rml_profile p = {0};
            rml_context_set_profile(context, &p);
            int64_t start_ns = rmli_clock_ns();
            pass(context, sequence, profiled);
            pass(context, sequence, profiled);
            int64_t elapsed_ns = rmli_clock_ns() - start_ns, sum_ns = 0;
            cr_expect(memcmp(plain, profiled, sizeof plain) == 0);
            for (int op = 0; op < RML_N_OPERATIONS; op++) {
                bool is_of_experts = op == RML_OP_ROUTE || op == RML_OP_COMBINE;
                cr_expect((p.wall_ns[op] > 0) == (!is_of_experts || experts), "%s",
                          rml_operation_name((enum rml_operation)op));
                cr_expect(p.wait_ns[op] >= 0 && p.wait_ns[op] <= n_threads * p.wall_ns[op], "%s",
                          rml_operation_name((enum rml_operation)op));
                sum_ns += p.wall_ns[op];
            }
            cr_expect(sum_ns > 0 && sum_ns <= elapsed_ns);

            const struct rml_profile before = p;
            rml_context_set_profile(context, NULL);
            pass(context, sequence, profiled);
            cr_expect(memcmp(&before, &p, sizeof p) == 0);
            cr_expect(memcmp(plain, profiled, sizeof plain) == 0);

            rml_sequence_destroy(sequence);
            rml_kv_cache_destroy(cache);
            rml_context_destroy(context);
            rml_thread_pool_destroy(pool);
            rml_model_destroy(model);
        }
    }
}
