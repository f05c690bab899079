/*
 * Every score equals, bit for bit, the one of its request run alone: for random requests
 * that share prefixes, whatever the rows of a pass, the room for pages, the threads and
 * whether prefixes are shared. The seed is printed; RML_TEST_SEED sets it.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/log_softmax.h"
#include "eval/prefix_tree.h"
#include "eval/scorer.h"

#define MAX_REQUESTS 48
#define MAX_TOKENS 200

static uint64_t state;

static uint64_t draw(uint64_t n)
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % n;
}

static const char *fixture(const char *name)
{
    static char path[1024];
    const char *root = getenv("RML_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/goldens/fixtures/%s", root ? root : ".", name);
    return path;
}

struct set {
    struct eval_request requests[MAX_REQUESTS];
    int32_t tokens[MAX_REQUESTS][MAX_TOKENS];
    size_t n;
};

/* Requests that begin as an earlier one does, for any length up to all of it. */
static void draw_requests(struct set *set, uint32_t n_vocab)
{
    set->n = 2 + draw(MAX_REQUESTS - 2);
    for (size_t i = 0; i < set->n; i++) {
        size_t n = 2 + draw(MAX_TOKENS - 2), shared = 0;
        if (i > 0 && draw(4) > 0) {
            size_t from = draw(i);
            shared = draw(set->requests[from].n_tokens + 1);
            shared = shared < n ? shared : n;
            memcpy(set->tokens[i], set->tokens[from], shared * sizeof(int32_t));
        }
        for (size_t t = shared; t < n; t++)
            set->tokens[i][t] = (int32_t)draw(n_vocab);
        set->requests[i] = (struct eval_request){.tokens = set->tokens[i],
                                                 .n_tokens = n,
                                                 .first_target = 1 + draw(n - 1),
                                                 .doc_id = "drawn",
                                                 .choice_idx = (int64_t)i};
    }
}

/* The definition: one sequence, one pass, all logits. */
static void score_alone(const struct eval_engine *engine, const struct eval_request *request,
                        double *logprobs, bool *greedy)
{
    size_t n = request->n_tokens - 1;
    float *logits = malloc(n * engine->n_vocab * sizeof *logits);
    struct rml_error err = RML_ERROR_INIT;
    struct rml_context *context = eval_engine_context(engine, n, 0, &err);
    struct rml_kv_cache *cache = eval_engine_cache(engine, n / RML_PAGE_TOKENS + 1, &err);
    struct rml_sequence *sequence = rml_sequence_create(cache, n, &err);
    cr_assert(rml_forward_tokens(context, sequence, request->tokens, n, true, logits, &err), "%s",
              err.message);
    *greedy = true;
    for (size_t t = request->first_target; t < request->n_tokens; t++) {
        const float *row = logits + (t - 1) * engine->n_vocab;
        struct logit_row reduced = log_softmax_row(row, engine->n_vocab);
        logprobs[t - request->first_target] = (double)row[request->tokens[t]] - reduced.logsumexp;
        *greedy &= reduced.best == request->tokens[t];
    }
    rml_sequence_destroy(sequence);
    rml_kv_cache_destroy(cache);
    rml_context_destroy(context);
    free(logits);
}

static bool count(void *user, const size_t *finished, size_t n,
                  const struct scorer_progress *progress, struct rml_error *err)
{
    (void)progress;
    (void)err;
    for (size_t i = 0; i < n; i++)
        ((int *)user)[finished[i]]++;
    return true;
}

static void compare_schedules(const char *checkpoint, const struct eval_settings *settings)
{
    struct rml_error err = RML_ERROR_INIT;
    static struct set set;
    static double alone[MAX_REQUESTS][MAX_TOKENS];
    bool greedy[MAX_REQUESTS];
    size_t all[MAX_REQUESTS];
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct rml_thread_pool *pool = rml_thread_pool_create(threads, &err);
        struct eval_engine engine;
        cr_assert(eval_engine_init(&engine, fixture(checkpoint), settings, pool, &err), "%s",
                  err.message);
        draw_requests(&set, engine.n_vocab);
        for (size_t i = 0; i < set.n; i++) {
            score_alone(&engine, &set.requests[i], alone[i], &greedy[i]);
            all[i] = i;
        }
        for (int round = 0; round < 4; round++) {
            const size_t rows[] = {1, 7, 64, 512};
            const struct scorer_options options = {.batch_rows = rows[draw(4)],
                                                   .cache_nbytes = 1 + draw(3) * 100000,
                                                   .without_sharing = round == 3};
            struct eval_scores scores;
            int finished[MAX_REQUESTS] = {0};
            cr_assert(eval_scores_init(&scores, set.requests, set.n, &err));
            cr_assert(scorer_run(&engine, set.requests, all, set.n, scores.scores, &options, count,
                                 finished, &err),
                      "%s", err.message);
            for (size_t i = 0; i < set.n; i++) {
                cr_expect(finished[i] == 1 && scores.scores[i].is_done);
                cr_expect(scores.scores[i].is_greedy == greedy[i]);
                for (size_t t = 0; t < eval_n_targets(&set.requests[i]); t++)
                    cr_expect(scores.scores[i].logprobs[t] == alone[i][t],
                              "request %zu, target %zu, rows %zu, threads %u", i, t,
                              options.batch_rows, threads);
            }
            eval_scores_release(&scores);
        }
        eval_engine_release(&engine);
        rml_thread_pool_destroy(pool);
    }
}

