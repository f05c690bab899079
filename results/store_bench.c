/*
 * Benchmark cases, their results and every sample.
 */
#include "results/store_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/cli/order_statistics.h"
#include "results/schema.h"

static const char *const status_names[] = {[STORE_OK] = "ok",
                                           [STORE_ERROR] = "error",
                                           [STORE_SKIPPED] = "skipped",
                                           [STORE_UNSTABLE] = "unstable"};

const char *store_status_name(enum store_status status)
{
    return status_names[status];
}

/* ---- Keys ------------------------------------------------------------------------------ */

static void put_text(FILE *out, const char *name, const char *value)
{
    if (value)
        fprintf(out, " %s=%s", name, value);
}

static void put_count(FILE *out, const char *name, int64_t value)
{
    if (value >= 0)
        fprintf(out, " %s=%" PRId64, name, value);
}

char *store_case_key(const struct store_case *c, const char *model_sha256)
{
    char *key = NULL;
    size_t nbytes = 0;
    FILE *out = open_memstream(&key, &nbytes);
    if (!out)
        return NULL;
    fprintf(out, "%s/%s", c->suite, c->name);
    put_text(out, "engine", c->engine);
    put_text(out, "model", model_sha256);
    put_text(out, "weights", c->weight_dtype);
    if (c->k_dtype && c->v_dtype)
        fprintf(out, " kv=%s:%s", c->k_dtype, c->v_dtype);
    put_text(out, "arithmetic", c->arithmetic);
    put_text(out, "isa", c->isa);
    put_count(out, "threads", c->threads);
    put_count(out, "batch", c->n_batch);
    put_count(out, "prompt", c->n_prompt);
    put_count(out, "gen", c->n_gen);
    put_count(out, "depth", c->n_depth);
    put_count(out, "work", c->work_version);
    put_text(out, "params", c->params_json);
    if (fclose(out) != 0) {
        free(key);
        return NULL;
    }
    return key;
}

/* *hash: the model's content hash (to be freed), NULL without a model. */
static bool hash_of_model(struct store *store, int64_t model_id, char **hash, struct rml_error *err)
{
    *hash = NULL;
    if (model_id == 0)
        return true;
    struct query q;
    query_init(&q, store, "SELECT content_sha256 FROM model WHERE id = ?");
    query_int(&q, model_id);
    bool found = query_step(&q);
    if (found)
        *hash = strdup((const char *)sqlite3_column_text(q.stmt, 0));
    if (!query_release(&q, "looking for a model", err)) {
        free(*hash);
        return false;
    }
    return *hash || rmli_fail(err, found ? RML_NO_MEMORY : RML_INVALID_ARGUMENT, store->path, -1,
                              "model %" PRId64 " of a benchmark case is not known", model_id);
}

/* A count that was computed as a double; NULL when it is negative or NaN. */
static void query_whole(struct query *q, double x)
{
    query_count(q, x >= 0 && x < 0x1p63 ? llround(x) : -1);
}

/* ---- Rows ------------------------------------------------------------------------------ */

static int64_t upsert_case(struct store *store, const struct store_case *c, const char *key,
                           struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "INSERT INTO bench_case(case_key, suite, name, work_version, engine, arithmetic,"
               " isa, model_id, weight_dtype, k_dtype, v_dtype, threads, n_batch, n_prompt, n_gen,"
               " n_depth, params_json)"
               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
               " ON CONFLICT(case_key) DO UPDATE SET suite = suite RETURNING id");
    query_text(&q, key);
    query_text(&q, c->suite);
    query_text(&q, c->name);
    query_int(&q, c->work_version);
    query_text(&q, c->engine);
    query_text(&q, c->arithmetic);
    query_text(&q, c->isa);
    query_ref(&q, c->model_id);
    query_text(&q, c->weight_dtype);
    query_text(&q, c->k_dtype);
    query_text(&q, c->v_dtype);
    query_count(&q, c->threads);
    query_count(&q, c->n_batch);
    query_count(&q, c->n_prompt);
    query_count(&q, c->n_gen);
    query_count(&q, c->n_depth);
    query_text(&q, c->params_json ? c->params_json : "{}");
    int64_t id = query_id(&q);
    return query_release(&q, "storing a benchmark case", err) ? id : -1;
}

static int64_t insert_result(struct store *store, int64_t run_id, int64_t case_id,
                             const struct store_result *r, struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "INSERT INTO result(run_id, bench_case_id, arm, engine_version, status, error,"
               " warmup_iters, iters_per_rep, items_per_iter, bytes_per_iter, flops_per_iter,"
               " rss_bytes, kv_bytes, output_sha256, max_abs_error, tolerance)"
               " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id");
    query_int(&q, run_id);
    query_int(&q, case_id);
    query_text(&q, r->arm);
    query_text(&q, r->engine_version);
    query_text(&q, store_status_name(r->status));
    query_text(&q, r->error);
    query_int(&q, r->warmup_iters);
    query_int(&q, r->iters_per_rep);
    query_whole(&q, r->items_per_iter);
    query_whole(&q, r->bytes_per_iter);
    query_whole(&q, r->flops_per_iter);
    query_count(&q, r->rss_bytes);
    query_count(&q, r->kv_bytes);
    query_text(&q, r->output_sha256);
    /* SQLite has no NaN; infinity is stored as it is, and is above any tolerance. */
    bool compared = r->tolerance > 0;
    query_real(&q, !compared ? NAN : isnan(r->max_abs_error) ? INFINITY : r->max_abs_error);
    query_real(&q, compared ? r->tolerance : NAN);
    int64_t id = query_id(&q);
    return query_release(&q, "storing a result", err) ? id : -1;
}

