/*
 * Every token of a KL divergence equals, bit for bit, the one of its window run alone: for random
 * windows, whatever the rows of a pass, the room for rows of the base, the threads and how many
 * candidates run beside it. The seed is printed; RML_TEST_SEED sets it.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "eval/kld_pass.h"

#define N_WINDOWS 40
#define MAX_TOKENS 200
#define N_CANDIDATES 3

static uint64_t state;

static uint64_t draw(uint64_t n)
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % n;
}

static void seed(void)
{
    const char *text = getenv("RML_TEST_SEED");
    state = text ? strtoull(text, NULL, 10) : 20261130;
    fprintf(stderr, "RML_TEST_SEED=%llu\n", (unsigned long long)state);
}

TestSuite(kld_pass, .init = seed);

static int32_t tokens[N_WINDOWS][MAX_TOKENS];
static struct eval_request requests[N_WINDOWS];

/* Some short, some of many pages. */
static void draw_windows(uint32_t n_vocab)
{
    for (size_t w = 0; w < N_WINDOWS; w++) {
        size_t n = 2 + draw(draw(3) ? 12 : MAX_TOKENS - 2);
        for (size_t t = 0; t < n; t++)
            tokens[w][t] = (int32_t)draw(n_vocab);
        requests[w] = (struct eval_request){.tokens = tokens[w],
                                            .n_tokens = n,
                                            .first_target = 1 + draw(n - 1),
                                            .doc_id = "drawn",
                                            .choice_idx = (int64_t)w};
    }
}

/* ---- The schedule ------------------------------------------------------------------------------- */

/* What it promises: every id and target once and in order, nothing beyond the room of a pass. */
static void check_schedule(size_t batch_rows, size_t max_rows)
{
    size_t all[N_WINDOWS], n_fed[N_WINDOWS] = {0}, n_targets[N_WINDOWS] = {0};
    for (size_t w = 0; w < N_WINDOWS; w++)
        all[w] = w;
    struct kld_schedule s = {.requests = requests,
                             .windows = all,
                             .n_windows = N_WINDOWS,
                             .batch_rows = batch_rows,
                             .max_rows = max_rows};
    while (kld_schedule_next(&s)) {
        size_t n_ids = 0, n_rows = 0, slots = 0;
        for (size_t i = 0; i < s.n_pieces; i++) {
            const struct kld_piece *p = &s.pieces[i];
            cr_assert(p->begin == n_fed[p->window] && p->end > p->begin);
            cr_assert(p->first == n_targets[p->window] && p->row == n_rows);
            for (size_t t = 0; t < p->n; t++) {
                size_t position = kld_piece_position(p, t);
                cr_assert(position >= p->begin && position < p->end);
            }
            cr_assert(!(slots >> p->slot & 1));
            slots |= (size_t)1 << p->slot;
            n_fed[p->window] = p->end;
            n_targets[p->window] += p->n;
            n_ids += p->end - p->begin;
            n_rows += p->n;
        }
        cr_assert(n_ids <= batch_rows && n_rows <= max_rows && n_rows == s.n_rows);
    }
    for (size_t w = 0; w < N_WINDOWS; w++)
        cr_assert(n_fed[w] == requests[w].n_tokens - 1 &&
                  n_targets[w] == eval_n_targets(&requests[w]));
}

Test(kld_pass, the_schedule_runs_every_token_once)
{
    for (int round = 0; round < 50; round++) {
        draw_windows(100);
        check_schedule(1 + draw(300), 1 + draw(100));
    }
    check_schedule(1, 1);
    check_schedule(100000, 100000);
}

/* ---- Bits ------------------------------------------------------------------------------------------ */

static const char *fixture(const char *name)
{
    static char path[1024];
    const char *root = getenv("RML_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/goldens/fixtures/%s", root ? root : ".", name);
    return path;
}

/* One sequence, one pass, all logits; to be freed. */
static float *run_alone(const struct eval_engine *engine, const struct eval_request *request)
{
    size_t n = request->n_tokens - 1;
    float *logits = malloc(n * engine->n_vocab * sizeof *logits);
    struct rml_error err = RML_ERROR_INIT;
    struct rml_context *context = eval_engine_context(engine, n, 0, &err);
    struct rml_kv_cache *cache = eval_engine_cache(engine, n / RML_PAGE_TOKENS + 1, &err);
    struct rml_sequence *sequence = rml_sequence_create(cache, n, &err);
    cr_assert(rml_forward_tokens(context, sequence, request->tokens, n, true, logits, &err), "%s",
              err.message);
    rml_sequence_destroy(sequence);
    rml_kv_cache_destroy(cache);
    rml_context_destroy(context);
    return logits;
}

