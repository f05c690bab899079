/* The layout of a conversation: stretches of text, each from the format or from a message. */
#ifndef RML_TEXT_CHAT_LAYOUT_H
#define RML_TEXT_CHAT_LAYOUT_H

#include "text/chat_format.h"
#include "text/spans.h"

/* Zero to begin with, released by rmli_chat_layout_release on success and failure. The spans
 * borrow from the format, the messages, bos and eos. */
struct rmli_chat_layout {
    struct rml_text_span *spans; /* trusted: from the format, BOS or EOS */
    size_t n, capacity;
};

bool rmli_chat_layout_append(struct rmli_chat_layout *layout, const char *text, size_t nbytes,
                             bool trusted, struct rml_error *err);
void rmli_chat_layout_release(struct rmli_chat_layout *layout);

/* bos and eos may be NULL: nothing. */
bool rmli_chat_lay_out(const struct rml_chat_format *format,
                       const struct rml_chat_message *messages, size_t n_messages,
                       bool generation_prompt, const char *bos, const char *eos,
                       struct rmli_chat_layout *layout, struct rml_error *err);

/* Narrows *text to what Python's str.strip() leaves of it. */
void rmli_python_strip(const char **text, size_t *nbytes, bool left, bool right);

#endif
