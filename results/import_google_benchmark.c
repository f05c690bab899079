/*
 * Google Benchmark, JSON (--benchmark_format=json or --benchmark_out): a document with
 * `context` and `benchmarks`.
 *
 * The repetitions of a benchmark are the samples of one result: a repetition's time is that of
 * one iteration, of `iterations`. A file of aggregates only has the median of the repetitions,
 * which then is the one sample; mean and deviation are kept as counters. Where there are
 * repetitions, aggregates say nothing more and are left out.
 *
 * Rates are per second of processor time, unless the name says real_time or manual_time
 * (user guide, "CPU Timers"); bytes and items of an iteration follow.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "results/import.h"
#include "results/query_json.h"
#include "results/result_rows.h"

/* An aggregate's time is that of an iteration, often less than 1 ns: it is stored as that of
 * a million, in whole ns. */
#define AGGREGATE_ITERS 1000000

static const char *const known_members[] = {"name",
                                            "family_index",
                                            "per_family_instance_index",
                                            "run_name",
                                            "run_type",
                                            "repetitions",
                                            "repetition_index",
                                            "threads",
                                            "iterations",
                                            "real_time",
                                            "cpu_time",
                                            "time_unit",
                                            "aggregate_name",
                                            "aggregate_unit",
                                            "error_occurred",
                                            "error_message",
                                            "label",
                                            NULL};

static bool is_known(const char *member)
{
    const char *const *known = known_members;
    while (*known && strcmp(*known, member) != 0)
        known++;
    return *known != NULL;
}

/* ---- One entry --------------------------------------------------------------------------- */

static bool bad(struct import *import, size_t i, const char *member, const char *expected)
{
    return import_fail(import, -1, "benchmarks[%zu]: member %s, expected %s", i, member, expected);
}

static double unit_ns(const char *unit)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    for (size_t u = 0; unit && u < sizeof units / sizeof units[0]; u++)
        if (strcmp(units[u].name, unit) == 0)
            return units[u].ns;
    return NAN;
}

static bool is_aggregate(const json_t *entry)
{
    const char *type = row_text(entry, "run_type");
    return type && strcmp(type, "aggregate") == 0;
}

static bool is_error(const json_t *entry)
{
    return json_is_true(json_object_get(entry, "error_occurred"));
}

/* Older files name an entry only by `name`. */
static const char *run_name(const json_t *entry)
{
    const char *name = row_text(entry, "run_name");
    return name ? name : row_text(entry, "name");
}

static struct import_row *find_row(struct import *import, const char *name)
{
    for (size_t i = 0; i < import->n_rows; i++)
        if (strcmp(import->rows[i].what.name, name) == 0)
            return &import->rows[i];
    return NULL;
}

static struct import_row *row_of(struct import *import, const json_t *entry, size_t i,
                                 const char *engine)
{
    const char *name = run_name(entry);
    if (!name) {
        bad(import, i, "name", "a string");
        return NULL;
    }
    struct import_row *row = find_row(import, name);
    if (row)
        return row;
    row = import_add_row(import, "google-benchmark");
    if (!row)
        return NULL;
    const json_t *threads = json_object_get(entry, "threads");
    if (json_is_integer(threads) && json_integer_value(threads) > 0 &&
        json_integer_value(threads) < 100000)
        row->what.threads = (int)json_integer_value(threads);
    row->what.engine = engine;
    row->what.name = import_text(import, "%s", name);
    row->result.items_per_iter = 1;
    const char *label = row_text(entry, "label");
    return row->what.name && (!label || import_add_fact(
                                            import, import_text(import, "label: %s", name), label))
               ? row
               : NULL;
}

/* ---- Times and rates ------------------------------------------------------------------------ */

