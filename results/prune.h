/*
 * Which runs may go, and deleting them.
 */
#ifndef RESULTS_PRUNE_H
#define RESULTS_PRUNE_H

#include <jansson.h>

#include "results/run_select.h"

struct prune_rules {
    struct run_filter filter; /* only these; state as shown */
    int64_t keep_last;        /* results of each subject that stay; -1: none has to */
    bool annotated;           /* runs of commits that an annotation names go, too */
    bool referenced;          /* runs that a verdict of another run rests on go, too */
};

/*
 * What would go, an object a run: {"run", "start_ns", "kind", "state", "label", "n_results",
 * "n_samples"}, oldest first, and how many that fit the filter stay, by reason. A run that is
 * still going on always stays. NULL with an error.
 *
 * keep_last counts, on each host, by subject: a benchmark case and arm, a golden, a task, a
 * checkpoint that was quantised or came of it, or for a run with none of these its kind. A run stays as long as it is among the last of any of
 * its subjects.
 */
struct prune_kept {
    int64_t running, last, annotated, referenced;
};
json_t *prune_plan(struct store *store, const struct prune_rules *rules, struct prune_kept *kept,
                   struct rml_error *err);

/* Deletes the runs of a plan, what hangs on them, and cases, models, builds and hosts that
 * nothing refers to any more. The caller has begun a transaction, in which the plan was made. */
bool prune_delete(struct store *store, const json_t *plan, struct rml_error *err);

#endif
