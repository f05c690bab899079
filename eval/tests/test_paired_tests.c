/*
 * Comparisons' statistics against scipy and statsmodels (make/paired_test_expectations.py), and
 * what is not defined.
 */
#include "eval/paired_tests.h"

#include <criterion/criterion.h>
#include <math.h>

#include "eval/distributions.h"

#include "eval/tests/expected_paired_tests.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void expect_near(double got, double want, double relative, const char *what, size_t i)
{
    cr_expect(fabs(got - want) <= relative * fmax(fabs(want), 1e-300) ||
                  (want == 0 && fabs(got) < 1e-14),
              "%s %zu: %.17g, expected %.17g", what, i, got, want);
}

Test(paired_tests, normal_quantiles)
{
    for (size_t i = 0; i < COUNT(normal_quantiles); i++)
        expect_near(normal_quantile(normal_quantiles[i].x), normal_quantiles[i].value, 1e-12,
                    "quantile", i);
}

Test(paired_tests, student_t)
{
    for (size_t i = 0; i < COUNT(t_tails); i++)
        expect_near(student_t_two_sided(t_tails[i].x, t_tails[i].df), t_tails[i].value, 1e-8,
                    "tail", i);
    for (size_t i = 0; i < COUNT(t_criticals); i++)
        expect_near(student_t_critical(t_criticals[i].x, t_criticals[i].df), t_criticals[i].value,
                    1e-9, "critical value", i);
    cr_expect(student_t_two_sided(INFINITY, 3) == 0);
}

Test(paired_tests, mcnemar)
{
    for (size_t i = 0; i < COUNT(mcnemar_cases); i++)
        expect_near(mcnemar_exact(mcnemar_cases[i].n10, mcnemar_cases[i].n01),
                    mcnemar_cases[i].p_value, 1e-10, "p", i);
    /* By hand: with as many of one as of the other, or one more, the two tails are all cases. */
    for (size_t n = 0; n < 200; n++) {
        cr_expect(mcnemar_exact(n, n) == 1);
        cr_expect(mcnemar_exact(n, n + 1) == 1);
        cr_expect(mcnemar_exact(n + 1, n) == 1);
    }
}

Test(paired_tests, wilson)
{
    for (size_t i = 0; i < COUNT(wilson_cases); i++) {
        const struct wilson_case *c = &wilson_cases[i];
        double lo, hi;
        wilson_interval(c->n_right, c->n, c->confidence, &lo, &hi);
        expect_near(lo, c->lo, 1e-10, "lo", i);
        expect_near(hi, c->hi, 1e-10, "hi", i);
    }
}

Test(paired_tests, holm)
{
    double p[COUNT(holm_cases) + 1], adjusted[COUNT(holm_cases) + 1];
    for (size_t i = 0; i < COUNT(holm_cases); i++)
        p[i] = holm_cases[i].x;
    p[COUNT(holm_cases)] = NAN; /* a comparison without p does not count */
    cr_assert(holm_adjust(p, COUNT(holm_cases) + 1, adjusted));
    for (size_t i = 0; i < COUNT(holm_cases); i++)
        expect_near(adjusted[i], holm_cases[i].value, 1e-13, "adjusted p", i);
    cr_expect(isnan(adjusted[COUNT(holm_cases)]));
}

static void expect_difference(struct paired_difference got, const struct value5 *want, size_t i)
{
    expect_near(got.estimate, want->estimate, 1e-10, "estimate", i);
    expect_near(got.standard_error, want->standard_error, 1e-10, "standard error", i);
    expect_near(got.lo, want->lo, 1e-8, "lo", i);
    expect_near(got.hi, want->hi, 1e-8, "hi", i);
    expect_near(got.p_value, want->p_value, 1e-8, "p", i);
}

/* Items of a group are one block; the groups come in order. */
static size_t make_blocks(const struct paired_case *c, struct block *blocks)
{
    size_t n = 0;
    for (size_t i = 0; i < COUNT(paired_items); i++) {
        const struct paired_item *item = &paired_items[i];
        bool joins = c->is_grouped && i > 0 && item->group == paired_items[i - 1].group;
        if (!joins)
            blocks[n++] = (struct block){0};
        blocks[n - 1].sum +=
            c->is_score ? item->score_a - item->score_b : item->right_a - item->right_b;
        blocks[n - 1].size += 1;
    }
    return n;
}

Test(paired_tests, differences_of_items_and_of_groups)
{
    struct block blocks[COUNT(paired_items)];
    for (size_t i = 0; i < COUNT(paired_cases); i++) {
        const struct paired_case *c = &paired_cases[i];
        size_t n = make_blocks(c, blocks);
        expect_difference(paired_difference(blocks, n, c->confidence), &c->expected, i);
    }
}

Test(paired_tests, logarithm_of_a_ratio_of_perplexities)
{
    struct block blocks[COUNT(ppl_blocks)];
    for (size_t i = 0; i < COUNT(ppl_blocks); i++)
        blocks[i] = (struct block){.sum = ppl_blocks[i].x, .size = ppl_blocks[i].value};
    expect_difference(paired_difference(blocks, COUNT(ppl_blocks), 0.95), &ppl_difference[0], 0);
}

Test(paired_tests, minimum_detectable_effect)
{
    const struct paired_case c = {.is_score = 1};
    struct block blocks[COUNT(paired_items)];
    size_t n = make_blocks(&c, blocks);
    double se = paired_difference(blocks, n, 0.95).standard_error;
    expect_near(minimum_detectable_effect(se, 0.05, 0.8), detectable_of_scores, 1e-10, "mde", 0);
    cr_expect(items_needed(se, (double)n, 0.1, 0.05, 0.8) == items_for_a_tenth);
}

/* The trap "unexpected negative standard deviation; n=1 or zero variance divides by 0". */
Test(paired_tests, one_item_or_zero_variance)
{
    const struct block one = {.sum = 1, .size = 1};
    struct paired_difference d = paired_difference(&one, 1, 0.95);
    cr_expect(d.n_blocks == 1 && d.estimate == 1);
    cr_expect(isnan(d.standard_error) && isnan(d.lo) && isnan(d.hi) && isnan(d.p_value));

    const struct block same[] = {{0.25, 1}, {0.25, 1}, {0.25, 1}};
    d = paired_difference(same, 3, 0.95);
    cr_expect(d.estimate == 0.25 && d.standard_error == 0);
    cr_expect(isnan(d.lo) && isnan(d.hi) && isnan(d.p_value));
    cr_expect(isnan(minimum_detectable_effect(0, 0.05, 0.8)));
    cr_expect(isnan(minimum_detectable_effect(NAN, 0.05, 0.8)));

    d = paired_difference(NULL, 0, 0.95);
    cr_expect(d.n_blocks == 0 && isnan(d.estimate) && isnan(d.standard_error));

    /* No flip in 59 items: the chance of one is at most 5 % (0.95^59 = 0.0485) */
    cr_expect(unseen_event_bound(59, 0.95) < 0.05 && unseen_event_bound(58, 0.95) > 0.05);
    cr_expect(fabs(unseen_event_bound(1, 0.95) - 0.95) < 1e-15);
}
