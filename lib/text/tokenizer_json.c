/*
 * tokenizer.json: the file as a whole and its model.
 *
 * Files reach 30 MB, nearly all of it vocabulary and merges, so the file is read as a stream
 * (files/json_cursor.h) straight into tables; only the small parts around the model become trees.
 */
#include "text/tokenizer_json.h"

#include <locale.h>
#include <math.h>

#include "files/json_cursor.h"
#include "text/growing.h"
#include "text/json_batching.h"
#include "text/json_parts.h"
#include "text/merge_list.h"

struct reader {
    struct rml_tokenizer *t;
    struct rmli_json_cursor c;
    struct rmli_arena strings;
    locale_t plain; /* numbers with a point, whatever the process's locale */

    struct rmli_token_entry *entries; /* of the model, then the added tokens */
    size_t n_entries, capacity;
    double *scores; /* of a Unigram model, by place */
    size_t scores_capacity;
    struct rmli_added_tokens added;

    json_t *postprocessor;
    size_t postprocessor_offset;
    char type[16]; /* "" until known */
    bool has_model, has_scores, has_vocabulary, has_merges;
    bool byte_fallback, fuse_unk, ignore_merges;
    const char *unk_token; /* in `strings` */
    size_t unk_token_nbytes;
    int64_t unk_id; /* or -1 */
    struct rmli_merge_text *merges;
    size_t n_merges, merges_capacity;
};

static bool fail(struct reader *r, const struct rml_error *inner, size_t offset)
{
    r->c.failed = true;
    return rmli_fail(r->c.err, inner->code, r->c.file,
                     inner->offset >= 0 ? inner->offset : (int64_t)offset, "%s", inner->message);
}

/* The next value as a tree. */
static json_t *read_tree(struct reader *r)
{
    size_t begin = r->c.in.position;
    if (!rmli_json_skip(&r->c))
        return NULL;
    json_error_t why;
    json_t *tree = json_loadb((const char *)r->c.in.data + begin, r->c.in.position - begin,
                              JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!tree) {
        bool memory = json_error_code(&why) == json_error_out_of_memory;
        struct rml_error inner = {.code = memory ? RML_NO_MEMORY : RML_FORMAT, .offset = -1};
        snprintf(inner.message, sizeof inner.message, "not valid JSON: %s", why.text);
        fail(r, &inner, begin + (size_t)(why.position > 0 ? why.position : 0));
    }
    return tree;
}

typedef bool read_part(struct rml_tokenizer *t, const json_t *json, struct rml_error *err);

static bool apply_part(struct reader *r, read_part *read, const json_t *tree, size_t offset)
{
    struct rml_error inner = RML_ERROR_INIT;
    return read(r->t, tree, &inner) || fail(r, &inner, offset);
}

static bool read_and_apply(struct reader *r, read_part *read)
{
    size_t offset = rmli_json_value_offset(&r->c);
    json_t *tree = read_tree(r);
    bool ok = tree && apply_part(r, read, tree, offset);
    json_decref(tree);
    return ok;
}

/* ---- Vocabulary ------------------------------------------------------------------------ */

static bool add_entry(struct reader *r, const struct rmli_json_string *text, uint64_t id)
{
    if (id >= RMLI_MAX_VOCABULARY || text->nbytes > UINT32_MAX)
        return rmli_json_fail(&r->c, text->offset,
                              "a token has the id %llu, expected less than %zu",
                              (unsigned long long)id, RMLI_MAX_VOCABULARY);
    if (!rmli_reserve_one((void **)&r->entries, r->n_entries, &r->capacity, sizeof *r->entries,
                          r->c.err)) {
        r->c.failed = true;
        return false;
    }
    r->entries[r->n_entries++] = (struct rmli_token_entry){.text = text->data,
                                                           .nbytes = (uint32_t)text->nbytes,
                                                           .id = (int32_t)id,
                                                           .kind = RML_TOKEN_NORMAL,
                                                           .in_model = 1};
    return true;
}

/* {"token": id, ...} */
static bool read_token_map(struct reader *r)
{
    struct rmli_json_string text;
    uint64_t id;
    rmli_json_enter(&r->c, '{');
    while (rmli_json_next_key(&r->c, &text))
        if (!rmli_json_read_u64(&r->c, &id) || !add_entry(r, &text, id))
            return false;
    return !r->c.failed;
}

