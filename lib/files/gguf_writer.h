/*
 * GGUF version 3: the writer.
 *
 * Keys and tensors are declared first, then data is written tensor by tensor
 * in the order declared, streaming: memory does not grow with the file. The
 * output goes to "<path>.tmp-<pid>" and is renamed into place by finish, so a
 * reader never sees half a file; abandon removes it.
 *
 * What cannot be written is RML_INVALID_ARGUMENT and leaves the writer as it was;
 * keys and names given twice come out with the first data. After RML_IO only
 * finish or abandon remain.
 */
#ifndef RML_FILES_GGUF_WRITER_H
#define RML_FILES_GGUF_WRITER_H

#include "files/gguf.h"

struct rmli_gguf_writer;

/* alignment: a power of two, at least 8; 0 means 32. A value other than 32 is
 * written as general.alignment. */
struct rmli_gguf_writer *rmli_gguf_writer_create(const char *path, uint32_t alignment,
                                                 struct rml_error *err);

/* One scalar or array of a fixed-size type; values in native layout. nelems < 0
 * writes a scalar. */
bool rmli_gguf_writer_add(struct rmli_gguf_writer *w, const char *key, enum rmli_gguf_type type,
                          int64_t nelems, const void *values, struct rml_error *err);
bool rmli_gguf_writer_add_u32(struct rmli_gguf_writer *w, const char *key, uint32_t value,
                              struct rml_error *err);
bool rmli_gguf_writer_add_f32(struct rmli_gguf_writer *w, const char *key, float value,
                              struct rml_error *err);
bool rmli_gguf_writer_add_string(struct rmli_gguf_writer *w, const char *key, const char *value,
                                 struct rml_error *err);
bool rmli_gguf_writer_add_strings(struct rmli_gguf_writer *w, const char *key, size_t nelems,
                                  const struct rmli_gguf_string *values, struct rml_error *err);
/* A copy of a key as another file holds it, of any type. general.alignment is left
 * out, since this writer has its own. */
bool rmli_gguf_writer_copy(struct rmli_gguf_writer *w, const struct rmli_gguf_kv *kv,
                           struct rml_error *err);

/* dims outermost first, as in rml_tensor_info. At most 63 bytes of name, which is all
 * that ggml reads; a weight dtype. */
bool rmli_gguf_writer_declare(struct rmli_gguf_writer *w, const char *name, enum rml_dtype dtype,
                              int n_dims, const uint64_t *dims, struct rml_error *err);

/* The next nbytes of the tensor data, any number of calls for a tensor but none that
 * reaches into the next; padding between tensors is added by the writer. The first
 * call fixes the header. */
bool rmli_gguf_writer_write(struct rmli_gguf_writer *w, const void *data, size_t nbytes,
                            struct rml_error *err);

/* Checks that every byte declared has been written, syncs and renames. The writer is
 * destroyed either way; on failure the temporary file is removed. */
bool rmli_gguf_writer_finish(struct rmli_gguf_writer *w, struct rml_error *err);
void rmli_gguf_writer_abandon(struct rmli_gguf_writer *w); /* NULL is allowed */

#endif
