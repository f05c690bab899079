/*
 * Tokenizers from GGUF metadata.
 *
 *     tokenizer.ggml.model   gpt2: byte-level BPE by the merges listed
 *                            llama: SentencePiece BPE by score, with byte fallback
 *     .pre                   gpt2: the family's pre-tokenizer (pre_names.c)
 *     .tokens .token_type .scores .merges
 *     .bos_token_id .eos_token_id .unknown_token_id .add_bos_token .add_eos_token
 *     .add_space_prefix
 *
 * Older files lack some of these; the defaults are those of the readers of their time.
 */
#include <math.h>
#include <stdio.h>

#include "base/utf8.h"
#include "files/content_hash.h"
#include "files/gguf.h"
#include "text/growing.h"
#include "text/json_parts.h"
#include "text/merge_list.h"
#include "text/pre_names.h"

enum token_type { NORMAL = 1, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE };

struct reader {
    struct rml_tokenizer *t;
    const struct rmli_gguf *gguf;
    struct rml_error *err;
    bool by_score;
    const struct rmli_gguf_kv *tokens, *types, *scores, *merges;
    struct rmli_token_entry *entries;
    int32_t unk_id;
    bool add_bos, add_eos, add_space_prefix;
};

static bool fail(const struct reader *r, enum rml_code code, const struct rmli_gguf_kv *kv,
                 const char *message)
{
    return rmli_fail(r->err, code, rmli_gguf_path(r->gguf), kv ? (int64_t)kv->offset : -1, "%s",
                     message);
}

/* An array of n numbers (n > 0: at least that many) or of strings; absent: NULL. */
static bool find_array(const struct reader *r, const char *key, bool strings, uint64_t n,
                       const struct rmli_gguf_kv **out)
{
    const struct rmli_gguf_kv *kv = *out = rmli_gguf_find(r->gguf, key);
    if (!kv)
        return true;
    if (kv->type != RMLI_GGUF_ARRAY || strings != (kv->elem_type == RMLI_GGUF_STRING) ||
        (!strings && (kv->elem_type == RMLI_GGUF_BOOL || kv->elem_type == RMLI_GGUF_ARRAY)))
        return rmli_fail(r->err, RML_FORMAT, rmli_gguf_path(r->gguf), (int64_t)kv->offset,
                         "'%s' is no array of %s", key, strings ? "strings" : "numbers");
    if (kv->nelems < n)
        return rmli_fail(r->err, RML_FORMAT, rmli_gguf_path(r->gguf), (int64_t)kv->offset,
                         "'%s' has %llu elements, expected %llu", key,
                         (unsigned long long)kv->nelems, (unsigned long long)n);
    return true;
}

static bool find_arrays(struct reader *r)
{
    if (!find_array(r, "tokenizer.ggml.tokens", true, 0, &r->tokens))
        return false;
    if (!r->tokens || r->tokens->nelems == 0)
        return fail(r, RML_FORMAT, r->tokens, "'tokenizer.ggml.tokens' is missing or empty");
    if (r->tokens->nelems > RMLI_MAX_VOCABULARY)
        return fail(r, RML_UNSUPPORTED, r->tokens, "the vocabulary has more than 2^24 tokens");
    uint64_t n = r->tokens->nelems;
    if (!find_array(r, "tokenizer.ggml.token_type", false, n, &r->types) ||
        !find_array(r, "tokenizer.ggml.scores", false, n, &r->scores) ||
        !find_array(r, "tokenizer.ggml.merges", true, 0, &r->merges))
        return false;
    if (r->by_score && !r->scores)
        return fail(r, RML_FORMAT, r->tokens, "'tokenizer.ggml.scores' is missing");
    if (!r->by_score && !r->merges)
        return fail(r, RML_FORMAT, r->tokens, "'tokenizer.ggml.merges' is missing");
    return true;
}

/* ---- Vocabulary --------------------------------------------------------------------- */

