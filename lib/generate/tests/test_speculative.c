/*
 * Speculative decoding: with any draft a greedy reply is the target's token for token, and a
 * sampled one has exactly the target's distribution.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "generate_toys.h"

/* ---- Greedy ---------------------------------------------------------------------------- */

enum { N_REPLY = 90 };

static struct rml_generation_stats run(struct toy *target, struct toy *draft, size_t n_draft,
                                       double penalty, struct reply *reply)
{
    const int32_t prompt[] = {17, 43, 60, 32, 57, 23, 18, 27, 12};
    const struct rml_sampler_params greedy = {
        .temperature = 0, .top_p = 1, .repetition_penalty = penalty};
    struct rml_sampler *sampler =
        rml_sampler_create(rml_model_config(target->model)->n_vocab, &greedy, NULL);
    const struct rml_session_params params = {.draft = draft ? draft->context : NULL,
                                              .n_draft = n_draft};
    struct rml_error err = RML_ERROR_INIT;
    struct rml_session *session = rml_session_create(target->context, sampler, &params, &err);
    cr_assert(session, "%s", err.message);
    struct rml_generation_stats stats;
    for (int turn = 0; turn < 2; turn++) { /* the second turn reuses both caches */
        size_t n = turn == 0 ? 9 : 9 + 40;
        int32_t context[9 + 40];
        memcpy(context, prompt, sizeof prompt);
        memcpy(context + 9, reply->ids, 40 * sizeof *context);
        reply->n = 0;
        cr_assert(rml_session_generate(session,
                                       &(struct rml_generation){.prompt = context,
                                                                .n_prompt = n,
                                                                .max_tokens = N_REPLY,
                                                                .on_token = reply_add,
                                                                .user = reply},
                                       &stats, &err),
                  "%s", err.message);
        cr_assert_eq(reply->n, N_REPLY);
    }
    cr_expect_eq(stats.n_reused, 9 + 40 - 1);
    rml_session_destroy(session);
    rml_sampler_destroy(sampler);
    return stats;
}

Test(speculative, greedy_replies_are_the_targets)
{
    struct toy target = toy_fixture("llama/model.gguf");
    /* The same model, one much like it, one of another family. */
    struct toy drafts[] = {toy_fixture("llama/hf"), toy_fixture("llama-f32/model.gguf"),
                           toy_fixture("qwen3/model.gguf")};
    for (int p = 0; p < 2; p++) {
        double penalty = p ? 1.2 : 1;
        struct reply want = {0};
        run(&target, NULL, 0, penalty, &want);
        for (size_t d = 0; d < sizeof drafts / sizeof *drafts; d++) {
            for (size_t k = 1; k <= 5; k += 2) {
                struct reply got = {0};
                struct rml_generation_stats stats = run(&target, &drafts[d], k, penalty, &got);
                cr_expect_arr_eq(got.ids, want.ids, sizeof got.ids[0] * N_REPLY,
                                 "draft %zu, %zu at a time", d, k);
                cr_expect(stats.n_accepted <= stats.n_drafted);
                cr_expect_geq(stats.n_accepted + stats.n_rounds, N_REPLY - 1);
                if (d == 0) { /* itself: everything is kept, k + 1 tokens a round */
                    cr_expect_eq(stats.n_accepted, stats.n_drafted);
                    cr_expect_eq(stats.n_rounds, (N_REPLY - 1 + k) / (k + 1));
                } else {
                    cr_expect_lt(stats.n_accepted, stats.n_drafted, "another model errs");
                }
            }
        }
    }
    for (size_t d = 0; d < sizeof drafts / sizeof *drafts; d++)
        toy_release(&drafts[d]);
    toy_release(&target);
}

/* ---- The distribution --------------------------------------------------------------------- */

/* Replies of 4 tokens out of 3: 81 of them. The first is sampled as without a draft, the others
 * come from rounds of two guesses. */
enum { N_TOKENS = 3, LENGTH = 4, N_REPLIES = 81, N_RUNS = 6000, N_PROMPT = 5 };

static const struct rml_sampler_params sampling = {.temperature = 0.15,
                                                   .top_p = 0.97,
                                                   .repetition_penalty = 1.05,
                                                   .repetition_window = 3,
                                                   .seed = 12};
static const int32_t prompt[N_PROMPT] = {0, 2, 1, 1, 0};

