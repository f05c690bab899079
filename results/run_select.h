/*
 * Which runs a command is about: one by name, or those that pass a filter.
 */
#ifndef RESULTS_RUN_SELECT_H
#define RESULTS_RUN_SELECT_H

#include "results/store_private.h"
#include "tools/cli/options.h"

/* "running", "complete", "failed", "aborted"; a run that is `running` in the database is "dead"
 * when its process is gone, and "elsewhere" when that cannot be told. */
const char *run_shown_state(struct store *store, int64_t run_id, const char *state);

/* ---- Filter ------------------------------------------------------------------- */

/* What is NULL or at its extreme filters nothing. */
struct run_filter {
    const char *kind, *state, *label; /* state: as shown */
    int64_t since_ns, before_ns;      /* since <= start < before */
};

#define RUN_FILTER_ALL                                                                             \
    {                                                                                              \
        .since_ns = INT64_MIN, .before_ns = INT64_MAX                                              \
    }

enum {
    RUN_FILTER_KEY_KIND = CLI_OWN_KEY + 200,
    RUN_FILTER_KEY_STATE,
    RUN_FILTER_KEY_LABEL,
    RUN_FILTER_KEY_SINCE,
    RUN_FILTER_KEY_BEFORE
};

/* Entries of an option table. */
#define RUN_FILTER_OPTIONS                                                                         \
    {"kind",                                                                                       \
     RUN_FILTER_KEY_KIND,                                                                          \
     "KIND",                                                                                       \
     0,                                                                                            \
     "Only runs of that kind: bench, golden, eval, chat, quantize or import",                      \
     2},                                                                                           \
        {"state",                                                                                  \
         RUN_FILTER_KEY_STATE,                                                                     \
         "STATE",                                                                                  \
         0,                                                                                        \
         "Only runs in that state: running, complete, failed, aborted, dead or elsewhere",         \
         2},                                                                                       \
        {"label", RUN_FILTER_KEY_LABEL, "NAME", 0, "Only runs with that label", 2},                \
        {"since",                                                                                  \
         RUN_FILTER_KEY_SINCE,                                                                     \
         "TIME",                                                                                   \
         0,                                                                                        \
         "Only runs begun at TIME or later: 2026-11-30, 2026-11-30T14:05[:30] (UTC), or an age: "  \
         "12h, 30d",                                                                               \
         2},                                                                                       \
    {                                                                                              \
        "before", RUN_FILTER_KEY_BEFORE, "TIME", 0, "Only runs begun before TIME", 2               \
    }

/* For a command's parser: ARGP_ERR_UNKNOWN for other keys; a bad value is a usage error. */
error_t run_filter_parse(int key, char *arg, struct argp_state *state, struct run_filter *filter);

/* A condition on the table run as `u`, all but the state. Its parameters are the first four of
 * the statement, and run_filter_bind binds them. */
#define RUN_FILTER_SQL                                                                             \
    "(?1 IS NULL OR u.kind = ?1) AND (?2 IS NULL OR u.label = ?2)"                                 \
    " AND u.start_ns >= ?3 AND u.start_ns < ?4"
void run_filter_bind(struct query *q, const struct run_filter *filter);

/* "2026-11-30", "2026-11-30T14:05[:30][Z]" as UTC, or an age before now ("12h", "30d"). */
bool parse_utc(const char *text, int64_t now_ns, int64_t *ns);
/* The same in a command's parser: a bad time is a usage error. */
void arg_utc(struct argp_state *state, const char *option, const char *arg, int64_t *ns);

#endif
