/*
 * rml-eval kld: how far a checkpoint's distributions are from those of a base.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval_commands.h"
#include "eval/eval_options.h"
#include "eval/kld_result.h"
#include "eval/request_key.h"
#include "eval/same_tokens.h"
#include "eval/text_options.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/json_out.h"
#include "tools/cli/output.h"
#include "tools/cli/output_names.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

enum { KEY_AGAINST_KV = CLI_OWN_KEY, KEY_AGAINST_ARITHMETIC, KEY_SAVE_BASE };

struct arguments {
    struct cli_options options;
    struct eval_options eval_options;
    struct text_options text;
    const char *save_base;
    bool against_kv, against_arithmetic;
    struct eval_settings against;
    char **names; /* [n_names] borrowed from argv */
    size_t n_names;

    /* From the above. */
    const char *base, *candidate;
    bool base_is_file;
    char **files;
    size_t n_files;
};

static const struct argp_option option_table[] = {
    {"against-kv", KEY_AGAINST_KV, "K[:V]", 0,
     "The base is the same checkpoint with these cache types", 1},
    {"against-arithmetic", KEY_AGAINST_ARITHMETIC, "f32|i8", 0,
     "The base is the same checkpoint in this arithmetic", 1},
    {"save-base", KEY_SAVE_BASE, "FILE", 0,
     "Also write the base's rows, to be given as BASE later (4 bytes a token of the vocabulary "
     "for each token scored)",
     1},
    TEXT_OPTION_KEYS(2),
    EVAL_OPTION_KEYS,
    {0},
};

/* Who is base, who candidate, which are texts. */
static void sort_names(struct arguments *a, struct argp_state *state)
{
    bool against = a->against_kv || a->against_arithmetic;
    size_t n_checkpoints = against ? 1 : 2;
    if (a->n_names < n_checkpoints)
        argp_error(state, "expected a base, a candidate and texts, or one checkpoint with an "
                          "--against option and texts");
    a->base = a->names[0];
    a->candidate = a->names[n_checkpoints - 1];
    a->files = a->names + n_checkpoints;
    a->n_files = a->n_names - n_checkpoints;
    a->base_is_file = !against && kld_base_is_file(a->base);
    if (kld_base_is_file(a->candidate))
        argp_error(state,
                   "'%s' is a stored base, expected one before a candidate and without --against "
                   "options",
                   a->candidate);
    if (a->base_is_file && (a->n_files > 0 || a->save_base))
        argp_error(state, "'%s' is a stored base, which brings its own tokens: expected no %s",
                   a->base, a->save_base ? "--save-base" : "text");
    if (a->base_is_file && a->options.ctx > 0)
        argp_error(state, "'%s' is a stored base, which brings its own context: expected no --ctx",
                   a->base);
    const struct text_options *t = &a->text;
    if (a->base_is_file && (t->windows.protocol != PROTOCOL_LLAMA_CPP || t->windows.stride > 0 ||
                            t->windows.double_bos || t->documents != DOCUMENT_FILE || t->field))
        argp_error(state,
                   "'%s' is a stored base, which brings its own windows: expected no option "
                   "that makes some",
                   a->base);
    if (!a->base_is_file && a->n_files == 0)
        argp_error(state, "expected at least one text");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_AGAINST_KV:
        cli_arg_kv(state, "--against-kv", arg, &a->against.k_dtype, &a->against.v_dtype);
        a->against_kv = true;
        return 0;
    case KEY_AGAINST_ARITHMETIC:
        if (!rml_arithmetic_parse(arg, &a->against.arithmetic))
            argp_error(state, "--against-arithmetic: '%s' found, expected f32 or i8", arg);
        a->against_arithmetic = true;
        return 0;
    case KEY_SAVE_BASE:
        a->save_base = cli_arg_output(state, "--save-base", arg);
        return 0;
    case ARGP_KEY_ARG:
        a->names[a->n_names++] = arg;
        return 0;
    case ARGP_KEY_END:
        text_options_parse(&a->text, key, arg, state);
        sort_names(a, state);
        return eval_options_parse(&a->eval_options, key, arg, state);
    default:
        return text_command_parse(&a->text, &a->eval_options, key, arg, state);
    }
}

static const struct argp kld_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "BASE CANDIDATE [FILE...]\nCHECKPOINT --against-kv K[:V] FILE...",
    .doc = "Kullback-Leibler divergence of a candidate's next-token distributions from a base's, "
           "over the whole vocabulary.\n\n"
           "BASE is a checkpoint, run beside the candidate with no file between, or a stored base "
           "(of --save-base or of llama.cpp), which brings its own tokens. With --against options "
           "one checkpoint is compared with itself, those settings being the base.\v"
           "Example: what a quantisation costs, and what an 8-bit cache costs:\n\n"
           "  rml-eval kld model-f16.gguf model-q4_k.gguf wiki.test.raw\n"
           "  rml-eval kld model.gguf --kv i8 --against-kv f32 wiki.test.raw"};