static uint8_t kind_of(enum token_type type, const struct rmli_gguf_string *text, bool by_score)
{
    switch (type) {
    case UNKNOWN:
    case CONTROL:
        return RML_TOKEN_SPECIAL;
    case USER_DEFINED:
        return RML_TOKEN_ADDED;
    case BYTE:
        return RML_TOKEN_BYTE;
    default:
        /* Unused pieces merge like any other, as in llama.cpp; sentencepiece takes what has merged
         * into one apart again. Converters write them for holes, which no text merges into.
         * Before there were types, bytes could be told by their looks. */
        if (by_score && text->nbytes == 6 && memcmp(text->data, "<0x", 3) == 0 &&
            text->data[5] == '>')
            return RML_TOKEN_BYTE;
        return RML_TOKEN_NORMAL;
    }
}

/* The type of token i; nearly all files write them as I32. */
static int64_t type_of(const struct reader *r, size_t i)
{
    if (!r->types)
        return NORMAL;
    if (r->types->elem_type != RMLI_GGUF_I32)
        return rmli_gguf_elem_i64(r->types, i);
    int32_t type;
    memcpy(&type, r->types->data + i * sizeof type, sizeof type);
    return type;
}

static bool read_vocabulary(struct reader *r)
{
    size_t n = (size_t)r->tokens->nelems;
    r->entries = rmli_alloc_table(n, sizeof *r->entries, r->err);
    if (!r->entries)
        return false;
    const uint8_t *cursor = r->tokens->data;
    for (size_t i = 0; i < n; i++) {
        struct rmli_gguf_string text = rmli_gguf_next_string(&cursor);
        uint8_t kind = kind_of((enum token_type)type_of(r, i), &text, r->by_score);
        /* SentencePiece keeps control, unknown and byte pieces apart from those it merges. */
        bool in_model = kind == RML_TOKEN_NORMAL || (kind == RML_TOKEN_ADDED && r->by_score);
        if (text.nbytes > UINT32_MAX)
            return fail(r, RML_FORMAT, r->tokens, "a token is longer than 4 GB");
        /* Byte-level ones are looked at with their keys. */
        if (r->by_score && !rmli_tokenizer_is_well_formed(text.data, text.nbytes))
            return rmli_fail(r->err, RML_FORMAT, rmli_gguf_path(r->gguf),
                             (int64_t)r->tokens->offset, "token %zu is not UTF-8", i);
        float score = r->scores && r->by_score ? (float)rmli_gguf_elem_f64(r->scores, i) : 0;
        if (isnan(score))
            return rmli_fail(r->err, RML_FORMAT, rmli_gguf_path(r->gguf),
                             (int64_t)r->scores->offset, "the score of token %zu is no number", i);
        r->entries[i] = (struct rmli_token_entry){.text = text.data,
                                                  .nbytes = (uint32_t)text.nbytes,
                                                  .id = (int32_t)i,
                                                  .kind = kind,
                                                  .in_model = in_model && text.nbytes > 0,
                                                  .score = score};
    }
    return rmli_vocabulary_init(&r->t->vocabulary, r->entries, n, !r->by_score, r->err);
}

static bool read_added(struct reader *r)
{
    size_t n = 0, n_entries = (size_t)r->tokens->nelems;
    struct rmli_added_token *added = rmli_alloc(n_entries, sizeof *added, r->err);
    if (!added)
        return false;
    for (size_t i = 0; i < n_entries; i++) {
        const struct rmli_token_entry *e = &r->entries[i];
        if ((e->kind == RML_TOKEN_SPECIAL || e->kind == RML_TOKEN_ADDED) && e->nbytes > 0)
            added[n++] = (struct rmli_added_token){.id = e->id,
                                                   .content = e->text,
                                                   .nbytes = e->nbytes,
                                                   .special = e->kind == RML_TOKEN_SPECIAL};
    }
    bool ok = rmli_tokenizer_set_added(r->t, added, n, r->err);
    rmli_free(added);
    return ok;
}

/* ---- Models ----------------------------------------------------------------------------- */

/* Where the first space behind the first byte is, or n. Behind it because in odd old files a side
 * begins with a space, and none is empty. */
