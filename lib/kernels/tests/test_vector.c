/*
 * Vector kernels: every instruction set against the reference, bit by bit, up
 * to the end of mapped memory; the reference against libm in double precision.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/elementwise_f32.h"
#include "kernels/tests/guarded_buffer.h"
#include "kernels/tests/kernel_cases.h"

#define SEED_TEXT "(RML_TEST_SEED=%llu)"
#define SEED ((unsigned long long)test_seed())

enum { MAX_N = 300 };

/* A kernel on a vector it changes in place (dst) and one or two it reads; all
 * kernels are brought to this form. */
typedef void vector_op(const struct rmli_vector_kernels *k, float *dst, const float *a,
                       const float *b, size_t n);

static void op_rms_norm(const struct rmli_vector_kernels *k, float *dst, const float *a,
                        const float *b, size_t n)
{
    k->rms_norm(dst, a, b, n, 1e-5f);
}

static void op_rms_norm_in_place(const struct rmli_vector_kernels *k, float *dst, const float *a,
                                 const float *b, size_t n)
{
    (void)b;
    k->rms_norm(dst, dst, a, n, 1e-6f);
}

static void op_add(const struct rmli_vector_kernels *k, float *dst, const float *a, const float *b,
                   size_t n)
{
    (void)b;
    k->add(dst, a, n);
}

static void op_add_scaled(const struct rmli_vector_kernels *k, float *dst, const float *a,
                          const float *b, size_t n)
{
    k->add_scaled(dst, a, n > 0 ? b[0] : 1, n);
}

static void op_scale(const struct rmli_vector_kernels *k, float *dst, const float *a,
                     const float *b, size_t n)
{
    (void)b;
    k->scale(dst, n > 0 ? a[0] : 1, n);
}

static void op_silu_mul(const struct rmli_vector_kernels *k, float *dst, const float *a,
                        const float *b, size_t n)
{
    (void)b;
    k->silu_mul(dst, a, n);
}

static void op_gelu_tanh_mul(const struct rmli_vector_kernels *k, float *dst, const float *a,
                             const float *b, size_t n)
{
    (void)b;
    k->gelu_tanh_mul(dst, a, n);
}

static void op_softmax(const struct rmli_vector_kernels *k, float *dst, const float *a,
                       const float *b, size_t n)
{
    (void)a;
    (void)b;
    k->softmax(dst, n);
}

/* a and b are longer than the n / 2 pairs need: their guards do not bite here,
 * that of dst does. */
static void op_rope_half(const struct rmli_vector_kernels *k, float *dst, const float *a,
                         const float *b, size_t n)
{
    k->rope_half(dst, a, b, n / 2 * 2);
}

static void op_rope_interleaved(const struct rmli_vector_kernels *k, float *dst, const float *a,
                                const float *b, size_t n)
{
    k->rope_interleaved(dst, a, b, n / 2 * 2);
}

/* Tables that end exactly after n / 2 pairs. */
static void op_rope_half_tight(const struct rmli_vector_kernels *k, float *dst, const float *a,
                               const float *b, size_t n)
{
    k->rope_half(dst, a + n - n / 2, b + n - n / 2, n / 2 * 2);
}

static void op_rope_interleaved_tight(const struct rmli_vector_kernels *k, float *dst,
                                      const float *a, const float *b, size_t n)
{
    k->rope_interleaved(dst, a + n - n / 2, b + n - n / 2, n / 2 * 2);
}

static const struct {
    const char *name;
    vector_op *run;
} ops[] = {
    {"rms_norm", op_rms_norm},
    {"rms_norm in place", op_rms_norm_in_place},
    {"add", op_add},
    {"add_scaled", op_add_scaled},
    {"scale", op_scale},
    {"silu_mul", op_silu_mul},
    {"gelu_tanh_mul", op_gelu_tanh_mul},
    {"softmax", op_softmax},
    {"rope_half", op_rope_half},
    {"rope_half", op_rope_half_tight},
    {"rope_interleaved", op_rope_interleaved},
    {"rope_interleaved", op_rope_interleaved_tight},
};

