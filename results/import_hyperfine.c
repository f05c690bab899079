/*
 * hyperfine, JSON (--export-json): {"results": [{"command", "times": [s, ...], "exit_codes",
 * "user", "system", "parameters", ...}]}. Each command is a result, each of its times a
 * sample. A command that failed in any run (hyperfine -i) is a result of status `error`.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "results/import.h"
#include "results/result_rows.h"

static bool add_times(struct import *import, const json_t *entry, size_t i, struct import_row *row)
{
    const json_t *times = json_object_get(entry, "times"), *time;
    size_t t;
    if (json_array_size(times) == 0)
        return import_fail(import, -1, "results[%zu]: no array `times` with at least one number",
                           i);
    json_array_foreach(times, t, time)
    {
        char place[64];
        snprintf(place, sizeof place, "results[%zu].times[%zu]", i, t);
        if (!json_is_number(time))
            return import_fail(import, -1, "%s: no number", place);
        double ns = json_number_value(time) * 1e9;
        if (!import_check_ns(import, place, ns) ||
            !import_add_sample(import, row, 1, llround(fmax(ns, 1)), -1))
            return false;
    }
    return true;
}

/* Means over the runs, in seconds. */
static bool add_figures(struct import *import, const json_t *entry, struct import_row *row)
{
    static const struct {
        const char *member, *metric;
    } figures[] = {
        {"user", "user_s"}, {"system", "system_s"}, {"mean", "mean_s"}, {"stddev", "stddev_s"}};
    for (size_t f = 0; f < sizeof figures / sizeof figures[0]; f++) {
        double value = row_real(entry, figures[f].member);
        if (!isnan(value) && !import_add_figure(import, row, 0, figures[f].metric, value))
            return false;
    }
    return true;
}

/* A code is null for a run that a signal ended. */
static bool note_failures(struct import *import, const json_t *entry, struct import_row *row)
{
    const json_t *codes = json_object_get(entry, "exit_codes"), *code;
    size_t i;
    json_array_foreach(codes, i, code)
    {
        if (json_is_integer(code) && json_integer_value(code) == 0)
            continue;
        row->result.status = STORE_ERROR;
        row->result.error = json_is_integer(code)
                                ? import_text(import, "exit code %lld in run %zu",
                                              (long long)json_integer_value(code), i + 1)
                                : import_text(import, "ended by a signal in run %zu", i + 1);
        return row->result.error != NULL;
    }
    return true;
}

/* The most of any run, where it is told. */
static void note_memory(const json_t *entry, struct import_row *row)
{
    const json_t *sizes = json_object_get(entry, "memory_usage_byte"), *size;
    size_t i;
    json_array_foreach(sizes, i, size) if (json_is_integer(size) &&
                                           json_integer_value(size) > row->result.rss_bytes)
        row->result.rss_bytes = json_integer_value(size);
}

static bool add_entry(struct import *import, const json_t *entry, size_t i)
{
    const char *command = row_text(entry, "command");
    if (!command)
        return import_fail(import, -1, "results[%zu]: no text `command` found", i);
    struct import_row *row = import_add_row(import, "hyperfine");
    if (!row)
        return false;
    const json_t *parameters = json_object_get(entry, "parameters");
    char *params =
        parameters ? json_dumps(parameters, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY) : NULL;
    row->what.params_json = params ? import_text(import, "%s", params) : NULL;
    free(params);
    row->what.name = import_text(import, "%s", command);
    row->what.engine = "command";
    row->result.items_per_iter = 1;
    note_memory(entry, row);
    return row->what.name && add_times(import, entry, i, row) && add_figures(import, entry, row) &&
           note_failures(import, entry, row);
}

bool import_hyperfine(struct import *import)
{
    json_t *document = import_json(import);
    if (!document)
        return false;
    const json_t *results = json_object_get(document, "results");
    bool ok = json_is_array(results) && json_array_size(results) > 0;
    if (!ok)
        import_fail(import, -1,
                    "no member results with at least one entry found, expected the "
                    "JSON of hyperfine");
    for (size_t i = 0; ok && i < json_array_size(results); i++)
        ok = add_entry(import, json_array_get(results, i), i);
    json_decref(document);
    return ok;
}
