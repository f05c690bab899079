/* The tokenizer behind its public handle, and what its readers share. */
#ifndef RML_TEXT_TOKENIZER_PRIVATE_H
#define RML_TEXT_TOKENIZER_PRIVATE_H

#include "files/content_hash.h"
#include "files/gguf.h"
#include "text/added_tokens.h"
#include "text/token_decoder.h"
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
    struct rml_tokenizer_batching batching;

    /* What it was read from, kept to be hashed when somebody asks: one or the other. */
    struct {
        struct rmli_gguf *gguf;
        struct rmli_mapped_file json, config;
    } source;
    char *chat_template; /* or NULL; owned, malloc */
};

/* Sorts the added tokens into the two lists, normalising the contents of the second; marks
 * their kinds. The pipeline's normalizers must be there. */
bool rmli_tokenizer_set_added(struct rml_tokenizer *t, const struct rmli_added_token *tokens,
                              size_t n, struct rml_error *err);

/* Well-formed UTF-8, nothing added. On failure `out` may have grown. */
bool rmli_tokenizer_encode_text(const struct rml_tokenizer *t, const char *text, size_t nbytes,
                                const struct rmli_trust *trust, struct rml_ids *out,
                                struct rml_error *err);
/* The same between what the tokenizer adds to a text, with `add`. */
bool rmli_tokenizer_encode_added(const struct rml_tokenizer *t, const char *text, size_t nbytes,
                                 const struct rmli_trust *trust, bool add, struct rml_ids *out,
                                 struct rml_error *err);
bool rmli_tokenizer_is_well_formed(const char *text, size_t nbytes);
/* Appends the text with U+FFFD for what is ill-formed. */
bool rmli_tokenizer_make_well_formed(const struct rml_tokenizer *t, const char *text, size_t nbytes,
                                     struct rml_bytes *out, struct rml_error *err);

/* A stretch between added tokens, normalised, and where the normalised text is trusted (spans.c).
 * Zero to begin with, released on success and failure. */
struct rmli_section {
    const char *text; /* in the run, or in `copy` */
    size_t nbytes;
    struct rmli_trust trust;
    struct rml_bytes copy;
    struct rmli_range *ranges;
    size_t n_start; /* as of the run */
};
/* text[at .. at + nbytes), of which `trust` tells. */
bool rmli_section_init(struct rmli_section *section, struct rmli_run *run, const char *text,
                       size_t at, size_t nbytes, const struct rmli_trust *trust);
void rmli_section_release(struct rmli_section *section);

bool rmli_tokenizer_read_gguf(struct rml_tokenizer *t, const struct rmli_gguf *gguf,
                              const char *pre, struct rml_error *err);
/* config_path may be NULL. */
bool rmli_tokenizer_read_json(struct rml_tokenizer *t, const char *path, const char *config_path,
                              struct rml_error *err);
bool rmli_tokenizer_hash_gguf(const struct rmli_gguf *gguf, char hex[RMLI_SHA256_HEX_NBYTES],
                              struct rml_error *err);
bool rmli_tokenizer_hash_files(const struct rmli_mapped_file *json,
                               const struct rmli_mapped_file *config, /* mapped or all zero */
                               char hex[RMLI_SHA256_HEX_NBYTES], struct rml_error *err);
/* Of the chat_template.jinja beside tokenizer.json, if there is one. */
bool rmli_tokenizer_read_template(struct rml_tokenizer *t, const char *path, struct rml_error *err);

#endif