static void draw(struct test_rng *rng, float *x, size_t n, bool wild)
{
    static const float special[] = {NAN,    INFINITY, -INFINITY, 0.0f,   -0.0f,  1e-40f, 3.4e38f,
                                    -3e38f, 88.72f,   88.73f,    -87.3f, -87.4f, 1e20f,  -1e13f};
    fill_floats(rng, x, n);
    float magnitude = ldexpf(1, (int)test_rng_below(rng, 9));
    for (size_t i = 0; i < n; i++) {
        x[i] *= magnitude;
        if (wild && test_rng_below(rng, 20) == 0)
            x[i] = special[test_rng_below(rng, sizeof special / sizeof *special)];
    }
}

static void compare_once(struct test_rng *rng, const struct rmli_vector_kernels *k, size_t op)
{
    size_t n = test_rng_below(rng, test_rng_below(rng, 2) ? 20 : MAX_N);
    enum guard_side side = test_rng_below(rng, 2) ? GUARD_BEFORE : GUARD_BEHIND;
    bool wild = test_rng_below(rng, 3) == 0;
    struct guarded_buffer buffers[3];
    float *x[3], expected[MAX_N], before[MAX_N];
    for (int i = 0; i < 3; i++) {
        guarded_buffer_init(&buffers[i], n * sizeof(float), side);
        x[i] = (float *)(void *)buffers[i].data;
        draw(rng, x[i], n, wild);
    }
    if (n > 0)
        memcpy(expected, x[0], n * sizeof(float));
    memcpy(before, expected, sizeof before);
    ops[op].run(&rmli_vector_ref, expected, x[1], x[2], n);
    ops[op].run(k, x[0], x[1], x[2], n);
    for (size_t i = 0; i < n; i++)
        cr_assert(same_float(x[0][i], expected[i]),
                  "%s of %zu, element %zu (was %a): %a, expected "
                  "%a " SEED_TEXT,
                  ops[op].name, n, i, before[i], x[0][i], expected[i], SEED);
    for (int i = 0; i < 3; i++)
        guarded_buffer_release(&buffers[i]);
}

Test(vector, equal_the_reference)
{
    struct test_rng rng = {test_seed()};
    const struct rmli_kernels *table = NULL;
    while ((table = next_table(table ? table->isa : RML_ISA_REF)) != NULL)
        for (size_t op = 0; op < sizeof ops / sizeof ops[0]; op++)
            for (int i = 0; i < 500; i++)
                compare_once(&rng, table->vector, op);
}

/* Bits that step through all floats, both signs, with their specials. */
enum { STEP = 1021, CHUNK = 4096 };

Test(vector, activations_equal_the_reference_over_all_floats)
{
    static float gate[CHUNK], expected[CHUNK], ones[CHUNK];
    for (size_t i = 0; i < CHUNK; i++)
        ones[i] = 1;
    const struct rmli_kernels *table = NULL;
    while ((table = next_table(table ? table->isa : RML_ISA_REF)) != NULL) {
        for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += (uint64_t)STEP * CHUNK) {
            for (int gelu = 0; gelu < 2; gelu++) {
                for (size_t i = 0; i < CHUNK; i++)
                    gate[i] = expected[i] = rmli_f32_from_bits((uint32_t)(bits + i * STEP));
                if (gelu) {
                    table->vector->gelu_tanh_mul(gate, ones, CHUNK);
                    rmli_vector_ref.gelu_tanh_mul(expected, ones, CHUNK);
                } else {
                    table->vector->silu_mul(gate, ones, CHUNK);
                    rmli_vector_ref.silu_mul(expected, ones, CHUNK);
                }
                for (size_t i = 0; i < CHUNK; i++)
                    cr_assert(same_float(gate[i], expected[i]), "%s of bits %08x: %a, expected %a",
                              gelu ? "gelu" : "silu", (uint32_t)(bits + i * STEP), gate[i],
                              expected[i]);
            }
        }
    }
}

/* ---- The reference against libm in double precision ------------------------------ */

