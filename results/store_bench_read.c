/*
 * Results read back: what a run that is gone on with has measured already.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/store_private.h"

void store_loaded_result_release(struct store_loaded_result *loaded)
{
    for (size_t i = 0; i < sizeof loaded->memory / sizeof loaded->memory[0]; i++)
        free(loaded->memory[i]);
    *loaded = (struct store_loaded_result){0};
}

static bool no_memory(struct store *store, struct rml_error *err)
{
    return rmli_fail(err, RML_NO_MEMORY, store->path, -1, "no memory to read a result");
}

static int64_t count_at(sqlite3_stmt *stmt, int column)
{
    return sqlite3_column_type(stmt, column) == SQLITE_NULL ? -1
                                                            : sqlite3_column_int64(stmt, column);
}

static double real_at(sqlite3_stmt *stmt, int column, double null)
{
    return sqlite3_column_type(stmt, column) == SQLITE_NULL ? null
                                                            : sqlite3_column_double(stmt, column);
}

/* A copy in *slot; NULL for NULL. */
static const char *text_at(sqlite3_stmt *stmt, int column, void **slot, bool *ok)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    *slot = text ? strdup(text) : NULL;
    *ok = *ok && (!text || *slot);
    return *slot;
}

static enum store_status status_named(const char *name)
{
    enum store_status status = STORE_OK;
    while (status < STORE_UNSTABLE && strcmp(store_status_name(status), name) != 0)
        status++;
    return status;
}

/* The row itself; *id is 0 when there is none. */
static bool read_result(struct store *store, int64_t run_id, const char *case_key,
                        struct store_loaded_result *loaded, int64_t *id, struct rml_error *err)
{
    struct query q;
    bool ok = true;
    *id = 0;
    query_init(&q, store,
               "SELECT r.id, r.engine_version, r.status, r.error, r.warmup_iters, r.iters_per_rep,"
               " r.items_per_iter, r.bytes_per_iter, r.flops_per_iter, r.rss_bytes, r.kv_bytes,"
               " r.output_sha256, r.max_abs_error, r.tolerance,"
               " (SELECT count(*) FROM sample WHERE result_id = r.id),"
               " (SELECT count(*) FROM token_time WHERE result_id = r.id),"
               " (SELECT count(*) FROM counter WHERE result_id = r.id AND rep = -1)"
               " FROM result AS r JOIN bench_case AS c ON c.id = r.bench_case_id"
               " WHERE r.run_id = ? AND c.case_key = ? AND r.arm IS NULL ORDER BY r.id LIMIT 1");
    query_int(&q, run_id);
    query_text(&q, case_key);
    if (query_step(&q)) {
        sqlite3_stmt *s = q.stmt;
        *id = sqlite3_column_int64(s, 0);
        loaded->result = (struct store_result){
            .engine_version = text_at(s, 1, &loaded->memory[0], &ok),
            .status = status_named((const char *)sqlite3_column_text(s, 2)),
            .error = text_at(s, 3, &loaded->memory[1], &ok),
            .warmup_iters = sqlite3_column_int64(s, 4),
            .iters_per_rep = sqlite3_column_int64(s, 5),
            .items_per_iter = real_at(s, 6, NAN),
            .bytes_per_iter = real_at(s, 7, -1),
            .flops_per_iter = real_at(s, 8, -1),
            .rss_bytes = count_at(s, 9),
            .kv_bytes = count_at(s, 10),
            .output_sha256 = text_at(s, 11, &loaded->memory[2], &ok),
            .max_abs_error = real_at(s, 12, 0),
            .tolerance = real_at(s, 13, 0),
            .n_samples = (size_t)sqlite3_column_int64(s, 14),
            .n_token_times = (size_t)sqlite3_column_int64(s, 15),
            .n_counters = (size_t)sqlite3_column_int64(s, 16),
        };
    }
    return query_release(&q, "reading a result", err) && (ok || no_memory(store, err));
}

