/*
 * Numbers of a column have one type, as in the tables that `datasets` makes of JSON files: where
 * one of them has a fraction, 4 is 4.0, and a prompt shows it so. The columns of the split that is
 * made first are those of the others, too, whose 7.0 is then 7.
 *
 * A column may lie within objects and lists. Objects of one place whose keys differ are no columns:
 * `datasets` keeps them as JSON, with the numbers that the file has.
 */
#ifndef EVAL_DATA_COLUMNS_H
#define EVAL_DATA_COLUMNS_H

#include "eval/data_records.h"

/* Gives the numbers of all records the types that `first` has; `second` may be NULL, or `first`.
 * A fraction where `first` has whole numbers alone is refused with file and line, as there. */
bool data_columns_unify(struct data_records *first, struct data_records *second,
                        struct rml_error *err);

#endif
