/* Models made ready to talk. */
#include <stdlib.h>
#include <string.h>

#include "chat_program.h"

#define DEFAULT_CTX 4096

/* ---- Loading --------------------------------------------------------------------------- */

static void release_model(struct chat_model *m)
{
    rml_context_destroy(m->context);
    rml_tokenizer_destroy(m->tokenizer);
    rml_model_destroy(m->model);
    memset(m, 0, sizeof *m);
}

static bool load(struct chat_model *m, const char *name, struct rml_error *err)
{
    struct rml_checkpoint *cp = rml_checkpoint_open(name, err);
    m->tokenizer = cp ? rml_tokenizer_from_checkpoint(cp, NULL, err) : NULL;
    m->model = m->tokenizer ? rml_model_load(cp, err) : NULL;
    if (!m->model)
        rml_checkpoint_close(cp);
    return m->model;
}

/* The model's context length, at most 4096, unless the command line gives one. */
static size_t choose_ctx(const struct chat *chat, const struct cli_options *options)
{
    if (options->ctx)
        return options->ctx;
    size_t ctx = rml_model_config(chat->target.model)->n_context;
    if (chat->draft.model && rml_model_config(chat->draft.model)->n_context < ctx)
        ctx = rml_model_config(chat->draft.model)->n_context;
    return ctx < DEFAULT_CTX ? ctx : DEFAULT_CTX;
}

static bool make_context(struct chat_model *m, struct rml_thread_pool *pool,
                         const struct cli_options *options, size_t ctx, struct rml_error *err)
{
    struct rml_context_params params = {.max_context = ctx};
    params.arithmetic = options->arithmetic_given          ? options->arithmetic
                        : rml_model_is_quantised(m->model) ? RML_ARITHMETIC_I8
                                                           : RML_ARITHMETIC_F32;
    m->context = rml_context_create(m->model, pool, &params, err);
    return m->context;
}

/* Ids of the one mean the same in the other, or speculation would judge other words. */
static bool check_draft(const struct chat *chat, struct rml_error *err)
{
    const struct rml_tokenizer *a = chat->target.tokenizer, *b = chat->draft.tokenizer;
    const char *name = chat->settings->draft;
    if (rml_tokenizer_n_vocab(a) != rml_tokenizer_n_vocab(b))
        return rmli_fail(err, RML_INVALID_ARGUMENT, name, -1,
                         "the draft's vocabulary has %zu tokens, expected the model's %zu",
                         rml_tokenizer_n_vocab(b), rml_tokenizer_n_vocab(a));
    for (size_t i = 0; i < rml_tokenizer_n_vocab(a); i++) {
        struct rml_token_info x = {0}, y = {0};
        rml_tokenizer_token(a, (int32_t)i, &x);
        rml_tokenizer_token(b, (int32_t)i, &y);
        if (x.nbytes != y.nbytes || (x.nbytes > 0 && memcmp(x.bytes, y.bytes, x.nbytes) != 0))
            return rmli_fail(err, RML_INVALID_ARGUMENT, name, -1,
                             "the draft's token %zu is '%.*s', expected the model's '%.*s'", i,
                             (int)y.nbytes, y.bytes, (int)x.nbytes, x.bytes);
    }
    return true;
}

/* ---- The chat format -------------------------------------------------------------------- */

static bool find_format(struct chat *chat, struct rml_error *err)
{
    const struct chat_settings *s = chat->settings;
    if (s->is_raw)
        return true;
    chat->format = s->format;
    if (chat->format)
        return true;
    struct rml_error why = RML_ERROR_INIT;
    chat->format =
        rml_chat_format_of_template(rml_tokenizer_chat_template(chat->target.tokenizer), &why);
    return chat->format ||
           rmli_fail(err, why.code, s->model, -1,
                     "%s; expected a known one, or --chat-format NAME, or --raw to continue plain "
                     "text (as a model does that was not trained to chat)",
                     why.message);
}

/* ---- Conversation ------------------------------------------------------------------------ */

static bool make_session(struct chat *chat, const struct cli_options *options, size_t ctx,
                         struct rml_error *err)
{
    struct rml_session_params params = RML_SESSION_DEFAULTS;
    if (options->kv_given) {
        params.k_dtype = options->k_dtype;
        params.v_dtype = options->v_dtype;
    }
    params.n_context = ctx;
    params.draft = chat->draft.context;
    params.n_draft = chat->settings->n_draft;
    chat->sampler = rml_sampler_create(rml_model_config(chat->target.model)->n_vocab,
                                       &chat->settings->sampling, err);
    struct rml_ids stops = {0};
    bool ok = chat->sampler && rml_stop_ids(rml_model_checkpoint(chat->target.model),
                                            chat->target.tokenizer, chat->format, &stops, err);
    params.stop_ids = stops.ids;
    params.n_stop_ids = stops.n;
    if (ok)
        chat->session = rml_session_create(chat->target.context, chat->sampler, &params, err);
    rml_ids_release(&stops);
    return chat->session;
}

bool chat_init(struct chat *chat, const struct chat_settings *settings,
               const struct cli_options *options, struct rml_error *err)
{
    *chat = (struct chat){.settings = settings};
    bool ok =
        load(&chat->target, settings->model, err) && find_format(chat, err) &&
        (!settings->draft || (load(&chat->draft, settings->draft, err) && check_draft(chat, err)));
    size_t ctx = ok ? choose_ctx(chat, options) : 0;
    chat->pool = ok ? rml_thread_pool_create(options->threads, err) : NULL;
    ok = chat->pool && make_context(&chat->target, chat->pool, options, ctx, err) &&
         (!settings->draft || make_context(&chat->draft, chat->pool, options, ctx, err)) &&
         make_session(chat, options, ctx, err);
    if (!ok)
        chat_release(chat);
    return ok;
}

void chat_release(struct chat *chat)
{
    chat_reset(chat);
    free(chat->messages);
    rml_session_destroy(chat->session);
    rml_sampler_destroy(chat->sampler);
    release_model(&chat->draft);
    release_model(&chat->target);
    rml_thread_pool_destroy(chat->pool);
    memset(chat, 0, sizeof *chat);
}
