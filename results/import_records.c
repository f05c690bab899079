#include "results/import_records.h"

#include <string.h>
#include <strings.h>

static json_t *json_lines(struct import *import)
{
    json_t *records = json_array();
    int n = 1;
    for (const char *line = import->data, *end = line + import->nbytes; line < end; n++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t nbytes = (size_t)((newline ? newline : end) - line);
        size_t n_blanks = strspn(line, " \t\r");
        if (n_blanks < nbytes) {
            json_error_t error;
            json_t *record = json_loadb(line, nbytes, JSON_REJECT_DUPLICATES, &error);
            if (!json_is_object(record)) {
                import_fail(import, line - import->data, "line %d: %s, expected a JSON object", n,
                            record ? "another value" : error.text);
                json_decref(record);
                json_decref(records);
                return NULL;
            }
            json_array_append_new(records, record);
        }
        line += nbytes + 1;
    }
    return records;
}

static json_t *json_document(struct import *import)
{
    json_t *records = import_json(import), *record;
    size_t i;
    if (records && !json_is_array(records))
        import_fail(import, 0, "a JSON array was expected");
    json_array_foreach(records, i, record) if (!json_is_object(record))
    {
        import_fail(import, -1, "record %zu is no JSON object", i + 1);
        json_decref(records);
        return NULL;
    }
    if (json_is_array(records))
        return records;
    json_decref(records);
    return NULL;
}

static bool starts_with(const char *text, const char *word)
{
    return strncasecmp(text, word, strlen(word)) == 0;
}

json_t *import_records(struct import *import)
{
    const char *start = import->data + strspn(import->data, " \t\r\n");
    json_t *records = NULL;
    if (*start == '[')
        records = json_document(import);
    else if (*start == '{')
        records = json_lines(import);
    else if (starts_with(start, "CREATE TABLE") || starts_with(start, "INSERT INTO"))
        records = import_sql(import);
    else if (*start == '|')
        import_fail(import, start - import->data,
                    "a Markdown table found, whose numbers are rounded, expected JSON, JSON "
                    "Lines, CSV or SQL (-o json, jsonl, csv, sql)");
    else if (*start && memchr(start, ',', strcspn(start, "\n")))
        records = import_csv(import);
    else
        import_fail(import, start - import->data,
                    *start ? "neither JSON, JSON Lines, CSV nor SQL" : "the file is empty");
    if (records && json_array_size(records) == 0) {
        import_fail(import, -1, "no record found, expected at least one");
        json_decref(records);
        return NULL;
    }
    return records;
}
