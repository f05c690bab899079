/*
 * What tests and benchmarks of kernels have in common: the shapes worth
 * running, random operands for every dtype, and the loop over instruction
 * sets.
 */
#ifndef RML_KERNELS_TESTS_KERNEL_CASES_H
#define RML_KERNELS_TESTS_KERNEL_CASES_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

/* A product of W [n_rows][n_cols], rows [row_begin, row_end) of it, with n_x
 * vectors. n_units are columns for F32 F16 BF16 (to reach every tail) and
 * blocks for the quantised types; at most RMLI_MATMUL_MAX_COLS columns. */
struct matmul_shape {
    const char *why;
    size_t n_rows, row_begin, row_end;
    size_t n_units; /* of a row */
    size_t n_x;
};

extern const struct matmul_shape matmul_shapes[];
extern const size_t n_matmul_shapes;

/* splitmix64: a state that is any number, good bits from the first call on. */
struct test_rng {
    uint64_t state;
};
uint64_t test_rng_next(struct test_rng *rng);
size_t test_rng_below(struct test_rng *rng, size_t limit);
float test_rng_float(struct test_rng *rng); /* within +-1, about normal */

/* The seed: RML_TEST_SEED when set, else from the clock. Every failure message
 * names it. */
uint64_t test_seed(void);

/* Random content for n elements of a weight dtype: any bit pattern for the
 * integers, finite f16 scales of moderate size, floats within about +-1. */
void fill_weights(struct test_rng *rng, void *dst, enum rml_dtype dtype, size_t n);
/* The same with every byte but the scales' set to one value. */
void fill_weights_with(struct test_rng *rng, void *dst, enum rml_dtype dtype, size_t n, int byte);
void fill_floats(struct test_rng *rng, float *dst, size_t n);

/* True for equal bits, and for any two NaNs (whose payload no contract fixes). */
bool same_float(float a, float b);

/* Bytes of n elements; elements of a block. */
size_t weights_nbytes(enum rml_dtype dtype, size_t n);
size_t block_nelems(enum rml_dtype dtype);

/* The next table after `isa` that this machine can run, NULL at the end; the
 * reference table itself is left out. Start with RML_ISA_REF. */
const struct rmli_kernels *next_table(enum rml_isa isa);

#endif
