/*
 * What ends a reply: the ids by which a checkpoint says that it is done.
 *
 * They are said in several places, and files in the wild say them in some and not in others, so
 * all are taken together:
 *
 *   - a GGUF's tokenizer.ggml.eos_token_id, .eot_token_id and .eom_token_id;
 *   - eos_token_id, a number or a list of them, of a folder's generation_config.json and
 *     config.json;
 *   - the tokenizer's EOS;
 *   - with a chat format, the special token that it writes after an assistant's message.
 *
 * Thread rule: stateless.
 */
#ifndef RML_GENERATE_STOP_IDS_H
#define RML_GENERATE_STOP_IDS_H

#include "files/checkpoint.h"
#include "text/chat.h"

/* Appends them, each once, ascending from where `out` ended; rml_ids_release releases it. `format`
 * may be NULL. RML_FORMAT for an id that is no number or outside the tokenizer's vocabulary; on
 * failure `out` is as it was. */
bool rml_stop_ids(const struct rml_checkpoint *cp, const struct rml_tokenizer *tokenizer,
                  const struct rml_chat_format *format, struct rml_ids *out, struct rml_error *err);

#endif
