/*
 * The table of common options.
 */
#include "tools/cli/options.h"

#include <stdlib.h>
#include <string.h>

#include "tools/cli/exit_codes.h"
#include "tools/cli/output_names.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

enum {
    KEY_THREADS = 0x1000,
    KEY_ARITHMETIC,
    KEY_KV,
    KEY_CTX,
    KEY_DB,
    KEY_NO_DB,
    KEY_JSON,
    KEY_SEED
};

static const struct {
    unsigned accepted; /* 0: always */
    struct argp_option option;
} table[] = {
    {CLI_OPT_THREADS,
     {"threads", KEY_THREADS, "N", 0,
      "Worker threads (RML_THREADS, else the physical cores this process may use)", 1}},
    {CLI_OPT_ARITHMETIC,
     {"arithmetic", KEY_ARITHMETIC, "f32|i8", 0,
      "Activations: f32 is exact, i8 is faster where weights are quantised", 1}},
    {CLI_OPT_KV,
     {"kv", KEY_KV, "K[:V]", 0, "Type of cached keys, and of values if apart: f32, f16 or i8", 1}},
    {CLI_OPT_CTX, {"ctx", KEY_CTX, "N", 0, "Context length in tokens", 1}},
    {CLI_OPT_SEED, {"seed", KEY_SEED, "N", 0, "Seed of everything random (0)", 1}},
    {CLI_OPT_DB_FILE,
     {"db", KEY_DB, "FILE", 0,
      "Results database (RML_DB; else results/rml.db if ./results exists; else "
      "$XDG_DATA_HOME/rml/rml.db)",
      2}},
    {CLI_OPT_NO_DB, {"no-db", KEY_NO_DB, NULL, 0, "Record nothing", 2}},
    {CLI_OPT_JSON, {"json", KEY_JSON, NULL, 0, "Print one JSON document on standard output", 2}},
    {0, {"quiet", 'q', NULL, 0, "Say less on standard error", 3}},
    {0, {"verbose", 'v', NULL, 0, "Say more on standard error", 3}},
};
#define N_TABLE (sizeof table / sizeof table[0])

bool cli_common_takes_value(const char *name)
{
    for (size_t i = 0; i < N_TABLE; i++)
        if (strcmp(table[i].option.name, name) == 0)
            return table[i].option.arg != NULL;
    return false;
}

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
    struct cli_options *options = state->input;
    switch (key) {
    case KEY_THREADS:
        options->threads = (unsigned)cli_arg_u64(state, "--threads", arg, 1, RML_MAX_THREADS);
        return 0;
    case KEY_ARITHMETIC:
        if (!rml_arithmetic_parse(arg, &options->arithmetic))
            argp_error(state, "--arithmetic: '%s' found, expected f32 or i8", arg);
        options->arithmetic_given = true;
        return 0;
    case KEY_KV:
        cli_arg_kv(state, "--kv", arg, &options->k_dtype, &options->v_dtype);
        options->kv_given = true;
        return 0;
    case KEY_CTX:
        options->ctx = (size_t)cli_arg_u64(state, "--ctx", arg, 1, INT32_MAX);
        return 0;
    case KEY_SEED:
        options->seed = cli_arg_u64(state, "--seed", arg, 0, UINT64_MAX);
        options->seed_given = true;
        return 0;
    case KEY_DB:
        if (!*arg)
            argp_error(state, "--db: '' found, expected the name of a file");
        options->db = arg;
        return 0;
    case KEY_NO_DB:
        options->no_db = true;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case 'q':
        options->verbosity = -1;
        return 0;
    case 'v':
        options->verbosity = options->verbosity < 0 ? 1 : options->verbosity + 1;
        return 0;
    case ARGP_KEY_END:
        if (options->db && options->no_db)
            argp_error(state, "--db and --no-db exclude each other");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The root of the parser has no options: it hands each child its input. */
struct inputs {
    void *own;
    struct cli_options *options;
};

static error_t parse_root(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key == ARGP_KEY_INIT) {
        struct inputs *inputs = state->input;
        state->child_inputs[0] = inputs->own;
        state->child_inputs[1] = inputs->options;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

void cli_parse(struct cli_options *options, unsigned accepted, const struct argp *own, int argc,
               char **argv, void *own_input)
{
    *options = (struct cli_options){0};

    struct argp_option common_options[N_TABLE + 1] = {0};
    size_t n = 0;
    for (size_t i = 0; i < N_TABLE; i++)
        if (table[i].accepted == 0 || (table[i].accepted & accepted))
            common_options[n++] = table[i].option;
    const struct argp common = {.options = common_options, .parser = parse_common};

    const struct argp own_options = {
        .options = own->options, .parser = own->parser, .help_filter = own->help_filter};
    const struct argp_child children[] = {
        {.argp = &own_options}, {.argp = &common, .header = "Common options:", .group = 10}, {0}};
    const struct argp root = {
        .parser = parse_root, .args_doc = own->args_doc, .doc = own->doc, .children = children};
    struct inputs inputs = {.own = own_input, .options = options};
    if (argp_parse(&root, argc, argv, 0, NULL, &inputs) != 0)
        exit(CLI_ERROR);
    cli_report_setup(options->json, options->verbosity);
    struct rml_error err = RML_ERROR_INIT;
    if (!cli_outputs_check(&err))
        exit(cli_error(&err));
}
