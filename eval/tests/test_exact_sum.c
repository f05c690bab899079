/*
 * Sums that are exact, against Python's math.fsum (make/exact_sum_cases.py).
 */
#include <criterion/criterion.h>
#include <math.h>

#include "eval/exact_sum.h"
#include "eval/tests/expected_exact_sum.h"

static const struct {
    double total;
    size_t n;
    double values[MOST_VALUES];
} cases[] = {SUMS};

#define N_CASES (sizeof cases / sizeof cases[0])

static double total(const double *values, size_t n, size_t first, size_t step)
{
    struct exact_sum sum = {0};
    for (size_t i = 0; i < n; i++)
        exact_sum_add(&sum, values[(first + i * step) % n]);
    return exact_sum_value(&sum);
}

Test(exact_sum, equals_pythons_fsum)
{
    for (size_t c = 0; c < N_CASES; c++)
        cr_expect(total(cases[c].values, cases[c].n, 0, 1) == cases[c].total,
                  "case %zu: %a found, expected %a", c, total(cases[c].values, cases[c].n, 0, 1),
                  cases[c].total);
}

Test(exact_sum, order_dependent_sums)
{
    for (size_t c = 0; c < N_CASES; c++) {
        size_t n = cases[c].n;
        for (size_t step = 1; step < n; step++) {
            size_t a = n, b = step; /* steps that meet every value: no common divisor */
            while (b > 0) {
                size_t rest = a % b;
                a = b;
                b = rest;
            }
            cr_expect(a > 1 || total(cases[c].values, n, step / 2, step) == cases[c].total,
                      "case %zu, step %zu", c, step);
        }
    }
}

/* More additions than digits take without carries, of the greatest digits there are. */
Test(exact_sum, carries)
{
    struct exact_sum up = {0}, down = {0}, both = {0};
    double ones = ldexp(0x1p53 - 1, -20);
    for (size_t i = 0; i < 5U << 20; i++) {
        exact_sum_add(&up, ones);
        exact_sum_add(&down, -ones);
        exact_sum_add(&both, i % 2 ? ones : -0x1p-1074);
    }
    /* 5 2^20 (2^53 - 1) 2^-20 = 5 2^53 - 5, of which the doubles have every eighth: the nearest is 5 2^53 - 8 */
    cr_expect(exact_sum_value(&up) == 5 * 0x1p53 - 8);
    cr_expect(exact_sum_value(&down) == -(5 * 0x1p53 - 8));
    /* half as often: 2.5 2^53 - 2.5, every fourth; a little less than that is nearer to 2.5 2^53 - 4 */
    cr_expect(exact_sum_value(&both) == 2.5 * 0x1p53 - 4);
}

Test(exact_sum, infinities_and_nan)
{
    const double up[] = {1, INFINITY, 2, 1e308, 1e308}, down[] = {-INFINITY, 3};
    const double both[] = {INFINITY, 1, -INFINITY, INFINITY}, nan[] = {INFINITY, NAN, 1};
    const double beyond[] = {-1e308, -1e308, 1};
    cr_expect(total(up, 5, 0, 1) == INFINITY);
    cr_expect(total(down, 2, 0, 1) == -INFINITY);
    cr_expect(isnan(total(both, 4, 0, 1)));
    cr_expect(isnan(total(nan, 3, 0, 1)));
    cr_expect(total(beyond, 3, 0, 1) == -INFINITY);
    cr_expect(total(NULL, 0, 0, 1) == 0);
}
