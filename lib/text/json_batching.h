/* "truncation" and "padding" of tokenizer.json: checked, kept for who asks, never applied. */
#ifndef RML_TEXT_JSON_BATCHING_H
#define RML_TEXT_JSON_BATCHING_H

#include "files/json_cursor.h"
#include "text/tokenizer.h"

/* Each reads the value that comes next, an object or null; a value that the reference refuses is an
 * error with its place. The last of several counts. */
bool rmli_json_read_truncation(struct rmli_json_cursor *c, struct rml_tokenizer_batching *out);
bool rmli_json_read_padding(struct rmli_json_cursor *c, struct rml_tokenizer_batching *out);

#endif
