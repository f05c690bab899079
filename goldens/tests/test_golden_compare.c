/*
 * What counts as a deviation: tolerances, the rules of greedy steps, and which of
 * several deviations is named. A case is recorded from a toy, then its
 * expectations are changed by hand.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "goldens/golden_capture.h"
#include "goldens/tests/flipped_checkpoint.h"

static struct rml_thread_pool *pool;
static struct golden_engine engine;
static struct golden_case recorded;
static int32_t tokens[] = {17, 43, 60, 32, 57, 23, 18, 27, 12};
static struct golden_settings settings;

static void record(void)
{
    struct rml_error err = RML_ERROR_INIT;
    settings = (struct golden_settings){
        .logit_abs = 2e-4, .logsumexp_abs = 3e-4, .residual_rel = 1e-5, .compare_residual = true};
    pool = rml_thread_pool_create(1, &err);
    cr_assert_not_null(pool);
    cr_assert(golden_engine_init(&engine, fixture("llama/model.gguf"), pool, &err), "%s",
              err.message);
    cr_assert(
        golden_engine_configure(&engine, RML_ARITHMETIC_F32, RML_KV_F32, RML_KV_F32, 32, &err));
    const struct golden_capture_settings capture = {.n_top = 4, .n_greedy = 6, .residual = true};
    struct golden_deviation nonfinite;
    recorded = (struct golden_case){.name = (char *)"c", .tokens = tokens, .n_tokens = 9};
    cr_assert(golden_capture_case(&engine, &capture, &recorded, &nonfinite, &err), "%s",
              err.message);
}

static void release(void)
{
    for (size_t i = 0; i < recorded.n_positions; i++) {
        free(recorded.positions[i].ids);
        free(recorded.positions[i].logits);
    }
    free(recorded.positions);
    free(recorded.greedy);
    free(recorded.residual);
    golden_engine_release(&engine);
    rml_thread_pool_destroy(pool);
}

static struct golden_outcome compare(void)
{
    struct golden_outcome outcome;
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(golden_compare_case(&engine, &recorded, &settings, &outcome, &err), "%s",
              err.message);
    return outcome;
}

TestSuite(golden_compare, .init = record, .fini = release);

Test(golden_compare, what_was_recorded)
{
    cr_assert_eq(recorded.n_positions, 9);
    cr_assert_eq(recorded.n_residual, 9 * (1 + 2 * 2 + 1));
    for (size_t p = 0; p < 9; p++) {
        cr_assert_eq(recorded.positions[p].n, 4);
        for (size_t i = 1; i < 4; i++)
            cr_expect_leq(recorded.positions[p].logits[i], recorded.positions[p].logits[i - 1]);
        cr_expect_gt(recorded.positions[p].logsumexp, recorded.positions[p].logits[0]);
    }
    cr_expect_eq(recorded.greedy[0], recorded.positions[8].ids[0]);
    cr_expect_leq(recorded.greedy_margin,
                  recorded.positions[8].logits[0] - recorded.positions[8].logits[1]);
}

Test(golden_compare, equal_to_the_bit)
{
    settings.logit_abs = settings.logsumexp_abs = settings.residual_rel = 0;
    struct golden_outcome o = compare();
    cr_expect(o.passed);
    cr_expect_eq(o.max_abs_error, 0);
    cr_expect_eq(o.max_logsumexp_error, 0);
    cr_expect_eq(o.max_residual_error, 0);
    cr_expect_eq(o.n_positions, 9);
    cr_expect_eq(o.n_greedy_compared, 6);
    cr_expect(o.greedy_equal);
    cr_expect_eq(o.first.kind, GOLDEN_NO_DEVIATION);
}

/* The decimal nearest to an f32 stands for it, though it is another double. */
Test(golden_compare, nine_digits_are_exact)
{
    settings.logit_abs = 0;
    for (size_t p = 0; p < 9; p++)
        for (size_t i = 0; i < 4; i++) {
            char text[32];
            snprintf(text, sizeof text, "%.9g", recorded.positions[p].logits[i]);
            recorded.positions[p].logits[i] = strtod(text, NULL);
        }
    cr_expect_eq(compare().max_abs_error, 0);
}

