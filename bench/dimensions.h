/*
 * Lists of what to measure, as they stand on a command line.
 */
#ifndef BENCH_DIMENSIONS_H
#define BENCH_DIMENSIONS_H

#include <argp.h>

#include "rml.h"

struct bench_kv {
    enum rml_kv_dtype k, v;
};

struct bench_numbers {
    size_t n;
    uint64_t *values;
};

struct bench_kvs {
    size_t n;
    struct bench_kv *values;
};

/* Each replaces *list (freed); a bad item, or one that is there twice, is a usage error: it would
 * be measured twice, as a case of the same key. */
void bench_arg_numbers(struct argp_state *state, const char *option, const char *text, uint64_t min,
                       uint64_t max, struct bench_numbers *list);
void bench_arg_kvs(struct argp_state *state, const char *text, struct bench_kvs *list);

#endif