static bool read_samples(struct store *store, int64_t id, struct store_loaded_result *loaded,
                         struct rml_error *err)
{
    size_t n = loaded->result.n_samples, i = 0;
    struct store_sample *samples = loaded->memory[3] = calloc(n + 1, sizeof *samples);
    loaded->result.samples = samples;
    if (!samples)
        return no_memory(store, err);
    struct query q;
    query_init(&q, store,
               "SELECT rep, order_idx, is_warmup, t_mono_ns, iters, wall_ns, cpu_ns, steal_ticks,"
               " nvcsw, nivcsw, minflt, majflt FROM sample WHERE result_id = ? ORDER BY rep");
    query_int(&q, id);
    for (; i < n && query_step(&q); i++)
        samples[i] = (struct store_sample){
            .rep = sqlite3_column_int(q.stmt, 0),
            .order_idx = sqlite3_column_int(q.stmt, 1),
            .is_warmup = sqlite3_column_int(q.stmt, 2) != 0,
            .t_mono_ns = sqlite3_column_int64(q.stmt, 3),
            .iters = sqlite3_column_int64(q.stmt, 4),
            .wall_ns = sqlite3_column_int64(q.stmt, 5),
            .cpu_ns = count_at(q.stmt, 6),
            .steal_ticks = count_at(q.stmt, 7),
            .nvcsw = count_at(q.stmt, 8),
            .nivcsw = count_at(q.stmt, 9),
            .minflt = count_at(q.stmt, 10),
            .majflt = count_at(q.stmt, 11),
        };
    loaded->result.n_samples = i;
    return query_release(&q, "reading samples", err);
}

static bool read_token_times(struct store *store, int64_t id, struct store_loaded_result *loaded,
                             struct rml_error *err)
{
    size_t n = loaded->result.n_token_times, i = 0;
    struct store_token_time *times = loaded->memory[4] = calloc(n + 1, sizeof *times);
    loaded->result.token_times = times;
    if (!times)
        return no_memory(store, err);
    struct query q;
    query_init(&q, store,
               "SELECT rep, idx, t_mono_ns FROM token_time WHERE result_id = ? ORDER BY rep, idx");
    query_int(&q, id);
    for (; i < n && query_step(&q); i++)
        times[i] = (struct store_token_time){.rep = sqlite3_column_int(q.stmt, 0),
                                             .idx = sqlite3_column_int(q.stmt, 1),
                                             .t_mono_ns = sqlite3_column_int64(q.stmt, 2)};
    loaded->result.n_token_times = i;
    return query_release(&q, "reading token times", err);
}

/* In the order in which they were stored; of all repetitions together. */
static bool read_counters(struct store *store, int64_t id, struct store_loaded_result *loaded,
                          struct rml_error *err)
{
    size_t n = loaded->result.n_counters, i = 0, nbytes = 0;
    char *names = NULL;
    struct store_counter *counters = loaded->memory[5] = calloc(n + 1, sizeof *counters);
    FILE *text = open_memstream(&names, &nbytes);
    bool ok = counters && text;
    struct query q;
    query_init(&q, store,
               "SELECT metric, value FROM counter WHERE result_id = ? AND rep = -1 ORDER BY id");
    query_int(&q, id);
    for (; ok && i < n && query_step(&q); i++) {
        counters[i].value = real_at(q.stmt, 1, NAN);
        ok = fprintf(text, "%s%c", (const char *)sqlite3_column_text(q.stmt, 0), 0) > 0;
    }
    ok = (!text || fclose(text) == 0) && ok;
    loaded->memory[6] = names; /* where it is, is known only now */
    const char *metric = names;
    for (size_t c = 0; ok && c < i; c++, metric += strlen(metric) + 1)
        counters[c].metric = metric;
    loaded->result.counters = counters;
    loaded->result.n_counters = i;
    return query_release(&q, "reading a result", err) && (ok || no_memory(store, err));
}

bool store_find_result(struct store *store, int64_t run_id, const char *case_key,
                       struct store_loaded_result *loaded, bool *found, struct rml_error *err)
{
    *loaded = (struct store_loaded_result){0};
    *found = false;
    if (!store)
        return true;
    int64_t id;
    if (read_result(store, run_id, case_key, loaded, &id, err) &&
        (id == 0 ||
         (read_samples(store, id, loaded, err) && read_token_times(store, id, loaded, err) &&
          read_counters(store, id, loaded, err)))) {
        *found = id > 0;
        return true;
    }
    store_loaded_result_release(loaded);
    return false;
}
