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
 * What a template does silently is done here too: some leave a system message out that
 * they have no place for (those of Llama 2 behind the first message, those of Mistral v3 when the
 * assistant spoke last). But a role other than system, user and assistant is refused where the
 * template would leave its message out or write it by rules for tools. Templates whose text
 * depends on the date are not recognised, since a score must not; what refuses one names the
 * format that is the same with a fixed date, if there is one.
 *
 * Thread rule: stateless.
 */
#ifndef RML_TEXT_CHAT_H
#define RML_TEXT_CHAT_H

#include "text/spans.h"
#include "text/tokenizer.h"

struct rml_chat_format; /* static data, never freed */

/* "llama2", "llama3", "llama3.1", "chatml", "qwen3", "mistral-v1", "mistral-v3", "mistral-v7",
 * "gemma", "gemma3", "zephyr", "tulu", "olmoe" and so on. NULL when unknown. */
const struct rml_chat_format *rml_chat_format_by_name(const char *name);
/* The i-th known format, NULL past the last. */
const struct rml_chat_format *rml_chat_format_at(size_t i);
const char *rml_chat_format_name(const struct rml_chat_format *format);
/* All names with ", " between, for messages; cut where `out` ends, always terminated. */
void rml_chat_format_list(char *out, size_t out_nbytes);

/* Recognises a template by the SHA-256 of its text, a newline at the end aside. NULL with
 * RML_UNSUPPORTED when it is not known or known and refused, with the hash, and the model and the
 * reason if known, in the message; RML_NOT_FOUND when `chat_template` is NULL. */
const struct rml_chat_format *rml_chat_format_of_template(const char *chat_template,
                                                          struct rml_error *err);

struct rml_chat_message {
    const char *role;    /* "system", "user", "assistant"; others where the template writes any */
    const char *content; /* any bytes */
    size_t content_nbytes;
};

/* Appends the text of a conversation. generation_prompt: opens the assistant's turn. A role or an
 * order that the format's template refuses is RML_INVALID_ARGUMENT; on failure `out` is as it
 * was. bos, eos: the tokenizer's texts, which templates insert; NULL: none. */
bool rml_chat_render(const struct rml_chat_format *format, const struct rml_chat_message *messages,
                     size_t n_messages, bool generation_prompt, const char *bos, const char *eos,
                     struct rml_bytes *out, struct rml_error *err);

/* Appends the ids of a conversation: those of the rendered text as one, with nothing added, in
 * which only the format's own markers are special tokens (spans.h). */
bool rml_chat_encode(const struct rml_chat_format *format, const struct rml_tokenizer *tokenizer,
                     const struct rml_chat_message *messages, size_t n_messages,
                     bool generation_prompt, struct rml_ids *out, struct rml_error *err);

/* The text of a conversation with what of it is the format's own: for who goes on behind it. */
struct rml_chat_text {
    char *text; /* [nbytes] */
    size_t nbytes;
    struct rml_text_span *spans; /* [n] of `text`, in order; trusted: from the format, BOS or EOS */
    size_t n;
};
/* On failure *text is zero. */
bool rml_chat_text_init(struct rml_chat_text *text, const struct rml_chat_format *format,
                        const struct rml_tokenizer *tokenizer,
                        const struct rml_chat_message *messages, size_t n_messages,
                        bool generation_prompt, struct rml_error *err);
void rml_chat_text_release(struct rml_chat_text *text); /* safe on a zero struct */

#endif