static size_t find_space(const char *data, size_t n)
{
    /* The first eight bytes at once; of a shorter string, with the end of its length before it. */
    uint64_t word = n >= 8  ? rmli_load64(data)
                    : n > 0 ? rmli_load64(data + n - 8) >> (64 - 8 * n)
                            : 0;
    uint64_t other = (word ^ 0x2020202020202020) | 0xff;
    uint64_t spaces = (other - 0x0101010101010101) & ~other & 0x8080808080808080;
    if (spaces)
        return (size_t)__builtin_ctzll(spaces) / 8;
    const char *space = n > 8 ? memchr(data + 8, ' ', n - 8) : NULL;
    return space ? (size_t)(space - data) : n;
}

/* "left right" */
static bool split_merge(struct reader *r, struct rmli_gguf_string merge, size_t i,
                        struct rmli_merge_text *out)
{
    size_t left_nbytes = find_space(merge.data, merge.nbytes);
    if (left_nbytes == merge.nbytes || merge.nbytes > UINT32_MAX)
        return rmli_fail(r->err, RML_FORMAT, rmli_gguf_path(r->gguf), (int64_t)r->merges->offset,
                         "merge %zu has no space between two tokens", i);
    *out = (struct rmli_merge_text){.left = merge.data,
                                    .right = merge.data + left_nbytes + 1,
                                    .left_nbytes = (uint32_t)left_nbytes,
                                    .right_nbytes = (uint32_t)(merge.nbytes - left_nbytes - 1)};
    return true;
}

/* Merges of tokens that a converter has made added tokens are of no use and left out. */
static bool read_merges(struct reader *r)
{
    enum { CHUNK = 4096 };
    const uint8_t *cursor = r->merges->data;
    size_t n = (size_t)r->merges->nelems;
    struct rmli_merge_text *texts = rmli_alloc(CHUNK, sizeof *texts, r->err);
    bool ok = texts && rmli_bpe_init(&r->t->pipeline.bpe, &r->t->vocabulary, false, n, r->err);
    for (size_t begin = 0; ok && begin < n; begin += CHUNK) {
        size_t n_texts = n - begin < CHUNK ? n - begin : CHUNK;
        for (size_t i = 0; ok && i < n_texts; i++)
            ok = split_merge(r, rmli_gguf_next_string(&cursor), begin + i, &texts[i]);
        ok = ok && rmli_merges_add(&r->t->pipeline.bpe, texts, n_texts, true, r->err);
    }
    rmli_free(texts);
    return ok;
}

static bool build_gpt2(struct reader *r, const struct rmli_pre_name *pre)
{
    struct rmli_bpe *bpe = &r->t->pipeline.bpe;
    if (!read_merges(r))
        return false;
    bpe->ignore_merges = pre->ignore_merges;
    return rmli_bpe_finish(bpe, r->err) && rmli_pre_apply(pre, &r->t->pipeline, r->err) &&
           rmli_decoder_add(&r->t->decoder, RMLI_DECODE_BYTELEVEL, r->err);
}

static bool add_text_step(struct rmli_pipeline *pipeline, enum rmli_normalizer_kind kind,
                          const char *pattern, const char *content, struct rml_error *err)
{
    struct rmli_normalizer *step = rmli_pipeline_add_normalizer(pipeline, kind, err);
    if (!step)
        return false;
    step->content_nbytes = strlen(content);
    step->content = rmli_copy(content, step->content_nbytes, err);
    if (pattern)
        step->pattern = rmli_pattern_literal(pattern, strlen(pattern), err);
    return step->content && (!pattern || step->pattern);
}

#define SPACE_MARK "\xe2\x96\x81" /* U+2581 */

