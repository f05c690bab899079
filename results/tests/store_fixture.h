/*
 * What the tests of the store share: a folder that goes away, and small records.
 */
#ifndef RESULTS_TESTS_STORE_FIXTURE_H
#define RESULTS_TESTS_STORE_FIXTURE_H

#include "results/store.h"

/* A new folder, the same until fixture_remove. */
const char *fixture_folder(void);
/* "<folder>/<name>", valid until the fourth call after it. */
const char *fixture_path(const char *name);
void fixture_remove(void);

/* Runs one SQL query that gives one integer; fails the test when it cannot. */
int64_t fixture_number(struct store *store, const char *sql);

int64_t fixture_begin(struct store *store);

/* A result of `n` measured samples (wall_ns[i] for `iters` iterations) and one warm-up. */
int64_t fixture_add_result(struct store *store, int64_t run_id, const char *name,
                           const int64_t *wall_ns, size_t n, int64_t iters);

#endif
