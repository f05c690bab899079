/*
 * llama-bench of llama.cpp: a record a test.
 *
 * JSON and JSON Lines hold the time of each repetition (samples_ns). CSV and SQL hold their
 * mean and standard deviation only: the mean becomes the one sample, which has no interval,
 * and both are kept as counters. A repetition processes n_prompt + n_gen tokens; its time
 * leaves out what fills the cache up to n_depth.
 *
 * Whatever else stands in a record is a setting, and part of the case's identity in params_json,
 * as text, so that all four forms of one test give the same case.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "results/import_records.h"
#include "results/query_json.h"
#include "tools/cli/parse.h"

/* Columns that have a place of their own, and do not tell tests apart. */
static const char *const own_columns[] = {"build_commit",   "build_number", "cpu_info", "gpu_info",
                                          "model_filename", "n_threads",    "type_k",   "type_v",
                                          "n_prompt",       "n_gen",        "n_depth",  "test_time",
                                          "avg_ns",         "stddev_ns",    "avg_ts",   "stddev_ts",
                                          "samples_ns",     "samples_ts",   NULL};

struct record {
    struct import *import;
    const json_t *json;
    size_t number; /* from 1 */
};

static bool bad(const struct record *r, const char *column, const char *what)
{
    const json_t *value = json_object_get(r->json, column);
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    import_fail(r->import, -1, "record %zu, column %s: %.80s found, expected %s", r->number, column,
                text ? text : "nothing", what);
    free(text);
    return false;
}

/* The text of a column, NULL when it is absent, null or no text. */
static const char *text_of(const struct record *r, const char *column)
{
    return json_string_value(json_object_get(r->json, column));
}

/* A whole number, as such or as its digits. */
static bool whole(const struct record *r, const char *column, int64_t *value)
{
    const json_t *json = json_object_get(r->json, column);
    uint64_t parsed;
    if (json_is_integer(json) && json_integer_value(json) >= 0)
        *value = json_integer_value(json);
    else if (json_is_string(json) && cli_parse_u64(json_string_value(json), 0, INT64_MAX, &parsed))
        *value = (int64_t)parsed;
    else
        return bad(r, column, "a whole number of at least 0");
    return true;
}

/* A finite number of at least 0. */
static bool number(const struct record *r, const char *column, double *value)
{
    const json_t *json = json_object_get(r->json, column);
    if (json_is_number(json) && json_number_value(json) >= 0)
        *value = json_number_value(json);
    else if (!json_is_string(json) || !cli_parse_f64(json_string_value(json), 0, 1e300, value))
        return bad(r, column, "a finite number of at least 0");
    return true;
}

static bool has(const struct record *r, const char *column)
{
    return json_object_get(r->json, column) && !json_is_null(json_object_get(r->json, column));
}

static bool check_columns(const struct record *r)
{
    static const char *const required[] = {"model_type", "n_threads", "n_prompt",
                                           "n_gen",      "avg_ns",    NULL};
    for (const char *const *column = required; *column; column++)
        if (!has(r, *column))
            return import_fail(r->import, -1,
                               "record %zu: no column %s found; llama-bench writes model_type, "
                               "n_threads, n_prompt, n_gen and avg_ns",
                               r->number, *column);
    return true;
}

/* ---- Identity ------------------------------------------------------------------------------ */

static bool is_own(const char *column)
{
    const char *const *own = own_columns;
    while (*own && strcmp(*own, column) != 0)
        own++;
    return *own != NULL;
}

/* The same text for the same setting in every form: CSV and SQL write true as 1. */
static json_t *as_text(const json_t *value)
{
    if (json_is_string(value))
        return json_string(json_string_value(value));
    if (json_is_boolean(value))
        return json_string(json_is_true(value) ? "1" : "0");
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    json_t *string = json_string(text ? text : "");
    free(text);
    return string;
}

static const char *settings_of(const struct record *r)
{
    json_t *settings = json_object();
    const char *column, *file = text_of(r, "model_filename");
    json_t *value;
    json_object_foreach((json_t *)r->json, column, value) if (!is_own(column))
        json_object_set_new(settings, column, as_text(value));
    if (file) {
        const char *slash = strrchr(file, '/');
        json_object_set_new(settings, "model_filename", json_string(slash ? slash + 1 : file));
    }
    char *text = json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS);
    const char *kept = import_text(r->import, "%s", text ? text : "{}");
    free(text);
    json_decref(settings);
    return kept;
}

/* "Q4_K" of "llama 8B Q4_K - Medium": family, size, type. */
static const char *weight_dtype_of(const struct record *r)
{
    const char *type = text_of(r, "model_type");
    for (int word = 0; type && word < 2; word++) {
        type = strchr(type, ' ');
        type = type ? type + 1 : NULL;
    }
    if (type && strncmp(type, "mostly ", 7) == 0)
        type += 7;
    return type && *type ? import_text(r->import, "%.*s", (int)strcspn(type, " "), type) : NULL;
}

/* As llama-bench itself names tests: pp512, tg128, pp512+tg128. */
static const char *name_of(struct import *import, int64_t n_prompt, int64_t n_gen)
{
    if (n_gen == 0)
        return import_text(import, "pp%" PRId64, n_prompt);
    if (n_prompt == 0)
        return import_text(import, "tg%" PRId64, n_gen);
    return import_text(import, "pp%" PRId64 "+tg%" PRId64, n_prompt, n_gen);
}

