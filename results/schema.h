/*
 * The schema of the results database and how an older one becomes the newest.
 *
 * Each version is one SQL script, applied once and never edited after a release;
 * PRAGMA user_version counts how many have been. Scripts hold plain SQL only, no
 * functions of ours, so that the views work in any SQLite (3.37 or later).
 */
#ifndef RESULTS_SCHEMA_H
#define RESULTS_SCHEMA_H

#include <stdint.h>

/* "rml1" in ASCII: PRAGMA application_id, also shown by file(1). */
#define SCHEMA_APPLICATION_ID 0x726d6c31

/* Scripts of version 1, in the order in which they are run. */
extern const char schema_v1_tables[];
extern const char schema_v1_views[];
/* Of version 2. */
extern const char schema_v2[];
/* Of version 3. */
extern const char schema_v3_eval[];
/* Of version 4. */
extern const char schema_v4_eval_verdict[];
/* Of version 5. */
extern const char schema_v5_run_model[];

struct schema_version {
    const char *const *scripts; /* NULL-terminated */
};

/* versions[i] leads from user_version i to i + 1. */
extern const struct schema_version schema_versions[];
extern const int schema_n_versions;

/* Rows of the table median_interval that version 1 starts with: n = 1 .. this. */
#define SCHEMA_MEDIAN_INTERVAL_ROWS 1000

#endif
