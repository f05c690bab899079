/*
 * Taking the rows of one results database into another.
 *
 * Rows are the same when their natural keys are: a run by its uuid, host, build, model and
 * case by their hash or key. What has no key is the same when every column is. So merging a
 * file a second time adds nothing, and a run that has gone on since then is completed.
 */
#ifndef RESULTS_MERGE_H
#define RESULTS_MERGE_H

#include <jansson.h>

#include "results/store.h"

enum { MERGE_MAX_TABLES = 32 };

/* The tables in the order in which they are merged, so that a row comes after those that it
 * refers to; NULL beyond the last. */
const char *merge_table_name(int t);

struct merge_counts {
    int64_t added[MERGE_MAX_TABLES]; /* by table */
    int64_t runs_renewed;            /* known, but of an earlier state */
    int64_t runs_unfinished;         /* in `from`, still `running` there */
};

/*
 * One transaction: on failure, and when the user interrupts (RML_CANCELLED), `into` is as it
 * was. `from` is only read, from one snapshot; both have the current schema.
 */
bool store_merge(struct store *into, struct store *from, struct merge_counts *counts,
                 struct rml_error *err);

#endif
