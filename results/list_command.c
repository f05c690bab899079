/*
 * rml-results list: the runs.
 */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "results/commands.h"
#include "results/figures.h"
#include "results/query_json.h"
#include "results/run_select.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

/* Distinct values of a setting of the run u, in the order in which they came. */
#define VALUES_SQL(value)                                                                          \
    "(SELECT group_concat(x, ',') FROM (SELECT " value " AS x FROM setting AS s"                   \
    "  WHERE s.run_id = u.id AND x IS NOT NULL GROUP BY x ORDER BY min(s.n)))"
#define KV_SQL(k, v) "CASE WHEN " k " = " v " THEN " k " ELSE " k " || ':' || " v " END"

/* clang-format off */
static const char runs_sql[] =
    /* What evaluations, results and goldens were made with. The name of a model tells of its weights;
     * where there is none, their type does. */
    "WITH setting(run_id, n, protocol, weights, arithmetic, kv, threads, base) AS ("
    " SELECT e.run_id, e.id, e.protocol, NULL, e.arithmetic, " KV_SQL("e.k_dtype", "e.v_dtype") ", NULL,"
    "  CASE WHEN e.base_model_id <> e.model_id THEN coalesce(b.file_name || ' ', '') ELSE '' END"
    "   || e.base_arithmetic || ' kv ' || " KV_SQL("e.base_k_dtype", "e.base_v_dtype")
    "  FROM eval AS e LEFT JOIN model AS b ON b.id = e.base_model_id"
    " UNION ALL SELECT r.run_id, r.id, NULL, CASE WHEN c.model_id IS NULL THEN c.weight_dtype END,"
    "  c.arithmetic, " KV_SQL("c.k_dtype", "c.v_dtype") ", c.threads, NULL"
    "  FROM result AS r JOIN bench_case AS c ON c.id = r.bench_case_id"
    " UNION ALL SELECT g.run_id, g.id, NULL, NULL, g.arithmetic, " KV_SQL("g.k_dtype", "g.v_dtype") ","
    "  NULL, NULL FROM golden AS g),"
    " checkpoint(run_id, names) AS (SELECT run_id, group_concat(file_name, ', ') FROM"
    "  (SELECT l.run_id, m.file_name FROM run_model AS l JOIN model AS m ON m.id = l.model_id"
    "   ORDER BY l.id) GROUP BY run_id)"
    "SELECT u.id, u.uuid, u.kind, u.state, u.exit_code, u.start_ns, u.end_ns, h.cpu_model,"
    " h.hostname, b.version, b.git_commit, b.git_dirty, u.label,"
    " (SELECT count(*) FROM result AS r WHERE r.run_id = u.id) AS n_results,"
    " (SELECT count(*) FROM golden AS g WHERE g.run_id = u.id) AS n_goldens,"
    " (SELECT count(*) FROM eval_metric AS e WHERE e.run_id = u.id) AS n_metrics,"
    " coalesce((SELECT group_concat(t, ', ') FROM (SELECT e.task ||"
    "   coalesce(' ' || m.file_name, ' ' || json_extract(e.settings_json, '$.model_name'), '')"
    "   AS t FROM eval AS e LEFT JOIN model AS m ON m.id = e.model_id WHERE e.run_id = u.id"
    "   ORDER BY e.id)),"
    "  (SELECT group_concat(t, ', ') FROM (SELECT c.suite || coalesce(' ' || m.file_name,"
    "    ' ' || (SELECT names FROM checkpoint WHERE run_id = u.id), '') AS t"
    "   FROM result AS r JOIN bench_case AS c ON c.id = r.bench_case_id"
    "   LEFT JOIN model AS m ON m.id = c.model_id WHERE r.run_id = u.id GROUP BY t"
    "   ORDER BY min(r.id))),"
    "  (SELECT group_concat(name, ', ') FROM (SELECT g.name FROM golden AS g"
    "   WHERE g.run_id = u.id GROUP BY g.name ORDER BY min(g.id))),"
    "  (SELECT names FROM checkpoint WHERE run_id = u.id),"
    /* else the words behind the program's name, of a path its last part */
    "  (SELECT group_concat(word, ' ') FROM (SELECT CASE WHEN instr(w.value, ' ') THEN w.value"
    "   ELSE substr(rtrim(w.value, '/'),"
    "    length(rtrim(rtrim(w.value, '/'), replace(w.value, '/', ''))) + 1) END AS word"
    "   FROM json_each(CASE WHEN json_valid(u.argv_json) THEN u.argv_json ELSE '[]' END) AS w"
    "   WHERE w.key > 0 ORDER BY w.key))) AS what,"
    " nullif(trim(coalesce(" VALUES_SQL("s.protocol") ", '')"
    "  || coalesce(' ' || " VALUES_SQL("s.weights") ", '')"
    "  || coalesce(' ' || " VALUES_SQL("s.arithmetic") ", '')"
    "  || coalesce(' kv ' || " VALUES_SQL("s.kv") ", '')"
    "  || coalesce(' threads ' || " VALUES_SQL("s.threads") ", '')"
    "  || coalesce(' against ' || " VALUES_SQL("s.base") ", '')), '') AS settings"
    " FROM run AS u JOIN host AS h ON h.id = u.host_id JOIN build AS b ON b.id = u.build_id"
    " WHERE " RUN_FILTER_SQL " ORDER BY u.start_ns DESC, u.id DESC";
