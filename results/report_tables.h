/*
 * The tables of the report.
 */
#ifndef RESULTS_REPORT_TABLES_H
#define RESULTS_REPORT_TABLES_H

#include "results/html_report.h"

struct report_table {
    const char *id, *title;
    const char *empty; /* what is said without rows */
    const char *sql;
};

/* In the order of the page; ends with an id of NULL. */
extern const struct report_table report_tables[];

bool report_write_table(struct store *store, const struct report_table *table, FILE *out,
                        struct rml_error *err);

#endif
