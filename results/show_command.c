/*
 * rml-results show RUN: all that is known of one run, but for its samples (export).
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/commands.h"
#include "results/figures.h"
#include "results/query_json.h"
#include "results/result_rows.h"
#include "results/run_select.h"
#include "tools/cli/report.h"

/* ---- What the database says -------------------------------------------------------- */

/* Sections whose rows are shown as they are; the parameter is the run's id. */
static const struct {
    const char *key, *sql;
} sections[] = {
    {"models",
     "SELECT m.file_name, m.content_sha256, m.file_bytes, m.arch, m.n_params, m.weight_dtype,"
     " m.tokenizer_sha256 FROM run_model AS l JOIN model AS m ON m.id = l.model_id"
     " WHERE l.run_id = ? ORDER BY l.id"},
    {"goldens",
     "SELECT g.name, g.kind, m.file_name AS model, m.content_sha256 AS model_sha256,"
     " g.reference_sha256, g.arithmetic, g.k_dtype, g.v_dtype, g.isa, g.threads, g.n_positions,"
     " g.max_abs_error, g.max_logsumexp_error, g.kl_div, g.tolerance, g.first_bad, g.passed"
     " FROM golden AS g LEFT JOIN model AS m ON m.id = g.model_id WHERE g.run_id = ? ORDER BY "
     "g.id"},
    {"eval_metrics",
     "SELECT task, metric, value, stderr, n FROM eval_metric WHERE run_id = ? ORDER BY id"},
    {"eval_items",
     "SELECT task, doc_id, choice_idx, request_sha256, n_tokens, loglik, n_truncated, is_greedy,"
     " wall_ns FROM eval_item WHERE run_id = ? ORDER BY id"},
    {"evals",
     "SELECT e.task, e.protocol, coalesce(m.file_name,"
     "  json_extract(e.settings_json, '$.model_name')) AS model, m.content_sha256 AS model_sha256,"
     " m.weight_dtype, e.arithmetic, e.k_dtype, e.v_dtype, e.isa, e.threads, e.numerics_version,"
     " b.file_name AS base_model, e.base_arithmetic, e.base_k_dtype, e.base_v_dtype,"
     " e.settings_json FROM eval AS e LEFT JOIN model AS m ON m.id = e.model_id"
     " LEFT JOIN model AS b ON b.id = e.base_model_id WHERE e.run_id = ? ORDER BY e.id"},
    {"eval_verdicts",
     "SELECT v.task, v.metric, v.method, ua.uuid AS base_run, ua.label AS base_label,"
     " ub.uuid AS candidate_run, ub.label AS candidate_label, v.n, v.n_blocks, v.a, v.b,"
     " v.difference, v.stderr, v.ci_lo, v.ci_hi, v.confidence, v.p_value, v.p_holm, v.n10, v.n01,"
     " v.p_mcnemar, v.mde, v.power, v.margin, v.loss, v.loss_lo, v.loss_hi, v.verdict,"
     " json_array_length(v.flipped_json) AS n_flipped, v.flipped_json FROM eval_verdict AS v"
     " JOIN run AS ua ON ua.id = v.base_run_id JOIN run AS ub ON ub.id = v.run_id"
     " WHERE v.run_id = ?1 OR v.base_run_id = ?1 ORDER BY v.id"},
    {"verdicts",
     "SELECT b.case_key AS base_case_key, c.case_key AS candidate_case_key,"
     " ub.uuid AS base_run, uc.uuid AS candidate_run, v.base_result_id, v.candidate_result_id,"
     " v.metric, v.method, v.n, v.ratio, v.ci_lo, v.ci_hi, v.confidence, v.gate_pct, v.verdict"
     " FROM verdict AS v"
     " JOIN result AS rb ON rb.id = v.base_result_id"
     " JOIN result AS rc ON rc.id = v.candidate_result_id"
     " JOIN bench_case AS b ON b.id = rb.bench_case_id"
     " JOIN bench_case AS c ON c.id = rc.bench_case_id"
     " JOIN run AS ub ON ub.id = rb.run_id JOIN run AS uc ON uc.id = rc.run_id"
     " WHERE v.run_id = ? ORDER BY v.id"},
    {"counters",
     "SELECT k.result_id, k.rep, k.metric, k.value, k.enabled_ns, k.running_ns FROM counter AS k"
     " JOIN result AS r ON r.id = k.result_id WHERE r.run_id = ? ORDER BY k.id"},
};

