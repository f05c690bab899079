/*
 * GGUF reader: the header and the metadata. (Format: ggml's docs/gguf.md.)
 *
 * One pass over the file with a bounds-checked cursor. Tables grow with the
 * entries that were really read, never with a count that the file states, and
 * values are left where they are.
 */
#include "files/gguf_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

/* Least bytes of a metadata entry: key length and one byte of key, type, value;
 * and of a tensor entry: name length and one byte of name, rank, type, offset. */
enum { MIN_KV_NBYTES = 8 + 1 + 4 + 1, MIN_TENSOR_NBYTES = 8 + 1 + 4 + 4 + 8 };

enum { MAX_KEY_NBYTES = 65535, /* by the format */ MAX_ARRAY_DEPTH = 8 };

static const struct {
    const char *name;
    uint8_t nbytes;
} types[RMLI_GGUF_N_TYPES] = {
    [RMLI_GGUF_U8] = {"u8", 1},         [RMLI_GGUF_I8] = {"i8", 1},
    [RMLI_GGUF_U16] = {"u16", 2},       [RMLI_GGUF_I16] = {"i16", 2},
    [RMLI_GGUF_U32] = {"u32", 4},       [RMLI_GGUF_I32] = {"i32", 4},
    [RMLI_GGUF_F32] = {"f32", 4},       [RMLI_GGUF_BOOL] = {"bool", 1},
    [RMLI_GGUF_STRING] = {"string", 0}, [RMLI_GGUF_ARRAY] = {"array", 0},
    [RMLI_GGUF_U64] = {"u64", 8},       [RMLI_GGUF_I64] = {"i64", 8},
    [RMLI_GGUF_F64] = {"f64", 8},
};

const char *rmli_gguf_type_name(uint32_t type)
{
    return type < RMLI_GGUF_N_TYPES ? types[type].name : "unknown";
}

size_t rmli_gguf_type_nbytes(uint32_t type)
{
    return type < RMLI_GGUF_N_TYPES ? types[type].nbytes : 0;
}

static bool fail(const struct rmli_gguf_parser *p, size_t offset, const char *message)
{
    return rmli_fail(p->err, RML_FORMAT, p->gguf->file.path, (int64_t)offset, "%s", message);
}

/* What to add to "bytes left" when it is our limit that leaves no more. */
static const char *limit_note(const struct rmli_gguf_parser *p)
{
    return p->in.nbytes < p->gguf->file.nbytes
               ? " of the 1 GiB that metadata and tensor table may take"
               : "";
}

bool rmli_gguf_fail_short(const struct rmli_gguf_parser *p, const char *what)
{
    const struct rmli_mapped_file *file = &p->gguf->file;
    if (p->in.nbytes < file->nbytes)
        return rmli_fail(p->err, RML_FORMAT, file->path, (int64_t)p->in.position,
                         "%s reaches beyond byte %zu, the end of what metadata and tensor table "
                         "may take",
                         what, p->in.nbytes);
    return rmli_fail(p->err, RML_FORMAT, file->path, (int64_t)p->in.position,
                     "the file ends at byte %zu, inside %s", file->nbytes, what);
}

bool rmli_gguf_read_string(struct rmli_gguf_parser *p, struct rmli_gguf_string *s)
{
    size_t start = p->in.position;
    uint64_t nbytes;
    const uint8_t *bytes;
    if (!rmli_read_u64(&p->in, &nbytes))
        return false;
    if (!rmli_read_bytes(&p->in, nbytes, &bytes)) {
        p->in.position = start;
        return false;
    }
    s->data = (const char *)bytes;
    s->nbytes = (size_t)nbytes;
    return true;
}

bool rmli_gguf_fail_string(const struct rmli_gguf_parser *p, const char *what)
{
    struct rmli_byte_reader in = p->in;
    uint64_t nbytes;
    if (!rmli_read_u64(&in, &nbytes))
        return rmli_gguf_fail_short(p, what);
    return rmli_fail(p->err, RML_FORMAT, p->gguf->file.path, (int64_t)p->in.position,
                     "%s has a length of %ju bytes, but only %zu are left%s", what,
                     (uintmax_t)nbytes, rmli_reader_remaining(&in), limit_note(p));
}

/* ---- Metadata ----------------------------------------------------------- */

/* Room for "metadata key '...'" with a long name cut. */
struct label {
    char text[RMLI_GGUF_SHOWN_NBYTES + 64];
};

static struct label label_of(const char *prefix, const struct rmli_gguf_string *key)
{
    struct label label;
    int shown = key->nbytes < RMLI_GGUF_SHOWN_NBYTES ? (int)key->nbytes : RMLI_GGUF_SHOWN_NBYTES;
    snprintf(label.text, sizeof label.text, "%s'%.*s'%s", prefix, shown, key->data,
             (size_t)shown < key->nbytes ? " (shortened)" : "");
    return label;
}