/* The exact probability of each reply, from passes of the target alone. */
static void exact_probabilities(struct toy *target, struct rml_sampler *sampler, double *p)
{
    for (int r = 0; r < N_REPLIES; r++) {
        int32_t ids[N_PROMPT + LENGTH];
        memcpy(ids, prompt, sizeof prompt);
        for (int i = 0, rest = r; i < LENGTH; i++, rest /= N_TOKENS)
            ids[N_PROMPT + i] = rest % N_TOKENS;
        float *logits = toy_logits(target, ids, N_PROMPT + LENGTH);
        p[r] = 1;
        for (size_t i = N_PROMPT; i < N_PROMPT + LENGTH; i++) {
            double step[N_TOKENS];
            cr_assert(
                rml_sampler_distribution(sampler, logits + (i - 1) * N_TOKENS, ids, i, step, NULL));
            p[r] *= step[ids[i]];
        }
        free(logits);
    }
}

Test(speculative, samples_have_the_targets_distribution)
{
    struct toy target = toy_random(N_TOKENS, 5, 64), draft = toy_random(N_TOKENS, 6, 64);
    struct rml_sampler *sampler = rml_sampler_create(N_TOKENS, &sampling, NULL);
    const struct rml_session_params params = {
        .k_dtype = RML_KV_F32, .v_dtype = RML_KV_F32, .draft = draft.context, .n_draft = 2};
    struct rml_session *session = rml_session_create(target.context, sampler, &params, NULL);
    double p[N_REPLIES], q[N_REPLIES], sum = 0;
    exact_probabilities(&target, sampler, p);
    exact_probabilities(&draft, sampler, q);
    int counts[N_REPLIES] = {0};
    size_t n_drafted = 0, n_accepted = 0;
    for (int i = 0; i < N_RUNS; i++) {
        struct reply reply = {0};
        struct rml_generation_stats stats;
        cr_assert(rml_session_generate(session,
                                       &(struct rml_generation){.prompt = prompt,
                                                                .n_prompt = N_PROMPT,
                                                                .max_tokens = LENGTH,
                                                                .on_token = reply_add,
                                                                .user = &reply},
                                       &stats, NULL));
        cr_assert_eq(reply.n, LENGTH);
        int index = 0;
        for (int j = LENGTH; j-- > 0;)
            index = index * N_TOKENS + reply.ids[j];
        counts[index]++;
        n_drafted += stats.n_drafted;
        n_accepted += stats.n_accepted;
    }
    /* Cells in which fewer than 5 are expected are one cell. */
    double statistic = 0, rare = 0, against_draft = 0;
    int n_rare = 0, n_cells = 0;
    for (int r = 0; r < N_REPLIES; r++) {
        double expected = p[r] * N_RUNS, drafts = q[r] * N_RUNS;
        sum += p[r];
        if (p[r] == 0)
            cr_expect_eq(counts[r], 0, "reply %d cannot be", r);
        if (drafts >= 5)
            against_draft += (counts[r] - drafts) * (counts[r] - drafts) / drafts;
        if (expected < 5) {
            rare += expected;
            n_rare += counts[r];
            continue;
        }
        statistic += (counts[r] - expected) * (counts[r] - expected) / expected;
        n_cells++;
    }
    if (rare > 0) {
        statistic += (n_rare - rare) * (n_rare - rare) / rare;
        n_cells++;
    }
    cr_expect_float_eq(sum, 1, 1e-9);
    /* The 99.9 % quantile of chi-square, by Wilson and Hilferty. */
    double degrees = n_cells - 1, a = 2 / (9 * degrees);
    double bound = degrees * pow(1 - a + 3.0902 * sqrt(a), 3);
    cr_expect_geq(n_cells, 20, "%d cells", n_cells);
    cr_expect_lt(statistic, bound, "chi-square %g over %d cells, expected below %g", statistic,
                 n_cells, bound);
    /* The test would see it if the draft's distribution showed through. */
    cr_expect_gt(against_draft, 5 * bound, "%g", against_draft);
    cr_expect(n_accepted > n_drafted / 4 && n_accepted < n_drafted * 19 / 20,
              "%zu of %zu kept: both ways are taken", n_accepted, n_drafted);
    rml_session_destroy(session);
    rml_sampler_destroy(sampler);
    toy_release(&target);
    toy_release(&draft);
}
