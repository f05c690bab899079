/*
 * tokenizer.json and tokenizer_config.json as tokenizer.ggml.*.
 *
 * GGUF knows two kinds of BPE. "gpt2" is byte-level: tokens as the file writes them, merges in
 * order, and in .pre the name of the pre-tokenizer. "llama" is SentencePiece's: each token has a
 * score, and the pair whose union scores highest is merged first; scores are here the negative
 * ranks of the merges that make a token, which gives the same order.
 *
 * Token types are those of llama.cpp: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused,
 * 6 byte. An id without a token is "[PAD<id>]", unused.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "convert/folder.h"
#include "files/json_file.h"
#include "text/pre_names.h"
#include "text/tokenizer_private.h"

enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5, BYTE = 6 };
enum { MAX_JSON_NBYTES = 512 << 20 };

struct vocabulary {
    const struct rml_conversion *c;
    struct rml_tokenizer *tokenizer;
    json_t *root, *config; /* tokenizer.json; tokenizer_config.json, or empty */
    bool bytelevel;
    const char *pre;

    size_t n;
    struct rmli_gguf_string *tokens; /* [n] */
    int32_t *types;                  /* [n] */
    float *scores;                   /* [n] */
    struct rmli_arena strings;
    struct rml_error *err;
};

static bool fail(const struct vocabulary *v, enum rml_code code, const char *message)
{
    return rmli_fail(v->err, code, rml_checkpoint_path(v->c->cp), -1, "%s", message);
}

static bool file_exists(const struct rml_conversion *c, const char *name, char *path, size_t nbytes)
{
    snprintf(path, nbytes, "%s/%s", rml_checkpoint_path(c->cp), name);
    return access(path, F_OK) == 0;
}

/* ---- Opening ------------------------------------------------------------------------------ */

static bool open_tokenizer(struct rml_conversion *c, struct rml_error *err)
{
    char path[4096];
    if (file_exists(c, "tokenizer.json", path, sizeof path)) {
        c->tokenizer = rml_tokenizer_from_checkpoint(c->cp, NULL, err);
        return c->tokenizer != NULL;
    }
    if (file_exists(c, "tokenizer.model", path, sizeof path) ||
        file_exists(c, "tekken.json", path, sizeof path))
        return rmli_fail(err, RML_UNSUPPORTED, path, -1,
                         "the only tokenizer of the folder, expected a tokenizer.json");
    return true;
}

static bool open_vocabulary(struct vocabulary *v)
{
    char path[4096];
    file_exists(v->c, "tokenizer.json", path, sizeof path);
    v->root = rmli_json_load_file(path, MAX_JSON_NBYTES, v->err);
    if (!v->root)
        return false;
    if (file_exists(v->c, "tokenizer_config.json", path, sizeof path)) {
        v->config = rmli_json_load_file_in_reals(path, MAX_JSON_NBYTES, v->err);
        return v->config != NULL;
    }
    v->config = json_object();
    return v->config || fail(v, RML_NO_MEMORY, "no memory for the vocabulary");
}

static void close_vocabulary(struct vocabulary *v)
{
    json_decref(v->root);
    json_decref(v->config);
    rmli_free(v->tokens);
    rmli_free(v->types);
    rmli_free(v->scores);
    rmli_arena_release(&v->strings);
}

/* What GGUF will call it. */
static bool identify(struct vocabulary *v)
{
    const struct rmli_pipeline *pipeline = &v->tokenizer->pipeline;
    const char *chosen = v->c->options.pre;
    v->bytelevel = pipeline->bytelevel;
    if (pipeline->is_unigram)
        return fail(v, RML_UNSUPPORTED, "the tokenizer's model is Unigram, expected BPE");
    const char *model = v->bytelevel ? "gpt2" : "llama";
    const struct rmli_pre_name *name = NULL;
    if (chosen &&
        !rmli_pre_may_choose(chosen, model, strlen(model), rml_checkpoint_path(v->c->cp), v->err))
        return false;
    if (!v->bytelevel || chosen)
        v->pre = chosen ? chosen : "default";
    else if ((name = rmli_pre_identify(pipeline)))
        v->pre = name->name;
    else
        return fail(v, RML_UNSUPPORTED,
                    "the pre-tokenizer of tokenizer.json is none that a GGUF can name "
                    "(tokenizer.ggml.pre), expected one of those, or a choice with --pre");
    return true;
}

/* ---- Tokens --------------------------------------------------------------------------------- */

