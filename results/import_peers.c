/*
 * Rows of other engines, as bench/peers writes them; any driver may, the form is this:
 *
 *     {"format": "rml-peers", "version": 1, "unix_s": 1796017000,
 *      "host": {"cpu_model": "EPYC 9354", "n_processors": 2},
 *      "model": {"content_sha256": "b179...", "file": "m.gguf", "bytes": 98, "weight_dtype": "Q4_1"},
 *      "facts": {"llama.cpp.system_info": "AVX2 = 1"},          of the run: texts by name
 *      "rows": [{"suite": "decoder", "name": "checkpoint/decode", "work_version": 1,
 *        "engine": "llama.cpp", "engine_version": "0.3.36", "k_dtype": "f16", "v_dtype": "f16",
 *        "threads": 2, "n_batch": 1, "n_prompt": 0, "n_gen": 16, "n_depth": 512,
 *        "params": {"flash_attention": true}, "status": "ok", "items_per_iter": 1,
 *        "max_abs_error": 0.41, "tolerance": 4,
 *        "samples": [[0, 7, 5120000, 16, 214000000, 420000000], ...]}]}
 *
 * A sample is [is_warmup, order_idx, t_mono_ns, iters, wall_ns, cpu_ns]. Also known of a row:
 * arithmetic, isa, error, bytes_per_iter, flops_per_iter, rss_bytes, kv_bytes, output_sha256.
 * Null and absent are the same: not known. With a tolerance, max_abs_error null says that the
 * error is no finite number. A member that is not known here is refused: a misspelt one would
 * be lost without a word.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/import.h"

#define MAX_COUNT ((int64_t)1 << 53)

/* An object of the file, and what it is called in messages. */
struct object {
    struct import *import;
    const json_t *json;
    char place[64];
};

static bool bad(const struct object *o, const char *name, const char *expected)
{
    return import_fail(o->import, -1, "%s, member %s: %s, expected %s", o->place, name,
                       json_object_get(o->json, name) ? "found another value" : "not found",
                       expected);
}

static bool is_told(const struct object *o, const char *name)
{
    const json_t *value = json_object_get(o->json, name);
    return value && !json_is_null(value);
}

static bool check_names(const struct object *o, const char *const *names)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)o->json, name, value)
    {
        const char *const *known = names;
        while (*known && strcmp(*known, name) != 0)
            known++;
        if (!*known)
            return import_fail(o->import, -1, "%s: member '%.40s' is not known", o->place, name);
    }
    return true;
}

/* A copy that lives as long as the import; NULL when it is not told. */
static bool text(const struct object *o, const char *name, const char **value)
{
    *value = NULL;
    if (!is_told(o, name))
        return true;
    const char *found = json_string_value(json_object_get(o->json, name));
    if (!found || !*found)
        return bad(o, name, "a text that is not empty");
    *value = import_text(o->import, "%s", found);
    return *value != NULL;
}

static bool need_text(const struct object *o, const char *name, const char **value)
{
    return text(o, name, value) && (*value || bad(o, name, "a text"));
}

/* 64 hex digits in lower case, or nothing. */
static bool sha256(const struct object *o, const char *name, const char **value)
{
    return text(o, name, value) &&
           (!*value || (strlen(*value) == 64 && strspn(*value, "0123456789abcdef") == 64) ||
            bad(o, name, "64 hexadecimal digits"));
}

/* -1 when it is not told. */
static bool count(const struct object *o, const char *name, int64_t min, int64_t max,
                  int64_t *value)
{
    const json_t *json = json_object_get(o->json, name);
    *value = -1;
    if (!is_told(o, name))
        return true;
    *value = json_integer_value(json);
    char expected[80];
    snprintf(expected, sizeof expected, "a whole number from %" PRId64 " to %" PRId64, min, max);
    return (json_is_integer(json) && *value >= min && *value <= max) || bad(o, name, expected);
}

