/*
 * GGUF reader: the tensor table and the data section.
 *
 * Offsets in the table are relative to the data section, which begins at the
 * next multiple of general.alignment. Tensors may come in any order and leave
 * holes, but must be aligned, lie inside the file and not share a byte.
 */
#include "files/gguf_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "files/ggml_types.h"

/* ggml stops at 63; other writers have raised that limit. */
enum { MAX_NAME_NBYTES = 1023 };

/* A place in the table that is needed once more, after the table was read. */
struct entry {
    uint64_t begin, end; /* of the data, relative to the data section */
    size_t table_offset; /* of the entry in the file */
    size_t i;
};

static bool fail_at(const struct rmli_gguf_parser *p, size_t offset, enum rml_code code,
                    const char *name, const char *what)
{
    return rmli_fail(p->err, code, p->gguf->file.path, (int64_t)offset, "tensor '%.*s' %s",
                     RMLI_GGUF_SHOWN_NBYTES, name, what);
}

/* ---- One entry ---------------------------------------------------------- */

static bool parse_name(struct rmli_gguf_parser *p, struct rml_tensor_info *t)
{
    struct rmli_gguf *gguf = p->gguf;
    struct rmli_gguf_string name;
    size_t start = p->in.position;
    if (!rmli_gguf_read_string(p, &name)) {
        char what[64];
        snprintf(what, sizeof what, "the name of tensor %zu", gguf->n_tensors);
        return rmli_gguf_fail_string(p, what);
    }
    if (name.nbytes == 0 || name.nbytes > MAX_NAME_NBYTES)
        return rmli_fail(p->err, RML_FORMAT, gguf->file.path, (int64_t)start,
                         "the name of tensor %zu has %zu bytes, expected 1 to %d", gguf->n_tensors,
                         name.nbytes, MAX_NAME_NBYTES);
    if (!rmli_utf8_is_printable((const uint8_t *)name.data, name.nbytes))
        return rmli_fail(
            p->err, RML_FORMAT, gguf->file.path, (int64_t)start,
            "the name of tensor %zu, '%.*s', is not UTF-8 free of control characters",
            gguf->n_tensors,
            (int)(name.nbytes < RMLI_GGUF_SHOWN_NBYTES ? name.nbytes : RMLI_GGUF_SHOWN_NBYTES),
            name.data);
    t->name = rmli_arena_copy_string(&gguf->names, name.data, name.nbytes, p->err);
    return t->name != NULL;
}

/* The file has the innermost dimension first. */
static bool parse_shape(struct rmli_gguf_parser *p, struct rml_tensor_info *t)
{
    size_t start = p->in.position;
    uint32_t n_dims;
    if (!rmli_read_u32(&p->in, &n_dims))
        return rmli_gguf_fail_short(p, "the tensor table");
    if (n_dims > RML_MAX_DIMS)
        return rmli_fail(p->err, RML_UNSUPPORTED, p->gguf->file.path, (int64_t)start,
                         "tensor '%.*s' has %" PRIu32 " dimensions, expected at most %d",
                         RMLI_GGUF_SHOWN_NBYTES, t->name, n_dims, RML_MAX_DIMS);
    t->n_dims = (int)n_dims;
    for (int i = 0; i < RML_MAX_DIMS; i++)
        t->dims[i] = 1;
    for (int i = t->n_dims - 1; i >= 0; i--) {
        size_t offset = p->in.position;
        if (!rmli_read_u64(&p->in, &t->dims[i]))
            return rmli_gguf_fail_short(p, "the tensor table");
        if (t->dims[i] == 0)
            return fail_at(p, offset, RML_FORMAT, t->name, "is empty: a dimension is 0");
    }
    return true;
}

