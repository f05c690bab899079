/*
 * Decoders: tokens to bytes.
 *
 * The decoders of the known families do nearly all of their work token by token, so each token's
 * bytes are worked out once, when the tokenizer is opened (rmli_vocabulary.pieces), and decoding is
 * concatenation. What is left depends on the place in the text: the first token may lose a
 * space, and the whole text may be stripped at both ends.
 *
 *     [Replace | Metaspace | Strip]* [ByteFallback] [Fuse [Strip]]    or
 *     ByteLevel [Strip]
 *
 * are the orders that can be worked out like this; others are refused.
 */
#ifndef RML_TEXT_TOKEN_DECODER_H
#define RML_TEXT_TOKEN_DECODER_H

#include "text/pattern.h"
#include "text/pipeline.h"
#include "text/vocabulary.h"

enum rmli_decoder_kind {
    RMLI_DECODE_BYTELEVEL,
    RMLI_DECODE_METASPACE,
    RMLI_DECODE_REPLACE,
    RMLI_DECODE_BYTE_FALLBACK,
    RMLI_DECODE_FUSE,
    RMLI_DECODE_STRIP
};
struct rmli_decoder_step {
    enum rmli_decoder_kind kind;
    struct rmli_pattern *pattern; /* Replace; owned */
    char *content;                /* Replace; owned */
    size_t content_nbytes;
    char character[8]; /* Strip, Metaspace */
    size_t character_nbytes;
    size_t start, stop;              /* Strip */
    enum rmli_prepend_scheme scheme; /* Metaspace */
};

struct rmli_decoder {
    struct rmli_decoder_step steps[RMLI_MAX_STEPS];
    size_t n_steps;
    bool present; /* also of no steps: an empty Sequence */

    /* worked out by finish */
    bool spaced;                    /* no decoder at all: tokens are joined by spaces */
    bool first_differs;             /* the first token of a text is worked out by itself */
    struct rmli_decoder_step strip; /* of the whole text; start = stop = 0: none */
};
enum { RMLI_MAX_STRIP = 8 }; /* characters, so that a stream's buffer is bounded */

/* Checks the order of the steps and fills the vocabulary's pieces. */
bool rmli_decoder_finish(struct rmli_decoder *decoder, struct rmli_vocabulary *vocabulary,
                         struct rml_error *err);
void rmli_decoder_release(struct rmli_decoder *decoder);

/* Appends the bytes of a token that comes first in a text. */
bool rmli_decoder_first(const struct rmli_decoder *decoder,
                        const struct rmli_vocabulary *vocabulary, int32_t id, struct rml_bytes *out,
                        struct rml_error *err);

#endif
