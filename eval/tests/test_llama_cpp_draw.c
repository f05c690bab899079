/*
 * Samples of HellaSwag and Winogrande files are llama.cpp's: drawn by libstdc++ for comparison.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "eval/llama_cpp_draw.h"
#include "eval/tests/expected_llama_cpp_draws.h"

Test(llama_cpp_draw, mersenne_twister)
{
    struct mt19937 generator;
    uint32_t x = 0;
    mt19937_init(&generator, 1);
    for (int i = 0; i < 1000; i++)
        x = mt19937_next(&generator);
    cr_assert_eq(x, thousandth);
    /* The 10000th of the default seed, as ISO C++ [rand.predef] has it. */
    mt19937_init(&generator, 5489);
    for (int i = 0; i < 10000; i++)
        x = mt19937_next(&generator);
    cr_assert_eq(x, 4123659995u);
}

Test(llama_cpp_draw, tasks_in_their_order)
{
    for (size_t c = 0; c < sizeof draw_cases / sizeof draw_cases[0]; c++) {
        const struct draw_case *want = &draw_cases[c];
        size_t *left = calloc(want->n, sizeof *left), *drawn = calloc(want->count, sizeof *drawn);
        cr_assert(left && drawn);
        (want->kind == HELLASWAG ? llama_cpp_draw_hellaswag
                                 : llama_cpp_draw_winogrande)(1, want->n, want->count, left, drawn);
        for (size_t i = 0; i < want->count; i++)
            cr_expect_eq(drawn[i], want->drawn[i], "case %zu, task %zu: %zu, not %zu", c, i,
                         drawn[i], want->drawn[i]);
        free(left);
        free(drawn);
    }
}
