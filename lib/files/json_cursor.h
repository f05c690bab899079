/*
 * A JSON pull parser for the headers of weight files.
 *
 * safetensors headers and shard indices can hold a million entries and every
 * complaint about one should name its byte, which a tree of values no longer
 * knows. So these two are read as a stream; configurations, small and
 * irregular, are read with jansson (files/json_file.h).
 *
 *     rmli_json_enter(&c, '{');
 *     while (rmli_json_next_key(&c, &key)) {
 *         ... read or skip exactly one value ...
 *     }
 *     if (c.failed) ...
 *
 * The first error is sticky: after it every function returns false. Errors
 * hold `file` and the byte offset in it.
 */
#ifndef RML_FILES_JSON_CURSOR_H
#define RML_FILES_JSON_CURSOR_H

#include "base/arena.h"
#include "base/byte_reader.h"

struct rmli_json_cursor {
    struct rmli_byte_reader in;
    const char *file;           /* for messages; borrowed */
    size_t file_offset;         /* of in.data in the file */
    struct rmli_arena *strings; /* where strings with escapes are put */
    struct rml_error *err;
    bool failed;
    bool entered; /* an object or array has just been entered: no comma before its first member */
};

/* Without quotes and with escapes resolved, which is valid UTF-8 and may hold
 * NUL; not terminated; in the input or in `strings`. */
struct rmli_json_string {
    const char *data;
    size_t nbytes;
    size_t offset; /* of the opening quote in the file */
};

/* The place in the file of the next byte. */
size_t rmli_json_offset(const struct rmli_json_cursor *c);

/* Records an error at a place in the file; always false. */
bool rmli_json_fail(struct rmli_json_cursor *c, size_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Begins an object ('{') or array ('['). */
bool rmli_json_enter(struct rmli_json_cursor *c, char open);

/* The next key of the object entered last (its value comes next); false at its
 * end, which is consumed, and on error. */
bool rmli_json_next_key(struct rmli_json_cursor *c, struct rmli_json_string *key);

/* True when the array entered last has one more element, which comes next. */
bool rmli_json_next_element(struct rmli_json_cursor *c);

bool rmli_json_read_string(struct rmli_json_cursor *c, struct rmli_json_string *s);

/* An integer without sign, fraction or exponent that fits 64 bits. */
bool rmli_json_read_u64(struct rmli_json_cursor *c, uint64_t *value);

/* The first byte of the value, key or end that comes next, white space passed over; -1 at the end
 * of the input. */
int rmli_json_peek(struct rmli_json_cursor *c);
/* The place of that byte. */
size_t rmli_json_value_offset(struct rmli_json_cursor *c);

/* Any value, nested at most RMLI_JSON_MAX_DEPTH deep. */
#define RMLI_JSON_MAX_DEPTH 64
bool rmli_json_skip(struct rmli_json_cursor *c);

/* After the outermost value: nothing but white space may follow. */
bool rmli_json_end(struct rmli_json_cursor *c);

#endif
