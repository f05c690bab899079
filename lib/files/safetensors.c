/*
 * safetensors reader. (Format: the README of github.com/huggingface/safetensors.)
 *
 * The header is read as a stream, so every complaint names the byte where the
 * tensor's entry begins. The format forbids overlaps and holes: sorted by
 * offset, each tensor has to begin where the one before it ended, which also
 * makes a missing or superfluous byte anywhere visible.
 */
#include "files/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "files/json_cursor.h"
#include "files/name_index.h"

/* The limit of the reference implementation. */
#define MAX_HEADER_NBYTES ((uint64_t)100000000)

enum { MAX_NAME_NBYTES = 1023, SHOWN_NBYTES = 200 };

struct rmli_safetensors {
    struct rmli_mapped_file file;
    struct rml_tensor_info *tensors; /* [n_tensors], in the order of the header */
    size_t n_tensors;
    struct rmli_arena names;
};

/* A place in the header that is needed once more, after it was read. */
struct entry {
    uint64_t begin, end;  /* of the data, relative to the data section */
    size_t header_offset; /* of the name in the file */
    size_t i;
};

struct parser {
    struct rmli_safetensors *st;
    struct rmli_json_cursor json;
    struct entry *entries; /* [n_tensors] */
    size_t tensor_capacity, entry_capacity;
};

static const struct {
    const char *name;
    enum rml_dtype dtype;
} dtypes[] = {
    {"F32", RML_F32}, {"F16", RML_F16}, {"BF16", RML_BF16}, {"F64", RML_F64}, {"I8", RML_I8},
    {"I16", RML_I16}, {"I32", RML_I32}, {"I64", RML_I64},   {"U8", RML_I8},   {"BOOL", RML_I8},
};

/* ---- One entry ---------------------------------------------------------- */

static bool is_word(const struct rmli_json_string *s, const char *word)
{
    return s->nbytes == strlen(word) && memcmp(s->data, word, s->nbytes) == 0;
}

static int shown(const struct rmli_json_string *s)
{
    return s->nbytes < SHOWN_NBYTES ? (int)s->nbytes : SHOWN_NBYTES;
}

static bool read_dtype(struct parser *p, struct rml_tensor_info *t)
{
    struct rmli_json_string word;
    if (!rmli_json_read_string(&p->json, &word))
        return false;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (is_word(&word, dtypes[i].name)) {
            t->dtype = dtypes[i].dtype;
            return true;
        }
    }
    p->json.failed = true;
    return rmli_fail(p->json.err, RML_UNSUPPORTED, p->json.file, (int64_t)word.offset,
                     "tensor '%.*s' has dtype '%.*s', which rml does not read", SHOWN_NBYTES,
                     t->name, shown(&word), word.data);
}

static bool read_shape(struct parser *p, struct rml_tensor_info *t)
{
    size_t start = rmli_json_offset(&p->json);
    rmli_json_enter(&p->json, '[');
    while (rmli_json_next_element(&p->json)) {
        if (t->n_dims == RML_MAX_DIMS) {
            p->json.failed = true;
            return rmli_fail(p->json.err, RML_UNSUPPORTED, p->json.file, (int64_t)start,
                             "tensor '%.*s' has more than %d dimensions", SHOWN_NBYTES, t->name,
                             RML_MAX_DIMS);
        }
        uint64_t *dim = &t->dims[t->n_dims++];
        if (!rmli_json_read_u64(&p->json, dim))
            return false;
        if (*dim == 0)
            return rmli_json_fail(&p->json, start, "tensor '%.*s' is empty: a dimension is 0",
                                  SHOWN_NBYTES, t->name);
    }
    return !p->json.failed;
}

