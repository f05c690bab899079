/*
 * The results of a run with their figures, and the samples of a result.
 *
 * The views v_stat and v_chart give the same figures in SQL, but for the whole database at
 * once; here only the samples asked for are read.
 */
#ifndef RESULTS_RESULT_ROWS_H
#define RESULTS_RESULT_ROWS_H

#include <jansson.h>

#include "results/store_private.h"

#define RESULT_CONFIDENCE 0.95

/* The measured samples in ns an iteration, ascending; to be freed. NULL on failure; with none
 * *n is 0 and the array is not NULL. */
double *result_samples(struct store *store, int64_t result_id, size_t *n, struct rml_error *err);

/*
 * The run's results in the order in which they were stored, an object each. Keys are those of
 * `rml-bench --json` (null for what does not apply), and result_id, arm, engine_version,
 * work_version, model_sha256, params_json, warmup_iters, items_per_iter, bytes_per_iter,
 * flops_per_iter, max_ns, mean_ns, sd_ns, max_abs_error, tolerance, is_wrong (logits that are out
 * of bounds). NULL with an error.
 */
json_t *result_rows_json(struct store *store, int64_t run_id, struct rml_error *err);

/* Members of such an object: NULL and NaN for null. */
const char *row_text(const json_t *row, const char *key);
double row_real(const json_t *row, const char *key);
int64_t row_id(const json_t *row); /* result_id */

/* The case in one line for people: its key without engine rml, work version and parameters.
 * To be freed. */
char *row_case_label(const json_t *row);

#endif
