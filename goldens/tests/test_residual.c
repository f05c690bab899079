/*
 * Fingerprints of the residual stream. The expected values were computed by
 * make_residual_cases.py in whole numbers, apart from the C code.
 */
#include "goldens/residual.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

/* make_residual_cases.py signs */
static const struct {
    int layer;
    enum rml_branch branch;
    unsigned k;
    size_t word;
    uint64_t expected;
} sign_cases[] = {
    {-1, RML_BRANCH_EMBEDDING, 0, 0, 0xa706dd2f4d197e6fu},
    {0, RML_BRANCH_ATTENTION, 0, 0, 0x13d3e7a6c63b012cu},
    {0, RML_BRANCH_ATTENTION, 7, 3, 0xe8d6e95e48fb5627u},
    {0, RML_BRANCH_FEED_FORWARD, 1, 0, 0x7dbbcbe762838b68u},
    {41, RML_BRANCH_FEED_FORWARD, 4, 100, 0x84890d3519e3f41eu},
    {1024, RML_BRANCH_OUTPUT, 7, 0, 0x65d077b55a73c767u},
};

Test(residual, sign_words)
{
    for (size_t i = 0; i < sizeof sign_cases / sizeof sign_cases[0]; i++)
        cr_expect_eq(golden_sign_word(sign_cases[i].layer, sign_cases[i].branch, sign_cases[i].k,
                                      sign_cases[i].word),
                     sign_cases[i].expected, "case %zu", i);
}

/* Row r holds x[i] = i - 3 + 100 r: whole numbers, so every order of addition agrees.
 * make_residual_cases.py projections */
#define N_EMBD 70
static const double expected_projections[2][GOLDEN_N_PROJECTIONS] = {
    {-45, 155, 15, 181, -1, 279, -379, -255},
    {155, 355, -185, 581, -601, 1279, -1579, -455},
};

Test(residual, projections_and_norm)
{
    float x[2 * N_EMBD];
    double squares[2] = {0, 0};
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < N_EMBD; i++) {
            x[r * N_EMBD + i] = (float)(i - 3 + 100 * r);
            squares[r] += (i - 3 + 100 * r) * (i - 3 + 100 * r);
        }
    struct golden_residual out[2] = {0};
    cr_assert(golden_fingerprint(5, RML_BRANCH_FEED_FORWARD, 2, N_EMBD, x, out));
    for (int r = 0; r < 2; r++) {
        cr_expect_eq(out[r].norm, (float)sqrt(squares[r]));
        for (int k = 0; k < GOLDEN_N_PROJECTIONS; k++)
            cr_expect_eq(out[r].projections[k], (float)expected_projections[r][k]);
    }
}

Test(residual, order_is_layer_branch_position)
{
    struct golden_residual list[] = {
        {.layer = 2, .branch = RML_BRANCH_OUTPUT, .position = 0},
        {.layer = 1, .branch = RML_BRANCH_ATTENTION, .position = 1},
        {.layer = 0, .branch = RML_BRANCH_FEED_FORWARD, .position = 0},
        {.layer = 0, .branch = RML_BRANCH_ATTENTION, .position = 9},
        {.layer = 0, .branch = RML_BRANCH_ATTENTION, .position = 2},
        {.layer = -1, .branch = RML_BRANCH_EMBEDDING, .position = 7},
    };
    size_t n = sizeof list / sizeof list[0];
    qsort(list, n, sizeof list[0], golden_residual_order);
    static const int layers[] = {-1, 0, 0, 0, 1, 2};
    static const size_t positions[] = {7, 2, 9, 0, 1, 0};
    for (size_t i = 0; i < n; i++) {
        cr_expect_eq(list[i].layer, layers[i]);
        cr_expect_eq(list[i].position, positions[i]);
    }
}

Test(residual, error_is_relative_to_the_norm)
{
    struct golden_residual want = {.norm = 10, .projections = {1, 2, 3, 4, 5, 6, 7, 8}};
    struct golden_residual got = want;
    double g, w;
    cr_expect_eq(golden_residual_error(&got, &want, &g, &w), 0);
    got.projections[4] = 5.5;
    got.projections[6] = 7.25;
    cr_expect_eq(golden_residual_error(&got, &want, &g, &w), 0.05);
    cr_expect_eq(g, 5.5);
    cr_expect_eq(w, 5);
    got.norm = 9;
    cr_expect_eq(golden_residual_error(&got, &want, &g, &w), 0.1);
    cr_expect_eq(w, 10);
    got.projections[7] = NAN;
    cr_expect(isnan(golden_residual_error(&got, &want, NULL, NULL)));
}
