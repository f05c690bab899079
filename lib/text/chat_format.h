/*
 * What a chat format is: a few pieces of text with holes, and rules for the system message.
 *
 * Templates of real models differ in their markers, in what they do with the system message and in
 * little else. So a format is data, and one function (chat_layout.c) lays out all of them.
 *
 * A piece is text in which % stands before a hole:
 *
 *     %b %e   the tokenizer's BOS and EOS text
 *     %r      the message's role
 *     %c %t   the message's content; the content without white space at both ends
 *     %s %S   the text of the system message; without white space at both ends
 *     %( %)   what lies between, holes filled, loses white space at both ends
 *     %q %a   the answer under a rule for reasoning models (chat_thinking.h)
 *
 * White space is that of Python's str.strip, which is what templates call.
 */
#ifndef RML_TEXT_CHAT_FORMAT_H
#define RML_TEXT_CHAT_FORMAT_H

#include "text/chat.h"

struct rmli_chat_turn {
    const char *role;  /* NULL: any role that has no turn of its own before this one */
    const char *piece; /* "": the message is lost, as in the model's template */
    const char *last;  /* in place of `piece` when it is the conversation's last; NULL: the same */
    bool refused;
    bool skip_empty; /* nothing is written for an empty content */
};

enum rmli_chat_system {
    RMLI_SYSTEM_TURN,     /* a turn like any other */
    RMLI_SYSTEM_TAKEN,    /* the first message, when it is one, is taken out: only %s writes it */
    RMLI_SYSTEM_IN_FIRST, /* taken out, and the first message left is written by `merged` */
    RMLI_SYSTEM_IN_LAST,  /* taken out, and the last is, if it is the user's; else it is lost */
    RMLI_SYSTEM_REFUSED   /* as the first message */
};

#define RMLI_CHAT_MAX_TURNS 6

struct rml_chat_format {
    const char *name;
    const char *start; /* opens the text, always; NULL pieces write nothing */
    enum rmli_chat_system system;
    const char *with_system;    /* then, when the first message is a system message */
    const char *without_system; /* then, when it is not: a default system prompt */
    const char *merged;
    bool alternates; /* user, assistant, user ... from the first message that is not taken out */
    struct rmli_chat_turn turns[RMLI_CHAT_MAX_TURNS]; /* up to the first without a piece */
    const char *prompt;                               /* opens the assistant's turn */
    const char *no_prompt;                            /* ends the text when it is not opened */
    bool no_prompt_after_assistant; /* asked for or not, and then nothing is written */
};

extern const struct rml_chat_format rmli_chat_formats[];
extern const size_t rmli_chat_n_formats;

/* A chat template that is known, by the SHA-256 of its text without a newline at the end (which
 * the template language drops). Sorted by hash. */
struct rmli_chat_template {
    const char *sha256;
    const char *format; /* NULL: known and refused, for `reason` */
    const char *source; /* a model that has it */
    const char *reason;
};
extern const struct rmli_chat_template rmli_chat_templates[];
extern const size_t rmli_chat_n_templates;

#endif
