/*
 * What a plan takes: roughly, for --plan, the remaining time and time limits.
 */
#ifndef BENCH_ESTIMATE_H
#define BENCH_ESTIMATE_H

#include "bench/plan.h"

/* Seconds of a case with so many repetitions, on a machine of 10 GB/s and 20 GFLOP/s for each of
 * at most four threads. 0 for one that is skipped. */
double bench_estimate_seconds(const struct bench_spec *spec, int n_reps);

/* Marks what needs more than `available` bytes as skipped (NaN: nothing is). */
void bench_skip_what_does_not_fit(struct bench_plan *plan, double available);

/* Says on standard error which cases are skipped and why, a line for each reason. */
void bench_tell_skipped(const struct bench_plan *plan);

/* --plan: the cases, with estimates, as a table or as JSON on standard output. */
bool bench_plan_print(const struct bench_plan *plan, int n_reps, double available, bool json,
                      struct rml_error *err);

/* "45 s", "12 min", "3 h 20 min". */
const char *bench_duration(double seconds, char *text, size_t nbytes);

#endif