static bool read_data_offsets(struct parser *p, const struct rml_tensor_info *t, struct entry *e)
{
    size_t start = rmli_json_offset(&p->json);
    uint64_t offsets[2];
    int n = 0;
    rmli_json_enter(&p->json, '[');
    while (rmli_json_next_element(&p->json)) {
        if (n < 2 && !rmli_json_read_u64(&p->json, &offsets[n]))
            return false;
        if (n++ >= 2)
            break;
    }
    if (p->json.failed)
        return false;
    if (n != 2)
        return rmli_json_fail(&p->json, start,
                              "tensor '%.*s' has data_offsets of another length, expected 2",
                              SHOWN_NBYTES, t->name);
    if (offsets[0] > offsets[1])
        return rmli_json_fail(&p->json, start,
                              "tensor '%.*s' has data_offsets that end (%" PRIu64
                              ") before they begin (%" PRIu64 ")",
                              SHOWN_NBYTES, t->name, offsets[1], offsets[0]);
    e->begin = offsets[0];
    e->end = offsets[1];
    return true;
}

static bool check_nbytes(struct parser *p, struct rml_tensor_info *t, const struct entry *e)
{
    uint64_t nbytes = rml_dtype_traits(t->dtype)->block_nbytes;
    bool fits = true;
    for (int i = 0; fits && i < t->n_dims; i++)
        fits = !__builtin_mul_overflow(nbytes, t->dims[i], &nbytes);
    if (!fits || nbytes > INT64_MAX)
        return rmli_json_fail(&p->json, e->header_offset,
                              "tensor '%.*s' has a shape whose size does not fit 63 bits",
                              SHOWN_NBYTES, t->name);
    if (e->end - e->begin != nbytes)
        return rmli_json_fail(&p->json, e->header_offset,
                              "tensor '%.*s' has %" PRIu64
                              " bytes by its data_offsets, but %" PRIu64 " by its shape and dtype",
                              SHOWN_NBYTES, t->name, e->end - e->begin, nbytes);
    t->nbytes = (size_t)nbytes;
    return true;
}

static bool read_entry(struct parser *p, struct rml_tensor_info *t, struct entry *e)
{
    enum { DTYPE, SHAPE, DATA_OFFSETS, N_FIELDS };
    static const char *const fields[N_FIELDS] = {"dtype", "shape", "data_offsets"};
    bool seen[N_FIELDS] = {false};
    struct rmli_json_string key;
    rmli_json_enter(&p->json, '{');
    while (rmli_json_next_key(&p->json, &key)) {
        int field = 0;
        while (field < N_FIELDS && !is_word(&key, fields[field]))
            field++;
        /* Unknown fields could change the meaning of the others. */
        if (field == N_FIELDS)
            return rmli_json_fail(&p->json, key.offset, "tensor '%.*s' has an unknown field '%.*s'",
                                  SHOWN_NBYTES, t->name, shown(&key), key.data);
        if (seen[field])
            return rmli_json_fail(&p->json, key.offset, "tensor '%.*s' has '%s' twice",
                                  SHOWN_NBYTES, t->name, fields[field]);
        seen[field] = true;
        bool ok = field == DTYPE   ? read_dtype(p, t)
                  : field == SHAPE ? read_shape(p, t)
                                   : read_data_offsets(p, t, e);
        if (!ok)
            return false;
    }
    if (p->json.failed)
        return false;
    for (int field = 0; field < N_FIELDS; field++)
        if (!seen[field])
            return rmli_json_fail(&p->json, e->header_offset, "tensor '%.*s' has no '%s'",
                                  SHOWN_NBYTES, t->name, fields[field]);
    return check_nbytes(p, t, e);
}

