#include <string.h>

#include "bench/suite.h"

const struct bench_suite *const bench_suites[] = {
    &bench_attention_suite,
    &bench_decoder_suite,
    &bench_kernels_suite,
    &bench_load_suite,
    &bench_roof_suite,
    &bench_tokenizer_suite,
    NULL,
};

const struct bench_suite *bench_find_suite(const char *name)
{
    for (size_t i = 0; bench_suites[i]; i++)
        if (strcmp(bench_suites[i]->name, name) == 0)
            return bench_suites[i];
    return NULL;
}
