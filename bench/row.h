/*
 * One row of a benchmark: a case, what came out of it, and the figures that follow.
 */
#ifndef BENCH_ROW_H
#define BENCH_ROW_H

#include "bench/measure.h"
#include "tools/cli/order_statistics.h"
#include "files/content_hash.h"

#define BENCH_CONFIDENCE 0.95

struct bench_row {
    struct store_case what;
    struct store_result result; /* samples and texts are those below */
    struct bench_samples samples;

    char name[64];
    char params_json[512];
    char engine_version[64];
    char output_sha256[RMLI_SHA256_HEX_NBYTES]; /* "" until bench_row_hash_output */
    char error[1024];

    /* Derived by bench_row_close, in ns an iteration; NaN when it does not apply. */
    struct summary stats;
    double ttft_ns;
    double itl_p50_ns, itl_p90_ns, itl_p99_ns, itl_max_ns;
};

/* A row of our engine with nothing measured yet: counts that do not apply are -1. Texts
 * are copied, suite is borrowed for good. NULL with RML_NO_MEMORY. */
struct bench_row *bench_row_create(const char *suite, const char *name, struct rml_error *err);
void bench_row_destroy(struct bench_row *row); /* NULL is allowed */

/* The hash of what the timed code computed. */
bool bench_row_hash_output(struct bench_row *row, const void *output, size_t nbytes,
                           struct rml_error *err);

/*
 * Measures the work into the row and works the figures out. False when nothing was
 * measured, and the row then has the status `error` with the text of *err, unless that is
 * RML_CANCELLED, which makes no row. err is not NULL.
 */
bool bench_row_measure(struct bench_row *row, const struct bench_work *work, int n_reps,
                       struct rml_error *err);

/* Turns the row into one of status `error`; its samples are dropped. */
void bench_row_fail(struct bench_row *row, const struct rml_error *err);

/* Figures of a row; NaN when nothing was measured or it is not known. */
double bench_row_tokens_per_second(const struct bench_row *row);
double bench_row_bytes_per_second(const struct bench_row *row);
double bench_row_flops_per_second(const struct bench_row *row);

#endif
