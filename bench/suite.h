/*
 * A suite of rml-bench: what it can measure, and how one case of it is opened.
 *
 * The rest is the same for all suites and is written once: options that every suite has,
 * --plan, the child process of each case, rows, database and output (sweep.h).
 *
 *     parent                                      child (rml-bench worker)
 *     parse options -> enumerate -> specs  --->   open(spec) -> struct bench_case
 *     row <- samples                       <---   measure: warm-up, repetitions, verify, hash
 *
 * To add a suite: fill in a struct bench_suite, add it to the table in suites.c.
 * A command that needs children but no sweep (ab, gate) makes its plan with bench_plan_parse
 * (sweep.h), starts children with bench_child_start (child.h), of this program or another.
 *
 * Roofs are found in the results database by name: suite "roof", cases "read_bandwidth" (bytes_per_iter),
 * "fma_f32" and "dot_i8" (flops_per_iter, two for each multiply-add), each with a row for each number
 * of threads (roof.h).
 */
#ifndef BENCH_SUITE_H
#define BENCH_SUITE_H

#include <argp.h>

#include "bench/dimensions.h"
#include "bench/measure.h"
#include "bench/plan.h"

/* What an opened case is, besides its work. */
struct bench_facts {
    const char *isa;       /* of the kernels that run; NULL: does not apply */
    int work_version;      /* of the suite that opened it; set by the worker */
    double items_per_iter; /* rows (tokens) an iteration processes; NaN: does not apply */
    double
        bytes_per_iter; /* read and written, from shapes; negative: not known, so for all below */
    double flops_per_iter; /* two for each multiply-add */
    int64_t kv_nbytes;     /* of the cache in use */
};

struct bench_case {
    void *state; /* the suite's own; arg of `work` */
    struct bench_work work;
    struct bench_facts facts;
    /* Judges the last iteration's output: false with RML_INTERNAL when it is wrong. A fast wrong
     * kernel gets no score. NULL: the hash alone is kept. */
    bool (*verify)(const void *state, struct rml_error *err);
    /* Bytes of the cache in use after measuring; NULL: facts.kv_nbytes stays. */
    int64_t (*kv_nbytes)(const void *state);
    /* For --profile: runs so many iterations (a multiple of work.iters_step) once more and gives
     * what each operation took of one: {"NAME": {"wall_ns", "wait_ns"}}, times of the calling
     * thread and waiting times of all threads together. NULL on failure. NULL: there is none. */
    json_t *(*profile)(void *state, int64_t iters, struct rml_error *err);
    void (*close)(void *state);
};

/* What the sweep's own options say, for enumerate. */
struct bench_sweep_settings {
    struct bench_numbers threads; /* at least one, none 0 */
    uint64_t seed;
};

struct bench_suite {
    const char *name;
    const char *summary;  /* one line for rml-bench --help */
    const char *doc;      /* --help: what is measured; after \v an example */
    const char *args_doc; /* "CHECKPOINT"; NULL: no argument */
    int work_version;     /* raised when the same spec means other work: rows no longer compare */
    bool takes_threads;   /* has --threads */
    bool has_roof;        /* its bytes and operations are those of kernels: has --roof */
    bool has_profile;     /* has --profile: its cases can be profiled */
    bool has_isas;        /* one of its dimensions is the instruction set: cases are told by it */

    /* Dimensions of its own: keys from CLI_OWN_KEY. The parser's state->input is
     * *settings [settings_nbytes], all zero at first; what stays zero is the default. It sees
     * ARGP_KEY_ARG and ARGP_KEY_END too. release frees what *settings holds. */
    const struct argp_option *options;
    error_t (*parse)(int key, char *arg, struct argp_state *state);
    size_t settings_nbytes;
    void (*release)(void *settings); /* NULL: nothing to free */

    /* Lists the cases of the settings, those that cannot be measured with their reason. */
    bool (*enumerate)(const void *settings, const struct bench_sweep_settings *sweep,
                      struct bench_plan *plan, struct rml_error *err);

    /* Opens one case; in the child, whose only case at that time it is. On failure nothing is
     * left behind. The spec outlives the case. */
    bool (*open)(const struct bench_spec *spec, struct bench_case *opened, struct rml_error *err);
};

extern const struct bench_suite bench_attention_suite, bench_decoder_suite, bench_kernels_suite,
    bench_load_suite, bench_roof_suite, bench_tokenizer_suite;

/* All of them; ends with NULL. */
extern const struct bench_suite *const bench_suites[];
const struct bench_suite *bench_find_suite(const char *name); /* NULL: none of that name */

#endif
