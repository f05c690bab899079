/*
 * Fingerprints of the residual stream: where in the model a number went wrong.
 *
 * The row x [n_embd] of one position, seen after one branch of one layer, is
 * reduced to its norm and to eight projections. Each is a dot product with a
 * fixed vector of +1 and -1, so a change of any one element moves all eight, and
 * rounding moves them little: they compare under a tolerance, which a hash of
 * the bits could not.
 *
 * The vectors. Let mix be splitmix64's output function:
 *
 *     z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
 *     z = (z ^ (z >> 27)) * 0x94d049bb133111eb
 *     mix(z) = z ^ (z >> 31)
 *
 * and G = 0x9e3779b97f4a7c15. For a layer (-1 for the embedding, the layer count
 * after the last norm) and a branch (0 embedding, 1 attention, 2 feed_forward,
 * 3 output) the seed is S = mix(((layer + 1) * 4 + branch + 1) * G). Element i of
 * vector k (0 to 7) takes bit i mod 64 of the word
 *
 *     mix(S + (k * 2^32 + floor(i / 64) + 1) * G)         all modulo 2^64
 *
 * and is -1 where the bit is set, else +1. Sums are in double precision, in the
 * order of i; the results are rounded to f32.
 */
#ifndef GOLDENS_RESIDUAL_H
#define GOLDENS_RESIDUAL_H

#include "rml.h"

#define GOLDEN_N_PROJECTIONS 8

struct golden_residual {
    int layer; /* -1 .. layer count */
    enum rml_branch branch;
    size_t position;
    float norm; /* Euclidean */
    float projections[GOLDEN_N_PROJECTIONS];
};

/* The word of signs of elements 64 * word .. 64 * word + 63 of vector k. */
uint64_t golden_sign_word(int layer, enum rml_branch branch, unsigned k, size_t word);

/* Fingerprints of n_rows rows x [n_rows][n_embd] seen after one branch: sets norm and
 * projections of out [n_rows]. False when memory is short. */
bool golden_fingerprint(int layer, enum rml_branch branch, size_t n_rows, size_t n_embd,
                        const float *x, struct golden_residual *out);

/* Order of layer, branch, position; for qsort and bsearch. */
int golden_residual_order(const void *a, const void *b);

/*
 * The largest deviation of a fingerprint, |got - want| over norm and projections, in units of
 * want->norm (of 1 when that is 0). NaN when anything is not finite. *got_value and
 * *want_value, unless NULL, are the pair with that deviation.
 */
double golden_residual_error(const struct golden_residual *got, const struct golden_residual *want,
                             double *got_value, double *want_value);

#endif
