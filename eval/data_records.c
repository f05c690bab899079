/*
 * The documents of a task.
 */
#include "eval/data_records.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "eval/python_text.h"
#include "eval/request_key.h"

static bool no_memory(struct rml_error *err)
{
    return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the documents");
}

/* Takes over `object`. */
static bool add(struct data_records *d, json_t *object, size_t line, struct rml_error *err)
{
    if (d->n == d->capacity) {
        size_t capacity = 2 * d->capacity + 64;
        struct data_record *grown = realloc(d->records, capacity * sizeof *grown);
        if (!grown) {
            json_decref(object);
            return no_memory(err);
        }
        d->records = grown;
        d->capacity = capacity;
    }
    d->records[d->n++] =
        (struct data_record){.object = object, .file = d->n_files - 1, .line = line};
    if (!d->fields)
        d->fields = json_object();
    return json_object_update_missing(d->fields, object) == 0 || no_memory(err);
}

static bool add_file(struct data_records *d, const char *name, struct rml_error *err)
{
    char **grown = realloc(d->files, (d->n_files + 1) * sizeof *grown);
    if (!grown)
        return no_memory(err);
    d->files = grown;
    d->files[d->n_files] = strdup(name);
    return d->files[d->n_files++] || no_memory(err);
}

/* ---- An array of objects ---------------------------------------------------------------------- */

struct scan {
    const struct text_file *file;
    size_t at, line;
};

static void skip_space(struct scan *s)
{
    for (; s->at < s->file->nbytes && strchr(" \t\r\n", s->file->data[s->at]); s->at++)
        s->line += s->file->data[s->at] == '\n';
}

static bool take(struct scan *s, char c)
{
    skip_space(s);
    if (s->at >= s->file->nbytes || s->file->data[s->at] != c)
        return false;
    s->at++;
    return true;
}

static bool read_element(struct data_records *d, struct scan *s, struct rml_error *err)
{
    json_error_t why;
    skip_space(s);
    const char *begin = s->file->data + s->at;
    json_t *object =
        json_loadb(begin, s->file->nbytes - s->at,
                   JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &why);
    if (!object)
        return text_fail(s->file, s->line + (why.line > 0 ? (size_t)why.line - 1 : 0), err,
                         "%s, expected an object of an array", why.text);
    size_t line = s->line;
    for (int i = 0; i < why.position; i++)
        s->line += begin[i] == '\n';
    s->at += (size_t)why.position;
    if (json_is_object(object))
        return add(d, object, line, err);
    json_decref(object);
    return text_fail(s->file, line, err, "an array in an array found, expected an object");
}

static bool read_array(struct data_records *d, struct scan *s, struct rml_error *err)
{
    if (take(s, ']'))
        return true;
    do {
        if (!read_element(d, s, err))
            return false;
    } while (take(s, ','));
    if (!take(s, ']'))
        return text_fail(s->file, s->line, err, "no ',' or ']' behind an object found");
    skip_space(s);
    return s->at == s->file->nbytes ||
           text_fail(s->file, s->line, err, "text behind an array found, expected its end");
}

/* ---- Files --------------------------------------------------------------------------------------- */

static bool read_lines(struct data_records *d, const struct text_file *file, struct rml_error *err)
{
    struct text_line line = {0};
    while (text_next_line(file, &line)) {
        if (python_rstrip_nbytes(line.data, line.nbytes) == 0)
            continue;
        json_t *object = text_json_line(file, &line, err);
        if (!object || !add(d, object, line.number, err))
            return false;
    }
    return true;
}

static bool read_file(struct data_records *d, const char *name, char hex[65], struct rml_error *err)
{
    struct text_file file;
    if (!add_file(d, name, err) || !text_file_read(&file, d->files[d->n_files - 1], true, err))
        return false;
    struct scan scan = {.file = &file, .line = 1};
    bool ok = take(&scan, '[') ? read_array(d, &scan, err) : read_lines(d, &file, err);
    ok = ok && eval_sha256(file.data, file.nbytes, hex, err);
    text_file_release(&file);
    return ok;
}

bool data_records_read(struct data_records *records, const char *const *files, size_t n_files,
                       struct rml_error *err)
{
    *records = (struct data_records){0};
    char *hashes = calloc(n_files + 1, 65);
    records->sha256 = calloc(1, 65);
    bool ok = (hashes && records->sha256) || no_memory(err);
    for (size_t i = 0; ok && i < n_files; i++)
        ok = read_file(records, files[i], hashes + 64 * i, err);
    if (ok && n_files == 1)
        memcpy(records->sha256, hashes, 65);
    else if (ok)
        ok = eval_sha256(hashes, 64 * n_files, records->sha256, err);
    if (ok && records->n == 0)
        ok = rmli_fail(err, RML_FORMAT, files[0], -1, "no document found, expected objects");
    free(hashes);
    if (!ok)
        data_records_release(records);
    return ok;
}

bool data_records_from_array(struct data_records *records, const json_t *array, const char *file,
                             size_t line, struct rml_error *err)
{
    *records = (struct data_records){0};
    size_t i;
    json_t *object;
    bool ok = add_file(records, file, err);
    json_array_foreach(array, i, object) ok = ok && add(records, json_incref(object), line, err);
    if (!ok)
        data_records_release(records);
    return ok;
}

void data_records_release(struct data_records *records)
{
    for (size_t i = 0; i < records->n; i++)
        json_decref(records->records[i].object);
    for (size_t i = 0; i < records->n_files; i++)
        free(records->files[i]);
    free(records->records);
    free(records->files);
    free(records->sha256);
    json_decref(records->fields);
    *records = (struct data_records){0};
}

/* ---- Questions -------------------------------------------------------------------------------------- */

bool data_fail(const struct data_records *records, size_t record, struct rml_error *err,
               const char *format, ...)
{
    char message[900];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    const struct data_record *r = &records->records[record];
    return rmli_fail(err, RML_FORMAT, records->files[r->file], -1, "line %zu: %s", r->line,
                     message);
}

bool data_has_field(const struct data_records *records, const char *field)
{
    return json_object_get(records->fields, field);
}
