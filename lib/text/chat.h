/*
 * Chat formats: messages to the text and the ids that a model was trained on.
 *
 * A format is chosen by name, or recognised from the checkpoint's chat template by a
 * hash of its text: a template that is not known is refused, never guessed at. What a
 * format renders equals what transformers' apply_chat_template renders.
 *
 * Contents are data: special-token text inside them stays text. The markers of the
 * format become special tokens. (A template engine parses both alike; there ours
 * differs on purpose.)
 *
 * Thread rule: stateless.
 */
#ifndef RML_TEXT_CHAT_H
#define RML_TEXT_CHAT_H

#include "text/tokenizer.h"

struct rml_chat_format; /* static data, never freed */

/* "llama2", "llama3", "chatml", "mistral-v1", "mistral-v3", "mistral-v7", "gemma", "zephyr",
 * "tulu" and so on. NULL when unknown. */
const struct rml_chat_format *rml_chat_format_by_name(const char *name);
/* The i-th known format, NULL past the last. */
const struct rml_chat_format *rml_chat_format_at(size_t i);
const char *rml_chat_format_name(const struct rml_chat_format *format);

/* Recognises a template by its text. NULL with RML_UNSUPPORTED and the text's hash in the
 * message when it is not known; RML_NOT_FOUND when `chat_template` is NULL. */
const struct rml_chat_format *rml_chat_format_of_template(const char *chat_template,
                                                          struct rml_error *err);

struct rml_chat_message {
    const char *role; /* "system", "user", "assistant" */
    const char *content;
    size_t content_nbytes;
};

/* Appends the text of a conversation. generation_prompt: opens the assistant's turn. A role or an
 * order that the format's template refuses is RML_INVALID_ARGUMENT; on failure `out` is as it
 * was. bos, eos: the tokenizer's texts, which templates insert. */
bool rml_chat_render(const struct rml_chat_format *format, const struct rml_chat_message *messages,
                     size_t n_messages, bool generation_prompt, const char *bos, const char *eos,
                     struct rml_bytes *out, struct rml_error *err);

/* Appends the ids of a conversation. */
bool rml_chat_encode(const struct rml_chat_format *format, const struct rml_tokenizer *tokenizer,
                     const struct rml_chat_message *messages, size_t n_messages,
                     bool generation_prompt, struct rml_ids *out, struct rml_error *err);

#endif
