/*
 * Errors: a code, a sentence and a place.
 *
 * Every function of the library that can fail takes a `struct rml_error *`
 * as its last argument and says so by its result (false, NULL or a negative
 * number, as its contract states). The pointer may be NULL when the caller
 * does not want to know why. The FIRST error wins: a struct that already
 * holds an error is left alone, so one struct can be passed through a whole
 * sequence of calls and names the cause, not the aftermath.
 *
 * Messages are lower case, quote their subject, say what was found and what
 * was expected, and have no full stop.
 */
#ifndef RML_BASE_ERROR_H
#define RML_BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

enum rml_code {
    RML_OK = 0,
    RML_INVALID_ARGUMENT, /* the caller asked for something that cannot be */
    RML_NOT_FOUND,        /* a file, tensor or key that is not there */
    RML_IO,               /* the operating system said no (errno text in the message) */
    RML_FORMAT,           /* a file is malformed */
    RML_UNSUPPORTED,      /* well-formed, but outside what rml runs */
    RML_OUT_OF_RANGE,     /* a full cache, a prompt that does not fit */
    RML_NO_MEMORY,        /* allocation failed, or would not fit an address */
    RML_CANCELLED,        /* a callback asked to stop */
    RML_INTERNAL          /* a defect of rml */
};

struct rml_error {
    enum rml_code code;
    int64_t offset;     /* byte offset in `file`, or -1 when unknown */
    char file[1024];    /* "" when no file is concerned; its end when longer */
    char message[1024]; /* one line, always terminated */
};

/* No error yet: code RML_OK, offset -1, empty strings. */
/* clang-format off */
#define RML_ERROR_INIT {.code = RML_OK, .offset = -1, .file = "", .message = ""}
/* clang-format on */

/* Empties *err for reuse. NULL is allowed. */
void rml_error_clear(struct rml_error *err);

/* The code's name in kebab-case, as used in JSON ("invalid-argument").
 * Never NULL; an unknown value gives "unknown". */
const char *rml_code_name(enum rml_code code);

/*
 * Records an error unless *err already holds one, and returns false, so that
 * a failing function can end with `return rmli_fail(...)`. `file` may be NULL
 * or ""; `offset` is -1 when unknown. The message is formatted as by printf,
 * truncated to its field (a long `file` keeps its end). In both, control
 * characters and bytes that are not UTF-8 become '?', so that they can be
 * printed on a terminal and written as JSON whatever a hostile file holds.
 */
bool rmli_fail(struct rml_error *err, enum rml_code code, const char *file, int64_t offset,
               const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
