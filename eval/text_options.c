/*
 * Options of commands that score texts.
 */
#include "eval/text_options.h"

#include <jansson.h>
#include <string.h>

#include "eval/eval_options.h"
#include "tools/cli/parse.h"
#include "tools/cli/report.h"

/* Defaults of contexts: what llama.cpp takes, and what bounds the model's own length. */
#define LLAMA_CPP_N_CTX 512
#define HF_STRIDE_MAX_N_CTX 4096

static void check(const struct text_options *options, struct argp_state *state)
{
    if (options->windows.stride > 0 && options->windows.protocol != PROTOCOL_HF_STRIDE)
        argp_error(state, "--stride is of --protocol hf-stride");
    if (options->field && options->documents != DOCUMENT_JSONL)
        argp_error(state, "--field is of --documents jsonl");
    if (options->windows.double_bos && options->windows.protocol != PROTOCOL_LM_EVAL)
        argp_error(state, "--compat double-bos is of --protocol lm-eval");
}

error_t text_options_parse(struct text_options *options, int key, char *arg,
                           struct argp_state *state)
{
    switch (key) {
    case TEXT_KEY_PROTOCOL:
        if (!protocol_parse(arg, &options->windows.protocol))
            argp_error(state, "--protocol: '%s' found, expected llama.cpp, hf-stride or lm-eval",
                       arg);
        return 0;
    case TEXT_KEY_STRIDE:
        options->windows.stride = (size_t)cli_arg_u64(state, "--stride", arg, 1, 1 << 24);
        return 0;
    case TEXT_KEY_DOCUMENTS:
        if (!document_kind_parse(arg, &options->documents))
            argp_error(state, "--documents: '%s' found, expected file, lines or jsonl", arg);
        return 0;
    case TEXT_KEY_FIELD:
        options->field = arg;
        return 0;
    case TEXT_KEY_COMPAT:
        if (strcmp(arg, "double-bos") != 0)
            argp_error(state, "--compat: '%s' found, expected double-bos", arg);
        options->windows.double_bos = true;
        return 0;
    case ARGP_KEY_END:
        check(options, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

error_t text_command_parse(struct text_options *text, struct eval_options *options, int key,
                           char *arg, struct argp_state *state)
{
    bool is_taken = text_options_parse(text, key, arg, state) == 0;
    return is_taken && key != ARGP_KEY_END ? 0 : eval_options_parse(options, key, arg, state);
}

static size_t default_n_ctx(enum protocol protocol, size_t n_context)
{
    switch (protocol) {
    case PROTOCOL_LLAMA_CPP:
        return LLAMA_CPP_N_CTX;
    case PROTOCOL_HF_STRIDE:
        return n_context < HF_STRIDE_MAX_N_CTX ? n_context : HF_STRIDE_MAX_N_CTX;
    case PROTOCOL_LM_EVAL:
        break;
    }
    return n_context;
}

bool text_options_settle(struct text_options *options, size_t ctx, const struct eval_engine *engine,
                         struct rml_error *err)
{
    struct window_settings *s = &options->windows;
    size_t n_context = eval_engine_n_context(engine);
    s->n_ctx = ctx > 0 ? ctx : default_n_ctx(s->protocol, n_context);
    size_t least = s->protocol == PROTOCOL_LLAMA_CPP ? 3 : 2;
    if (s->n_ctx < least)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "a context of %zu found, expected at least %zu", s->n_ctx, least);
    if (s->n_ctx > n_context)
        cli_warn("the context of %zu%s is longer than the %zu token%s that the model was made for; "
                 "--ctx %zu%s within them",
                 s->n_ctx, ctx > 0 ? "" : ", llama.cpp's default,", n_context,
                 cli_plural(n_context), n_context,
                 s->protocol == PROTOCOL_LLAMA_CPP ? " or --protocol hf-stride stays" : " stays");
    if (s->protocol != PROTOCOL_HF_STRIDE)
        return true;
    s->stride = s->stride > 0 ? s->stride : s->n_ctx / 2;
    return s->stride < s->n_ctx ||
           rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                     "a stride of %zu found, expected 1 to %zu: below the context, so that each "
                     "token has one before it",
                     s->stride, s->n_ctx - 1);
}

void text_options_add_settings(const struct text_options *options, json_t *settings)
{
    const struct window_settings *s = &options->windows;
    json_object_set_new(settings, "n_ctx", json_integer((json_int_t)s->n_ctx));
    if (s->protocol == PROTOCOL_HF_STRIDE)
        json_object_set_new(settings, "stride", json_integer((json_int_t)s->stride));
    if (s->protocol == PROTOCOL_LM_EVAL)
        json_object_set_new(settings, "double_bos", json_boolean(s->double_bos));
    if (options->texts_sha256[0])
        json_object_set_new(settings, "texts_sha256", json_string(options->texts_sha256));
}

bool text_options_read(struct text_options *options, char *const *files, size_t n_files,
                       struct documents *documents, struct rml_error *err)
{
    return documents_read(documents, files, n_files, options->documents,
                          options->field ? options->field : "text", err) &&
           documents_sha256(documents, options->texts_sha256, err);
}
