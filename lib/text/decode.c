/*
 * Decoding: the pieces of tokens one after another, and the ends of the text.
 *
 * The stream gives out what can no longer change. It holds back an unfinished code point, and
 * as many characters as the decoder may strip from the end of the text.
 */
#include "base/utf8.h"
#include "text/growing.h"
#include "text/tokenizer_private.h"
#include "text/unicode.h"

/* Appends the bytes of the next token; *n_tokens counts those that are not left out. */
static bool append_token(const struct rml_tokenizer *t, int32_t id, bool skip_special,
                         int64_t *n_tokens, struct rml_bytes *out, struct rml_error *err)
{
    if (id < 0 || (size_t)id >= t->vocabulary.n)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "id %d is not in the vocabulary, expected 0 to %zu", (int)id,
                         t->vocabulary.n - 1);
    if (t->vocabulary.kinds[id] == RML_TOKEN_UNUSED ||
        (skip_special && rmli_vocabulary_is_left_out(&t->vocabulary, id)))
        return true;
    bool first = (*n_tokens)++ == 0;
    if (first && t->decoder.first_differs)
        return rmli_decoder_first(&t->decoder, &t->vocabulary, id, out, err);
    if (!first && t->decoder.spaced && !rmli_bytes_append(out, " ", 1, err))
        return false;
    size_t nbytes;
    const char *piece = rmli_strings_get(&t->vocabulary.pieces, (size_t)id, &nbytes);
    return rmli_bytes_append(out, piece, nbytes, err);
}

static bool has_character(const struct rmli_decoder_step *strip, const char *text, size_t nbytes)
{
    return nbytes >= strip->character_nbytes &&
           memcmp(text, strip->character, strip->character_nbytes) == 0;
}

bool rml_tokenizer_decode(const struct rml_tokenizer *t, const int32_t *ids, size_t n,
                          bool skip_special, struct rml_bytes *out, struct rml_error *err)
{
    size_t before = out->n;
    int64_t n_tokens = 0;
    if (!rmli_bytes_reserve(out, 1, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!append_token(t, ids[i], skip_special, &n_tokens, out, err)) {
            out->n = before;
            return false;
        }
    const struct rmli_decoder_step *strip = &t->decoder.strip;
    size_t begin = before, length = strip->character_nbytes;
    for (size_t i = 0; i < strip->start && has_character(strip, out->data + begin, out->n - begin);
         i++)
        begin += length;
    for (size_t i = 0; i < strip->stop && out->n - begin >= length &&
                       has_character(strip, out->data + out->n - length, length);
         i++)
        out->n -= length;
    if (begin > before) {
        memmove(out->data + before, out->data + begin, out->n - begin);
        out->n -= begin - before;
    }
    return true;
}

/* ---- Stream ---------------------------------------------------------------------------- */

void rml_decode_stream_init(struct rml_decode_stream *stream, const struct rml_tokenizer *tokenizer,
                            bool skip_special)
{
    *stream = (struct rml_decode_stream){.tokenizer = tokenizer, .skip_special = skip_special};
}

/* Bytes at the end that begin a code point without finishing it. */
static size_t unfinished_nbytes(const char *text, size_t nbytes)
{
    for (size_t n = 1; n <= 3 && n <= nbytes; n++) {
        uint8_t byte = (uint8_t)text[nbytes - n];
        if ((byte & 0xc0) == 0x80)
            continue;
        size_t length = byte >= 0xc2 && byte <= 0xf4 ? rmli_utf8_length((char)byte) : 1;
        return length > n ? n : 0;
    }
    return 0;
}

bool rml_decode_stream_step(struct rml_decode_stream *stream, int32_t id, struct rml_bytes *out,
                            struct rml_error *err)
{
    const struct rml_tokenizer *t = stream->tokenizer;
    const struct rmli_decoder_step *strip = &t->decoder.strip;
    size_t before = out->n;
    int64_t n_tokens = stream->n_tokens;
    if (!rmli_bytes_reserve(out, 1, err) ||
        !rmli_bytes_append(out, stream->pending, stream->n_pending, err) ||
        !append_token(t, id, stream->skip_special, &n_tokens, out, err)) {
        out->n = before;
        return false;
    }
    size_t begin = before, end = out->n - unfinished_nbytes(out->data + before, out->n - before);
    size_t length = strip->character_nbytes;
    while (!stream->begun && stream->n_stripped < (int32_t)strip->start &&
           has_character(strip, out->data + begin, end - begin)) {
        begin += length;
        stream->n_stripped++;
    }
    for (size_t i = 0; i < strip->stop && end - begin >= length &&
                       has_character(strip, out->data + end - length, length);
         i++)
        end -= length;
    stream->n_pending = out->n - end;
    memcpy(stream->pending, out->data + end, stream->n_pending);
    memmove(out->data + before, out->data + begin, end - begin);
    out->n = before + (end - begin);
    stream->begun |= end > begin;
    stream->n_tokens = n_tokens;
    return true;
}

bool rml_decode_stream_finish(struct rml_decode_stream *stream, struct rml_bytes *out,
                              struct rml_error *err)
{
    const struct rmli_decoder_step *strip = &stream->tokenizer->decoder.strip;
    size_t n = stream->n_pending, length = strip->character_nbytes;
    for (size_t i = 0; i < strip->stop && n >= length &&
                       has_character(strip, stream->pending + n - length, length);
         i++)
        n -= length;
    if (!rmli_bytes_append(out, stream->pending, n, err))
        return false;
    stream->n_pending = 0;
    return true;
}
