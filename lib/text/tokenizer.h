/*
 * Tokenizers: text to ids and back, equal to the reference implementations id for id.
 *
 * One pipeline serves both sources, as in Hugging Face's tokenizers:
 *
 *     text -> added tokens cut out -> normalizer -> pre-tokenizer -> model -> post-processor
 *     ids -> token strings -> decoder -> bytes
 *
 * tokenizer.json describes the pipeline; GGUF metadata names one (tokenizer.ggml.model
 * and .pre), which is then built from the same parts. Whatever is asked for and not known is
 * refused by name when the tokenizer is opened, never ignored.
 *
 * Ids depend neither on the locale nor on the system's libraries: Unicode classes come
 * from the table in unicode_table.c.
 *
 * Thread rule: a tokenizer is read-only after it is opened and serves any number of threads at
 * once.
 */
#ifndef RML_TEXT_TOKENIZER_H
#define RML_TEXT_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "files/checkpoint.h"

struct rml_tokenizer;

/*
 * The tokenizer of a checkpoint: tokenizer.json with tokenizer_config.json of a folder, or the
 * tokenizer.ggml.* keys of a GGUF. `pre` names the pre-tokenizer of a GGUF, over what the file
 * says (NULL: the file's); it is refused when it is not known, and where there is none to choose: in a
 * tokenizer.json and in vocabularies other than gpt2's. The checkpoint may be closed afterwards.
 * NULL on failure.
 */
struct rml_tokenizer *rml_tokenizer_from_checkpoint(const struct rml_checkpoint *cp,
                                                    const char *pre, struct rml_error *err);
/* tokenizer.json of a folder with tokenizer_config.json and chat_template.jinja, where they are; the
 * folder need hold nothing else. add_bos_token and add_eos_token of tokenizer_config.json hold, as in
 * the Llama tokenizer of transformers 4; transformers 5 (5.24) drops both where there is a tokenizer.json, and ids differ then
 * where they contradict its post-processor. RML_NOT_FOUND without a tokenizer.json. */
struct rml_tokenizer *rml_tokenizer_from_folder(const char *folder, struct rml_error *err);
/* A bare tokenizer.json, used alone. */
struct rml_tokenizer *rml_tokenizer_from_json(const char *path, struct rml_error *err);
/* What a user names: a checkpoint as rml_checkpoint_open takes it, a folder with a tokenizer.json and no
 * model, or a tokenizer.json, known by its contents or by the end of its name. `pre` as above. */
struct rml_tokenizer *rml_tokenizer_open(const char *name, const char *pre, struct rml_error *err);
void rml_tokenizer_destroy(struct rml_tokenizer *tokenizer); /* NULL is allowed */

enum rml_encode_flags {
    RML_ADD_SPECIAL = 1,  /* BOS, EOS and whatever the post-processor adds */
    RML_PARSE_SPECIAL = 2 /* text of tokens marked special becomes those tokens; without it
                             only added tokens that are not special match */
};

/* Ids grown by encode: zero-initialise, release with rml_ids_release. */
struct rml_ids {
    int32_t *ids;
    size_t n, capacity;
};
void rml_ids_release(struct rml_ids *ids);

/* Bytes grown by decode; not terminated. */
struct rml_bytes {
    char *data;
    size_t n, capacity;
};
void rml_bytes_release(struct rml_bytes *bytes);

/*
 * Appends the ids of nbytes bytes of text, at most 2^31 - 1. Any bytes are text: NUL is a
 * character, and what is no UTF-8 is read as U+FFFD, as the references do: one for each
 * ill-formed sequence (its maximal subpart, as Python's errors="replace" has it), or in a
 * SentencePiece vocabulary of a GGUF one for each byte of it. Whether U+FFFD then becomes a token,
 * bytes or the unknown token is the vocabulary's matter. On failure `out` is as it was.
 */
bool rml_tokenizer_encode(const struct rml_tokenizer *tokenizer, const char *text, size_t nbytes,
                          unsigned flags, struct rml_ids *out, struct rml_error *err);

/* Appends the bytes of n ids; skip_special leaves special tokens out. No clean-up of spaces.
 * An id outside the vocabulary is RML_INVALID_ARGUMENT. */