static bool parse_type(struct rmli_gguf_parser *p, struct rml_tensor_info *t)
{
    size_t start = p->in.position;
    uint32_t type;
    if (!rmli_read_u32(&p->in, &type))
        return rmli_gguf_fail_short(p, "the tensor table");
    if (rmli_ggml_type_to_dtype(type, &t->dtype))
        return true;
    const char *name = rmli_ggml_type_name(type);
    return rmli_fail(p->err, RML_UNSUPPORTED, p->gguf->file.path, (int64_t)start,
                     "tensor '%.*s' has type %" PRIu32 " (%s), which rml does not read",
                     RMLI_GGUF_SHOWN_NBYTES, t->name, type, name ? name : "unknown");
}

static bool compute_nbytes(const struct rmli_gguf_parser *p, struct rml_tensor_info *t,
                           size_t table_offset)
{
    const struct rml_dtype_traits *traits = rml_dtype_traits(t->dtype);
    uint64_t row_nelems = t->n_dims > 0 ? t->dims[t->n_dims - 1] : 1;
    if (row_nelems % traits->block_nelems != 0)
        return rmli_fail(p->err, RML_FORMAT, p->gguf->file.path, (int64_t)table_offset,
                         "tensor '%.*s' has rows of %" PRIu64
                         " elements, expected a multiple of %" PRIu32 " for type %s",
                         RMLI_GGUF_SHOWN_NBYTES, t->name, row_nelems, traits->block_nelems,
                         traits->name);
    size_t nbytes;
    bool fits = rml_dtype_row_nbytes(t->dtype, row_nelems, &nbytes);
    for (int i = 0; fits && i < t->n_dims - 1; i++)
        fits = rmli_size_mul(nbytes, t->dims[i], &nbytes);
    if (!fits || nbytes > INT64_MAX)
        return fail_at(p, table_offset, RML_FORMAT, t->name,
                       "has a shape whose size does not fit 63 bits");
    t->nbytes = nbytes;
    return true;
}

static bool parse_entry(struct rmli_gguf_parser *p, struct rml_tensor_info *t, struct entry *e)
{
    e->table_offset = p->in.position;
    if (!parse_name(p, t) || !parse_shape(p, t) || !parse_type(p, t) ||
        !compute_nbytes(p, t, e->table_offset))
        return false;
    size_t start = p->in.position;
    if (!rmli_read_u64(&p->in, &e->begin))
        return rmli_gguf_fail_short(p, "the tensor table");
    if (e->begin % p->gguf->alignment != 0)
        return rmli_fail(p->err, RML_FORMAT, p->gguf->file.path, (int64_t)start,
                         "tensor '%.*s' has offset %" PRIu64
                         ", expected a multiple of the alignment %" PRIu32,
                         RMLI_GGUF_SHOWN_NBYTES, t->name, e->begin, p->gguf->alignment);
    if (__builtin_add_overflow(e->begin, t->nbytes, &e->end) || e->end > INT64_MAX)
        return fail_at(p, start, RML_FORMAT, t->name, "has an offset beyond any file");
    return true;
}

/* ---- The whole table ---------------------------------------------------- */

static bool check_names(const struct rmli_gguf_parser *p, const struct entry *entries)
{
    const struct rmli_gguf *gguf = p->gguf;
    struct rmli_name_index index;
    if (!rmli_name_index_init(&index, gguf->n_tensors, p->err))
        return false;
    for (size_t i = 0; i < index.n; i++)
        index.entries[i] =
            (struct rmli_name){gguf->tensors[i].name, strlen(gguf->tensors[i].name), i};
    size_t first, second;
    bool unique = rmli_name_index_sort(&index, &first, &second);
    rmli_name_index_release(&index);
    if (unique)
        return true;
    return rmli_fail(p->err, RML_FORMAT, gguf->file.path, (int64_t)entries[second].table_offset,
                     "tensor '%.*s' stands twice, first at byte %zu", RMLI_GGUF_SHOWN_NBYTES,
                     gguf->tensors[first].name, entries[first].table_offset);
}

static int compare_begin(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->i > b->i) - (a->i < b->i);
}

