/*
 * The results of one case on one machine, in the order in which they were measured.
 */
#ifndef RESULTS_HISTORY_H
#define RESULTS_HISTORY_H

#include <jansson.h>

#include "results/store_private.h"

#define HISTORY_MAX_POINTS 2000 /* the newest; a longer history is cut, and says so */

/*
 * An array of histories, one for each case, arm and host; two hosts are never joined. Each:
 * {"case_key", "name" (as rml-bench shows it), "model" (its file), "arm", "host_fingerprint", "hostname", "cpu_model", "n_left_out" (no figure, or
 * wrong), "n_cut", "points": [{"run", "start_ns", "label", "version", "git_commit", "git_dirty",
 * "engine_version", "status", "n_samples", "median_ns", "ci_lo_ns", "ci_hi_ns", "notes"}],
 * "change_points": [{"index", "run", "git_commit", "before_ns", "after_ns", "ratio", "p_value",
 * "is_muted"}], "annotations": [{"kind", "note", "commit_sha", "is_expired"}]}.
 *
 * `pattern`: a case key, a name, SUITE/NAME, the name that rml-bench shows, or a pattern of that
 * or of a case key with * ? and [...].
 * host: NULL, or the start of a fingerprint, or a host name. Change points are looked for in
 * the logarithms of the medians, so that a ratio counts the same at any speed. NULL with an
 * error, RML_NOT_FOUND when no case fits.
 */
json_t *history_read(struct store *store, const char *pattern, const char *host, uint64_t seed,
                     struct rml_error *err);

#endif
