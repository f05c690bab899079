/* Draws against those of Python's random module. */
#include <criterion/criterion.h>

#include "eval/python_random.h"
#include "eval/tests/expected_python_random.h"

Test(python_random, bits_are_those_of_python)
{
    const struct {
        uint64_t seed;
        uint32_t bits[8];
    } cases[] = {{1234, BITS_1234}, {0, BITS_0}, {(1ULL << 40) + 7, BITS_1099511627783}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct python_random random;
        python_random_init(&random, cases[c].seed);
        for (size_t i = 0; i < 8; i++)
            cr_expect(python_random_bits(&random) == cases[c].bits[i], "seed %llu, number %zu",
                      (unsigned long long)cases[c].seed, i);
    }
}

Test(python_random, samples_are_those_of_python)
{
    static const struct {
        uint64_t seed;
        size_t n, k, draws[64];
    } cases[] = {SAMPLES};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct python_random random;
        python_random_init(&random, cases[c].seed);
        size_t got[64] = {0}, k = cases[c].k;
        cr_assert(python_random_sample(&random, cases[c].n, k, got));
        cr_assert(python_random_sample(&random, cases[c].n, k, got + k));
        for (size_t i = 0; i < 2 * k; i++)
            cr_expect(got[i] == cases[c].draws[i], "case %zu, draw %zu: %zu", c, i, got[i]);
    }
}
