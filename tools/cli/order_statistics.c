#include "tools/cli/order_statistics.h"

#include <math.h>
#include <stdlib.h>

/* log P(Bin(n, 1/2) = k); lgamma_r, because lgamma writes a global. */
static double log_binomial_half(size_t n, size_t k)
{
    int sign;
    return lgamma_r((double)n + 1, &sign) - lgamma_r((double)k + 1, &sign) -
           lgamma_r((double)(n - k) + 1, &sign) - (double)n * M_LN2;
}

double binomial_half_below(size_t n, size_t k)
{
    double below = 0;
    for (size_t i = 0; i < k && i <= n; i++)
        below += exp(log_binomial_half(n, i));
    return below;
}

double median_interval_coverage(size_t n, size_t l)
{
    return 1 - 2 * binomial_half_below(n, l);
}

size_t median_interval_rank(size_t n, double confidence)
{
    /* Sums of logarithms are good to some 1e-13; the slack makes a coverage that is
     * exactly the one asked for count. */
    const double allowed = (1 - confidence) / 2 + 1e-12;
    double below = 0;
    for (size_t l = 1; l <= (n + 1) / 2; l++) {
        below += exp(log_binomial_half(n, l - 1));
        if (below > allowed)
            return l - 1;
    }
    return (n + 1) / 2;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void sort_ascending(double *x, size_t n)
{
    if (n > 1)
        qsort(x, n, sizeof *x, compare);
}

double median_of_sorted(const double *x, size_t n)
{
    if (n == 0)
        return NAN;
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

double median_distance(double *x, size_t n, double center)
{
    for (size_t i = 0; i < n; i++)
        x[i] = fabs(x[i] - center);
    sort_ascending(x, n);
    return median_of_sorted(x, n);
}

double quantile_of_sorted(const double *x, size_t n, double p)
{
    if (n == 0)
        return NAN;
    double place = p * (double)(n - 1);
    size_t i = (size_t)place;
    if (i + 1 >= n)
        return x[n - 1];
    return x[i] + (place - (double)i) * (x[i + 1] - x[i]);
}

struct summary summarize(double *x, size_t n, double confidence)
{
    struct summary s = {n, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (n == 0)
        return s;
    sort_ascending(x, n);
    s.median = median_of_sorted(x, n);
    s.min = x[0];
    s.max = x[n - 1];

    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    s.mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - s.mean) * (x[i] - s.mean);
    if (n > 1)
        s.sd = sqrt(squares / (double)(n - 1));

    size_t l = median_interval_rank(n, confidence);
    if (l > 0) {
        s.ci_lo = x[l - 1];
        s.ci_hi = x[n - l];
        s.ci_coverage = median_interval_coverage(n, l);
    }
    /* Last: it overwrites x. A sorted copy is not worth an allocation that may fail. */
    s.mad = median_distance(x, n, s.median);
    return s;
}
