/*
 * Rows are read from one connection and written through the other, table after table, so
 * that neither database has to be opened in a way that the other needs. Which columns
 * refer to which table is asked of the schema; the ids in them are replaced by those that the
 * same rows have here.
 */
#include "results/merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/id_map.h"
#include "results/store_private.h"
#include "tools/cli/options.h"

#define MAX_COLUMNS 64

enum sameness {
    BY_KEY,    /* the column `key` says which row it is */
    BY_UNIQUE, /* some uniqueness constraint of the table does */
    BY_ALL     /* only all columns together do; equal ones are matched one to one */
};

static const struct table_rule {
    const char *name;
    enum sameness sameness;
    const char *key;
} rules[] = {
    {"host", BY_KEY, "fingerprint"},
    {"build", BY_KEY, "binary_sha256"},
    {"model", BY_KEY, "content_sha256"},
    {"bench_case", BY_KEY, "case_key"},
    {"run", BY_KEY, "uuid"},
    {"run_env", BY_UNIQUE, NULL},
    {"run_model", BY_UNIQUE, NULL},
    {"result", BY_ALL, NULL},
    {"sample", BY_UNIQUE, NULL},
    {"token_time", BY_UNIQUE, NULL},
    {"counter", BY_UNIQUE, NULL},
    {"golden", BY_ALL, NULL},
    {"eval", BY_UNIQUE, NULL},
    {"eval_doc", BY_UNIQUE, NULL},
    {"eval_doc_metric", BY_UNIQUE, NULL},
    {"eval_item", BY_UNIQUE, NULL},
    {"eval_metric", BY_UNIQUE, NULL},
    {"eval_verdict", BY_UNIQUE, NULL},
    {"verdict", BY_ALL, NULL},
    {"annotation", BY_ALL, NULL},
    {"median_interval", BY_UNIQUE, NULL},
};
enum { N_TABLES = sizeof rules / sizeof rules[0] };
_Static_assert((int)N_TABLES <= (int)MERGE_MAX_TABLES, "counts for every table");

const char *merge_table_name(int t)
{
    return t < N_TABLES ? rules[t].name : NULL;
}

struct column {
    char name[64];
    int parent; /* index of the table that it refers to, -1: none */
};

struct table {
    struct column columns[MAX_COLUMNS]; /* all but `id` */
    int n_columns;
    bool has_id;
    struct id_map ids;  /* there to here */
    struct id_set used; /* rows here that are the same as one there */
};

struct merge {
    struct store *into, *from;
    struct merge_counts *counts;
    struct rml_error *err;
    struct table tables[N_TABLES];
};

static const char doing[] = "merging";

static bool no_memory(struct merge *m)
{
    return rmli_fail(m->err, RML_NO_MEMORY, m->into->path, -1, "no memory to merge");
}

/* ---- Schema ------------------------------------------------------------------------- */

static int table_index(const char *name)
{
    for (int t = 0; t < N_TABLES; t++)
        if (strcmp(rules[t].name, name) == 0)
            return t;
    return -1;
}

static bool read_columns(struct merge *m, int t)
{
    struct table *table = &m->tables[t];
    struct query q;
    query_init(&q, m->into,
               "SELECT c.name, (SELECT k.\"table\" FROM pragma_foreign_key_list(?1) AS k"
               "  WHERE k.\"from\" = c.name)"
               " FROM pragma_table_info(?1) AS c ORDER BY c.cid");
    query_text(&q, rules[t].name);
    while (query_step(&q) && table->n_columns < MAX_COLUMNS) {
        const char *name = (const char *)sqlite3_column_text(q.stmt, 0);
        const char *parent = (const char *)sqlite3_column_text(q.stmt, 1);
        if (strcmp(name, "id") == 0) {
            table->has_id = true;
            continue;
        }
        struct column *column = &table->columns[table->n_columns++];
        snprintf(column->name, sizeof column->name, "%s", name);
        column->parent = parent ? table_index(parent) : -1;
    }
    return query_release(&q, doing, m->err);
}