static bool insert_samples(struct store *store, int64_t result_id, const struct store_result *r,
                           struct rml_error *err)
{
    struct query q;
    query_init(&q, store, "INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (size_t i = 0; i < r->n_samples && q.rc == SQLITE_OK; i++) {
        const struct store_sample *s = &r->samples[i];
        query_int(&q, result_id);
        query_int(&q, s->rep);
        query_int(&q, s->order_idx);
        query_int(&q, s->is_warmup);
        query_int(&q, s->t_mono_ns);
        query_int(&q, s->iters);
        query_int(&q, s->wall_ns);
        query_count(&q, s->cpu_ns);
        query_count(&q, s->steal_ticks);
        query_count(&q, s->nvcsw);
        query_count(&q, s->nivcsw);
        query_count(&q, s->minflt);
        query_count(&q, s->majflt);
        query_run(&q);
    }
    return query_release(&q, "storing samples", err);
}

static bool insert_token_times(struct store *store, int64_t result_id, const struct store_result *r,
                               struct rml_error *err)
{
    struct query q;
    query_init(&q, store, "INSERT INTO token_time VALUES (?, ?, ?, ?)");
    for (size_t i = 0; i < r->n_token_times && q.rc == SQLITE_OK; i++) {
        query_int(&q, result_id);
        query_int(&q, r->token_times[i].rep);
        query_int(&q, r->token_times[i].idx);
        query_int(&q, r->token_times[i].t_mono_ns);
        query_run(&q);
    }
    return query_release(&q, "storing token times", err);
}

static bool insert_counters(struct store *store, int64_t result_id, const struct store_result *r,
                            struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "INSERT INTO counter(result_id, rep, metric, value) VALUES (?, -1, ?, ?)");
    for (size_t i = 0; i < r->n_counters && q.rc == SQLITE_OK; i++) {
        query_int(&q, result_id);
        query_text(&q, r->counters[i].metric);
        query_real(&q, r->counters[i].value);
        query_run(&q);
    }
    return query_release(&q, "storing counters", err);
}

/* The view v_stat looks the interval's ranks up; make sure that it finds them. */
static bool know_interval(struct store *store, const struct store_result *r, struct rml_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_samples; i++)
        n += !r->samples[i].is_warmup;
    if (n <= SCHEMA_MEDIAN_INTERVAL_ROWS)
        return true;
    size_t rank = median_interval_rank(n, 0.95);
    struct query q;
    query_init(&q, store, "INSERT OR IGNORE INTO median_interval VALUES (?, ?, ?, ?)");
    query_int(&q, (int64_t)n);
    query_int(&q, (int64_t)rank);
    query_int(&q, (int64_t)(n + 1 - rank));
    query_real(&q, median_interval_coverage(n, rank));
    query_run(&q);
    return query_release(&q, "storing a result", err);
}

int64_t store_insert_result(struct store *store, int64_t run_id, const struct store_case *c,
                            const struct store_result *result, struct rml_error *err)
{
    char *model;
    if (!hash_of_model(store, c->model_id, &model, err))
        return -1;
    char *key = store_case_key(c, model);
    free(model);
    if (!key) {
        rmli_fail(err, RML_NO_MEMORY, store->path, -1, "no memory to store a result");
        return -1;
    }
    int64_t case_id = upsert_case(store, c, key, err);
    free(key);
    int64_t id = case_id < 0 ? -1 : insert_result(store, run_id, case_id, result, err);
    bool ok = id >= 0 && insert_samples(store, id, result, err) &&
              insert_token_times(store, id, result, err) &&
              insert_counters(store, id, result, err) && know_interval(store, result, err);
    return ok ? id : -1;
}

static bool delete_others(struct store *store, int64_t result_id, struct rml_error *err)
{
    struct query q;
    query_init(
        &q, store,
        "DELETE FROM result WHERE id <> ?1 AND arm IS NULL AND status IN ('error', 'skipped')"
        " AND (run_id, bench_case_id) ="
        "  (SELECT run_id, bench_case_id FROM result WHERE id = ?1)");
    query_int(&q, result_id);
    query_run(&q);
    return query_release(&q, "storing a result", err);
}

static int64_t add_result(struct store *store, int64_t run_id, const struct store_case *c,
                          const struct store_result *result, bool renews, struct rml_error *err)
{
    if (!store)
        return 0;
    if (!store_begin(store, "storing a result", err))
        return -1;
    int64_t id = store_insert_result(store, run_id, c, result, err);
    bool ok = id >= 0 && (!renews || delete_others(store, id, err)) &&
              store_heartbeat(store, run_id, err);
    return store_end(store, ok, "storing a result", err) ? id : -1;
}

int64_t store_add_result(struct store *store, int64_t run_id, const struct store_case *c,
                         const struct store_result *result, struct rml_error *err)
{
    return add_result(store, run_id, c, result, false, err);
}

int64_t store_renew_result(struct store *store, int64_t run_id, const struct store_case *c,
                           const struct store_result *result, struct rml_error *err)
{
    return add_result(store, run_id, c, result, true, err);
}
