/*
 * Encoding, decoding and questions about tokens.
 */
#include "text/tokenizer.h"

#include <stdio.h>

#include "base/utf8.h"
#include "text/growing.h"
#include "text/tokenizer_private.h"
#include "text/unicode.h"

/* ---- Lifecycle -------------------------------------------------------------------- */

void rml_tokenizer_destroy(struct rml_tokenizer *t)
{
    if (!t)
        return;
    rmli_pipeline_release(&t->pipeline);
    rmli_added_list_release(&t->added);
    rmli_added_list_release(&t->added_normalized);
    rmli_decoder_release(&t->decoder);
    rmli_vocabulary_release(&t->vocabulary);
    rmli_gguf_close(t->source.gguf);
    rmli_mapped_file_release(&t->source.json);
    rmli_mapped_file_release(&t->source.config);
    free(t->chat_template);
    rmli_free(t);
}

void rml_ids_release(struct rml_ids *ids)
{
    free(ids->ids);
    *ids = (struct rml_ids){0};
}

void rml_bytes_release(struct rml_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct rml_bytes){0};
}

/* The contents of special tokens, sorted. The reference decodes a normalised token as its normalised
 * text, and leaves out what then reads like the content of a special token: "[MASK]" of a tokenizer
 * that lowers case stays. */
struct special_contents {
    const struct rmli_added_token **tokens;
    size_t n;
};

static bool special_contents_init(struct special_contents *special,
                                  const struct rmli_added_token *tokens, size_t n,
                                  struct rml_error *err)
{
    *special = (struct special_contents){rmli_alloc(n, sizeof *special->tokens, err), 0};
    for (size_t i = 0; special->tokens && i < n; i++)
        if (tokens[i].special)
            special->tokens[special->n++] = &tokens[i];
    if (special->n > 1)
        qsort(special->tokens, special->n, sizeof *special->tokens, rmli_added_token_compare);
    return special->tokens != NULL;
}

static bool is_special_content(const struct special_contents *special, const char *text,
                               size_t nbytes)
{
    const struct rmli_added_token wanted = {.content = text, .nbytes = nbytes}, *key = &wanted;
    return special->n > 0 &&
           bsearch(&key, special->tokens, special->n, sizeof key, rmli_added_token_compare) != NULL;
}

bool rmli_tokenizer_set_added(struct rml_tokenizer *t, const struct rmli_added_token *tokens,
                              size_t n, struct rml_error *err)
{
    struct rmli_added_token *lists[2] = {rmli_alloc(n, sizeof *tokens, err),
                                         rmli_alloc(n, sizeof *tokens, err)};
    struct rml_bytes contents = {0};
    size_t *offsets = rmli_alloc(n, sizeof *offsets, err);
    size_t counts[2] = {0, 0};
    struct rmli_run run;
    rmli_run_init(&run, &t->pipeline, 0, NULL, err);
    struct special_contents special;
    bool ok = special_contents_init(&special, tokens, n, err) && lists[0] && lists[1] && offsets;
    for (size_t i = 0; ok && i < n; i++) {
        uint8_t *kind = &t->vocabulary.kinds[tokens[i].id];
        *kind = tokens[i].special ? RML_TOKEN_SPECIAL : RML_TOKEN_ADDED;
        int which = tokens[i].normalized;
        struct rmli_added_token *token = &lists[which][counts[which]];
        *token = tokens[i];
        if (which) {
            const char *content;
            offsets[counts[which]] = contents.n;
            ok = rmli_normalize(&run, token->content, token->nbytes, &content, &token->nbytes);
            if (ok && token->nbytes == 0 &&
                tokens[i].nbytes > 0) /* the reference cuts everywhere */
                ok = rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                               "added token %d is nothing after the normalizer, which is not "
                               "supported",
                               (int)token->id);
            ok =
                ok && rmli_bytes_append(&contents, content, token->nbytes, err) &&
                rmli_vocabulary_override(&t->vocabulary, token->id, content, token->nbytes,
                                         is_special_content(&special, content, token->nbytes), err);
            size_t put = token->nbytes - tokens[i].nbytes;
            if (ok && token->nbytes > tokens[i].nbytes &&
                memcmp(content + put, tokens[i].content, tokens[i].nbytes) == 0)
                token->n_put_before = put;
        }
        counts[which]++;
    }
    for (size_t i = 0; ok && i < counts[1]; i++)
        lists[1][i].content = contents.data + offsets[i];
    ok = ok && rmli_added_list_init(&t->added, lists[0], counts[0], err) &&
         rmli_added_list_init(&t->added_normalized, lists[1], counts[1], err);
    rmli_run_release(&run);
    rmli_free(special.tokens);
    rmli_free(lists[0]);
    rmli_free(lists[1]);
    rmli_free(offsets);
    free(contents.data);
    return ok;
}