Test(vector, exp_is_within_one_ulp)
{
    double worst = 0;
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += STEP) {
        float x = rmli_f32_from_bits((uint32_t)bits);
        if (!(x >= RMLI_EXP_MIN && x <= RMLI_EXP_MAX))
            continue;
        double exact = exp((double)x);
        double ulp = ldexp(1, ilogb(exact) - 23);
        double error = fabs((double)rmli_exp_f32(x) - exact) / ulp;
        worst = fmax(worst, error);
        cr_assert(error < 1, "exp(%a) = %a, off by %.3f ulp", x, rmli_exp_f32(x), error);
    }
    cr_log_info("worst error of exp: %.3f ulp", worst);
}

/* Any change of a bit of the exponential changes kept results: then this hash, and
 * the numerics version, change with it. */
Test(vector, exp_has_the_recorded_bits)
{
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a over the results' bits */
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += 65521) {
        float y = rmli_exp_f32(rmli_f32_from_bits((uint32_t)bits));
        hash = (hash ^ (y != y ? 0x7fc00000 : rmli_f32_bits(y))) * 0x100000001b3;
    }
    cr_assert_eq(hash, 0x5d7ed6c5bdee7cd6, "%#llx", (unsigned long long)hash);
}

Test(vector, exp_at_the_edges)
{
    cr_assert(rmli_exp_f32(0) == 1 && rmli_exp_f32(-0.0f) == 1);
    cr_assert(rmli_exp_f32(1e-30f) == 1 && rmli_exp_f32(-1e-42f) == 1);
    cr_assert(rmli_exp_f32(INFINITY) == INFINITY);
    cr_assert(rmli_f32_bits(rmli_exp_f32(-INFINITY)) == 0);
    cr_assert(isnan(rmli_exp_f32(NAN)));
    cr_assert(isnan(rmli_exp_f32(rmli_f32_from_bits(0x7f800001))));
    cr_assert(isnan(rmli_exp_f32(rmli_f32_from_bits(0xffffffff))));
    cr_assert(isfinite(rmli_exp_f32(RMLI_EXP_MAX)));
    cr_assert(rmli_exp_f32(nextafterf(RMLI_EXP_MAX, 100)) == INFINITY);
    cr_assert(exp((double)nextafterf(RMLI_EXP_MAX, 100)) > 0x1.ffffffp127, "not too early");
    cr_assert(rmli_exp_f32(RMLI_EXP_MIN) >= 0x1p-126f, "the last normal result");
    cr_assert(exp((double)nextafterf(RMLI_EXP_MIN, -100)) < 0x1p-126, "not too early");
    static const float flushed[] = {-87.33655f, -88, -103, -104, -1e4f, -3.4e38f};
    for (size_t i = 0; i < sizeof flushed / sizeof *flushed; i++)
        cr_assert(rmli_f32_bits(rmli_exp_f32(flushed[i])) == 0, "exp(%g)", (double)flushed[i]);
}

Test(vector, activations_are_near_their_definitions)
{
    static const double sqrt_2_over_pi = 0.79788456080286535588;
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += STEP) {
        float x = rmli_f32_from_bits((uint32_t)bits);
        if (!isfinite(x))
            continue;
        double d = (double)x, silu = d / (1 + exp(-d));
        /* Three roundings and the exponential's; what is flushed is below 1e-36. */
        cr_assert(fabs((double)rmli_silu_f32(x) - silu) <= 3 * 0x1p-23 * fabs(silu) + 1e-36,
                  "silu(%a) = %a, expected %a", x, rmli_silu_f32(x), silu);
        double u = sqrt_2_over_pi * (d + 0.044715 * d * d * d);
        double gelu = 0.5 * d * (1 + tanh(u));
        /* Relative where it is large; for negative x, where it goes to 0 as e^2u does,
         * the roundings of 2u show, and the bound is relative to x. */
        cr_assert(fabs((double)rmli_gelu_tanh_f32(x) - gelu) <=
                      0x1p-22 * fabs(gelu) + 0x1p-24 * fmin(fabs(d), 1) + 0x1p-149,
                  "gelu(%a) = %a, expected %a", x, rmli_gelu_tanh_f32(x), gelu);
    }
    cr_assert(rmli_silu_f32(INFINITY) == INFINITY && rmli_gelu_tanh_f32(INFINITY) == INFINITY);
    cr_assert(isnan(rmli_silu_f32(-INFINITY)) && isnan(rmli_gelu_tanh_f32(-INFINITY)));
    cr_assert(isnan(rmli_silu_f32(NAN)) && isnan(rmli_gelu_tanh_f32(NAN)));
}

