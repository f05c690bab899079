/*
 * The paged cache: sizes, sharing, copy on write, exhaustion that changes
 * nothing. What a sequence holds is written and checked through its rows: each
 * position carries a tag in every layer and head.
 */
#include "model/kv_cache.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "kernels/kernels.h"

static const struct rml_kv_shape small = {
    .n_layer = 3, .n_head_kv = 2, .head_dim = 8, .k_dtype = RML_KV_F16, .v_dtype = RML_KV_I8};

/* All bytes of every key and value row of that position. */
static void tag_position(struct rml_sequence *s, size_t position, uint8_t tag)
{
    const struct rml_kv_shape *shape = rml_kv_cache_shape(rml_sequence_cache(s));
    for (uint32_t layer = 0; layer < shape->n_layer; layer++) {
        for (uint32_t head = 0; head < shape->n_head_kv; head++) {
            uint8_t mark = (uint8_t)(tag + 7 * layer + 31 * head);
            memset(rmli_sequence_key(s, layer, head, position), mark,
                   rmli_kv_head_nbytes(shape->k_dtype, shape->head_dim));
            memset(rmli_sequence_value(s, layer, head, position), mark ^ 0xff,
                   rmli_kv_head_nbytes(shape->v_dtype, shape->head_dim));
        }
    }
}

static bool has_tag(const struct rml_sequence *s, size_t position, uint8_t tag)
{
    const struct rml_kv_shape *shape = rml_kv_cache_shape(rml_sequence_cache(s));
    for (uint32_t layer = 0; layer < shape->n_layer; layer++) {
        for (uint32_t head = 0; head < shape->n_head_kv; head++) {
            uint8_t mark = (uint8_t)(tag + 7 * layer + 31 * head);
            const uint8_t *key = rmli_sequence_key(s, layer, head, position);
            const uint8_t *value = rmli_sequence_value(s, layer, head, position);
            for (size_t i = 0; i < rmli_kv_head_nbytes(shape->k_dtype, shape->head_dim); i++)
                if (key[i] != mark)
                    return false;
            for (size_t i = 0; i < rmli_kv_head_nbytes(shape->v_dtype, shape->head_dim); i++)
                if ((value[i] ^ mark) != 0xff)
                    return false;
        }
    }
    return true;
}

/* Appends n positions tagged tag, tag + 1, ... */
static bool append(struct rml_sequence *s, size_t n, uint8_t tag)
{
    if (!rmli_sequence_reserve(s, n, NULL))
        return false;
    size_t length = rml_sequence_length(s);
    for (size_t i = 0; i < n; i++)
        tag_position(s, length + i, (uint8_t)(tag + i));
    rmli_sequence_commit(s, n);
    return true;
}

Test(kv_cache, page_sizes)
{
    cr_assert_eq(rml_kv_page_nbytes(&small), 64u * 3 * 2 * (16 + 12));
    /* Llama 3.1 8B in f16: 128 KiB a token. */
    struct rml_kv_shape llama = {32, 8, 128, RML_KV_F16, RML_KV_F16};
    cr_assert_eq(rml_kv_page_nbytes(&llama), (size_t)64 * 128 * 1024);
    llama.k_dtype = llama.v_dtype = RML_KV_I8; /* 128 + 4 scales a row */
    cr_assert_eq(rml_kv_page_nbytes(&llama), (size_t)64 * 32 * 2 * 8 * 144);
    struct rml_kv_shape huge = {UINT32_MAX, UINT32_MAX, 512, RML_KV_F32, RML_KV_F32};
    cr_assert_eq(rml_kv_page_nbytes(&huge), 0u);
}

Test(kv_cache, refuses_what_cannot_be)
{
    static const struct {
        struct rml_kv_shape shape;
        size_t n_pages;
        enum rml_code code;
    } cases[] = {
        {{0, 2, 8, RML_KV_F32, RML_KV_F32}, 1, RML_INVALID_ARGUMENT},
        {{3, 0, 8, RML_KV_F32, RML_KV_F32}, 1, RML_INVALID_ARGUMENT},
        {{3, 2, 0, RML_KV_F32, RML_KV_F32}, 1, RML_INVALID_ARGUMENT},
        {{3, 2, 7, RML_KV_F32, RML_KV_F32}, 1, RML_INVALID_ARGUMENT},
        {{3, 2, 514, RML_KV_F32, RML_KV_F32}, 1, RML_INVALID_ARGUMENT},
        {{3, 2, 8, RML_N_KV_DTYPES, RML_KV_F32}, 1, RML_INVALID_ARGUMENT},
        {{3, 2, 8, RML_KV_F32, RML_KV_F32}, 0, RML_INVALID_ARGUMENT},
        {{3, 2, 8, RML_KV_F32, RML_KV_F32}, SIZE_MAX, RML_NO_MEMORY},
        {{3, 2, 8, RML_KV_F32, RML_KV_F32}, SIZE_MAX / 64 / 384, RML_NO_MEMORY},
        {{UINT32_MAX, UINT32_MAX, 512, RML_KV_F32, RML_KV_F32}, 1, RML_NO_MEMORY},
        {{1 << 16, 1 << 16, 512, RML_KV_F32, RML_KV_F32}, 1, RML_NO_MEMORY}, /* 2^50 bytes */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rml_error err = RML_ERROR_INIT;
        cr_assert_null(rml_kv_cache_create(&cases[i].shape, cases[i].n_pages, &err), "case %zu", i);
        cr_assert_eq(err.code, cases[i].code, "case %zu: %s", i, err.message);
    }
    rml_kv_cache_destroy(NULL);
    rml_sequence_destroy(NULL);
}

