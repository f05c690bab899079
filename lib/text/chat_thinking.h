/*
 * Answers of reasoning models: which part of one stays in the conversation.
 *
 * Such an answer is "<think>\nreasoning\n</think>\n\nanswer". The reasoning of earlier turns is
 * left out, that after the user's last question is kept.
 */
#ifndef RML_TEXT_CHAT_THINKING_H
#define RML_TEXT_CHAT_THINKING_H

#include "text/chat_layout.h"

/* Qwen 3: after the last question of the user (a tool's response is none) an answer is written
 * with its reasoning, and the very last one even with an empty one; others without. */
bool rmli_chat_qwen3_answer(struct rmli_chat_layout *layout,
                            const struct rml_chat_message *messages, size_t n_messages, size_t at,
                            struct rml_error *err);

/* QwQ: all but the last message lose everything up to the last </think> and the newlines behind. */
bool rmli_chat_qwq_answer(struct rmli_chat_layout *layout, const struct rml_chat_message *messages,
                          size_t n_messages, size_t at, struct rml_error *err);

#endif