static const char *version_of(const struct record *r)
{
    const char *commit = text_of(r, "build_commit");
    int64_t build;
    if (!commit)
        return NULL;
    if (has(r, "build_number") && whole(r, "build_number", &build))
        return import_text(r->import, "%s (%" PRId64 ")", commit, build);
    return import_text(r->import, "%s", commit);
}

static bool fill_case(const struct record *r, struct store_case *what)
{
    int64_t threads, n_depth = 0;
    if (!whole(r, "n_threads", &threads) || !whole(r, "n_prompt", &what->n_prompt) ||
        !whole(r, "n_gen", &what->n_gen) || (has(r, "n_depth") && !whole(r, "n_depth", &n_depth)))
        return false;
    if (threads < 1 || threads > 100000)
        return bad(r, "n_threads", "a number from 1 to 100000");
    if (what->n_prompt > INT32_MAX || what->n_gen > INT32_MAX || what->n_prompt + what->n_gen == 0)
        return bad(r, "n_prompt", "n_prompt + n_gen of at least 1, and no more than a context");
    what->threads = (int)threads;
    what->n_depth = n_depth;
    what->n_batch = 1;
    what->engine = "llama.cpp";
    what->name = name_of(r->import, what->n_prompt, what->n_gen);
    what->k_dtype = text_of(r, "type_k");
    what->v_dtype = text_of(r, "type_v");
    if (what->k_dtype)
        what->k_dtype = import_text(r->import, "%s", what->k_dtype);
    if (what->v_dtype)
        what->v_dtype = import_text(r->import, "%s", what->v_dtype);
    what->weight_dtype = weight_dtype_of(r);
    what->params_json = settings_of(r);
    return what->name && what->params_json;
}

/* ---- Times ---------------------------------------------------------------------------------- */

static bool add_samples(const struct record *r, struct import_row *row, double avg_ns)
{
    const json_t *samples = json_object_get(r->json, "samples_ns"), *sample;
    size_t i;
    double sum = 0;
    if (!samples)
        return import_add_sample(r->import, row, 1, llround(avg_ns), -1);
    if (json_array_size(samples) == 0)
        return bad(r, "samples_ns", "an array of at least one number");
    json_array_foreach(samples, i, sample)
    {
        char place[64];
        snprintf(place, sizeof place, "record %zu, samples_ns[%zu]", r->number, i);
        if (!json_is_integer(sample))
            return import_fail(r->import, -1, "%s: no whole number", place);
        if (!import_check_ns(r->import, place, json_number_value(sample)) ||
            !import_add_sample(r->import, row, 1, json_integer_value(sample), -1))
            return false;
        sum += json_number_value(sample);
    }
    double mean = sum / (double)json_array_size(samples);
    return fabs(mean - avg_ns) <= 1 + 1e-6 * mean ||
           import_fail(r->import, -1,
                       "record %zu: avg_ns is %.0f, but the mean of samples_ns is %.0f", r->number,
                       avg_ns, mean);
}

static bool add_times(const struct record *r, struct import_row *row)
{
    static const char *const figures[] = {"avg_ns", "stddev_ns", "avg_ts", "stddev_ts", NULL};
    char place[64];
    double avg_ns;
    snprintf(place, sizeof place, "record %zu, column avg_ns", r->number);
    if (!number(r, "avg_ns", &avg_ns) || !import_check_ns(r->import, place, avg_ns))
        return false;
    for (const char *const *figure = figures; *figure; figure++) {
        double value;
        if (has(r, *figure) &&
            (!number(r, *figure, &value) || !import_add_figure(r->import, row, 0, *figure, value)))
            return false;
    }
    return add_samples(r, row, avg_ns);
}

/* "2026-11-30T05:15:10Z"; the first of the file is when the run was. */
static bool note_time(const struct record *r)
{
    const char *text = text_of(r, "test_time");
    if (!text)
        return true;
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    if (!end || *end)
        return bad(r, "test_time", "a time such as 2026-11-30T05:15:10Z");
    int64_t ns = (int64_t)timegm(&tm) * 1000000000;
    if (r->import->measured_ns < 0 || ns < r->import->measured_ns)
        r->import->measured_ns = ns;
    return true;
}

/* A run has one machine. */
static bool note_machine(const struct record *r)
{
    struct import *import = r->import;
    const char *cpu = text_of(r, "cpu_info"), *gpu = text_of(r, "gpu_info");
    if (cpu && import->cpu_model && strcmp(cpu, import->cpu_model) != 0)
        return bad(r, "cpu_info", "the same processor in every record");
    if (cpu && !import->cpu_model)
        import->cpu_model = import_text(import, "%s", cpu);
    return !gpu || !*gpu || import_add_fact(import, "gpu_info", gpu);
}

bool import_llama_bench(struct import *import)
{
    json_t *records = import_records(import), *json;
    bool ok = records != NULL;
    size_t i;
    json_array_foreach(records, i, json)
    {
        struct record r = {import, json, i + 1};
        struct import_row *row =
            ok && check_columns(&r) ? import_add_row(import, "llama-bench") : NULL;
        ok = row && fill_case(&r, &row->what) && add_times(&r, row) && note_time(&r) &&
             note_machine(&r);
        if (!ok)
            break;
        row->result.engine_version = version_of(&r);
        row->result.items_per_iter = (double)(row->what.n_prompt + row->what.n_gen);
    }
    json_decref(records);
    return ok;
}
