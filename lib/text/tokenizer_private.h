/* The tokenizer behind its public handle, and what its readers share. */
#ifndef RML_TEXT_TOKENIZER_PRIVATE_H
#define RML_TEXT_TOKENIZER_PRIVATE_H

#include "text/added_tokens.h"
#include "text/decoder.h"
#include "text/pipeline.h"
#include "text/tokenizer.h"

/* Ids that the post-processor puts around a text; more is refused. */
enum { RMLI_MAX_AFFIX = 32 };

struct rml_tokenizer {
    struct rmli_vocabulary vocabulary;
    struct rmli_pipeline pipeline;
    struct rmli_added_list added;            /* found in the text as it is */
    struct rmli_added_list added_normalized; /* found in the normalised text */
    struct rmli_decoder decoder;

    int32_t prefix[RMLI_MAX_AFFIX], suffix[RMLI_MAX_AFFIX];
    size_t n_prefix, n_suffix;
    int32_t bos, eos;       /* or -1 */
    bool replace_each_byte; /* of ill-formed UTF-8 */

    char content_sha256[65];
    char *chat_template; /* or NULL; owned, malloc */
};

/* Sorts the added tokens into the two lists, normalising the contents of the second; marks
 * their kinds. The pipeline's normalizers must be there. */
bool rmli_tokenizer_set_added(struct rml_tokenizer *t, const struct rmli_added_token *tokens,
                              size_t n, struct rml_error *err);

struct rmli_gguf;
bool rmli_tokenizer_read_gguf(struct rml_tokenizer *t, const struct rmli_gguf *gguf,
                              const char *pre, struct rml_error *err);
/* config_path may be NULL. */
bool rmli_tokenizer_read_json(struct rml_tokenizer *t, const char *path, const char *config_path,
                              struct rml_error *err);
/* Of the chat_template.jinja beside tokenizer.json, if there is one. */
bool rmli_tokenizer_read_template(struct rml_tokenizer *t, const char *path, struct rml_error *err);

#endif
