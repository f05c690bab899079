/*
 * The reference matrix products against definitions apart from them: values
 * that another implementation wrote down, and sums in double precision.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "kernels/activation_row.h"
#include "kernels/tests/kernel_cases.h"
#include "kernels/tests/widen_cases.h"
#include "tensor/blocks.h"

#define SEED_TEXT "(RML_TEST_SEED=%llu)"
#define SEED ((unsigned long long)test_seed())

static void *allocate(size_t nbytes)
{
    void *p = aligned_alloc(64, (nbytes + 64) & ~(size_t)63);
    cr_assert_not_null(p);
    return p;
}

Test(matmul_ref, widen_gives_the_values_of_the_gguf_package)
{
    for (size_t c = 0; c < sizeof widen_cases / sizeof *widen_cases; c++) {
        const struct widen_case *t = &widen_cases[c];
        size_t nbytes = weights_nbytes(t->dtype, t->n);
        void *blocks = allocate(nbytes);
        float *values = allocate(t->n * sizeof *values);
        memcpy(blocks, t->blocks, nbytes);
        rmli_matmul_ref.widen[t->dtype](values, blocks, t->n);
        for (size_t i = 0; i < t->n; i++)
            cr_assert(rmli_f32_bits(values[i]) == t->values[i], "%s element %zu: %a, expected %a",
                      rml_dtype_traits(t->dtype)->name, i, values[i],
                      rmli_f32_from_bits(t->values[i]));
        free(blocks);
        free(values);
    }
}

Test(matmul_ref, widen_of_plain_types_is_exact)
{
    for (unsigned h = 0; h < 0x10000; h++) {
        uint16_t half = (uint16_t)h;
        float f16, bf16;
        rmli_matmul_ref.widen[RML_F16](&f16, &half, 1);
        rmli_matmul_ref.widen[RML_BF16](&bf16, &half, 1);
        int exponent = h >> 10 & 31;
        double fraction = (h & 1023) / 1024.0;
        double magnitude = exponent == 31  ? (fraction ? NAN : INFINITY)
                           : exponent == 0 ? ldexp(fraction, -14)
                                           : ldexp(1 + fraction, exponent - 15);
        cr_assert(same_float(f16, (float)copysign(magnitude, h >> 15 ? -1 : 1)), "f16 %04x", h);
        cr_assert(same_float(bf16, rmli_f32_from_bits(h << 16)), "bf16 %04x", h);
    }
}

/* Operands of one product, and room for its result. */
struct product {
    struct rmli_matrix w;
    size_t n_x;
    void *weights;
    float *x;      /* [n_x][n_cols] */
    void *x_i8;    /* [n_x] activation rows */
    float *values; /* [n_rows][n_cols] widened */
    float *out;    /* [n_x][n_rows] */
    void *scratch;
};

static void product_init(struct product *p, struct test_rng *rng, enum rml_dtype dtype,
                         size_t n_rows, size_t n_cols, size_t n_x)
{
    size_t row_nbytes = weights_nbytes(dtype, n_cols);
    p->n_x = n_x;
    p->weights = allocate(n_rows * row_nbytes);
    p->x = allocate(n_x * n_cols * sizeof *p->x);
    p->values = allocate(n_rows * n_cols * sizeof *p->values);
    p->out = allocate(n_x * n_rows * sizeof *p->out);
    p->scratch = allocate(RMLI_MATMUL_SCRATCH_NBYTES);
    p->w = (struct rmli_matrix){dtype, n_rows, n_cols, row_nbytes, p->weights};
    fill_weights(rng, p->weights, dtype, n_rows * n_cols);
    fill_floats(rng, p->x, n_x * n_cols);
    size_t ld = rmli_activation_row_nbytes(dtype, n_cols);
    p->x_i8 = allocate(n_x * ld);
    for (size_t j = 0; ld && j < n_x; j++)
        rmli_matmul_ref.quantize_activations[dtype]((uint8_t *)p->x_i8 + j * ld, p->x + j * n_cols,
                                                    n_cols);
    rmli_matmul_ref.widen[dtype](p->values, p->weights, n_rows * n_cols);
}

static void product_release(struct product *p)
{
    free(p->weights);
    free(p->x);
    free(p->x_i8);
    free(p->values);
    free(p->out);
    free(p->scratch);
}

