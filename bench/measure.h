/*
 * Timing one piece of work.
 *
 * A repetition is a fixed number of iterations that take at least 2 ms together, so
 * that reading the clock does not count. The work is repeated until its time is
 * steady (warm-up, same shape and data), then as often as asked, and every repetition
 * is kept. Between the two clock readings nothing allocates, logs or touches a file,
 * unless the work itself does.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "results/store.h"

#define BENCH_MIN_REPS 21
#define BENCH_MAX_REPS 100000

struct bench_work {
    /* Runs `iters` iterations. times, unless NULL: times[i] is the clock (rmli_clock_ns) after
     * iteration i. False ends the measurement with *err. */
    bool (*run)(void *arg, int64_t iters, int64_t *times, struct rml_error *err);
    /* Puts the work back to its start; not timed, before each repetition. NULL: not needed. */
    bool (*prepare)(void *arg, struct rml_error *err);
    /* What the last iteration computed; the same bytes after every repetition, for they start from
     * the same state. NULL: nothing that could be compared. */
    const void *(*output)(const void *arg, size_t *nbytes);
    void *arg;
    int64_t iters_step;     /* iterations come in multiples of it, at least 1 */
    bool fixed_iters;       /* a repetition is iters_step iterations, however short */
    bool wants_token_times; /* an iteration is a token whose time is kept */
};

struct bench_samples {
    struct store_sample *samples; /* warm-up first, then the measured ones */
    size_t n_samples;
    struct store_token_time *token_times; /* of measured repetitions */
    size_t n_token_times;
    int64_t iters_per_rep;
    int64_t warmup_iters;
    bool steady; /* false: the time was still changing when the warm-up's limit was reached */
};

/*
 * Measures `n_reps` repetitions; 0: the warm-up alone. On failure *samples holds nothing: what run
 * or prepare said, RML_CANCELLED after SIGINT, RML_NO_MEMORY, RML_INTERNAL when the output of one
 * repetition differs from that of another. After success release it.
 */
bool bench_measure(const struct bench_work *work, int n_reps, struct bench_samples *samples,
                   struct rml_error *err);
/* One repetition of so many iterations, unasked whether it is warm or long enough. */
bool bench_measure_block(const struct bench_work *work, int64_t iters, int64_t *wall_ns,
                         int64_t *cpu_ns, struct rml_error *err);

/* A quick hash of the output, never 0; 0: the work has none. */
uint64_t bench_work_output_hash(const struct bench_work *work);

void bench_samples_release(struct bench_samples *samples); /* safe on an all-zero struct */

#endif