static bool check_bools(const struct rmli_gguf_parser *p, const struct rmli_gguf_kv *kv)
{
    for (uint64_t i = 0; i < kv->nelems; i++) {
        if (kv->data[i] > 1)
            return rmli_fail(p->err, RML_FORMAT, p->gguf->file.path, (int64_t)(kv->offset + i),
                             "%s: a bool is %u, expected 0 or 1",
                             label_of("metadata key ", &kv->key).text, kv->data[i]);
    }
    return true;
}

/* Half a million strings are a chain of reads, each length saying where the next one is; nothing
 * else should be in it. False: left before the string that does not fit. */
static bool skip_strings(struct rmli_byte_reader *in, uint64_t n)
{
    size_t position = in->position, nbytes = in->nbytes;
    bool fits = true;
    while (n-- > 0) {
        uint64_t length;
        fits = nbytes - position >= sizeof length;
        if (!fits)
            break;
        memcpy(&length, in->data + position, sizeof length);
        fits = length <= nbytes - position - sizeof length;
        if (!fits)
            break;
        position += sizeof length + (size_t)length;
    }
    in->position = position;
    return fits;
}

static bool check_type(const struct rmli_gguf_parser *p, const struct rmli_gguf_kv *kv,
                       uint32_t type, const char *role)
{
    if (type < RMLI_GGUF_N_TYPES)
        return true;
    return rmli_fail(p->err, RML_FORMAT, p->gguf->file.path, (int64_t)p->in.position - 4,
                     "%s: unknown %s %u, expected 0 to %d",
                     label_of("metadata key ", &kv->key).text, role, type, RMLI_GGUF_N_TYPES - 1);
}

static bool read_array_header(struct rmli_gguf_parser *p, struct rmli_gguf_kv *kv)
{
    uint32_t elem_type;
    if (!rmli_read_u32(&p->in, &elem_type))
        return rmli_gguf_fail_short(p, label_of("metadata key ", &kv->key).text);
    if (!check_type(p, kv, elem_type, "array element type"))
        return false;
    kv->elem_type = (enum rmli_gguf_type)elem_type;
    return rmli_read_u64(&p->in, &kv->nelems) ||
           rmli_gguf_fail_short(p, label_of("metadata key ", &kv->key).text);
}

static bool skip_values(struct rmli_gguf_parser *p, struct rmli_gguf_kv *kv, int depth);

/* Each has a type and a count of its own, so a false count cannot run far. */
static bool skip_arrays(struct rmli_gguf_parser *p, const struct rmli_gguf_kv *kv, int depth)
{
    if (depth == MAX_ARRAY_DEPTH)
        return rmli_fail(p->err, RML_UNSUPPORTED, p->gguf->file.path, (int64_t)p->in.position,
                         "%s: arrays inside arrays more than %d deep",
                         label_of("metadata key ", &kv->key).text, MAX_ARRAY_DEPTH);
    for (uint64_t i = 0; i < kv->nelems; i++) {
        struct rmli_gguf_kv inner = {.key = kv->key, .type = RMLI_GGUF_ARRAY};
        if (!read_array_header(p, &inner) || !skip_values(p, &inner, depth + 1))
            return false;
    }
    return true;
}

static bool skip_values(struct rmli_gguf_parser *p, struct rmli_gguf_kv *kv, int depth)
{
    const char *path = p->gguf->file.path;
    size_t start = p->in.position;
    kv->offset = start;
    kv->data = p->in.data + start;
    if (kv->elem_type == RMLI_GGUF_STRING) {
        /* Each string has a length field, so a false count cannot run far; but
         * it is the count that should be blamed. */
        if (kv->nelems > rmli_reader_remaining(&p->in) / sizeof(uint64_t))
            return rmli_fail(p->err, RML_FORMAT, path, (int64_t)start,
                             "%s: %ju strings do not fit into the %zu bytes left%s",
                             label_of("metadata key ", &kv->key).text, (uintmax_t)kv->nelems,
                             rmli_reader_remaining(&p->in), limit_note(p));
        return skip_strings(&p->in, kv->nelems) ||
               rmli_gguf_fail_string(p, label_of("a string of metadata key ", &kv->key).text);
    }
    if (kv->elem_type == RMLI_GGUF_ARRAY)
        return skip_arrays(p, kv, depth);
    uint64_t nbytes;
    const uint8_t *bytes;
    if (__builtin_mul_overflow(kv->nelems, rmli_gguf_type_nbytes(kv->elem_type), &nbytes) ||
        !rmli_read_bytes(&p->in, nbytes, &bytes))
        return rmli_fail(p->err, RML_FORMAT, path, (int64_t)start,
                         "%s: %ju values of type %s do not fit into the %zu bytes left%s",
                         label_of("metadata key ", &kv->key).text, (uintmax_t)kv->nelems,
                         rmli_gguf_type_name(kv->elem_type), rmli_reader_remaining(&p->in),
                         limit_note(p));
    return kv->elem_type != RMLI_GGUF_BOOL || check_bools(p, kv);
}