static bool read_score(struct reader *r, double *score)
{
    size_t begin = r->c.in.position;
    if (!rmli_json_skip(&r->c))
        return false;
    char digits[64], *end;
    const char *text = (const char *)r->c.in.data + begin;
    size_t n = r->c.in.position - begin;
    while (n > 0 && strchr(" \t\r\n", *text)) {
        text++;
        n--;
    }
    if (n >= sizeof digits || n == 0)
        return rmli_json_fail(&r->c, begin, "a score is no number");
    memcpy(digits, text, n);
    digits[n] = 0;
    *score = strtod_l(digits, &end, r->plain);
    return (end == digits + n && isfinite(*score)) ||
           rmli_json_fail(&r->c, begin, "a score is no number, or none that a double holds");
}

/* [["token", score], ...] */
static bool read_scored_list(struct reader *r)
{
    struct rmli_json_string text;
    rmli_json_enter(&r->c, '[');
    r->has_scores = true;
    while (rmli_json_next_element(&r->c)) {
        double score = 0;
        size_t place = r->n_entries;
        if (!rmli_json_enter(&r->c, '[') || !rmli_json_next_element(&r->c) ||
            !rmli_json_read_string(&r->c, &text))
            return false;
        if (!rmli_json_next_element(&r->c))
            return r->c.failed ? false : rmli_json_fail(&r->c, text.offset, "a token has no score");
        if (!read_score(r, &score) || !add_entry(r, &text, place))
            return false;
        if (rmli_json_next_element(&r->c))
            return rmli_json_fail(&r->c, text.offset, "a token has more than a score");
        if (r->c.failed || !rmli_reserve_one((void **)&r->scores, place, &r->scores_capacity,
                                             sizeof *r->scores, r->c.err)) {
            r->c.failed = true;
            return false;
        }
        r->scores[place] = score;
    }
    return !r->c.failed;
}

/* ---- Merges -------------------------------------------------------------------------------- */

static bool add_merge(struct reader *r, const char *left, size_t left_nbytes, const char *right,
                      size_t right_nbytes, size_t offset)
{
    if (left_nbytes > UINT32_MAX || right_nbytes > UINT32_MAX)
        return rmli_json_fail(&r->c, offset, "a merge is longer than 4 GB");
    if (!rmli_reserve_one((void **)&r->merges, r->n_merges, &r->merges_capacity, sizeof *r->merges,
                          r->c.err)) {
        r->c.failed = true;
        return false;
    }
    r->merges[r->n_merges++] = (struct rmli_merge_text){left, right, (uint32_t)left_nbytes,
                                                        (uint32_t)right_nbytes, offset};
    return true;
}

/* "left right" or ["left", "right"] */
static bool read_merge(struct reader *r)
{
    struct rmli_json_cursor *c = &r->c;
    struct rmli_json_string left, right;
    if (rmli_json_peek(c) == '[') {
        if (!rmli_json_enter(c, '[') || !rmli_json_next_element(c) ||
            !rmli_json_read_string(c, &left))
            return false;
        if (!rmli_json_next_element(c))
            return c->failed ? false : rmli_json_fail(c, left.offset, "a merge has one side");
        if (!rmli_json_read_string(c, &right))
            return false;
        if (rmli_json_next_element(c))
            return rmli_json_fail(c, left.offset, "a merge has more than two sides");
        return !c->failed &&
               add_merge(r, left.data, left.nbytes, right.data, right.nbytes, left.offset);
    }
    if (!rmli_json_read_string(c, &left))
        return false;
    if (left.nbytes >= 8 && memcmp(left.data, "#version", 8) == 0)
        return true; /* the first line of a merges.txt, which the reference leaves out too */
    const char *space = memchr(left.data, ' ', left.nbytes);
    size_t n = space ? (size_t)(space - left.data) : 0;
    if (!space || memchr(space + 1, ' ', left.nbytes - n - 1))
        return rmli_json_fail(c, left.offset, "merge '%.*s' is not two tokens with a space between",
                              left.nbytes < 100 ? (int)left.nbytes : 100, left.data);
    return add_merge(r, left.data, n, space + 1, left.nbytes - n - 1, left.offset);
}

static bool read_merges(struct reader *r)
{
    r->n_merges = 0;
    r->has_merges = true;
    rmli_json_enter(&r->c, '[');
    while (rmli_json_next_element(&r->c))
        if (!read_merge(r))
            return false;
    return !r->c.failed;
}