static bool add_rates(const json_t *entry, struct import_row *row, double real_s, double cpu_s)
{
    const char *name = row->what.name;
    bool by_real = strstr(name, "/real_time") || strstr(name, "/manual_time");
    double seconds = by_real ? real_s : cpu_s;
    double bytes = row_real(entry, "bytes_per_second") * seconds;
    double items = row_real(entry, "items_per_second") * seconds;
    if (bytes > 0)
        row->result.bytes_per_iter = bytes;
    if (items > 0)
        row->result.items_per_iter = items;
    return true;
}

static bool add_counters(struct import *import, const json_t *entry, struct import_row *row,
                         int rep)
{
    const char *member;
    json_t *value;
    json_object_foreach((json_t *)entry, member, value)
    {
        const char *metric =
            json_is_number(value) && !is_known(member) ? import_text(import, "%s", member) : NULL;
        if (metric && !import_add_figure(import, row, rep, metric, json_number_value(value)))
            return false;
    }
    return true;
}

/* real_time and cpu_time in ns an iteration. */
static bool read_times(struct import *import, const json_t *entry, size_t i, double *real_ns,
                       double *cpu_ns)
{
    double unit = unit_ns(row_text(entry, "time_unit"));
    char place[64];
    if (isnan(unit))
        return bad(import, i, "time_unit", "ns, us, ms or s");
    *real_ns = row_real(entry, "real_time") * unit;
    *cpu_ns = row_real(entry, "cpu_time") * unit;
    if (isnan(*real_ns))
        return bad(import, i, "real_time", "a number");
    snprintf(place, sizeof place, "benchmarks[%zu].real_time", i);
    return import_check_ns(import, place, *real_ns);
}

static bool add_repetition(struct import *import, const json_t *entry, size_t i,
                           struct import_row *row)
{
    const json_t *iterations = json_object_get(entry, "iterations");
    double real_ns = NAN, cpu_ns = NAN;
    char place[64];
    if (!json_is_integer(iterations) || json_integer_value(iterations) < 1)
        return bad(import, i, "iterations", "a whole number of at least 1");
    if (!read_times(import, entry, i, &real_ns, &cpu_ns))
        return false;
    int64_t iters = json_integer_value(iterations);
    double wall_ns = real_ns * (double)iters;
    snprintf(place, sizeof place, "benchmarks[%zu], real_time x iterations", i);
    return import_check_ns(import, place, wall_ns) &&
           import_add_sample(import, row, iters, llround(fmax(wall_ns, 1)),
                             cpu_ns >= 0 && cpu_ns < 1e17 / (double)iters
                                 ? llround(cpu_ns * (double)iters)
                                 : -1) &&
           add_rates(entry, row, real_ns / 1e9, cpu_ns / 1e9) &&
           add_counters(import, entry, row, (int)row->n_samples - 1);
}

/* mean, median, stddev and the like: figures of the row; the median is its sample. */
static bool add_aggregate(struct import *import, const json_t *entry, size_t i,
                          struct import_row *row)
{
    const char *name = row_text(entry, "aggregate_name"), *unit = row_text(entry, "aggregate_unit");
    double factor = unit_ns(row_text(entry, "time_unit"));
    if (!name)
        return bad(import, i, "aggregate_name", "a string");
    bool is_ratio = (unit && strcmp(unit, "percentage") == 0) || strcmp(name, "cv") == 0;
    double real = row_real(entry, "real_time");
    if (isnan(real))
        return true; /* of a complexity (BigO, RMS), which has no time */
    const char *metric = import_text(import, is_ratio ? "%s" : "%s_ns", name);
    if (!metric || !import_add_figure(import, row, 0, metric, is_ratio ? real : real * factor))
        return metric != NULL;
    if (strcmp(name, "median") != 0)
        return true;
    double real_ns = NAN, cpu_ns = NAN;
    return read_times(import, entry, i, &real_ns, &cpu_ns) &&
           import_add_sample(import, row, AGGREGATE_ITERS,
                             llround(fmax(real_ns * AGGREGATE_ITERS, 1)), -1) &&
           add_rates(entry, row, real_ns / 1e9, cpu_ns / 1e9);
}

