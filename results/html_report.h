/*
 * The report: one HTML page that needs nothing but itself.
 */
#ifndef RESULTS_HTML_REPORT_H
#define RESULTS_HTML_REPORT_H

#include <stdio.h>

#include "results/store.h"

/* Text of the database in HTML: markup is escaped, control characters and bytes that are no UTF-8
 * become U+FFFD. */
void html_text(FILE *out, const char *text);

/* Writes the page. What it says depends on the database alone. */
bool report_write(struct store *store, FILE *out, struct rml_error *err);

extern const char report_css[], report_js[];

#endif
