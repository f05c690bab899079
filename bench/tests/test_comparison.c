/*
 * What may not differ between the two sides of a comparison.
 */
#include "bench/comparison.h"

#include <criterion/criterion.h>
#include <string.h>

struct pair {
    struct bench_spec specs[N_SIDES];
    struct bench_facts facts[N_SIDES];
};

static struct pair equal_pair(void)
{
    struct pair p;
    memset(&p, 0, sizeof p);
    for (int side = 0; side < N_SIDES; side++) {
        p.specs[side].what = (struct store_case){.suite = "attention",
                                                 .name = "llama-3-8b",
                                                 .k_dtype = side ? "i8" : "f16",
                                                 .v_dtype = side ? "i8" : "f16",
                                                 .threads = 2};
        p.specs[side].model_sha256 = "ab12";
        p.facts[side] = (struct bench_facts){.isa = "avx2", .work_version = 3};
    }
    return p;
}

static const char *difference(const struct pair *p, char values[2][80])
{
    const struct bench_spec *const specs[] = {&p->specs[0], &p->specs[1]};
    return comparison_difference(specs, p->facts, values);
}

Test(comparison, settings_may_differ)
{
    char values[2][80];
    struct pair p = equal_pair(); /* cache types do */
    cr_expect(difference(&p, values) == NULL);
}

Test(comparison, fields_that_may_not_differ_are_named)
{
    for (int i = 0; i < 5; i++) {
        struct pair p = equal_pair();
        char values[2][80];
        static const char *const expected[] = {"suite", "model", "instruction set", "threads",
                                               "work version"};
        static const char *const heads[] = {"decoder", "none", "avx512", "1", "4"};
        static const char *const bases[] = {"attention", "ab12", "avx2", "2", "3"};
        if (i == 0)
            p.specs[SIDE_HEAD].what.suite = "decoder";
        else if (i == 1)
            p.specs[SIDE_HEAD].model_sha256 = NULL;
        else if (i == 2)
            p.facts[SIDE_HEAD].isa = "avx512";
        else if (i == 3)
            p.specs[SIDE_HEAD].what.threads = 1;
        else
            p.facts[SIDE_HEAD].work_version = 4;
        const char *field = difference(&p, values);
        cr_assert(field && strcmp(field, expected[i]) == 0, "%s, expected %s",
                  field ? field : "none", expected[i]);
        cr_expect(strcmp(values[SIDE_BASE], bases[i]) == 0, "%s", values[SIDE_BASE]);
        cr_expect(strcmp(values[SIDE_HEAD], heads[i]) == 0, "%s", values[SIDE_HEAD]);
    }
}
