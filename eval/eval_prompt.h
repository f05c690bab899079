/*
 * What a model is shown before what it is asked: plain text, or with --chat a conversation as the
 * checkpoint's chat format writes it.
 *
 * As lm-eval's --apply_chat_template: the conversation is rendered with the assistant's turn open,
 * and that text is a context like any other. BOS is put before it where the tokenizer adds one and
 * the text does not begin with it. One difference, on purpose: special-token text inside of messages
 * and behind them stays text, only the format's own markers are special tokens.
 */
#ifndef EVAL_EVAL_PROMPT_H
#define EVAL_EVAL_PROMPT_H

#include "eval/choice_items.h"
#include "eval/eval_engine.h"
#include "tools/cli/options.h"

struct eval_options;

struct chat_options {
    bool is_chat;
    const struct rml_chat_format *chosen; /* NULL: recognised from the checkpoint's template */
    const char *system;                   /* NULL: no system message */
    bool as_turns;                        /* few-shot examples as turns of their own */
    const struct rml_chat_format *format; /* once settled; NULL: plain text */
};

/* Rows of an argp table; `group` as in struct argp_option. */
#define CHAT_OPTION_KEYS(group)                                                                    \
    {"chat",                                                                                       \
     CHAT_KEY_CHAT,                                                                                \
     "FORMAT",                                                                                     \
     OPTION_ARG_OPTIONAL,                                                                          \
     "The context is a user's message in the checkpoint's chat format, or in FORMAT "              \
     "(--chat=NAME)",                                                                              \
     group},                                                                                       \
    {                                                                                              \
        "system", CHAT_KEY_SYSTEM, "TEXT", 0, "With --chat: system message", group                 \
    }
#define CHAT_OPTION_TURNS(group)                                                                   \
    {                                                                                              \
        "fewshot-as-turns", CHAT_KEY_TURNS, NULL, 0,                                               \
            "With --chat: each example is a message and its answer, not part of the question "     \
            "(lm-eval's command line does so with --apply_chat_template alone; without it this "   \
            "is its --fewshot_as_multiturn false)",                                                \
            group                                                                                  \
    }

enum { CHAT_KEY_CHAT = CLI_OWN_KEY + 0x300, CHAT_KEY_SYSTEM, CHAT_KEY_TURNS };

/* Handles these keys and those of eval_options_parse, and checks at ARGP_KEY_END; ARGP_ERR_UNKNOWN
 * for any other key. */
error_t chat_command_parse(struct chat_options *chat, struct eval_options *options, int key,
                           char *arg, struct argp_state *state);
/* Finds the format. The engine has a tokenizer. */
bool chat_options_settle(struct chat_options *options, const struct eval_engine *engine,
                         struct rml_error *err);
/* "chat_format" and "system", null without --chat; "chat" and "fewshot_as_multiturn" where they are
 * true. */
void chat_options_add_settings(const struct chat_options *options, struct json_t *settings);

struct eval_prompt {
    struct rml_chat_text text;
    bool is_chat, is_rendered; /* is_rendered: the library's memory */
};

/* Of an item's context number `context`. A conversation that the format refuses is an error. */
bool eval_prompt_init(struct eval_prompt *prompt, const struct eval_engine *engine,
                      const struct chat_options *chat, const struct choice_item *item,
                      size_t context, struct rml_error *err);
bool eval_prompt_init_empty(struct eval_prompt *prompt, const struct chat_options *chat,
                            struct rml_error *err);
void eval_prompt_release(struct eval_prompt *prompt); /* safe on a zero struct */

#endif
