/*
 * Text to ids as scoring wants it: enc() of the semantics.
 */
#ifndef EVAL_ENCODE_TEXT_H
#define EVAL_ENCODE_TEXT_H

#include "eval/eval_engine.h"

/*
 * Special tokens as the tokenizer adds them by default, and special-token text parsed, as
 * Hugging Face does. A text that already begins with the text of BOS gets none added: a
 * doubled BOS is a public defect of several programs.
 */
bool encode_text(const struct eval_engine *engine, const char *text, size_t nbytes,
                 struct rml_ids *ids, struct rml_error *err);

/* The same of a text in spans, of which the trusted ones hold special tokens; `text` [nbytes] is
 * how they begin. */
bool encode_spans(const struct eval_engine *engine, const struct rml_text_span *spans, size_t n,
                  const char *text, size_t nbytes, struct rml_ids *ids, struct rml_error *err);

/* The id that a text without context is conditioned on: BOS, else EOS; refused without both. */
bool encode_prefix(const struct eval_engine *engine, int32_t *id, struct rml_error *err);

#endif
