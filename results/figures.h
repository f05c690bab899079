/*
 * Numbers and times as the tables of rml-results show them.
 */
#ifndef RESULTS_FIGURES_H
#define RESULTS_FIGURES_H

#include <stdint.h>

#include "tools/cli/table.h"

/* "2026-11-30 05:15:06Z", "-" outside the calendar. */
void utc_text(int64_t ns, char text[32]);

/* Cells; NaN and NULL become "-". */
void cell_text(struct cli_table *table, const char *text);
void cell_whole(struct cli_table *table, double n);     /* "61" */
void cell_figure(struct cli_table *table, double x);    /* 0.123 1.23 12.3 123 */
void cell_time(struct cli_table *table, double ns);     /* "12.3 us" */
void cell_ratio(struct cli_table *table, double ratio); /* "1.034" */
/* "12.3 us [12.1, 12.9]"; without the brackets when there is no interval */
void cell_interval(struct cli_table *table, double ns, double lo_ns, double hi_ns);

#endif
