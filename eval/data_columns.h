/*
 * Values of a column have one type, as in the tables that `datasets` makes of JSON files: where one
 * of its numbers has a fraction, 4 is 4.0, and a prompt shows it so. The columns of the split that is
 * made first are those of the others, too: 7.0 is then 7, 7 among texts "7", "7" among numbers 7,
 * and true among texts "true". What cannot be had so is refused, as there.
 *
 * A column may lie within objects and lists. Objects of one place whose keys differ, and values of
 * several kinds, are no columns: `datasets` keeps them as JSON, with the numbers that the file has,
 * and reads texts that are JSON. A whole number is taken so; other such texts are refused.
 */
#ifndef EVAL_DATA_COLUMNS_H
#define EVAL_DATA_COLUMNS_H

#include "eval/data_records.h"

/* Gives the values of all[0 .. n - 1] the types that `first` has, which may be one of them. A
 * value that cannot have its column's is refused with file and line. */
bool data_columns_unify(const struct data_records *first, struct data_records *const *all, size_t n,
                        struct rml_error *err);

#endif
