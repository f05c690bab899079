/*
 * rml-golden check: golden files against one checkpoint.
 */
#include "goldens/golden_commands.h"

#include <math.h>
#include <stdlib.h>

#include "goldens/golden_judge.h"
#include "goldens/golden_report.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

enum { KEY_TOLERANCE = CLI_OWN_KEY, KEY_RESIDUAL_REL, KEY_ANY_MODEL };

struct check {
    struct cli_options options;
    struct golden_overrides overrides;
    const char *checkpoint;
    char **files; /* [n_files] borrowed from argv */
    size_t n_files;
};

static const struct argp_option check_options[] = {
    {"tolerance", KEY_TOLERANCE, "X", 0,
     "Largest error of a logit and of a logsumexp, instead of the file's", 0},
    {"residual-rel", KEY_RESIDUAL_REL, "X", 0,
     "Largest error of a residual fingerprint relative to its norm, instead of the file's; "
     "compares them even where arithmetic or cache types are not the file's",
     0},
    {"any-model", KEY_ANY_MODEL, NULL, 0,
     "Judge by the numbers alone when the file is about a checkpoint of other content", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct check *check = state->input;
    switch (key) {
    case KEY_TOLERANCE:
        check->overrides.logit_abs = cli_arg_f64(state, "--tolerance", arg, 0, 1e30);
        return 0;
    case KEY_RESIDUAL_REL:
        check->overrides.residual_rel = cli_arg_f64(state, "--residual-rel", arg, 0, 1e30);
        return 0;
    case KEY_ANY_MODEL:
        check->overrides.any_model = true;
        return 0;
    case ARGP_KEY_ARG:
        if (!check->checkpoint)
            check->checkpoint = arg;
        else
            check->files[check->n_files++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (check->n_files == 0)
            argp_error(state, "expected a checkpoint and at least one golden file");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp check_argp = {
    .options = check_options,
    .parser = parse,
    .args_doc = "CHECKPOINT FILE...",
    .doc = "Compares the checkpoint's numbers with golden files.\n\n"
           "Exits 0 when all agree, 4 when some do not, 6 when a file is about another checkpoint. "
           "A file's arithmetic, cache types and tolerances hold unless options say otherwise.\v"
           "Example: does the quantised cache stay within what the golden allows:\n\n"
           "  rml-golden check model.gguf fact.json --kv i8"};

/* All files are read before any work, so that a bad one costs nothing. */
static struct golden **read_goldens(const struct check *check, struct rml_error *err)
{
    struct golden **goldens = calloc(check->n_files + 1, sizeof(struct golden *));
    if (!goldens) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the golden files");
        return NULL;
    }
    for (size_t i = 0; i < check->n_files; i++) {
        goldens[i] = golden_read(check->files[i], err);
        if (!goldens[i]) {
            while (i-- > 0)
                golden_destroy(goldens[i]);
            free(goldens);
            return NULL;
        }
    }
    return goldens;
}

static int judge_all(const struct check *check, struct golden **goldens,
                     struct golden_verdict *verdicts, struct golden_run *run,
                     struct rml_thread_pool *pool, struct rml_error *err)
{
    struct golden_engine engine;
    if (!golden_engine_init(&engine, check->checkpoint, pool, err))
        return CLI_ERROR;
    size_t n_judged = 0;
    bool ok = true;
    for (size_t i = 0; i < check->n_files && ok; i++, n_judged++) {
        if (!golden_verdict_init(&verdicts[i], check->files[i], check->checkpoint))
            ok = rmli_fail(err, RML_NO_MEMORY, check->files[i], -1, "no memory for its verdict");
        else
            ok = golden_judge(&engine, goldens[i], &check->options, &check->overrides, run,
                              &verdicts[i], err);
        if (ok && verdicts[i].status == GOLDEN_BROKEN)
            ok = rmli_fail(err, verdicts[i].error.code, verdicts[i].error.file,
                           verdicts[i].error.offset, "%s", verdicts[i].error.message);
    }
    golden_engine_release(&engine);
    cli_progress_clear();

    bool interrupted = !ok && err->code == RML_CANCELLED;
    if (!ok && !interrupted)
        return CLI_ERROR;
    if (check->options.json)
        golden_print_json(verdicts, n_judged);
    else
        golden_print_cases(verdicts, n_judged, stdout);
    if (interrupted)
        cli_note("interrupted in golden %zu of %zu", n_judged, check->n_files);
    return interrupted ? cli_interrupted_code() : (int)golden_exit_code(verdicts, n_judged);
}

int golden_check_main(int argc, char **argv)
{
    struct check check = {.overrides = {.logit_abs = -1, .residual_rel = -1}};
    check.files = calloc((size_t)argc + 1, sizeof *check.files);
    if (!check.files)
        return cli_fail(RML_NO_MEMORY, NULL, "no memory for the arguments");
    cli_parse(&check.options, CLI_OPT_RUN_MODEL | CLI_OPT_DB | CLI_OPT_JSON, &check_argp, argc,
              argv, &check);

    struct rml_error err = RML_ERROR_INIT;
    struct golden_run run = {0};
    int code = CLI_ERROR;
    struct golden **goldens = read_goldens(&check, &err);
    struct golden_verdict *verdicts = calloc(check.n_files, sizeof *verdicts);
    struct rml_thread_pool *pool = NULL;
    if (!verdicts)
        rmli_fail(&err, RML_NO_MEMORY, NULL, -1, "no memory for the verdicts");
    if (goldens && verdicts && golden_run_begin(&run, &check.options, &err)) {
        pool = rml_thread_pool_create(check.options.threads, &err);
        if (pool)
            code = judge_all(&check, goldens, verdicts, &run, pool, &err);
    }
    if (code == CLI_ERROR && err.code == RML_CANCELLED) {
        cli_note("interrupted, nothing was checked");
        code = cli_interrupted_code();
    } else if (code == CLI_ERROR) {
        cli_error(&err);
    }
    code = golden_run_end(&run, code);

    rml_thread_pool_destroy(pool);
    for (size_t i = 0; i < check.n_files; i++) {
        if (verdicts)
            golden_verdict_release(&verdicts[i]);
        if (goldens)
            golden_destroy(goldens[i]);
    }
    free(verdicts);
    free(goldens);
    free(check.files);
    return code;
}
