/*
 * rml-results: what is in the results database, as tables and charts.
 */
#include "results/commands.h"

#include <errno.h>
#include <limits.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

static const struct cli_command commands[] = {
    {"list", "the runs, newest first", results_list_main},
    {"show", "one run: provenance, environment, results, goldens, scores, verdicts",
     results_show_main},
    {"compare", "two runs, case by case", results_compare_main},
    {"history", "a case over time, and where it changed", results_history_main},
    {"merge", "take the runs of other databases into this one", results_merge_main},
    {"import", "take over files of llama-bench, Google Benchmark or hyperfine",
     results_import_main},
    {"export", "results or samples as CSV or JSON", results_export_main},
    {"annotate", "note what is known about a case, a machine or a commit", results_annotate_main},
    {"prune", "delete old runs", results_prune_main},
    {"migrate", "bring an older schema up to date, keeping a copy", results_migrate_main},
    {"check", "is the database sound, and which runs died", results_check_main},
    {"plot", "draw a chart with gnuplot", results_plot_main},
    {"report", "one HTML page with all of it", results_report_main},
    {0},
};

static const struct cli_program program = {
    .summary = "Shows, compares and keeps what is in the results database.",
    .commands = commands,
};

error_t results_parse_db(int key, char *arg, struct argp_state *state, const char **db)
{
    switch (key) {
    case RESULTS_KEY_DB:
        if (!*arg)
            argp_error(state, "--db: '' found, expected the name of a file");
        *db = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' found, expected no argument", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

struct store *results_open(const char *db, struct rml_error *err)
{
    char path[PATH_MAX];
    return store_path(db, path, sizeof path, err) ? store_open(path, STORE_READ, err) : NULL;
}

struct store *results_open_writable(const char *db, struct rml_error *err)
{
    char path[PATH_MAX];
    if (!store_path(db, path, sizeof path, err))
        return NULL;
    if (access(path, F_OK) != 0) {
        rmli_fail(err, RML_NOT_FOUND, path, -1, "no results database there: %s", strerror(errno));
        return NULL;
    }
    return store_open(path, STORE_WRITE, err);
}

int results_print(json_t *document, bool json, void (*print)(const json_t *document),
                  const struct rml_error *err)
{
    if (!document)
        return cli_error(err);
    if (json)
        cli_json_print(document, 17);
    else
        print(document);
    json_decref(document);
    return CLI_PASS;
}

void results_print_rows(bool json, const char *key, json_t *rows, struct cli_table *table)
{
    json_t *document = json ? json_pack("{sO}", key, rows) : NULL;
    if (json)
        cli_json_print(document, 17);
    else
        cli_table_print(table, stdout);
    json_decref(document);
}

int main(int argc, char **argv)
{
    return cli_run(&program, argc, argv);
}
