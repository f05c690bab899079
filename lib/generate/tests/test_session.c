/*
 * The generation loop: replies against goldens and against plain passes, what a reused prefix
 * changes (nothing), what ends a reply and in which order, errors, memory.
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tests/allocation_count.h"
#include "generate_toys.h"

/* ---- Counting allocations -------------------------------------------------- */

#ifndef SANITIZED
struct count {
    size_t n, first, last;
};

static bool count_allocations(void *user, int32_t id)
{
    struct count *count = user;
    (void)id;
    count->last = atomic_load(&n_allocations);
    if (count->n++ == 0)
        count->first = count->last;
    return true;
}
#endif

Test(session, decode_allocates_nothing)
{
#ifdef SANITIZED
    fprintf(stderr, "skipped: the sanitizer owns the allocator\n");
#else
    struct toy toy = toy_random(500, 1, 256), draft = toy_random(500, 2, 256);
    const struct rml_sampler_params settings[] = {
        {.temperature = 0, .top_p = 1, .repetition_penalty = 1},
        {.temperature = 1, .top_p = 0.9, .min_p = 0.01, .repetition_penalty = 1.1},
        {.temperature = 1, .top_k = 100, .top_p = 0.9, .repetition_penalty = 1.1}};
    for (int i = 0; i < 6; i++) {
        struct rml_sampler *sampler = rml_sampler_create(500, &settings[i % 3], NULL);
        struct rml_session_params params = RML_SESSION_DEFAULTS;
        params.draft = i < 3 ? NULL : draft.context;
        struct rml_session *session = rml_session_create(toy.context, sampler, &params, NULL);
        cr_assert(session);
        const int32_t prompt[] = {1, 2, 3};
        struct count count = {0};
        cr_assert(rml_session_generate(session,
                                       &(struct rml_generation){.prompt = prompt,
                                                                .n_prompt = 3,
                                                                .max_tokens = 150,
                                                                .on_token = count_allocations,
                                                                .user = &count},
                                       NULL, NULL));
        cr_expect_eq(count.n, 150);
        cr_expect_gt(count.first, 0, "the counter counts");
        cr_expect_eq(count.last, count.first, "settings %d", i);
        rml_session_destroy(session);
        rml_sampler_destroy(sampler);
    }
    toy_release(&toy);
    toy_release(&draft);
#endif
}

/* ---- Fixture --------------------------------------------------------------------------- */

static struct rml_sampler *greedy_sampler(struct toy *toy)
{
    struct rml_sampler_params params = RML_SAMPLER_DEFAULTS;
    params.temperature = 0;
    return rml_sampler_create(rml_model_config(toy->model)->n_vocab, &params, NULL);
}

static struct rml_session *f32_session(struct toy *toy, struct rml_sampler *sampler,
                                       size_t n_context)
{
    const struct rml_session_params params = {
        .k_dtype = RML_KV_F32, .v_dtype = RML_KV_F32, .n_context = n_context};
    struct rml_error err = RML_ERROR_INIT;
    struct rml_session *session = rml_session_create(toy->context, sampler, &params, &err);
    cr_assert(session, "%s", err.message);
    return session;
}

static struct rml_generation_stats generate(struct rml_session *session, const int32_t *prompt,
                                            size_t n_prompt, size_t max_tokens, struct reply *reply)
{
    struct rml_generation_stats stats;
    struct rml_error err = RML_ERROR_INIT;
    reply->n = 0;
    cr_assert(rml_session_generate(session,
                                   &(struct rml_generation){.prompt = prompt,
                                                            .n_prompt = n_prompt,
                                                            .max_tokens = max_tokens,
                                                            .on_token = reply_add,
                                                            .user = reply},
                                   &stats, &err),
              "%s", err.message);
    return stats;
}

/* ---- What it generates -------------------------------------------------------------------- */