/* Sorts the entries by their data, so that neighbours tell of overlaps. */
static bool check_layout(const struct rmli_gguf_parser *p, struct entry *entries,
                         uint64_t data_start)
{
    const struct rmli_gguf *gguf = p->gguf;
    const char *path = gguf->file.path;
    size_t n = gguf->n_tensors;
    if (n == 0)
        return true;
    qsort(entries, n, sizeof *entries, compare_begin);
    const struct entry *last = &entries[0]; /* the one that ends last */
    for (size_t k = 1; k < n; k++) {
        const struct entry *e = &entries[k];
        if (e->begin < entries[k - 1].end)
            return rmli_fail(p->err, RML_FORMAT, path, (int64_t)e->table_offset,
                             "tensor '%.*s' overlaps tensor '%.*s': it begins at byte %" PRIu64
                             " of the data section, the other ends at %" PRIu64,
                             RMLI_GGUF_SHOWN_NBYTES, gguf->tensors[e->i].name,
                             RMLI_GGUF_SHOWN_NBYTES, gguf->tensors[entries[k - 1].i].name, e->begin,
                             entries[k - 1].end);
        last = e;
    }
    uint64_t have = gguf->file.nbytes > data_start ? gguf->file.nbytes - data_start : 0;
    if (last->end > have) {
        /* The first one cut off is what a reader would miss first. */
        size_t k = 0;
        while (entries[k].end <= have)
            k++;
        return rmli_fail(p->err, RML_FORMAT, path, (int64_t)entries[k].table_offset,
                         "%" PRIu64 " bytes are missing at the end of the file: tensor '%.*s' ends "
                         "at byte %" PRIu64 " and the last one at %" PRIu64
                         ", but the file has %zu bytes (an incomplete download?)",
                         last->end + data_start - gguf->file.nbytes, RMLI_GGUF_SHOWN_NBYTES,
                         gguf->tensors[entries[k].i].name, entries[k].end + data_start,
                         last->end + data_start, gguf->file.nbytes);
    }
    return true;
}

static bool parse_table(struct rmli_gguf_parser *p, uint64_t n_tensors, struct entry **entries)
{
    struct rmli_gguf *gguf = p->gguf;
    size_t tensor_capacity = 0, entry_capacity = 0;
    for (uint64_t i = 0; i < n_tensors; i++) {
        void *tensors = gguf->tensors, *grown = *entries;
        if (!rmli_reserve_one(&tensors, gguf->n_tensors, &tensor_capacity, sizeof *gguf->tensors,
                              p->err))
            return false;
        gguf->tensors = tensors;
        if (!rmli_reserve_one(&grown, gguf->n_tensors, &entry_capacity, sizeof **entries, p->err))
            return false;
        *entries = grown;
        struct rml_tensor_info *t = &gguf->tensors[gguf->n_tensors];
        *t = (struct rml_tensor_info){.file = gguf->file.path};
        struct entry *e = &(*entries)[gguf->n_tensors];
        e->i = gguf->n_tensors;
        if (!parse_entry(p, t, e))
            return false;
        gguf->n_tensors++;
    }
    return true;
}

static bool place_tensors(struct rmli_gguf_parser *p, struct entry *entries)
{
    struct rmli_gguf *gguf = p->gguf;
    uint64_t mask = gguf->alignment - 1;
    uint64_t data_start = (p->in.position + mask) & ~mask;
    /* Ends are below 2^63 and the header below 2^32, so sums do not overflow. */
    if (!check_names(p, entries) || !check_layout(p, entries, data_start))
        return false;
    for (size_t k = 0; k < gguf->n_tensors; k++) {
        struct rml_tensor_info *t = &gguf->tensors[entries[k].i];
        t->offset = data_start + entries[k].begin;
        t->data = gguf->file.data + t->offset;
    }
    return true;
}

bool rmli_gguf_parse_tensors(struct rmli_gguf_parser *p, uint64_t n_tensors)
{
    struct entry *entries = NULL;
    bool ok = parse_table(p, n_tensors, &entries) && place_tensors(p, entries);
    rmli_free(entries);
    return ok;
}