static bool parse_kv(struct rmli_gguf_parser *p, struct rmli_gguf_kv *kv)
{
    const char *path = p->gguf->file.path;
    size_t start = p->in.position;
    if (!rmli_gguf_read_string(p, &kv->key)) {
        char what[64];
        snprintf(what, sizeof what, "the key of metadata entry %zu", p->gguf->n_kv);
        return rmli_gguf_fail_string(p, what);
    }
    if (kv->key.nbytes == 0)
        return fail(p, start, "a metadata key is empty");
    if (kv->key.nbytes > MAX_KEY_NBYTES)
        return rmli_fail(p->err, RML_FORMAT, path, (int64_t)start,
                         "a metadata key has %zu bytes, expected at most %d", kv->key.nbytes,
                         MAX_KEY_NBYTES);
    if (!rmli_utf8_is_printable((const uint8_t *)kv->key.data, kv->key.nbytes))
        return rmli_fail(p->err, RML_FORMAT, path, (int64_t)start,
                         "%s is not UTF-8 free of control characters",
                         label_of("metadata key ", &kv->key).text);

    uint32_t type;
    if (!rmli_read_u32(&p->in, &type))
        return rmli_gguf_fail_short(p, label_of("metadata key ", &kv->key).text);
    if (!check_type(p, kv, type, "type"))
        return false;
    kv->type = (enum rmli_gguf_type)type;
    kv->elem_type = kv->type;
    kv->nelems = 1;
    if ((type == RMLI_GGUF_ARRAY && !read_array_header(p, kv)) || !skip_values(p, kv, 1))
        return false;
    kv->nbytes = p->in.position - kv->offset;
    return true;
}

static bool index_keys(struct rmli_gguf_parser *p)
{
    struct rmli_gguf *gguf = p->gguf;
    if (!rmli_name_index_init(&gguf->kv_index, gguf->n_kv, p->err))
        return false;
    for (size_t i = 0; i < gguf->n_kv; i++)
        gguf->kv_index.entries[i] =
            (struct rmli_name){gguf->kvs[i].key.data, gguf->kvs[i].key.nbytes, i};
    size_t first, second;
    if (rmli_name_index_sort(&gguf->kv_index, &first, &second))
        return true;
    const struct rmli_gguf_kv *a = &gguf->kvs[first], *b = &gguf->kvs[second];
    return rmli_fail(p->err, RML_FORMAT, gguf->file.path,
                     (int64_t)((const uint8_t *)b->key.data - gguf->file.data) - 8,
                     "%s stands twice, first at byte %td", label_of("metadata key ", &b->key).text,
                     (const uint8_t *)a->key.data - gguf->file.data - 8);
}

static bool parse_metadata(struct rmli_gguf_parser *p, uint64_t n_kv)
{
    struct rmli_gguf *gguf = p->gguf;
    size_t capacity = 0;
    for (uint64_t i = 0; i < n_kv; i++) {
        void *kvs = gguf->kvs;
        if (!rmli_reserve_one(&kvs, gguf->n_kv, &capacity, sizeof *gguf->kvs, p->err))
            return false;
        gguf->kvs = kvs;
        if (!parse_kv(p, &gguf->kvs[gguf->n_kv]))
            return false;
        gguf->n_kv++;
    }
    return index_keys(p);
}

static bool read_alignment(struct rmli_gguf_parser *p)
{
    struct rmli_gguf *gguf = p->gguf;
    uint32_t alignment = 32;
    if (!rmli_gguf_get_u32(gguf, "general.alignment", &alignment, NULL, p->err))
        return false;
    if (alignment < 8 || (alignment & (alignment - 1)) != 0)
        return rmli_fail(p->err, RML_FORMAT, gguf->file.path,
                         (int64_t)rmli_gguf_find(gguf, "general.alignment")->offset,
                         "general.alignment is %u, expected a power of two that is at least 8",
                         alignment);
    gguf->alignment = alignment;
    return true;
}

/* ---- Header ------------------------------------------------------------- */

static bool check_version(struct rmli_gguf_parser *p)
{
    struct rmli_gguf *gguf = p->gguf;
    if (gguf->version == 2 || gguf->version == 3)
        return true;
    uint32_t swapped = __builtin_bswap32(gguf->version);
    if (swapped >= 1 && swapped <= 3)
        return rmli_fail(p->err, RML_UNSUPPORTED, gguf->file.path, 4,
                         "a big-endian GGUF file (version %u), expected little-endian", swapped);
    return rmli_fail(p->err, RML_UNSUPPORTED, gguf->file.path, 4,
                     "GGUF version %u, expected 2 or 3", gguf->version);
}