static bool add_error(struct import *import, const json_t *entry, struct import_row *row)
{
    const char *message = row_text(entry, "error_message");
    row->result.status = STORE_ERROR;
    row->result.error = import_text(import, "%s", message ? message : "it says no more");
    return row->result.error != NULL;
}

/* ---- Document ------------------------------------------------------------------------------- */

static bool has_repetitions(const json_t *benchmarks, const char *name)
{
    size_t i;
    const json_t *entry;
    json_array_foreach(benchmarks, i, entry) if (!is_aggregate(entry) && run_name(entry) && name &&
                                                 strcmp(run_name(entry), name) == 0) return true;
    return false;
}

static bool add_entry(struct import *import, const json_t *benchmarks, size_t i, const char *engine)
{
    const json_t *entry = json_array_get(benchmarks, i);
    if (!json_is_object(entry))
        return import_fail(import, -1, "benchmarks[%zu] is no JSON object", i);
    if (is_aggregate(entry) && has_repetitions(benchmarks, run_name(entry)))
        return true;
    struct import_row *row = row_of(import, entry, i, engine);
    if (!row)
        return false;
    if (is_error(entry))
        return add_error(import, entry, row);
    return is_aggregate(entry) ? add_aggregate(import, entry, i, row)
                               : add_repetition(import, entry, i, row);
}

/* "2026-11-30T05:32:52+00:00" */
static void note_time(struct import *import, const char *date)
{
    struct tm tm = {0};
    const char *end = date ? strptime(date, "%Y-%m-%dT%H:%M:%S%z", &tm) : NULL;
    long offset_s = tm.tm_gmtoff; /* timegm sets it to 0 */
    if (end && !*end)
        import->measured_ns = ((int64_t)timegm(&tm) - offset_s) * 1000000000;
}

static bool read_context(struct import *import, const json_t *context, const char **engine)
{
    const char *member, *executable = row_text(context, "executable");
    json_t *value;
    const char *slash = executable ? strrchr(executable, '/') : NULL;
    *engine = import_text(import, "%s",
                          slash && slash[1] ? slash + 1
                          : executable      ? executable
                                            : "unknown");
    const char *host = row_text(context, "host_name");
    import->hostname = host ? import_text(import, "%s", host) : NULL;
    import->cores = json_is_integer(json_object_get(context, "num_cpus"))
                        ? json_integer_value(json_object_get(context, "num_cpus"))
                        : -1;
    note_time(import, row_text(context, "date"));
    json_object_foreach((json_t *)context, member, value)
    {
        char *text = json_is_string(value) ? strdup(json_string_value(value))
                                           : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        bool ok = text && import_add_fact(import, member, text);
        free(text);
        if (!ok)
            return false;
    }
    return *engine != NULL;
}

bool import_google_benchmark(struct import *import)
{
    json_t *document = import_json(import);
    if (!document)
        return false;
    const json_t *context = json_object_get(document, "context");
    const json_t *benchmarks = json_object_get(document, "benchmarks");
    const char *engine;
    bool ok = json_is_object(context) && json_is_array(benchmarks);
    if (!ok)
        import_fail(import, -1,
                    "no members context and benchmarks found, expected the JSON of "
                    "Google Benchmark");
    ok = ok && read_context(import, context, &engine);
    for (size_t i = 0; ok && i < json_array_size(benchmarks); i++)
        ok = add_entry(import, benchmarks, i, engine);
    json_decref(document);
    for (size_t i = 0; ok && i < import->n_rows; i++)
        if (import->rows[i].n_samples == 0 && import->rows[i].result.status == STORE_OK)
            ok = import_fail(import, -1, "%s has neither repetitions nor a median",
                             import->rows[i].what.name);
    return ok && (import->n_rows > 0 ||
                  import_fail(import, -1, "no benchmark found, expected at least one"));
}