/* ---- Statements ---------------------------------------------------------------------- */

/* "a, b, c" with a format for each name, which may use it twice; to be freed. */
static char *join(const struct table *table, const char *format, const char *separator)
{
    char *text = NULL;
    size_t nbytes = 0;
    FILE *out = open_memstream(&text, &nbytes);
    if (!out)
        return NULL;
    for (int i = 0; i < table->n_columns; i++) {
        if (i > 0)
            fputs(separator, out);
        for (const char *p = format; *p; p++) {
            if (*p == '%')
                fputs(table->columns[i].name, out);
            else
                fputc(*p, out);
        }
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* How the samples of two results are told apart; the first repetitions of two results never
 * start in the same nanosecond. */
#define DIGEST(result)                                                                             \
    "(SELECT count(*) || '/' || total(wall_ns) || '/' || min(t_mono_ns) FROM sample"               \
    " WHERE result_id = " result ")"

/* The rows of the other database: id (0 without one), the columns, and of a result the digest
 * of its samples. */
static bool prepare_source(struct merge *m, int t, struct query *q)
{
    const struct table *table = &m->tables[t];
    char *names = join(table, "\"%\"", ", "), *sql = NULL;
    bool ok = names &&
              asprintf(&sql, "SELECT %s, %s%s FROM %s ORDER BY 1", table->has_id ? "id" : "0",
                       names, strcmp(rules[t].name, "result") == 0 ? ", " DIGEST("result.id") : "",
                       rules[t].name) >= 0;
    if (ok)
        query_init(q, m->from, sql);
    free(names);
    if (ok)
        free(sql);
    return ok || no_memory(m);
}

static bool prepare_insert(struct merge *m, int t, struct query *q)
{
    const struct table *table = &m->tables[t];
    char *names = join(table, "\"%\"", ", "), *marks = join(table, "?", ", "), *sql = NULL;
    bool ok = names && marks &&
              asprintf(&sql, "INSERT INTO %s(%s) VALUES (%s)%s", rules[t].name, names, marks,
                       rules[t].sameness == BY_UNIQUE ? " ON CONFLICT DO NOTHING" : "") >= 0;
    if (ok)
        query_init(q, m->into, sql);
    free(names);
    free(marks);
    if (ok)
        free(sql);
    return ok || no_memory(m);
}

/* The ids of rows here that are the same. */
static bool prepare_search(struct merge *m, int t, struct query *q)
{
    const struct table *table = &m->tables[t];
    char *equal = NULL, *sql = NULL;
    if (rules[t].sameness == BY_KEY && asprintf(&equal, "%s = ?", rules[t].key) < 0)
        equal = NULL;
    if (rules[t].sameness == BY_ALL)
        equal = join(table, "\"%\" IS ?", " AND ");
    bool ok =
        equal && asprintf(&sql, "SELECT id FROM %s WHERE %s%s ORDER BY id", rules[t].name, equal,
                          strcmp(rules[t].name, "result") == 0 ? " AND " DIGEST("result.id") " IS ?"
                                                               : "") >= 0;
    if (ok)
        query_init(q, m->into, sql);
    free(equal);
    if (ok)
        free(sql);
    return ok || no_memory(m);
}

/* ---- Rows ------------------------------------------------------------------------------ */

static void bind_value(struct query *to, sqlite3_value *value)
{
    if (to->rc == SQLITE_OK)
        to->rc = sqlite3_bind_value(to->stmt, to->next++, value);
}

/* Binds column i of the source's row, ids replaced. False when it refers to a row that is not
 * there. */
static bool bind_column(struct merge *m, int t, struct query *to, const struct query *from, int i)
{
    const struct column *column = &m->tables[t].columns[i];
    if (column->parent < 0 || sqlite3_column_type(from->stmt, i + 1) == SQLITE_NULL) {
        bind_value(to, sqlite3_column_value(from->stmt, i + 1));
        return true;
    }
    int64_t id =
        id_map_find(&m->tables[column->parent].ids, sqlite3_column_int64(from->stmt, i + 1));
    query_int(to, id);
    return id != 0 ||
           rmli_fail(m->err, RML_FORMAT, m->from->path, -1,
                     "a row of %s names %s %" PRId64 ", which is not there", rules[t].name,
                     rules[column->parent].name, (int64_t)sqlite3_column_int64(from->stmt, i + 1));
}

static bool bind_columns(struct merge *m, int t, struct query *to, const struct query *from)
{
    bool ok = true;
    for (int i = 0; ok && i < m->tables[t].n_columns; i++)
        ok = bind_column(m, t, to, from, i);
    return ok;
}

/* *id: the row here that is the same as the source's, 0 when there is none. */
static bool search(struct merge *m, int t, struct query *q, const struct query *from, int64_t *id)
{
    struct table *table = &m->tables[t];
    if (rules[t].sameness == BY_KEY) {
        for (int i = 0; i < table->n_columns; i++)
            if (strcmp(table->columns[i].name, rules[t].key) == 0)
                bind_value(q, sqlite3_column_value(from->stmt, i + 1));
    } else if (!bind_columns(m, t, q, from)) {
        return false;
    } else if (strcmp(rules[t].name, "result") == 0) {
        bind_value(q, sqlite3_column_value(from->stmt, table->n_columns + 1));
    }
    *id = 0;
    while (*id == 0 && query_step(q)) {
        int64_t found = sqlite3_column_int64(q->stmt, 0);
        if (rules[t].sameness == BY_KEY || !id_set_has(&table->used, found))
            *id = found;
    }
    if (q->rc == SQLITE_OK)
        sqlite3_reset(q->stmt);
    q->next = 1;
    return true;
}

/*
 * A run that is known here takes over what is said of it there when that is news: a later
 * heartbeat (the end of a run is one). It may have been `running` when it was merged, or was
 * resumed since.
 */
static bool renew_run(struct merge *m, int64_t id_here, int64_t id_there)
{
    struct query from, to;
    query_init(&from, m->from,
               "SELECT state, exit_code, end_ns, pid, pid_start_ticks, pid_namespace, boot_id,"
               " hostname, argv_json, env_json, heartbeat_ns FROM run WHERE id = ?");
    query_int(&from, id_there);
    query_init(&to, m->into,
               "UPDATE run SET state = ?1, exit_code = ?2, end_ns = ?3, pid = ?4,"
               " pid_start_ticks = ?5, pid_namespace = ?6, boot_id = ?7, hostname = ?8,"
               " argv_json = ?9, env_json = ?10, heartbeat_ns = ?11"
               " WHERE id = ?12 AND heartbeat_ns < ?11");
    if (query_step(&from))
        for (int i = 0; i < sqlite3_column_count(from.stmt); i++)
            bind_value(&to, sqlite3_column_value(from.stmt, i));
    query_int(&to, id_here);
    query_run(&to);
    if (to.rc == SQLITE_OK)
        m->counts->runs_renewed += sqlite3_changes(m->into->db);
    bool ok = query_release(&from, doing, m->err);
    return query_release(&to, doing, m->err) && ok;
}

/* One row of the source: finds it here or adds it, and notes its id. */
static bool merge_row(struct merge *m, int t, struct query *from, struct query *insert,
                      struct query *find)
{
    struct table *table = &m->tables[t];
    int64_t there = sqlite3_column_int64(from->stmt, 0), here = 0;
    if (cli_interrupted())
        return rmli_fail(m->err, RML_CANCELLED, m->from->path, -1, "merging was interrupted");
    if (rules[t].sameness != BY_UNIQUE && !search(m, t, find, from, &here))
        return false;
    if (here == 0) {
        if (!bind_columns(m, t, insert, from))
            return false;
        query_run(insert);
        if (insert->rc != SQLITE_OK)
            return true; /* reported when the statement is released */
        m->counts->added[t] += sqlite3_changes(m->into->db);
        here = sqlite3_last_insert_rowid(m->into->db);
    } else if (strcmp(rules[t].name, "run") == 0 && !renew_run(m, here, there)) {
        return false;
    }
    if (rules[t].sameness == BY_UNIQUE)
        return true; /* nothing refers to such a row */
    return (id_map_add(&table->ids, there, here) &&
            (rules[t].sameness == BY_KEY || id_set_add(&table->used, here))) ||
           no_memory(m);
}

static bool merge_table(struct merge *m, int t)
{
    struct query from = {0}, insert = {.store = m->into}, find = {.store = m->into};
    if (!prepare_source(m, t, &from))
        return false;
    bool ok = prepare_insert(m, t, &insert) &&
              (rules[t].sameness == BY_UNIQUE || prepare_search(m, t, &find));
    while (ok && insert.rc == SQLITE_OK && find.rc == SQLITE_OK && query_step(&from))
        ok = merge_row(m, t, &from, &insert, &find);
    ok = query_release(&from, doing, m->err) && ok;
    ok = query_release(&insert, doing, m->err) && ok;
    return query_release(&find, doing, m->err) && ok;
}

/* A run that is gone on with measures again what was an error, or was skipped, and lets go of that
 * (store_renew_result). So where one copy has the error and the other what came of it, the
 * latter holds. Only runs with a plan can be gone on with. */
static bool drop_renewed(struct merge *m)
{
    struct query q;
    query_init(&q, m->into,
               "DELETE FROM result WHERE status IN ('error', 'skipped') AND arm IS NULL"
               " AND EXISTS (SELECT 1 FROM run_env AS e WHERE e.run_id = result.run_id"
               "  AND e.key = 'plan_sha256')"
               " AND EXISTS (SELECT 1 FROM result AS o WHERE o.run_id = result.run_id"
               "  AND o.bench_case_id = result.bench_case_id AND o.arm IS NULL"
               "  AND o.id <> result.id AND o.status IN ('ok', 'unstable'))");
    query_run(&q);
    if (q.rc == SQLITE_OK)
        m->counts->added[table_index("result")] -= sqlite3_changes(m->into->db);
    return query_release(&q, doing, m->err);
}

static bool count_unfinished(struct merge *m)
{
    struct query q;
    query_init(&q, m->from, "SELECT count(*) FROM run WHERE state = 'running'");
    m->counts->runs_unfinished = query_id(&q);
    return query_release(&q, doing, m->err);
}

bool store_merge(struct store *into, struct store *from, struct merge_counts *counts,
                 struct rml_error *err)
{
    *counts = (struct merge_counts){0};
    struct merge *m = calloc(1, sizeof *m);
    if (!m)
        return rmli_fail(err, RML_NO_MEMORY, into->path, -1, "no memory to merge");
    *m = (struct merge){.into = into, .from = from, .counts = counts, .err = err};

    /* One snapshot: somebody may be writing to it. */
    bool reading = store_execute(from, "BEGIN", doing, err);
    bool ok = reading && store_begin(into, doing, err);
    if (ok) {
        for (int t = 0; ok && t < N_TABLES; t++)
            ok = read_columns(m, t) && merge_table(m, t);
        ok = store_end(into, ok && drop_renewed(m) && count_unfinished(m), doing, err);
    }
    if (reading)
        store_execute(from, "ROLLBACK", doing, NULL);
    for (int t = 0; t < N_TABLES; t++) {
        id_map_release(&m->tables[t].ids);
        id_set_release(&m->tables[t].used);
    }
    free(m);
    return ok;
}
