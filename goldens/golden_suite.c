/*
 * rml-golden suite: every golden of a manifest whose checkpoint is here.
 */
#include "goldens/golden_commands.h"

#include <stdlib.h>
#include <string.h>

#include "goldens/golden_judge.h"
#include "goldens/golden_manifest.h"
#include "goldens/golden_report.h"
#include "tools/cli/report.h"

struct suite {
    struct cli_options options;
    const char *manifest_path; /* NULL: to be found */
    struct golden_manifest manifest;
    struct golden_run run;
    struct rml_thread_pool *pool;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct suite *suite = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (suite->manifest_path)
            argp_error(state, "'%s' found, expected one manifest only", arg);
        suite->manifest_path = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp suite_argp = {
    .parser = parse,
    .args_doc = "[MANIFEST]",
    .doc = "Checks every golden of a manifest whose checkpoint is here (default: "
           "goldens/MANIFEST.json).\n\n"
           "Exits 0 when all that could be run agree, 4 when some do not, 6 when a golden is about "
           "another checkpoint, 1 when one could not be run. Checkpoints that are fetched are "
           "looked for in RML_MODELS_DIR and in the cache folder; those not there are skipped.\v"
           "Example: all goldens of the repository, as a document:\n\n"
           "  rml-golden suite --json"};

/* A fetched file that is not the one that the manifest means. */
static bool is_other_file(struct golden_engine *engine, const struct golden_entry *entry,
                          struct golden_verdict *verdict)
{
    if (!entry->sha256[0])
        return false;
    if (!golden_engine_hash(engine, &verdict->error))
        return true;
    if (strcmp(engine->sha256, entry->sha256) == 0)
        return false;
    strcpy(verdict->model_want, entry->sha256);
    strcpy(verdict->model_got, engine->sha256);
    verdict->status = GOLDEN_OTHER_MODEL;
    return true;
}

static bool judge_entry(struct suite *suite, const struct golden_entry *entry,
                        struct golden_verdict *verdict, struct rml_error *err)
{
    const char *checkpoint = entry->checkpoint ? entry->checkpoint : entry->model_file;
    if (!golden_verdict_init(verdict, entry->golden, checkpoint))
        return rmli_fail(err, RML_NO_MEMORY, entry->golden, -1, "no memory for its verdict");
    if (!entry->checkpoint) {
        verdict->status = GOLDEN_SKIPPED;
        rmli_fail(&verdict->error, RML_NOT_FOUND, checkpoint, -1,
                  "neither in RML_MODELS_DIR nor in the cache folder (ci/fetch-models gets it)");
        return true;
    }
    struct golden *golden = golden_read(entry->golden, &verdict->error);
    struct golden_engine engine = {0};
    bool ok = true;
    if (golden && golden_engine_init(&engine, checkpoint, suite->pool, &verdict->error) &&
        !is_other_file(&engine, entry, verdict)) {
        const struct golden_overrides none = {.logit_abs = -1, .residual_rel = -1};
        ok = golden_judge(&engine, golden, &suite->options, &none, &suite->run, verdict, err);
    }
    golden_engine_release(&engine);
    golden_destroy(golden);
    return ok;
}

static int judge_all(struct suite *suite, struct golden_verdict *verdicts, struct rml_error *err)
{
    size_t n = 0;
    bool ok = true;
    while (ok && n < suite->manifest.n_entries) {
        ok = judge_entry(suite, &suite->manifest.entries[n], &verdicts[n], err);
        n += ok;
        if (ok && cli_interrupted())
            ok = rmli_fail(err, RML_CANCELLED, suite->manifest.path, -1, "interrupted");
        if (ok && verdicts[n - 1].status == GOLDEN_BROKEN)
            cli_error_line(&verdicts[n - 1].error);
    }
    cli_progress_clear();
    bool interrupted = !ok && err->code == RML_CANCELLED;
    if (!ok && !interrupted)
        return cli_error(err);
    if (suite->options.json)
        golden_print_json(verdicts, n);
    else
        golden_print_suite(verdicts, n, stdout);
    if (interrupted)
        cli_note("interrupted after %zu of %zu golden%s", n, suite->manifest.n_entries,
                 cli_plural(suite->manifest.n_entries));
    return interrupted ? cli_interrupted_code() : (int)golden_exit_code(verdicts, n);
}

static int run_suite(struct suite *suite)
{
    struct rml_error err = RML_ERROR_INIT;
    char *path = suite->manifest_path ? strdup(suite->manifest_path) : golden_manifest_find(&err);
    if (!path || !golden_manifest_read(&suite->manifest, path, &err) ||
        !golden_run_begin(&suite->run, &suite->options, &err)) {
        free(path);
        return cli_error(&err);
    }
    free(path);
    int code = CLI_ERROR;
    suite->pool = rml_thread_pool_create(suite->options.threads, &err);
    struct golden_verdict *verdicts = calloc(suite->manifest.n_entries, sizeof *verdicts);
    if (!suite->pool)
        cli_error(&err);
    else if (!verdicts)
        cli_fail(RML_NO_MEMORY, suite->manifest.path, "no memory for its verdicts");
    else
        code = judge_all(suite, verdicts, &err);
    code = golden_run_end(&suite->run, code);
    rml_thread_pool_destroy(suite->pool);
    for (size_t i = 0; verdicts && i < suite->manifest.n_entries; i++)
        golden_verdict_release(&verdicts[i]);
    free(verdicts);
    return code;
}

int golden_suite_main(int argc, char **argv)
{
    struct suite suite = {0};
    cli_parse(&suite.options, CLI_OPT_RUN_MODEL | CLI_OPT_DB | CLI_OPT_JSON, &suite_argp, argc,
              argv, &suite);
    int code = run_suite(&suite);
    golden_manifest_release(&suite.manifest);
    return code;
}