bool rml_tokenizer_decode(const struct rml_tokenizer *tokenizer, const int32_t *ids, size_t n,
                          bool skip_special, struct rml_bytes *out, struct rml_error *err);

/* Decoding one id at a time: each step appends what has become certain, so that a code
 * point is never split; finish appends the rest. The state needs no release: its buffer is bounded. */
struct rml_decode_stream {
    const struct rml_tokenizer *tokenizer;
    bool skip_special;
    int64_t n_tokens;   /* so far, left-out ones not counted */
    int32_t n_stripped; /* characters dropped from the beginning of the text */
    bool begun;         /* something has been given out */
    size_t n_pending;
    char pending[64]; /* an unfinished code point, and what the end of the text may drop */
};
void rml_decode_stream_init(struct rml_decode_stream *stream, const struct rml_tokenizer *tokenizer,
                            bool skip_special);
bool rml_decode_stream_step(struct rml_decode_stream *stream, int32_t id, struct rml_bytes *out,
                            struct rml_error *err);
bool rml_decode_stream_finish(struct rml_decode_stream *stream, struct rml_bytes *out,
                              struct rml_error *err);

enum rml_token_kind {
    RML_TOKEN_NORMAL,
    RML_TOKEN_ADDED,   /* matched in any text */
    RML_TOKEN_SPECIAL, /* control and unknown tokens: matched with RML_PARSE_SPECIAL */
    RML_TOKEN_BYTE,    /* <0x..> of byte fallback */
    RML_TOKEN_UNUSED   /* a hole in the ids */
};
struct rml_token_info {
    const char *bytes; /* what the token stands for in the middle of a text; borrowed */
    size_t nbytes;
    enum rml_token_kind kind;
};
size_t rml_tokenizer_n_vocab(const struct rml_tokenizer *tokenizer); /* largest id + 1 */
bool rml_tokenizer_token(const struct rml_tokenizer *tokenizer, int32_t id,
                         struct rml_token_info *info);
/* The id of a token by its text in the vocabulary; -1 when there is none. */
int32_t rml_tokenizer_find(const struct rml_tokenizer *tokenizer, const char *text, size_t nbytes);

/* What cuts words into tokens: "byte-level BPE", "BPE" or "Unigram". */
const char *rml_tokenizer_model(const struct rml_tokenizer *tokenizer);

/* -1 when the tokenizer has none. */
int32_t rml_tokenizer_bos(const struct rml_tokenizer *tokenizer);
int32_t rml_tokenizer_eos(const struct rml_tokenizer *tokenizer);
bool rml_tokenizer_adds_bos(const struct rml_tokenizer *tokenizer); /* with RML_ADD_SPECIAL */
bool rml_tokenizer_adds_eos(const struct rml_tokenizer *tokenizer);
/* What a scored text without context is conditioned on: BOS, else EOS, else -1. */
int32_t rml_tokenizer_prefix(const struct rml_tokenizer *tokenizer);

/*
 * What a tokenizer.json asks to be done with the ids of a text or of a batch of texts. It is read
 * and checked, and NOT applied: a text keeps all of its ids and gets no others. (transformers has
 * it so too, unless a call asks for it; the tokenizers package used alone applies both.)
 */
struct rml_tokenizer_batching {
    bool truncates, pads;  /* both false: of a GGUF, and mostly else */
    uint64_t max_length;   /* ids that a text is cut to, added ones included */
    uint64_t fixed_length; /* ids that a text is filled up to; 0: to the longest of its batch */
};
struct rml_tokenizer_batching rml_tokenizer_batching(const struct rml_tokenizer *tokenizer);

/* Identity by content (architecture.md, contract 10), 64 hex digits and a NUL: worked out at each
 * call, from the file's bytes, which takes milliseconds. False with RML_NO_MEMORY. */
bool rml_tokenizer_content_sha256(const struct rml_tokenizer *tokenizer, char hex[65],
                                  struct rml_error *err);
/* The checkpoint's chat template (Jinja text), or NULL. Borrowed. */
const char *rml_tokenizer_chat_template(const struct rml_tokenizer *tokenizer);

#endif
