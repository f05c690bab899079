/*
 * Tests on paired items.
 */
#include "eval/paired_tests.h"

#include <math.h>
#include <stdlib.h>

#include "eval/distributions.h"
#include "tools/cli/order_statistics.h"

struct paired_difference paired_difference(const struct block *blocks, size_t n, double confidence)
{
    struct paired_difference d = {.estimate = block_ratio(blocks, n),
                                  .standard_error = block_standard_error(blocks, n),
                                  .lo = NAN,
                                  .hi = NAN,
                                  .p_value = NAN};
    for (size_t g = 0; g < n; g++)
        d.n_blocks += blocks[g].size > 0;
    if (!(d.standard_error > 0))
        return d;
    double df = (double)(d.n_blocks - 1);
    double half = student_t_critical(confidence, df) * d.standard_error;
    d.lo = d.estimate - half;
    d.hi = d.estimate + half;
    d.p_value = student_t_two_sided(d.estimate / d.standard_error, df);
    return d;
}

double mcnemar_exact(size_t n10, size_t n01)
{
    size_t least = n10 < n01 ? n10 : n01, most = n10 + n01 - least;
    if (most - least <=
        1) /* the tails are all there is, which a sum of logarithms misses by a bit */
        return 1;
    return fmin(1, 2 * binomial_half_below(n10 + n01, least + 1));
}

double minimum_detectable_effect(double standard_error, double alpha, double power)
{
    if (!(standard_error > 0))
        return NAN;
    return (normal_quantile(1 - alpha / 2) + normal_quantile(power)) * standard_error;
}

double items_needed(double standard_error, double n, double delta, double alpha, double power)
{
    double detectable = minimum_detectable_effect(standard_error, alpha, power);
    return ceil(n * (detectable / delta) * (detectable / delta));
}

void wilson_interval(double n_right, double n, double confidence, double *lo, double *hi)
{
    double z = normal_quantile((1 + confidence) / 2), p = n_right / n;
    double middle = p + z * z / (2 * n);
    double half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    /* At p = 0 and 1 the ends are 0 and 1, but for rounding. */
    *lo = fmax(0, (middle - half) / (1 + z * z / n));
    *hi = fmin(1, (middle + half) / (1 + z * z / n));
}

double unseen_event_bound(double n, double confidence)
{
    return -expm1(log1p(-confidence) / n);
}

struct ranked {
    double p;
    size_t place;
};

static int by_p(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->p != y->p)
        return x->p < y->p ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

bool holm_adjust(const double *p, size_t n, double *adjusted)
{
    struct ranked *ranked = calloc(n + 1, sizeof *ranked);
    if (!ranked)
        return false;
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (isnan(p[i]))
            adjusted[i] = NAN;
        else
            ranked[m++] = (struct ranked){p[i], i};
    qsort(ranked, m, sizeof *ranked, by_p);
    double least = 0; /* adjusted values do not decrease */
    for (size_t i = 0; i < m; i++) {
        least = fmax(least, fmin(1, (double)(m - i) * ranked[i].p));
        adjusted[ranked[i].place] = least;
    }
    free(ranked);
    return true;
}
