/*
 * Strict readers of parsed JSON.
 */
#include "goldens/golden_json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/cli/report.h"

/* ---- The whole file ------------------------------------------------------- */

static bool read_whole(const struct golden_reader *r, char **bytes, size_t *nbytes)
{
    FILE *stream = fopen(r->file, "rb");
    if (!stream)
        return rmli_fail(r->err, errno == ENOENT ? RML_NOT_FOUND : RML_IO, r->file, -1,
                         "cannot open: %s", strerror(errno));
    struct stat st;
    if (fstat(fileno(stream), &st) == 0 && S_ISDIR(st.st_mode)) {
        fclose(stream);
        return rmli_fail(r->err, RML_IO, r->file, -1, "a folder found, expected a file");
    }
    char *buffer = NULL;
    size_t n = 0, room = 0;
    for (;;) {
        if (n == room) {
            room = room * 2 + 65536;
            char *bigger = realloc(buffer, room);
            if (!bigger) {
                free(buffer);
                fclose(stream);
                return rmli_fail(r->err, RML_NO_MEMORY, r->file, -1, "no memory to read it");
            }
            buffer = bigger;
        }
        size_t got = fread(buffer + n, 1, room - n, stream);
        if (got == 0)
            break;
        n += got;
    }
    bool failed = ferror(stream) != 0;
    fclose(stream);
    if (failed) {
        free(buffer);
        return rmli_fail(r->err, RML_IO, r->file, -1, "cannot read");
    }
    *bytes = buffer;
    *nbytes = n;
    return true;
}

static bool hash(const void *bytes, size_t nbytes, char hex[65])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (EVP_Digest(bytes, nbytes, digest, &n, EVP_sha256(), NULL) != 1 || n != 32)
        return false;
    for (unsigned i = 0; i < n; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    return true;
}

json_t *golden_load_json(const struct golden_reader *r, char sha256[65])
{
    char *bytes = NULL;
    size_t nbytes = 0;
    if (!read_whole(r, &bytes, &nbytes))
        return NULL;
    json_t *root = NULL;
    json_error_t error;
    if (sha256 && !hash(bytes, nbytes, sha256))
        rmli_fail(r->err, RML_INTERNAL, r->file, -1, "SHA-256 is not available");
    else if (!(root = json_loadb(bytes, nbytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error)))
        rmli_fail(r->err, RML_FORMAT, r->file, error.position,
                  "line %d, column %d: %s, expected JSON", error.line, error.column, error.text);
    free(bytes);
    if (root && !json_is_object(root)) {
        rmli_fail(r->err, RML_FORMAT, r->file, -1, "an array found, expected an object");
        json_decref(root);
        return NULL;
    }
    return root;
}

/* ---- Places and refusals -------------------------------------------------- */

bool golden_refuse(const struct golden_reader *r, const char *place, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return rmli_fail(r->err, RML_FORMAT, r->file, -1, "%s: %s", place, message);
}

void golden_place(char out[GOLDEN_PLACE_NBYTES], const char *place, const char *key)
{
    snprintf(out, GOLDEN_PLACE_NBYTES, "%.100s%s%s", place, place[0] ? "." : "", key);
}

static const char *type_name(json_type type)
{
    switch (type) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number with a fraction";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    default:
        return "null";
    }
}

/* ---- Members --------------------------------------------------------------- */

bool golden_get(const struct golden_reader *r, const json_t *object, const char *place,
                const char *key, json_type type, bool optional, json_t **out)
{
    char at[GOLDEN_PLACE_NBYTES];
    golden_place(at, place, key);
    json_t *value = json_object_get(object, key);
    *out = value;
    if (!value)
        return optional || golden_refuse(r, at, "missing, expected %s", type_name(type));
    json_type found = json_typeof(value);
    if (found == JSON_FALSE)
        found = JSON_TRUE;
    if (found != type)
        return golden_refuse(r, at, "%s found, expected %s", type_name(found), type_name(type));
    return true;
}

bool golden_get_number(const struct golden_reader *r, const json_t *object, const char *place,
                       const char *key, double min, bool optional, double *out)
{
    char at[GOLDEN_PLACE_NBYTES];
    golden_place(at, place, key);
    json_t *value = json_object_get(object, key);
    if (!value)
        return optional || golden_refuse(r, at, "missing, expected a number");
    double number = 0;
    if (!golden_number(r, value, at, &number))
        return false;
    if (number < min)
        return golden_refuse(r, at, "%.9g found, expected at least %g", number, min);
    *out = number;
    return true;
}

