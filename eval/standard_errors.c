/*
 * Standard errors.
 */
#include "eval/standard_errors.h"

#include <math.h>

#include "eval/exact_sum.h"

static double sum_of_sizes(const struct block *blocks, size_t n)
{
    struct exact_sum size = {0};
    for (size_t g = 0; g < n; g++)
        exact_sum_add(&size, blocks[g].size);
    return exact_sum_value(&size);
}

double block_ratio(const struct block *blocks, size_t n)
{
    struct exact_sum sum = {0};
    for (size_t g = 0; g < n; g++)
        exact_sum_add(&sum, blocks[g].sum);
    double size = sum_of_sizes(blocks, n);
    return size > 0 ? exact_sum_value(&sum) / size : NAN;
}

double block_standard_error(const struct block *blocks, size_t n)
{
    double ratio = block_ratio(blocks, n);
    struct exact_sum squares = {0};
    size_t n_blocks = 0;
    for (size_t g = 0; g < n; g++) {
        if (!(blocks[g].size > 0))
            continue;
        double residual = blocks[g].sum - ratio * blocks[g].size;
        exact_sum_add(&squares, residual * residual);
        n_blocks++;
    }
    if (n_blocks < 2)
        return NAN;
    double g = (double)n_blocks;
    return sqrt(g / (g - 1) * exact_sum_value(&squares)) / sum_of_sizes(blocks, n);
}

double mean_of(const double *x, size_t n)
{
    struct exact_sum sum = {0};
    for (size_t i = 0; i < n; i++)
        exact_sum_add(&sum, x[i]);
    return n > 0 ? exact_sum_value(&sum) / (double)n : NAN;
}

double mean_standard_error(const double *x, size_t n)
{
    if (n < 2)
        return NAN;
    double mean = mean_of(x, n);
    struct exact_sum squares = {0};
    for (size_t i = 0; i < n; i++)
        exact_sum_add(&squares, (x[i] - mean) * (x[i] - mean));
    return sqrt(exact_sum_value(&squares) / (double)(n - 1) / (double)n);
}
