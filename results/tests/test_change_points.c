/*
 * Change points on series whose changes are known: none, one, several. Seeds are fixed, so the
 * outcome is, too; the bounds are those that any seed would meet but for one in thousands.
 */
#include "results/change_points.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

TestSuite(change_points, .timeout = 120);

static uint64_t state;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* The definition, term by term. */
static double statistic_by_definition(const double *x, size_t n, size_t at)
{
    double cross = 0, left = 0, right = 0;
    double m = (double)at, k = (double)(n - at);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            double d = fabs(x[i] - x[j]);
            if (j < at)
                left += d;
            else if (i >= at)
                right += d;
            else
                cross += d;
        }
    }
    return m * k / (m + k) *
           (2 * cross / (m * k) - left / (m * (m - 1) / 2) - right / (k * (k - 1) / 2));
}

Test(change_points, statistic_is_its_definition)
{
    state = 1;
    for (int round = 0; round < 40; round++) {
        size_t n = 8 + (size_t)(uniform() * 40), at, want_at = 0;
        double x[64], want = 0;
        for (size_t i = 0; i < n; i++)
            x[i] = round % 2 ? floor(4 * uniform()) : normal(); /* with ties, and without */
        for (size_t split = CHANGE_MIN_SEGMENT; split + CHANGE_MIN_SEGMENT <= n; split++) {
            double statistic = statistic_by_definition(x, n, split);
            if (statistic > want + 1e-12) {
                want = statistic;
                want_at = split;
            }
        }
        double got = change_statistic(x, n, &at);
        cr_assert(fabs(got - want) <= 1e-9 * (1 + want), "n %zu: %.17g, expected %.17g", n, got,
                  want);
        if (want > 1e-9)
            cr_assert(fabs(statistic_by_definition(x, n, at) - want) <= 1e-9 * (1 + want),
                      "at %zu, expected %zu", at, want_at);
    }
}

/* Worked by hand: 0 0 0 0 1 1 1 1 split in the middle: cross mean 1, within 0: 16/8 x 2 = 4. */
Test(change_points, hand_worked)
{
    const double x[] = {0, 0, 0, 0, 1, 1, 1, 1};
    size_t at;
    cr_expect(fabs(change_statistic(x, 8, &at) - 4) < 1e-12 && at == 4);
    cr_expect(change_statistic(x, 7, &at) == 0 && at == 0, "too short");
}

/* Of 400 series without a change at most 1 in 100 may get one: 4 expected, more than 11 has a
 * probability of 0.001 (binomial). */
static void expect_no_false_alarms(double (*noise)(void), const char *name)
{
    size_t n_alarms = 0;
    for (int series = 0; series < 400; series++) {
        double x[60];
        struct change_point found[60];
        size_t n_found;
        for (size_t i = 0; i < 60; i++)
            x[i] = noise();
        cr_assert(change_points_find(x, 60, (uint64_t)series, found, &n_found));
        n_alarms += n_found > 0;
    }
    cr_expect(n_alarms <= 11, "%s: %zu of 400", name, n_alarms);
    cr_expect(n_alarms >= 1, "%s: none of 400, the test is not as sharp as it says", name);
}

static double bursts(void) /* long tail, as times on a shared machine */
{
    return uniform() < 0.1 ? 5 - 3 * log(uniform()) : 0.3 * normal();
}

Test(change_points, noise_has_none)
{
    state = 2;
    expect_no_false_alarms(normal, "normal");
    expect_no_false_alarms(bursts, "bursts");
}

/* A step of five standard deviations with at least 8 values on each side: always found, and at
 * the right place but for one value. */
Test(change_points, a_step_is_found_where_it_is)
{
    state = 3;
    size_t n_exact = 0, n_more = 0;
    for (int series = 0; series < 200; series++) {
        double x[60];
        struct change_point found[60];
        size_t n_found, at = 8 + (size_t)(uniform() * 45);
        for (size_t i = 0; i < 60; i++)
            x[i] = normal() + (i >= at ? (series % 2 ? 5 : -5) : 0);
        cr_assert(change_points_find(x, 60, 0, found, &n_found));
        bool near = false;
        for (size_t c = 0; c < n_found; c++) {
            near = near || found[c].at + 1 == at || found[c].at == at || found[c].at == at + 1;
            n_exact += found[c].at == at;
            cr_expect(found[c].p_value <= CHANGE_ALPHA);
        }
        cr_expect(near, "series %d: step at %zu not found", series, at);
        n_more += n_found > 1;
    }
    cr_expect(n_exact >= 180, "%zu of 200 exact", n_exact);
    cr_expect(n_more <= 12, "%zu of 200 with more than the one step", n_more);
}

Test(change_points, several_steps_in_ascending_order)
{
    state = 4;
    double x[120];
    struct change_point found[120], again[120];
    size_t n_found, n_again;
    for (size_t i = 0; i < 120; i++)
        x[i] = 0.1 * normal() + (i >= 30) - 2.0 * (i >= 60) + 1.5 * (i >= 100);
    cr_assert(change_points_find(x, 120, 7, found, &n_found));
    cr_assert(n_found == 3, "%zu", n_found);
    cr_expect(found[0].at == 30 && found[1].at == 60 && found[2].at == 100);
    cr_assert(change_points_find(x, 120, 7, again, &n_again));
    cr_assert(n_again == n_found);
    for (size_t i = 0; i < n_found; i++)
        cr_expect(again[i].at == found[i].at && again[i].p_value == found[i].p_value);
}

Test(change_points, nothing_in_constants_and_short_series)
{
    double x[50];
    struct change_point found[50];
    size_t n_found;
    for (size_t i = 0; i < 50; i++)
        x[i] = 3.25;
    cr_assert(change_points_find(x, 50, 0, found, &n_found));
    cr_expect(n_found == 0);
    for (size_t n = 0; n < 8; n++) {
        cr_assert(change_points_find(x, n, 0, found, &n_found));
        cr_expect(n_found == 0);
    }
}
