/*
 * rml-quantize: a checkpoint as one GGUF file with its matrices in another type.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "quantize.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/report.h"

struct arguments {
    struct quantize_job job;
    const char *pre;
    bool has_type, force;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct progress {
    const char *output;
    double begin_s;
};

static bool show_progress(void *user, uint64_t done, uint64_t total)
{
    const struct progress *progress = user;
    double fraction = (double)done / (double)total, passed = now_s() - progress->begin_s;
    if (done == 0)
        cli_progress("%s: 0 %%", progress->output);
    else
        cli_progress("%s: %.0f %%, %.0f s left", progress->output, 100 * fraction,
                     passed / fraction - passed);
    return !cli_interrupted();
}

/* Quantised matrices have lost what a second rounding cannot bring back. */
static void warn_of_requantizing(const struct quantize_job *job,
                                 const struct rml_conversion *conversion)
{
    size_t n = 0;
    char types[128] = "";
    for (size_t i = 0; i < rml_conversion_n_tensors(conversion); i++) {
        const struct rml_conversion_tensor *t = rml_conversion_tensor(conversion, i);
        if (rml_dtype_traits(t->from)->block_nelems == 1 || t->from == t->to || t->to == RML_F32)
            continue;
        const char *name = rml_dtype_traits(t->from)->name;
        size_t end = strlen(types);
        if (!strstr(types, name)) /* no name is a part of another */
            snprintf(types + end, sizeof types - end, "%s%s", end ? ", " : "", name);
        n++;
    }
    if (n)
        cli_warn("%s: %zu tensor%s quantised already (%s): what that lost stays lost, and the "
                 "errors below are measured against it",
                 job->input, n, cli_plural(n), types);
}

static bool check_free(const struct arguments *args, struct rml_error *err)
{
    if (args->job.dry_run || args->force || access(args->job.output, F_OK) != 0)
        return true;
    return rmli_fail(err, RML_INVALID_ARGUMENT, args->job.output, -1,
                     "the file exists, expected a new name (or --force to replace it)");
}

static bool write_output(struct quantize_job *job, struct rml_conversion *conversion,
                         unsigned threads, struct rml_error *err)
{
    struct rml_thread_pool *pool = rml_thread_pool_create(threads, err);
    struct progress progress = {.output = job->output, .begin_s = now_s()};
    bool ok =
        pool && rml_conversion_write(conversion, job->output, pool, show_progress, &progress, err);
    cli_progress_clear();
    job->seconds = now_s() - progress.begin_s;
    rml_thread_pool_destroy(pool);
    return ok;
}

static bool record_output(struct quantize_run *run, const char *output, struct rml_error *err)
{
    if (!run->store)
        return true;
    struct rml_checkpoint *cp = rml_checkpoint_open(output, err);
    bool ok = cp && quantize_run_add_model(run, cp, err);
    rml_checkpoint_close(cp);
    return ok;
}

static bool quantize(struct arguments *args, const struct cli_options *common,
                     const struct rml_checkpoint *cp, struct quantize_run *run,
                     struct rml_error *err)
{
    struct quantize_job *job = &args->job;
    const struct rml_conversion_options options = {.dtype = job->dtype, .pre = args->pre};
    struct rml_conversion *conversion = rml_conversion_plan(cp, &options, err);
    bool ok = conversion != NULL;
    if (ok)
        warn_of_requantizing(job, conversion);
    for (size_t i = 0; ok && i < rml_conversion_n_differences(conversion); i++)
        cli_warn("%s: %s", job->output, rml_conversion_difference(conversion, i));
    if (ok && !rml_conversion_has_tokenizer(conversion))
        cli_warn("%s: no tokenizer in it, so the output has none either", job->input);
    if (ok && !job->dry_run)
        ok = quantize_run_begin(run, common, err) && quantize_run_add_model(run, cp, err) &&
             write_output(job, conversion, common->threads, err) &&
             record_output(run, job->output, err);
    json_t *document = ok ? quantize_document(job, conversion) : NULL;
    if (document && common->json)
        cli_json_print(document, 9);
    else if (document)
        quantize_print(document, common->verbosity > 0);
    json_decref(document);
    rml_conversion_destroy(conversion);
    return ok;
}

