/*
 * GGUF reader: typed access to metadata.
 *
 * Writers disagree about integer widths and signs, so that a lookup accepts
 * every integer type whose value is in range.
 */
#include "files/gguf_private.h"

#include <inttypes.h>
#include <string.h>

const struct rmli_gguf_kv *rmli_gguf_find(const struct rmli_gguf *gguf, const char *key)
{
    size_t i;
    if (!rmli_name_index_find(&gguf->kv_index, key, strlen(key), &i))
        return NULL;
    return &gguf->kvs[i];
}

/* ---- Elements ----------------------------------------------------------- */

/* The value's bits, in the low bytes. */
static uint64_t load_bits(const struct rmli_gguf_kv *kv, uint64_t i)
{
    size_t nbytes = rmli_gguf_type_nbytes(kv->elem_type);
    uint64_t bits = 0;
    memcpy(&bits, kv->data + i * nbytes, nbytes);
    return bits;
}

static double load_float(const struct rmli_gguf_kv *kv, uint64_t i)
{
    uint64_t bits = load_bits(kv, i);
    if (kv->elem_type == RMLI_GGUF_F32) {
        float f;
        memcpy(&f, &bits, sizeof f);
        return (double)f;
    }
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static bool is_float(enum rmli_gguf_type type)
{
    return type == RMLI_GGUF_F32 || type == RMLI_GGUF_F64;
}

static bool is_integer(enum rmli_gguf_type type)
{
    return !is_float(type) && type != RMLI_GGUF_BOOL && type != RMLI_GGUF_STRING &&
           type != RMLI_GGUF_ARRAY;
}

int64_t rmli_gguf_elem_i64(const struct rmli_gguf_kv *kv, uint64_t i)
{
    uint64_t bits = load_bits(kv, i);
    switch (kv->elem_type) {
    case RMLI_GGUF_I8:
        return (int8_t)bits;
    case RMLI_GGUF_I16:
        return (int16_t)bits;
    case RMLI_GGUF_I32:
        return (int32_t)bits;
    case RMLI_GGUF_I64:
        return (int64_t)bits;
    case RMLI_GGUF_F32:
    case RMLI_GGUF_F64: {
        double value = load_float(kv, i);
        if (value >= 0x1p63)
            return INT64_MAX;
        if (value < -0x1p63)
            return INT64_MIN;
        return value == value ? (int64_t)value : 0;
    }
    default:
        return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
    }
}

void rmli_gguf_next_array(const uint8_t **cursor, struct rmli_gguf_kv *array)
{
    uint32_t elem_type;
    memcpy(&elem_type, *cursor, sizeof elem_type);
    *array =
        (struct rmli_gguf_kv){.type = RMLI_GGUF_ARRAY, .elem_type = (enum rmli_gguf_type)elem_type};
    memcpy(&array->nelems, *cursor + sizeof elem_type, sizeof array->nelems);
    *cursor += sizeof elem_type + sizeof array->nelems;
    array->data = *cursor;
    if (elem_type != RMLI_GGUF_STRING && elem_type != RMLI_GGUF_ARRAY)
        *cursor += array->nelems * rmli_gguf_type_nbytes(elem_type);
    for (uint64_t i = 0; elem_type == RMLI_GGUF_STRING && i < array->nelems; i++)
        rmli_gguf_next_string(cursor);
    for (uint64_t i = 0; elem_type == RMLI_GGUF_ARRAY && i < array->nelems; i++) {
        struct rmli_gguf_kv inner;
        rmli_gguf_next_array(cursor, &inner);
    }
}

double rmli_gguf_elem_f64(const struct rmli_gguf_kv *kv, uint64_t i)
{
    if (is_float(kv->elem_type))
        return load_float(kv, i);
    if (kv->elem_type == RMLI_GGUF_U64)
        return (double)load_bits(kv, i);
    return (double)rmli_gguf_elem_i64(kv, i);
}

/* ---- Typed lookups ------------------------------------------------------ */

static bool fail_type(const struct rmli_gguf *gguf, const struct rmli_gguf_kv *kv, const char *key,
                      const char *expected, struct rml_error *err)
{
    bool is_array = kv->type == RMLI_GGUF_ARRAY;
    return rmli_fail(err, RML_FORMAT, gguf->file.path, (int64_t)kv->offset,
                     "metadata key '%s' is %s%s, expected %s", key, is_array ? "an array of " : "",
                     rmli_gguf_type_name(kv->elem_type), expected);
}

/* Finds `key` and tells the caller whether it is there. */
static const struct rmli_gguf_kv *look_up(const struct rmli_gguf *gguf, const char *key,
                                          bool *present)
{
    const struct rmli_gguf_kv *kv = rmli_gguf_find(gguf, key);
    if (present)
        *present = kv != NULL;
    return kv;
}

static bool get_unsigned(const struct rmli_gguf *gguf, const char *key, uint64_t max, uint64_t *out,
                         bool *present, struct rml_error *err)
{
    const struct rmli_gguf_kv *kv = look_up(gguf, key, present);
    if (!kv)
        return true;
    if (!is_integer(kv->type))
        return fail_type(gguf, kv, key, "an integer", err);
    int64_t value = rmli_gguf_elem_i64(kv, 0);
    if (kv->type != RMLI_GGUF_U64 && value < 0)
        return rmli_fail(err, RML_FORMAT, gguf->file.path, (int64_t)kv->offset,
                         "metadata key '%s' is %" PRId64 ", expected 0 to %" PRIu64, key, value,
                         max);
    uint64_t bits = kv->type == RMLI_GGUF_U64 ? load_bits(kv, 0) : (uint64_t)value;
    if (bits > max)
        return rmli_fail(err, RML_FORMAT, gguf->file.path, (int64_t)kv->offset,
                         "metadata key '%s' is %" PRIu64 ", expected 0 to %" PRIu64, key, bits,
                         max);
    *out = bits;
    return true;
}

bool rmli_gguf_get_u64(const struct rmli_gguf *gguf, const char *key, uint64_t *out, bool *present,
                       struct rml_error *err)
{
    return get_unsigned(gguf, key, UINT64_MAX, out, present, err);
}

bool rmli_gguf_get_u32(const struct rmli_gguf *gguf, const char *key, uint32_t *out, bool *present,
                       struct rml_error *err)
{
    uint64_t value = *out;
    if (!get_unsigned(gguf, key, UINT32_MAX, &value, present, err))
        return false;
    *out = (uint32_t)value;
    return true;
}

bool rmli_gguf_get_f64(const struct rmli_gguf *gguf, const char *key, double *out, bool *present,
                       struct rml_error *err)
{
    const struct rmli_gguf_kv *kv = look_up(gguf, key, present);
    if (!kv)
        return true;
    if (!is_float(kv->type) && !is_integer(kv->type))
        return fail_type(gguf, kv, key, "a number", err);
    *out = rmli_gguf_elem_f64(kv, 0);
    return true;
}

bool rmli_gguf_get_bool(const struct rmli_gguf *gguf, const char *key, bool *out, bool *present,
                        struct rml_error *err)
{
    const struct rmli_gguf_kv *kv = look_up(gguf, key, present);
    if (!kv)
        return true;
    if (kv->type != RMLI_GGUF_BOOL)
        return fail_type(gguf, kv, key, "a bool", err);
    *out = kv->data[0] != 0;
    return true;
}

bool rmli_gguf_get_string(const struct rmli_gguf *gguf, const char *key,
                          struct rmli_gguf_string *out, bool *present, struct rml_error *err)
{
    const struct rmli_gguf_kv *kv = look_up(gguf, key, present);
    if (!kv)
        return true;
    if (kv->type != RMLI_GGUF_STRING)
        return fail_type(gguf, kv, key, "a string", err);
    const uint8_t *cursor = kv->data;
    *out = rmli_gguf_next_string(&cursor);
    return true;
}
