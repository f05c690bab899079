/*
 * Standard errors against values worked out by hand from the formulas in eval-semantics, section 4.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "eval/standard_errors.h"

static bool near(double got, double want)
{
    return fabs(got - want) <= 1e-14 * (1 + fabs(want));
}

/* Sums 3, 5, 10 of 1, 2, 3 values: mean 18/6 = 3, residuals 0, -1, 1;
 * sqrt(3/2 * (0 + 1 + 1)) / 6 = sqrt(3) / 6. */
Test(standard_errors, blocks)
{
    const struct block blocks[] = {{3, 1}, {5, 2}, {10, 3}};
    cr_expect(near(block_ratio(blocks, 3), 3));
    cr_expect(near(block_standard_error(blocks, 3), sqrt(3) / 6));
    /* a block without values changes nothing */
    const struct block more[] = {{3, 1}, {0, 0}, {5, 2}, {10, 3}};
    cr_expect(near(block_standard_error(more, 4), sqrt(3) / 6));
}

/* Blocks of one value: s / sqrt(n). 1, 2, 4: mean 7/3, squares 14/3, s^2 = 7/3, SE = sqrt(7)/3. */
Test(standard_errors, blocks_of_one_value_are_independent_values)
{
    const double x[] = {1, 2, 4};
    const struct block blocks[] = {{1, 1}, {2, 1}, {4, 1}};
    cr_expect(near(mean_of(x, 3), 7.0 / 3));
    cr_expect(near(mean_standard_error(x, 3), sqrt(7) / 3));
    cr_expect(near(block_standard_error(blocks, 3), sqrt(7) / 3));
}

/* E[x^2] - mean^2 of equal large values is negative when rounding has its way. */
Test(standard_errors, unexpected_negative_standard_deviation)
{
    double x[101];
    struct block blocks[101];
    for (int i = 0; i < 101; i++) {
        x[i] = 123456789.1;
        blocks[i] = (struct block){.sum = x[i], .size = 1};
    }
    cr_expect(mean_standard_error(x, 101) >= 0 && mean_standard_error(x, 101) < 1e-6);
    cr_expect(block_standard_error(blocks, 101) >= 0 && block_standard_error(blocks, 101) < 1e-6);
}

Test(standard_errors, n_1_or_zero_variance_divides_by_0)
{
    const double x[] = {2, 2};
    const struct block one = {4, 2};
    cr_expect(isnan(mean_of(x, 0)) && isnan(mean_standard_error(x, 0)));
    cr_expect(isnan(mean_standard_error(x, 1)));
    cr_expect(mean_standard_error(x, 2) == 0);
    cr_expect(isnan(block_ratio(NULL, 0)) && isnan(block_standard_error(&one, 1)));
}
