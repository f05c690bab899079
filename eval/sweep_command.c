/*
 * rml-eval sweep: what settings and variants of a checkpoint cost in quality, and save in memory
 * and time, in one table.
 */
#include "eval/sweep_command.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval_commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/output_names.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"
#include "tools/cli/stored_run.h"

enum { KEY_KV = CLI_OWN_KEY, KEY_ARITHMETIC, KEY_VARIANT, KEY_PLAN };

struct arguments {
    struct cli_options options;
    struct eval_options eval_options;
    struct text_options text;
    struct sweep_request request;
    const char **checkpoints; /* [1 + variants] */
    size_t n_checkpoints;
    char **files; /* [n_files] borrowed from argv */
    size_t n_files;
    const char *output;
    bool plan;
};

static const struct argp_option option_table[] = {
    {"variant", KEY_VARIANT, "CHECKPOINT", 0,
     "Another checkpoint with the same tokens, such as one that rml-quantize made; may be given "
     "again",
     1},
    {"kv", KEY_KV, "LIST", 0,
     "Cache types K or K:V with commas between (all nine pairs of f32, f16 and i8)", 1},
    {"arithmetic", KEY_ARITHMETIC, "LIST", 0, "f32, i8 or both with a comma between (f32,i8)", 1},
    {"output", 'o', "FILE", 0, "Write the table as .json, .csv or .md (-: JSON on standard output)",
     3},
    {"plan", KEY_PLAN, NULL, 0, "List the settings with their memory, and run none", 3},
    TEXT_OPTION_KEYS(2),
    EVAL_OPTION_KEYS,
    {0},
};

static void parse_kv(struct sweep_request *r, char *arg, struct argp_state *state)
{
    char **words;
    size_t n = cli_arg_words(state, "--kv", arg, &words);
    free(r->kv);
    r->kv = calloc(n + 1, sizeof *r->kv);
    if (!r->kv)
        argp_failure(state, CLI_ERROR, 0, "no memory for --kv");
    r->n_kv = 0;
    for (size_t i = 0; i < n; i++) {
        struct sweep_kv kv;
        cli_arg_kv(state, "--kv", words[i], &kv.k, &kv.v);
        for (size_t k = 0; k < r->n_kv; k++)
            if (r->kv[k].k == kv.k && r->kv[k].v == kv.v)
                argp_error(state, "--kv: '%s' found twice", words[i]);
        r->kv[r->n_kv++] = kv;
    }
    free(words);
}

static void parse_arithmetics(struct sweep_request *r, char *arg, struct argp_state *state)
{
    char **words;
    size_t n = cli_arg_words(state, "--arithmetic", arg, &words);
    r->n_arithmetics = 0;
    for (size_t i = 0; i < n; i++) {
        enum rml_arithmetic arithmetic;
        if (!rml_arithmetic_parse(words[i], &arithmetic))
            argp_error(state, "--arithmetic: '%s' found, expected f32, i8 or both", words[i]);
        if (i > 1 || (i == 1 && r->arithmetics[0] == arithmetic))
            argp_error(state, "--arithmetic: '%s' found twice", words[i]);
        r->arithmetics[r->n_arithmetics++] = arithmetic;
    }
    free(words);
}

static bool to_stdout(const struct arguments *a)
{
    return a->output && strcmp(a->output, "-") == 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_KV:
        parse_kv(&a->request, arg, state);
        return 0;
    case KEY_ARITHMETIC:
        parse_arithmetics(&a->request, arg, state);
        return 0;
    case KEY_VARIANT:
        a->checkpoints[a->n_checkpoints++] = arg;
        return 0;
    case KEY_PLAN:
        a->plan = true;
        return 0;
    case 'o':
        a->output = cli_arg_output(state, "-o", arg);
        if (!sweep_output_fits(arg))
            argp_error(state,
                       "-o: '%s' found, expected a name that ends in .json, .csv or .md, or -",
                       arg);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0)
            a->checkpoints[0] = arg;
        else
            a->files[a->n_files++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->n_files == 0)
            argp_error(state, "expected a checkpoint and at least one text file");
        if (a->options.json && to_stdout(a))
            argp_error(state, "--json and -o - both want standard output");
        return text_command_parse(&a->text, &a->eval_options, key, arg, state);
    default:
        return text_command_parse(&a->text, &a->eval_options, key, arg, state);
    }
}