static json_t *select_rows(struct store *store, const char *sql, int64_t id, struct rml_error *err)
{
    struct query q;
    query_init(&q, store, sql);
    query_int(&q, id);
    return query_rows_json(&q, "reading a run", err);
}

/* The only row, as an object under `key`. */
static bool add_object(json_t *document, const char *key, struct store *store, const char *sql,
                       int64_t id, struct rml_error *err)
{
    json_t *rows = select_rows(store, sql, id, err);
    json_t *row = json_array_get(rows, 0);
    bool ok = row && json_object_set(document, key, row) == 0;
    json_decref(rows);
    return ok || rmli_fail(err, RML_FORMAT, store->path, -1, "the run has no %s", key);
}

/* A text of JSON in a column becomes what it stands for. */
static void unpack(json_t *object, const char *column, const char *key)
{
    const char *text = row_text(object, column);
    json_t *value = text ? json_loads(text, 0, NULL) : NULL;
    json_object_set_new(object, key, value ? value : json_null());
    json_object_del(object, column);
}

static json_t *read_run(struct store *store, int64_t id, struct rml_error *err)
{
    json_t *document = json_object();
    bool ok =
        add_object(document, "run", store, "SELECT * FROM run WHERE id = ?", id, err) &&
        add_object(document, "host", store,
                   "SELECT h.* FROM host AS h JOIN run AS u ON u.host_id = h.id WHERE u.id = ?", id,
                   err) &&
        add_object(document, "build", store,
                   "SELECT b.* FROM build AS b JOIN run AS u ON u.build_id = b.id WHERE u.id = ?",
                   id, err);
    json_t *run = json_object_get(document, "run");
    if (ok) {
        json_object_set_new(run, "state",
                            json_string(run_shown_state(store, id, row_text(run, "state"))));
        unpack(run, "argv_json", "argv");
        unpack(run, "env_json", "env");
    }
    json_t *environment = ok ? select_rows(store,
                                           "SELECT phase, key, value, reason FROM run_env"
                                           " WHERE run_id = ? ORDER BY id",
                                           id, err)
                             : NULL;
    ok = environment && json_object_set_new(document, "environment", environment) == 0;
    json_t *rows = ok ? result_rows_json(store, id, err) : NULL;
    ok = rows && json_object_set_new(document, "rows", rows) == 0;
    for (size_t i = 0; ok && i < sizeof sections / sizeof sections[0]; i++) {
        json_t *section = select_rows(store, sections[i].sql, id, err);
        ok = section && json_object_set_new(document, sections[i].key, section) == 0;
    }
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(document, "evals"), i, row)
        unpack(row, "settings_json", "settings");
    json_array_foreach(json_object_get(document, "eval_verdicts"), i, row)
        unpack(row, "flipped_json", "flipped");
    if (!ok) {
        json_decref(document);
        return NULL;
    }
    return document;
}

/* ---- As text ----------------------------------------------------------------------- */

static void line(struct cli_table *table, const char *name, const char *text)
{
    cell_text(table, name);
    cell_text(table, text);
}

