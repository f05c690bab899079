/*
 * Our file of stored rows: writing it, and reading it after its checksum has been verified.
 */
#include <jansson.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "eval/kld_base.h"
#include "eval/request_key.h"
#include "tools/cli/json_out.h"

#define MAGIC "rmlbase1"
#define MAX_HEADER_NBYTES (1U << 30) /* it has the texts */
#define DIGEST_NBYTES 32

/* ---- Reading ---------------------------------------------------------------------------------- */

struct reader {
    struct kld_base *base;
    EVP_MD_CTX *hash;
    int64_t at; /* bytes read so far, all of them hashed */
    struct rml_error *err;
};

static bool bad(struct reader *r, const char *what)
{
    return rmli_fail(r->err, RML_FORMAT, r->base->name, r->at, "%s", what);
}

static bool take(struct reader *r, void *data, size_t nbytes)
{
    if (fread(data, 1, nbytes, r->base->stream) != nbytes)
        return bad(r, "the file ends here, expected more of it");
    if (EVP_DigestUpdate(r->hash, data, nbytes) != 1)
        return rmli_fail(r->err, RML_INTERNAL, NULL, -1, "libcrypto does not compute SHA-256");
    r->at += (int64_t)nbytes;
    return true;
}

static bool skip(struct reader *r, uint64_t nbytes)
{
    static unsigned char piece[1 << 16];
    while (nbytes > 0) {
        size_t n = nbytes < sizeof piece ? (size_t)nbytes : sizeof piece;
        if (!take(r, piece, n))
            return false;
        nbytes -= n;
    }
    return true;
}

static bool copy_text(struct reader *r, const json_t *header, const char *key, char *text,
                      size_t nbytes)
{
    const char *value = json_string_value(json_object_get(header, key));
    if (!value || strlen(value) >= nbytes)
        return bad(r, "the header lacks a text, expected identity, protocol and tokenizer_sha256");
    strcpy(text, value);
    return true;
}

/* A file that an earlier version wrote has none. */
static bool read_texts(struct reader *r, const json_t *header)
{
    struct kld_base *base = r->base;
    const json_t *texts = json_object_get(header, "texts"), *text;
    size_t i;
    if (!texts)
        return true;
    base->window = (struct window_settings){
        .n_ctx = (size_t)json_integer_value(json_object_get(header, "n_ctx")),
        .stride = (size_t)json_integer_value(json_object_get(header, "stride")),
        .double_bos = json_is_true(json_object_get(header, "double_bos"))};
    bool ok = json_is_array(texts) && protocol_parse(base->protocol, &base->window.protocol) &&
              (base->window.protocol != PROTOCOL_HF_STRIDE ||
               (base->window.stride > 0 && base->window.stride < base->window.n_ctx));
    json_array_foreach(texts, i, text) ok = ok && json_is_string(json_object_get(text, "id")) &&
                                            json_is_string(json_object_get(text, "text")) &&
                                            json_is_string(json_object_get(text, "ids_sha256"));
    if (!ok)
        return bad(r, "the texts of the header cannot be read, expected objects with id, text and "
                      "ids_sha256, cut by a known protocol");
    base->texts = json_incref((json_t *)texts);
    return true;
}

static bool read_header(struct reader *r)
{
    struct kld_base *base = r->base;
    char magic[8];
    uint32_t n;
    if (!take(r, magic, sizeof magic) || !take(r, &n, sizeof n))
        return false;
    if (memcmp(magic, MAGIC, sizeof magic) != 0 || n > MAX_HEADER_NBYTES)
        return bad(r, "no stored base found, expected \"" MAGIC "\" and a header");
    char *text = malloc(n + 1U);
    json_t *header = text && take(r, text, n) ? json_loadb(text, n, JSON_ALLOW_NUL, NULL) : NULL;
    free(text);
    json_int_t n_ctx = json_integer_value(json_object_get(header, "n_ctx"));
    json_int_t n_vocab = json_integer_value(json_object_get(header, "n_vocab"));
    json_int_t n_windows = json_integer_value(json_object_get(header, "n_windows"));
    bool ok = header && n_ctx > 1 && n_ctx < INT32_MAX && n_vocab > 0 && n_vocab < (1 << 24) &&
              n_windows > 0 && n_windows < INT32_MAX;
    if (!ok)
        bad(r, "the header cannot be read, expected an object with n_ctx, n_vocab, n_windows");
    ok = ok && copy_text(r, header, "identity", base->identity, sizeof base->identity) &&
         copy_text(r, header, "protocol", base->protocol, sizeof base->protocol) &&
         copy_text(r, header, "tokenizer_sha256", base->tokenizer_sha256,
                   sizeof base->tokenizer_sha256) &&
         read_texts(r, header);
    json_decref(header);
    base->n_ctx = (size_t)n_ctx;
    base->n_vocab = (uint32_t)n_vocab;
    base->n_windows = ok ? (size_t)n_windows : 0;
    base->row_nbytes = 8 + 4 * (size_t)n_vocab;
    return ok;
}