/* out: the tokens of the window. */
static void compare_alone(const struct eval_engine *base, const struct eval_engine *candidate,
                          const struct eval_request *request, struct kld_token *out)
{
    size_t n_vocab = base->n_vocab;
    float *of_base = run_alone(base, request), *of_candidate = run_alone(candidate, request);
    for (size_t t = request->first_target; t < request->n_tokens; t++) {
        const float *p = of_base + (t - 1) * n_vocab, *q = of_candidate + (t - 1) * n_vocab;
        struct logit_row of_p = log_softmax_row(p, n_vocab), of_q = log_softmax_row(q, n_vocab);
        const struct base_row row = {.logits = p, .logsumexp = of_p.logsumexp, .best = of_p.best};
        out[t - request->first_target] = kld_row(&row, q, &of_q, n_vocab, request->tokens[t]);
    }
    free(of_base);
    free(of_candidate);
}

static void expect_same(const struct kld_candidate *candidate, const struct eval_engine *base)
{
    static struct kld_token alone[MAX_TOKENS];
    for (size_t w = 0; w < N_WINDOWS; w++) {
        compare_alone(base, candidate->task->engine, &requests[w], alone);
        for (size_t t = 0; t < eval_n_targets(&requests[w]); t++) {
            const struct kld_token *got = &candidate->tokens.tokens[candidate->tokens.first[w] + t];
            cr_expect(got->logprob == alone[t].logprob &&
                          got->base_logprob == alone[t].base_logprob && got->kld == alone[t].kld &&
                          got->same_top == alone[t].same_top,
                      "window %zu, target %zu", w, t);
        }
    }
}

/* The base in f32; beside it an i8 cache, i8 arithmetic, and the base itself. */
static void compare_schedules(const char *checkpoint)
{
    static const struct eval_settings settings[N_CANDIDATES] = {
        {RML_ARITHMETIC_F32, RML_KV_I8, RML_KV_F16},
        {RML_ARITHMETIC_I8, RML_KV_F32, RML_KV_F32},
        {RML_ARITHMETIC_F32, RML_KV_F32, RML_KV_F32}};
    struct rml_error err = RML_ERROR_INIT;
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct rml_thread_pool *pool = rml_thread_pool_create(threads, &err);
        struct eval_engine engines[N_CANDIDATES];
        struct eval_run runs[N_CANDIDATES] = {0};
        struct eval_task tasks[N_CANDIDATES];
        struct kld_candidate candidates[N_CANDIDATES] = {0};
        for (size_t i = 0; i < N_CANDIDATES; i++)
            cr_assert(eval_engine_init(&engines[i], fixture(checkpoint), &settings[i], pool, &err),
                      "%s", err.message);
        const struct eval_engine *of_base = &engines[N_CANDIDATES - 1];
        draw_windows(of_base->n_vocab);
        const struct kld_pass_options options = {.batch_rows = 1 + draw(300)};
        struct kld_base base;
        struct kld_speed speed = {0};
        cr_assert(kld_base_from_engine(&base, of_base, MAX_TOKENS, options.batch_rows, &err));
        base.max_rows = 1 + draw(100);
        for (size_t i = 0; i < N_CANDIDATES; i++) {
            tasks[i] = (struct eval_task){
                .name = "kld", .engine = &engines[i], .base_identity = base.identity};
            candidates[i] = (struct kld_candidate){
                .run = &runs[i], .task = &tasks[i], .is_base = i == N_CANDIDATES - 1};
        }
        cr_assert(
            kld_pass(&base, requests, N_WINDOWS, candidates, N_CANDIDATES, &options, &speed, &err),
            "%s", err.message);
        for (size_t i = 0; i < N_CANDIDATES; i++) {
            expect_same(&candidates[i], of_base);
            cr_expect(runs[i].n_computed == N_WINDOWS);
            kld_candidate_release(&candidates[i]);
        }
        cr_expect(speed.n > 0 && speed.n_ids > N_WINDOWS);
        kld_speed_release(&speed);
        kld_base_release(&base);
        for (size_t i = 0; i < N_CANDIDATES; i++)
            eval_engine_release(&engines[i]);
        rml_thread_pool_destroy(pool);
    }
}

Test(kld_pass, windows_that_share_passes_have_the_bits_of_those_that_run_alone)
{
    compare_schedules("llama-q4_0/model.gguf");
    compare_schedules("gemma3/model.gguf"); /* sliding windows */
}