/* As llama.cpp's converter: control tokens that some files forget to mark as special. */
static bool looks_special(const char *text, size_t n)
{
    static const char *const whole[] = {"<pad>", "<mask>", "<2mass>", "[@BOS@]"};
    static const struct {
        const char *begin, *end;
    } around[] = {{"<|", "|>"}, {"<\xef\xbd\x9c", "\xef\xbd\x9c>"}, {"<unused", ">"}};
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        if (n == strlen(whole[i]) && memcmp(text, whole[i], n) == 0)
            return true;
    for (size_t i = 0; i < sizeof around / sizeof around[0]; i++) {
        size_t b = strlen(around[i].begin), e = strlen(around[i].end);
        if (n >= b && n >= e && memcmp(text, around[i].begin, b) == 0 &&
            memcmp(text + n - e, around[i].end, e) == 0)
            return true;
    }
    return false;
}

static bool is_byte_token(const char *text, size_t n)
{
    return n == 6 && memcmp(text, "<0x", 3) == 0 && text[5] == '>';
}

/* Text with SentencePiece's mark of a space as a space. */
static struct rmli_gguf_string without_marks(struct vocabulary *v, const char *text, size_t n)
{
    char *copy = rmli_arena_copy_string(&v->strings, text, n, v->err);
    size_t out = 0;
    for (size_t i = 0; copy && i < n; i++) {
        if (i + 3 <= n && memcmp(text + i, "\xe2\x96\x81", 3) == 0) {
            copy[out++] = ' ';
            i += 2;
        } else {
            copy[out++] = text[i];
        }
    }
    return (struct rmli_gguf_string){copy, out};
}

static bool set_token(struct vocabulary *v, json_int_t id, struct rmli_gguf_string text, int type)
{
    if (id < 0 || (uint64_t)id >= v->n)
        return rmli_fail(v->err, RML_FORMAT, rml_checkpoint_path(v->c->cp), -1,
                         "token '%.*s' has the id %lld, but config.json's vocab_size is %zu",
                         (int)(text.nbytes < 100 ? text.nbytes : 100), text.data, (long long)id,
                         v->n);
    v->tokens[id] = text;
    v->types[id] = type;
    return true;
}

static bool add_model_tokens(struct vocabulary *v)
{
    const json_t *model = json_object_get(v->root, "model");
    json_t *vocab = json_object_get(model, "vocab"), *id;
    const char *unknown = json_string_value(json_object_get(model, "unk_token")), *text;
    if (!json_is_object(vocab))
        return fail(v, RML_FORMAT, "tokenizer.json has no vocabulary");
    json_object_foreach(vocab, text, id)
    {
        size_t n = strlen(text);
        int type = NORMAL;
        if (!v->bytelevel && unknown && strcmp(text, unknown) == 0)
            type = UNKNOWN;
        else if (!v->bytelevel && is_byte_token(text, n))
            type = BYTE;
        if (!set_token(v, json_integer_value(id), (struct rmli_gguf_string){text, n}, type))
            return false;
    }
    return true;
}

/* With the id that our own reader gives it. */
static bool add_added_token(struct vocabulary *v, const json_t *token)
{
    const json_t *content = json_object_get(token, "content");
    const char *text = json_string_value(content);
    size_t n = json_string_length(content);
    int32_t id = n ? rml_tokenizer_find(v->tokenizer, text, n) : -1;
    if (id < 0 || v->types[id] == UNKNOWN)
        return true;
    bool special = json_is_true(json_object_get(token, "special")) || looks_special(text, n);
    struct rmli_gguf_string shown =
        special ? (struct rmli_gguf_string){text, n} : without_marks(v, text, n);
    return shown.data && set_token(v, id, shown, special ? CONTROL : USER_DEFINED);
}

/* Those of tokenizer.json, and those that only tokenizer_config.json has. */
static bool add_added_tokens(struct vocabulary *v)
{
    size_t i;
    const char *key;
    json_t *token;
    json_array_foreach(json_object_get(v->root, "added_tokens"), i, token)
    {
        if (!add_added_token(v, token))
            return false;
    }
    json_object_foreach(json_object_get(v->config, "added_tokens_decoder"), key, token)
    {
        if (!add_added_token(v, token))
            return false;
    }
    return true;
}

static bool fill_holes(struct vocabulary *v)
{
    for (size_t i = 0; i < v->n; i++) {
        if (v->types[i])
            continue;
        char text[32];
        int n = snprintf(text, sizeof text, "[PAD%zu]", i);
        const char *copy = rmli_arena_copy_string(&v->strings, text, (size_t)n, v->err);
        if (!copy)
            return false;
        v->tokens[i] = (struct rmli_gguf_string){copy, (size_t)n};
        v->types[i] = UNUSED;
    }
    return true;
}

