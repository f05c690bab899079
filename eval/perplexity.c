/*
 * rml-eval perplexity: how well a checkpoint predicts texts, by one of three protocols.
 */
#include "eval/eval_commands.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval_options.h"
#include "eval/eval_run.h"
#include "eval/perplexity_score.h"
#include "eval/request_key.h"
#include "eval/text_options.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/report.h"

struct arguments {
    struct cli_options options;
    struct eval_options eval_options;
    struct text_options text;
    const char *checkpoint;
    char **files; /* [n_files] borrowed from argv */
    size_t n_files;
    char ids_sha256[65]; /* of all windows */
};

static const struct argp_option option_table[] = {
    TEXT_OPTION_KEYS(1),
    EVAL_OPTION_KEYS,
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (!a->checkpoint)
            a->checkpoint = arg;
        else
            a->files[a->n_files++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->n_files == 0)
            argp_error(state, "expected a checkpoint and at least one text file");
        return text_command_parse(&a->text, &a->eval_options, key, arg, state);
    default:
        return text_command_parse(&a->text, &a->eval_options, key, arg, state);
    }
}

static const struct argp perplexity_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "CHECKPOINT FILE...",
    .doc = "Scores texts, in f32 arithmetic with an f32 cache unless options say otherwise.\n\n"
           "Numbers compare only within one protocol. Documents are scored alone, sums are pooled. "
           "--ctx is the length of windows: by default 512 for llama.cpp, the model's own, at "
           "most 4096, for hf-stride, the model's own for lm-eval.\n\n"
           "Figures per word and per byte relate the sum to the whole text, whose words lm-eval "
           "counts as its runs of white space and one; in llama.cpp's protocol, which scores about "
           "half, to the text of the scored tokens and the words that begin in it.\v"
           "Example: the number that llama-perplexity prints, and per word as lm-eval has it:\n\n"
           "  rml-eval perplexity model.gguf wiki.test.raw\n"
           "  rml-eval perplexity model.gguf wiki.test.raw --protocol lm-eval"};

/* ---- Settings --------------------------------------------------------------------------------- */

static json_t *settings_json(const struct arguments *a, const struct eval_engine *engine)
{
    json_t *json = eval_settings_json(engine, &a->options, &a->eval_options);
    text_options_add_settings(&a->text, json);
    json_object_set_new(json, "ids_sha256", json_string(a->ids_sha256));
    return json;
}

/* ---- Running ------------------------------------------------------------------------------------- */

static bool report(const struct arguments *a, struct eval_run *run, const struct eval_task *task,
                   const struct documents *documents, const struct windows *windows,
                   const size_t *chosen, size_t n_chosen, struct rml_error *err)
{
    struct perplexity_result result;
    if (!perplexity_score(&result, run, task, documents, windows, &a->text.windows, chosen,
                          n_chosen, err))
        return false;
    if (a->options.json) {
        json_t *json = perplexity_json(&result, documents, windows, &a->text.windows,
                                       settings_json(a, task->engine));
        cli_json_print(json, 17);
        json_decref(json);
    } else {
        perplexity_print(&result, documents, windows, &a->text.windows);
    }
    perplexity_result_release(&result);
    return true;
}

static bool run_windows(const struct arguments *a, struct eval_run *run, struct eval_engine *engine,
                        const struct documents *documents, const struct windows *windows,
                        struct rml_error *err)
{
    size_t *chosen, n_chosen;
    if (!perplexity_choose(windows, a->text.windows.protocol, &a->eval_options.selection,
                           a->options.seed, &chosen, &n_chosen, err))
        return false;
    bool ok = n_chosen > 0 ||
              rmli_fail(err, RML_FORMAT, a->files[0], -1,
                        "no token to score found, expected a document of at least %zu tokens",
                        windows_least_ids(&a->text.windows));
    json_t *settings = settings_json(a, engine);
    char *text = json_dumps(settings, JSON_COMPACT);
    const struct eval_task task = {.name = "perplexity",
                                   .protocol = protocol_name(a->text.windows.protocol),
                                   .engine = engine,
                                   .settings_json = text};
    ok = ok && eval_run_begin(run, &a->options, &a->eval_options, err) &&
         eval_run_add_task(run, &task, err) &&
         report(a, run, &task, documents, windows, chosen, n_chosen, err);
    free(text);
    json_decref(settings);
    free(chosen);
    return ok;
}

static bool run_all(struct arguments *a, struct eval_run *run, const struct documents *documents,
                    struct rml_thread_pool *pool, struct rml_error *err)
{
    struct eval_engine engine;
    struct eval_settings settings = eval_settings_of(&a->options);
    if (!eval_engine_init(&engine, a->checkpoint, &settings, pool, err))
        return false;
    struct windows windows = {0};
    bool ok = eval_engine_need_tokenizer(&engine, err) &&
              text_options_settle(&a->text, a->options.ctx, &engine, err) &&
              windows_init(&windows, &engine, documents, &a->text.windows, err) &&
              eval_sha256_of_ids(windows.requests, windows.n, a->ids_sha256, err) &&
              run_windows(a, run, &engine, documents, &windows, err);
    windows_release(&windows);
    eval_engine_release(&engine);
    return ok;
}

int eval_perplexity_main(int argc, char **argv)
{
    struct arguments a = {0};
    a.files = calloc((size_t)argc + 1, sizeof *a.files);
    if (!a.files)
        return cli_fail(RML_NO_MEMORY, NULL, "no memory for the arguments");
    cli_parse(&a.options,
              CLI_OPT_RUN_MODEL | CLI_OPT_CTX | CLI_OPT_DB | CLI_OPT_JSON | CLI_OPT_SEED,
              &perplexity_argp, argc, argv, &a);

    struct rml_error err = RML_ERROR_INIT;
    struct eval_run run = {0};
    struct documents documents;
    struct rml_thread_pool *pool = NULL;
    if (text_options_read(&a.text, a.files, a.n_files, &documents, &err)) {
        pool = rml_thread_pool_create(a.options.threads, &err);
        if (pool)
            run_all(&a, &run, &documents, pool, &err);
    }
    int code = eval_run_end(&run, eval_exit(&err, CLI_PASS));
    rml_thread_pool_destroy(pool);
    documents_release(&documents);
    free(a.files);
    return code;
}