static bool add_tensor(struct parser *p, const struct rmli_json_string *name)
{
    struct rmli_safetensors *st = p->st;
    if (name->nbytes == 0 || name->nbytes > MAX_NAME_NBYTES)
        return rmli_json_fail(&p->json, name->offset,
                              "the name of tensor %zu has %zu bytes, expected 1 to %d",
                              st->n_tensors, name->nbytes, MAX_NAME_NBYTES);
    if (!rmli_utf8_is_printable((const uint8_t *)name->data, name->nbytes))
        return rmli_json_fail(&p->json, name->offset,
                              "the name of tensor %zu, '%.*s', has control characters",
                              st->n_tensors, shown(name), name->data);
    void *tensors = st->tensors, *entries = p->entries;
    bool grown = rmli_reserve_one(&tensors, st->n_tensors, &p->tensor_capacity, sizeof *st->tensors,
                                  p->json.err);
    st->tensors = tensors;
    grown = grown && rmli_reserve_one(&entries, st->n_tensors, &p->entry_capacity,
                                      sizeof *p->entries, p->json.err);
    p->entries = entries;
    if (!grown)
        return false;
    struct rml_tensor_info *t = &st->tensors[st->n_tensors];
    *t = (struct rml_tensor_info){.file = st->file.path};
    for (int i = 0; i < RML_MAX_DIMS; i++)
        t->dims[i] = 1;
    t->name = rmli_arena_copy_string(&st->names, name->data, name->nbytes, p->json.err);
    if (!t->name)
        return false;
    struct entry *e = &p->entries[st->n_tensors];
    *e = (struct entry){.header_offset = name->offset, .i = st->n_tensors};
    if (!read_entry(p, t, e))
        return false;
    st->n_tensors++;
    return true;
}

/* ---- The whole header --------------------------------------------------- */

/* Free text about the file; all that matters here is that it is what the
 * format says, a map from strings to strings. */
static bool read_metadata(struct parser *p)
{
    struct rmli_json_string ignored;
    rmli_json_enter(&p->json, '{');
    while (rmli_json_next_key(&p->json, &ignored))
        if (!rmli_json_read_string(&p->json, &ignored))
            return false;
    return !p->json.failed;
}

static bool read_header(struct parser *p)
{
    struct rmli_json_string key;
    bool has_metadata = false;
    rmli_json_enter(&p->json, '{');
    while (rmli_json_next_key(&p->json, &key)) {
        if (!is_word(&key, "__metadata__")) {
            if (!add_tensor(p, &key))
                return false;
            continue;
        }
        if (has_metadata)
            return rmli_json_fail(&p->json, key.offset, "'__metadata__' stands twice");
        has_metadata = true;
        if (!read_metadata(p))
            return false;
    }
    return rmli_json_end(&p->json);
}

static bool check_names(const struct parser *p)
{
    const struct rmli_safetensors *st = p->st;
    struct rmli_name_index index;
    if (!rmli_name_index_init(&index, st->n_tensors, p->json.err))
        return false;
    for (size_t i = 0; i < index.n; i++)
        index.entries[i] = (struct rmli_name){st->tensors[i].name, strlen(st->tensors[i].name), i};
    size_t first, second;
    bool unique = rmli_name_index_sort(&index, &first, &second);
    rmli_name_index_release(&index);
    if (unique)
        return true;
    return rmli_fail(p->json.err, RML_FORMAT, p->json.file,
                     (int64_t)p->entries[second].header_offset,
                     "tensor '%.*s' stands twice, first at byte %zu", SHOWN_NBYTES,
                     st->tensors[first].name, p->entries[first].header_offset);
}

static int compare_begin(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->i > b->i) - (a->i < b->i);
}