static bool build_llama(struct reader *r)
{
    struct rmli_pipeline *pipeline = &r->t->pipeline;
    struct rmli_decoder *decoder = &r->t->decoder;
    if ((r->add_space_prefix &&
         !add_text_step(pipeline, RMLI_NORMALIZE_PREPEND, NULL, SPACE_MARK, r->err)) ||
        !add_text_step(pipeline, RMLI_NORMALIZE_REPLACE, " ", SPACE_MARK, r->err) ||
        !rmli_bpe_init(&pipeline->bpe, &r->t->vocabulary, true, 0, r->err))
        return false;
    pipeline->bpe.byte_fallback = true;
    pipeline->bpe.fuse_unk = true;
    pipeline->bpe.unk_id = r->unk_id;
    if (!rmli_bpe_finish(&pipeline->bpe, r->err))
        return false;
    struct rmli_decoder_step *step = rmli_decoder_add(decoder, RMLI_DECODE_REPLACE, r->err);
    if (!step || !(step->pattern = rmli_pattern_literal(SPACE_MARK, 3, r->err)) ||
        !(step->content = rmli_copy(" ", 1, r->err)))
        return false;
    step->content_nbytes = 1;
    if (!rmli_decoder_add(decoder, RMLI_DECODE_BYTE_FALLBACK, r->err) ||
        !rmli_decoder_add(decoder, RMLI_DECODE_FUSE, r->err))
        return false;
    if (!r->add_space_prefix)
        return true;
    if (!(step = rmli_decoder_add(decoder, RMLI_DECODE_STRIP, r->err)))
        return false;
    step->character[0] = ' ';
    step->character_nbytes = step->start = 1;
    return true;
}

/* ---- Special ids ---------------------------------------------------------------------------- */

static bool read_id(const struct reader *r, const char *key, int32_t missing, int32_t *id)
{
    uint32_t value = 0;
    bool present = false;
    if (!rmli_gguf_get_u32(r->gguf, key, &value, &present, r->err))
        return false;
    size_t n = (size_t)r->tokens->nelems;
    /* Some converters write -1 as "none", and some ids that the vocabulary no longer has. */
    if (present)
        *id = value < n ? (int32_t)value : -1;
    else
        *id = missing >= 0 && (size_t)missing < n ? missing : -1;
    return true;
}

static bool read_flags(struct reader *r)
{
    struct rml_tokenizer *t = r->t;
    bool old_llama = r->by_score;
    if (!read_id(r, "tokenizer.ggml.bos_token_id", old_llama ? 1 : -1, &t->bos) ||
        !read_id(r, "tokenizer.ggml.eos_token_id", old_llama ? 2 : -1, &t->eos) ||
        !read_id(r, "tokenizer.ggml.unknown_token_id", old_llama ? 0 : -1, &r->unk_id))
        return false;
    return rmli_gguf_get_bool(r->gguf, "tokenizer.ggml.add_bos_token", &r->add_bos, NULL, r->err) &&
           rmli_gguf_get_bool(r->gguf, "tokenizer.ggml.add_eos_token", &r->add_eos, NULL, r->err) &&
           rmli_gguf_get_bool(r->gguf, "tokenizer.ggml.add_space_prefix", &r->add_space_prefix,
                              NULL, r->err);
}

static bool read_template(struct reader *r)
{
    struct rmli_gguf_string text = {0};
    bool present = false;
    if (!rmli_gguf_get_string(r->gguf, "tokenizer.chat_template", &text, &present, r->err))
        return false;
    if (!present)
        return true;
    r->t->chat_template = malloc(text.nbytes + 1);
    if (!r->t->chat_template)
        return fail(r, RML_NO_MEMORY, NULL, "no memory for the chat template");
    memcpy(r->t->chat_template, text.data, text.nbytes);
    r->t->chat_template[text.nbytes] = 0;
    return true;
}

/* ---- Identity ---------------------------------------------------------------------------------- */