/* ---- Text that is no UTF-8 ----------------------------------------------------------- */

/* The end of the well-formed text from `i` on. */
static size_t well_formed_until(const char *text, size_t i, size_t nbytes)
{
    while (i < nbytes) {
        while (nbytes - i >= 8 && !(rmli_load64(text + i) & 0x8080808080808080))
            i += 8;
        if (i == nbytes)
            break;
        size_t length = rmli_utf8_sequence_nbytes((const uint8_t *)text + i, nbytes - i);
        if (length == 0)
            break;
        i += length;
    }
    return i;
}

/* Bytes of the maximal subpart of an ill-formed sequence (Unicode Standard, 3.9, table 3-8): as
 * long as a well-formed one could still follow. */
static size_t ill_formed_nbytes(const uint8_t *p, size_t n)
{
    for (size_t length = n < 3 ? n : 3; length > 1; length--) {
        uint8_t completed[4] = {p[0], p[1], length > 2 ? p[2] : 0x80, 0x80};
        /* Some continuation fits if the bytes given do and the rest are the simplest. */
        size_t whole = rmli_utf8_sequence_nbytes(completed, 4);
        if (whole > length)
            return length;
    }
    return 1;
}

bool rmli_tokenizer_is_well_formed(const char *text, size_t nbytes)
{
    return well_formed_until(text, 0, nbytes) == nbytes;
}

bool rmli_tokenizer_make_well_formed(const struct rml_tokenizer *t, const char *text, size_t nbytes,
                                     struct rml_bytes *out, struct rml_error *err)
{
    bool each_byte = t->replace_each_byte;
    for (size_t i = 0; i < nbytes;) {
        size_t end = well_formed_until(text, i, nbytes);
        if (!rmli_bytes_append(out, text + i, end - i, err))
            return false;
        if (end == nbytes)
            break;
        if (!rmli_bytes_append(out, "\xef\xbf\xbd", 3, err))
            return false;
        i = end + (each_byte ? 1 : ill_formed_nbytes((const uint8_t *)text + end, nbytes - end));
    }
    return true;
}

/* ---- Encoding -------------------------------------------------------------------------- */

static bool push_id(struct rml_ids *out, int32_t id, struct rml_error *err)
{
    if (!rmli_ids_reserve(out, 1, err))
        return false;
    out->ids[out->n++] = id;
    return true;
}

/* A stretch between added tokens: normalise, cut the others out, pre-tokenize. */
static bool encode_section(const struct rml_tokenizer *t, struct rmli_run *run, const char *text,
                           size_t at, size_t nbytes, const struct rmli_trust *trust)
{
    bool first = at == 0;
    if (nbytes == 0)
        return true;
    if (t->added_normalized.n == 0)
        return rmli_normalize(run, text + at, nbytes, &text, &nbytes) &&
               (nbytes == 0 || rmli_pretokenize(run, text, nbytes, first ? run->n_start : 0));
    struct rmli_section section = {0};
    bool ok = rmli_section_init(&section, run, text, at, nbytes, trust);
    struct rmli_added_cursor cursor = {0};
    size_t begin, end;
    int32_t id;
    while (ok && rmli_added_next(&t->added_normalized, &cursor, section.text, section.nbytes,
                                 &section.trust, &begin, &end, &id)) {
        ok = end == begin ||
             rmli_pretokenize(run, section.text + begin, end - begin,
                              first && section.n_start > begin ? section.n_start - begin : 0);
        if (ok && id >= 0)
            ok = push_id(run->out, id, run->err);
    }
    rmli_section_release(&section);
    return ok;
}

