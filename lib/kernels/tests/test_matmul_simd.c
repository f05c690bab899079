/*
 * Every vector version of the matrix products against the reference, with ==:
 * each instruction set of this machine, each dtype, shapes from a table and at
 * random, operands pressed against pages that cannot be touched.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "kernels/tests/guarded_buffer.h"
#include "kernels/tests/kernel_cases.h"

#define SEED_TEXT "(RML_TEST_SEED=%llu)"
#define SEED ((unsigned long long)test_seed())

/* How x and the weights are made odd. */
enum oddity { PLAIN, SPECIAL_VALUES, N_ODDITIES };

/* One product to run twice. Operands end (or begin) at a guard page. */
struct trial {
    enum rml_dtype dtype;
    struct matmul_shape shape;
    size_t n_cols;
    size_t ld_x, ld_out; /* floats */
    enum guard_side side;
    bool accumulate;
    struct rmli_matrix w;
    struct guarded_buffer weights, x, out, expected, scratch;
};

static const float specials[] = {INFINITY, -INFINITY, NAN, 0.0f, -0.0f, 0x1p-149f, 3e38f, -3e38f};

static void trial_init(struct trial *t, struct test_rng *rng, enum rml_dtype dtype,
                       const struct matmul_shape *shape, enum oddity oddity)
{
    t->dtype = dtype;
    t->shape = *shape;
    t->n_cols = shape->n_units * block_nelems(dtype);
    if (t->n_cols > RMLI_MATMUL_MAX_COLS)
        t->n_cols = RMLI_MATMUL_MAX_COLS;
    t->ld_x = t->n_cols + test_rng_below(rng, 2) * test_rng_below(rng, 9);
    t->ld_out = shape->n_rows + test_rng_below(rng, 5);
    t->side = (enum guard_side)test_rng_below(rng, 2);
    t->accumulate = test_rng_below(rng, 2);
    size_t row_nbytes = weights_nbytes(dtype, t->n_cols), n_x = shape->n_x;
    guarded_buffer_init(&t->weights, shape->n_rows * row_nbytes, t->side);
    /* The last vector ends where its data ends, whatever the distance of rows. */
    size_t x_nelems = n_x ? (n_x - 1) * t->ld_x + t->n_cols : 0;
    guarded_buffer_init(&t->x, x_nelems * sizeof(float), t->side);
    size_t out_nelems = n_x ? (n_x - 1) * t->ld_out + shape->n_rows : 0;
    guarded_buffer_init(&t->out, out_nelems * sizeof(float), t->side);
    guarded_buffer_init(&t->expected, out_nelems * sizeof(float), t->side);
    t->w = (struct rmli_matrix){dtype, shape->n_rows, t->n_cols, row_nbytes, t->weights.data};
    guarded_buffer_init(&t->scratch, RMLI_MATMUL_SCRATCH_NBYTES, t->side);
    memset(t->scratch.data, 0xff, t->scratch.nbytes); /* NaN, were it read */
    fill_weights(rng, t->weights.data, dtype, shape->n_rows * t->n_cols);
    fill_floats(rng, (float *)t->x.data, x_nelems);
    fill_floats(rng, (float *)t->out.data, out_nelems);
    if (oddity == SPECIAL_VALUES) {
        for (size_t i = 0; i < 1 + x_nelems / 500 && x_nelems > 0; i++)
            ((float *)t->x.data)[test_rng_below(rng, x_nelems)] =
                specials[test_rng_below(rng, sizeof specials / sizeof *specials)];
        /* One byte in the weights of any value may make a scale anything. */
        for (size_t i = 0; i < 3; i++)
            t->weights.data[test_rng_below(rng, t->weights.nbytes)] = (uint8_t)test_rng_next(rng);
    }
    memcpy(t->expected.data, t->out.data, t->out.nbytes);
}