/* clang-format on */

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
    N_GOLDENS,
    N_METRICS,
    WHAT,
    SETTINGS
};

static void add_json(json_t *runs, const struct query *q, const char *state)
{
    json_t *run = query_row_json(q);
    json_object_set_new(run, "state", json_string(state));
    json_array_append_new(runs, run);
}

static void cell_count(struct cli_table *table, const struct query *q, int column)
{
    if (sqlite3_column_type(q->stmt, column) == SQLITE_NULL)
        cli_table_cell(table, "-");
    else
        cli_table_cell(table, "%" PRId64, (int64_t)sqlite3_column_int64(q->stmt, column));
}

/* A table is no place for all of many. */
static void cell_cut(struct cli_table *table, const char *text, int n)
{
    if (text && strlen(text) > (size_t)n)
        cli_table_cell(table, "%.*s...", n - 3, text);
    else
        cell_text(table, text);
}

static void add_line(struct cli_table *table, const struct query *q, const char *state)
{
    char start[32];
    utc_text(sqlite3_column_int64(q->stmt, START_NS), start);
    cli_table_cell(table, "%.8s", query_column_text(q, UUID));
    cell_count(table, q, ID);
    cell_text(table, start);
    cell_text(table, query_column_text(q, KIND));
    cell_text(table, state);
    cell_count(table, q, EXIT_CODE);
    double seconds = (query_column_real(q, END_NS) - query_column_real(q, START_NS)) / 1e9;
    if (sqlite3_column_type(q->stmt, END_NS) == SQLITE_NULL)
        cli_table_cell(table, "-");
    else
        cli_table_cell(table, "%.1f", seconds);
    cell_count(table, q, N_RESULTS);
    cell_count(table, q, N_GOLDENS);
    cell_count(table, q, N_METRICS);
    /* What it is of: tasks or suites and their models, goldens, checkpoints, else the command's words. */
    cell_cut(table, query_column_text(q, WHAT), 40);
    cell_cut(table, query_column_text(q, SETTINGS), 48);
    const char *commit = query_column_text(q, GIT_COMMIT);
    cli_table_cell(table, "%s%s%.9s%s", query_column_text(q, VERSION), commit ? " " : "",
                   commit ? commit : "", sqlite3_column_int(q->stmt, GIT_DIRTY) ? "+" : "");
    cell_text(table, query_column_text(q, HOSTNAME));
    cell_text(table, query_column_text(q, LABEL));
}

struct arguments {
    const char *db;
    uint64_t limit;
    struct run_filter filter;
};

static bool list(struct store *store, const struct arguments *a, bool json, struct rml_error *err)
{
    json_t *runs = json_array();
    struct cli_table *table = cli_table_create(
        "<run|>id|<started|<kind|<state|>exit|>seconds|>results|>goldens|>scores|<what|"
        "<settings|<build|<host|<label");
    struct query q;
    query_init(&q, store, runs_sql);
    run_filter_bind(&q, &a->filter);
    for (uint64_t n = 0; n < a->limit && query_step(&q);) {
        const char *state =
            run_shown_state(store, sqlite3_column_int64(q.stmt, ID), query_column_text(&q, STATE));
        if (a->filter.state && strcmp(a->filter.state, state) != 0)
            continue;
        n++;
        if (json)
            add_json(runs, &q, state);
        else
            add_line(table, &q, state);
    }
    bool ok = query_release(&q, "listing runs", err);
    if (ok)
        results_print_rows(json, "runs", runs, table);
    json_decref(runs);
    cli_table_destroy(table);
    return ok;
}

enum { KEY_LIMIT = CLI_OWN_KEY };

static const struct argp_option options[] = {
    {"limit", KEY_LIMIT, "N", 0, "At most this many runs (all)", 1},
    RUN_FILTER_OPTIONS,
    RESULTS_DB_OPTION,
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_LIMIT:
        a->limit = cli_arg_u64(state, "--limit", arg, 1, INT64_MAX);
        return 0;
    default:
        return run_filter_parse(key, arg, state, &a->filter) == 0
                   ? 0
                   : results_parse_db(key, arg, state, &a->db);
    }
}

int results_list_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Lists runs, newest first. A run whose process is gone before it could say how it "
               "ended is 'dead'; one on another machine, heard of within a day, 'elsewhere'.\v"
               "Example: the ten last benchmarks of this week:\n\n"
               "  rml-results list --kind bench --since 7d --limit 10"};
    struct cli_options common;
    struct arguments a = {.limit = INT64_MAX, .filter = RUN_FILTER_ALL};
    cli_parse(&common, CLI_OPT_JSON, &argp, argc, argv, &a);

    struct rml_error err = RML_ERROR_INIT;
    struct store *store = results_open(a.db, &err);
    bool ok = store && list(store, &a, common.json, &err);
    store_close(store);
    return ok ? CLI_PASS : cli_error(&err);
}
