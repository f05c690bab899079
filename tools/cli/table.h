/*
 * A table of text with aligned columns, for people.
 *
 *     struct cli_table *table = cli_table_create("<golden|>max error|<verdict");
 *     cli_table_cell(table, "%s", name); ...                 row by row
 *     cli_table_print(table, stdout); cli_table_destroy(table);
 */
#ifndef TOOLS_CLI_TABLE_H
#define TOOLS_CLI_TABLE_H

#include <stdio.h>

#include "tools/cli/report.h"

struct cli_table;

/* Headings separated by '|', each after '<' (aligned left) or '>' (right). Out of memory
 * ends the program, here and below. */
struct cli_table *cli_table_create(const char *headings);
void cli_table_destroy(struct cli_table *table); /* NULL is allowed */

/* The next cell; rows fill from left to right. Control characters become '?'. */
void cli_table_cell(struct cli_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Colours the last cell, on a terminal. */
void cli_table_color(struct cli_table *table, enum cli_color color);
/* Headings, then rows; two blanks between columns, none at the end of a line. */
void cli_table_print(const struct cli_table *table, FILE *stream);
/* The same in Markdown (GitHub's tables), '|' in cells escaped. */
void cli_table_print_markdown(const struct cli_table *table, FILE *stream);

#endif
