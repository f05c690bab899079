/*
 * GGUF writer: a header collected in memory, then data straight to the file.
 *
 * The header is small (its largest part is a vocabulary) and has to be whole
 * before the first byte of data; the data may be larger than memory.
 */
#include "files/gguf_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "files/ggml_types.h"
#include "files/gguf_private.h"

enum {
    VERSION = 3,
    DEFAULT_ALIGNMENT = 32,
    MAX_KEY_NBYTES = 65535, /* by the format */
    MAX_NAME_NBYTES = 63    /* all that ggml reads */
};

/* Encoded entries of the header. */
struct buffer {
    uint8_t *bytes;
    size_t nbytes, capacity;
};

/* Names that must be unique. */
struct names {
    struct rmli_name *entries;
    size_t n, capacity;
};

struct rmli_gguf_writer {
    char *path, *tmp_path;
    FILE *stream; /* of tmp_path */
    uint32_t alignment;

    struct buffer kvs, table;
    struct names keys, tensors;
    struct rmli_arena strings; /* what the names point at */

    uint64_t *tensor_nbytes; /* [tensors.n] */
    size_t tensor_capacity;
    uint64_t data_nbytes; /* declared so far, padding included */

    bool header_written;
    bool failed;        /* what is on the disk is no good */
    size_t i_tensor;    /* the tensor that is being written */
    uint64_t n_written; /* bytes of it so far */
};

/* ---- Encoding ----------------------------------------------------------- */

static bool append(struct buffer *b, const void *data, size_t nbytes, struct rml_error *err)
{
    size_t needed;
    if (!rmli_size_add(b->nbytes, nbytes, &needed))
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "the header does not fit an address");
    if (needed > b->capacity) {
        size_t capacity = needed < SIZE_MAX / 2 ? needed * 2 : needed;
        uint8_t *bytes = realloc(b->bytes, capacity);
        if (!bytes)
            return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a header of %zu bytes",
                             needed);
        b->bytes = bytes;
        b->capacity = capacity;
    }
    if (nbytes > 0)
        memcpy(b->bytes + b->nbytes, data, nbytes);
    b->nbytes = needed;
    return true;
}

static bool append_u32(struct buffer *b, uint32_t value, struct rml_error *err)
{
    return append(b, &value, sizeof value, err);
}

static bool append_u64(struct buffer *b, uint64_t value, struct rml_error *err)
{
    return append(b, &value, sizeof value, err);
}

static bool append_string(struct buffer *b, const char *s, size_t nbytes, struct rml_error *err)
{
    return append_u64(b, nbytes, err) && append(b, s, nbytes, err);
}

static bool remember_name(struct rmli_gguf_writer *w, struct names *names, const char *name,
                          size_t nbytes, struct rml_error *err)
{
    void *entries = names->entries;
    if (!rmli_reserve_one(&entries, names->n, &names->capacity, sizeof *names->entries, err))
        return false;
    names->entries = entries;
    const char *copy = rmli_arena_copy_string(&w->strings, name, nbytes, err);
    if (!copy)
        return false;
    names->entries[names->n] = (struct rmli_name){copy, nbytes, names->n};
    names->n++;
    return true;
}

static bool check_name(const struct rmli_gguf_writer *w, const char *what, const char *name,
                       size_t nbytes, size_t max_nbytes, struct rml_error *err)
{
    if (w->header_written)
        return rmli_fail(err, RML_INVALID_ARGUMENT, w->path, -1,
                         "%s '%.*s' comes after the first tensor data", what,
                         (int)(nbytes < 200 ? nbytes : 200), name);
    if (nbytes == 0 || nbytes > max_nbytes ||
        !rmli_utf8_is_printable((const uint8_t *)name, nbytes))
        return rmli_fail(err, RML_INVALID_ARGUMENT, w->path, -1,
                         "%s '%.*s' has %zu bytes, expected 1 to %zu of UTF-8 without control "
                         "characters",
                         what, (int)(nbytes < 200 ? nbytes : 200), name, nbytes, max_nbytes);
    return true;
}