Test(kv_cache, positions_keep_what_is_written)
{
    struct rml_kv_cache *cache = rml_kv_cache_create(&small, 5, NULL);
    struct rml_sequence *s = rml_sequence_create(cache, 300, NULL);
    cr_assert_eq(rml_sequence_max_tokens(s), 300u);
    cr_assert_eq(rml_sequence_cache(s), cache);
    cr_assert_eq(rml_kv_cache_nbytes_used(cache), 0u);
    for (size_t n = 0; n < 300; n += 10)
        cr_assert(append(s, 10, (uint8_t)n));
    cr_assert_eq(rml_sequence_length(s), 300u);
    for (size_t i = 0; i < 300; i++)
        cr_assert(has_tag(s, i, (uint8_t)i), "position %zu", i);
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 0u);
    cr_assert_eq(rml_kv_cache_nbytes_used(cache), 5 * rml_kv_page_nbytes(&small));
    rml_sequence_destroy(s);
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 5u);
    rml_kv_cache_destroy(cache);
}

Test(kv_cache, rows_of_a_head_are_contiguous_within_a_page)
{
    struct rml_kv_cache *cache = rml_kv_cache_create(&small, 2, NULL);
    struct rml_sequence *s = rml_sequence_create(cache, 128, NULL);
    cr_assert(append(s, 128, 0));
    for (size_t i = 0; i < 128; i++) {
        cr_assert_eq(rmli_sequence_key(s, 1, 1, i),
                     rmli_sequence_key(s, 1, 1, i / 64 * 64) + i % 64 * 16);
        cr_assert_eq(rmli_sequence_value(s, 1, 1, i),
                     rmli_sequence_value(s, 1, 1, i / 64 * 64) + i % 64 * 12);
    }
    cr_assert_eq((uintptr_t)rmli_sequence_key(s, 2, 1, 64) % 64, 0u);
    cr_assert_eq((uintptr_t)rmli_sequence_value(s, 2, 1, 64) % 64, 0u);
    rml_sequence_destroy(s);
    rml_kv_cache_destroy(cache);
}

Test(kv_cache, a_fork_shares_until_written)
{
    struct rml_kv_cache *cache = rml_kv_cache_create(&small, 8, NULL);
    struct rml_sequence *a = rml_sequence_create(cache, 400, NULL);
    cr_assert(append(a, 150, 0)); /* pages 0, 1 full, 2 holds 22 */
    struct rml_sequence *b = rml_sequence_fork(a, 150, NULL);
    struct rml_sequence *c = rml_sequence_fork(a, 100, NULL); /* ends inside page 1 */
    cr_assert_eq(rml_sequence_max_tokens(b), 400u);
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 5u, "forks take no pages");
    cr_assert_eq(rmli_sequence_key(a, 0, 0, 149), rmli_sequence_key(b, 0, 0, 149));

    cr_assert(append(b, 1, 200)); /* page 2 copied */
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 4u);
    cr_assert_neq(rmli_sequence_key(a, 0, 0, 149), rmli_sequence_key(b, 0, 0, 149));
    cr_assert_eq(rmli_sequence_key(a, 0, 0, 127), rmli_sequence_key(b, 0, 0, 127));
    cr_assert(append(c, 30, 90)); /* page 1 copied, 128 and 129 on a page of their own */
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 2u);
    cr_assert(append(a, 1, 77)); /* page 2 is a's alone by now: nothing copied */
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 2u);

    for (size_t i = 0; i < 150; i++) {
        cr_assert(has_tag(a, i, (uint8_t)i), "a, %zu", i);
        cr_assert(has_tag(b, i, (uint8_t)i), "b, %zu", i);
        if (i < 130)
            cr_assert(has_tag(c, i, (uint8_t)(i < 100 ? i : i - 10)), "c, %zu", i);
    }
    cr_assert(has_tag(a, 150, 77) && has_tag(b, 150, 200));

    rml_sequence_destroy(a); /* the others keep what they share */
    for (size_t i = 0; i < 150; i++)
        cr_assert(has_tag(b, i, (uint8_t)i), "b after a, %zu", i);
    rml_sequence_destroy(b);
    rml_sequence_destroy(c);
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 8u);
    rml_kv_cache_destroy(cache);
}

