/*
 * Rows of a query as CSV, RFC 4180, so that they read back as they were: NULL is an empty
 * field and an empty text is "", reals have as many digits as it takes, blobs are hexadecimal.
 */
#ifndef RESULTS_CSV_OUT_H
#define RESULTS_CSV_OUT_H

#include <stdio.h>

#include "results/store_private.h"

/* The names of the columns. Lines end with CR LF, here and below. */
void csv_write_header(FILE *out, sqlite3_stmt *stmt);
/* The row that the statement came to. */
void csv_write_row(FILE *out, sqlite3_stmt *stmt);

#endif