static bool check_count(const struct rmli_gguf_parser *p, size_t offset, uint64_t count,
                        size_t min_nbytes, const char *what)
{
    size_t left = rmli_reader_remaining(&p->in);
    if (count <= left / min_nbytes)
        return true;
    return rmli_fail(p->err, RML_FORMAT, p->gguf->file.path, (int64_t)offset,
                     "%ju %s do not fit into the %zu bytes after the header", (uintmax_t)count,
                     what, left);
}

static bool parse(struct rmli_gguf_parser *p)
{
    struct rmli_gguf *gguf = p->gguf;
    const uint8_t *magic;
    if (gguf->file.nbytes == 0)
        return fail(p, 0, "the file is empty, expected GGUF");
    if (!rmli_read_bytes(&p->in, 4, &magic))
        return fail(p, 0, "the file is too short to be GGUF");
    if (memcmp(magic, "GGUF", 4) != 0)
        return rmli_fail(p->err, RML_FORMAT, gguf->file.path, 0,
                         "the first bytes are %02x %02x %02x %02x, expected \"GGUF\"", magic[0],
                         magic[1], magic[2], magic[3]);
    uint64_t n_tensors, n_kv;
    if (!rmli_read_u32(&p->in, &gguf->version))
        return rmli_gguf_fail_short(p, "the version");
    if (!check_version(p))
        return false;
    if (!rmli_read_u64(&p->in, &n_tensors))
        return rmli_gguf_fail_short(p, "the tensor count");
    if (!rmli_read_u64(&p->in, &n_kv))
        return rmli_gguf_fail_short(p, "the metadata count");
    return check_count(p, 8, n_tensors, MIN_TENSOR_NBYTES, "tensors") &&
           check_count(p, 16, n_kv, MIN_KV_NBYTES, "metadata entries") && parse_metadata(p, n_kv) &&
           read_alignment(p) && rmli_gguf_parse_tensors(p, n_tensors);
}

struct rmli_gguf *rmli_gguf_open(const char *path, struct rml_error *err)
{
    struct rmli_gguf *gguf = calloc(1, sizeof *gguf);
    if (!gguf) {
        rmli_fail(err, RML_NO_MEMORY, path, -1, "no memory to open the file");
        return NULL;
    }
    atomic_init(&gguf->n_owners, 1);
    if (!rmli_mapped_file_init(&gguf->file, path, err)) {
        rmli_gguf_close(gguf);
        return NULL;
    }
    struct rmli_gguf_parser parser = {.gguf = gguf, .err = err};
    parser.in.data = gguf->file.data;
    parser.in.nbytes = gguf->file.nbytes < RMLI_GGUF_MAX_HEADER_NBYTES
                           ? gguf->file.nbytes
                           : RMLI_GGUF_MAX_HEADER_NBYTES;
    if (!parse(&parser)) {
        rmli_gguf_close(gguf);
        return NULL;
    }
    return gguf;
}

struct rmli_gguf *rmli_gguf_share(const struct rmli_gguf *gguf)
{
    struct rmli_gguf *shared = (struct rmli_gguf *)(uintptr_t)gguf;
    atomic_fetch_add_explicit(&shared->n_owners, 1, memory_order_relaxed);
    return shared;
}

void rmli_gguf_close(struct rmli_gguf *gguf)
{
    if (!gguf || atomic_fetch_sub_explicit(&gguf->n_owners, 1, memory_order_acq_rel) > 1)
        return;
    rmli_name_index_release(&gguf->kv_index);
    rmli_free(gguf->kvs);
    rmli_free(gguf->tensors);
    rmli_arena_release(&gguf->names);
    rmli_mapped_file_release(&gguf->file);
    free(gguf);
}

const char *rmli_gguf_path(const struct rmli_gguf *gguf)
{
    return gguf->file.path;
}

const struct rmli_mapped_file *rmli_gguf_file(const struct rmli_gguf *gguf)
{
    return &gguf->file;
}

uint32_t rmli_gguf_version(const struct rmli_gguf *gguf)
{
    return gguf->version;
}

size_t rmli_gguf_n_kv(const struct rmli_gguf *gguf)
{
    return gguf->n_kv;
}

const struct rmli_gguf_kv *rmli_gguf_kv(const struct rmli_gguf *gguf, size_t i)
{
    return &gguf->kvs[i];
}

size_t rmli_gguf_n_tensors(const struct rmli_gguf *gguf)
{
    return gguf->n_tensors;
}

const struct rml_tensor_info *rmli_gguf_tensor(const struct rmli_gguf *gguf, size_t i)
{
    return &gguf->tensors[i];
}