bool golden_get_name(const struct golden_reader *r, const json_t *object, const char *place,
                     const char *key, bool optional, char **out)
{
    json_t *value;
    if (!golden_get(r, object, place, key, JSON_STRING, optional, &value))
        return false;
    if (!value)
        return true;
    char at[GOLDEN_PLACE_NBYTES];
    golden_place(at, place, key);
    const char *text = json_string_value(value);
    size_t n = json_string_length(value);
    if (n == 0)
        return golden_refuse(r, at, "an empty string found, expected a name");
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return golden_refuse(r, at, "a control character found, expected a name");
    *out = strdup(text);
    return *out || rmli_fail(r->err, RML_NO_MEMORY, r->file, -1, "no memory");
}

bool golden_get_integer(const struct golden_reader *r, const json_t *object, const char *place,
                        const char *key, int64_t min, int64_t max, int64_t *out)
{
    char at[GOLDEN_PLACE_NBYTES];
    golden_place(at, place, key);
    json_t *value = json_object_get(object, key);
    if (!value)
        return golden_refuse(r, at, "missing, expected an integer");
    return golden_integer(r, value, at, min, max, out);
}

bool golden_get_ids(const struct golden_reader *r, const json_t *object, const char *place,
                    const char *key, bool optional, int32_t **out, size_t *n)
{
    json_t *array;
    if (!golden_get(r, object, place, key, JSON_ARRAY, optional, &array))
        return false;
    if (!array)
        return true;
    size_t n_ids = json_array_size(array);
    int32_t *ids = calloc(n_ids + 1, sizeof *ids);
    if (!ids)
        return rmli_fail(r->err, RML_NO_MEMORY, r->file, -1, "no memory");
    for (size_t i = 0; i < n_ids; i++) {
        char at[GOLDEN_PLACE_NBYTES + 32];
        int64_t id = 0;
        snprintf(at, sizeof at, "%s.%s[%zu]", place, key, i);
        if (!golden_integer(r, json_array_get(array, i), at, 0, INT32_MAX, &id)) {
            free(ids);
            return false;
        }
        ids[i] = (int32_t)id;
    }
    *out = ids;
    *n = n_ids;
    return true;
}

/* ---- Elements -------------------------------------------------------------- */

bool golden_number(const struct golden_reader *r, const json_t *value, const char *place,
                   double *out)
{
    if (!json_is_number(value))
        return golden_refuse(r, place, "%s found, expected a number",
                             type_name(json_typeof(value)));
    *out = json_number_value(value);
    /* JSON has no word for infinity, and jansson refuses 1e999; this is for good measure. */
    return isfinite(*out) || golden_refuse(r, place, "expected a finite number");
}

bool golden_integer(const struct golden_reader *r, const json_t *value, const char *place,
                    int64_t min, int64_t max, int64_t *out)
{
    if (!json_is_integer(value))
        return golden_refuse(r, place, "%s found, expected an integer",
                             type_name(json_typeof(value)));
    int64_t number = json_integer_value(value);
    if (number < min || number > max)
        return golden_refuse(r, place, "%" PRId64 " found, expected %" PRId64 " to %" PRId64,
                             number, min, max);
    *out = number;
    return true;
}

/* ---- The top of a file ------------------------------------------------------ */

bool golden_check_format(const struct golden_reader *r, const json_t *root, const char *format)
{
    json_t *value;
    if (!golden_get(r, root, "", "format", JSON_STRING, false, &value))
        return false;
    if (strcmp(json_string_value(value), format) != 0)
        return golden_refuse(r, "format", "'%.60s' found, expected '%s'", json_string_value(value),
                             format);
    if (!golden_get(r, root, "", "version", JSON_INTEGER, false, &value))
        return false;
    if (json_integer_value(value) != 1)
        return golden_refuse(r, "version", "%" JSON_INTEGER_FORMAT " found, expected 1",
                             json_integer_value(value));
    return true;
}

void golden_warn_unknown(const struct golden_reader *r, const json_t *object, const char *place,
                         const char *known)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        size_t n = strlen(key);
        bool found = false;
        for (const char *p = known; *p && !found; p += strcspn(p, " ")) {
            p += *p == ' ';
            found = strcspn(p, " ") == n && strncmp(p, key, n) == 0;
        }
        if (!found)
            cli_warn("%s: %s%skey '%.60s' is unknown and ignored", r->file, place,
                     place[0] ? ": " : "", key);
    }
}