/* ---- Model ------------------------------------------------------------------------------- */

/* A setting of the model that is no table. */
static bool read_setting(struct reader *r, const struct rmli_json_string *key)
{
    size_t offset = key->offset;
    char name[64];
    snprintf(name, sizeof name, "%.*s", key->nbytes < 63 ? (int)key->nbytes : 63, key->data);
    json_t *value = read_tree(r);
    if (!value)
        return false;
    const char *text = json_string_value(value);
    bool none = json_is_null(value) || json_is_false(value), ok = true;
    /* What a setting that is not supported may be: switched off, or nothing to do. */
    bool idle =
        strcmp(name, "dropout") == 0
            ? json_is_null(value) || (json_is_number(value) && json_number_value(value) == 0)
        : strcmp(name, "end_of_word_suffix") == 0 || strcmp(name, "continuing_subword_prefix") == 0
            ? json_is_null(value) || (text && *text == 0)
            : none || (text && *text == 0);
    bool *flag = strcmp(name, "byte_fallback") == 0   ? &r->byte_fallback
                 : strcmp(name, "fuse_unk") == 0      ? &r->fuse_unk
                 : strcmp(name, "ignore_merges") == 0 ? &r->ignore_merges
                                                      : NULL;
    if (flag && (none || json_is_true(value))) {
        *flag = json_is_true(value);
    } else if (flag || (strcmp(name, "type") == 0 && !text) ||
               (strcmp(name, "unk_token") == 0 && !text && !json_is_null(value)) ||
               (strcmp(name, "unk_id") == 0 && !json_is_null(value) &&
                !(json_is_integer(value) && json_integer_value(value) >= 0))) {
        ok = rmli_json_fail(&r->c, offset, "the model's setting '%s' has a value of another type",
                            name);
    } else if (strcmp(name, "type") == 0) {
        ok = strcmp(text, "BPE") == 0 || strcmp(text, "Unigram") == 0 ||
             rmli_json_fail(&r->c, offset, "model '%.100s' is not supported, only BPE and Unigram",
                            text);
        if (!ok && r->c.err)
            r->c.err->code = RML_UNSUPPORTED;
        snprintf(r->type, sizeof r->type, "%s", text);
    } else if (strcmp(name, "unk_token") == 0 && text) {
        r->unk_token_nbytes = json_string_length(value);
        r->unk_token = rmli_arena_copy_string(&r->strings, text, r->unk_token_nbytes, r->c.err);
        ok = r->unk_token != NULL;
    } else if (strcmp(name, "unk_id") == 0 && json_is_integer(value)) {
        r->unk_id = json_integer_value(value);
    } else if (!idle) {
        struct rml_error inner = {.code = RML_UNSUPPORTED, .offset = -1};
        snprintf(inner.message, sizeof inner.message,
                 "the model's setting '%s' has a value that is not supported", name);
        ok = fail(r, &inner, offset);
    }
    json_decref(value);
    return ok;
}

static bool read_model(struct reader *r)
{
    struct rmli_json_string key;
    r->has_model = true;
    rmli_json_enter(&r->c, '{');
    while (rmli_json_next_key(&r->c, &key)) {
        bool is_vocabulary = key.nbytes == 5 && memcmp(key.data, "vocab", 5) == 0;
        bool is_merges = key.nbytes == 6 && memcmp(key.data, "merges", 6) == 0;
        if (is_vocabulary && r->has_vocabulary)
            return rmli_json_fail(&r->c, key.offset, "the model has two vocabularies");
        if (is_vocabulary) {
            r->has_vocabulary = true;
            if (rmli_json_peek(&r->c) == '[' ? !read_scored_list(r) : !read_token_map(r))
                return false;
        } else if (is_merges) {
            if (!read_merges(r))
                return false;
        } else if (!read_setting(r, &key)) {
            return false;
        }
    }
    return !r->c.failed;
}

/* ---- Building ------------------------------------------------------------------------------ */