/* ---- Life --------------------------------------------------------------- */

static void destroy(struct rmli_gguf_writer *w, bool keep_file)
{
    if (w->stream) {
        fclose(w->stream);
        if (!keep_file)
            unlink(w->tmp_path);
    }
    free(w->path);
    free(w->tmp_path);
    free(w->kvs.bytes);
    free(w->table.bytes);
    rmli_free(w->keys.entries);
    rmli_free(w->tensors.entries);
    rmli_free(w->tensor_nbytes);
    rmli_arena_release(&w->strings);
    free(w);
}

static bool open_stream(struct rmli_gguf_writer *w, struct rml_error *err)
{
    if (asprintf(&w->tmp_path, "%s.tmp-%ld", w->path, (long)getpid()) < 0) {
        w->tmp_path = NULL;
        return rmli_fail(err, RML_NO_MEMORY, w->path, -1, "no memory for a path");
    }
    int fd = open(w->tmp_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return rmli_fail(err, RML_IO, w->tmp_path, -1, "cannot create the file: %s",
                         strerror(errno));
    w->stream = fdopen(fd, "wb");
    if (!w->stream) {
        close(fd);
        unlink(w->tmp_path);
        return rmli_fail(err, RML_NO_MEMORY, w->path, -1, "no memory to write the file");
    }
    return true;
}

struct rmli_gguf_writer *rmli_gguf_writer_create(const char *path, uint32_t alignment,
                                                 struct rml_error *err)
{
    if (alignment == 0)
        alignment = DEFAULT_ALIGNMENT;
    if (alignment < 8 || (alignment & (alignment - 1)) != 0) {
        rmli_fail(err, RML_INVALID_ARGUMENT, path, -1,
                  "alignment is %" PRIu32 ", expected a power of two that is at least 8",
                  alignment);
        return NULL;
    }
    struct rmli_gguf_writer *w = calloc(1, sizeof *w);
    if (!w) {
        rmli_fail(err, RML_NO_MEMORY, path, -1, "no memory to write the file");
        return NULL;
    }
    w->alignment = alignment;
    w->path = rmli_strdup(path, err);
    if (!w->path || !open_stream(w, err) ||
        (alignment != DEFAULT_ALIGNMENT &&
         !rmli_gguf_writer_add_u32(w, "general.alignment", alignment, err))) {
        destroy(w, false);
        return NULL;
    }
    return w;
}

void rmli_gguf_writer_abandon(struct rmli_gguf_writer *w)
{
    if (w)
        destroy(w, false);
}

/* ---- Metadata ----------------------------------------------------------- */

/*
 * An entry is appended in several steps; one that fails half-way would leave a
 * header that no reader understands, so the writer forgets it again.
 */
struct mark {
    size_t nbytes, n_names;
};

static bool end_kv(struct rmli_gguf_writer *w, struct mark mark, bool ok)
{
    if (!ok) {
        w->kvs.nbytes = mark.nbytes;
        w->keys.n = mark.n_names;
    }
    return ok;
}

static bool append_key(struct rmli_gguf_writer *w, const char *key, size_t nbytes, uint32_t type,
                       struct rml_error *err)
{
    return check_name(w, "metadata key", key, nbytes, MAX_KEY_NBYTES, err) &&
           remember_name(w, &w->keys, key, nbytes, err) &&
           append_string(&w->kvs, key, nbytes, err) && append_u32(&w->kvs, type, err);
}

static bool append_array_header(struct rmli_gguf_writer *w, uint32_t elem_type, uint64_t nelems,
                                struct rml_error *err)
{
    return append_u32(&w->kvs, elem_type, err) && append_u64(&w->kvs, nelems, err);
}

/* A NUL-terminated key of anything but strings. */
static bool add_values(struct rmli_gguf_writer *w, const char *key, enum rmli_gguf_type type,
                       int64_t nelems, const void *values, struct rml_error *err)
{
    size_t elem_nbytes = rmli_gguf_type_nbytes(type), nbytes;
    if (elem_nbytes == 0)
        return rmli_fail(err, RML_INVALID_ARGUMENT, w->path, -1,
                         "metadata key '%s' has type %s, expected one of a fixed size", key,
                         rmli_gguf_type_name(type));
    if (!rmli_size_mul(nelems < 0 ? 1 : (size_t)nelems, elem_nbytes, &nbytes))
        return rmli_fail(err, RML_INVALID_ARGUMENT, w->path, -1,
                         "metadata key '%s' has %" PRId64 " values, which do not fit an address",
                         key, nelems);
    for (size_t i = 0; type == RMLI_GGUF_BOOL && i < nbytes; i++)
        if (((const uint8_t *)values)[i] > 1)
            return rmli_fail(err, RML_INVALID_ARGUMENT, w->path, -1,
                             "metadata key '%s' has a bool of %u, expected 0 or 1", key,
                             ((const uint8_t *)values)[i]);
    bool ok = append_key(w, key, strlen(key), nelems < 0 ? type : RMLI_GGUF_ARRAY, err);
    if (nelems >= 0)
        ok = ok && append_array_header(w, type, (uint64_t)nelems, err);
    return ok && append(&w->kvs, values, nbytes, err);
}

bool rmli_gguf_writer_add(struct rmli_gguf_writer *w, const char *key, enum rmli_gguf_type type,
                          int64_t nelems, const void *values, struct rml_error *err)
{
    struct mark mark = {w->kvs.nbytes, w->keys.n};
    return end_kv(w, mark, add_values(w, key, type, nelems, values, err));
}

bool rmli_gguf_writer_add_u32(struct rmli_gguf_writer *w, const char *key, uint32_t value,
                              struct rml_error *err)
{
    return rmli_gguf_writer_add(w, key, RMLI_GGUF_U32, -1, &value, err);
}

bool rmli_gguf_writer_add_f32(struct rmli_gguf_writer *w, const char *key, float value,
                              struct rml_error *err)
{
    return rmli_gguf_writer_add(w, key, RMLI_GGUF_F32, -1, &value, err);
}

bool rmli_gguf_writer_add_string(struct rmli_gguf_writer *w, const char *key, const char *value,
                                 struct rml_error *err)
{
    struct mark mark = {w->kvs.nbytes, w->keys.n};
    return end_kv(w, mark,
                  append_key(w, key, strlen(key), RMLI_GGUF_STRING, err) &&
                      append_string(&w->kvs, value, strlen(value), err));
}

bool rmli_gguf_writer_add_strings(struct rmli_gguf_writer *w, const char *key, size_t nelems,
                                  const struct rmli_gguf_string *values, struct rml_error *err)
{
    struct mark mark = {w->kvs.nbytes, w->keys.n};
    bool ok = append_key(w, key, strlen(key), RMLI_GGUF_ARRAY, err) &&
              append_array_header(w, RMLI_GGUF_STRING, nelems, err);
    for (size_t i = 0; ok && i < nelems; i++)
        ok = append_string(&w->kvs, values[i].data, values[i].nbytes, err);
    return end_kv(w, mark, ok);
}

bool rmli_gguf_writer_copy(struct rmli_gguf_writer *w, const struct rmli_gguf_kv *kv,
                           struct rml_error *err)
{
    static const char alignment[] = "general.alignment";
    if (kv->key.nbytes == sizeof alignment - 1 &&
        memcmp(kv->key.data, alignment, sizeof alignment - 1) == 0)
        return true;
    struct mark mark = {w->kvs.nbytes, w->keys.n};
    bool ok = append_key(w, kv->key.data, kv->key.nbytes, kv->type, err);
    if (kv->type == RMLI_GGUF_ARRAY)
        ok = ok && append_array_header(w, kv->elem_type, kv->nelems, err);
    return end_kv(w, mark, ok && append(&w->kvs, kv->data, (size_t)kv->nbytes, err));
}

/* ---- Tensors ------------------------------------------------------------ */

static bool tensor_size(const struct rmli_gguf_writer *w, const char *name, enum rml_dtype dtype,
                        int n_dims, const uint64_t *dims, size_t *nbytes, struct rml_error *err)
{
    if (n_dims < 0 || n_dims > RML_MAX_DIMS)
        return rmli_fail(err, RML_INVALID_ARGUMENT, w->path, -1,
                         "tensor '%s' has %d dimensions, expected 0 to %d", name, n_dims,
                         RML_MAX_DIMS);
    bool fits = rml_dtype_row_nbytes(dtype, n_dims > 0 ? dims[n_dims - 1] : 1, nbytes);
    for (int i = 0; fits && i < n_dims - 1; i++)
        fits = rmli_size_mul(*nbytes, dims[i], nbytes);
    if (!fits || *nbytes == 0 || *nbytes > INT64_MAX)
        return rmli_fail(err, RML_INVALID_ARGUMENT, w->path, -1,
                         "tensor '%s' is empty, too large, or its rows are not whole blocks of %s",
                         name, rml_dtype_traits(dtype)->name);
    return true;
}

static bool append_tensor(struct rmli_gguf_writer *w, const char *name, uint32_t type, int n_dims,
                          const uint64_t *dims, struct rml_error *err)
{
    bool ok = append_string(&w->table, name, strlen(name), err) &&
              append_u32(&w->table, (uint32_t)n_dims, err);
    for (int i = n_dims - 1; ok && i >= 0; i--)
        ok = append_u64(&w->table, dims[i], err);
    return ok && append_u32(&w->table, type, err) && append_u64(&w->table, w->data_nbytes, err);
}

bool rmli_gguf_writer_declare(struct rmli_gguf_writer *w, const char *name, enum rml_dtype dtype,
                              int n_dims, const uint64_t *dims, struct rml_error *err)
{
    uint32_t type;
    size_t nbytes;
    if (!check_name(w, "tensor", name, strlen(name), MAX_NAME_NBYTES, err))
        return false;
    if (!rmli_ggml_type_of_dtype(dtype, &type))
        return rmli_fail(err, RML_INVALID_ARGUMENT, w->path, -1,
                         "tensor '%s' has a dtype that is none of a weight", name);
    if (!tensor_size(w, name, dtype, n_dims, dims, &nbytes, err))
        return false;
    uint64_t end, mask = w->alignment - 1;
    if (__builtin_add_overflow(w->data_nbytes, nbytes, &end) || end > INT64_MAX - mask)
        return rmli_fail(err, RML_INVALID_ARGUMENT, w->path, -1,
                         "tensor '%s' would end beyond any file", name);

    size_t table_nbytes = w->table.nbytes, n_names = w->tensors.n;
    void *sizes = w->tensor_nbytes;
    bool ok = rmli_reserve_one(&sizes, n_names, &w->tensor_capacity, sizeof *w->tensor_nbytes, err);
    w->tensor_nbytes = sizes;
    ok = ok && append_tensor(w, name, type, n_dims, dims, err) &&
         remember_name(w, &w->tensors, name, strlen(name), err);
    if (!ok) {
        w->table.nbytes = table_nbytes;
        return false;
    }
    w->tensor_nbytes[n_names] = nbytes;
    w->data_nbytes = (end + mask) & ~mask;
    return true;
}

/* ---- Output ------------------------------------------------------------- */

static bool put(struct rmli_gguf_writer *w, const void *data, size_t nbytes, struct rml_error *err)
{
    if (nbytes == 0 || fwrite(data, 1, nbytes, w->stream) == nbytes)
        return true;
    w->failed = true;
    return rmli_fail(err, RML_IO, w->tmp_path, -1, "cannot write: %s", strerror(errno));
}

static bool put_padding(struct rmli_gguf_writer *w, uint64_t position, struct rml_error *err)
{
    static const uint8_t zeros[4096];
    uint64_t left = (0 - position) & (w->alignment - 1);
    while (left > 0) {
        size_t nbytes = left < sizeof zeros ? (size_t)left : sizeof zeros;
        if (!put(w, zeros, nbytes, err))
            return false;
        left -= nbytes;
    }
    return true;
}

static bool check_unique(struct rmli_gguf_writer *w, struct names *names, const char *what,
                         struct rml_error *err)
{
    struct rmli_name_index index = {.entries = names->entries, .n = names->n};
    size_t first, second;
    if (rmli_name_index_sort(&index, &first, &second))
        return true;
    size_t k = 0;
    while (names->entries[k].i != second)
        k++;
    w->failed = true;
    return rmli_fail(err, RML_INVALID_ARGUMENT, w->path, -1, "%s '%s' was given twice", what,
                     names->entries[k].data);
}

static bool write_header(struct rmli_gguf_writer *w, struct rml_error *err)
{
    uint32_t version = VERSION;
    uint64_t n_tensors = w->tensors.n, n_kv = w->keys.n;
    w->header_written = true;
    return check_unique(w, &w->keys, "metadata key", err) &&
           check_unique(w, &w->tensors, "tensor", err) && put(w, "GGUF", 4, err) &&
           put(w, &version, sizeof version, err) && put(w, &n_tensors, sizeof n_tensors, err) &&
           put(w, &n_kv, sizeof n_kv, err) && put(w, w->kvs.bytes, w->kvs.nbytes, err) &&
           put(w, w->table.bytes, w->table.nbytes, err) &&
           put_padding(w, 24 + (uint64_t)w->kvs.nbytes + w->table.nbytes, err);
}

static bool check_usable(const struct rmli_gguf_writer *w, struct rml_error *err)
{
    return !w->failed ||
           rmli_fail(err, RML_IO, w->path, -1, "an earlier step of writing this file failed");
}

bool rmli_gguf_writer_write(struct rmli_gguf_writer *w, const void *data, size_t nbytes,
                            struct rml_error *err)
{
    if (!check_usable(w, err) || (!w->header_written && !write_header(w, err)))
        return false;
    if (nbytes == 0)
        return true;
    uint64_t left = w->i_tensor < w->tensors.n ? w->tensor_nbytes[w->i_tensor] - w->n_written : 0;
    if (nbytes > left)
        return rmli_fail(err, RML_INVALID_ARGUMENT, w->path, -1,
                         "%zu bytes of data for tensor %zu of %zu, which has room for %" PRIu64,
                         nbytes, w->i_tensor, w->tensors.n, left);
    if (!put(w, data, nbytes, err))
        return false;
    w->n_written += nbytes;
    if (nbytes < left)
        return true;
    uint64_t end = w->n_written;
    w->i_tensor++;
    w->n_written = 0;
    return put_padding(w, end, err);
}

/* Makes the new name durable; the data already is. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(folder);
}

static bool finish(struct rmli_gguf_writer *w, struct rml_error *err)
{
    if (!check_usable(w, err) || (!w->header_written && !write_header(w, err)))
        return false;
    if (w->i_tensor < w->tensors.n)
        return rmli_fail(err, RML_INVALID_ARGUMENT, w->path, -1,
                         "the data of tensor %zu of %zu is incomplete: %" PRIu64 " of %" PRIu64
                         " bytes were written",
                         w->i_tensor, w->tensors.n, w->n_written, w->tensor_nbytes[w->i_tensor]);
    if (fflush(w->stream) != 0 || fsync(fileno(w->stream)) != 0)
        return rmli_fail(err, RML_IO, w->tmp_path, -1, "cannot write: %s", strerror(errno));
    if (rename(w->tmp_path, w->path) != 0)
        return rmli_fail(err, RML_IO, w->path, -1, "cannot rename '%s' to this: %s", w->tmp_path,
                         strerror(errno));
    sync_folder(w->path);
    return true;
}

bool rmli_gguf_writer_finish(struct rmli_gguf_writer *w, struct rml_error *err)
{
    bool ok = finish(w, err);
    destroy(w, ok);
    return ok;
}
