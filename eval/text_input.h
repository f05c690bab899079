/*
 * Input files of evaluations: read whole, checked before anything runs.
 *
 * A text is UTF-8 without a byte order mark, NUL or carriage returns before line feeds: each
 * of them would change what is scored without being seen, so each is an error that says
 * the file, the line and what was expected. A last line needs no line feed.
 */
#ifndef EVAL_TEXT_INPUT_H
#define EVAL_TEXT_INPUT_H

#include <stdio.h>

#include "rml.h"

struct json_t;

/* The longest line of a file that is read by lines. */
#define TEXT_MAX_LINE_NBYTES ((size_t)64 << 20)

struct text_file {
    const char *name; /* as the user gave it; borrowed. "-" is standard input */
    char *data;       /* [nbytes], then a NUL */
    size_t nbytes;
};

/* Reads and checks. by_lines: lines of more than TEXT_MAX_LINE_NBYTES are refused. */
bool text_file_read(struct text_file *file, const char *name, bool by_lines, struct rml_error *err);
void text_file_release(struct text_file *file); /* safe on a zero struct */

/* The lines of a file one by one; start with {0}. */
struct text_line {
    const char *data; /* [nbytes] without its line feed, in the file's memory */
    size_t nbytes;
    size_t number; /* from 1 */
    size_t next;   /* offset of what follows */
};
bool text_next_line(const struct text_file *file, struct text_line *line);

/* *err: "line N: ..." of a file. Returns false. */
bool text_fail(const struct text_file *file, size_t line, struct rml_error *err, const char *format,
               ...) __attribute__((format(printf, 4, 5)));

/* The object on a line; NULL when it is none. To be given back by json_decref. */
struct json_t *text_json_line(const struct text_file *file, const struct text_line *line,
                              struct rml_error *err);

/* Member `field` of the object of a line, which must be a string; a missing one is refused.
 * The string is the object's and may hold NUL. */
bool text_json_string(const struct text_file *file, const struct text_line *line,
                      const struct json_t *object, const char *field, const char **text,
                      size_t *nbytes, struct rml_error *err);

#endif
