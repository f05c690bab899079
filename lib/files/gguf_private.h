/* What the parts of the GGUF reader share; nothing else includes it. */
#ifndef RML_FILES_GGUF_PRIVATE_H
#define RML_FILES_GGUF_PRIVATE_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/byte_reader.h"
#include "files/gguf.h"
#include "files/name_index.h"

/* Longest header that is read. The largest real ones (vocabularies of 262,144
 * tokens) are under 20 MB; the limit keeps a sparse file of terabytes, all of
 * whose zeros are valid values, from keeping us busy. */
#define RMLI_GGUF_MAX_HEADER_NBYTES ((size_t)1 << 30)

/* Bytes of a name that an error message shows. */
#define RMLI_GGUF_SHOWN_NBYTES 200

struct rmli_gguf {
    atomic_size_t n_owners;
    struct rmli_mapped_file file;
    uint32_t version;
    uint32_t alignment;

    struct rmli_gguf_kv *kvs; /* [n_kv], in the order of the file */
    size_t n_kv;
    struct rmli_name_index kv_index;

    struct rml_tensor_info *tensors; /* [n_tensors], in the order of the file */
    size_t n_tensors;
    struct rmli_arena names; /* of the tensors */
};

struct rmli_gguf_parser {
    struct rmli_gguf *gguf;
    struct rmli_byte_reader in; /* the file, or its first MAX_HEADER_NBYTES */
    struct rml_error *err;
};

/* Name and value size of a metadata type ("u32", 4); variable ones have size 0. */
const char *rmli_gguf_type_name(uint32_t type);
size_t rmli_gguf_type_nbytes(uint32_t type);

/* Reports that the header ends inside `what`. Always false. */
bool rmli_gguf_fail_short(const struct rmli_gguf_parser *p, const char *what);

/* A string: its length and its bytes. False, with nothing read and nothing
 * reported, when it does not fit into what is left; rmli_gguf_fail_string then
 * says so (it is apart because `what` costs more than the reading). */
bool rmli_gguf_read_string(struct rmli_gguf_parser *p, struct rmli_gguf_string *s);
bool rmli_gguf_fail_string(const struct rmli_gguf_parser *p, const char *what);

/* The tensor table and the layout of the data section. */
bool rmli_gguf_parse_tensors(struct rmli_gguf_parser *p, uint64_t n_tensors);

#endif