static bool read_window(struct reader *r, size_t w)
{
    struct kld_base *base = r->base;
    uint32_t n_tokens, first_target;
    if (!take(r, &n_tokens, sizeof n_tokens) || !take(r, &first_target, sizeof first_target))
        return false;
    if (n_tokens > base->n_ctx + 1 || n_tokens < 2 || first_target < 1 || first_target >= n_tokens)
        return rmli_fail(r->err, RML_FORMAT, base->name, r->at - 8,
                         "window %zu of %u ids scored from %u on found, expected 2 to %zu ids, of "
                         "which the first is not scored",
                         w, n_tokens, first_target, base->n_ctx + 1);
    int32_t *tokens = malloc(n_tokens * sizeof *tokens);
    base->requests[w] = (struct eval_request){.tokens = tokens,
                                              .n_tokens = n_tokens,
                                              .first_target = first_target,
                                              .doc_id = base->name,
                                              .choice_idx = (int64_t)w};
    if (!tokens)
        return rmli_fail(r->err, RML_NO_MEMORY, base->name, -1, "no memory for its windows");
    if (!take(r, tokens, n_tokens * sizeof *tokens))
        return false;
    for (uint32_t i = 0; i < n_tokens; i++)
        if (tokens[i] < 0 || (uint32_t)tokens[i] >= base->n_vocab)
            return rmli_fail(r->err, RML_FORMAT, base->name, r->at - 4 * (int64_t)(n_tokens - i),
                             "id %d found in window %zu, place %u, expected one of 0 to %u",
                             tokens[i], w, i, base->n_vocab - 1);
    base->offsets[w] = r->at;
    return skip(r, (uint64_t)(n_tokens - first_target) * base->row_nbytes);
}

static bool read_all(struct reader *r)
{
    struct kld_base *base = r->base;
    if (!read_header(r))
        return false;
    base->requests = calloc(base->n_windows, sizeof *base->requests);
    base->offsets = calloc(base->n_windows, sizeof *base->offsets);
    if (!base->requests || !base->offsets)
        return rmli_fail(r->err, RML_NO_MEMORY, base->name, -1, "no memory for its windows");
    for (size_t w = 0; w < base->n_windows; w++)
        if (!read_window(r, w))
            return false;
    unsigned char want[DIGEST_NBYTES], got[EVP_MAX_MD_SIZE];
    if (fread(want, 1, sizeof want, base->stream) != sizeof want || getc(base->stream) != EOF)
        return bad(r, "the file does not end with its checksum here, expected 32 bytes");
    if (EVP_DigestFinal_ex(r->hash, got, NULL) != 1 || memcmp(want, got, sizeof want) != 0)
        return bad(r, "the checksum of the file is not that of its content: it is damaged");
    return true;
}

bool kld_base_open_file(struct kld_base *base, const char *name, struct rml_error *err)
{
    *base = (struct kld_base){.name = name};
    struct reader r = {.base = base, .hash = EVP_MD_CTX_new(), .err = err};
    base->stream = fopen(name, "rb");
    bool ok = base->stream || rmli_fail(err, RML_IO, name, -1, "cannot be opened");
    if (ok && (!r.hash || EVP_DigestInit_ex(r.hash, EVP_sha256(), NULL) != 1))
        ok = rmli_fail(err, RML_INTERNAL, NULL, -1, "libcrypto does not compute SHA-256");
    ok = ok && read_all(&r) && kld_base_make_room(base, err);
    EVP_MD_CTX_free(r.hash);
    if (!ok)
        kld_base_release(base);
    return ok;
}

/* ---- Writing ------------------------------------------------------------------------------------ */

static bool put(struct base_writer *writer, const void *data, size_t nbytes, struct rml_error *err)
{
    if (fwrite(data, 1, nbytes, writer->output->stream) != nbytes)
        return cli_output_fail(writer->output, err);
    return EVP_DigestUpdate(writer->hash, data, nbytes) == 1 ||
           rmli_fail(err, RML_INTERNAL, NULL, -1, "libcrypto does not compute SHA-256");
}

