/*
 * Our file of stored rows: writing it, and reading it after its checksum has been verified.
 */
#include <jansson.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "eval/kld_base.h"
#include "eval/request_key.h"

#define MAGIC "rmlbase1"
#define MAX_HEADER_NBYTES (1 << 20)
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
    json_t *header = text && take(r, text, n) ? json_loadb(text, n, 0, NULL) : NULL;
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
                   sizeof base->tokenizer_sha256);
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
        return bad(r, "the size of a window is out of range");
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
            return bad(r, "an id outside the vocabulary found");
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
    if (fwrite(data, 1, nbytes, writer->stream) != nbytes)
        return rmli_fail(err, RML_IO, writer->name, -1, "cannot be written");
    return EVP_DigestUpdate(writer->hash, data, nbytes) == 1 ||
           rmli_fail(err, RML_INTERNAL, NULL, -1, "libcrypto does not compute SHA-256");
}

bool base_writer_begin(struct base_writer *writer, FILE *stream, const char *name,
                       const struct kld_base *base, const struct windows *windows,
                       const char *protocol, size_t n_ctx, struct rml_error *err)
{
    *writer = (struct base_writer){.stream = stream, .name = name, .hash = EVP_MD_CTX_new()};
    json_t *header =
        json_pack("{ss ss ss ss sI sI sI}", "identity", base->identity, "model_sha256",
                  base->engine->sha256, "tokenizer_sha256", base->engine->tokenizer_sha256,
                  "protocol", protocol, "n_ctx", (json_int_t)n_ctx, "n_vocab",
                  (json_int_t)base->n_vocab, "n_windows", (json_int_t)windows->n);
    char *text = header ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    uint32_t n = text ? (uint32_t)strlen(text) : 0;
    bool ok = text && writer->hash && EVP_DigestInit_ex(writer->hash, EVP_sha256(), NULL) == 1;
    if (!ok)
        rmli_fail(err, RML_NO_MEMORY, name, -1, "no memory to write a base");
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
    return fwrite(digest, 1, DIGEST_NBYTES, writer->stream) == DIGEST_NBYTES ||
           rmli_fail(err, RML_IO, writer->name, -1, "cannot be written");
}

void base_writer_release(struct base_writer *writer)
{
    EVP_MD_CTX_free(writer->hash);
    *writer = (struct base_writer){0};
}