Test(golden_compare, first_logit_beyond_the_tolerance)
{
    settings.compare_residual = false;
    recorded.positions[2].logits[1] += 1.9e-4;
    struct golden_outcome o = compare();
    cr_expect(o.passed);
    cr_expect_float_eq(o.max_abs_error, 1.9e-4, 1e-6);

    recorded.positions[7].logits[0] -= 1;
    recorded.positions[5].logits[3] += 2.1e-4;
    o = compare();
    cr_expect_not(o.passed);
    cr_expect_not(o.logits_passed);
    cr_expect_float_eq(o.max_abs_error, 1, 1e-6);
    cr_expect_eq(o.first.kind, GOLDEN_LOGIT);
    cr_expect_eq(o.first.position, 5);
    cr_expect_eq(o.first.id, recorded.positions[5].ids[3]);
    cr_expect_eq(o.first.want, recorded.positions[5].logits[3]);
    cr_expect_float_eq(o.first.want - o.first.got, 2.1e-4, 1e-6);
    cr_expect_null(o.first.branch);
}

Test(golden_compare, logsumexp_has_its_own_tolerance)
{
    recorded.positions[3].logsumexp += 2.9e-4;
    cr_expect(compare().passed);
    recorded.positions[3].logsumexp += 0.2e-4;
    struct golden_outcome o = compare();
    cr_expect_not(o.passed);
    cr_expect_eq(o.first.kind, GOLDEN_LOGSUMEXP);
    cr_expect_eq(o.first.position, 3);
    cr_expect_eq(o.first.id, -1);
    cr_expect_float_eq(o.max_logsumexp_error, 3.1e-4, 1e-6);
    cr_expect_eq(o.max_abs_error, 0);
    /* The stream is right up to the last norm, so what is left is the head. */
    cr_expect_str_eq(o.first.branch, "head");
    cr_expect_eq(o.first.layer, 2);
}

Test(golden_compare, logsumexp_by_hand)
{
    const float logits[] = {1000, 1000, -1000};
    cr_expect_float_eq(golden_logsumexp(logits, 3), 1000 + log(2), 1e-12);
    const float broken[] = {1, NAN, 2};
    cr_expect(isnan(golden_logsumexp(broken, 3)));
    const float infinite[] = {1, INFINITY, 2};
    cr_expect_eq(golden_logsumexp(infinite, 3), INFINITY);
}

Test(golden_compare, best_of_equals_is_the_lower_id)
{
    double gap;
    const float logits[] = {-1, 3, 2.5, 3, 1};
    cr_expect_eq(golden_best(logits, 5, &gap), 1);
    cr_expect_eq(gap, 0);
    cr_expect_eq(golden_best(logits, 3, &gap), 1);
    cr_expect_eq(gap, 0.5);
}

/* A wrong step counts when it comes before the first close one, or when the file's own steps
 * were never close. "Close" is under twice the tolerance. */
Test(golden_compare, greedy_rules)
{
    settings.compare_residual = false;
    double margin = recorded.greedy_margin;
    cr_assert_gt(margin, 0.01);
    recorded.greedy[3] = (recorded.greedy[3] + 1) % 64;

    recorded.greedy_margin = -1; /* not given: our own gaps decide, none is close */
    struct golden_outcome o = compare();
    cr_expect_not(o.passed);
    cr_expect_not(o.greedy_equal);
    cr_expect_eq(o.n_greedy_compared, 4);
    cr_expect_eq(o.first.kind, GOLDEN_GREEDY);
    cr_expect_eq(o.first.position, 11); /* 9 tokens, steps 0 to 3 choose after 8, 9, 10, 11 */
    cr_expect_eq(o.first.want, recorded.greedy[3]);

    settings.logit_abs = 1000; /* everything is close */
    o = compare();
    cr_expect(o.passed);
    cr_expect_eq(o.n_greedy_compared, 0);

    settings.logit_abs = 2e-4;
    recorded.greedy_margin = 3.9e-4; /* under 2 x 2e-4: no different from none */
    o = compare();
    cr_expect_eq(o.n_greedy_compared, 4);
    cr_expect_not(o.greedy_equal);

    settings.logit_abs = margin / 2 * 1.01; /* our closest step is close ... */
    recorded.greedy_margin = 10 * margin;   /* ... but the file vouches for all */
    o = compare();
    cr_expect_not(o.greedy_equal);
    cr_expect_eq(o.n_greedy_compared, 4);
    recorded.greedy_margin = margin; /* it does not: steps up to the close one */
    o = compare();
    cr_expect_leq(o.n_greedy_compared, 5);
}

