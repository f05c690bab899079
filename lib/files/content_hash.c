/*
 * SHA-256 by libcrypto, which uses the processor's SHA instructions.
 *
 * The file is read, not hashed through its mapping: 1 MiB at a time leaves
 * the process small, and a file that shrinks meanwhile is an error instead of
 * a signal.
 */
#include "files/content_hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

#define READ_NBYTES ((size_t)1 << 20)

/* A cache beyond this (some 6,000 files) is begun anew. */
#define MAX_CACHE_NBYTES ((size_t)1 << 20)

/* A file may change without a new time stamp while the clock that stamps
 * files stands still; entries younger than this are not remembered. */
#define MIN_AGE_NS ((int64_t)1000000000)

/* ---- Hashing ------------------------------------------------------------ */

static bool finish_hex(EVP_MD_CTX *context, char hex[RMLI_SHA256_HEX_NBYTES])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int nbytes = 0;
    if (EVP_DigestFinal_ex(context, digest, &nbytes) != 1 || nbytes != 32)
        return false;
    for (unsigned int i = 0; i < nbytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    return true;
}

static EVP_MD_CTX *begin(struct rml_error *err)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1)
        return context;
    EVP_MD_CTX_free(context);
    rmli_fail(err, RML_INTERNAL, NULL, -1, "libcrypto does not offer SHA-256");
    return NULL;
}

bool rmli_sha256_bytes(const void *data, size_t nbytes, char hex[RMLI_SHA256_HEX_NBYTES],
                       struct rml_error *err)
{
    EVP_MD_CTX *context = begin(err);
    if (!context)
        return false;
    bool ok = EVP_DigestUpdate(context, data, nbytes) == 1 && finish_hex(context, hex);
    EVP_MD_CTX_free(context);
    return ok || rmli_fail(err, RML_INTERNAL, NULL, -1, "libcrypto failed at SHA-256");
}

static bool is_same(const struct rmli_mapped_file *file, int fd)
{
    struct stat s;
    return fstat(fd, &s) == 0 && (uint64_t)s.st_dev == file->device &&
           (uint64_t)s.st_ino == file->inode && (uint64_t)s.st_size == file->nbytes &&
           (int64_t)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec == file->mtime_ns &&
           (int64_t)s.st_ctim.tv_sec * 1000000000 + s.st_ctim.tv_nsec == file->ctime_ns;
}

static bool hash_fd(const struct rmli_mapped_file *file, int fd, EVP_MD_CTX *context,
                    char hex[RMLI_SHA256_HEX_NBYTES], struct rml_error *err)
{
    if (!is_same(file, fd))
        return rmli_fail(err, RML_IO, file->path, -1, "the file has changed since it was opened");
    uint8_t *buffer = rmli_alloc(READ_NBYTES, 1, err);
    if (!buffer)
        return false;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    uint64_t total_nbytes = 0;
    ssize_t n;
    bool ok = true;
    while (ok && (n = read(fd, buffer, READ_NBYTES)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            ok = rmli_fail(err, RML_IO, file->path, (int64_t)total_nbytes, "cannot read: %s",
                           strerror(errno));
        else if (EVP_DigestUpdate(context, buffer, (size_t)n) != 1)
            ok = rmli_fail(err, RML_INTERNAL, NULL, -1, "libcrypto failed at SHA-256");
        else
            total_nbytes += (uint64_t)n;
    }
    rmli_free(buffer);
    if (!ok)
        return false;
    if (total_nbytes != file->nbytes || !is_same(file, fd))
        return rmli_fail(err, RML_IO, file->path, -1, "the file changed while it was read");
    return finish_hex(context, hex) ||
           rmli_fail(err, RML_INTERNAL, NULL, -1, "libcrypto failed at SHA-256");
}

static bool hash_file(const struct rmli_mapped_file *file, char hex[RMLI_SHA256_HEX_NBYTES],
                      struct rml_error *err)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return rmli_fail(err, RML_IO, file->path, -1, "cannot open the file again: %s",
                         strerror(errno));
    EVP_MD_CTX *context = begin(err);
    bool ok = context && hash_fd(file, fd, context, hex, err);
    EVP_MD_CTX_free(context);
    close(fd);
    return ok;
}

/* ---- The cache ---------------------------------------------------------- */

/* Five numbers of at most 20 digits, with a space behind each. */
struct identity {
    char text[5 * 21 + 1];
};

static struct identity identity_of(const struct rmli_mapped_file *file)
{
    struct identity id;
    snprintf(id.text, sizeof id.text, "%" PRIu64 " %" PRIu64 " %zu %" PRId64 " %" PRId64 " ",
             file->device, file->inode, file->nbytes, file->mtime_ns, file->ctime_ns);
    return id;
}

static bool is_hex64(const char *s)
{
    return strspn(s, "0123456789abcdef") == 64 && s[64] == '\n';
}

/* The newest line of that identity. */
static bool look_up(const char *cache_file, const char *id, char hex[RMLI_SHA256_HEX_NBYTES])
{
    int fd = open(cache_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "r");
    if (!stream) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    char line[512];
    bool found = false;
    size_t n_id = strlen(id);
    while (fgets(line, sizeof line, stream)) {
        if (strncmp(line, id, n_id) == 0 && is_hex64(line + n_id)) {
            memcpy(hex, line + n_id, 64);
            hex[64] = 0;
            found = true;
        }
    }
    fclose(stream);
    return found;
}

static void remember(const char *cache_file, const char *id, const char *hex)
{
    struct stat status;
    bool full = stat(cache_file, &status) == 0 && (size_t)status.st_size > MAX_CACHE_NBYTES;
    int fd =
        open(cache_file,
             O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | (full ? O_TRUNC : 0), 0666);
    if (fd < 0)
        return;
    /* Begins with a line end too, in case the last writer was cut short. */
    char line[256];
    int n = snprintf(line, sizeof line, "\n%s%s\n", id, hex);
    ssize_t written = write(fd, line, (size_t)n);
    (void)written;
    close(fd);
}

bool rmli_sha256_cached(const struct rmli_mapped_file *file, const char *cache_file,
                        char hex[RMLI_SHA256_HEX_NBYTES])
{
    struct identity id = identity_of(file);
    return cache_file && look_up(cache_file, id.text, hex);
}

bool rmli_sha256_file(const struct rmli_mapped_file *file, const char *cache_file,
                      char hex[RMLI_SHA256_HEX_NBYTES], struct rml_error *err)
{
    struct identity id = identity_of(file);
    if (cache_file && look_up(cache_file, id.text, hex))
        return true;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - file->ctime_ns;
    if (!hash_file(file, hex, err))
        return false;
    if (cache_file && age_ns >= MIN_AGE_NS)
        remember(cache_file, id.text, hex);
    return true;
}
