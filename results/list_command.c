/*
 * rml-results list: the runs.
 */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "results/commands.h"
#include "results/store_private.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

static const char runs_sql[] =
    "SELECT u.id, u.uuid, u.kind, u.state, u.exit_code, u.start_ns, u.end_ns, h.cpu_model,"
    " h.hostname, b.version, b.git_commit, b.git_dirty, u.label,"
    " (SELECT count(*) FROM result AS r WHERE r.run_id = u.id),"
    " (SELECT count(*) FROM golden AS g WHERE g.run_id = u.id)"
    " FROM run AS u JOIN host AS h ON h.id = u.host_id JOIN build AS b ON b.id = u.build_id"
    " ORDER BY u.start_ns DESC, u.id DESC LIMIT ?";

enum {
    ID,
    UUID,
    KIND,
    STATE,
    EXIT_CODE,
    START_NS,
    END_NS,
    CPU_MODEL,
    HOSTNAME,
    VERSION,
    GIT_COMMIT,
    GIT_DIRTY,
    LABEL,
    N_RESULTS,
    N_GOLDENS
};

/* The state of a run; one that is `running` may be dead, or elsewhere. */
static const char *state_of(struct store *store, sqlite3_stmt *stmt)
{
    enum store_liveness liveness;
    const char *state = (const char *)sqlite3_column_text(stmt, STATE);
    if (strcmp(state, "running") != 0 ||
        !store_run_liveness(store, sqlite3_column_int64(stmt, ID), &liveness, NULL))
        return state;
    return liveness == STORE_DEAD ? "dead" : liveness == STORE_UNKNOWN ? "elsewhere" : "running";
}

static void utc(int64_t ns, char text[32])
{
    time_t s = (time_t)(ns / 1000000000);
    struct tm tm;
    if (!gmtime_r(&s, &tm) || strftime(text, 32, "%Y-%m-%d %H:%M:%SZ", &tm) == 0)
        strcpy(text, "-");
}

static const char *text_of(sqlite3_stmt *stmt, int column)
{
    return (const char *)sqlite3_column_text(stmt, column);
}

static json_t *number_of(sqlite3_stmt *stmt, int column)
{
    return sqlite3_column_type(stmt, column) == SQLITE_NULL
               ? json_null()
               : json_integer(sqlite3_column_int64(stmt, column));
}

static void add_json(json_t *runs, struct store *store, sqlite3_stmt *stmt)
{
    json_t *git_dirty = sqlite3_column_type(stmt, GIT_DIRTY) == SQLITE_NULL
                            ? json_null()
                            : json_boolean(sqlite3_column_int(stmt, GIT_DIRTY));
    json_array_append_new(
        runs,
        json_pack("{so so so so so so so so so so so so so}", "uuid",
                  cli_json_text(text_of(stmt, UUID)), "kind", cli_json_text(text_of(stmt, KIND)),
                  "state", cli_json_text(state_of(store, stmt)), "exit_code",
                  number_of(stmt, EXIT_CODE), "start_ns", number_of(stmt, START_NS), "end_ns",
                  number_of(stmt, END_NS), "cpu_model", cli_json_text(text_of(stmt, CPU_MODEL)),
                  "version", cli_json_text(text_of(stmt, VERSION)), "git_commit",
                  cli_json_text(text_of(stmt, GIT_COMMIT)), "git_dirty", git_dirty, "label",
                  cli_json_text(text_of(stmt, LABEL)), "n_results", number_of(stmt, N_RESULTS),
                  "n_goldens", number_of(stmt, N_GOLDENS)));
}

static void add_line(struct cli_table *table, struct store *store, sqlite3_stmt *stmt)
{
    char start[32];
    utc(sqlite3_column_int64(stmt, START_NS), start);
    cli_table_cell(table, "%.8s", text_of(stmt, UUID));
    cli_table_cell(table, "%s", start);
    cli_table_cell(table, "%s", text_of(stmt, KIND));
    cli_table_cell(table, "%s", state_of(store, stmt));
    if (sqlite3_column_type(stmt, EXIT_CODE) == SQLITE_NULL)
        cli_table_cell(table, "-");
    else
        cli_table_cell(table, "%d", sqlite3_column_int(stmt, EXIT_CODE));
    if (sqlite3_column_type(stmt, END_NS) == SQLITE_NULL)
        cli_table_cell(table, "-");
    else
        cli_table_cell(
            table, "%.1f",
            (double)(sqlite3_column_int64(stmt, END_NS) - sqlite3_column_int64(stmt, START_NS)) /
                1e9);
    cli_table_cell(table, "%" PRId64, (int64_t)sqlite3_column_int64(stmt, N_RESULTS));
    cli_table_cell(table, "%" PRId64, (int64_t)sqlite3_column_int64(stmt, N_GOLDENS));
    const char *commit = text_of(stmt, GIT_COMMIT);
    cli_table_cell(table, "%s%s%.9s%s", text_of(stmt, VERSION), commit ? " " : "",
                   commit ? commit : "", sqlite3_column_int(stmt, GIT_DIRTY) ? "+" : "");
    const char *hostname = text_of(stmt, HOSTNAME);
    cli_table_cell(table, "%s", hostname ? hostname : "-");
}

static bool list(struct store *store, int64_t limit, bool json, struct rml_error *err)
{
    json_t *runs = json ? json_array() : NULL;
    struct cli_table *table =
        json ? NULL
             : cli_table_create("<run|<started|<kind|<state|>exit|>seconds|>results|>goldens|"
                                "<build|<host");
    struct query q;
    query_init(&q, store, runs_sql);
    query_int(&q, limit);
    while (query_step(&q)) {
        if (json)
            add_json(runs, store, q.stmt);
        else
            add_line(table, store, q.stmt);
    }
    bool ok = query_release(&q, "listing runs", err);
    if (ok && json) {
        json_t *document = json_pack("{sO}", "runs", runs);
        cli_json_print(document, 17);
        json_decref(document);
    } else if (ok) {
        cli_table_print(table, stdout);
    }
    json_decref(runs);
    cli_table_destroy(table);
    return ok;
}

struct arguments {
    const char *db;
    int64_t limit; /* -1: none, which is what SQL means by it */
};

enum { KEY_LIMIT = CLI_OWN_KEY };

static const struct argp_option options[] = {
    {"limit", KEY_LIMIT, "N", 0, "At most this many runs (all)", 1},
    RESULTS_DB_OPTION,
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case RESULTS_KEY_DB:
        a->db = results_db_argument(state, arg);
        return 0;
    case KEY_LIMIT:
        a->limit = (int64_t)cli_arg_u64(state, "--limit", arg, 1, INT64_MAX);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' found, expected no argument", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int results_list_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Lists runs, newest first. A run whose process is gone before it could say how it "
               "ended is 'dead'; one on another machine, heard of within a day, 'elsewhere'.\v"
               "Example: the ten last runs:\n\n"
               "  rml-results list --limit 10"};
    struct cli_options common;
    struct arguments a = {.limit = -1};
    cli_parse(&common, CLI_OPT_JSON, &argp, argc, argv, &a);

    struct rml_error err = RML_ERROR_INIT;
    struct store *store = results_open(a.db, &err);
    bool ok = store && list(store, a.limit, common.json, &err);
    store_close(store);
    return ok ? CLI_PASS : cli_error(&err);
}
