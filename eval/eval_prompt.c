/*
 * What a model is shown before what it is asked.
 */
#include "eval/eval_prompt.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval_options.h"
#include "tools/cli/json_out.h"

/* ---- Options --------------------------------------------------------------------------------- */

static const struct rml_chat_format *arg_format(struct argp_state *state, const char *name)
{
    const struct rml_chat_format *format = rml_chat_format_by_name(name);
    char known[1024];
    rml_chat_format_list(known, sizeof known);
    if (!format)
        argp_error(state, "--chat: '%.60s' found, expected one of: %s", name, known);
    return format;
}

static error_t parse(struct chat_options *options, int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case CHAT_KEY_CHAT:
        options->is_chat = true;
        options->chosen = arg ? arg_format(state, arg) : NULL;
        return 0;
    case CHAT_KEY_SYSTEM: {
        json_t *text = json_string(arg); /* which has to be UTF-8 */
        if (!text)
            argp_error(state, "--system: text that is no UTF-8 found, expected UTF-8");
        json_decref(text);
        options->system = arg;
        return 0;
    }
    case CHAT_KEY_TURNS:
        options->as_turns = true;
        return 0;
    case ARGP_KEY_END:
        if (options->system && !options->is_chat)
            argp_error(state, "--system found without --chat");
        if (options->as_turns && !options->is_chat)
            argp_error(state, "--fewshot-as-turns found without --chat");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

error_t chat_command_parse(struct chat_options *chat, struct eval_options *options, int key,
                           char *arg, struct argp_state *state)
{
    bool is_taken = parse(chat, key, arg, state) == 0;
    return is_taken && key != ARGP_KEY_END ? 0 : eval_options_parse(options, key, arg, state);
}

bool chat_options_settle(struct chat_options *options, const struct eval_engine *engine,
                         struct rml_error *err)
{
    struct rml_error why = RML_ERROR_INIT;
    char known[1024];
    if (!options->is_chat)
        return true;
    const char *chat_template = rml_tokenizer_chat_template(engine->tokenizer);
    options->format =
        options->chosen ? options->chosen : rml_chat_format_of_template(chat_template, &why);
    rml_chat_format_list(known, sizeof known);
    return options->format ||
           rmli_fail(err, why.code, engine->name, -1,
                     "%s; expected one that is known, or --chat=NAME with one of: %s", why.message,
                     known);
}

void chat_options_add_settings(const struct chat_options *options, json_t *settings)
{
    const char *name = options->format ? rml_chat_format_name(options->format) : NULL;
    json_object_set_new(settings, "chat_format", cli_json_text(name));
    json_object_set_new(settings, "system", cli_json_text(options->system));
    if (options->is_chat)
        json_object_set_new(settings, "chat", json_true());
    if (options->as_turns)
        json_object_set_new(settings, "fewshot_as_multiturn", json_true());
}

/* ---- Prompts ---------------------------------------------------------------------------------- */

static bool init_plain(struct eval_prompt *prompt, const char *text, size_t nbytes,
                       struct rml_error *err)
{
    struct rml_chat_text *t = &prompt->text;
    t->text = malloc(nbytes + 1);
    t->spans = calloc(1, sizeof *t->spans);
    if (!t->text || !t->spans) {
        eval_prompt_release(prompt);
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a context");
    }
    memcpy(t->text, text, nbytes);
    t->nbytes = nbytes;
    t->spans[t->n++] = (struct rml_text_span){.text = t->text, .nbytes = nbytes, .trusted = true};
    return true;
}

bool eval_prompt_init_empty(struct eval_prompt *prompt, const struct chat_options *chat,
                            struct rml_error *err)
{
    *prompt = (struct eval_prompt){.is_chat = chat->format};
    return init_plain(prompt, "", 0, err);
}

bool eval_prompt_init(struct eval_prompt *prompt, const struct eval_engine *engine,
                      const struct chat_options *chat, const struct choice_item *item,
                      size_t context, struct rml_error *err)
{
    const struct choice_text *text = &item->contexts[context];
    *prompt = (struct eval_prompt){.is_chat = chat->format};
    if (!chat->format)
        return init_plain(prompt, text->data, text->nbytes, err);
    struct rml_chat_message own[2] = {{"system", chat->system, 0}};
    const struct rml_chat_message *messages = own;
    size_t n = 0;
    if (item->conversations) {
        messages = item->conversations[context].messages;
        n = item->conversations[context].n;
    } else {
        if (chat->system)
            own[n++].content_nbytes = strlen(chat->system);
        own[n++] = (struct rml_chat_message){"user", text->data, text->nbytes};
    }
    prompt->is_rendered = true;
    return rml_chat_text_init(&prompt->text, chat->format, engine->tokenizer, messages, n, true,
                              err);
}

void eval_prompt_release(struct eval_prompt *prompt)
{
    if (prompt->is_rendered) {
        rml_chat_text_release(&prompt->text);
    } else {
        free(prompt->text.text);
        free(prompt->text.spans);
    }
    *prompt = (struct eval_prompt){0};
}