Test(matmul_ref, f32_product_is_close_to_double_precision)
{
    struct test_rng rng = {test_seed()};
    for (int d = 0; d < RML_N_WEIGHT_DTYPES; d++) {
        struct product p;
        product_init(&p, &rng, (enum rml_dtype)d, 5, 768, 3);
        rmli_matmul_ref.matmul_f32[d](p.out, 5, &p.w, 0, 5, p.x, 768, 3, false, p.scratch);
        for (size_t r = 0; r < 5; r++) {
            for (size_t j = 0; j < 3; j++) {
                double sum = 0, magnitude = 0;
                for (size_t k = 0; k < 768; k++) {
                    double product = (double)p.values[r * 768 + k] * p.x[j * 768 + k];
                    sum += product;
                    magnitude += fabs(product);
                }
                /* 96 roundings in a lane, 3 between lanes, each 2^-24. */
                cr_assert(fabs(p.out[j * 5 + r] - sum) <= magnitude * 99 * 0x1p-24,
                          "%s row %zu: %.9g, expected %.9g " SEED_TEXT,
                          rml_dtype_traits((enum rml_dtype)d)->name, r, p.out[j * 5 + r], sum,
                          SEED);
            }
        }
        product_release(&p);
    }
}

/* Element k of a quantised activation row: its scale times its integer. */
static double activation(enum rml_dtype dtype, const void *row, size_t k)
{
    if (rmli_activation_block_nelems(dtype) == 32) {
        const struct rmli_activation_block_32 *b = row;
        return (double)b[k / 32].d * b[k / 32].q[k % 32];
    }
    const struct rmli_activation_block_256 *b = row;
    return (double)b[k / 256].d * b[k / 256].q[k % 256];
}

Test(matmul_ref, i8_product_is_close_to_double_precision)
{
    struct test_rng rng = {test_seed()};
    for (int d = 0; d < RML_N_WEIGHT_DTYPES; d++) {
        enum rml_dtype dtype = (enum rml_dtype)d;
        size_t ld = rmli_activation_row_nbytes(dtype, 768);
        cr_assert((ld == 0) == (rmli_matmul_ref.matmul_i8[d] == NULL));
        if (ld == 0)
            continue;
        struct product p;
        product_init(&p, &rng, dtype, 5, 768, 3);
        rmli_matmul_ref.matmul_i8[d](p.out, 5, &p.w, 0, 5, p.x_i8, 3, false, p.scratch);
        for (size_t r = 0; r < 5; r++) {
            for (size_t j = 0; j < 3; j++) {
                double sum = 0, magnitude = 0;
                for (size_t k = 0; k < 768; k++) {
                    double a = activation(dtype, (uint8_t *)p.x_i8 + j * ld, k);
                    sum += p.values[r * 768 + k] * a;
                    magnitude += fabs(p.values[r * 768 + k] * a);
                }
                /* Two fma for each of up to 24 blocks, and roundings of scale
                 * products and of widened values; minima may cancel values, so
                 * the bound is on the sum of magnitudes before that. */
                cr_assert(fabs(p.out[j * 5 + r] - sum) <= magnitude * 400 * 0x1p-24,
                          "%s row %zu: %.9g, expected %.9g " SEED_TEXT,
                          rml_dtype_traits(dtype)->name, r, p.out[j * 5 + r], sum, SEED);
            }
        }
        product_release(&p);
    }
}

Test(matmul_ref, accumulate_adds_the_finished_product)
{
    struct test_rng rng = {test_seed()};
    for (int d = 0; d < RML_N_WEIGHT_DTYPES; d++) {
        struct product p;
        product_init(&p, &rng, (enum rml_dtype)d, 4, 256, 2);
        float fresh[8], sum[8], start[8];
        fill_floats(&rng, start, 8);
        for (int i8 = 0; i8 < 2; i8++) {
            if (i8 && !rmli_matmul_ref.matmul_i8[d])
                continue;
            memcpy(sum, start, sizeof sum);
            for (int accumulate = 0; accumulate < 2; accumulate++) {
                float *out = accumulate ? sum : fresh;
                if (i8)
                    rmli_matmul_ref.matmul_i8[d](out, 4, &p.w, 0, 4, p.x_i8, 2, accumulate,
                                                 p.scratch);
                else
                    rmli_matmul_ref.matmul_f32[d](out, 4, &p.w, 0, 4, p.x, 256, 2, accumulate,
                                                  p.scratch);
            }
            for (int i = 0; i < 8; i++)
                cr_assert(sum[i] == start[i] + fresh[i], SEED_TEXT, SEED);
        }
        product_release(&p);
    }
}

