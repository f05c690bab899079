/*
 * What rml-chat is made of: models made ready to talk, a conversation, and ways in and out.
 */
#ifndef TOOLS_CHAT_PROGRAM_H
#define TOOLS_CHAT_PROGRAM_H

#include <stdio.h>

#include "tools/cli/options.h"

struct chat_settings {
    const char *model, *draft;            /* checkpoints; draft NULL: none */
    const struct rml_chat_format *format; /* NULL: recognised from the checkpoint's template */
    const char *system;                   /* NULL: no system message */
    bool is_raw;                          /* no chat format: texts are continued */
    struct rml_sampler_params sampling;
    size_t max_tokens, n_draft;
};

/* A checkpoint loaded. */
struct chat_model {
    struct rml_model *model;
    struct rml_tokenizer *tokenizer;
    struct rml_context *context;
};

struct chat {
    const struct chat_settings *settings; /* borrowed */
    struct rml_thread_pool *pool;
    struct chat_model target, draft;
    const struct rml_chat_format *format; /* NULL with is_raw */
    struct rml_sampler *sampler;
    struct rml_session *session;
    struct rml_chat_message *messages; /* [n_messages] each content its own */
    size_t n_messages;
    FILE *stream;             /* where replies are written; NULL: they are only returned */
    bool (*is_stopped)(void); /* asked after each token: ends the reply */
};

/* Loads what the settings name. On failure *chat is all zero. */
bool chat_init(struct chat *chat, const struct chat_settings *settings,
               const struct cli_options *options, struct rml_error *err);
void chat_release(struct chat *chat); /* safe on a zero struct */

/*
 * One turn: the user says `text`, the model's reply is streamed to chat->stream and appended to
 * *reply, and both become part of the conversation. On failure the conversation is as it was, but
 * part of the reply may have been written. In raw mode the text is continued on its own.
 */
bool chat_say(struct chat *chat, const char *text, size_t nbytes, struct rml_bytes *reply,
              struct rml_generation_stats *stats, struct rml_error *err);

/* Forgets what was said; the system message stays. */
void chat_reset(struct chat *chat);

/* n a second; 0 for no time. */
double chat_rate(size_t n, int64_t ns);

/* "prompt 31 tokens (12 cached) ..." as a note on standard error. */
void chat_note_stats(const struct chat *chat, const struct rml_generation_stats *stats);

/*
 * Writes a reply's next bytes, which end with a whole character. To a terminal, what could drive it
 * (control characters but newline and tab, and bytes of no character) becomes U+FFFD, and carriage
 * returns are left out; elsewhere bytes go as they are.
 */
void chat_print(FILE *stream, const char *bytes, size_t nbytes);

/*
 * Turns from standard input, a line each, until an empty line or its end: edited when it is a
 * terminal. Returns an exit code.
 */
int chat_loop(struct chat *chat);

#endif