Test(vector, reference_is_near_double_precision)
{
    struct test_rng rng = {test_seed()};
    float x[MAX_N], w[MAX_N], y[MAX_N];
    for (int round = 0; round < 400; round++) {
        size_t n = 1 + test_rng_below(&rng, MAX_N - 1);
        draw(&rng, x, n, false);
        draw(&rng, w, n, false);
        double squares = 0, max = -INFINITY, sum = 0;
        for (size_t i = 0; i < n; i++) {
            squares += (double)x[i] * (double)x[i];
            max = fmax(max, (double)x[i]);
        }
        double r = 1 / sqrt(squares / (double)n + (double)1e-5f);
        rmli_vector_ref.rms_norm(y, x, w, n, 1e-5f);
        double bound = ((double)n / 8 + 10) * 0x1p-24;
        for (size_t i = 0; i < n; i++) {
            double expected = (double)x[i] * r * (double)w[i];
            cr_assert(fabs((double)y[i] - expected) <= bound * fabs(expected),
                      "rms_norm of %zu: %a, expected %a " SEED_TEXT, n, y[i], expected, SEED);
            sum += exp((double)x[i] - max);
        }
        memcpy(y, x, n * sizeof *y);
        rmli_vector_ref.softmax(y, n);
        for (size_t i = 0; i < n; i++) {
            double expected = exp((double)x[i] - max) / sum;
            double difference = max - (double)x[i]; /* rounded once before the exponential */
            cr_assert(fabs((double)y[i] - expected) <=
                          (bound + 0x1p-24 * difference) * expected + 2e-38,
                      "softmax of %zu: %a, expected %a " SEED_TEXT, n, y[i], expected, SEED);
        }
    }
}

Test(vector, rope_turns_the_right_pairs)
{
    /* By a quarter turn a goes to b and b to -a; the other pair stays. */
    static const float cos[2] = {0, 1}, sin[2] = {1, 0};
    float half[4] = {1, 2, 3, 4}, interleaved[4] = {1, 2, 3, 4};
    rmli_vector_ref.rope_half(half, cos, sin, 4);
    cr_assert(half[0] == -3 && half[2] == 1 && half[1] == 2 && half[3] == 4);
    rmli_vector_ref.rope_interleaved(interleaved, cos, sin, 4);
    cr_assert(interleaved[0] == -2 && interleaved[1] == 1 && interleaved[2] == 3 &&
              interleaved[3] == 4);
}

Test(vector, a_nan_is_never_lost)
{
    for (int isa = RML_ISA_REF; isa < RML_N_ISAS; isa++) {
        const struct rmli_kernels *table = rmli_kernels_for((enum rml_isa)isa);
        for (size_t at = 0; table && at < 37; at++) {
            float x[37], ones[37];
            for (size_t i = 0; i < 37; i++)
                x[i] = ones[i] = 1;
            x[at] = NAN;
            table->vector->softmax(x, 37);
            for (size_t i = 0; i < 37; i++)
                cr_assert(isnan(x[i]), "softmax, NaN at %zu, element %zu", at, i);
            for (size_t i = 0; i < 37; i++)
                x[i] = i == at ? NAN : 1;
            table->vector->rms_norm(x, x, ones, 37, 1e-5f);
            for (size_t i = 0; i < 37; i++)
                cr_assert(isnan(x[i]), "rms_norm, NaN at %zu, element %zu", at, i);
        }
    }
}