static void trial_release(struct trial *t)
{
    guarded_buffer_release(&t->weights);
    guarded_buffer_release(&t->x);
    guarded_buffer_release(&t->out);
    guarded_buffer_release(&t->expected);
    guarded_buffer_release(&t->scratch);
}

static void expect_same(const struct trial *t, const struct rmli_kernels *table, const char *what)
{
    const float *out = (const float *)t->out.data, *expected = (const float *)t->expected.data;
    for (size_t i = 0; i < t->out.nbytes / sizeof(float); i++)
        cr_assert(same_float(out[i], expected[i]),
                  "%s %s %s, %s: vector %zu row %zu is %a, expected %a (rows %zu..%zu of %zu, "
                  "%zu columns, %zu vectors, accumulate %d) " SEED_TEXT,
                  what, rml_dtype_traits(t->dtype)->name, rml_isa_name(table->isa), t->shape.why,
                  i / t->ld_out, i % t->ld_out, out[i], expected[i], t->shape.row_begin,
                  t->shape.row_end, t->shape.n_rows, t->n_cols, t->shape.n_x, t->accumulate, SEED);
}

static void run_f32(struct trial *t, const struct rmli_kernels *table)
{
    const struct matmul_shape *s = &t->shape;
    rmli_matmul_ref.matmul_f32[t->dtype]((float *)t->expected.data, t->ld_out, &t->w, s->row_begin,
                                         s->row_end, (float *)t->x.data, t->ld_x, s->n_x,
                                         t->accumulate, t->scratch.data);
    table->matmul->matmul_f32[t->dtype]((float *)t->out.data, t->ld_out, &t->w, s->row_begin,
                                        s->row_end, (float *)t->x.data, t->ld_x, s->n_x,
                                        t->accumulate, t->scratch.data);
    expect_same(t, table, "f32");
}

/* Each table multiplies what it quantised itself: the layout is its own. */
static void multiply_i8(const struct trial *t, const struct rmli_matmul_kernels *kernels,
                        struct guarded_buffer *out)
{
    const struct matmul_shape *s = &t->shape;
    size_t ld = rmli_activation_row_nbytes(t->dtype, t->n_cols);
    struct guarded_buffer x;
    guarded_buffer_init(&x, s->n_x * ld, t->side);
    for (size_t j = 0; j < s->n_x; j++)
        kernels->quantize_activations[t->dtype](x.data + j * ld, (float *)t->x.data + j * t->ld_x,
                                                t->n_cols);
    kernels->matmul_i8[t->dtype]((float *)out->data, t->ld_out, &t->w, s->row_begin, s->row_end,
                                 x.data, s->n_x, t->accumulate, t->scratch.data);
    guarded_buffer_release(&x);
}

static void run_i8(struct trial *t, const struct rmli_kernels *table)
{
    multiply_i8(t, &rmli_matmul_ref, &t->expected);
    multiply_i8(t, table->matmul, &t->out);
    expect_same(t, table, "i8");
}

static void run_shape(struct test_rng *rng, const struct matmul_shape *shape, enum oddity oddity,
                      bool i8)
{
    for (const struct rmli_kernels *k = next_table(RML_ISA_REF); k; k = next_table(k->isa)) {
        for (int d = 0; d < RML_N_WEIGHT_DTYPES; d++) {
            enum rml_dtype dtype = (enum rml_dtype)d;
            bool has_i8 = rmli_activation_row_nbytes(dtype, 256) > 0;
            cr_assert(has_i8 == (k->matmul->matmul_i8[d] != NULL));
            if (i8 && !has_i8)
                continue;
            struct trial t;
            trial_init(&t, rng, dtype, shape, oddity);
            (i8 ? run_i8 : run_f32)(&t, k);
            trial_release(&t);
        }
    }
}

