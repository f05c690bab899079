/*
 * One row of a benchmark: a case, what came out of it, and the figures that follow.
 */
#ifndef BENCH_ROW_H
#define BENCH_ROW_H

#include "bench/child.h"
#include "tools/cli/order_statistics.h"

#define BENCH_CONFIDENCE 0.95

struct bench_row {
    const struct bench_spec *spec; /* borrowed, outlives the row */
    struct store_case what;     /* the spec's; instruction set and work version as the child has */
    struct store_result result; /* samples and texts are those below */
    struct bench_samples samples;

    char engine_version[64];
    char output_sha256[65];         /* "": none */
    char error[2080];               /* or why it was skipped */
    struct store_counter *counters; /* the same for the database; owned */
    char (*counter_names)[64];
    json_t *profile; /* as in bench_outcome; owned, NULL without */

    /* Derived, in ns an iteration; NaN when it does not apply. */
    struct summary stats;
    double ttft_ns;
    double itl_p50_ns, itl_p90_ns, itl_p99_ns, itl_max_ns;
    double roof_fraction; /* of the time that the roof allows; NaN: not known */
};

/* A row of this build with nothing measured yet; of status `skipped` when the spec has a reason
 * for it. NULL with RML_NO_MEMORY. */
struct bench_row *bench_row_create(const struct bench_spec *spec, struct rml_error *err);
void bench_row_destroy(struct bench_row *row); /* NULL is allowed */

/*
 * Opens the case in the child, measures it into the row and works the figures out. False when
 * nothing was measured, and the row then has the status `error` with the text of *err, unless
 * that is RML_CANCELLED, which makes no row. err is not NULL.
 */
bool bench_row_measure(struct bench_row *row, struct bench_child *child, int n_reps, bool profile,
                       struct rml_error *err);

/* Its parts, for those who measure otherwise. Facts of the opened case: */
void bench_row_set_facts(struct bench_row *row, const struct bench_facts *facts);
/* Takes over the samples and works the figures out; on failure they are released. */
bool bench_row_take_samples(struct bench_row *row, struct bench_samples *samples,
                            struct rml_error *err);

/* A result that was stored before: copies it, samples included. */
bool bench_row_recall(struct bench_row *row, const struct store_result *result,
                      struct rml_error *err);

/* Turns the row into one of status `error`; its samples are dropped. */
void bench_row_fail(struct bench_row *row, const struct rml_error *err);

/* Figures of a row; NaN when nothing was measured or it is not known. */
double bench_row_tokens_per_second(const struct bench_row *row);
double bench_row_bytes_per_second(const struct bench_row *row);
double bench_row_flops_per_second(const struct bench_row *row);

#endif