Test(matmul_ref, lane_order_is_the_documented_one)
{
    /* Terms that a sum in any other order rounds differently. */
    enum { N = 27 };
    float w[N], x[N], out, scratch[N];
    for (int k = 0; k < N; k++) {
        w[k] = ldexpf(1.0f + (float)k / 32, k * 7 % 25 - 12);
        x[k] = (k % 3 ? 1.0f : -1.0f) + ldexpf((float)k, -20);
    }
    struct rmli_matrix m = {RML_F32, 1, N, sizeof w, (const uint8_t *)w};
    rmli_matmul_ref.matmul_f32[RML_F32](&out, 1, &m, 0, 1, x, N, 1, false, scratch);
    float l[8] = {0};
    for (int lane = 0; lane < 8; lane++)
        for (int k = lane; k < N; k += 8)
            l[lane] = fmaf(w[k], x[k], l[lane]);
    float low = (l[0] + l[4]) + (l[2] + l[6]), high = (l[1] + l[5]) + (l[3] + l[7]);
    cr_assert(out == low + high);
}

/* Puts x through the quantiser of Q8_0 or Q4_K and checks every property that
 * the contract names. */
static void check_quantised(const float *x, size_t n, enum rml_dtype dtype)
{
    size_t size = rmli_activation_block_nelems(dtype);
    void *row = allocate(rmli_activation_row_nbytes(dtype, n));
    rmli_matmul_ref.quantize_activations[dtype](row, x, n);
    for (size_t b = 0; b < n / size; b++) {
        const struct rmli_activation_block_32 *small = row;
        const struct rmli_activation_block_256 *large = row;
        float d = size == 32 ? small[b].d : large[b].d;
        const int8_t *q = size == 32 ? small[b].q : large[b].q;
        float max = 0;
        for (size_t i = 0; i < size; i++)
            max = fmaxf(max, fabsf(x[b * size + i]));
        cr_assert(d == max / 127.0f);
        int sum = 0, sum16[16] = {0};
        for (size_t i = 0; i < size; i++) {
            float scaled = max > 0 ? x[b * size + i] * (127.0f / max) : 0.0f;
            cr_assert(q[i] == (int)nearbyintf(scaled), "%a of %a gives %d", x[b * size + i], max,
                      q[i]);
            sum += q[i];
            sum16[i / 16] += q[i];
        }
        if (size == 32) {
            cr_assert(small[b].sum == sum);
        } else {
            for (int i = 0; i < 16; i++)
                cr_assert(large[b].sum[i] == sum16[i]);
        }
    }
    free(row);
}

Test(matmul_ref, activations_are_rounded_as_documented)
{
    struct test_rng rng = {test_seed()};
    static float x[1024];
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < 1024; i++)
            x[i] = ldexpf(test_rng_float(&rng), (int)test_rng_below(&rng, 80) - 40);
        if (round < 8)
            memset(x, 0, (size_t)(round + 1) * 128 * sizeof *x);
        for (int i = 0; round == 8 && i < 1024; i++)
            x[i] = (float)(i % 255 - 127) / 2; /* exact ties */
        check_quantised(x, 1024, RML_Q8_0);
        check_quantised(x, 1024, RML_Q4_K);
    }
}

Test(matmul_ref, activations_that_are_not_finite_show_in_the_scale)
{
    const float bad[] = {INFINITY, -INFINITY, NAN, -NAN};
    for (size_t c = 0; c < 4; c++) {
        float x[256];
        for (int i = 0; i < 256; i++)
            x[i] = (float)i;
        x[200] = bad[c];
        struct rmli_activation_block_32 small[16];
        struct rmli_activation_block_256 large;
        rmli_matmul_ref.quantize_activations[RML_Q4_0](small, x, 256);
        rmli_matmul_ref.quantize_activations[RML_Q6_K](&large, x, 256);
        cr_assert(!isfinite(large.d));
        for (int b = 0; b < 8; b++)
            cr_assert(isfinite(small[b].d) == (b != 200 / 32));
    }
}

Test(matmul_ref, activations_too_small_to_invert_become_zero)
{
    float x[32] = {0x1p-140f, -0x1p-149f};
    struct rmli_activation_block_32 block;
    rmli_matmul_ref.quantize_activations[RML_Q5_1](&block, x, 32);
    for (int i = 0; i < 32; i++)
        cr_assert(block.q[i] == 0);
    cr_assert(block.sum == 0 && isfinite(block.d));
}

Test(matmul_ref, sizes_of_activation_rows)
{
    for (int a = 0; a < RML_N_WEIGHT_DTYPES; a++) {
        enum rml_dtype dtype = (enum rml_dtype)a;
        size_t nbytes = rmli_activation_row_nbytes(dtype, 512);
        cr_assert(nbytes % 64 == 0);
        cr_assert((nbytes > 0) == (block_nelems(dtype) > 1));
        for (int b = 0; b < RML_N_WEIGHT_DTYPES; b++) {
            bool same =
                block_nelems(dtype) > 1 && block_nelems(dtype) == block_nelems((enum rml_dtype)b);
            cr_assert(rmli_activation_same(dtype, (enum rml_dtype)b) == same);
        }
    }
}
