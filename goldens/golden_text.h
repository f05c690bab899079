/*
 * The text or messages of a case, and the tokens that the checkpoint's tokenizer gives for them.
 *
 * Special-token text is not parsed. Messages are laid out by the case's chat format, else by the
 * one of the checkpoint's template, up to the opening of the assistant's turn.
 */
#ifndef GOLDENS_GOLDEN_TEXT_H
#define GOLDENS_GOLDEN_TEXT_H

#include "goldens/golden_compare.h"

/* Appends the ids of a case that has text. False when the checkpoint has no tokenizer that is
 * known, or no chat format, or one that refuses the messages. */
bool golden_encode_text(struct golden_engine *engine, const struct golden_source *source,
                        struct rml_ids *out, struct rml_error *err);

/* Sets outcome->text and, when it differs, outcome->token; a difference takes `passed` away. When
 * it cannot be compared, *why says what is missing. */
void golden_compare_text(struct golden_engine *engine, const struct golden_case *c,
                         struct golden_outcome *outcome, struct rml_error *why);

/* A sentence about a difference: "token 3: id 17 "foo" found, expected id 18 "bar"". */
void golden_token_deviation_text(const struct golden_token_deviation *deviation, char *text,
                                 size_t nbytes);

#endif
