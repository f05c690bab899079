/*
 * Two runs side by side.
 *
 * Results are matched by case key (and arm), which holds all that makes work equal: shapes,
 * types, ISA path, model hash, threads, work version. The figure is the ratio of the medians,
 * B / A, in time. Its interval needs no assumption but independent samples: with each median
 * inside its own interval with probability 97.5 %, both are with at least 95 % (Bonferroni), and
 * the ratio is then between B's lower end / A's upper and B's upper / A's lower.
 *
 * That interval is of the two runs as they were. Between them the machine may have changed,
 * which on a shared one moves medians by a quarter and more, so there is no verdict here:
 * only interleaved pairs give one (rml-bench ab).
 */
#ifndef RESULTS_COMPARE_RUNS_H
#define RESULTS_COMPARE_RUNS_H

#include <jansson.h>

#include "results/store_private.h"

#define COMPARE_CONFIDENCE_EACH 0.975
#define COMPARE_CONFIDENCE 0.95

/*
 * {"a": run, "b": run, "same_binary", "confidence", "rows": [{"case_key", "arm", "a", "b",
 * "ratio", "ratio_lo", "ratio_hi", "output"}], "only_in_a": [...], "only_in_b": [...]}.
 * NULL with an error; *incomparable tells that it is because the runs have nothing in common
 * that compares, and the message then names the field and both values.
 */
json_t *compare_runs(struct store *store, int64_t a, int64_t b, bool *incomparable,
                     struct rml_error *err);

#endif