bool rmli_tokenizer_encode_text(const struct rml_tokenizer *t, const char *text, size_t nbytes,
                                const struct rmli_trust *trust, struct rml_ids *out,
                                struct rml_error *err)
{
    struct rmli_run run;
    rmli_run_init(&run, &t->pipeline, nbytes, out, err);
    bool ok = true;
    struct rmli_added_cursor cursor = {0};
    size_t begin, end;
    int32_t id;
    while (ok && rmli_added_next(&t->added, &cursor, text, nbytes, trust, &begin, &end, &id)) {
        ok = encode_section(t, &run, text, begin, end - begin, trust);
        if (ok && id >= 0)
            ok = push_id(out, id, err);
    }
    rmli_run_release(&run);
    return ok;
}

bool rmli_tokenizer_encode_added(const struct rml_tokenizer *t, const char *text, size_t nbytes,
                                 const struct rmli_trust *trust, bool add, struct rml_ids *out,
                                 struct rml_error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && add && i < t->n_prefix; i++)
        ok = push_id(out, t->prefix[i], err);
    ok = ok && rmli_tokenizer_encode_text(t, text, nbytes, trust, out, err);
    for (size_t i = 0; ok && add && i < t->n_suffix; i++)
        ok = push_id(out, t->suffix[i], err);
    return ok;
}

bool rml_tokenizer_encode(const struct rml_tokenizer *t, const char *text, size_t nbytes,
                          unsigned flags, struct rml_ids *out, struct rml_error *err)
{
    if (nbytes > INT32_MAX)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "the text has %zu bytes, expected less than 2^31", nbytes);
    size_t before = out->n;
    struct rml_bytes repaired = {0};
    bool ok = true;
    if (nbytes == 0)
        text = "";
    if (!rmli_tokenizer_is_well_formed(text, nbytes)) {
        ok = rmli_tokenizer_make_well_formed(t, text, nbytes, &repaired, err);
        text = repaired.data;
        nbytes = repaired.n;
    }
    struct rmli_trust trust = {.all = flags & RML_PARSE_SPECIAL};
    ok = ok &&
         rmli_tokenizer_encode_added(t, text, nbytes, &trust, flags & RML_ADD_SPECIAL, out, err);
    free(repaired.data);
    if (!ok)
        out->n = before;
    return ok;
}

/* ---- Questions --------------------------------------------------------------------------- */

size_t rml_tokenizer_n_vocab(const struct rml_tokenizer *t)
{
    return t->vocabulary.n;
}

bool rml_tokenizer_token(const struct rml_tokenizer *t, int32_t id, struct rml_token_info *info)
{
    if (id < 0 || (size_t)id >= t->vocabulary.n)
        return false;
    info->bytes = rmli_strings_get(&t->vocabulary.pieces, (size_t)id, &info->nbytes);
    info->kind = (enum rml_token_kind)t->vocabulary.kinds[id];
    return true;
}

int32_t rml_tokenizer_find(const struct rml_tokenizer *t, const char *text, size_t nbytes)
{
    return rmli_vocabulary_find_text(&t->vocabulary, text, nbytes);
}

const char *rml_tokenizer_model(const struct rml_tokenizer *t)
{
    return t->pipeline.is_unigram ? "Unigram" : t->pipeline.bytelevel ? "byte-level BPE" : "BPE";
}

int32_t rml_tokenizer_bos(const struct rml_tokenizer *t)
{
    return t->bos;
}

int32_t rml_tokenizer_eos(const struct rml_tokenizer *t)
{
    return t->eos;
}

bool rml_tokenizer_adds_bos(const struct rml_tokenizer *t)
{
    return t->bos >= 0 && t->n_prefix > 0 && t->prefix[0] == t->bos;
}

bool rml_tokenizer_adds_eos(const struct rml_tokenizer *t)
{
    return t->eos >= 0 && t->n_suffix > 0 && t->suffix[t->n_suffix - 1] == t->eos;
}

int32_t rml_tokenizer_prefix(const struct rml_tokenizer *t)
{
    return t->bos >= 0 ? t->bos : t->eos;
}

struct rml_tokenizer_batching rml_tokenizer_batching(const struct rml_tokenizer *t)
{
    return t->batching;
}

bool rml_tokenizer_content_sha256(const struct rml_tokenizer *t, char hex[65],
                                  struct rml_error *err)
{
    return t->source.gguf ? rmli_tokenizer_hash_gguf(t->source.gguf, hex, err)
                          : rmli_tokenizer_hash_files(&t->source.json, &t->source.config, hex, err);
}

const char *rml_tokenizer_chat_template(const struct rml_tokenizer *t)
{
    return t->chat_template;
}
