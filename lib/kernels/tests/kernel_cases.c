/* Shapes and random operands for tests and benchmarks of kernels. */
#include "kernels/tests/kernel_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/half.h"

const struct matmul_shape matmul_shapes[] = {
    {"no vectors", 5, 0, 5, 3, 0},
    {"no rows", 5, 2, 2, 3, 2},
    {"one of each", 1, 0, 1, 1, 1},
    {"one row, many vectors", 1, 0, 1, 2, 70},
    {"less than a tile of rows", 7, 0, 7, 5, 1},
    {"one tile of rows and one more", 9, 0, 9, 4, 1},
    {"rows in the middle", 40, 3, 30, 3, 1},
    {"two vectors", 19, 0, 19, 9, 2},
    {"three vectors", 19, 2, 18, 8, 3},
    {"four vectors", 50, 0, 50, 7, 4},
    {"five vectors", 23, 1, 23, 6, 5},
    {"seven vectors", 24, 0, 24, 17, 7},
    {"eight vectors", 48, 0, 48, 8, 8},
    {"a batch", 53, 5, 53, 11, 33},
    {"more vectors than a tile of columns holds", 17, 0, 17, 2, 1100},
    {"a long row", 9, 0, 9, 35, 1},
    {"a long row, several vectors", 26, 0, 26, 33, 6},
    {"a long row of odd length", 5, 0, 5, 1003, 4},
    {"the longest row", 2, 0, 2, RMLI_MATMUL_MAX_COLS, 1},
    {"the longest row, several vectors", 2, 0, 2, RMLI_MATMUL_MAX_COLS, 5},
};
const size_t n_matmul_shapes = sizeof matmul_shapes / sizeof *matmul_shapes;

uint64_t test_rng_next(struct test_rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

size_t test_rng_below(struct test_rng *rng, size_t limit)
{
    return (size_t)(test_rng_next(rng) % limit);
}

float test_rng_float(struct test_rng *rng)
{
    /* The sum of four uniform 16-bit numbers is close enough to normal. */
    uint64_t bits = test_rng_next(rng);
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (int)(bits >> (16 * i) & 0xffff) - 0x8000;
    return (float)sum / (4 * 0x8000);
}

uint64_t test_seed(void)
{
    static uint64_t seed;
    if (seed == 0) {
        const char *fixed = getenv("RML_TEST_SEED");
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        seed = fixed && *fixed ? strtoull(fixed, NULL, 0)
                               : (uint64_t)t.tv_sec * 1000000007 + (uint64_t)t.tv_nsec;
        seed += seed == 0;
    }
    return seed;
}

bool same_float(float a, float b)
{
    return rmli_f32_bits(a) == rmli_f32_bits(b) || (a != a && b != b);
}

size_t weights_nbytes(enum rml_dtype dtype, size_t n)
{
    size_t nbytes = 0;
    if (!rml_dtype_row_nbytes(dtype, n, &nbytes))
        abort(); /* the test asks for part of a block */
    return nbytes;
}

size_t block_nelems(enum rml_dtype dtype)
{
    return rml_dtype_traits(dtype)->block_nelems;
}

/* Byte offsets of the f16 fields of a block (d, then m or dmin), ended by -1. */
/* clang-format off */
static const int f16_offsets[RML_N_WEIGHT_DTYPES][3] = {
    [RML_F32] =  {-1},       [RML_F16] =  {-1},       [RML_BF16] =   {-1},
    [RML_Q4_0] = {0, -1},    [RML_Q4_1] = {0, 2, -1}, [RML_Q5_0] =   {0, -1},
    [RML_Q5_1] = {0, 2, -1}, [RML_Q8_0] = {0, -1},    [RML_Q2_K] =   {80, 82, -1},
    [RML_Q3_K] = {108, -1},  [RML_Q4_K] = {0, 2, -1}, [RML_Q5_K] =   {0, 2, -1},
    [RML_Q6_K] = {208, -1},  [RML_IQ4_NL] = {0, -1},  [RML_IQ4_XS] = {0, -1},
};
/* clang-format on */

void fill_floats(struct test_rng *rng, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = test_rng_float(rng);
}

/* Sets the f16 fields of quantised blocks to finite values of moderate size. */
static void fill_scales(struct test_rng *rng, uint8_t *blocks, enum rml_dtype dtype, size_t n)
{
    size_t nbytes = weights_nbytes(dtype, n);
    size_t block_nbytes = rml_dtype_traits(dtype)->block_nbytes;
    const int *offsets = f16_offsets[dtype];
    for (size_t b = 0; b < nbytes; b += block_nbytes) {
        for (int i = 0; offsets[i] >= 0; i++) {
            uint16_t h = rmli_f16_from_f32(0.05f * test_rng_float(rng));
            memcpy(blocks + b + offsets[i], &h, 2);
        }
    }
}

void fill_weights(struct test_rng *rng, void *dst, enum rml_dtype dtype, size_t n)
{
    uint8_t *bytes = dst;
    size_t nbytes = weights_nbytes(dtype, n);
    if (dtype == RML_F32) {
        fill_floats(rng, dst, n);
        return;
    }
    if (dtype == RML_F16 || dtype == RML_BF16) {
        for (size_t i = 0; i < n; i++) {
            float f = test_rng_float(rng);
            uint16_t h = dtype == RML_F16 ? rmli_f16_from_f32(f) : rmli_bf16_from_f32(f);
            memcpy(bytes + 2 * i, &h, 2);
        }
        return;
    }
    for (size_t i = 0; i < nbytes; i++)
        bytes[i] = (uint8_t)test_rng_next(rng);
    fill_scales(rng, dst, dtype, n);
}

void fill_weights_with(struct test_rng *rng, void *dst, enum rml_dtype dtype, size_t n, int byte)
{
    memset(dst, byte, weights_nbytes(dtype, n));
    fill_scales(rng, dst, dtype, n);
}

const struct rmli_kernels *next_table(enum rml_isa isa)
{
    for (int next = (int)isa + 1; next < RML_N_ISAS; next++) {
        const struct rmli_kernels *table = rmli_kernels_for((enum rml_isa)next);
        if (table)
            return table;
    }
    return NULL;
}
