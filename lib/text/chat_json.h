/*
 * Conversations as JSON: an array of {"role": "...", "content": "..."}, as in golden files and in
 * the interfaces of chat services.
 *
 * Strict: what rml would have to ignore (tool calls, lists of content parts, any other key) is
 * refused by name.
 *
 * Thread rule: a conversation belongs to one thread at a time.
 */
#ifndef RML_TEXT_CHAT_JSON_H
#define RML_TEXT_CHAT_JSON_H

#include "text/chat.h"

struct json_t;

/* Zero to begin with, released by rml_conversation_release. */
struct rml_conversation {
    struct rml_chat_message *messages; /* [n], at least one */
    size_t n;
    struct json_t *json; /* what the messages borrow from; a reference of its own */
};

/*
 * The messages of a JSON array. `file` (may be NULL) is named in errors, which say which message
 * they are about ("messages[2]: ..."): RML_FORMAT for what is no conversation, RML_UNSUPPORTED for
 * what rml cannot render. On failure `out` is as it was.
 */
bool rml_conversation_from_json(struct rml_conversation *out, struct json_t *array,
                                const char *file, struct rml_error *err);

/* From a file that holds the array, or an object whose key "messages" does. */
bool rml_conversation_load(struct rml_conversation *out, const char *path, struct rml_error *err);

void rml_conversation_release(struct rml_conversation *conversation);

#endif