/* The goldens' greedy steps are numpy's in float64. */
Test(session, greedy_replies_equal_the_goldens)
{
    static const char *const names[][2] = {{"llama", "llama/model.gguf"},
                                           {"gemma3", "gemma3/hf"},
                                           {"mixtral", "mixtral/model.gguf"},
                                           {"llama-text", "llama-text/model.gguf"}};
    for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
        struct toy toy = toy_fixture(names[m][1]);
        struct rml_sampler *sampler = greedy_sampler(&toy);
        struct rml_session *session = f32_session(&toy, sampler, 0);
        char path[4096];
        const char *root = getenv("RML_SOURCE_DIR");
        snprintf(path, sizeof path, "%s/goldens/fixtures/%s/golden.json", root ? root : ".",
                 names[m][0]);
        json_t *golden = json_load_file(path, 0, NULL), *entry, *value;
        cr_assert(golden, "%s", path);
        size_t c, i;
        json_array_foreach(json_object_get(golden, "cases"), c, entry)
        {
            int32_t prompt[512];
            json_t *tokens = json_object_get(entry, "tokens"),
                   *greedy = json_object_get(entry, "greedy");
            json_array_foreach(tokens, i, value) prompt[i] = (int32_t)json_integer_value(value);
            struct reply reply = {0};
            generate(session, prompt, json_array_size(tokens), json_array_size(greedy), &reply);
            cr_expect_gt(reply.n, 4);
            cr_expect_eq(reply.n, json_array_size(greedy));
            json_array_foreach(greedy, i, value)
                cr_expect_eq(reply.ids[i], json_integer_value(value), "%s, case %zu, step %zu",
                             names[m][0], c, i);
        }
        json_decref(golden);
        rml_session_destroy(session);
        rml_sampler_destroy(sampler);
        toy_release(&toy);
    }
}

enum { N_VOCAB = 60, N_PROMPT = 70, N_REPLY = 40 };

static void make_prompt(int32_t *prompt)
{
    for (int i = 0; i < N_PROMPT; i++)
        prompt[i] = (i * 17 + 3) % N_VOCAB;
}

/* A sampled reply, replayed: the same draws from the logits of one pass over prompt and reply. */
Test(session, equals_plain_passes)
{
    struct toy toy = toy_random(N_VOCAB, 7, 256);
    const struct rml_sampler_params params = {.temperature = 0.5,
                                              .top_k = 40,
                                              .top_p = 0.95,
                                              .repetition_penalty = 1.3,
                                              .repetition_window = 80,
                                              .seed = 3};
    struct rml_sampler *sampler = rml_sampler_create(N_VOCAB, &params, NULL);
    struct rml_session *session = f32_session(&toy, sampler, 0);
    int32_t ids[N_PROMPT + N_REPLY];
    make_prompt(ids);
    struct reply reply = {0};
    struct rml_generation_stats stats = generate(session, ids, N_PROMPT, N_REPLY, &reply);
    cr_expect_eq(reply.n, N_REPLY);
    cr_expect_eq(stats.n_generated, N_REPLY);
    cr_expect_eq(stats.n_run, N_PROMPT);
    cr_expect_eq(stats.n_reused, 0);
    cr_expect_eq(stats.finish, RML_FINISH_LIMIT);
    cr_expect(stats.prefill_ns > 0 && stats.decode_ns > 0);
    cr_expect_eq(rml_session_n_cached(session), N_PROMPT + N_REPLY - 1, "the last is not run");
    memcpy(ids + N_PROMPT, reply.ids, sizeof reply.ids[0] * N_REPLY);
    float *logits = toy_logits(&toy, ids, N_PROMPT + N_REPLY);
    rml_sampler_seed(sampler, 3);
    for (size_t i = 0; i < N_REPLY; i++) {
        int32_t id;
        size_t n = N_PROMPT + i;
        cr_assert(rml_sampler_sample(sampler, logits + (n - 1) * N_VOCAB, ids, n, &id, NULL));
        cr_expect_eq(id, reply.ids[i], "step %zu", i);
    }
    free(logits);
    rml_session_destroy(session);
    rml_sampler_destroy(sampler);
    toy_release(&toy);
}

