/*
 * Attention as a whole: near its plain definition, and bit for bit independent
 * of threads, batching, tiles, splitting and shared pages.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "model/tests/attention/attention_cases.h"

#define SEED_TEXT "(RML_TEST_SEED=%llu)"
#define SEED ((unsigned long long)attention_seed())

static const struct rmli_kernels *best(void)
{
    static const struct rmli_kernels *kernels; /* CPUID is slow in a virtual machine */
    if (!kernels)
        kernels = rmli_kernels_best(NULL);
    cr_assert_not_null(kernels);
    return kernels;
}

static size_t row_nelems(const struct attention_case *c)
{
    return (size_t)c->params.n_head * c->params.head_dim;
}

static void describe(char *text, size_t nbytes, const struct attention_case *c)
{
    snprintf(text, nbytes, "%u/%u heads of %u, k %s, v %s, window %u, %zu rows of %zu sequences",
             c->params.n_head, c->params.n_head_kv, c->params.head_dim,
             rml_kv_dtype_name(c->shape.k_dtype), rml_kv_dtype_name(c->shape.v_dtype),
             c->params.window, c->n_rows, c->n_sequences);
}

static void check_equal(const struct attention_case *c, const char *what, size_t r,
                        const float *got, const float *expected)
{
    char text[256];
    for (size_t i = 0; i < row_nelems(c); i++) {
        if (rmli_f32_bits(got[i]) == rmli_f32_bits(expected[i]))
            continue;
        describe(text, sizeof text, c);
        cr_assert_fail("%s: row %zu at position %zu, element %zu: %a, expected %a; %s " SEED_TEXT,
                       what, r, c->rows[r].position, i, got[i], expected[i], text, SEED);
    }
}

/* Every row of the batch, in pools of several sizes, equals the row computed
 * alone, from its own pages or from unshared copies of them. */
static void check_rows_alone(const struct attention_case *c, struct rml_thread_pool *const *pools,
                             size_t n_pools)
{
    size_t n = row_nelems(c);
    float *alone = malloc(c->n_rows * n * sizeof *alone);
    for (size_t r = 0; r < c->n_rows; r++)
        attention_run_row(c, best(), pools[0], r, false, alone + r * n);
    for (size_t p = 0; p < n_pools; p++) {
        attention_run(c, best(), pools[p], c->out);
        for (size_t r = 0; r < c->n_rows; r++)
            check_equal(c, "in the batch", r, c->out + r * n, alone + r * n);
        for (size_t r = p; r < c->n_rows; r += 7) {
            attention_run_row(c, best(), pools[p], r, true, c->out);
            check_equal(c, "alone, unshared", r, c->out, alone + r * n);
        }
    }
    free(alone);
}

/* Every step-th row of c->out against the definition. */
static void check_near_definition(const struct attention_case *c, size_t step)
{
    size_t n = row_nelems(c);
    float *expected = malloc(n * sizeof *expected);
    char text[256];
    for (size_t r = 0; r < c->n_rows; r += step) {
        rmli_attend_ref(&c->params, &c->rows[r], 1, c->q + r * n, expected);
        for (size_t i = 0; i < n; i++) {
            float got = c->out[r * n + i];
            if (fabsf(got - expected[i]) <= 1e-5f)
                continue;
            describe(text, sizeof text, c);
            cr_assert_fail("row %zu at position %zu, element %zu: %.9g, expected %.9g within 1e-5; "
                           "%s " SEED_TEXT,
                           r, c->rows[r].position, i, (double)got, (double)expected[i], text, SEED);
        }
    }
    free(expected);
}

Test(attention, rows_depend_on_nothing_but_themselves)
{
    static const unsigned sizes[] = {1, 2, 3, 7};
    static const struct attention_limits limits = {
        .n_head_kv = 4, .group = 9, .n_layer = 2, .n_tokens = 420};
    struct rml_thread_pool *pools[4];
    for (size_t p = 0; p < 4; p++)
        pools[p] = rml_thread_pool_create(sizes[p], NULL);
    struct rmli_rng rng;
    rmli_rng_seed(&rng, attention_seed());
    for (int i = 0; i < 30; i++) {
        struct attention_case c;
        attention_case_init(&c, &rng, &limits);
        check_rows_alone(&c, pools, 4);
        attention_run(&c, best(), pools[i % 4], c.out);
        check_near_definition(&c, 11);
        attention_case_release(&c);
    }
    for (size_t p = 0; p < 4; p++)
        rml_thread_pool_destroy(pools[p]);
}

