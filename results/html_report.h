/*
 * The report: one HTML page that needs nothing but itself.
 */
#ifndef RESULTS_HTML_REPORT_H
#define RESULTS_HTML_REPORT_H

#include <stdio.h>

#include "results/store.h"

/* Writes the page. What it says depends on the database alone. */
bool report_write(struct store *store, FILE *out, struct rml_error *err);

extern const char report_css[], report_js[];

#endif
