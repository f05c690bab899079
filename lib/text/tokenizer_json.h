/* What the readers of tokenizer.json and of tokenizer_config.json share. */
#ifndef RML_TEXT_TOKENIZER_JSON_H
#define RML_TEXT_TOKENIZER_JSON_H

#include <jansson.h>

#include "base/arena.h"
#include "base/mapped_file.h"
#include "text/tokenizer_private.h"

/* A growing list; contents are in an arena. */
struct rmli_added_tokens {
    struct rmli_added_token *tokens;
    size_t n, capacity;
};
void rmli_added_tokens_release(struct rmli_added_tokens *list);

/* Appends the "added_tokens" of tokenizer.json. */
bool rmli_added_tokens_read(struct rmli_added_tokens *list, const json_t *json,
                            struct rmli_arena *strings, struct rml_error *err);
/* Adds those of tokenizer_config.json. What becomes of a token known already: its flags are
 * replaced (but a special one stays special), or it becomes special, or it stays as it is. */
enum rmli_known_token { RMLI_KNOWN_IS_REPLACED, RMLI_KNOWN_IS_SPECIAL, RMLI_KNOWN_STAYS };
bool rmli_added_tokens_merge(struct rmli_added_tokens *list, const struct rmli_added_tokens *more,
                             enum rmli_known_token known_token, struct rml_error *err);

/* What tokenizer_config.json says about ids. */
struct rmli_tokenizer_config {
    struct rmli_added_tokens added;   /* added_tokens_decoder, by id */
    struct rmli_added_tokens named;   /* those with a part: BOS, EOS, padding and so on */
    struct rmli_added_tokens further; /* additional_special_tokens, extra_special_tokens */
    const char *bos, *eos;            /* texts, in the arena; NULL: none */
    size_t bos_nbytes, eos_nbytes;
    int add_bos, add_eos; /* -1: not said */
    char *chat_template;  /* malloc */
};
bool rmli_tokenizer_config_read(struct rmli_tokenizer_config *config, const char *path,
                                struct rmli_arena *strings, struct rml_error *err);
/* Once the tokenizer is complete; never fails. */
bool rmli_tokenizer_config_apply(struct rmli_tokenizer_config *config, struct rml_tokenizer *t);
void rmli_tokenizer_config_release(struct rmli_tokenizer_config *config);

#endif