static struct matmul_shape random_shape(struct test_rng *rng)
{
    bool is_long = test_rng_below(rng, 4) == 0;
    struct matmul_shape s = {.why = is_long ? "a random long shape" : "a random shape"};
    s.n_rows = 1 + test_rng_below(rng, is_long ? 6 : 60);
    s.row_begin = test_rng_below(rng, s.n_rows);
    s.row_end = s.row_begin + test_rng_below(rng, s.n_rows - s.row_begin + 1);
    s.n_units = 1 + test_rng_below(rng, is_long ? 1200 : 20);
    s.n_x = test_rng_below(rng, is_long || test_rng_below(rng, 4) ? 8 : 50);
    return s;
}

#define FOR_TABLE_OF_SHAPES(i8)                                                                    \
    struct test_rng rng = {test_seed()};                                                           \
    for (size_t i = 0; i < n_matmul_shapes; i++)                                                   \
    run_shape(&rng, &matmul_shapes[i], PLAIN, i8)

Test(matmul_simd, f32_equals_the_reference)
{
    FOR_TABLE_OF_SHAPES(false);
}

Test(matmul_simd, i8_equals_the_reference)
{
    FOR_TABLE_OF_SHAPES(true);
}

Test(matmul_simd, random_shapes_equal_the_reference)
{
    struct test_rng rng = {test_seed()};
    for (int round = 0; round < 36; round++) {
        struct matmul_shape shape = random_shape(&rng);
        run_shape(&rng, &shape, (enum oddity)(round % N_ODDITIES), round % 2);
    }
}

/* Integers as large as they get: every bit of the weights set, or only the
 * highest or the lowest of each field, and activations of 127. */
Test(matmul_simd, largest_integers_do_not_overflow)
{
    const int bytes[] = {0x00, 0xff, 0x80, 0x7f, 0x88};
    const uint32_t signs[] = {0, 0xffffffff, 0x55555555, 0x33333333};
    struct test_rng rng = {test_seed()};
    for (const struct rmli_kernels *k = next_table(RML_ISA_REF); k; k = next_table(k->isa)) {
        for (int d = 0; d < RML_N_WEIGHT_DTYPES; d++) {
            for (size_t c = 0; k->matmul->matmul_i8[d] && c < 5 * 4 * 2; c++) {
                struct matmul_shape shape = {"largest integers", 9, 0, 9, 2, c % 2 ? 1 : 7};
                struct trial t;
                trial_init(&t, &rng, (enum rml_dtype)d, &shape, PLAIN);
                fill_weights_with(&rng, t.weights.data, t.dtype, 9 * t.n_cols, bytes[c / 8]);
                float *x = (float *)t.x.data;
                for (size_t i = 0; i < t.x.nbytes / sizeof *x; i++)
                    x[i] = signs[c / 2 % 4] >> (i % 32) & 1 ? -1.0f : 1.0f;
                run_i8(&t, k);
                trial_release(&t);
            }
        }
    }
}

Test(matmul_simd, widen_equals_the_reference)
{
    struct test_rng rng = {test_seed()};
    for (const struct rmli_kernels *k = next_table(RML_ISA_REF); k; k = next_table(k->isa)) {
        for (int d = 0; d < RML_N_WEIGHT_DTYPES; d++) {
            for (int round = 0; round < 40; round++) {
                enum rml_dtype dtype = (enum rml_dtype)d;
                size_t n = block_nelems(dtype) * (1 + test_rng_below(&rng, 30));
                enum guard_side side = (enum guard_side)(round % 2);
                struct guarded_buffer src, dst, expected;
                guarded_buffer_init(&src, weights_nbytes(dtype, n), side);
                guarded_buffer_init(&dst, n * sizeof(float), side);
                guarded_buffer_init(&expected, n * sizeof(float), side);
                /* Bits of any value: scales may be infinite or NaN. */
                for (size_t i = 0; i < src.nbytes; i++)
                    src.data[i] = (uint8_t)test_rng_next(&rng);
                rmli_matmul_ref.widen[d]((float *)expected.data, src.data, n);
                k->matmul->widen[d]((float *)dst.data, src.data, n);
                for (size_t i = 0; i < n; i++)
                    cr_assert(same_float(((float *)dst.data)[i], ((float *)expected.data)[i]),
                              "%s %s element %zu of %zu " SEED_TEXT, rml_dtype_traits(dtype)->name,
                              rml_isa_name(k->isa), i, n, SEED);
                guarded_buffer_release(&src);
                guarded_buffer_release(&dst);
                guarded_buffer_release(&expected);
            }
        }
    }
}

