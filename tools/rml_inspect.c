/*
 * rml-inspect: what is in a checkpoint, and what differs between two.
 */
#include <stdlib.h>

#include "inspect.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/options.h"
#include "tools/cli/report.h"

struct arguments {
    const char *a, *b;
    bool metadata, verify;
};

/* The first finding as the error line of the program; the document holds them all. */
static void say_finding(const struct rml_checkpoint *cp, const json_t *verification)
{
    const json_t *findings = json_object_get(verification, "findings");
    const json_t *first = json_array_get(findings, 0);
    char *element = json_dumps(json_object_get(first, "element"), 0);
    struct rml_error err = RML_ERROR_INIT;
    rmli_fail(&err, RML_FORMAT, rml_checkpoint_path(cp), -1,
              "%zu finding%s, the first: the tensor '%s' is %s at %s, expected plausible numbers",
              json_array_size(findings), cli_plural(json_array_size(findings)),
              json_string_value(json_object_get(first, "tensor")),
              json_string_value(json_object_get(first, "kind")), element ? element : "?");
    free(element);
    cli_error_line(&err);
}

static int inspect_one(const struct rml_checkpoint *cp, const struct arguments *args,
                       const struct cli_options *common, struct rml_thread_pool *pool)
{
    struct rml_error err = RML_ERROR_INIT;
    const struct inspect_settings settings = {
        .ctx = common->ctx, .metadata = args->metadata, .verify = args->verify};
    json_t *document = inspect_document(cp, &settings, pool, &err);
    if (!document)
        return cli_error_or_interrupted(&err);
    if (common->json)
        cli_json_print(document, 9);
    else
        inspect_print(document);
    const json_t *verification = json_object_get(document, "verify");
    bool sound = !verification || json_is_true(json_object_get(verification, "passed"));
    if (!sound)
        say_finding(cp, verification);
    json_decref(document);
    return sound ? CLI_PASS : CLI_ERROR;
}

static int inspect_two(const struct rml_checkpoint *a, const struct rml_checkpoint *b,
                       const struct cli_options *common, struct rml_thread_pool *pool)
{
    struct rml_error err = RML_ERROR_INIT;
    json_t *differences = inspect_compare(a, b, pool, &err);
    if (!differences)
        return cli_error_or_interrupted(&err);
    bool equal = json_is_true(json_object_get(differences, "equal"));
    if (common->json)
        cli_json_print(differences, 9);
    else
        inspect_print_differences(differences, rml_checkpoint_path(a), rml_checkpoint_path(b),
                                  common->verbosity > 0);
    json_decref(differences);
    return equal ? CLI_PASS : CLI_MISMATCH;
}

/* ---- The command line --------------------------------------------------------------- */

enum { KEY_METADATA = CLI_OWN_KEY, KEY_VERIFY };

static const struct argp_option options[] = {
    {"metadata", KEY_METADATA, NULL, 0,
     "List the key-value pairs of a GGUF or of config.json too, long values shortened", 1},
    {"verify", KEY_VERIFY, NULL, 0,
     "Read every tensor and report NaN, infinity and absurd scales (exit 1 when there are any); "
     "compute the content hash",
     1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *args = state->input;
    switch (key) {
    case KEY_METADATA:
        args->metadata = true;
        return 0;
    case KEY_VERIFY:
        args->verify = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            argp_error(state, "'%s' found, expected one checkpoint, or two to compare", arg);
        *(state->arg_num == 0 ? &args->a : &args->b) = arg;
        return 0;
    case ARGP_KEY_END:
        if (state->arg_num == 0)
            argp_error(state, "no checkpoint found, expected one, or two to compare");
        if (args->b && (args->verify || args->metadata))
            argp_error(state, "--verify and --metadata are for one checkpoint");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "CHECKPOINT\nA B",
    .doc =
        "Shows what is in a checkpoint: recipe, memory needed, tokenizer, tensors. Reads "
        "headers only, unless --verify is given. What rml cannot run is listed all the same, "
        "with the reason.\v"
        "Given two checkpoints, lists what differs between them: recipe, tensors, types, shapes, "
        "values (exit 0: nothing, 4: something). Values are compared as f32, whatever their "
        "types; a GGUF and a Hugging Face folder are matched by what each weight is.\n\n"
        "Example: is the file whole, and how far is the quantised model from the original:\n\n"
        "  rml-inspect --verify model-Q4_K.gguf\n"
        "  rml-inspect model-Q4_K.gguf model/"};

int main(int argc, char **argv)
{
    cli_start(argc, argv);
    struct arguments args = {0};
    struct cli_options common;
    cli_parse(&common, CLI_OPT_THREADS | CLI_OPT_CTX | CLI_OPT_JSON, &argp, argc, argv, &args);

    struct rml_error err = RML_ERROR_INIT;
    struct rml_thread_pool *pool = rml_thread_pool_create(common.threads, &err);
    struct rml_checkpoint *a = pool ? rml_checkpoint_open(args.a, &err) : NULL;
    struct rml_checkpoint *b = a && args.b ? rml_checkpoint_open(args.b, &err) : NULL;
    int code;
    if (!a || (args.b && !b))
        code = cli_error(&err);
    else
        code = b ? inspect_two(a, b, &common, pool) : inspect_one(a, &args, &common, pool);
    rml_checkpoint_close(a);
    rml_checkpoint_close(b);
    rml_thread_pool_destroy(pool);
    return code;
}
