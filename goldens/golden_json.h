/*
 * Strict readers of a parsed JSON file that people may have written: each says
 * the place of what it does not accept, as in "cases[1].tokens[3]".
 */
#ifndef GOLDENS_GOLDEN_JSON_H
#define GOLDENS_GOLDEN_JSON_H

#include <jansson.h>

#include "rml.h"

struct golden_reader {
    const char *file;
    struct rml_error *err;
};

/* Most bytes of a file: parsed, it takes about ten times as much memory. */
#define GOLDEN_FILE_MAX_NBYTES ((size_t)256 << 20)

/* How errors call the file of this path: "standard input" for "-". */
const char *golden_display_name(const char *path);

/*
 * Parses a whole file that must hold one JSON object without duplicate keys. *sha256, unless
 * NULL, becomes the hash of its bytes. NULL on failure.
 *
 * "-" is standard input. Pipes are read to their end, so one that nobody writes to is waited
 * for, as cat does, until a signal: RML_CANCELLED. More than GOLDEN_FILE_MAX_NBYTES, which a
 * device may give without end, is RML_UNSUPPORTED.
 */
json_t *golden_load_json(const struct golden_reader *r, const char *path, char sha256[65]);
/* The same for a file that holds an object or an array. */
json_t *golden_load_value(const struct golden_reader *r, const char *path, char sha256[65]);

/* Records "PLACE: ..." as RML_FORMAT and returns false. */
bool golden_refuse(const struct golden_reader *r, const char *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "PLACE.key", or "key" when place is "". */
#define GOLDEN_PLACE_NBYTES 160
void golden_place(char out[GOLDEN_PLACE_NBYTES], const char *place, const char *key);

/* Members of `object`, which must be there and of the type; the value is borrowed. Missing
 * or of another type is an error at place.key. `optional` ones are NULL when missing. */
bool golden_get(const struct golden_reader *r, const json_t *object, const char *place,
                const char *key, json_type type, bool optional, json_t **out);
/* The same for a number of either JSON type, finite and at least `min`. *out is left as it
 * was when an optional one is missing. */
bool golden_get_number(const struct golden_reader *r, const json_t *object, const char *place,
                       const char *key, double min, bool optional, double *out);
/* A string that golden_name_fault lets pass (goldens/golden_name.h), copied: a name, and a path,
 * which may be longer. */
bool golden_get_name(const struct golden_reader *r, const json_t *object, const char *place,
                     const char *key, bool optional, char **out);
bool golden_get_path(const struct golden_reader *r, const json_t *object, const char *place,
                     const char *key, bool optional, char **out);
/* An integer in [min, max]. */
bool golden_get_integer(const struct golden_reader *r, const json_t *object, const char *place,
                        const char *key, int64_t min, int64_t max, int64_t *out);
/* An array of token ids, each in [0, INT32_MAX]. */
bool golden_get_ids(const struct golden_reader *r, const json_t *object, const char *place,
                    const char *key, bool optional, int32_t **out, size_t *n);

/* An element of an array: a finite number, an integer in [min, max]. */
bool golden_number(const struct golden_reader *r, const json_t *value, const char *place,
                   double *out);
bool golden_integer(const struct golden_reader *r, const json_t *value, const char *place,
                    int64_t min, int64_t max, int64_t *out);

/* "format" and "version" at the top of a file. */
bool golden_check_format(const struct golden_reader *r, const json_t *root, const char *format);

/* Keys that are not among `known` (separated by blanks) are warned of, since later versions may
 * add some; or refused, where not to know one is to compare otherwise than the file says. */
void golden_warn_unknown(const struct golden_reader *r, const json_t *object, const char *place,
                         const char *known);
bool golden_refuse_unknown(const struct golden_reader *r, const json_t *object, const char *place,
                           const char *known);

#endif