Test(kv_cache, a_fork_at_a_page_boundary_copies_nothing)
{
    struct rml_kv_cache *cache = rml_kv_cache_create(&small, 4, NULL);
    struct rml_sequence *a = rml_sequence_create(cache, 256, NULL);
    cr_assert(append(a, 128, 0));
    struct rml_sequence *b = rml_sequence_fork(a, 64, NULL);
    struct rml_sequence *empty = rml_sequence_fork(a, 0, NULL);
    cr_assert(append(b, 1, 9));
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 1u);
    cr_assert(append(empty, 1, 8));
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 0u);
    cr_assert(has_tag(b, 63, 63) && has_tag(b, 64, 9) && has_tag(a, 64, 64) &&
              has_tag(empty, 0, 8));
    struct rml_error err = RML_ERROR_INIT;
    cr_assert_null(rml_sequence_fork(a, 129, &err));
    cr_assert_eq(err.code, RML_INVALID_ARGUMENT);
    rml_sequence_destroy(a);
    rml_sequence_destroy(b);
    rml_sequence_destroy(empty);
    rml_kv_cache_destroy(cache);
}

Test(kv_cache, exhaustion_changes_nothing)
{
    struct rml_kv_cache *cache = rml_kv_cache_create(&small, 3, NULL);
    struct rml_sequence *a = rml_sequence_create(cache, 10000, NULL);
    cr_assert(append(a, 100, 0));
    struct rml_sequence *b = rml_sequence_fork(a, 100, NULL);
    const uint8_t *row = rmli_sequence_key(b, 0, 0, 99);
    struct rml_error err = RML_ERROR_INIT;
    /* The copy of page 1 alone would fit, with a new page it does not. */
    cr_assert_not(rmli_sequence_reserve(b, 29, &err));
    cr_assert_eq(err.code, RML_OUT_OF_RANGE);
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 1u);
    cr_assert_eq(rml_sequence_length(b), 100u);
    cr_assert_eq(rmli_sequence_key(b, 0, 0, 99), row, "still shared");
    cr_assert_not(append(a, 200, 0));
    cr_assert(append(b, 28, 100), "what fits still fits");
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 0u);
    for (size_t i = 0; i < 128; i++)
        cr_assert(has_tag(b, i, (uint8_t)i));

    rml_error_clear(&err);
    struct rml_sequence *limited = rml_sequence_create(cache, 10, NULL);
    cr_assert_not(rmli_sequence_reserve(limited, 11, &err));
    cr_assert_eq(err.code, RML_OUT_OF_RANGE);
    cr_assert_not(rmli_sequence_reserve(limited, SIZE_MAX, NULL));
    cr_assert(rmli_sequence_reserve(limited, 0, NULL));
    rml_sequence_destroy(limited);
    rml_sequence_destroy(a);
    rml_sequence_destroy(b);
    rml_kv_cache_destroy(cache);
}

Test(kv_cache, a_reserve_can_be_undone)
{
    struct rml_kv_cache *cache = rml_kv_cache_create(&small, 6, NULL);
    struct rml_sequence *a = rml_sequence_create(cache, 400, NULL);
    cr_assert(append(a, 70, 0));
    cr_assert(rmli_sequence_reserve(a, 200, NULL));
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 1u);
    cr_assert(rmli_sequence_reserve(a, 100, NULL), "less than is reserved already");
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 1u);
    rmli_sequence_unreserve(a);
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 4u);
    cr_assert_eq(rml_sequence_length(a), 70u);
    for (size_t i = 0; i < 70; i++)
        cr_assert(has_tag(a, i, (uint8_t)i));
    rml_sequence_destroy(a);
    rml_kv_cache_destroy(cache);
}