static bool build_bpe(struct reader *r)
{
    struct rmli_bpe *bpe = &r->t->pipeline.bpe;
    if (!r->has_merges)
        return rmli_fail(r->c.err, RML_FORMAT, r->c.file, -1,
                         "model 'BPE' has no 'merges', expected a list");
    if (!rmli_bpe_init(bpe, &r->t->vocabulary, false, r->n_merges, r->c.err) ||
        !rmli_merges_add(bpe, r->merges, r->n_merges, false, r->c.err))
        return false;
    bpe->byte_fallback = r->byte_fallback;
    bpe->fuse_unk = r->fuse_unk;
    bpe->ignore_merges = r->ignore_merges;
    if (r->unk_token) {
        /* One that the model lacks matters only to a text that needs it, as in the reference:
         * byte-level vocabularies name their first added token, and need none. */
        bpe->unk_id =
            rmli_vocabulary_find_model_text(&r->t->vocabulary, r->unk_token, r->unk_token_nbytes);
        bpe->unk_is_missing = bpe->unk_id < 0;
    }
    return rmli_bpe_finish(bpe, r->c.err);
}

static bool build_unigram(struct reader *r)
{
    struct rml_tokenizer *t = r->t;
    const struct rmli_vocabulary *v = &t->vocabulary;
    if (t->pipeline.bytelevel)
        return rmli_fail(r->c.err, RML_UNSUPPORTED, r->c.file, -1,
                         "model 'Unigram' with pre-tokenizer 'ByteLevel' is not supported");
    if (r->unk_id >= (int64_t)v->n || (r->unk_id >= 0 && !v->in_model[r->unk_id]))
        return rmli_fail(r->c.err, RML_FORMAT, r->c.file, -1,
                         "unk_id %lld is not in the vocabulary", (long long)r->unk_id);
    double *scores = rmli_alloc_zeroed(v->n, sizeof *scores, r->c.err);
    if (!scores)
        return false;
    for (size_t i = 0; i < r->n_entries && r->entries[i].in_model; i++)
        scores[i] = r->scores[i];
    t->pipeline.is_unigram = true;
    return rmli_unigram_init(&t->pipeline.unigram, v, scores, (int32_t)r->unk_id, r->byte_fallback,
                             r->c.err);
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* Added tokens that the model lacks become tokens of their own. */
static bool add_added_entries(struct reader *r)
{
    for (size_t i = 0; i < r->added.n; i++) {
        struct rmli_added_token *token = &r->added.tokens[i];
        struct rmli_json_string text = {.data = token->content, .nbytes = token->nbytes};
        if (token->in_model)
            continue;
        if (!add_entry(r, &text, (uint64_t)token->id))
            return false;
        r->entries[r->n_entries - 1].in_model = 0;
    }
    return true;
}

static int compare_texts(const void *left, const void *right)
{
    const struct rmli_token_entry *a = left, *b = right;
    size_t common = a->nbytes < b->nbytes ? a->nbytes : b->nbytes;
    int order = common > 0 ? memcmp(a->text, b->text, common) : 0;
    return order != 0 ? order : (a->nbytes > b->nbytes) - (a->nbytes < b->nbytes);
}

/* By text, then by place. */
static int compare_entries(const void *left, const void *right)
{
    const struct rmli_token_entry *a = left, *b = right;
    int order = compare_texts(left, right);
    return order != 0 ? order : (a->id > b->id) - (a->id < b->id);
}

/* Gives added tokens the model's ids. Few texts are looked for in many: they are sorted, and
 * the model's tokens are looked up among them. */
static bool settle_added_ids(struct reader *r)
{
    struct rmli_added_tokens *added = &r->added;
    struct rmli_token_entry *sorted = rmli_alloc(added->n, sizeof *sorted, r->c.err);
    if (!sorted)
        return false;
    for (size_t i = 0; i < added->n; i++)
        sorted[i] = (struct rmli_token_entry){.text = added->tokens[i].content,
                                              .nbytes = (uint32_t)added->tokens[i].nbytes,
                                              .id = (int32_t)i};
    qsort(sorted, added->n, sizeof *sorted, compare_entries);
    /* A repeated token keeps its first place and has its last flags. */
    for (size_t i = added->n; i-- > 1;)
        if (compare_texts(&sorted[i - 1], &sorted[i]) == 0) {
            const char *content = added->tokens[sorted[i - 1].id].content;
            added->tokens[sorted[i - 1].id] = added->tokens[sorted[i].id];
            added->tokens[sorted[i - 1].id].content = content;
            added->tokens[sorted[i].id].nbytes = 0;
        }
    uint64_t first_bytes[4] = {0};
    for (size_t i = 0; i < added->n; i++)
        if (sorted[i].nbytes > 0)
            first_bytes[(uint8_t)sorted[i].text[0] / 64] |= (uint64_t)1
                                                            << ((uint8_t)sorted[i].text[0] & 63);
    for (size_t i = 0; i < r->n_entries; i++) {
        const struct rmli_token_entry *e = &r->entries[i];
        uint8_t first = e->nbytes > 0 ? (uint8_t)e->text[0] : 0;
        if (added->n == 0 || e->nbytes == 0 || !(first_bytes[first / 64] >> (first & 63) & 1))
            continue;
        const struct rmli_token_entry *found =
            bsearch(e, sorted, added->n, sizeof *sorted, compare_texts);
        while (found && found > sorted && compare_texts(found - 1, e) == 0)
            found--;
        if (found) {
            added->tokens[found->id].id = e->id;
            added->tokens[found->id].in_model = true;
        }
    }
    /* The others are numbered on from the size of the model's vocabulary, whatever the file says:
     * so does the reference. */
    int64_t next = (int64_t)r->n_entries, largest = -1;
    size_t n = 0;
    for (size_t i = 0; i < added->n; i++) {
        struct rmli_added_token *token = &added->tokens[n];
        if (added->tokens[i].nbytes == 0)
            continue;
        *token = added->tokens[i];
        n++;
        if (!token->in_model)
            token->id = (int32_t)(largest >= next ? largest + 1 : next);
        largest = token->id > largest ? token->id : largest;
    }
    added->n = n;
    rmli_free(sorted);
    return true;
}

static bool build(struct reader *r, const struct rmli_tokenizer_config *config)
{
    struct rml_tokenizer *t = r->t;
    if (!r->has_model || !r->has_vocabulary)
        return rmli_fail(r->c.err, RML_FORMAT, r->c.file, -1,
                         "there is no model with a vocabulary, expected one");
    bool unigram = r->type[0] ? strcmp(r->type, "Unigram") == 0 : r->has_scores;
    if (unigram != r->has_scores)
        return rmli_fail(r->c.err, RML_FORMAT, r->c.file, -1,
                         "the vocabulary does not fit model '%s'", r->type);
    struct rmli_added_tokens *added = &r->added;
    if (!rmli_added_tokens_merge(added, &config->added, RMLI_KNOWN_IS_REPLACED, r->c.err) ||
        !rmli_added_tokens_merge(added, &config->named, RMLI_KNOWN_IS_SPECIAL, r->c.err) ||
        !rmli_added_tokens_merge(added, &config->further, RMLI_KNOWN_STAYS, r->c.err) ||
        !settle_added_ids(r) || !add_added_entries(r) ||
        !rmli_vocabulary_init(&t->vocabulary, r->entries, r->n_entries, t->pipeline.bytelevel,
                              r->c.err))
        return false;
    if (r->byte_fallback)
        rmli_vocabulary_mark_bytes(&t->vocabulary);
    return (unigram ? build_unigram(r) : build_bpe(r)) &&
           rmli_tokenizer_set_added(t, r->added.tokens, r->added.n, r->c.err) &&
           rmli_decoder_finish(&t->decoder, &t->vocabulary, r->c.err) &&
           (!r->postprocessor ||
            apply_part(r, rmli_json_read_postprocessor, r->postprocessor, r->postprocessor_offset));
}

static bool read_version(struct reader *r, size_t offset)
{
    json_t *value = read_tree(r);
    const char *version = json_string_value(value);
    bool ok = value && ((version && strcmp(version, "1.0") == 0) ||
                        rmli_json_fail(&r->c, offset, "version '%.20s' found, expected '1.0'",
                                       version ? version : "(no string)"));
    json_decref(value);
    return ok;
}

static bool read_members(struct reader *r)
{
    struct rmli_json_string key;
    rmli_json_enter(&r->c, '{');
    while (rmli_json_next_key(&r->c, &key)) {
#define IS(name) (key.nbytes == sizeof name - 1 && memcmp(key.data, name, sizeof name - 1) == 0)
        size_t offset = rmli_json_value_offset(&r->c);
        json_t *tree;
        if (IS("normalizer")) {
            read_and_apply(r, rmli_json_read_normalizer);
        } else if (IS("pre_tokenizer")) {
            read_and_apply(r, rmli_json_read_pretokenizer);
        } else if (IS("decoder")) {
            read_and_apply(r, rmli_json_read_decoder);
        } else if (IS("post_processor")) {
            json_decref(r->postprocessor); /* read once the vocabulary is there */
            r->postprocessor_offset = offset;
            r->postprocessor = read_tree(r);
        } else if (IS("added_tokens")) {
            struct rml_error inner = RML_ERROR_INIT;
            tree = read_tree(r);
            if (tree && !rmli_added_tokens_read(&r->added, tree, &r->strings, &inner))
                fail(r, &inner, offset);
            json_decref(tree);
        } else if (IS("model")) {
            if (r->has_model)
                rmli_json_fail(&r->c, key.offset, "there are two models");
            read_model(r);
        } else if (IS("version")) {
            read_version(r, key.offset);
        } else if (IS("truncation")) {
            rmli_json_read_truncation(&r->c, &r->t->batching);
        } else if (IS("padding")) {
            rmli_json_read_padding(&r->c, &r->t->batching);
        } else {
            rmli_json_fail(&r->c, key.offset, "'%.*s' is not known in tokenizer.json",
                           key.nbytes < 100 ? (int)key.nbytes : 100, key.data);
        }
#undef IS
    }
    return !r->c.failed && rmli_json_end(&r->c);
}

/* SHA-256 of the sorted lines "<sha256>  <name>\n" of the two files. */
bool rmli_tokenizer_hash_files(const struct rmli_mapped_file *json,
                               const struct rmli_mapped_file *config,
                               char hex_of_all[RMLI_SHA256_HEX_NBYTES], struct rml_error *err)
{
    char lines[256], hex[2][RMLI_SHA256_HEX_NBYTES];
    bool has_config = config->path != NULL;
    if (!rmli_sha256_bytes(json->data, json->nbytes, hex[0], err) ||
        (has_config && !rmli_sha256_bytes(config->data, config->nbytes, hex[1], err)))
        return false;
    size_t n = 0;
    bool config_first = has_config && memcmp(hex[1], hex[0], 64) < 0;
    for (int i = 0; i < 2; i++) {
        int which = config_first ? !i : i;
        const char *name = which ? "tokenizer_config.json" : "tokenizer.json";
        if (which && !has_config)
            continue;
        n += (size_t)snprintf(lines + n, sizeof lines - n, "%s  %s\n", hex[which], name);
    }
    return rmli_sha256_bytes(lines, n, hex_of_all, err);
}

static void finish_pipeline(struct rmli_pipeline *pipeline)
{
    /* ByteLevel at the end that neither splits nor prepends says only what the vocabulary's
     * keys say already. */
    size_t n = pipeline->n_pretokenizers;
    if (n > 0 && pipeline->pretokenizers[n - 1].kind == RMLI_PRETOKENIZE_BYTELEVEL &&
        !pipeline->pretokenizers[n - 1].pattern && !pipeline->pretokenizers[n - 1].add_prefix_space)
        pipeline->n_pretokenizers--;
}

bool rmli_tokenizer_read_json(struct rml_tokenizer *t, const char *path, const char *config_path,
                              struct rml_error *err)
{
    struct rml_error inner = RML_ERROR_INIT;
    struct rmli_tokenizer_config config = {.add_bos = -1, .add_eos = -1};
    struct reader r = {.t = t, .unk_id = -1};
    struct rmli_mapped_file *file = &t->source.json;
    bool ok = rmli_mapped_file_init(file, path, &inner) &&
              (!config_path || rmli_mapped_file_init(&t->source.config, config_path, &inner));
    r.plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (ok && !r.plain)
        ok = rmli_fail(&inner, RML_NO_MEMORY, path, -1, "no memory for a locale");
    if (ok) {
        r.c = (struct rmli_json_cursor){.in = {.data = file->data, .nbytes = file->nbytes},
                                        .file = path,
                                        .strings = &r.strings,
                                        .err = &inner};
        ok = (!config_path ||
              rmli_tokenizer_config_read(&config, config_path, &r.strings, &inner)) &&
             read_members(&r);
        finish_pipeline(&t->pipeline);
        ok = ok && build(&r, &config) && rmli_tokenizer_config_apply(&config, t);
    }
    if (!ok)
        rmli_fail(err, inner.code, inner.file[0] ? inner.file : path, inner.offset, "%s",
                  inner.message);
    if (r.plain)
        freelocale(r.plain);
    json_decref(r.postprocessor);
    rmli_added_tokens_release(&r.added);
    rmli_tokenizer_config_release(&config);
    rmli_free(r.entries);
    rmli_free(r.scores);
    rmli_free(r.merges);
    rmli_arena_release(&r.strings);
    return ok;
}