static int compare_lines(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* SHA-256 of the sorted lines "<sha256>  <key>\n" over the values of tokenizer.ggml.*, each as its
 * bytes stand in the file. */
bool rmli_tokenizer_hash_gguf(const struct rmli_gguf *gguf, char hex_of_all[RMLI_SHA256_HEX_NBYTES],
                              struct rml_error *err)
{
    enum { PREFIX = 15, LINE = 256, MAX_LINES = 64 };
    char lines[MAX_LINES][LINE];
    size_t n = 0;
    for (size_t i = 0; i < rmli_gguf_n_kv(gguf); i++) {
        const struct rmli_gguf_kv *kv = rmli_gguf_kv(gguf, i);
        char hex[RMLI_SHA256_HEX_NBYTES];
        if (kv->key.nbytes <= PREFIX || memcmp(kv->key.data, "tokenizer.ggml.", PREFIX) != 0 ||
            kv->key.nbytes > 180 || n == MAX_LINES)
            continue;
        if (!rmli_sha256_bytes(kv->data, (size_t)kv->nbytes, hex, err))
            return false;
        snprintf(lines[n++], LINE, "%s  %.*s\n", hex, (int)kv->key.nbytes, kv->key.data);
    }
    qsort(lines, n, LINE, compare_lines);
    struct rml_bytes all = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = rmli_bytes_append(&all, lines[i], strlen(lines[i]), err);
    ok = ok && rmli_sha256_bytes(all.data ? all.data : "", all.n, hex_of_all, err);
    free(all.data);
    return ok;
}

/* ---- The whole ------------------------------------------------------------------------------------ */

static const struct rmli_pre_name *find_pre(struct reader *r, const char *chosen)
{
    struct rmli_gguf_string name = {"default", 7};
    if (chosen)
        name = (struct rmli_gguf_string){chosen, strlen(chosen)};
    else if (!rmli_gguf_get_string(r->gguf, "tokenizer.ggml.pre", &name, NULL, r->err))
        return NULL;
    return rmli_pre_require(name.data, name.nbytes, rmli_gguf_path(r->gguf), r->err);
}

/* How converters and llama.cpp say that there are weights alone. */
static bool names_none(struct rmli_gguf_string model)
{
    return (model.nbytes == 4 && memcmp(model.data, "none", 4) == 0) ||
           (model.nbytes == 8 && memcmp(model.data, "no_vocab", 8) == 0);
}

static bool read_all(struct reader *r, const char *chosen)
{
    struct rmli_gguf_string model = {0};
    if (!rmli_gguf_get_string(r->gguf, "tokenizer.ggml.model", &model, NULL, r->err))
        return false;
    if (!model.data || names_none(model))
        return rmli_fail(r->err, RML_NOT_FOUND, rmli_gguf_path(r->gguf), -1,
                         "the checkpoint has no tokenizer (tokenizer.ggml.model is %s%.*s)",
                         model.data ? "" : "missing", (int)model.nbytes,
                         model.data ? model.data : "");
    bool gpt2 = model.nbytes == 4 && memcmp(model.data, "gpt2", 4) == 0;
    r->by_score = model.nbytes == 5 && memcmp(model.data, "llama", 5) == 0;
    if (!gpt2 && !r->by_score)
        return rmli_fail(r->err, RML_UNSUPPORTED, rmli_gguf_path(r->gguf), -1,
                         "tokenizer.ggml.model is '%.*s', expected gpt2 or llama",
                         model.nbytes < 60 ? (int)model.nbytes : 60, model.data);
    if (chosen &&
        !rmli_pre_may_choose(chosen, model.data, model.nbytes, rmli_gguf_path(r->gguf), r->err))
        return false;
    const struct rmli_pre_name *pre = gpt2 ? find_pre(r, chosen) : NULL;
    if (gpt2 && !pre)
        return false;
    r->add_bos = r->by_score || pre->add_bos;
    r->add_space_prefix = r->by_score;
    if (!find_arrays(r) || !read_flags(r) || !read_vocabulary(r))
        return false;
    struct rml_tokenizer *t = r->t;
    if (!(gpt2 ? build_gpt2(r, pre) : build_llama(r)) ||
        !rmli_decoder_finish(&t->decoder, &t->vocabulary, r->err) || !read_added(r) ||
        !read_template(r))
        return false;
    t->replace_each_byte = r->by_score;
    if (r->add_bos && t->bos >= 0)
        t->prefix[t->n_prefix++] = t->bos;
    if (r->add_eos && t->eos >= 0)
        t->suffix[t->n_suffix++] = t->eos;
    return true;
}

bool rmli_tokenizer_read_gguf(struct rml_tokenizer *t, const struct rmli_gguf *gguf,
                              const char *pre, struct rml_error *err)
{
    struct rml_error inner = RML_ERROR_INIT;
    struct reader r = {.t = t, .gguf = gguf, .err = &inner, .unk_id = -1};
    bool ok = read_all(&r, pre);
    if (ok)
        t->source.gguf = rmli_gguf_share(gguf);
    rmli_free(r.entries);
    if (!ok)
        rmli_fail(err, inner.code, inner.file[0] ? inner.file : rmli_gguf_path(gguf), inner.offset,
                  "%s", inner.message);
    return ok;
}