static void print_provenance(const json_t *document)
{
    const json_t *run = json_object_get(document, "run"), *host = json_object_get(document, "host"),
                 *build = json_object_get(document, "build");
    struct cli_table *table = cli_table_create("<field|<value");
    char text[32];
    cli_table_cell(table, "uuid");
    cli_table_cell(table, "%s", row_text(run, "uuid"));
    cli_table_cell(table, "state");
    const json_t *exit_code = json_object_get(run, "exit_code");
    if (json_is_integer(exit_code))
        cli_table_cell(table, "%s, %s, exit code %" JSON_INTEGER_FORMAT, row_text(run, "kind"),
                       row_text(run, "state"), json_integer_value(exit_code));
    else
        cli_table_cell(table, "%s, %s", row_text(run, "kind"), row_text(run, "state"));
    int64_t start_ns = json_integer_value(json_object_get(run, "start_ns"));
    utc_text(start_ns, text);
    cli_table_cell(table, "started");
    const json_t *end_ns = json_object_get(run, "end_ns");
    if (json_is_integer(end_ns))
        cli_table_cell(table, "%s, took %.1f s", text,
                       (double)(json_integer_value(end_ns) - start_ns) / 1e9);
    else
        cli_table_cell(table, "%s", text);
    char *argv = json_dumps(json_object_get(run, "argv"), JSON_COMPACT | JSON_ENCODE_ANY);
    line(table, "command", argv);
    free(argv);
    line(table, "label", row_text(run, "label"));
    cli_table_cell(table, "build");
    const char *commit = row_text(build, "git_commit");
    cli_table_cell(table, "%s%s%s%s", row_text(build, "version"), commit ? ", commit " : "",
                   commit ? commit : "",
                   json_is_true(json_object_get(build, "git_dirty")) ? " with local changes" : "");
    line(table, "binary", row_text(build, "binary_sha256"));
    line(table, "compiler", row_text(build, "compiler"));
    line(table, "flags", row_text(build, "cflags"));
    line(table, "host", row_text(host, "hostname"));
    line(table, "processor", row_text(host, "cpu_model"));
    line(table, "fingerprint", row_text(host, "fingerprint"));
    cli_table_print(table, stdout);
    cli_table_destroy(table);
}

