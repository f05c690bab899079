/*
 * The content key of a score.
 */
#include "eval/request_key.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "tools/cli/options.h"

/* Raised when what is kept under a key changes its meaning. */
#define KEY_VERSION 1

static void to_hex(const unsigned char digest[32], char hex[65])
{
    for (size_t i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

bool eval_sha256(const void *data, size_t nbytes, char hex[65], struct rml_error *err)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    if (EVP_Digest(data, nbytes, digest, NULL, EVP_sha256(), NULL) != 1)
        return rmli_fail(err, RML_INTERNAL, NULL, -1, "libcrypto does not compute SHA-256");
    to_hex(digest, hex);
    return true;
}

bool eval_sha256_of_ids(const struct eval_request *requests, size_t n, char hex[65],
                        struct rml_error *err)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool ok = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;
    for (size_t i = 0; ok && i < n; i++)
        ok = EVP_DigestUpdate(context, requests[i].tokens,
                              requests[i].n_tokens * sizeof *requests[i].tokens) == 1;
    unsigned char digest[EVP_MAX_MD_SIZE];
    ok = ok && EVP_DigestFinal_ex(context, digest, NULL) == 1;
    EVP_MD_CTX_free(context);
    if (!ok)
        return rmli_fail(err, RML_INTERNAL, NULL, -1, "libcrypto does not compute SHA-256");
    to_hex(digest, hex);
    return true;
}

bool eval_sha256_of_file(const char *path, char hex[65], struct rml_error *err)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    static unsigned char piece[1 << 16];
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return rmli_fail(err, RML_IO, path, -1, "cannot be opened");
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    bool ok = hash && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1;
    size_t n;
    while (ok && (n = fread(piece, 1, sizeof piece, stream)) > 0)
        ok = EVP_DigestUpdate(hash, piece, n) == 1;
    ok = ok && !ferror(stream) && EVP_DigestFinal_ex(hash, digest, NULL) == 1;
    EVP_MD_CTX_free(hash);
    fclose(stream);
    if (!ok)
        return rmli_fail(err, RML_IO, path, -1, "cannot be read");
    to_hex(digest, hex);
    return true;
}

bool request_key_engine(const struct eval_engine *engine, char *text, size_t nbytes)
{
    int n = snprintf(text, nbytes, "model %s arithmetic %s kv %s:%s isa %s numerics %d",
                     engine->sha256, rml_arithmetic_name(engine->settings.arithmetic),
                     rml_kv_dtype_name(engine->settings.k_dtype),
                     rml_kv_dtype_name(engine->settings.v_dtype), rml_isa_name(engine->isa),
                     RML_NUMERICS_VERSION);
    return n > 0 && (size_t)n < nbytes;
}

bool request_key(const struct eval_engine *engine, const char *base,
                 const struct eval_request *request, char hex[REQUEST_KEY_NBYTES],
                 struct rml_error *err)
{
    char settings[256], head[1024];
    if (!request_key_engine(engine, settings, sizeof settings))
        return rmli_fail(err, RML_INTERNAL, NULL, -1, "the settings of an engine are too long");
    int n = snprintf(head, sizeof head,
                     "rml-eval score %d\n%s\nbase %s\nids %zu first target %zu\n", KEY_VERSION,
                     settings, base ? base : "none", request->n_tokens, request->first_target);
    if (n < 0 || (size_t)n >= sizeof head)
        return rmli_fail(err, RML_INTERNAL, NULL, -1, "the name of a base is too long");

    unsigned char digest[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    bool ok =
        hash && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1 &&
        EVP_DigestUpdate(hash, head, (size_t)n) == 1 &&
        EVP_DigestUpdate(hash, request->tokens, request->n_tokens * sizeof *request->tokens) == 1 &&
        EVP_DigestFinal_ex(hash, digest, NULL) == 1;
    EVP_MD_CTX_free(hash);
    if (!ok)
        return rmli_fail(err, RML_INTERNAL, NULL, -1, "libcrypto does not compute SHA-256");
    to_hex(digest, hex);
    return true;
}