Test(session, a_reused_prefix_changes_nothing)
{
    struct toy toy = toy_random(N_VOCAB, 7, 256);
    struct rml_sampler_params params = RML_SAMPLER_DEFAULTS;
    params.temperature = 0.3;
    struct rml_sampler *sampler = rml_sampler_create(N_VOCAB, &params, NULL);
    struct rml_session *session = f32_session(&toy, sampler, 0), *fresh;
    int32_t ids[N_PROMPT + N_REPLY];
    make_prompt(ids);
    /* Each call's prompt, the place where it differs from the last one's, and what is cached. */
    static const struct {
        size_t n_prompt, change_at, n_reused;
    } calls[] = {
        {N_PROMPT, SIZE_MAX, 0},
        {N_PROMPT + 12, SIZE_MAX, N_PROMPT + 9},  /* the prompt, nine run tokens, three new ones */
        {N_PROMPT + 12, SIZE_MAX, N_PROMPT + 11}, /* the same again: one token is run */
        {N_PROMPT, SIZE_MAX, N_PROMPT - 1},       /* the beginning of it */
        {N_PROMPT, 65, 65},                       /* another end */
        {5, 0, 0},                                /* another conversation */
    };
    struct reply reply = {0}, want = {0};
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        if (calls[c].change_at != SIZE_MAX)
            ids[calls[c].change_at] = (ids[calls[c].change_at] + 1) % N_VOCAB;
        rml_sampler_seed(sampler, c);
        struct rml_generation_stats stats = generate(session, ids, calls[c].n_prompt, 10, &reply);
        cr_expect_eq(stats.n_reused, calls[c].n_reused, "call %zu: %zu", c, stats.n_reused);
        cr_expect_eq(stats.n_run, calls[c].n_prompt - stats.n_reused);
        fresh = f32_session(&toy, sampler, 0);
        rml_sampler_seed(sampler, c);
        generate(fresh, ids, calls[c].n_prompt, 10, &want);
        cr_expect_arr_eq(reply.ids, want.ids, 10 * sizeof *want.ids, "call %zu", c);
        rml_session_destroy(fresh);
        if (c == 0) {
            memcpy(ids + N_PROMPT, reply.ids, 9 * sizeof *ids);
            for (int32_t i = 9; i < 12; i++) /* not the tenth, which was not run, but others */
                ids[N_PROMPT + i] = (reply.ids[9] + i) % N_VOCAB;
        }
    }
    rml_session_reset(session);
    cr_expect_eq(rml_session_n_cached(session), 0);
    cr_expect_eq(generate(session, ids, 5, 1, &reply).n_reused, 0);
    rml_session_destroy(session);
    rml_sampler_destroy(sampler);
    toy_release(&toy);
}

/* ---- What ends a reply ------------------------------------------------------------------- */

Test(session, ends_in_order)
{
    struct toy toy = toy_fixture("llama/model.gguf"); /* its replies vary */
    struct rml_sampler *sampler = greedy_sampler(&toy);
    struct rml_session *plain = f32_session(&toy, sampler, 0);
    const int32_t prompt[] = {17, 43, 60, 32, 57, 23, 18, 27, 12};
    const size_t n = sizeof prompt / sizeof *prompt;
    struct reply whole = {0};
    generate(plain, prompt, n, 8, &whole); /* 46 44 49 44 49 30 59 4, says the golden */
    rml_session_destroy(plain);

    const int32_t stops[] = {61, 30};
    cr_assert_eq(whole.ids[5], 30);
    /* n_context, callback's end, limit -> finish, reported, cached */
    static const struct {
        size_t n_context, stop_after, max_tokens;
        enum rml_finish finish;
        size_t n, n_cached;
    } cases[] = {
        {0, 0, 100, RML_FINISH_STOP, 5, 9 + 5},
        {0, 0, 6, RML_FINISH_STOP, 5, 9 + 5},     /* the stop id is not counted */
        {0, 0, 5, RML_FINISH_LIMIT, 5, 9 + 4},    /* the last is not run */
        {0, 5, 5, RML_FINISH_CALLBACK, 5, 9 + 4}, /* the callback before the limit */
        {0, 1, 100, RML_FINISH_CALLBACK, 1, 9},
        {9 + 4, 0, 5, RML_FINISH_LIMIT, 5, 9 + 4}, /* the limit before the full cache */
        {9 + 4, 5, 5, RML_FINISH_CALLBACK, 5, 9 + 4},
        {9 + 4, 0, 6, RML_FINISH_FULL, 5, 9 + 4},   /* the fifth does not fit */
        {9 + 5, 0, 100, RML_FINISH_STOP, 5, 9 + 5}, /* the stop id before the full cache */
        {9, 0, 100, RML_FINISH_FULL, 1, 9},         /* the prompt fills it */
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (int with_draft = 0; with_draft < 2; with_draft++) {
            const struct rml_session_params params = {.k_dtype = RML_KV_F32,
                                                      .v_dtype = RML_KV_F32,
                                                      .n_context = cases[c].n_context,
                                                      .stop_ids = stops,
                                                      .n_stop_ids = 2,
                                                      .draft = with_draft ? toy.context : NULL,
                                                      .n_draft = 3};
            struct rml_session *session = rml_session_create(toy.context, sampler, &params, NULL);
            struct reply reply = {.stop_after = cases[c].stop_after};
            struct rml_generation_stats stats =
                generate(session, prompt, n, cases[c].max_tokens, &reply);
            cr_expect_eq(stats.finish, cases[c].finish, "case %zu: %s", c,
                         rml_finish_name(stats.finish));
            cr_expect_eq(stats.stop_id, stats.finish == RML_FINISH_STOP ? 30 : -1);
            cr_expect_eq(reply.n, cases[c].n, "case %zu: %zu reported", c, reply.n);
            cr_expect_eq(stats.n_generated, reply.n);
            cr_expect_arr_eq(reply.ids, whole.ids, reply.n * sizeof *reply.ids);
            cr_expect_eq(rml_session_n_cached(session), cases[c].n_cached, "case %zu: %zu cached",
                         c, rml_session_n_cached(session));
            rml_session_destroy(session);
        }
    }
    rml_sampler_destroy(sampler);
    toy_release(&toy);
}

