/*
 * Typed fields of a JSON object, for the readers of config.json.
 *
 * A reader goes through all fields it knows and asks once, at the end, whether
 * all was well: the first failure is recorded and `ok` falls. One rule for
 * all getters: an absent key leaves *out as it was, so the caller puts the
 * default there first; a value of another type, or out of range, is an error
 * that names the key, the value found and what was expected. null is a value
 * like any other, and fits only where a getter says so.
 */
#ifndef RML_MODEL_JSON_FIELDS_H
#define RML_MODEL_JSON_FIELDS_H

#include <jansson.h>

#include "base/error.h"

struct rmli_json_fields {
    const json_t *object; /* borrowed */
    const char *file;     /* for messages */
    const char *path;     /* where the object stands: "" or "rope_parameters." */
    struct rml_error *err;
    bool ok;
};

/* The value of a key, NULL when there is none; null is a value. */
const json_t *rmli_field_get(const struct rmli_json_fields *f, const char *key);
/* True when the key is there and not null. */
bool rmli_field_has(const struct rmli_json_fields *f, const char *key);

void rmli_field_u32(struct rmli_json_fields *f, const char *key, uint32_t *out);
/* null gives `if_null`. */
void rmli_field_u32_or_null(struct rmli_json_fields *f, const char *key, uint32_t if_null,
                            uint32_t *out);
void rmli_field_f64(struct rmli_json_fields *f, const char *key, double *out); /* finite */
void rmli_field_f64_or_null(struct rmli_json_fields *f, const char *key, double if_null,
                            double *out);
void rmli_field_bool(struct rmli_json_fields *f, const char *key, bool *out); /* null: false */

/* Records what is wrong with a key's value: "'key' is VALUE, expected ...". The format
 * is the part after "expected". */
void rmli_field_fail(struct rmli_json_fields *f, enum rml_code code, const char *key,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The value as compact JSON, cut with "..." when it does not fit; "absent" for NULL. */
void rmli_field_show(const json_t *value, char *out, size_t out_nbytes);

#endif
