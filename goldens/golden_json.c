/*
 * Strict readers of parsed JSON.
 */
#include "goldens/golden_json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "goldens/golden_name.h"
#include "tools/cli/options.h"
#include "tools/cli/report.h"

/* ---- The whole file ------------------------------------------------------- */

const char *golden_display_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static bool fail_errno(const struct golden_reader *r, const char *what)
{
    if (errno == EINTR)
        return rmli_fail(r->err, RML_CANCELLED, r->file, -1, "interrupted");
    return rmli_fail(r->err, errno == ENOENT ? RML_NOT_FOUND : RML_IO, r->file, -1, "%s: %s", what,
                     strerror(errno));
}

static bool refuse_size(const struct golden_reader *r)
{
    return rmli_fail(r->err, RML_UNSUPPORTED, r->file, -1,
                     "too large a file found, expected at most %zu MiB",
                     GOLDEN_FILE_MAX_NBYTES >> 20);
}

/* A signal that does not end the program interrupts nothing. */
static int open_patiently(const char *path)
{
    int fd;
    do
        fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR && !cli_interrupted());
    return fd;
}

static ssize_t read_patiently(int fd, char *buffer, size_t nbytes)
{
    ssize_t n;
    do
        n = read(fd, buffer, nbytes);
    while (n < 0 && errno == EINTR && !cli_interrupted());
    return n;
}

static bool read_to_end(const struct golden_reader *r, int fd, char **bytes, size_t *nbytes)
{
    size_t room = 0;
    for (;;) {
        if (*nbytes > GOLDEN_FILE_MAX_NBYTES)
            return refuse_size(r);
        if (*nbytes == room) {
            room = room * 2 + 65536;
            char *bigger = realloc(*bytes, room);
            if (!bigger)
                return rmli_fail(r->err, RML_NO_MEMORY, r->file, -1, "no memory to read it");
            *bytes = bigger;
        }
        ssize_t n = read_patiently(fd, *bytes + *nbytes, room - *nbytes);
        if (n < 0)
            return fail_errno(r, "cannot read");
        if (n == 0)
            return true;
        *nbytes += (size_t)n;
    }
}

/* *bytes is to be freed in any case. */
static bool read_whole(const struct golden_reader *r, const char *path, char **bytes,
                       size_t *nbytes)
{
    int fd = open_patiently(path);
    if (fd < 0)
        return fail_errno(r, "cannot open");
    struct stat st;
    bool known = fstat(fd, &st) == 0, ok;
    if (known && S_ISDIR(st.st_mode))
        ok = rmli_fail(r->err, RML_IO, r->file, -1, "a folder found, expected a file");
    else if (known && S_ISREG(st.st_mode) && st.st_size > (off_t)GOLDEN_FILE_MAX_NBYTES)
        ok = refuse_size(r); /* without reading it */
    else
        ok = read_to_end(r, fd, bytes, nbytes);
    if (fd != STDIN_FILENO)
        close(fd);
    return ok;
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

json_t *golden_load_value(const struct golden_reader *r, const char *path, char sha256[65])
{
    char *bytes = NULL;
    size_t nbytes = 0;
    if (!read_whole(r, path, &bytes, &nbytes)) {
        free(bytes);
        return NULL;
    }
    json_t *root = NULL;
    json_error_t error;
    if (sha256 && !hash(bytes, nbytes, sha256))
        rmli_fail(r->err, RML_INTERNAL, r->file, -1, "SHA-256 is not available");
    else if (!(root = json_loadb(bytes, nbytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error)))
        rmli_fail(r->err, RML_FORMAT, r->file, error.position,
                  "line %d, column %d: %s, expected JSON", error.line, error.column, error.text);
    free(bytes);
    return root;
}

json_t *golden_load_json(const struct golden_reader *r, const char *path, char sha256[65])
{
    json_t *root = golden_load_value(r, path, sha256);
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

static bool get_text(const struct golden_reader *r, const json_t *object, const char *place,
                     const char *key, bool optional, const char *what, size_t max_nbytes,
                     char **out)
{
    json_t *value;
    if (!golden_get(r, object, place, key, JSON_STRING, optional, &value))
        return false;
    if (!value)
        return true;
    char at[GOLDEN_PLACE_NBYTES];
    golden_place(at, place, key);
    const char *text = json_string_value(value);
    const char *fault = golden_name_fault(text, json_string_length(value), max_nbytes);
    if (fault)
        return golden_refuse(r, at, "%s found, expected a %s of at most %zu bytes", fault, what,
                             max_nbytes);
    *out = strdup(text);
    return *out || rmli_fail(r->err, RML_NO_MEMORY, r->file, -1, "no memory");
}

bool golden_get_name(const struct golden_reader *r, const json_t *object, const char *place,
                     const char *key, bool optional, char **out)
{
    return get_text(r, object, place, key, optional, "name", GOLDEN_NAME_NBYTES, out);
}

bool golden_get_path(const struct golden_reader *r, const json_t *object, const char *place,
                     const char *key, bool optional, char **out)
{
    return get_text(r, object, place, key, optional, "path", GOLDEN_PATH_NBYTES, out);
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

static bool is_among(const char *key, const char *known)
{
    size_t n = strlen(key);
    for (const char *p = known; *p; p += strcspn(p, " ")) {
        p += *p == ' ';
        if (strcspn(p, " ") == n && strncmp(p, key, n) == 0)
            return true;
    }
    return false;
}

void golden_warn_unknown(const struct golden_reader *r, const json_t *object, const char *place,
                         const char *known)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!is_among(key, known))
            cli_warn("%s: %s%skey '%.60s' is unknown and ignored", r->file, place,
                     place[0] ? ": " : "", key);
    }
}

bool golden_refuse_unknown(const struct golden_reader *r, const json_t *object, const char *place,
                           const char *known)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!is_among(key, known))
            return golden_refuse(r, place, "key '%.60s' found, expected one of: %s", key, known);
    }
    return true;
}