Test(matmul_simd, widen_of_every_16_bit_float_equals_the_reference)
{
    static uint16_t all[0x10000];
    static float values[0x10000], expected[0x10000];
    for (unsigned h = 0; h < 0x10000; h++)
        all[h] = (uint16_t)h;
    for (const struct rmli_kernels *k = next_table(RML_ISA_REF); k; k = next_table(k->isa)) {
        for (int d = RML_F16; d <= RML_BF16; d++) {
            rmli_matmul_ref.widen[d](expected, all, 0x10000);
            k->matmul->widen[d](values, all, 0x10000);
            for (unsigned h = 0; h < 0x10000; h++)
                cr_assert(rmli_f32_bits(values[h]) == rmli_f32_bits(expected[h]), "%s %04x",
                          rml_isa_name(k->isa), h);
        }
    }
}

/* Signs of zero where n_cols leaves a tail: lanes that the tail does not touch
 * keep a negative zero that only an underflowing product can give them. */
Test(matmul_simd, tails_leave_other_lanes_alone)
{
    enum { N = 12 };
    float w[4][N], x[3][N], out[3][4], scratch[N];
    for (int r = 0; r < 4; r++)
        for (int k = 0; k < N; k++)
            w[r][k] = -0x1p-149f;
    for (int j = 0; j < 3; j++)
        for (int k = 0; k < N; k++)
            x[j][k] = 0x1p-149f;
    void *big = aligned_alloc(64, RMLI_MATMUL_SCRATCH_NBYTES);
    struct rmli_matrix m = {RML_F32, 4, N, sizeof w[0], (const uint8_t *)w};
    float expected;
    rmli_matmul_ref.matmul_f32[RML_F32](&expected, 1, &m, 0, 1, x[0], N, 1, false, scratch);
    for (const struct rmli_kernels *k = next_table(RML_ISA_REF); k; k = next_table(k->isa)) {
        for (size_t n_x = 1; n_x <= 3; n_x++) {
            k->matmul->matmul_f32[RML_F32](out[0], 4, &m, 0, 4, x[0], N, n_x, false, big);
            for (size_t j = 0; j < n_x; j++)
                for (int r = 0; r < 4; r++)
                    cr_assert(same_float(out[j][r], expected), "%s", rml_isa_name(k->isa));
        }
    }
    free(big);
}

Test(matmul_simd, quantize_activations_equals_the_reference)
{
    /* Private layouts cannot be compared, but a product with the identity of
     * a block shows d * q; here: one row of weights for each element. */
    struct test_rng rng = {test_seed()};
    for (const struct rmli_kernels *k = next_table(RML_ISA_REF); k; k = next_table(k->isa)) {
        for (int d = 0; d < RML_N_WEIGHT_DTYPES; d++) {
            if (!k->matmul->quantize_activations[d])
                continue;
            for (int round = 0; round < 20; round++) {
                struct matmul_shape shape = {"activations of any size", 8, 0, 8, 4, 4};
                struct trial t;
                trial_init(&t, &rng, (enum rml_dtype)d, &shape, PLAIN);
                float *x = (float *)t.x.data;
                for (size_t i = 0; i < t.x.nbytes / sizeof(float); i++)
                    x[i] = round < 2   ? rmli_f32_from_bits((uint32_t)test_rng_next(&rng))
                           : round < 4 ? (float)((int)test_rng_below(&rng, 255) - 127) / 2
                                       : ldexpf(x[i], (int)test_rng_below(&rng, 280) - 149);
                run_i8(&t, k);
                trial_release(&t);
            }
        }
    }
}
