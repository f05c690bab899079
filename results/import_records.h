/*
 * A file of records, in any of the forms in which llama-bench writes them, as JSON objects:
 * a JSON array, JSON Lines, CSV with a header (RFC 4180), or SQL that fills one table. Which
 * form it is shows in its first characters.
 *
 * Values are as the form has them: CSV knows only strings, SQL and JSON know numbers.
 */
#ifndef RESULTS_IMPORT_RECORDS_H
#define RESULTS_IMPORT_RECORDS_H

#include "results/import.h"

/* An array of objects; NULL with the place of what is wrong. */
json_t *import_records(struct import *import);

/* CSV alone. */
json_t *import_csv(struct import *import);

/* SQL alone: it is run by SQLite in memory, where it may create and fill one table and do
 * nothing else. */
json_t *import_sql(struct import *import);

#endif