/* A line a key: its value at the start, and at the end where that differs. */
static void print_environment(const json_t *rows)
{
    struct cli_table *table = cli_table_create("<environment|<at the start|<at the end");
    size_t i, j;
    const json_t *row, *other;
    json_array_foreach(rows, i, row)
    {
        if (strcmp(row_text(row, "phase"), "start") != 0)
            continue;
        const char *key = row_text(row, "key"), *value = row_text(row, "value");
        const char *reason = row_text(row, "reason"), *end = NULL;
        json_array_foreach(rows, j, other) if (strcmp(row_text(other, "phase"), "end") == 0 &&
                                               strcmp(row_text(other, "key"), key) == 0) end =
            row_text(other, "value");
        cell_text(table, key);
        cli_table_cell(table, value ? "%s" : "not known: %s", value ? value : reason);
        cell_text(table, end && value && strcmp(end, value) == 0 ? "the same" : end);
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
}

static void cell_real(struct cli_table *table, double x, int n_digits)
{
    if (isnan(x))
        cli_table_cell(table, "-");
    else
        cli_table_cell(table, "%.*g", n_digits, x);
}

static void print_results(const json_t *rows)
{
    struct cli_table *table =
        cli_table_create("<result|>n|>median [95 %]|>MAD|>min|>token/s|>GB/s|>GFLOP/s|<status");
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        char *label = row_case_label(row);
        cell_text(table, label);
        free(label);
        cell_whole(table, row_real(row, "n_samples"));
        cell_interval(table, row_real(row, "median_ns"), row_real(row, "ci_lo_ns"),
                      row_real(row, "ci_hi_ns"));
        cell_time(table, row_real(row, "mad_ns"));
        cell_time(table, row_real(row, "min_ns"));
        cell_figure(table, row_real(row, "tokens_per_second"));
        cell_figure(table, row_real(row, "bytes_per_second") / 1e9);
        cell_figure(table, row_real(row, "flops_per_second") / 1e9);
        const char *error = row_text(row, "error");
        cli_table_cell(table, "%s%s%s%s", row_text(row, "status"), error ? ": " : "",
                       error ? error : "",
                       json_is_true(json_object_get(row, "is_wrong")) ? ", wrong" : "");
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
}

static void print_models(const json_t *rows)
{
    struct cli_table *table =
        cli_table_create("<checkpoint|<arch|<weights|>parameters|>bytes|<content");
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        cell_text(table, row_text(row, "file_name"));
        cell_text(table, row_text(row, "arch"));
        cell_text(table, row_text(row, "weight_dtype"));
        cell_whole(table, row_real(row, "n_params"));
        cell_whole(table, row_real(row, "file_bytes"));
        cli_table_cell(table, "%.12s", row_text(row, "content_sha256"));
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
}

static void print_goldens(const json_t *rows)
{
    struct cli_table *table =
        cli_table_create("<golden|<kind|<model|>positions|>max error|>tolerance|<outcome");
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        const char *first_bad = row_text(row, "first_bad");
        bool passed = json_is_true(json_object_get(row, "passed"));
        cell_text(table, row_text(row, "name"));
        cell_text(table, row_text(row, "kind"));
        cell_text(table, row_text(row, "model"));
        cell_whole(table, row_real(row, "n_positions"));
        cell_real(table, row_real(row, "max_abs_error"), 3);
        cell_real(table, row_real(row, "tolerance"), 3);
        cli_table_cell(table, "%s%s%s", passed ? "passed" : "failed", first_bad ? ": " : "",
                       first_bad ? first_bad : "");
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
}

static void print_scores(const json_t *rows, size_t n_items)
{
    struct cli_table *table = cli_table_create("<task|<metric|>value|>standard error|>n");
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        cell_text(table, row_text(row, "task"));
        cell_text(table, row_text(row, "metric"));
        cell_real(table, row_real(row, "value"), 9);
        cell_real(table, row_real(row, "stderr"), 3);
        cell_whole(table, row_real(row, "n"));
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
    if (n_items > 0)
        printf("%zu scored item%s (--json has all of it)\n", n_items, cli_plural(n_items));
}

static void print_verdicts(const json_t *rows)
{
    struct cli_table *table =
        cli_table_create("<compared|<metric|>n|>ratio|>from|>to|>confidence|>gate|<verdict");
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        cell_text(table, row_text(row, "candidate_case_key"));
        cell_text(table, row_text(row, "metric"));
        cell_whole(table, row_real(row, "n"));
        cell_ratio(table, row_real(row, "ratio"));
        cell_ratio(table, row_real(row, "ci_lo"));
        cell_ratio(table, row_real(row, "ci_hi"));
        cell_real(table, row_real(row, "confidence"), 6);
        double gate = row_real(row, "gate_pct");
        cli_table_cell(table, isnan(gate) ? "-" : "%g %%", gate);
        cell_text(table, row_text(row, "verdict"));
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
}

/* Where a task's numbers come from. */
static void print_evals(const json_t *rows)
{
    struct cli_table *table =
        cli_table_create("<task|<protocol|<model|<weights|<arithmetic|<kv|<against|>threads");
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        const char *base = row_text(row, "base_model");
        const char *k = row_text(row, "k_dtype"), *v = row_text(row, "v_dtype");
        const char *base_k = row_text(row, "base_k_dtype"), *base_v = row_text(row, "base_v_dtype");
        cell_text(table, row_text(row, "task"));
        cell_text(table, row_text(row, "protocol"));
        cell_text(table, row_text(row, "model"));
        cell_text(table, row_text(row, "weight_dtype"));
        cell_text(table, row_text(row, "arithmetic"));
        cli_table_cell(table, k && v ? "%s:%s" : "-", k, v);
        if (base)
            cli_table_cell(table, "%s, %s, kv %s:%s", base, row_text(row, "base_arithmetic"),
                           base_k, base_v);
        else
            cell_text(table, NULL);
        cell_whole(table, row_real(row, "threads"));
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
}

/* The same runs may be compared at several confidences and judged by several margins: what flipped
 * is the same for all of these. */
static bool is_told_before(const json_t *verdicts, size_t i)
{
    static const char *const keys[] = {"task", "metric", "base_run", "candidate_run", "flipped"};
    for (size_t j = 0; j < i; j++) {
        bool is_same = true;
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
            is_same &= json_equal(json_object_get(json_array_get(verdicts, i), keys[k]),
                                  json_object_get(json_array_get(verdicts, j), keys[k])) == 1;
        if (is_same)
            return true;
    }
    return false;
}

static void print_flipped(const json_t *verdict)
{
    size_t i;
    const json_t *item;
    json_array_foreach(json_object_get(verdict, "flipped"), i, item)
    {
        if (i == 0)
            printf("\nitems of %s that flipped in %s\n", row_text(verdict, "task"),
                   row_text(verdict, "metric"));
        const char *text = row_text(item, "text");
        printf("  %s: right in %s only%s%.100s\n", row_text(item, "id"),
               row_real(item, "a") > row_real(item, "b") ? "the base" : "the candidate",
               text ? ": " : "", text ? text : "");
    }
}

static void print_eval_verdicts(const json_t *rows)
{
    struct cli_table *table = cli_table_create(
        "<task|<metric|<base|<candidate|>n|>base|>candidate|>difference|>from|>to|>p (Holm)|"
        ">McNemar p|>detectable|>flipped|>margin|<verdict");
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        cell_text(table, row_text(row, "task"));
        cell_text(table, row_text(row, "metric"));
        cli_table_cell(table, "%.8s", row_text(row, "base_run"));
        cli_table_cell(table, "%.8s", row_text(row, "candidate_run"));
        cell_whole(table, row_real(row, "n"));
        static const char *const figures[] = {"a",     "b",      "difference", "ci_lo",
                                              "ci_hi", "p_holm", "p_mcnemar",  "mde"};
        for (size_t k = 0; k < sizeof figures / sizeof figures[0]; k++)
            cell_real(table, row_real(row, figures[k]), 4);
        cell_whole(table, row_real(row, "n_flipped"));
        cell_real(table, row_real(row, "margin"), 4);
        cell_text(table, row_text(row, "verdict"));
    }
    cli_table_print(table, stdout);
    cli_table_destroy(table);
    json_array_foreach(rows, i, row)
    {
        if (!is_told_before(rows, i))
            print_flipped(row);
    }
}