static bool read_tokens(struct vocabulary *v)
{
    v->n = v->c->config.n_vocab;
    if (rml_tokenizer_n_vocab(v->tokenizer) > v->n)
        return rmli_fail(v->err, RML_FORMAT, rml_checkpoint_path(v->c->cp), -1,
                         "the tokenizer has %zu tokens, but config.json's vocab_size is %zu",
                         rml_tokenizer_n_vocab(v->tokenizer), v->n);
    v->tokens = rmli_alloc_zeroed(v->n, sizeof *v->tokens, v->err);
    v->types = rmli_alloc_zeroed(v->n, sizeof *v->types, v->err);
    v->scores = rmli_alloc_zeroed(v->n, sizeof *v->scores, v->err);
    return v->tokens && v->types && v->scores && add_model_tokens(v) && add_added_tokens(v) &&
           fill_holes(v);
}

/* ---- Merges ----------------------------------------------------------------------------------- */

/* The two sides of a merge, in either form of the file. */
static bool merge_sides(const json_t *merge, struct rmli_gguf_string *left,
                        struct rmli_gguf_string *right)
{
    if (json_is_array(merge)) {
        const json_t *a = json_array_get(merge, 0), *b = json_array_get(merge, 1);
        *left = (struct rmli_gguf_string){json_string_value(a), json_string_length(a)};
        *right = (struct rmli_gguf_string){json_string_value(b), json_string_length(b)};
        return left->data && right->data;
    }
    const char *text = json_string_value(merge), *space = text ? strchr(text, ' ') : NULL;
    if (!space)
        return false;
    *left = (struct rmli_gguf_string){text, (size_t)(space - text)};
    *right = (struct rmli_gguf_string){space + 1, json_string_length(merge) - left->nbytes - 1};
    return true;
}

/* "left right"; a space inside a token becomes the letter that byte-level BPE writes for it. */
static struct rmli_gguf_string merge_line(struct vocabulary *v, struct rmli_gguf_string left,
                                          struct rmli_gguf_string right)
{
    char *line = rmli_arena_alloc(&v->strings, 2 * (left.nbytes + right.nbytes) + 2, v->err);
    size_t n = 0;
    for (int side = 0; line && side < 2; side++) {
        struct rmli_gguf_string s = side ? right : left;
        if (side)
            line[n++] = ' ';
        for (size_t i = 0; i < s.nbytes; i++) {
            if (s.data[i] == ' ') {
                line[n++] = '\xc4';
                line[n++] = '\xa0';
            } else {
                line[n++] = s.data[i];
            }
        }
    }
    return (struct rmli_gguf_string){line, n};
}

static bool add_merges(struct vocabulary *v, struct rmli_gguf_writer *w)
{
    json_t *merges = json_object_get(json_object_get(v->root, "model"), "merges");
    size_t n = json_array_size(merges);
    struct rmli_gguf_string *lines = rmli_alloc(n, sizeof *lines, v->err);
    bool ok = lines != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        struct rmli_gguf_string left = {0}, right = {0};
        ok = merge_sides(json_array_get(merges, i), &left, &right) ||
             fail(v, RML_FORMAT, "tokenizer.json has a merge that is no pair");
        if (ok)
            lines[i] = merge_line(v, left, right);
        ok = ok && lines[i].data;
    }
    ok = ok && rmli_gguf_writer_add_strings(w, "tokenizer.ggml.merges", n, lines, v->err);
    rmli_free(lines);
    return ok;
}

/* Minus the rank of the first merge that makes a token; tokens that no merge makes come last. */
static bool rank_tokens(struct vocabulary *v)
{
    const json_t *model = json_object_get(v->root, "model");
    const json_t *merges = json_object_get(model, "merges"),
                 *vocab = json_object_get(model, "vocab");
    size_t n = json_array_size(merges);
    struct rmli_gguf_string left, right;
    for (size_t i = 0; i < v->n; i++)
        v->scores[i] = v->types[i] == NORMAL ? -(float)n : v->types[i] == UNUSED ? -10000 : -1000;
    for (size_t i = n; i-- > 0;) {
        if (!merge_sides(json_array_get(merges, i), &left, &right))
            return fail(v, RML_FORMAT, "tokenizer.json has a merge that is no pair");
        char *text = malloc(left.nbytes + right.nbytes + 1);
        if (!text)
            return fail(v, RML_NO_MEMORY, "no memory for a merge");
        memcpy(text, left.data, left.nbytes);
        memcpy(text + left.nbytes, right.data, right.nbytes);
        text[left.nbytes + right.nbytes] = 0;
        const json_t *id = json_object_get(vocab, text);
        if (json_is_integer(id) && json_integer_value(id) >= 0 &&
            (uint64_t)json_integer_value(id) < v->n && v->types[json_integer_value(id)] == NORMAL)
            v->scores[json_integer_value(id)] = -(float)i;
        free(text);
    }
    return true;
}

/* ---- Special tokens ----------------------------------------------------------------------------- */

