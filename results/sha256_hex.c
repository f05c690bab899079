#include "results/sha256_hex.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

static void write_hex(const unsigned char *digest, unsigned n, char *hex)
{
    for (unsigned i = 0; i < n && i < (SHA256_HEX_NBYTES - 1) / 2; i++)
        snprintf(hex + 2 * (size_t)i, 3, "%02x", digest[i]);
}

bool sha256_hex(const void *data, size_t nbytes, char hex[SHA256_HEX_NBYTES], struct rml_error *err)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (!EVP_Digest(data, nbytes, digest, &n, EVP_sha256(), NULL))
        return rmli_fail(err, RML_INTERNAL, NULL, -1, "SHA-256 failed in libcrypto");
    write_hex(digest, n, hex);
    return true;
}

bool sha256_hex_of_file(const char *path, char hex[SHA256_HEX_NBYTES], struct rml_error *err)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return rmli_fail(err, RML_IO, path, -1, "cannot be read: %s", strerror(errno));

    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    bool ok = hash && EVP_DigestInit_ex(hash, EVP_sha256(), NULL);
    unsigned char buffer[1 << 16], digest[EVP_MAX_MD_SIZE];
    unsigned digest_nbytes = 0;
    size_t n;
    while (ok && (n = fread(buffer, 1, sizeof buffer, file)) > 0)
        ok = EVP_DigestUpdate(hash, buffer, n);
    bool read = !ferror(file);
    ok = ok && EVP_DigestFinal_ex(hash, digest, &digest_nbytes);
    EVP_MD_CTX_free(hash);
    fclose(file);
    if (!read)
        return rmli_fail(err, RML_IO, path, -1, "cannot be read to its end");
    if (!ok)
        return rmli_fail(err, RML_INTERNAL, path, -1, "SHA-256 failed in libcrypto");
    write_hex(digest, digest_nbytes, hex);
    return true;
}
