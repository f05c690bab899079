/*
 * The report: one HTML page that needs nothing but itself.
 */
#ifndef RESULTS_HTML_REPORT_H
#define RESULTS_HTML_REPORT_H

#include <stdio.h>

#include "results/store.h"

/* Writes the page. What it says depends on the database alone. A chart that cannot be drawn is a
 * line of the page and of standard error; n_failed: how many. */
bool report_write(struct store *store, FILE *out, size_t *n_failed, struct rml_error *err);

extern const char report_css[], report_js[];

#endif
