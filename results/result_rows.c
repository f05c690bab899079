#include "results/result_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/query_json.h"
#include "tools/cli/json_out.h"
#include "tools/cli/order_statistics.h"

static const char rows_sql[] =
    "SELECT r.id AS result_id, c.suite, c.name, c.case_key, r.status, c.engine, r.engine_version,"
    " r.arm, c.work_version, m.file_name AS model, m.content_sha256 AS model_sha256,"
    " c.weight_dtype, c.k_dtype, c.v_dtype, c.arithmetic, c.isa, c.threads, c.n_prompt, c.n_gen,"
    " c.n_depth, c.n_batch, c.params_json, r.warmup_iters, r.iters_per_rep, r.items_per_iter,"
    " r.bytes_per_iter, r.flops_per_iter, r.rss_bytes, r.kv_bytes, r.output_sha256, r.error,"
    " r.max_abs_error, r.tolerance, coalesce(r.max_abs_error > r.tolerance, 0) AS is_wrong"
    " FROM result AS r JOIN bench_case AS c ON c.id = r.bench_case_id"
    " LEFT JOIN model AS m ON m.id = c.model_id WHERE r.run_id = ? ORDER BY r.id";

static bool grow(double **x, size_t n, size_t *room)
{
    if (n < *room)
        return true;
    *room = *room * 2 + 64;
    double *bigger = realloc(*x, *room * sizeof **x);
    if (bigger)
        *x = bigger;
    return bigger != NULL;
}

/* The first column of a query, ascending. Releases the query. */
static double *read_sorted(struct query *q, size_t *n, struct rml_error *err)
{
    size_t room = 0;
    double *x = NULL;
    *n = 0;
    bool whole = grow(&x, 0, &room);
    while (whole && query_step(q)) {
        whole = grow(&x, *n, &room);
        if (whole)
            x[(*n)++] = sqlite3_column_double(q->stmt, 0);
    }
    if (!whole)
        rmli_fail(err, RML_NO_MEMORY, q->store->path, -1, "no memory for samples");
    if (!query_release(q, "reading samples", err) || !whole) {
        free(x);
        return NULL;
    }
    sort_ascending(x, *n);
    return x;
}

double *result_samples(struct store *store, int64_t result_id, size_t *n, struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "SELECT CAST(wall_ns AS REAL) / iters FROM sample"
               " WHERE result_id = ? AND is_warmup = 0");
    query_int(&q, result_id);
    return read_sorted(&q, n, err);
}

/* Waits for a token, ascending: since the one before it in its repetition, or since the start
 * of the repetition. */
static double *token_waits(struct store *store, int64_t result_id, size_t *n, struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "SELECT t.t_mono_ns - coalesce(lag(t.t_mono_ns)"
               "  OVER (PARTITION BY t.rep ORDER BY t.idx), s.t_mono_ns)"
               " FROM token_time AS t JOIN sample AS s ON s.result_id = t.result_id"
               " AND s.rep = t.rep WHERE t.result_id = ? AND s.is_warmup = 0");
    query_int(&q, result_id);
    return read_sorted(&q, n, err);
}

static void add_rate(json_t *row, const char *key, const char *per_iter, double median_ns)
{
    json_object_set_new(row, key, cli_json_real(row_real(row, per_iter) * 1e9 / median_ns));
}

static bool add_latency(json_t *row, struct store *store, struct rml_error *err)
{
    size_t n;
    double *waits = token_waits(store, row_id(row), &n, err);
    if (!waits)
        return false;
    static const struct {
        const char *key;
        double p;
    } quantiles[] = {
        {"itl_p50_ns", 0.5}, {"itl_p90_ns", 0.9}, {"itl_p99_ns", 0.99}, {"itl_max_ns", 1}};
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++)
        json_object_set_new(row, quantiles[i].key,
                            cli_json_real(quantile_of_sorted(waits, n, quantiles[i].p)));
    free(waits);
    return true;
}

static bool add_figures(json_t *row, struct store *store, struct rml_error *err)
{
    size_t n;
    double *ns = result_samples(store, row_id(row), &n, err);
    if (!ns)
        return false;
    struct summary s = summarize(ns, n, RESULT_CONFIDENCE);
    free(ns);
    const struct {
        const char *key;
        double value;
    } figures[] = {
        {"median_ns", s.median}, {"ci_lo_ns", s.ci_lo},
        {"ci_hi_ns", s.ci_hi},   {"ci_coverage", s.ci_coverage},
        {"mad_ns", s.mad},       {"min_ns", s.min},
        {"max_ns", s.max},       {"mean_ns", s.mean},
        {"sd_ns", s.sd},
    };
    json_object_set_new(row, "n_samples", json_integer((json_int_t)n));
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        json_object_set_new(row, figures[i].key, cli_json_real(figures[i].value));
    add_rate(row, "tokens_per_second", "items_per_iter", s.median);
    add_rate(row, "bytes_per_second", "bytes_per_iter", s.median);
    add_rate(row, "flops_per_second", "flops_per_iter", s.median);
    return add_latency(row, store, err);
}

json_t *result_rows_json(struct store *store, int64_t run_id, struct rml_error *err)
{
    struct query q;
    query_init(&q, store, rows_sql);
    query_int(&q, run_id);
    json_t *rows = query_rows_json(&q, "reading results", err);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        if (!add_figures(json_array_get(rows, i), store, err)) {
            json_decref(rows);
            return NULL;
        }
    }
    return rows;
}

const char *row_text(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

double row_real(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

int64_t row_id(const json_t *row)
{
    return json_integer_value(json_object_get(row, "result_id"));
}

/* Leaves the word " NAME=..." out of a key. */
static void cut_word(char *key, const char *start)
{
    char *word = strstr(key, start);
    if (!word)
        return;
    size_t n = 1 + strcspn(word + 1, " ");
    memmove(word, word + n, strlen(word + n) + 1);
}

char *row_case_label(const json_t *row)
{
    const char *key = row_text(row, "case_key");
    char *label = strdup(key ? key : "?");
    if (!label)
        return NULL;
    char *params = strstr(label, " params=");
    if (params)
        *params = 0;
    cut_word(label, " work=");
    cut_word(label, " model=");
    const char *engine = row_text(row, "engine");
    if (engine && strcmp(engine, "rml") == 0)
        cut_word(label, " engine=");
    const char *model = row_text(row, "model"), *arm = row_text(row, "arm");
    char *whole = NULL;
    int n = asprintf(&whole, "%s%s%s%s%s%s", label, model ? " " : "", model ? model : "",
                     arm ? " [" : "", arm ? arm : "", arm ? "]" : "");
    free(label);
    if (n < 0)
        return NULL;
    for (char *p = whole; *p; p++) /* it may come from a hostile database */
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
    return whole;
}