/* ---- The command line -------------------------------------------------------------- */

enum { KEY_TYPE = CLI_OWN_KEY, KEY_FORCE, KEY_DRY_RUN, KEY_PRE };

static const struct argp_option options[] = {
    {"type", KEY_TYPE, "TYPE", 0,
     "f32 f16 bf16 q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs (needed)", 1},
    {"force", KEY_FORCE, NULL, 0, "Replace OUT.gguf if it exists", 1},
    {"dry-run", KEY_DRY_RUN, NULL, 0, "Only show what each tensor would become", 1},
    {"pre", KEY_PRE, "NAME", 0,
     "tokenizer.ggml.pre of the output, over what the GGUF says or the folder's tokenizer.json is",
     1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;
    switch (key) {
    case KEY_TYPE:
        if (!rml_dtype_parse(arg, &args->job.dtype) || args->job.dtype >= RML_N_WEIGHT_DTYPES)
            argp_error(state,
                       "--type: '%s' found, expected one of f32 f16 bf16 q4_0 q4_1 q5_0 "
                       "q5_1 q8_0 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs",
                       arg);
        args->has_type = true;
        return 0;
    case KEY_FORCE:
        args->force = true;
        return 0;
    case KEY_DRY_RUN:
        args->job.dry_run = true;
        return 0;
    case KEY_PRE:
        args->pre = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            argp_error(state, "'%s' found, expected one input and one output", arg);
        if (state->arg_num == 0)
            args->job.input = arg;
        else
            args->job.output = arg;
        if (!*arg)
            argp_error(state, "an empty name found, expected one of a file");
        return 0;
    case ARGP_KEY_END:
        if (state->arg_num < 2)
            argp_error(state, "%s found, expected IN and OUT.gguf",
                       state->arg_num ? "only one name" : "no name");
        if (!args->has_type)
            argp_error(state, "no --type found, expected one");
        if (strcmp(args->job.output, "-") == 0)
            argp_error(state, "'-' found, expected the name of a file: the output is renamed into "
                              "place when it is whole");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "IN OUT.gguf",
    .doc =
        "Writes the checkpoint IN as the GGUF file OUT.gguf, its matrices in another type.\v"
        "Every matrix gets the type, token embedding and output matrix too; vectors, norms and "
        "routers of experts stay as they are (F32 from a folder). There are no mixtures: the file "
        "equals what llama-quantize --pure chooses. Where rows are no multiple of the type's "
        "block, "
        "the tensor gets llama.cpp's fallback (Q2_K and Q3_K: Q4_0; Q4_K: Q5_0; Q5_K: Q5_1; Q6_K: "
        "Q8_0; IQ4_XS: IQ4_NL; else F16), which is said (-v lists each). q4_0 to q8_0 are rounded "
        "as ggml's "
        "reference does, bit for bit; the others by a search for the least squared error.\n\n"
        "A warning names each key of the output that llama.cpp does not read, or by which it does "
        "not load "
        "the file: rml computes with them.\n\n"
        "The file is written beside its place and renamed when it is whole; until then OUT.gguf "
        "is as it was.\n\n"
        "Example: one checkpoint in two types, to compare them:\n\n"
        "  rml-quantize Llama-3.2-1B/ llama-q8_0.gguf --type q8_0\n"
        "  rml-quantize Llama-3.2-1B/ llama-q4_k.gguf --type q4_k"};

int main(int argc, char **argv)
{
    cli_start(argc, argv);
    struct arguments args = {0};
    struct cli_options common;
    cli_parse(&common, CLI_OPT_THREADS | CLI_OPT_DB | CLI_OPT_JSON, &argp, argc, argv, &args);

    struct rml_error err = RML_ERROR_INIT;
    struct quantize_run run = {0};
    struct rml_checkpoint *cp =
        check_free(&args, &err) ? rml_checkpoint_open(args.job.input, &err) : NULL;
    bool ok = cp && quantize(&args, &common, cp, &run, &err);
    rml_checkpoint_close(cp);
    return quantize_run_end(&run, ok ? CLI_PASS : cli_error_or_interrupted(&err));
}
