/*
 * The work of the suites: right output, and costs worked out by hand.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "bench/attention_case.h"
#include "bench/decoder_case.h"
#include "bench/decoder_cost.h"
#include "bench/decoder_shapes.h"

static const struct attention_shape llama = {"llama-3-8b", 32, 8, 128};
static const struct attention_shape small = {"small", 6, 2, 16};

static void run_once(const struct bench_work *work, int64_t iters)
{
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(!work->prepare || work->prepare(work->arg, &err), "%s", err.message);
    cr_assert(work->run(work->arg, iters, NULL, &err), "%s", err.message);
}

Test(attention_case, output_is_right_for_every_pair_of_cache_types)
{
    static const size_t depths[] = {0, 1, 63, 64, 65, 300};
    struct rml_error err = RML_ERROR_INIT;
    for (unsigned n_threads = 1; n_threads <= 3; n_threads += 2) {
        struct rml_thread_pool *pool = rml_thread_pool_create(n_threads, &err);
        for (int k = 0; k < RML_N_KV_DTYPES; k++) {
            for (int v = 0; v < RML_N_KV_DTYPES; v++) {
                for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++) {
                    const struct attention_settings settings = {.shape = small,
                                                                .k = (enum rml_kv_dtype)k,
                                                                .v = (enum rml_kv_dtype)v,
                                                                .depth = depths[d],
                                                                .n_rows = 1,
                                                                .seed = 5};
                    struct attention_case *c = attention_case_create(&settings, pool, &err);
                    cr_assert(c, "%s", err.message);
                    struct bench_work work = attention_case_work(c);
                    run_once(&work, 3);
                    cr_expect(attention_case_verify(c, &err), "%s", err.message);

                    /* and one that is a little wrong is not */
                    size_t nbytes;
                    float *output = (float *)attention_case_output(c, &nbytes);
                    cr_assert(nbytes == 6 * 16 * sizeof(float));
                    output[95] += output[95] > 0 ? 0.01f : -0.01f;
                    cr_expect(!attention_case_verify(c, &err) && err.code == RML_INTERNAL);
                    rml_error_clear(&err);
                    output[95] = NAN;
                    cr_expect(!attention_case_verify(c, &err));
                    rml_error_clear(&err);
                    attention_case_destroy(c);
                }
            }
        }
        rml_thread_pool_destroy(pool);
    }
}

Test(attention_case, costs)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_thread_pool *pool = rml_thread_pool_create(1, &err);
    struct attention_settings settings = {
        .shape = llama, .k = RML_KV_F16, .v = RML_KV_F16, .depth = 512, .n_rows = 1};
    struct attention_case *c = attention_case_create(&settings, pool, &err);
    cr_assert(c, "%s", err.message);
    /* 513 positions read and one written, 8 heads, 256 bytes twice; 2 x 4096 f32 */
    cr_expect(attention_bytes(&settings) == 514.0 * 8 * 512 + 32768);
    cr_expect(attention_flops(&settings) == 4.0 * 4096 * 513);
    cr_expect(attention_case_kv_nbytes(c) == 9 * 64 * 8 * 512); /* 9 pages */
    cr_expect(attention_memory_nbytes(&settings) == 9 * 64 * 8 * 512);
    attention_case_destroy(c);
    rml_thread_pool_destroy(pool);

    settings =
        (struct attention_settings){.shape = llama, .k = RML_KV_F32, .v = RML_KV_I8, .n_rows = 1};
    /* i8: 4 scales and 128 bytes */
    cr_expect(attention_bytes(&settings) == 2.0 * 8 * (512 + 144) + 32768);
}

Test(decoder_case, costs_and_output)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_model_config config;
    decoder_shapes[0].set(&config);
    const struct decoder_weights weights = decoder_weights_of_type(&config, RML_Q4_0);
    struct rml_model *model = rml_model_random(&config, RML_Q4_0, 0, &err);
    cr_assert(model, "%s", err.message);
    struct decoder_settings s = {.arithmetic = RML_ARITHMETIC_I8,
                                 .n_batch = 1,
                                 .k = RML_KV_F16,
                                 .v = RML_KV_F16,
                                 .n_gen = 8,
                                 .n_depth = 128};
    /* Elements: 2 layers of 2048 x (2 x 2048 + 2 x 256) + 3 x 2048 x 5632 = 44,040,192, and
     * a head of 16,777,216; 18 bytes for 32. Tokens 1 to 8 see 129 to 136 keys, 132.5 in
     * the mean, each 2 layers x 32 heads x 64. A position of the cache has 2048 bytes. */
    cr_expect(decoder_flops(&config, &s) == 2 * (2 * 44040192.0 + 16777216 + 2 * 4096 * 132.5));
    cr_expect(decoder_bytes(&config, &weights, &s) ==
              (2 * 44040192.0 + 16777216 + 2048) * 18 / 32 + 2048 * 133.5);
    /* Prefill of 600: matrices twice, keys 512 + 600. */
    struct decoder_settings p = s;
    p.n_prompt = 600;
    cr_expect(decoder_flops(&config, &p) ==
              2 * (600 * 2 * 44040192.0 + 16777216 + 2 * 4096 * (600.0 * 601 / 2)));
    cr_expect(decoder_bytes(&config, &weights, &p) ==
              (2 * 2 * 44040192.0 + 16777216 + 600 * 2048) * 18 / 32 + 2048 * (512.0 + 600 + 600));

    /* Whatever was decoded before, a pass begins at the depth and gives the same logits. */
    struct rml_thread_pool *pool = rml_thread_pool_create(2, &err);
    s.n_depth = 5;
    s.n_gen = 3;
    struct decoder_case *c = decoder_case_create(model, &s, pool, &err);
    cr_assert(c, "%s", err.message);
    struct bench_work work = decoder_case_work(c);
    cr_expect(work.iters_step == 3 && work.wants_token_times);
    size_t nbytes;
    const float *logits = decoder_case_logits(c, &nbytes);
    cr_assert(nbytes == 8192 * sizeof *logits);
    static float first[8192];
    run_once(&work, 3);
    memcpy(first, logits, nbytes);
    run_once(&work, 6);
    cr_expect(memcmp(first, logits, nbytes) == 0);
    cr_expect(decoder_case_verify(c, &err));
    cr_expect(decoder_case_kv_nbytes(c) == 64 * 2048);
    decoder_case_destroy(c);

    /* The same tokens in one prefill give the same logits. */
    p.n_prompt = 8;
    c = decoder_case_create(model, &p, pool, &err);
    cr_assert(c, "%s", err.message);
    work = decoder_case_work(c);
    run_once(&work, 2);
    cr_expect(memcmp(first, decoder_case_logits(c, &nbytes), nbytes) == 0);
    decoder_case_destroy(c);
    rml_thread_pool_destroy(pool);
    rml_model_destroy(model);
}