/* ---- Sides -------------------------------------------------------------------------------------- */

/* What both sides have while they run. */
struct sides {
    struct eval_engine candidate, base_engine; /* the latter all zero when the base is a file */
    struct kld_base base;
    struct documents documents;
    struct windows windows;
    const struct eval_request *requests; /* [n] all windows */
    size_t n;
    char ids_sha256[65]; /* of a base that is a file; else "" */
};

static bool open_base_engine(struct arguments *a, struct sides *s, struct rml_thread_pool *pool,
                             struct rml_error *err)
{
    struct eval_settings settings = s->candidate.settings;
    if (a->against_arithmetic)
        settings.arithmetic = a->against.arithmetic;
    if (a->against_kv) {
        settings.k_dtype = a->against.k_dtype;
        settings.v_dtype = a->against.v_dtype;
    }
    bool ok = eval_engine_init(&s->base_engine, a->base, &settings, pool, err) &&
              eval_engine_need_tokenizer(&s->base_engine, err) &&
              text_options_settle(&a->text, a->options.ctx, &s->base_engine, err) &&
              windows_init(&s->windows, &s->base_engine, &s->documents, &a->text.windows, err) &&
              check_same_tokens(s->base_engine.n_vocab, &s->candidate, &s->documents,
                                &a->text.windows, &s->windows, err);
    size_t longest = 1;
    for (size_t w = 0; ok && w < s->windows.n; w++)
        longest =
            s->windows.requests[w].n_tokens > longest ? s->windows.requests[w].n_tokens : longest;
    s->requests = s->windows.requests;
    s->n = s->windows.n;
    return ok && kld_base_from_engine(&s->base, &s->base_engine, longest, KLD_BATCH_ROWS, err);
}

/* llama.cpp runs its chunks with BOS in place of the first id. */
static void put_bos(struct sides *s)
{
    int32_t bos = rml_tokenizer_bos(s->candidate.tokenizer);
    for (size_t w = 0; w < s->base.n_windows && rml_tokenizer_adds_bos(s->candidate.tokenizer); w++)
        ((int32_t *)(uintptr_t)s->base.requests[w].tokens)[0] = bos;
}

static bool open_base_file(struct arguments *a, struct sides *s, struct rml_error *err)
{
    FILE *stream = fopen(a->base, "rb");
    bool ours = stream && getc(stream) == 'r';
    if (stream)
        fclose(stream);
    if (!eval_engine_need_tokenizer(&s->candidate, err) ||
        !(ours ? kld_base_open_file(&s->base, a->base, err)
               : kld_base_open_llama_cpp(&s->base, a->base, err)) ||
        !check_same_vocabulary(s->base.n_vocab, &s->candidate, err))
        return false;
    if (!ours)
        put_bos(s);
    else if (!check_same_tokens_of_file(&s->base, &s->candidate, err))
        return false;
    s->requests = s->base.requests;
    s->n = s->base.n_windows;
    a->text.windows.n_ctx = s->base.n_ctx;
    return eval_sha256_of_ids(s->requests, s->n, s->ids_sha256, err);
}

/* ---- Running ------------------------------------------------------------------------------------- */

static json_t *settings_json(const struct arguments *a, const struct sides *s)
{
    json_t *json = eval_settings_json(&s->candidate, &a->options, &a->eval_options);
    text_options_add_settings(&a->text, json);
    json_object_set_new(json, "base", cli_json_text(a->base));
    json_object_set_new(json, "base_identity", json_string(s->base.identity));
    if (s->ids_sha256[0])
        json_object_set_new(json, "ids_sha256", json_string(s->ids_sha256));
    return json;
}

static bool report(const struct arguments *a, const struct kld_candidate *candidate,
                   size_t n_windows, json_t *settings, struct rml_error *err)
{
    struct kld_result result;
    const struct eval_task *task = candidate->task;
    if (!kld_result_compute(&result, &candidate->tokens, n_windows, err) ||
        !kld_store(&result, candidate->run, task, err))
        return false;
    if (a->options.json) {
        json_t *json = kld_json(&result, task->protocol, a->text.windows.n_ctx);
        json_object_set(json, "settings", settings);
        cli_json_print(json, 17);
        json_decref(json);
    } else {
        kld_print(&result, task->protocol, a->text.windows.n_ctx);
    }
    return true;
}

