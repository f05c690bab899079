/*
 * rml-results plot KIND [-o FILE]
 */
#include <stdlib.h>
#include <string.h>

#include "results/commands.h"
#include "results/plot.h"
#include "results/run_select.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/output_names.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

struct arguments {
    const struct plot_kind *kind;
    const char *db, *output, *data;
    char **runs; /* names, ending with NULL; or NULL */
    struct plot_selection selection;
};

enum {
    KEY_DATA = CLI_OWN_KEY,
    KEY_RUN,
    KEY_HOST,
    KEY_SUITE,
    KEY_CASE,
    KEY_ENGINE,
    KEY_MODEL,
    KEY_SINCE
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "Where the chart goes; its ending says how it is drawn: .svg, .png or .txt (-: text on "
     "standard output)",
     1},
    {"data", KEY_DATA, "FILE", 0, "Keep the data file that the script draws from", 1},
    RESULTS_DB_OPTION,
    {"run", KEY_RUN, "LIST", 0,
     "Only these runs, named as for show but that a label means all runs that have it (all of the "
     "host and build of the newest complete run that has such rows)",
     2},
    {"host", KEY_HOST, "GLOB", 0, "Only hosts of this name or fingerprint", 2},
    {"suite", KEY_SUITE, "GLOB", 0, "Only cases of these suites", 2},
    {"case", KEY_CASE, "GLOB", 0, "Only cases of this name", 2},
    {"engine", KEY_ENGINE, "GLOB", 0, "Only these engines", 2},
    {"model", KEY_MODEL, "GLOB", 0, "Only checkpoints of this file name", 2},
    {"since", KEY_SINCE, "TIME", 0,
     "Only runs begun at TIME or later: 2026-11-30, 2026-11-30T14:05[:30] (UTC), or an age: 12h, "
     "30d",
     2},
    {0},
};

/* "a, b or c" */
static void write_kinds(char *text, size_t nbytes)
{
    size_t used = 0;
    for (const struct plot_kind *k = plot_kinds; k->name && used < nbytes; k++)
        used += (size_t)snprintf(text + used, nbytes - used, "%s%s",
                                 k == plot_kinds ? ""
                                 : k[1].name     ? ", "
                                                 : " or ",
                                 k->name);
}

static const char *pattern(struct argp_state *state, const char *option, const char *arg)
{
    if (!*arg)
        argp_error(state, "%s: '' found, expected a name or a pattern", option);
    return arg;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    struct plot_selection *s = &a->selection;
    char kinds[512];
    write_kinds(kinds, sizeof kinds);
    switch (key) {
    case 'o':
        if (!plot_output_is_known(arg))
            argp_error(state, "-o: '%s' found, expected a name that ends in .svg, .png or .txt",
                       arg);
        a->output = cli_arg_output(state, "-o", arg);
        return 0;
    case KEY_DATA:
        a->data = cli_arg_output(state, "--data", arg);
        return 0;
    case KEY_RUN:
        free(a->runs);
        cli_arg_words(state, "--run", arg, &a->runs);
        return 0;
    case KEY_HOST:
        s->host = pattern(state, "--host", arg);
        return 0;
    case KEY_SUITE:
        s->suite = pattern(state, "--suite", arg);
        return 0;
    case KEY_CASE:
        s->case_name = pattern(state, "--case", arg);
        return 0;
    case KEY_ENGINE:
        s->engine = pattern(state, "--engine", arg);
        return 0;
    case KEY_MODEL:
        s->model = pattern(state, "--model", arg);
        return 0;
    case KEY_SINCE:
        arg_utc(state, "--since", arg, &s->since_ns);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "'%s' found, expected one KIND", arg);
        a->kind = plot_find_kind(arg);
        if (!a->kind)
            argp_error(state, "KIND: '%s' found, expected %s", arg, kinds);
        return 0;
    case ARGP_KEY_END:
        if (!a->kind)
            argp_error(state, "no KIND found, expected %s", kinds);
        return 0;
    default:
        return results_parse_db(key, arg, state, &a->db);
    }
}

/* The kinds stand at the end of --help. */
static char *list_kinds(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)text;
    char *help = NULL;
    size_t nbytes = 0;
    FILE *out = open_memstream(&help, &nbytes);
    if (!out)
        return (char *)text;
    fprintf(out, "Kinds:\n");
    for (const struct plot_kind *kind = plot_kinds; kind->name; kind++)
        fprintf(out, "  %-22s %s\n", kind->name, kind->summary);
    fprintf(out, "\nExamples:\n\n"
                 "  rml-results plot throughput-by-kv -o chart.svg\n"
                 "  rml-results plot throughput-by-depth --case 'llama-3-8b*'");
    fclose(out);
    return help; /* freed by argp */
}

int results_plot_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "KIND",
        .doc = "Draws a chart from the results database with gnuplot; without -o on the terminal. "
               "Scripts are plain files: copy the folder results/plots (installed: "
               "share/rml/plots), change them, and name it in RML_PLOTS_DIR.",
        .help_filter = list_kinds};
    struct arguments a = {.output = "-", .selection = {.since_ns = INT64_MIN}};
    struct cli_options common;
    cli_parse(&common, 0, &argp, argc, argv, &a);

    struct rml_error err = RML_ERROR_INIT;
    struct store *store = results_open(a.db, &err);
    bool ok = store && plot_selection_find(&a.selection, store, a.runs, &err) &&
              plot_draw(a.kind, store, &a.selection, a.output, a.data, &err);
    store_close(store);
    free(a.selection.runs);
    free(a.runs);
    return ok ? CLI_PASS : cli_error(&err);
}