/* NULL on failure. */
static json_t *texts_json(const struct base_source *source, struct rml_error *err)
{
    json_t *texts = json_array();
    for (size_t d = 0; texts && d < source->documents->n; d++) {
        const struct document *doc = &source->documents->docs[d];
        char sha256[65];
        if (!windows_ids_sha256(source->windows, d, sha256, err)) {
            json_decref(texts);
            return NULL;
        }
        json_array_append_new(texts, json_pack("{so so ss}", "id", cli_json_text(doc->id), "text",
                                               json_stringn(doc->text, doc->nbytes), "ids_sha256",
                                               sha256));
    }
    return texts;
}

static char *header_text(const struct kld_base *base, const struct base_source *source,
                         size_t n_windows, struct rml_error *err)
{
    const struct window_settings *settings = source->settings;
    json_t *texts = texts_json(source, err);
    json_t *header = json_pack(
        "{ss ss ss ss sI sI sI sI sb so}", "identity", base->identity, "model_sha256",
        base->engine->sha256, "tokenizer_sha256", base->engine->tokenizer_sha256, "protocol",
        protocol_name(settings->protocol), "n_ctx", (json_int_t)settings->n_ctx, "n_vocab",
        (json_int_t)base->n_vocab, "n_windows", (json_int_t)n_windows, "stride",
        (json_int_t)settings->stride, "double_bos", settings->double_bos, "texts", texts);
    char *text = header ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    return text;
}

bool base_writer_begin(struct base_writer *writer, const struct cli_output *output,
                       const struct kld_base *base, const struct base_source *source,
                       const struct windows *chosen, struct rml_error *err)
{
    *writer = (struct base_writer){.output = output, .hash = EVP_MD_CTX_new()};
    char *text = header_text(base, source, chosen->n, err);
    size_t nbytes = text ? strlen(text) : 0;
    uint32_t n = (uint32_t)nbytes;
    bool ok = text && writer->hash && EVP_DigestInit_ex(writer->hash, EVP_sha256(), NULL) == 1;
    if (!ok)
        rmli_fail(err, RML_NO_MEMORY, output->path, -1, "no memory to write a base");
    else if (nbytes > MAX_HEADER_NBYTES)
        ok = rmli_fail(err, RML_UNSUPPORTED, output->path, -1,
                       "texts of %zu bytes found, expected at most %u for a base", nbytes,
                       MAX_HEADER_NBYTES);
    ok = ok && put(writer, MAGIC, 8, err) && put(writer, &n, sizeof n, err) &&
         put(writer, text, n, err);
    free(text);
    return ok;
}

static bool put_piece(struct base_writer *writer, const struct kld_base *base,
                      const struct kld_piece *piece, struct rml_error *err)
{
    const struct eval_request *request = piece->request;
    uint32_t sizes[2] = {(uint32_t)request->n_tokens, (uint32_t)request->first_target};
    if (piece->begin == 0 &&
        (!put(writer, sizes, sizeof sizes, err) ||
         !put(writer, request->tokens, request->n_tokens * sizeof *request->tokens, err)))
        return false;
    for (size_t i = piece->row; i < piece->row + piece->n; i++)
        if (!put(writer, &base->rows[i].logsumexp, sizeof base->rows[i].logsumexp, err) ||
            !put(writer, base->rows[i].logits, base->n_vocab * sizeof(float), err))
            return false;
    return true;
}

bool base_writer_pass(struct base_writer *writer, const struct kld_base *base,
                      const struct kld_schedule *pass, struct rml_error *err)
{
    for (size_t p = 0; p < pass->n_pieces; p++)
        if (!put_piece(writer, base, &pass->pieces[p], err))
            return false;
    return true;
}

bool base_writer_end(struct base_writer *writer, struct rml_error *err)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    if (EVP_DigestFinal_ex(writer->hash, digest, NULL) != 1)
        return rmli_fail(err, RML_INTERNAL, NULL, -1, "libcrypto does not compute SHA-256");
    return fwrite(digest, 1, DIGEST_NBYTES, writer->output->stream) == DIGEST_NBYTES ||
           cli_output_fail(writer->output, err);
}

void base_writer_release(struct base_writer *writer)
{
    EVP_MD_CTX_free(writer->hash);
    *writer = (struct base_writer){0};
}