static bool add_special_ids(struct vocabulary *v, struct rmli_gguf_writer *w)
{
    static const struct {
        const char *name, *key;
    } kinds[] = {{"bos", "bos"},     {"eos", "eos"}, {"unk", "unknown"}, {"sep", "seperator"},
                 {"pad", "padding"}, {"cls", "cls"}, {"mask", "mask"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char name[64], key[64];
        snprintf(name, sizeof name, "%s_token", kinds[i].name);
        const json_t *entry = json_object_get(v->config, name);
        if (json_is_object(entry))
            entry = json_object_get(entry, "content");
        int32_t id = json_is_string(entry)
                         ? rml_tokenizer_find(v->tokenizer, json_string_value(entry),
                                              json_string_length(entry))
                         : -1;
        snprintf(name, sizeof name, "%s_token_id", kinds[i].name);
        const json_t *given = json_object_get(rmli_checkpoint_config(v->c->cp), name);
        if (id < 0 && json_is_integer(given) && json_integer_value(given) >= 0 &&
            (uint64_t)json_integer_value(given) < v->n)
            id = (int32_t)json_integer_value(given);
        snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", kinds[i].key);
        if (id >= 0 && !rmli_gguf_writer_add_u32(w, key, (uint32_t)id, v->err))
            return false;
    }
    return true;
}

static bool add_flag(struct vocabulary *v, struct rmli_gguf_writer *w, const char *key, bool value)
{
    uint8_t flag = value;
    return rmli_gguf_writer_add(w, key, RMLI_GGUF_BOOL, -1, &flag, v->err);
}

/* True when the pipeline puts a space before a text. */
static bool adds_space(const struct rmli_pipeline *pipeline)
{
    for (size_t i = 0; i < pipeline->n_normalizers; i++)
        if (pipeline->normalizers[i].kind == RMLI_NORMALIZE_PREPEND)
            return true;
    for (size_t i = 0; i < pipeline->n_pretokenizers; i++)
        if (pipeline->pretokenizers[i].kind == RMLI_PRETOKENIZE_METASPACE &&
            pipeline->pretokenizers[i].scheme != RMLI_PREPEND_NEVER)
            return true;
    return false;
}

/* ---- The whole ------------------------------------------------------------------------------------ */

static bool write_vocabulary(struct vocabulary *v, struct rmli_gguf_writer *w)
{
    const char *template = rml_tokenizer_chat_template(v->tokenizer);
    if (!read_tokens(v) || (!v->bytelevel && !rank_tokens(v)))
        return false;
    return rmli_gguf_writer_add_string(w, "tokenizer.ggml.model", v->bytelevel ? "gpt2" : "llama",
                                       v->err) &&
           rmli_gguf_writer_add_string(w, "tokenizer.ggml.pre", v->pre, v->err) &&
           rmli_gguf_writer_add_strings(w, "tokenizer.ggml.tokens", v->n, v->tokens, v->err) &&
           (v->bytelevel || rmli_gguf_writer_add(w, "tokenizer.ggml.scores", RMLI_GGUF_F32,
                                                 (int64_t)v->n, v->scores, v->err)) &&
           rmli_gguf_writer_add(w, "tokenizer.ggml.token_type", RMLI_GGUF_I32, (int64_t)v->n,
                                v->types, v->err) &&
           (!v->bytelevel || add_merges(v, w)) && add_special_ids(v, w) &&
           add_flag(v, w, "tokenizer.ggml.add_bos_token", rml_tokenizer_adds_bos(v->tokenizer)) &&
           add_flag(v, w, "tokenizer.ggml.add_eos_token", rml_tokenizer_adds_eos(v->tokenizer)) &&
           (v->bytelevel || add_flag(v, w, "tokenizer.ggml.add_space_prefix",
                                     adds_space(&v->tokenizer->pipeline))) &&
           (!template ||
            rmli_gguf_writer_add_string(w, "tokenizer.chat_template", template, v->err));
}

bool rmli_conversion_folder_vocabulary(const struct rml_conversion *c, struct rmli_gguf_writer *w,
                                       struct rml_error *err)
{
    if (!c->tokenizer)
        return rmli_gguf_writer_add_string(w, "tokenizer.ggml.model", "none", err);
    struct vocabulary v = {.c = c, .tokenizer = c->tokenizer, .err = err};
    bool ok = identify(&v) && open_vocabulary(&v) && write_vocabulary(&v, w);
    close_vocabulary(&v);
    return ok;
}

bool rmli_conversion_check_vocabulary(struct rml_conversion *c, struct rml_error *err)
{
    struct vocabulary v = {.c = c, .err = err};
    if (!open_tokenizer(c, err))
        return false;
    v.tokenizer = c->tokenizer;
    c->has_tokenizer = c->tokenizer != NULL;
    if (!c->tokenizer && c->options.pre)
        return rmli_fail(err, RML_INVALID_ARGUMENT, rml_checkpoint_path(c->cp), -1,
                         "there is no tokenizer to choose a pre-tokenizer for");
    return !c->tokenizer || identify(&v);
}