/* Runs the chosen windows; with --save-base the file is there when all of it is. */
static bool run_pass(const struct arguments *a, struct sides *s, struct eval_run *run,
                     const struct eval_task *task, const struct windows *chosen, json_t *settings,
                     struct rml_error *err)
{
    struct cli_output output = {0};
    struct base_writer writer = {0};
    struct kld_candidate candidate = {.run = run, .task = task};
    const struct base_source source = {
        .documents = &s->documents, .windows = &s->windows, .settings = &a->text.windows};
    bool saves = a->save_base != NULL;
    bool ok = !saves || (cli_output_open(&output, a->save_base, err) &&
                         base_writer_begin(&writer, &output, &s->base, &source, chosen, err));
    const struct kld_pass_options options = {.writer = saves ? &writer : NULL};
    ok = ok && kld_pass(&s->base, chosen->requests, chosen->n, &candidate, 1, &options, NULL, err);
    if (ok && saves)
        ok = base_writer_end(&writer, err) && cli_output_commit(&output, err);
    else if (saves)
        cli_output_abandon(&output);
    if (ok)
        eval_run_tell_reused(task->name, run->n_reused, run->n_computed, "windows");
    ok = ok && report(a, &candidate, chosen->n, settings, err);
    base_writer_release(&writer);
    kld_candidate_release(&candidate);
    return ok;
}

static bool run_chosen(struct arguments *a, struct sides *s, struct eval_run *run,
                       struct rml_error *err)
{
    size_t *items, n_items;
    if (!selection_apply(&a->eval_options.selection, a->options.seed, s->n, &items, &n_items, err))
        return false;
    struct windows chosen = {.requests = calloc(n_items + 1, sizeof(struct eval_request)),
                             .n = n_items};
    int64_t *offsets = calloc(n_items + 1, sizeof *offsets);
    bool ok = chosen.requests && offsets;
    if (!ok)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu windows", n_items);
    else if (n_items == 0)
        ok = rmli_fail(err, RML_FORMAT, a->base_is_file ? a->base : a->files[0], -1,
                       "no token to score found, expected a document of at least %zu tokens",
                       windows_least_ids(&a->text.windows));
    for (size_t i = 0; ok && i < n_items; i++) {
        chosen.requests[i] = s->requests[items[i]];
        if (s->base.offsets)
            offsets[i] = s->base.offsets[items[i]];
    }
    if (ok && s->base.offsets) /* a window is now known by its place among those chosen */
        memcpy(s->base.offsets, offsets, n_items * sizeof *offsets);
    json_t *settings = settings_json(a, s);
    char *text = json_dumps(settings, JSON_COMPACT);
    const struct eval_task task = {
        .name = "kld",
        .protocol = a->base_is_file ? s->base.protocol : protocol_name(a->text.windows.protocol),
        .engine = &s->candidate,
        .base = a->base_is_file ? NULL : &s->base_engine,
        .base_identity = s->base.identity,
        .settings_json = text};
    ok = ok && eval_run_begin(run, &a->options, &a->eval_options, err) &&
         eval_run_add_task(run, &task, err) && run_pass(a, s, run, &task, &chosen, settings, err);
    json_decref(settings);
    free(text);
    free(offsets);
    free(chosen.requests);
    free(items);
    return ok;
}

static void run_all(struct arguments *a, struct eval_run *run, struct rml_thread_pool *pool,
                    struct rml_error *err)
{
    struct sides s = {0};
    struct eval_settings settings = eval_settings_of(&a->options);
    bool ok =
        a->base_is_file || text_options_read(&a->text, a->files, a->n_files, &s.documents, err);
    ok = ok && eval_engine_init(&s.candidate, a->candidate, &settings, pool, err) &&
         (a->base_is_file ? open_base_file(a, &s, err) : open_base_engine(a, &s, pool, err)) &&
         run_chosen(a, &s, run, err);
    (void)ok; /* *err says it */
    kld_base_release(&s.base);
    windows_release(&s.windows);
    documents_release(&s.documents);
    eval_engine_release(&s.base_engine);
    eval_engine_release(&s.candidate);
}

int eval_kld_main(int argc, char **argv)
{
    struct arguments a = {0};
    a.names = calloc((size_t)argc + 1, sizeof *a.names);
    if (!a.names)
        return cli_fail(RML_NO_MEMORY, NULL, "no memory for the arguments");
    cli_parse(&a.options,
              CLI_OPT_RUN_MODEL | CLI_OPT_CTX | CLI_OPT_DB | CLI_OPT_JSON | CLI_OPT_SEED, &kld_argp,
              argc, argv, &a);
    struct rml_error err = RML_ERROR_INIT;
    struct eval_run run = {0};
    struct rml_thread_pool *pool = rml_thread_pool_create(a.options.threads, &err);
    if (pool)
        run_all(&a, &run, pool, &err);
    int code = eval_run_end(&run, eval_exit(&err, CLI_PASS));
    rml_thread_pool_destroy(pool);
    free(a.names);
    return code;
}