static const struct argp sweep_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "CHECKPOINT FILE...",
    .doc =
        "Kullback-Leibler divergence, perplexity, memory and speed of a checkpoint in every pair "
        "of cache types and both arithmetics, and of variants of it, against one base: the "
        "checkpoint in f32 arithmetic with an f32 cache.\n\n"
        "All settings run side by side, window by window, and the base once for all of them. "
        "tokens/s is of their forward passes while they take turns, and x base the median over "
        "passes of the base's time by theirs; decode/s is what rml-bench decoder has measured of "
        "the same setting on this host, where the database has it. KV MB is the cache of one "
        "window.\n\n"
        "Each setting is a run in the database; without --label theirs is sweep- and a hash of "
        "what the sweep is of. What was finished is found again by its content "
        "(scores of rml-eval kld, too), so a sweep that was stopped goes on where it was.\v"
        "Example: a quantised checkpoint against the original, with three caches:\n\n"
        "  rml-eval sweep model-f16.gguf wiki.txt --variant model-q4_k.gguf \\\n"
        "      --kv f32,f16,i8\n"
        "  rml-results plot quality -o quality.png"};

/* ---- Running ------------------------------------------------------------------------------------- */

/* What was not run has no speed. */
static void tell_kept(const struct sweep *sweep)
{
    size_t n = 0;
    for (size_t i = 0; i < sweep->n_settings; i++)
        n += sweep->settings[i].run.n_reused > 0 && sweep->settings[i].run.n_computed == 0;
    if (n > 0)
        cli_note("%zu of %zu settings were kept before and have no speed here (--fresh runs all "
                 "anew)",
                 n, sweep->n_settings);
}

static bool report(const struct arguments *a, const struct sweep *sweep, struct rml_error *err)
{
    json_t *document = sweep_json(sweep, a->plan);
    if (!document)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a table");
    bool ok = !a->output || sweep_write(document, a->output, err);
    if (ok && a->options.json)
        cli_json_print(document, 17);
    else if (ok && !to_stdout(a))
        sweep_print(document, a->plan);
    if (ok)
        tell_kept(sweep);
    json_decref(document);
    return ok;
}

static int run(struct arguments *a, struct rml_thread_pool *pool, struct rml_error *err)
{
    struct documents documents = {0};
    struct sweep sweep = {0};
    struct store *store = NULL;
    bool ok = text_options_read(&a->text, a->files, a->n_files, &documents, err) &&
              sweep_init(&sweep, &a->request, &documents, pool, err);
    if (ok && !a->plan)
        ok = cli_store_open(&a->options, &store, err) && sweep_run(&sweep, store, err);
    if (ok)
        report(a, &sweep, err);
    int code = eval_exit(err, CLI_PASS);
    code = sweep_end(&sweep, store, code);
    store_close(store);
    sweep_release(&sweep);
    documents_release(&documents);
    return code;
}

/* All pairs of cache types, both arithmetics. */
static bool set_defaults(struct sweep_request *r)
{
    static const enum rml_kv_dtype types[] = {RML_KV_F32, RML_KV_F16, RML_KV_I8};
    r->kv = calloc(9, sizeof *r->kv);
    for (size_t i = 0; r->kv && i < 9; i++)
        r->kv[r->n_kv++] = (struct sweep_kv){types[i / 3], types[i % 3]};
    r->arithmetics[r->n_arithmetics++] = RML_ARITHMETIC_F32;
    r->arithmetics[r->n_arithmetics++] = RML_ARITHMETIC_I8;
    return r->kv != NULL;
}

int eval_sweep_main(int argc, char **argv)
{
    struct arguments a = {.n_checkpoints = 1};
    a.files = calloc((size_t)argc + 1, sizeof *a.files);
    a.checkpoints = calloc((size_t)argc + 1, sizeof *a.checkpoints);
    if (!a.files || !a.checkpoints || !set_defaults(&a.request)) {
        free(a.checkpoints);
        free(a.files);
        return cli_fail(RML_NO_MEMORY, NULL, "no memory for the arguments");
    }
    cli_parse(&a.options, CLI_OPT_THREADS | CLI_OPT_CTX | CLI_OPT_DB | CLI_OPT_JSON | CLI_OPT_SEED,
              &sweep_argp, argc, argv, &a);
    a.request.options = &a.options;
    a.request.eval_options = &a.eval_options;
    a.request.text = &a.text;
    a.request.checkpoints = a.checkpoints;
    a.request.n_checkpoints = a.n_checkpoints;
    struct rml_error err = RML_ERROR_INIT;
    struct rml_thread_pool *pool = rml_thread_pool_create(a.options.threads, &err);
    int code = pool ? run(&a, pool, &err) : cli_error(&err);
    rml_thread_pool_destroy(pool);
    free(a.request.kv);
    free(a.checkpoints);
    free(a.files);
    return code;
}