/* A table of its own, when there are rows. */
static void print_section(const json_t *rows, void (*print)(const json_t *rows))
{
    if (json_array_size(rows) == 0)
        return;
    putchar('\n');
    print(rows);
}

static void print_run(const json_t *document)
{
    const json_t *metrics = json_object_get(document, "eval_metrics");
    size_t n_items = json_array_size(json_object_get(document, "eval_items"));
    print_provenance(document);
    putchar('\n');
    print_environment(json_object_get(document, "environment"));
    print_section(json_object_get(document, "models"), print_models);
    print_section(json_object_get(document, "rows"), print_results);
    print_section(json_object_get(document, "goldens"), print_goldens);
    print_section(json_object_get(document, "evals"), print_evals);
    if (json_array_size(metrics) + n_items > 0) {
        putchar('\n');
        print_scores(metrics, n_items);
    }
    print_section(json_object_get(document, "eval_verdicts"), print_eval_verdicts);
    print_section(json_object_get(document, "verdicts"), print_verdicts);
}

/* ---- Command -------------------------------------------------------------------------- */

struct arguments {
    const char *db, *run;
};

static const struct argp_option options[] = {RESULTS_DB_OPTION, {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (a->run)
            argp_error(state, "'%s' found, expected one RUN", arg);
        a->run = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->run)
            argp_error(state, "no RUN found, expected an id, a uuid or its start, a label, or "
                              "last");
        return 0;
    default:
        return results_parse_db(key, arg, state, &a->db);
    }
}

int results_show_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "RUN",
        .doc = "Shows one run: where its numbers come from, the state of the machine, results, "
               "goldens, scores and verdicts. RUN is an id, a uuid or at least 4 of its first "
               "characters, a label (the newest run that has it), or 'last'.\v"
               "Example:\n\n"
               "  rml-results show last"};
    struct cli_options common;
    struct arguments a = {0};
    cli_parse(&common, CLI_OPT_JSON, &argp, argc, argv, &a);

    struct rml_error err = RML_ERROR_INIT;
    int64_t run_id;
    struct store *store = results_open(a.db, &err);
    json_t *document =
        store && store_find_run(store, a.run, &run_id, &err) ? read_run(store, run_id, &err) : NULL;
    store_close(store);
    return results_print(document, common.json, print_run, &err);
}
