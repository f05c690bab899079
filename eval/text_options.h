/*
 * Options of commands that score texts: which texts, cut into which windows.
 */
#ifndef EVAL_TEXT_OPTIONS_H
#define EVAL_TEXT_OPTIONS_H

#include "eval/windows.h"
#include "tools/cli/options.h"

struct eval_options;
struct json_t;

struct text_options {
    struct window_settings windows; /* n_ctx and stride 0 until they are settled */
    enum document_kind documents;
    const char *field;     /* NULL: not given */
    char texts_sha256[65]; /* of what was read; "": nothing was */
};

/* Rows of an argp table; `group` as in struct argp_option. */
#define TEXT_OPTION_KEYS(group)                                                                      \
    {"protocol",                                                                                     \
     TEXT_KEY_PROTOCOL,                                                                              \
     "NAME",                                                                                         \
     0,                                                                                              \
     "What the number means: llama.cpp (disjoint chunks, their second halves scored), hf-stride "    \
     "(windows that overlap, each token scored once) or lm-eval (rolling, per word and byte) "       \
     "(llama.cpp)",                                                                                  \
     group},                                                                                         \
        {"stride", TEXT_KEY_STRIDE, "N", 0, "Of hf-stride: how far a window moves (half of --ctx)",  \
         group},                                                                                     \
        {"documents",                                                                                \
         TEXT_KEY_DOCUMENTS,                                                                         \
         "KIND",                                                                                     \
         0,                                                                                          \
         "What a document is: file, lines (each line one) or jsonl (a field of each line) (file)",   \
         group},                                                                                     \
        {"field", TEXT_KEY_FIELD, "NAME", 0, "Of --documents jsonl: the field with the text (text)", \
         group},                                                                                     \
    {                                                                                                \
        "compat", TEXT_KEY_COMPAT, "HOW", 0,                                                         \
            "double-bos: with lm-eval, BOS as the tokenizer adds it after the prefix token, as "     \
            "lm-eval 0.4 does it by default",                                                        \
            group                                                                                    \
    }

enum {
    TEXT_KEY_PROTOCOL = CLI_OWN_KEY + 0x200,
    TEXT_KEY_STRIDE,
    TEXT_KEY_DOCUMENTS,
    TEXT_KEY_FIELD,
    TEXT_KEY_COMPAT
};

/* Handles these keys, and checks at ARGP_KEY_END; ARGP_ERR_UNKNOWN for any other key. */
error_t text_options_parse(struct text_options *options, int key, char *arg,
                           struct argp_state *state);

/* Handles eval_options_parse's keys, too. */
error_t text_command_parse(struct text_options *text, struct eval_options *options, int key,
                           char *arg, struct argp_state *state);

/*
 * Context and stride where they were not given: `ctx` (0: not given), else by protocol 512, the
 * model's own length but at most 4096, or the model's own. Refuses what no token can be scored
 * with; warns of a context beyond the model's.
 */
bool text_options_settle(struct text_options *options, size_t ctx, const struct eval_engine *engine,
                         struct rml_error *err);

/* What of them a number depends on, into the settings of a run. */
void text_options_add_settings(const struct text_options *options, struct json_t *settings);

bool text_options_read(struct text_options *options, char *const *files, size_t n_files,
                       struct documents *documents, struct rml_error *err);

#endif
