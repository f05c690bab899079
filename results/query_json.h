/*
 * Rows of a query as JSON: one object a row, whose keys are the columns' names.
 *
 * Integers stay integers, reals stay reals, NULL is null; a column whose name starts with
 * "is_" or is `passed` or `git_dirty` is a truth value.
 */
#ifndef RESULTS_QUERY_JSON_H
#define RESULTS_QUERY_JSON_H

#include <jansson.h>

#include "results/store_private.h"

/* The row that query_step came to; NULL when memory is exhausted. */
json_t *query_row_json(const struct query *q);

/* What is left of the query, as an array, and releases it; NULL with an error. */
json_t *query_rows_json(struct query *q, const char *doing, struct rml_error *err);

/* The text of a column of the row, NULL for NULL; valid until the next step. */
const char *query_column_text(const struct query *q, int column);
/* A column as a double, NaN for NULL. */
double query_column_real(const struct query *q, int column);

#endif