Test(kv_cache, truncation_gives_back_whole_pages)
{
    struct rml_kv_cache *cache = rml_kv_cache_create(&small, 6, NULL);
    struct rml_sequence *a = rml_sequence_create(cache, 300, NULL);
    cr_assert(append(a, 200, 0));
    rml_sequence_truncate(a, 500);
    rml_sequence_truncate(a, 200);
    cr_assert_eq(rml_sequence_length(a), 200u);
    rml_sequence_truncate(a, 128);
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 4u);
    struct rml_sequence *b = rml_sequence_fork(a, 128, NULL);
    rml_sequence_truncate(a, 65);
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 4u, "65 still needs both");
    cr_assert(append(a, 1, 250)); /* inside a shared page */
    cr_assert(has_tag(a, 65, 250) && has_tag(b, 65, 65) && has_tag(a, 64, 64));
    rml_sequence_truncate(a, 0);
    cr_assert_eq(rml_sequence_length(a), 0u);
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 4u, "two are b's");
    cr_assert(append(a, 256, 3));
    for (size_t i = 0; i < 128; i++)
        cr_assert(has_tag(b, i, (uint8_t)i));
    rml_sequence_destroy(a);
    rml_sequence_destroy(b);
    rml_kv_cache_destroy(cache);
}

/* Pages of this process that are resident, in bytes. */
static size_t resident_nbytes(void)
{
    size_t total, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert(file && fscanf(file, "%zu %zu", &total, &resident) == 2);
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

Test(kv_cache, untouched_pages_are_not_resident)
{
    struct rml_kv_shape llama = {32, 8, 128, RML_KV_F16, RML_KV_F16};
    size_t before = resident_nbytes();
    struct rml_kv_cache *cache = rml_kv_cache_create(&llama, 4096, NULL); /* 32 GiB */
    cr_assert_not_null(cache);
    struct rml_sequence *s = rml_sequence_create(cache, 64, NULL);
    cr_assert(append(s, 1, 0));
    size_t page_nbytes = rml_kv_page_nbytes(&llama);
    cr_assert_lt(resident_nbytes() - before, 2 * page_nbytes + ((size_t)4 << 20));
    rml_sequence_destroy(s);
    rml_kv_cache_destroy(cache);
}

/* Random appends, forks, truncations and ends of up to 6 sequences, against a
 * copy of what each should hold. */
Test(kv_cache, random_histories)
{
    enum { MAX_SEQUENCES = 6, MAX_TOKENS = 400 };
    const char *fixed = getenv("RML_TEST_SEED");
    uint64_t seed = fixed ? strtoull(fixed, NULL, 0) : (uint64_t)getpid() * 2654435761u;
    struct rmli_rng rng;
    rmli_rng_seed(&rng, seed);
    struct rml_kv_cache *cache = rml_kv_cache_create(&small, 20, NULL);
    struct rml_sequence *sequences[MAX_SEQUENCES] = {0};
    static uint8_t tags[MAX_SEQUENCES][MAX_TOKENS];
    for (int step = 0; step < 4000; step++) {
        size_t i = rmli_rng_below(&rng, MAX_SEQUENCES), j = rmli_rng_below(&rng, MAX_SEQUENCES);
        if (!sequences[i]) {
            if (sequences[j] && rmli_rng_below(&rng, 4)) {
                size_t n = rmli_rng_below(&rng, rml_sequence_length(sequences[j]) + 1);
                sequences[i] = rml_sequence_fork(sequences[j], n, NULL);
                memcpy(tags[i], tags[j], n);
            } else {
                sequences[i] = rml_sequence_create(cache, MAX_TOKENS, NULL);
            }
            continue;
        }
        size_t length = rml_sequence_length(sequences[i]), n = rmli_rng_below(&rng, 90);
        uint8_t tag = (uint8_t)rmli_rng_next(&rng);
        switch (rmli_rng_below(&rng, 8)) {
        case 0:
            rml_sequence_destroy(sequences[i]);
            sequences[i] = NULL;
            break;
        case 1:
            rml_sequence_truncate(sequences[i], length > n ? length - n : 0);
            break;
        default:
            if (append(sequences[i], n, tag))
                for (size_t k = 0; k < n; k++)
                    tags[i][length + k] = (uint8_t)(tag + k);
            else
                cr_assert_eq(rml_sequence_length(sequences[i]), length);
            break;
        }
        if (step % 16 != 0)
            continue;
        for (i = 0; i < MAX_SEQUENCES; i++)
            for (size_t k = 0; sequences[i] && k < rml_sequence_length(sequences[i]); k++)
                cr_assert(has_tag(sequences[i], k, tags[i][k]),
                          "step %d, sequence %zu, position %zu (RML_TEST_SEED=%llu)", step, i, k,
                          (unsigned long long)seed);
    }
    for (size_t i = 0; i < MAX_SEQUENCES; i++)
        rml_sequence_destroy(sequences[i]);
    cr_assert_eq(rml_kv_cache_n_free_pages(cache), 20u);
    rml_kv_cache_destroy(cache);
}
