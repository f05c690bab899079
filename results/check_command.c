/*
 * rml-results check: is the file sound, and which runs died.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "results/commands.h"
#include "results/store_private.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/report.h"

/* Every line of SQLite's own check but "ok" is damage. Returns their number; -1 with an
 * error. */
static int64_t check_pages(struct store *store, struct rml_error *err)
{
    struct query q;
    int64_t n = 0;
    query_init(&q, store, "PRAGMA integrity_check(20)");
    while (query_step(&q)) {
        const char *line = (const char *)sqlite3_column_text(q.stmt, 0);
        if (strcmp(line, "ok") != 0) {
            printf("damaged: %s\n", line);
            n++;
        }
    }
    return query_release(&q, "checking it", err) ? n : -1;
}

/* Rows that point to a row that is not there. */
static int64_t check_references(struct store *store, struct rml_error *err)
{
    struct query q;
    int64_t n = 0;
    query_init(&q, store,
               "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check"
               " GROUP BY 1, 2 ORDER BY 1, 2");
    while (query_step(&q)) {
        printf("damaged: %" PRId64 " rows of %s without their %s\n",
               (int64_t)sqlite3_column_int64(q.stmt, 2), sqlite3_column_text(q.stmt, 0),
               sqlite3_column_text(q.stmt, 1));
        n++;
    }
    return query_release(&q, "checking it", err) ? n : -1;
}

static bool list_dead_runs(struct store *store, struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "SELECT id, uuid, kind, datetime(start_ns / 1000000000, 'unixepoch')"
               " FROM run WHERE state = 'running' ORDER BY start_ns");
    bool ok = true;
    while (ok && query_step(&q)) {
        enum store_liveness liveness;
        ok = store_run_liveness(store, sqlite3_column_int64(q.stmt, 0), &liveness, err);
        if (ok && liveness == STORE_DEAD)
            printf("dead run: %s, %s, begun %sZ\n", sqlite3_column_text(q.stmt, 1),
                   sqlite3_column_text(q.stmt, 2), sqlite3_column_text(q.stmt, 3));
    }
    return query_release(&q, "listing runs", err) && ok;
}

static const struct argp_option options[] = {RESULTS_DB_OPTION, {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    return results_parse_db(key, arg, state, state->input);
}

int results_check_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Checks every page, index and reference of the database (exit 1 when it is "
               "damaged), and lists the runs that died without saying how they ended (exit 0).\v"
               "Example:\n\n"
               "  rml-results check --db results/rml.db"};
    const char *db = NULL;
    struct cli_options common;
    cli_parse(&common, 0, &argp, argc, argv, &db);

    struct rml_error err = RML_ERROR_INIT;
    struct store *store = results_open(db, &err);
    int64_t n_pages = store ? check_pages(store, &err) : -1;
    int64_t n_references = n_pages == 0 ? check_references(store, &err) : n_pages < 0 ? -1 : 0;
    bool ok = n_references >= 0;
    bool sound = n_pages == 0 && n_references == 0;
    if (ok && sound) {
        printf("sound: %s\n", store_file(store));
        ok = list_dead_runs(store, &err);
    }
    if (ok && !sound)
        ok = rmli_fail(&err, RML_FORMAT, store_file(store), -1, "database is damaged");
    store_close(store);
    return ok ? CLI_PASS : cli_error(&err);
}
