/*
 * The documents of a task: JSON files as Hugging Face's `datasets` reads them (its "json" builder),
 * an object a line or one array of objects.
 *
 * Differences, all on the strict side: a field that a document does not have is missing, where
 * `datasets` makes it None when another document has it; texts are never
 * guessed to be dates, which it does where all of a column may be; what is no object is refused with file and line.
 */
#ifndef EVAL_DATA_RECORDS_H
#define EVAL_DATA_RECORDS_H

#include "eval/text_input.h"

struct data_record {
    struct json_t *object;
    size_t file, line; /* index into `files`; where the object begins */
};

struct data_records {
    struct data_record *records; /* [n] in order of the files */
    size_t n, capacity;
    char **files; /* [n_files] owned names */
    size_t n_files;
    char *sha256;          /* of all files' bytes, 64 hex digits */
    struct json_t *fields; /* an object: each field that any record has, with its first value */
};

/* Takes over nothing: names are copied. No record at all is an error. */
bool data_records_read(struct data_records *records, const char *const *files, size_t n_files,
                       struct rml_error *err);
void data_records_release(struct data_records *records); /* safe on a zero struct */

/* Records of objects that stand in another file, at its line; takes a reference to each. */
bool data_records_from_array(struct data_records *records, const struct json_t *array,
                             const char *file, size_t line, struct rml_error *err);

/* *err: file and line of a record. Returns false. */
bool data_fail(const struct data_records *records, size_t record, struct rml_error *err,
               const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Whether any record has the field. */
bool data_has_field(const struct data_records *records, const char *field);

#endif
