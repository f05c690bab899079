/*
 * rml-results report -o FILE
 */
#include "results/commands.h"
#include "results/html_report.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/output.h"
#include "tools/cli/output_names.h"
#include "tools/cli/report.h"

struct arguments {
    const char *db, *output;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "Where the page goes (-: standard output)", 1},
    RESULTS_DB_OPTION,
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'o':
        a->output = cli_arg_output(state, "-o", arg);
        return 0;
    default:
        return results_parse_db(key, arg, state, &a->db);
    }
}

int results_report_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Writes one HTML page with everything that the database has: comparisons, charts, "
               "goldens, evaluations, measurements, runs, machines and builds. It needs no "
               "network, and is the same for the same database. A chart that cannot be drawn "
               "becomes a line of the page that says why; the rest is written, and the exit code "
               "is 1.\v"
               "Example:\n\n"
               "  rml-results report -o report.html"};
    struct arguments a = {.output = "-"};
    struct cli_options common;
    cli_parse(&common, 0, &argp, argc, argv, &a);

    struct rml_error err = RML_ERROR_INIT;
    struct cli_output out = {0};
    struct store *store = results_open(a.db, &err);
    bool ok = store && cli_output_open(&out, a.output, &err);
    size_t n_failed = 0;
    if (ok && !report_write(store, out.stream, &n_failed, &err)) {
        cli_output_abandon(&out);
        ok = false;
    }
    ok = ok && cli_output_commit(&out, &err);
    store_close(store);
    if (!ok)
        return cli_error(&err);
    return n_failed ? CLI_ERROR : CLI_PASS; /* each was said */
}