/* `absent` when it is not told. */
static bool number(const struct object *o, const char *name, double absent, double *value)
{
    const json_t *json = json_object_get(o->json, name);
    *value = absent;
    if (!is_told(o, name))
        return true;
    *value = json_number_value(json);
    return (json_is_number(json) && *value >= 0) || bad(o, name, "a number of at least 0");
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static bool read_case(const struct object *o, struct store_case *what)
{
    int64_t threads, version;
    const json_t *params = json_object_get(o->json, "params");
    if (!need_text(o, "suite", &what->suite) || !need_text(o, "name", &what->name) ||
        !need_text(o, "engine", &what->engine) || !text(o, "arithmetic", &what->arithmetic) ||
        !text(o, "isa", &what->isa) || !text(o, "k_dtype", &what->k_dtype) ||
        !text(o, "v_dtype", &what->v_dtype) || !count(o, "threads", 1, 100000, &threads) ||
        !count(o, "work_version", 1, INT32_MAX, &version) ||
        !count(o, "n_batch", 1, INT32_MAX, &what->n_batch) ||
        !count(o, "n_prompt", 0, INT32_MAX, &what->n_prompt) ||
        !count(o, "n_gen", 0, INT32_MAX, &what->n_gen) ||
        !count(o, "n_depth", 0, INT32_MAX, &what->n_depth))
        return false;
    if (params && !json_is_object(params))
        return bad(o, "params", "an object");
    what->threads = (int)threads;
    what->work_version = version < 0 ? 1 : (int)version;
    what->weight_dtype = o->import->model.weight_dtype;
    char *dumped = params ? json_dumps(params, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    what->params_json = dumped ? import_text(o->import, "%s", dumped) : NULL;
    free(dumped);
    return !params || what->params_json;
}

static bool read_status(const struct object *o, struct store_result *result)
{
    const char *status;
    if (!need_text(o, "status", &status) || !text(o, "error", &result->error))
        return false;
    int s = STORE_OK;
    while (s <= STORE_UNSTABLE && strcmp(store_status_name((enum store_status)s), status) != 0)
        s++;
    if (s > STORE_UNSTABLE)
        return bad(o, "status", "ok, unstable, error or skipped");
    result->status = (enum store_status)s;
    bool fails = s == STORE_ERROR || s == STORE_SKIPPED;
    if (fails != (result->error != NULL))
        return bad(o, "error", fails ? "the reason of the status" : "none with this status");
    return true;
}

static bool read_figures(const struct object *o, struct store_result *result)
{
    const char *error = "max_abs_error";
    if (!text(o, "engine_version", &result->engine_version) ||
        !sha256(o, "output_sha256", &result->output_sha256) ||
        !number(o, "items_per_iter", -1, &result->items_per_iter) ||
        !number(o, "bytes_per_iter", -1, &result->bytes_per_iter) ||
        !number(o, "flops_per_iter", -1, &result->flops_per_iter) ||
        !count(o, "rss_bytes", 0, MAX_COUNT, &result->rss_bytes) ||
        !count(o, "kv_bytes", 0, MAX_COUNT, &result->kv_bytes) ||
        !number(o, "tolerance", 0, &result->tolerance) ||
        !number(o, error, NAN, &result->max_abs_error))
        return false;
    if (is_told(o, error) && result->tolerance <= 0)
        return bad(o, "tolerance", "more than 0 beside max_abs_error");
    return true;
}

static bool add_sample(const struct object *o, struct import_row *row, size_t i, const json_t *json)
{
    enum { IS_WARMUP, ORDER, T_MONO, ITERS, WALL, CPU, N_MEMBERS };
    json_int_t value[N_MEMBERS];
    char place[96];
    snprintf(place, sizeof place, "%s.samples[%zu]", o->place, i);
    bool ok = json_array_size(json) == N_MEMBERS;
    for (size_t m = 0; ok && m < N_MEMBERS; m++) {
        ok = json_is_integer(json_array_get(json, m));
        value[m] = json_integer_value(json_array_get(json, m));
    }
    if (!ok || value[ORDER] < 0 || value[ORDER] > INT32_MAX || value[T_MONO] < 0 ||
        value[ITERS] < 1 || value[CPU] < -1 || value[IS_WARMUP] < 0 || value[IS_WARMUP] > 1)
        return import_fail(o->import, -1,
                           "%s: expected [is_warmup, order_idx, t_mono_ns, iters, wall_ns, "
                           "cpu_ns], whole numbers",
                           place);
    if (!import_check_ns(o->import, place, (double)value[WALL]) ||
        !import_add_sample(o->import, row, value[ITERS], value[WALL], value[CPU]))
        return false;
    struct store_sample *sample = &row->samples[row->n_samples - 1];
    sample->is_warmup = value[IS_WARMUP];
    sample->order_idx = (int)value[ORDER];
    sample->t_mono_ns = value[T_MONO];
    if (sample->is_warmup)
        row->result.warmup_iters += value[ITERS];
    return true;
}

static bool read_samples(const struct object *o, struct import_row *row)
{
    const json_t *samples = json_object_get(o->json, "samples"), *sample;
    size_t i, n_measured = 0;
    if (samples && !json_is_array(samples))
        return bad(o, "samples", "an array");
    json_array_foreach(samples, i, sample)
    {
        if (!add_sample(o, row, i, sample))
            return false;
        n_measured += !row->samples[i].is_warmup;
    }
    bool measured = row->result.status == STORE_OK || row->result.status == STORE_UNSTABLE;
    if (measured && n_measured == 0)
        return bad(o, "samples", "at least one that is no warm-up with this status");
    if (measured && row->result.items_per_iter <= 0)
        return bad(o, "items_per_iter", "more than 0 with this status");
    return true;
}

static bool read_row(const struct object *o)
{
    static const char *const names[] = {
        "suite",          "name",     "work_version",   "engine",    "engine_version",
        "arithmetic",     "isa",      "k_dtype",        "v_dtype",   "threads",
        "n_batch",        "n_prompt", "n_gen",          "n_depth",   "params",
        "status",         "error",    "items_per_iter", "rss_bytes", "bytes_per_iter",
        "flops_per_iter", "kv_bytes", "output_sha256",  "tolerance", "max_abs_error",
        "samples",        NULL};
    struct import_row *row = check_names(o, names) ? import_add_row(o->import, "") : NULL;
    return row && read_case(o, &row->what) && read_status(o, &row->result) &&
           read_figures(o, &row->result) && read_samples(o, row);
}

/* ---- The file --------------------------------------------------------------------------------- */

static bool is_ours(struct import *import, const json_t *document)
{
    const char *format = json_string_value(json_object_get(document, "format"));
    const json_t *version = json_object_get(document, "version");
    if (!format || strcmp(format, "rml-peers") != 0)
        return import_fail(import, -1, "no member format with the value rml-peers");
    return (json_is_integer(version) && json_integer_value(version) == 1) ||
           import_fail(import, -1, "another version of the form, expected 1");
}

static bool read_model(struct import *import, const json_t *json)
{
    static const char *const names[] = {"content_sha256", "file", "bytes", "weight_dtype", NULL};
    const struct object o = {import, json, "model"};
    struct import_model *m = &import->model;
    return json_is_object(json)
               ? check_names(&o, names) && sha256(&o, "content_sha256", &m->content_sha256) &&
                     text(&o, "file", &m->file_name) &&
                     count(&o, "bytes", 0, MAX_COUNT, &m->file_nbytes) &&
                     text(&o, "weight_dtype", &m->weight_dtype)
               : import_fail(import, -1, "member model: an object was expected");
}

/* The machine it was measured on, for an import on another one. */
static bool read_host(struct import *import, const json_t *json)
{
    static const char *const names[] = {"cpu_model", "n_processors", NULL};
    const struct object o = {import, json, "host"};
    return json_is_object(json)
               ? check_names(&o, names) && text(&o, "cpu_model", &import->cpu_model) &&
                     count(&o, "n_processors", 1, 100000, &import->cores)
               : import_fail(import, -1, "member host: an object was expected");
}

static bool read_facts(struct import *import, const json_t *facts)
{
    const char *key;
    json_t *value;
    if (facts && !json_is_object(facts))
        return import_fail(import, -1, "member facts: an object was expected");
    json_object_foreach((json_t *)facts, key, value)
    {
        if (!json_is_string(value))
            return import_fail(import, -1, "facts, member %.40s: a text was expected", key);
        if (!import_add_fact(import, key, json_string_value(value)))
            return false;
    }
    return true;
}

static bool read_document(struct import *import, const json_t *document)
{
    static const char *const names[] = {"format", "version", "unix_s", "host",
                                        "model",  "facts",   "rows",   NULL};
    const struct object top = {import, document, "the file"};
    const json_t *rows = json_object_get(document, "rows"), *row;
    size_t i;
    int64_t unix_s;
    import->model.file_nbytes = -1;
    import->is_ordered = true;
    if (!is_ours(import, document) || !check_names(&top, names) ||
        !count(&top, "unix_s", 0, 9000000000, &unix_s) ||
        !read_facts(import, json_object_get(document, "facts")) ||
        (is_told(&top, "host") && !read_host(import, json_object_get(document, "host"))) ||
        (is_told(&top, "model") && !read_model(import, json_object_get(document, "model"))))
        return false;
    if (unix_s >= 0)
        import->measured_ns = unix_s * 1000000000;
    if (json_array_size(rows) == 0)
        return bad(&top, "rows", "an array of at least one row");
    json_array_foreach(rows, i, row)
    {
        struct object o = {import, row, ""};
        snprintf(o.place, sizeof o.place, "rows[%zu]", i);
        if (!json_is_object(row))
            return import_fail(import, -1, "%s: an object was expected", o.place);
        if (!read_row(&o))
            return false;
    }
    return true;
}

bool import_peers(struct import *import)
{
    json_t *document = import_json(import);
    bool ok = document && read_document(import, document);
    json_decref(document);
    return ok;
}