Test(attention, every_instruction_set_gives_the_same_bits)
{
    static const struct attention_limits limits = {
        .n_head_kv = 3, .group = 5, .n_layer = 1, .n_tokens = 200};
    struct rml_thread_pool *pool = rml_thread_pool_create(2, NULL);
    struct rmli_rng rng;
    rmli_rng_seed(&rng, attention_seed() + 1);
    for (int i = 0; i < 20; i++) {
        struct attention_case c;
        attention_case_init(&c, &rng, &limits);
        size_t n = row_nelems(&c);
        float *expected = malloc(c.n_rows * n * sizeof *expected);
        attention_run(&c, rmli_kernels_for(RML_ISA_REF), pool, expected);
        for (int isa = RML_ISA_REF + 1; isa < RML_N_ISAS; isa++) {
            if (!rmli_kernels_for((enum rml_isa)isa))
                continue;
            attention_run(&c, rmli_kernels_for((enum rml_isa)isa), pool, c.out);
            for (size_t r = 0; r < c.n_rows; r++)
                check_equal(&c, rml_isa_name((enum rml_isa)isa), r, c.out + r * n,
                            expected + r * n);
        }
        free(expected);
        attention_case_release(&c);
    }
    rml_thread_pool_destroy(pool);
}

/* A batch of given rows over one sequence. */
static void one_sequence(struct attention_case *c, struct rmli_rng *rng, uint32_t n_head,
                         uint32_t n_head_kv, uint32_t head_dim, enum rml_kv_dtype dtype,
                         size_t n_tokens, size_t n_rows, uint32_t window)
{
    *c = (struct attention_case){
        .shape = {1, n_head_kv, head_dim, dtype, dtype},
        .params = {n_head, n_head_kv, head_dim, 0, window, 1 / sqrtf((float)head_dim)},
        .n_sequences = 1,
        .n_rows = n_rows,
        .max_context = n_tokens};
    c->cache = rml_kv_cache_create(&c->shape, 2 * (n_tokens / RML_PAGE_TOKENS + 1), NULL);
    c->sequences[0] = rml_sequence_create(c->cache, n_tokens, NULL);
    attention_append(c->sequences[0], rng, n_tokens);
    c->unshared[0] = rml_sequence_fork(c->sequences[0], n_tokens, NULL);
    c->rows = malloc(n_rows * sizeof *c->rows);
    for (size_t r = 0; r < n_rows; r++)
        c->rows[r] = (struct rmli_row){c->sequences[0], n_tokens - n_rows + r};
    size_t n = n_rows * n_head * head_dim;
    c->q = malloc(n * sizeof *c->q);
    c->out = malloc(n * sizeof *c->out);
    for (size_t i = 0; i < n; i++)
        c->q[i] = (float)(4 * rmli_rng_uniform(rng) - 2);
}

/* Few units over a long context: blocks are split among the threads, in several
 * waves where the slots do not hold them all. */
Test(attention, split_blocks_give_the_same_bits)
{
    static const struct {
        uint32_t n_head, n_head_kv, head_dim, window;
        size_t n_tokens, n_rows;
        enum rml_kv_dtype dtype;
    } cases[] = {
        {4, 1, 256, 0, 3000, 1, RML_KV_F16},   {8, 2, 64, 0, 2000, 3, RML_KV_I8},
        {1, 1, 128, 500, 2000, 1, RML_KV_F32}, {7, 1, 64, 700, 2500, 20, RML_KV_I8},
        {4, 1, 256, 0, 18000, 16, RML_KV_F16}, /* 3 waves */
    };
    struct rmli_rng rng;
    rmli_rng_seed(&rng, attention_seed() + 2);
    static const unsigned sizes[] = {1, 2, 5};
    struct rml_thread_pool *pools[3];
    for (size_t p = 0; p < 3; p++)
        pools[p] = rml_thread_pool_create(sizes[p], NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct attention_case c;
        one_sequence(&c, &rng, cases[i].n_head, cases[i].n_head_kv, cases[i].head_dim,
                     cases[i].dtype, cases[i].n_tokens, cases[i].n_rows, cases[i].window);
        check_rows_alone(&c, pools, 3);
        attention_case_release(&c);
    }
    for (size_t p = 0; p < 3; p++)
        rml_thread_pool_destroy(pools[p]);
}

