/*
 * Medians and their intervals against values worked out by hand and by exact
 * rational arithmetic: Python, sum(comb(n, k) for k in range(l)) / 2**n.
 */
#include "tools/cli/order_statistics.h"

#include <criterion/criterion.h>
#include <math.h>

struct rank_case {
    size_t n;
    double confidence;
    size_t rank;
    double coverage; /* of [x(rank), x(n + 1 - rank)] */
};

static const struct rank_case rank_cases[] = {
    {1, 0.95, 0, 0},
    {5, 0.95, 0, 0},                    /* [min, max] has 1 - 2/32 = 0.9375 */
    {6, 0.95, 1, 0.96875},              /* 1 - 2/64 */
    {6, 0.96875, 1, 0.96875},           /* exactly what is asked for counts */
    {8, 0.95, 1, 0.9921875},            /* 1 - 2/256; the next has 1 - 18/256 = 0.9297 */
    {9, 0.95, 2, 0.9609375},            /* 1 - 2 * (1 + 9)/512 */
    {21, 0.95, 6, 0.9733963},           /* 1 - 2 * 27896/2097152 */
    {61, 0.99, 21, 0.9901466},          /* the ranks 21 and 41 of a comparison of one case */
    {61, 1 - 0.01 / 10, 18, 0.9992701}, /* and 18 and 44 of ten */
    {101, 0.95, 41, 0.9539559},
};

Test(order_statistics, ranks_of_the_interval)
{
    for (size_t i = 0; i < sizeof rank_cases / sizeof rank_cases[0]; i++) {
        const struct rank_case *c = &rank_cases[i];
        size_t rank = median_interval_rank(c->n, c->confidence);
        cr_expect(rank == c->rank, "n %zu at %g: rank %zu, expected %zu", c->n, c->confidence, rank,
                  c->rank);
        if (c->rank > 0) {
            double coverage = median_interval_coverage(c->n, c->rank);
            cr_expect(fabs(coverage - c->coverage) < 1e-6, "n %zu: %.7f", c->n, coverage);
            cr_expect(coverage >= c->confidence - 1e-9);
            if (c->rank < (c->n + 1) / 2)
                cr_expect(median_interval_coverage(c->n, c->rank + 1) < c->confidence);
        }
    }
}

Test(order_statistics, ranks_stay_right_for_many_samples)
{
    /* l is about n/2 - 0.98 sqrt(n); the exact rank of 100,000 is known */
    cr_expect(median_interval_rank(100000, 0.95) == 49690, "%zu",
              median_interval_rank(100000, 0.95));
}

Test(order_statistics, summary_of_a_hand_worked_sample)
{
    double x[] = {9, 1, 8, 2, 7, 3, 100};
    struct summary s = summarize(x, 7, 0.95);
    cr_expect(s.n == 7 && s.median == 7 && s.min == 1 && s.max == 100);
    cr_expect(s.mad == 4); /* distances 6 5 4 0 1 2 93 */
    cr_expect(fabs(s.mean - 130.0 / 7) < 1e-12);
    /* squares about the mean: 208 + 1e4 - 130^2/7, by 6 */
    cr_expect(fabs(s.sd - sqrt((10208 - 16900.0 / 7) / 6)) < 1e-9);
    cr_expect(s.ci_lo == 1 && s.ci_hi == 100 && fabs(s.ci_coverage - 0.984375) < 1e-9);
}

Test(order_statistics, even_counts_take_the_mean_of_the_middle_two)
{
    double x[] = {4, 1, 3, 2};
    struct summary s = summarize(x, 4, 0.95);
    cr_expect(s.median == 2.5 && s.mad == 1);
    cr_expect(isnan(s.ci_lo) && isnan(s.ci_hi));
}

Test(order_statistics, nothing_and_one)
{
    struct summary none = summarize(NULL, 0, 0.95);
    cr_expect(none.n == 0 && isnan(none.median) && isnan(none.mean) && isnan(none.sd));
    double x[] = {5};
    struct summary one = summarize(x, 1, 0.95);
    cr_expect(one.median == 5 && one.mad == 0 && one.mean == 5 && isnan(one.sd));
}

Test(order_statistics, quantiles_interpolate)
{
    const double x[] = {10, 20, 30, 40, 50};
    cr_expect(quantile_of_sorted(x, 5, 0) == 10 && quantile_of_sorted(x, 5, 1) == 50);
    cr_expect(quantile_of_sorted(x, 5, 0.5) == 30);
    cr_expect(fabs(quantile_of_sorted(x, 5, 0.9) - 46) < 1e-12);
    cr_expect(quantile_of_sorted(x, 1, 0.99) == 10 && isnan(quantile_of_sorted(x, 0, 0.5)));
}
