/*
 * rml-results plot KIND -o FILE
 */
#include <stdlib.h>
#include <string.h>

#include "results/commands.h"
#include "results/plot.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

struct arguments {
    const struct plot_kind *kind;
    const char *db, *output, *data;
};

enum { KEY_DATA = CLI_OWN_KEY };

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "Where the chart goes; its ending says how it is drawn: .svg, .png or .txt ('-': text on "
     "standard output)",
     1},
    {"data", KEY_DATA, "FILE", 0, "Keep the data file that the script draws from", 1},
    RESULTS_DB_OPTION,
    {0},
};

static const struct plot_kind *find_kind(const char *name)
{
    const struct plot_kind *kind = plot_kinds;
    while (kind->name && strcmp(kind->name, name) != 0)
        kind++;
    return kind->name ? kind : NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'o':
        if (!plot_output_is_known(arg))
            argp_error(state, "-o: '%s' found, expected a name that ends in .svg, .png or .txt",
                       arg);
        a->output = arg;
        return 0;
    case RESULTS_KEY_DB:
        a->db = results_db_argument(state, arg);
        return 0;
    case KEY_DATA:
        a->data = cli_arg_output(state, "--data", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "'%s' found, expected one KIND", arg);
        a->kind = find_kind(arg);
        if (!a->kind)
            argp_error(state, "KIND: '%s' found, expected throughput-by-kv", arg);
        return 0;
    case ARGP_KEY_END:
        if (!a->kind)
            argp_error(state, "no KIND found, expected throughput-by-kv");
        if (!a->output)
            argp_error(state, "no output found, expected -o FILE");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
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
        fprintf(out, "  %-20s %s\n", kind->name, kind->summary);
    fprintf(out, "\nExample:\n\n  rml-results plot %s -o chart.svg", plot_kinds[0].name);
    fclose(out);
    return help; /* freed by argp */
}

int results_plot_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "KIND",
        .doc = "Draws a chart from the results database with gnuplot. Scripts are plain files "
               "(RML_PLOTS_DIR names a folder with changed ones).\v",
        .help_filter = list_kinds};
    struct arguments a = {0};
    struct cli_options common;
    cli_parse(&common, 0, &argp, argc, argv, &a);

    struct rml_error err = RML_ERROR_INIT;
    struct store *store = results_open(a.db, &err);
    bool ok = store && plot_draw(a.kind, store, a.output, a.data, &err);
    store_close(store);
    return ok ? CLI_PASS : cli_error(&err);
}
