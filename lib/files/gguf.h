/*
 * GGUF, versions 2 and 3, little-endian: the reader.
 *
 *     "GGUF" u32 version  u64 n_tensors  u64 n_kv
 *     n_kv     x { string key, u32 type, value }
 *     n_tensors x { string name, u32 n_dims, u64 dims[n_dims], u32 type, u64 offset }
 *     padding to general.alignment (default 32), then the tensor data
 *
 * (Format: the GGUF specification in ggml's docs/gguf.md.) One struct is one
 * file; split files are joined in files/checkpoint.h. Everything is checked
 * before it is used: nothing is allocated from a count that the remaining
 * bytes could not hold, names and keys must be unique, tensors must lie inside
 * the file, aligned and without overlap. Values stay in the mapped file; an
 * entry costs one table slot.
 *
 * Thread rule: read-only after open, so any number of threads may read; owners may share and
 * close it at once.
 */
#ifndef RML_FILES_GGUF_H
#define RML_FILES_GGUF_H

#include <string.h>

#include "base/mapped_file.h"
#include "files/tensor_info.h"

enum rmli_gguf_type {
    RMLI_GGUF_U8,
    RMLI_GGUF_I8,
    RMLI_GGUF_U16,
    RMLI_GGUF_I16,
    RMLI_GGUF_U32,
    RMLI_GGUF_I32,
    RMLI_GGUF_F32,
    RMLI_GGUF_BOOL,
    RMLI_GGUF_STRING,
    RMLI_GGUF_ARRAY,
    RMLI_GGUF_U64,
    RMLI_GGUF_I64,
    RMLI_GGUF_F64,
    RMLI_GGUF_N_TYPES
};

/* Bytes in the file, not terminated; may hold anything. */
struct rmli_gguf_string {
    const char *data;
    size_t nbytes;
};

struct rmli_gguf_kv {
    struct rmli_gguf_string key; /* valid UTF-8 without control characters */
    enum rmli_gguf_type type;
    enum rmli_gguf_type elem_type; /* of an array, else equal to type */
    uint64_t nelems;               /* 1 for a scalar */
    const uint8_t *data;           /* first value, any alignment; an array of strings is
                                      { u64 length, bytes } one after another */
    uint64_t nbytes;               /* of all values, in the file */
    uint64_t offset;               /* of the value in the file, for messages */
};

struct rmli_gguf;

/* Parses one file. NULL on failure. */
struct rmli_gguf *rmli_gguf_open(const char *path, struct rml_error *err);
/* One more owner: the file stays open until each has closed it. */
struct rmli_gguf *rmli_gguf_share(const struct rmli_gguf *gguf);
void rmli_gguf_close(struct rmli_gguf *gguf); /* NULL is allowed */

const char *rmli_gguf_path(const struct rmli_gguf *gguf);
const struct rmli_mapped_file *rmli_gguf_file(const struct rmli_gguf *gguf); /* borrowed */
uint32_t rmli_gguf_version(const struct rmli_gguf *gguf);
size_t rmli_gguf_n_kv(const struct rmli_gguf *gguf);
const struct rmli_gguf_kv *rmli_gguf_kv(const struct rmli_gguf *gguf, size_t i);
size_t rmli_gguf_n_tensors(const struct rmli_gguf *gguf);
const struct rml_tensor_info *rmli_gguf_tensor(const struct rmli_gguf *gguf, size_t i);

/* NULL when there is no such key. */
const struct rmli_gguf_kv *rmli_gguf_find(const struct rmli_gguf *gguf, const char *key);

/*
 * Typed lookups, with one rule for all: an absent key leaves *out as it was
 * and returns true (so the caller puts the default there first); a present key
 * of a fitting type sets *out; anything else is an error that names the key,
 * the type or value found and the one expected. Integers accept every integer
 * type (not bool) whose value is in range; floats accept F32, F64 and integers;
 * `present`, when not NULL, tells whether the key was there.
 */
bool rmli_gguf_get_u32(const struct rmli_gguf *gguf, const char *key, uint32_t *out, bool *present,
                       struct rml_error *err);
bool rmli_gguf_get_u64(const struct rmli_gguf *gguf, const char *key, uint64_t *out, bool *present,
                       struct rml_error *err);
bool rmli_gguf_get_f64(const struct rmli_gguf *gguf, const char *key, double *out, bool *present,
                       struct rml_error *err);
bool rmli_gguf_get_bool(const struct rmli_gguf *gguf, const char *key, bool *out, bool *present,
                        struct rml_error *err);
bool rmli_gguf_get_string(const struct rmli_gguf *gguf, const char *key,
                          struct rmli_gguf_string *out, bool *present, struct rml_error *err);

/* Element i of a numeric or bool array (or of a scalar, i = 0), as double or as
 * signed 64-bit; the type must be numeric and i < nelems. */
double rmli_gguf_elem_f64(const struct rmli_gguf_kv *kv, uint64_t i);
int64_t rmli_gguf_elem_i64(const struct rmli_gguf_kv *kv, uint64_t i);

/* Walks an array of arrays, which nothing but a listing of the metadata reads: type, elem_type,
 * nelems and data of each are set. Otherwise as rmli_gguf_next_string. */
void rmli_gguf_next_array(const uint8_t **cursor, struct rmli_gguf_kv *array);

/* Walks an array of strings: *cursor starts at kv->data and moves on. Call it
 * exactly kv->nelems times at most. */
static inline struct rmli_gguf_string rmli_gguf_next_string(const uint8_t **cursor)
{
    uint64_t nbytes;
    memcpy(&nbytes, *cursor, sizeof nbytes);
    struct rmli_gguf_string s = {.data = (const char *)*cursor + sizeof nbytes,
                                 .nbytes = (size_t)nbytes};
    *cursor += sizeof nbytes + s.nbytes;
    return s;
}

#endif
