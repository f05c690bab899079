/*
 * How much of what the machine can do was reached?
 *
 * An iteration that reads b bytes and does f operations takes at least b / (read bandwidth)
 * and at least f / (arithmetic peak), whichever is longer (the roofline model: Williams,
 * Waterman and Patterson, 2009). roof_fraction is that least time over the time that was
 * measured. The bandwidth is that of main memory: work whose data stays in a cache may reach
 * more than 1.
 *
 * `rml-bench roof` measures the three limits for each number of threads and each instruction
 * set; they are rows of the results database (suite "roof") like any others.
 */
#ifndef BENCH_ROOF_H
#define BENCH_ROOF_H

#include "bench/plan.h"
#include "results/store.h"

/* NaN: not measured. */
struct roof {
    double read_bytes_per_second;
    double fma_f32_per_second, dot_i8_per_second; /* two operations for each multiply-add */
};

/*
 * The newest roof that was measured on the host of the run, for that many threads and that
 * instruction set ("avx2"); all NaN when there is none, with a NULL store, or with isa NULL.
 */
bool roof_of(struct store *store, int64_t run_id, int threads, const char *isa, struct roof *roof,
             struct rml_error *err);

/* bytes, flops: of an iteration, negative when not known; i8: its products are of 8-bit
 * integers. NaN when the roof that matters is not known: both must be, unless one of the two
 * amounts is zero or not known. */
double roof_fraction(const struct roof *roof, double bytes, double flops, bool i8, double ns);

/* Appends to `roofs` the cases of suite "roof" that the rows of `cases` are judged by: the three
 * limits for each number of threads and instruction set among them, where they can be measured. */
bool bench_plan_roofs_of(const struct bench_plan *cases, struct bench_plan *roofs,
                         struct rml_error *err);

#endif
