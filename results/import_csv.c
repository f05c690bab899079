/*
 * Comma-separated values, RFC 4180: fields may be quoted, then hold commas and line ends, and
 * quotes doubled. Lines end with LF or CR LF. The first record names the columns.
 */
#include "results/import_records.h"

#include <stdlib.h>
#include <string.h>

#include "tools/cli/json_out.h"
#include "tools/cli/report.h"

struct csv {
    struct import *import;
    const char *p, *end;
    int line;
    char *field; /* [import->nbytes + 1], the last one read */
    size_t field_nbytes;
};

/* Reads a field and what ends it: ',' or '\n' (also for the end of the file); 0 on failure. */
static int read_field(struct csv *csv)
{
    const char *start = csv->p;
    int line = csv->line;
    size_t n = 0;
    bool quoted = csv->p < csv->end && *csv->p == '"';
    for (csv->p += quoted; csv->p < csv->end; csv->p++) {
        char c = *csv->p;
        if (quoted && c == '"') {
            if (csv->p + 1 == csv->end || csv->p[1] != '"')
                break;
            csv->p++;
        } else if (!quoted && (c == ',' || c == '\n')) {
            break;
        } else if (!quoted && c == '"') {
            import_fail(csv->import, csv->p - csv->import->data,
                        "line %d: a quote inside a field that is not quoted", csv->line);
            return 0;
        }
        csv->line += c == '\n';
        csv->field[n++] = c;
    }
    if (quoted && csv->p == csv->end) {
        import_fail(csv->import, start - csv->import->data, "line %d: a quote that is not closed",
                    line);
        return 0;
    }
    csv->p += quoted;
    if (!quoted && n > 0 && csv->field[n - 1] == '\r')
        n--;
    else if (quoted && csv->p < csv->end && *csv->p == '\r')
        csv->p++;
    csv->field[n] = 0;
    csv->field_nbytes = n;
    if (csv->p == csv->end)
        return '\n';
    char after = *csv->p++;
    if (after != ',' && after != '\n') {
        import_fail(csv->import, csv->p - 1 - csv->import->data,
                    "line %d: text after a quoted field, expected a comma", csv->line);
        return 0;
    }
    csv->line += after == '\n';
    return after;
}

/* The fields of a record as an array of strings; NULL on failure. */
static json_t *read_record(struct csv *csv)
{
    json_t *fields = json_array();
    int after = ',';
    while (after == ',') {
        after = read_field(csv);
        json_t *text = after ? json_stringn(csv->field, csv->field_nbytes) : NULL;
        if (after && !text)
            import_fail(csv->import, -1, "line %d: a field that is no UTF-8", csv->line);
        if (!text) {
            json_decref(fields);
            return NULL;
        }
        json_array_append_new(fields, text);
    }
    return fields;
}

static json_t *to_object(struct csv *csv, const json_t *names, const json_t *fields, int line)
{
    if (json_array_size(fields) != json_array_size(names)) {
        import_fail(csv->import, -1, "line %d: %zu field%s found, expected %zu as in the header",
                    line, json_array_size(fields), cli_plural(json_array_size(fields)),
                    json_array_size(names));
        return NULL;
    }
    json_t *record = json_object();
    for (size_t i = 0; i < json_array_size(names); i++)
        json_object_set(record, json_string_value(json_array_get(names, i)),
                        json_array_get(fields, i));
    return record;
}

static bool names_differ(struct csv *csv, const json_t *names)
{
    json_t *seen = json_object();
    size_t i;
    json_t *name;
    bool ok = true;
    json_array_foreach(names, i, name)
    {
        if (json_object_get(seen, json_string_value(name)))
            ok = import_fail(csv->import, -1, "line 1: column '%s' is there twice",
                             json_string_value(name));
        json_object_set_new(seen, json_string_value(name), json_true());
    }
    json_decref(seen);
    return ok;
}

static json_t *read_all(struct csv *csv)
{
    json_t *names = read_record(csv), *records = json_array();
    bool ok = names && names_differ(csv, names);
    while (ok && csv->p < csv->end) {
        int line = csv->line;
        if (csv->p[strspn(csv->p, "\r\n")] == 0 && strlen(csv->p) == (size_t)(csv->end - csv->p))
            break; /* empty lines at the end */
        json_t *fields = read_record(csv);
        json_t *record = fields ? to_object(csv, names, fields, line) : NULL;
        ok = record && json_array_append_new(records, record) == 0;
        json_decref(fields);
    }
    json_decref(names);
    if (ok)
        return records;
    json_decref(records);
    return NULL;
}

json_t *import_csv(struct import *import)
{
    struct csv csv = {.import = import,
                      .p = import->data,
                      .end = import->data + import->nbytes,
                      .line = 1,
                      .field = malloc(import->nbytes + 1)};
    if (!csv.field) {
        rmli_fail(import->err, RML_NO_MEMORY, import->path, -1, "no memory to read it");
        return NULL;
    }
    json_t *records = read_all(&csv);
    free(csv.field);
    return records;
}
