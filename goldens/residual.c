/*
 * Fingerprints of the residual stream.
 */
#include "goldens/residual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

#define G 0x9e3779b97f4a7c15u

uint64_t golden_sign_word(int layer, enum rml_branch branch, unsigned k, size_t word)
{
    uint64_t place = ((uint64_t)layer + 1) * 4 + (uint64_t)branch + 1;
    uint64_t seed = mix(place * G);
    return mix(seed + (((uint64_t)k << 32) + word + 1) * G);
}

/* Sum of x [n], n <= 64, each with the sign of its bit. */
static double signed_sum(uint64_t signs, const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double value = x[i];
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        bits ^= (signs >> i) << 63;
        memcpy(&value, &bits, sizeof value);
        sum += value;
    }
    return sum;
}

bool golden_fingerprint(int layer, enum rml_branch branch, size_t n_rows, size_t n_embd,
                        const float *x, struct golden_residual *out)
{
    size_t n_words = (n_embd + 63) / 64;
    uint64_t *signs = malloc((n_words + 1) * GOLDEN_N_PROJECTIONS * sizeof *signs);
    if (!signs)
        return false;
    for (unsigned k = 0; k < GOLDEN_N_PROJECTIONS; k++)
        for (size_t w = 0; w < n_words; w++)
            signs[k * n_words + w] = golden_sign_word(layer, branch, k, w);

    for (size_t row = 0; row < n_rows; row++) {
        const float *values = x + row * n_embd;
        double squares = 0;
        for (size_t i = 0; i < n_embd; i++)
            squares += (double)values[i] * values[i];
        out[row].norm = (float)sqrt(squares);
        for (unsigned k = 0; k < GOLDEN_N_PROJECTIONS; k++) {
            double sum = 0;
            for (size_t w = 0; w < n_words; w++) {
                size_t left = n_embd - w * 64;
                sum += signed_sum(signs[k * n_words + w], values + w * 64, left < 64 ? left : 64);
            }
            out[row].projections[k] = (float)sum;
        }
    }
    free(signs);
    return true;
}

int golden_residual_order(const void *a, const void *b)
{
    const struct golden_residual *x = a, *y = b;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    if (x->branch != y->branch)
        return x->branch < y->branch ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

double golden_residual_error(const struct golden_residual *got, const struct golden_residual *want,
                             double *got_value, double *want_value)
{
    double scale = want->norm > 0 ? want->norm : 1;
    double worst = -1;
    for (int k = -1; k < GOLDEN_N_PROJECTIONS; k++) {
        double g = k < 0 ? got->norm : got->projections[k];
        double w = k < 0 ? want->norm : want->projections[k];
        double error = fabs(g - w) / scale;
        if (error <= worst) /* false for NaN, which is worse than anything */
            continue;
        worst = error;
        if (got_value)
            *got_value = g;
        if (want_value)
            *want_value = w;
        if (isnan(error))
            break;
    }
    return worst;
}