/* ---- Errors ------------------------------------------------------------------------------- */

Test(session, refuses_and_changes_nothing)
{
    struct toy toy = toy_random(N_VOCAB, 7, 100);
    struct rml_sampler *sampler = greedy_sampler(&toy);
    struct rml_session *session = f32_session(&toy, sampler, 20);
    const int32_t prompt[21] = {1, 2, 3}, bad[] = {1, 2, N_VOCAB}, negative[] = {1, -1};
    struct reply reply = {0};
    generate(session, prompt, 3, 4, &reply);
    cr_assert_eq(rml_session_n_cached(session), 6);
    const struct {
        struct rml_generation generation;
        enum rml_code code;
    } cases[] = {
        {{.prompt = prompt, .n_prompt = 0, .max_tokens = 1}, RML_INVALID_ARGUMENT},
        {{.prompt = NULL, .n_prompt = 2, .max_tokens = 1}, RML_INVALID_ARGUMENT},
        {{.prompt = prompt, .n_prompt = 3, .max_tokens = 0}, RML_INVALID_ARGUMENT},
        {{.prompt = bad, .n_prompt = 3, .max_tokens = 1}, RML_INVALID_ARGUMENT},
        {{.prompt = negative, .n_prompt = 2, .max_tokens = 1}, RML_INVALID_ARGUMENT},
        {{.prompt = prompt, .n_prompt = 21, .max_tokens = 1}, RML_OUT_OF_RANGE},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct rml_error err = RML_ERROR_INIT;
        struct rml_generation_stats stats;
        cr_expect_not(rml_session_generate(session, &cases[c].generation, &stats, &err));
        cr_expect_eq(err.code, cases[c].code, "case %zu: %s", c, err.message);
        cr_expect_eq(rml_session_n_cached(session), 6, "case %zu", c);
    }
    rml_session_destroy(session);

    struct toy small = toy_random(N_VOCAB - 1, 7, 100), shorter = toy_random(N_VOCAB, 7, 50);
    struct rml_sampler *other = greedy_sampler(&small);
    struct rml_error err = RML_ERROR_INIT;
    cr_expect_null(rml_session_create(toy.context, other, NULL, &err), "a sampler of another size");
    cr_expect_eq(err.code, RML_INVALID_ARGUMENT);
    const struct rml_session_params wrong[] = {
        {.n_context = 101},
        {.draft = small.context, .n_draft = 4},
        {.draft = shorter.context, .n_draft = 0},
        {.draft = shorter.context, .n_draft = RML_MAX_DRAFT_TOKENS + 1},
        {.draft = shorter.context, .n_draft = 4, .n_context = 51},
    };
    for (size_t c = 0; c < sizeof wrong / sizeof *wrong; c++) {
        rml_error_clear(&err);
        cr_expect_null(rml_session_create(toy.context, sampler, &wrong[c], &err), "case %zu", c);
        cr_expect_eq(err.code, RML_INVALID_ARGUMENT);
    }
    const struct rml_session_params right = {.draft = shorter.context, .n_draft = 4};
    session = rml_session_create(toy.context, sampler, &right, NULL);
    cr_assert(session);
    cr_expect_eq(rml_session_n_context(session), 50, "as long as both contexts take");
    rml_session_destroy(session);
    rml_sampler_destroy(sampler);
    rml_sampler_destroy(other);
    toy_release(&toy);
    toy_release(&small);
    toy_release(&shorter);
}
