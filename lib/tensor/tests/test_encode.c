/*
 * Encoders: the simple types against the gguf package bit for bit, the searched ones against
 * the error of llama.cpp's quantizer (encode_cases.h), decoded with the reference kernels.
 */
#include "tensor/encode.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "encode_cases.h"

enum { MAX_NELEMS = 1024, MAX_NBYTES = 4 * MAX_NELEMS };

static void decode(enum rml_dtype dtype, float *out, const void *blocks, size_t n)
{
    rmli_kernels_for(RML_ISA_REF)->matmul->widen[dtype](out, blocks, n);
}

Test(encode, bits_of_the_simple_types)
{
    for (size_t i = 0; i < sizeof exact_cases / sizeof exact_cases[0]; i++) {
        _Alignas(64) uint8_t blocks[MAX_NBYTES];
        float x[MAX_NELEMS];
        size_t n = exact_cases[i].n, nbytes;
        enum rml_dtype dtype = exact_cases[i].dtype;
        memcpy(x, exact_cases[i].values, n * sizeof *x);
        cr_assert(rml_dtype_row_nbytes(dtype, n, &nbytes));
        cr_assert_eq(rmli_encode(dtype, blocks, x, n), n);
        for (size_t k = 0; k < nbytes; k++)
            cr_assert_eq(blocks[k], exact_cases[i].blocks[k], "%s of %s: byte %zu is %u, not %u",
                         rml_dtype_traits(dtype)->name, exact_cases[i].data, k, blocks[k],
                         exact_cases[i].blocks[k]);
    }
}

static double squared_error(enum rml_dtype dtype, const float *x, size_t n)
{
    _Alignas(64) uint8_t blocks[MAX_NBYTES];
    _Alignas(64) float decoded[MAX_NELEMS];
    cr_assert_eq(rmli_encode(dtype, blocks, x, n), n, "%s", rml_dtype_traits(dtype)->name);
    decode(dtype, decoded, blocks, n);
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += ((double)decoded[k] - x[k]) * ((double)decoded[k] - x[k]);
    return sum;
}

Test(encode, searched_types_are_as_close_as_llama_cpp)
{
    for (size_t i = 0; i < sizeof searched_cases / sizeof searched_cases[0]; i++) {
        float x[MAX_NELEMS];
        memcpy(x, searched_cases[i].values, searched_cases[i].n * sizeof *x);
        double error = squared_error(searched_cases[i].dtype, x, searched_cases[i].n);
        cr_expect_leq(error, searched_cases[i].squared_error, "%s of %s: %g, llama.cpp's %g",
                      rml_dtype_traits(searched_cases[i].dtype)->name, searched_cases[i].data,
                      error, searched_cases[i].squared_error);
    }
}

/* A value that a type holds exactly: an integer in the middle of its levels, times a power of
 * two as the scale. */
Test(encode, values_on_the_grid_come_back)
{
    static const struct {
        enum rml_dtype dtype;
        int low, high;
    } grids[] = {{RML_Q4_0, -8, 7}, {RML_Q4_1, 0, 15}, {RML_Q5_0, -16, 15},
                 {RML_Q5_1, 0, 31}, {RML_Q2_K, 0, 3},  {RML_Q3_K, -4, 3},
                 {RML_Q4_K, 0, 15}, {RML_Q5_K, 0, 31}, {RML_Q6_K, -32, 31}};
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
        float x[256];
        int n_levels = grids[i].high - grids[i].low + 1;
        for (int k = 0; k < 256; k++)
            x[k] = (float)(grids[i].low + 7 * k % n_levels) * 0.125f;
        /* every group holds both ends of the grid */
        for (int k = 0; k < 256; k += 16) {
            x[k] = (float)grids[i].low * 0.125f;
            x[k + 1] = (float)grids[i].high * 0.125f;
        }
        cr_expect_lt(squared_error(grids[i].dtype, x, 256), 1e-4, "%s: %g",
                     rml_dtype_traits(grids[i].dtype)->name, squared_error(grids[i].dtype, x, 256));
    }
}