/* By layer, branch, position, whatever else is wrong. */
Test(golden_compare, first_residual)
{
    recorded.positions[0].logits[0] += 1;
    struct golden_residual *r = recorded.residual;
    size_t n = recorded.n_residual;
    r[n - 1].norm *= 2;                        /* output, position 8 */
    r[9 * 3 + 4].projections[6] += r[31].norm; /* layer 1, attention, position 4 */
    r[9 * 4 + 1].norm += 1;                    /* layer 1, feed_forward, position 1 */
    struct golden_outcome o = compare();
    cr_expect_not(o.passed);
    cr_expect_not(o.residual_passed);
    cr_expect_eq(o.first.kind, GOLDEN_RESIDUAL);
    cr_expect_eq(o.first.layer, 1);
    cr_expect_str_eq(o.first.branch, "attention");
    cr_expect_eq(o.first.position, 4);
    cr_expect_float_eq(o.first.error, 1, 1e-5);
    cr_expect_eq(o.first.want, r[31].projections[6]);
    cr_expect_not(o.first.within);
}

/* What starts below the tolerance and is beyond it later started where it started. */
Test(golden_compare, fault_that_starts_small)
{
    struct golden_residual *r = recorded.residual;
    r[9 * 2 + 3].norm *= 1 + 2e-6f; /* layer 0, feed_forward, position 3 */
    cr_expect(compare().passed);
    r[9 * 4 + 3].norm *= 1 + 1e-3f; /* layer 1, feed_forward */
    struct golden_outcome o = compare();
    cr_expect_not(o.passed);
    cr_expect_eq(o.first.layer, 0);
    cr_expect_str_eq(o.first.branch, "feed_forward");
    cr_expect(o.first.within);

    /* Unless rounding differs all over: then only the tolerance tells noise from fault. */
    for (size_t i = 0; i < recorded.n_residual; i++)
        r[i].norm *= 1 + 2e-7f;
    o = compare();
    cr_expect_eq(o.first.layer, 1);
    cr_expect_str_eq(o.first.branch, "feed_forward");
    cr_expect_not(o.first.within);
}

/* Each part of a case may be missing, and then its array is NULL: alone and right, alone and
 * wrong. */
Test(golden_compare, parts_may_be_missing)
{
    const struct golden_case whole = recorded;
    for (int part = 0; part < 3; part++) {
        recorded = (struct golden_case){
            .name = whole.name, .tokens = whole.tokens, .n_tokens = 9, .greedy_margin = -1};
        if (part == 0) {
            recorded.positions = whole.positions;
            recorded.n_positions = whole.n_positions;
        } else if (part == 1) {
            recorded.greedy = whole.greedy;
            recorded.n_greedy = whole.n_greedy;
        } else {
            recorded.residual = whole.residual;
            recorded.n_residual = whole.n_residual;
        }
        cr_expect(compare().passed, "part %d", part);

        whole.positions[4].logsumexp += 1;
        whole.greedy[1] = (whole.greedy[1] + 1) % 64;
        whole.residual[7].norm *= 2;
        struct golden_outcome o = compare();
        cr_expect_not(o.passed, "part %d", part);
        static const enum golden_deviation_kind kinds[] = {GOLDEN_LOGSUMEXP, GOLDEN_GREEDY,
                                                           GOLDEN_RESIDUAL};
        cr_expect_eq(o.first.kind, kinds[part]);
        if (part < 2)
            cr_expect_null(o.first.branch); /* nothing says that the stream is right */
        whole.positions[4].logsumexp -= 1;
        whole.greedy[1] = (whole.greedy[1] + 63) % 64;
        whole.residual[7].norm /= 2;
    }
    recorded = whole;
}