/* Windows that begin at, just before and just after every edge that matters. */
Test(attention, windows_see_what_they_should)
{
    static const uint32_t windows[] = {1, 2, 63, 64, 65, 127, 128, 129, 199, 200, 201, 5000};
    struct rmli_rng rng;
    rmli_rng_seed(&rng, attention_seed() + 3);
    struct rml_thread_pool *pool = rml_thread_pool_create(2, NULL);
    for (size_t w = 0; w < sizeof windows / sizeof windows[0]; w++) {
        struct attention_case c;
        one_sequence(&c, &rng, 4, 2, 16, (enum rml_kv_dtype)(w % RML_N_KV_DTYPES), 200, 200,
                     windows[w]);
        attention_run(&c, best(), pool, c.out);
        check_near_definition(&c, 1);
        if (windows[w] == 1) { /* each row sees itself alone: its own value */
            const float *value =
                (const float *)(const void *)rmli_sequence_value(c.sequences[0], 0, 1, 77);
            for (size_t d = 0; d < 16; d++)
                cr_assert(c.out[(77 * 4 + 3) * 16 + d] == value[d]);
        }
        attention_case_release(&c);
    }
    rml_thread_pool_destroy(pool);
}

Test(attention, nan_shows_in_the_rows_that_see_it_and_in_no_other)
{
    struct rmli_rng rng;
    rmli_rng_seed(&rng, attention_seed() + 4);
    struct rml_thread_pool *pool = rml_thread_pool_create(2, NULL);
    for (int dtype = 0; dtype < RML_N_KV_DTYPES; dtype++) {
        for (int in_values = 0; in_values < 2; in_values++) {
            struct attention_case c;
            one_sequence(&c, &rng, 2, 1, 64, (enum rml_kv_dtype)dtype, 300, 300, 90);
            float x[64] = {[13] = NAN};
            uint8_t *row = in_values ? rmli_sequence_value(c.sequences[0], 0, 0, 150)
                                     : rmli_sequence_key(c.sequences[0], 0, 0, 150);
            rmli_attention_ref.store[dtype](row, x, 64);
            attention_run(&c, best(), pool, c.out);
            for (size_t r = 0; r < 300; r++) {
                bool sees = r >= 150 && r < 150 + 90;
                cr_assert_eq(isnan(c.out[r * 128 + 13]) != 0, sees, "row %zu", r);
                cr_assert_eq(isnan(c.out[r * 128 + 64 + 13]) != 0, sees, "row %zu", r);
            }
            attention_case_release(&c);
        }
    }
    rml_thread_pool_destroy(pool);
}

Test(attention, refuses_shapes_that_cannot_be)
{
    struct rml_thread_pool *pool = rml_thread_pool_create(1, NULL);
    static const struct {
        uint32_t n_head, n_head_kv, head_dim;
        size_t max_rows, max_context;
        enum rml_code code;
    } cases[] = {
        {0, 1, 8, 1, 1, RML_INVALID_ARGUMENT}, {4, 0, 8, 1, 1, RML_INVALID_ARGUMENT},
        {5, 2, 8, 1, 1, RML_INVALID_ARGUMENT}, {65, 1, 8, 1, 1, RML_INVALID_ARGUMENT},
        {4, 2, 7, 1, 1, RML_INVALID_ARGUMENT}, {4, 2, 514, 1, 1, RML_INVALID_ARGUMENT},
        {4, 2, 8, 0, 1, RML_INVALID_ARGUMENT}, {4, 2, 8, SIZE_MAX, 1, RML_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rml_error err = RML_ERROR_INIT;
        cr_assert_null(rmli_attention_create(pool, cases[i].n_head, cases[i].n_head_kv,
                                             cases[i].head_dim, cases[i].max_rows,
                                             cases[i].max_context, &err));
        cr_assert_eq(err.code, cases[i].code, "case %zu", i);
    }
    struct rmli_attention *largest = rmli_attention_create(pool, 64, 1, 512, 1, SIZE_MAX, NULL);
    cr_assert_not_null(largest, "a long context is no memory in itself");
    rmli_attention_destroy(largest);
    rmli_attention_destroy(NULL);
    rml_thread_pool_destroy(pool);
}
