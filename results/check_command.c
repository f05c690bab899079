/*
 * rml-results check: is the file sound, and which runs died.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "results/commands.h"
#include "results/figures.h"
#include "results/query_json.h"
#include "results/result_rows.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/report.h"

/* Every line of SQLite's own check but "ok" is damage. */
static bool check_pages(struct store *store, json_t *damage, struct rml_error *err)
{
    struct query q;
    query_init(&q, store, "PRAGMA integrity_check(20)");
    while (query_step(&q)) {
        const char *line = query_column_text(&q, 0);
        if (strcmp(line, "ok") != 0)
            json_array_append_new(damage, cli_json_text(line));
    }
    return query_release(&q, "checking it", err);
}

/* Rows that point to a row that is not there. */
static bool check_references(struct store *store, json_t *damage, struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check"
               " GROUP BY 1, 2 ORDER BY 1, 2");
    while (query_step(&q))
        json_array_append_new(damage,
                              json_sprintf("%" PRId64 " row%s of %s without %s",
                                           (int64_t)sqlite3_column_int64(q.stmt, 2),
                                           cli_plural((uint64_t)sqlite3_column_int64(q.stmt, 2)),
                                           query_column_text(&q, 0), query_column_text(&q, 1)));
    return query_release(&q, "checking it", err);
}

static bool find_dead_runs(struct store *store, json_t *dead, struct rml_error *err)
{
    struct query q;
    query_init(&q, store,
               "SELECT id, uuid AS run, kind, start_ns, label FROM run WHERE state = 'running'"
               " ORDER BY start_ns, id");
    bool ok = true;
    while (ok && query_step(&q)) {
        enum store_liveness liveness;
        ok = store_run_liveness(store, sqlite3_column_int64(q.stmt, 0), &liveness, err);
        if (ok && liveness == STORE_DEAD)
            json_array_append_new(dead, query_row_json(&q));
    }
    return query_release(&q, "listing runs", err) && ok;
}

/* {"file", "sound", "damage": [text], "dead_runs": [{"id", "run", "kind", "start_ns", "label"}]};
 * NULL with an error. What is in a damaged file is not looked for. */
static json_t *check(struct store *store, struct rml_error *err)
{
    json_t *damage = json_array(), *dead = json_array(), *document = NULL;
    bool ok = check_pages(store, damage, err);
    ok = ok && (json_array_size(damage) > 0 || check_references(store, damage, err));
    bool sound = json_array_size(damage) == 0;
    ok = ok && (!sound || find_dead_runs(store, dead, err));
    if (ok)
        document = json_pack("{so sb sO sO}", "file", cli_json_text(store_file(store)), "sound",
                             sound, "damage", damage, "dead_runs", dead);
    if (ok && !document)
        rmli_fail(err, RML_NO_MEMORY, store_file(store), -1, "no memory while checking it");
    json_decref(damage);
    json_decref(dead);
    return document;
}

static void print_check(const json_t *document)
{
    const json_t *value;
    size_t i;
    json_array_foreach(json_object_get(document, "damage"), i, value)
        printf("damaged: %s\n", json_string_value(value));
    if (json_is_true(json_object_get(document, "sound")))
        printf("sound: %s\n", row_text(document, "file"));
    json_array_foreach(json_object_get(document, "dead_runs"), i, value)
    {
        char start[32];
        utc_text(json_integer_value(json_object_get(value, "start_ns")), start);
        printf("dead run: %s, %s, begun %s\n", row_text(value, "run"), row_text(value, "kind"),
               start);
    }
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
    cli_parse(&common, CLI_OPT_JSON, &argp, argc, argv, &db);

    struct rml_error err = RML_ERROR_INIT;
    struct store *store = results_open(db, &err);
    json_t *document = store ? check(store, &err) : NULL;
    bool sound = json_is_true(json_object_get(document, "sound"));
    if (document && !sound)
        rmli_fail(&err, RML_FORMAT, store_file(store), -1, "database is damaged");
    store_close(store);
    int code = results_print(document, common.json, print_check, &err);
    if (code != CLI_PASS || sound)
        return code;
    cli_error_line(&err);
    return CLI_ERROR;
}