static bool check_layout(const struct parser *p, uint64_t data_start)
{
    const struct rmli_safetensors *st = p->st;
    uint64_t have = st->file.nbytes - data_start, end = 0;
    if (st->n_tensors > 1)
        qsort(p->entries, st->n_tensors, sizeof *p->entries, compare_begin);
    for (size_t k = 0; k < st->n_tensors; k++) {
        const struct entry *e = &p->entries[k];
        if (e->begin != end)
            return rmli_fail(p->json.err, RML_FORMAT, p->json.file, (int64_t)e->header_offset,
                             "tensor '%.*s' begins at byte %" PRIu64
                             " of the data, but the one before it ends at %" PRIu64 " (%s)",
                             SHOWN_NBYTES, st->tensors[e->i].name, e->begin, end,
                             e->begin < end ? "an overlap" : "a hole");
        end = e->end;
    }
    if (end > have)
        return rmli_fail(
            p->json.err, RML_FORMAT, p->json.file,
            (int64_t)p->entries[st->n_tensors - 1].header_offset,
            "%" PRIu64 " bytes are missing at the end of the file: tensor '%.*s' ends "
            "at byte %" PRIu64 " of the data, which has %" PRIu64 " (an incomplete download?)",
            end - have, SHOWN_NBYTES, st->tensors[p->entries[st->n_tensors - 1].i].name, end, have);
    if (end < have)
        return rmli_fail(p->json.err, RML_FORMAT, p->json.file, (int64_t)(data_start + end),
                         "%" PRIu64 " bytes follow the last tensor, expected none", have - end);
    return true;
}

static bool parse(struct parser *p)
{
    struct rmli_safetensors *st = p->st;
    const char *path = st->file.path;
    struct rmli_byte_reader in = {.data = st->file.data, .nbytes = st->file.nbytes};
    uint64_t header_nbytes;
    const uint8_t *header;
    if (!rmli_read_u64(&in, &header_nbytes))
        return rmli_fail(p->json.err, RML_FORMAT, path, 0,
                         "the file has %zu bytes, too few for the header length of safetensors",
                         in.nbytes);
    if (header_nbytes > MAX_HEADER_NBYTES)
        return rmli_fail(p->json.err, RML_FORMAT, path, 0,
                         "the header length is %" PRIu64 ", expected at most %" PRIu64,
                         header_nbytes, MAX_HEADER_NBYTES);
    if (!rmli_read_bytes(&in, header_nbytes, &header))
        return rmli_fail(p->json.err, RML_FORMAT, path, 0,
                         "the header length is %" PRIu64 ", but only %zu bytes follow",
                         header_nbytes, rmli_reader_remaining(&in));
    if (header_nbytes == 0 || header[0] != '{')
        return rmli_fail(p->json.err, RML_FORMAT, path, sizeof header_nbytes,
                         "the header does not begin with '{'");
    p->json.in = (struct rmli_byte_reader){.data = header, .nbytes = (size_t)header_nbytes};
    p->json.file = path;
    p->json.file_offset = sizeof header_nbytes;
    p->json.strings = &st->names;
    if (!read_header(p) || !check_names(p) || !check_layout(p, in.position))
        return false;
    for (size_t k = 0; k < st->n_tensors; k++) {
        struct rml_tensor_info *t = &st->tensors[p->entries[k].i];
        t->offset = in.position + p->entries[k].begin;
        t->data = st->file.data + t->offset;
    }
    return true;
}

struct rmli_safetensors *rmli_safetensors_open(const char *path, struct rml_error *err)
{
    struct rmli_safetensors *st = calloc(1, sizeof *st);
    if (!st) {
        rmli_fail(err, RML_NO_MEMORY, path, -1, "no memory to open the file");
        return NULL;
    }
    struct parser parser = {.st = st, .json.err = err};
    bool ok = rmli_mapped_file_init(&st->file, path, err) && parse(&parser);
    rmli_free(parser.entries);
    if (!ok) {
        rmli_safetensors_close(st);
        return NULL;
    }
    return st;
}

void rmli_safetensors_close(struct rmli_safetensors *st)
{
    if (!st)
        return;
    rmli_free(st->tensors);
    rmli_arena_release(&st->names);
    rmli_mapped_file_release(&st->file);
    free(st);
}

const struct rmli_mapped_file *rmli_safetensors_file(const struct rmli_safetensors *st)
{
    return &st->file;
}

size_t rmli_safetensors_n_tensors(const struct rmli_safetensors *st)
{
    return st->n_tensors;
}

const struct rml_tensor_info *rmli_safetensors_tensor(const struct rmli_safetensors *st, size_t i)
{
    return &st->tensors[i];
}
