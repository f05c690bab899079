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

/* Texts are in the same piece of memory. */
struct bench_words {
    size_t n;
    const char **values;
};

struct bench_isas {
    bool given; /* false: the suite's default */
    bool has[RML_N_ISAS];
};

/*
 * Numbers and ranges: "512", "1-4" (1,2,3,4), "0-1000+250" (0,250,...,1000), "4096-16384*2"
 * (4096,8192,16384); a range ends at the last number that is not beyond its end.
 */
/* Each replaces *list (freed); a bad item, or one that is there twice, is a usage error: it would
 * be measured twice, as a case of the same key. */
void bench_arg_numbers(struct argp_state *state, const char *option, const char *text, uint64_t min,
                       uint64_t max, struct bench_numbers *list);
void bench_arg_words(struct argp_state *state, const char *option, const char *text,
                     struct bench_words *list);
/* Only these two words. */
void bench_arg_either(struct argp_state *state, const char *option, const char *text,
                      const char *first, const char *second, struct bench_words *list);
void bench_arg_kvs(struct argp_state *state, const char *text, struct bench_kvs *list);
void bench_arg_isas(struct argp_state *state, const char *text, struct bench_isas *isas);

#endif
