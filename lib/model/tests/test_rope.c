/* Rotary frequencies and angles against values that make_rope_cases.py computed
 * with 50 digits, and the refusals. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "model/tests/rope_cases.h"

enum { N_CASES = sizeof rope_cases / sizeof rope_cases[0] };

Test(rope, frequencies_and_angles)
{
    for (size_t n = 0; n < N_CASES; n++) {
        const struct rope_case *c = &rope_cases[n];
        struct rmli_rope rope;
        cr_assert(rmli_rope_init(&rope, c->head_dim, c->theta, &c->scaling, NULL, NULL));
        cr_assert_eq(rope.n_pairs, c->head_dim / 2);
        float cos_out[64], sin_out[64];
        for (size_t m = 0; m < ROPE_N_POSITIONS; m++) {
            rmli_rope_angles(&rope, rope_positions[m], cos_out, sin_out);
            for (size_t p = 0; p < c->n_pairs; p++) {
                uint32_t i = c->pairs[p].index;
                double inv_freq = c->pairs[p].inv_freq;
                cr_assert(fabs(rope.inv_freq[i] - inv_freq) < 1e-14 * inv_freq,
                          "%s, pair %u: %.17g, expected %.17g", c->name, i, rope.inv_freq[i],
                          inv_freq);
                /* One rounding to f32, and the angle's own error far below it. */
                double bound = 0x1p-25 * c->scaling.attention_factor + 0x1p-25 + 1e-9;
                double expected_cos = c->pairs[p].cos_sin[m][0];
                double expected_sin = c->pairs[p].cos_sin[m][1];
                cr_assert(fabs((double)cos_out[i] - expected_cos) < bound &&
                              fabs((double)sin_out[i] - expected_sin) < bound,
                          "%s, pair %u at %zu: %.9g %.9g, expected %.9g %.9g", c->name, i,
                          rope_positions[m], (double)cos_out[i], (double)sin_out[i], expected_cos,
                          expected_sin);
            }
        }
        rmli_rope_release(&rope);
    }
}

/* Llama 3.1: a pair with a wavelength of 4096 positions gets 2/3 of the slowed
 * frequency and 1/3 of its own; shorter than 2048 unchanged; longer than 8192
 * eight times slower. */
Test(rope, llama3_by_wavelength)
{
    static const struct rml_rope_scaling scaling = {.type = RML_ROPE_SCALING_LLAMA3,
                                                    .factor = 8,
                                                    .low_freq_factor = 1,
                                                    .high_freq_factor = 4,
                                                    .original_context = 8192};
    static const struct {
        double wavelength, expected;
    } cases[] = {{4096, 2.0 / 3 / 8 + 1.0 / 3},
                 {2047, 1},
                 {2049, 0.999431},
                 {8191, 0.125036},
                 {8193, 0.125}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double two_pi = 2 * acos(-1), turns = cases[i].wavelength / two_pi;
        struct rmli_rope rope;
        /* Pair 1 of a head of 4 turns at theta^(-1/2). */
        cr_assert(rmli_rope_init(&rope, 4, turns * turns, &scaling, NULL, NULL));
        cr_assert_float_eq(rope.inv_freq[1] * turns, cases[i].expected, 1e-6, "wavelength %g: %g",
                           cases[i].wavelength, rope.inv_freq[1] * turns);
        rmli_rope_release(&rope);
    }
}

Test(rope, factors_divide)
{
    static const struct rml_rope_scaling scaling = {.type = RML_ROPE_SCALING_FACTORS};
    static const float factors[4] = {1, 2.5f, 8, 32};
    struct rmli_rope rope;
    cr_assert(rmli_rope_init(&rope, 8, 10000, &scaling, factors, NULL));
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_float_eq(rope.inv_freq[i], pow(10, -(double)i) / (double)factors[i], 1e-15);
    rmli_rope_release(&rope);
}

Test(rope, refuses_what_is_not_positive)
{
    static const float bad_factors[2] = {1, 0};
    static const struct {
        double theta;
        struct rml_rope_scaling scaling;
        const float *factors;
    } cases[] = {
        {NAN, {.type = RML_ROPE_SCALING_NONE}, NULL},
        {0, {.type = RML_ROPE_SCALING_NONE}, NULL},
        {-1, {.type = RML_ROPE_SCALING_NONE}, NULL},
        {100, {.type = RML_ROPE_SCALING_LINEAR, .factor = 0}, NULL},
        {100, {.type = RML_ROPE_SCALING_LINEAR, .factor = -2}, NULL},
        {100, {.type = RML_ROPE_SCALING_FACTORS}, bad_factors},
        {100, {.type = RML_ROPE_SCALING_FACTORS}, NULL},
        {100, {.type = RML_ROPE_SCALING_YARN, .factor = 2, .original_context = 64}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rml_error err = RML_ERROR_INIT;
        struct rmli_rope rope;
        memset(&rope, 0xff, sizeof rope);
        cr_assert_not(
            rmli_rope_init(&rope, 4, cases[i].theta, &cases[i].scaling, cases[i].factors, &err),
            "case %zu", i);
        cr_assert_eq(err.code, RML_INVALID_ARGUMENT);
        cr_assert_null(rope.inv_freq);
        rmli_rope_release(&rope);
    }
}
