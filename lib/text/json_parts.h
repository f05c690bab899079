/*
 * The small parts of tokenizer.json, as trees: normalizer, pre_tokenizer, post_processor, decoder.
 *
 * Refused by name, with RML_UNSUPPORTED: a `type`, behavior or prepend_scheme that is not known; a
 * second ByteLevel, or Metaspace after one; a regular expression that pattern_translate.c does not
 * take; a template whose `single` has sequence A other than once, or that makes more than
 * RMLI_MAX_AFFIX tokens. A member of the wrong type, or a missing one that is needed, is
 * RML_FORMAT. What cannot change the ids of one text is not read: trim_offsets, a template's `pair`.
 */
#ifndef RML_TEXT_JSON_PARTS_H
#define RML_TEXT_JSON_PARTS_H

#include <jansson.h>

#include "text/tokenizer_private.h"

/* NULL or null: none of it. All fill the tokenizer's members of that name. */
bool rmli_json_read_normalizer(struct rml_tokenizer *t, const json_t *json, struct rml_error *err);
bool rmli_json_read_pretokenizer(struct rml_tokenizer *t, const json_t *json,
                                 struct rml_error *err);
bool rmli_json_read_decoder(struct rml_tokenizer *t, const json_t *json, struct rml_error *err);
/* The vocabulary must be there: a template's ids have to lie in it. */
bool rmli_json_read_postprocessor(struct rml_tokenizer *t, const json_t *json,
                                  struct rml_error *err);

/* Typed members of an object; an absent or null one leaves *out as it was. */
bool rmli_json_get_flag(const json_t *object, const char *key, bool *out, struct rml_error *err);
bool rmli_json_get_text(const json_t *object, const char *key, const char **out, size_t *nbytes,
                        struct rml_error *err);
/* The text of "type"; "" when there is none. */
const char *rmli_json_type(const json_t *object);

/* A pre-tokenizer or normalizer of one's own, for the GGUF reader: the next free step, NULL when
 * there are too many. */
struct rmli_pretokenizer *rmli_pipeline_add_pretokenizer(struct rmli_pipeline *pipeline,
                                                         enum rmli_pretokenizer_kind kind,
                                                         struct rml_error *err);
struct rmli_normalizer *rmli_pipeline_add_normalizer(struct rmli_pipeline *pipeline,
                                                     enum rmli_normalizer_kind kind,
                                                     struct rml_error *err);
struct rmli_decoder_step *rmli_decoder_add(struct rmli_decoder *decoder,
                                           enum rmli_decoder_kind kind, struct rml_error *err);
/* A copy by rmli_alloc; NULL with RML_NO_MEMORY. */
char *rmli_copy(const char *s, size_t nbytes, struct rml_error *err);

#endif