Test(encode, zeros_stay_zeros)
{
    const float x[256] = {0};
    for (int dtype = 0; dtype < RML_N_WEIGHT_DTYPES; dtype++)
        cr_expect_eq(squared_error((enum rml_dtype)dtype, x, 256), 0, "%s",
                     rml_dtype_traits((enum rml_dtype)dtype)->name);
}

/* One value among zeros is the whole error; a block of equal values has an error below a step. */
Test(encode, spikes_and_constants)
{
    for (int dtype = 0; dtype < RML_N_WEIGHT_DTYPES; dtype++)
        for (int sign = -1; sign <= 1; sign += 2) {
            float spike[256] = {0}, constant[256];
            spike[100] = (float)sign * 0.7f;
            for (int k = 0; k < 256; k++)
                constant[k] = (float)sign * 0.7f;
            const char *name = rml_dtype_traits((enum rml_dtype)dtype)->name;
            /* f16 scales have a relative error below 2^-11, bf16 values below 2^-8 */
            double bound = 0.49 * 0x1p-16;
            cr_expect_leq(squared_error((enum rml_dtype)dtype, constant, 256), 256 * bound, "%s",
                          name);
            /* IQ4's level next to zero is 1 of 127, in 31 places and more */
            bool codebook = dtype == RML_IQ4_NL || dtype == RML_IQ4_XS;
            cr_expect_leq(squared_error((enum rml_dtype)dtype, spike, 256),
                          codebook ? 0.49 * 32 / 113 / 113 : bound, "%s", name);
        }
}

/* Smaller than half the smallest f16: nothing but zero is nearer; no step of the arithmetic may
 * overflow on the way (the sanitizers watch). */
Test(encode, magnitudes_of_all_sizes)
{
    srand(1);
    for (int dtype = 0; dtype < RML_N_WEIGHT_DTYPES; dtype++)
        for (int exponent = -149; exponent < 128; exponent++) {
            _Alignas(64) uint8_t blocks[1024];
            _Alignas(64) float x[256], decoded[256];
            for (int k = 0; k < 256; k++)
                x[k] = ldexpf((float)rand() / (float)RAND_MAX - 0.5f, exponent);
            size_t n = rmli_encode((enum rml_dtype)dtype, blocks, x, 256);
            cr_assert(n == 256 || exponent > 15);
            if (n < 256)
                continue;
            decode((enum rml_dtype)dtype, decoded, blocks, 256);
            for (int k = 0; k < 256; k++) {
                cr_assert(isfinite(decoded[k]));
                cr_assert(exponent > -25 || dtype == RML_F32 || dtype == RML_BF16 ||
                          fabsf(decoded[k]) <= 0x1p-24f);
            }
        }
}

Test(encode, scales_beyond_f16_are_refused_with_their_place)
{
    for (int dtype = RML_Q4_0; dtype < RML_N_WEIGHT_DTYPES; dtype++) {
        uint8_t blocks[4096];
        float x[1024] = {0};
        size_t block = rml_dtype_traits((enum rml_dtype)dtype)->block_nelems;
        x[601] = -1e30f;
        cr_expect_eq(rmli_encode((enum rml_dtype)dtype, blocks, x, 1024), 601 / block * block);
        x[601] = 3.4e38f;
        x[602] = -3.4e38f;
        cr_expect_eq(rmli_encode((enum rml_dtype)dtype, blocks, x, 1024), 601 / block * block);
    }
    uint16_t halves[4];
    const float values[] = {1, 65519, 65520, 3.4e38f}, bf16_max = 0x1.fep127f;
    cr_expect_eq(rmli_encode(RML_F16, halves, values, 4), 2);
    cr_expect_eq(rmli_encode(RML_BF16, halves, values, 3), 3);
    cr_expect_eq(rmli_encode(RML_BF16, halves, &bf16_max, 1), 1);
    cr_expect_eq(rmli_encode(RML_BF16, halves, &values[3], 1), 0); /* nearer to 2^128 */
}