static void seed(void)
{
    const char *text = getenv("RML_TEST_SEED");
    state = text ? strtoull(text, NULL, 10) : 20261130;
    fprintf(stderr, "RML_TEST_SEED=%llu\n", (unsigned long long)state);
}

TestSuite(scorer, .init = seed);

Test(scorer, results_that_depend_on_batch_size_or_on_the_number_of_workers)
{
    const struct eval_settings f32 = {RML_ARITHMETIC_F32, RML_KV_F32, RML_KV_F32};
    compare_schedules("llama/hf", &f32);
    compare_schedules("gemma3/model.gguf", &f32); /* sliding windows */
}

Test(scorer, the_same_in_i8_arithmetic_and_an_i8_cache)
{
    const struct eval_settings i8 = {RML_ARITHMETIC_I8, RML_KV_I8, RML_KV_F16};
    compare_schedules("llama-q4_0/model.gguf", &i8);
}

/* "a b" + "c d" and "a b c" + "d" have the same ids and are two requests. */
Test(scorer, two_requests_whose_tokens_coincide_but_split_at_different_places)
{
    const struct eval_settings f32 = {RML_ARITHMETIC_F32, RML_KV_F32, RML_KV_F32};
    struct rml_error err = RML_ERROR_INIT;
    struct rml_thread_pool *pool = rml_thread_pool_create(2, &err);
    struct eval_engine engine;
    cr_assert(eval_engine_init(&engine, fixture("llama/hf"), &f32, pool, &err));
    const int32_t tokens[] = {1, 2, 3, 4};
    const struct eval_request requests[] = {
        {.tokens = tokens, .n_tokens = 4, .first_target = 2, .doc_id = "ab+cd"},
        {.tokens = tokens, .n_tokens = 4, .first_target = 3, .doc_id = "abc+d"},
    };
    const size_t all[] = {0, 1};
    struct eval_scores scores;
    cr_assert(eval_scores_init(&scores, requests, 2, &err));
    cr_assert(scorer_run(&engine, requests, all, 2, scores.scores, NULL, NULL, NULL, &err));
    double alone[4];
    bool greedy;
    for (size_t i = 0; i < 2; i++) {
        score_alone(&engine, &requests[i], alone, &greedy);
        for (size_t t = 0; t < eval_n_targets(&requests[i]); t++)
            cr_expect(scores.scores[i].logprobs[t] == alone[t]);
    }
    cr_expect(scores.scores[0].logprobs[1] == scores.scores[1].logprobs[0]);
    eval_scores_release(&scores);
    eval_engine_release(&engine);
    rml_thread_pool_destroy(pool);
}

/* Four choices behind one context of 100 ids: 100 + 4 * 3 rows instead of 4 * 103. */
Test(scorer, a_shared_context_is_computed_once)
{
    static int32_t tokens[4][104];
    struct eval_request requests[4];
    const size_t all[] = {0, 1, 2, 3};
    for (int i = 0; i < 4; i++) {
        for (int t = 0; t < 100; t++)
            tokens[i][t] = t % 60;
        for (int t = 100; t < 104; t++)
            tokens[i][t] = 10 * i + t % 7;
        requests[i] = (struct eval_request){
            .tokens = tokens[i], .n_tokens = 104, .first_target = 100, .doc_id = "q"};
    }
    struct prefix_tree tree;
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(prefix_tree_init(&tree, requests, all, 4, true, &err));
    cr_expect(tree.n_ids == 100 + 4 * 3, "%zu ids", tree.n_ids);
    cr_expect(tree.max_depth == 103);
    /* two pages of the context; a child copies the second */
    cr_expect(tree.chain_pages == 2 + 1, "%zu pages", tree.chain_pages);
    prefix_tree_release(&tree);
    cr_assert(prefix_tree_init(&tree, requests, all, 4, false, &err));
    cr_expect(tree.n_ids == 4 * 103);
    prefix_tree_release(&tree);
}
