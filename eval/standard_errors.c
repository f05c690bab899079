/*
 * Standard errors.
 */
#include "eval/standard_errors.h"

#include <math.h>

double block_ratio(const struct block *blocks, size_t n)
{
    double sum = 0, size = 0;
    for (size_t g = 0; g < n; g++) {
        sum += blocks[g].sum;
        size += blocks[g].size;
    }
    return size > 0 ? sum / size : NAN;
}

double block_standard_error(const struct block *blocks, size_t n)
{
    double ratio = block_ratio(blocks, n), size = 0, squares = 0;
    size_t n_blocks = 0;
    for (size_t g = 0; g < n; g++) {
        if (!(blocks[g].size > 0))
            continue;
        double residual = blocks[g].sum - ratio * blocks[g].size;
        squares += residual * residual;
        size += blocks[g].size;
        n_blocks++;
    }
    if (n_blocks < 2)
        return NAN;
    double g = (double)n_blocks;
    return sqrt(g / (g - 1) * squares) / size;
}

double mean_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return n > 0 ? sum / (double)n : NAN;
}

double mean_standard_error(const double *x, size_t n)
{
    if (n < 2)
        return NAN;
    double mean = mean_of(x, n), squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    return sqrt(squares / (double)(n - 1) / (double)n);
}
