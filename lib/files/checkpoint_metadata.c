/*
 * Metadata of either format in one form. Values are cut before they are copied,
 * so that a list of 262,144 tokens costs what is shown of it.
 */
#include "files/checkpoint_metadata.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "files/gguf.h"

struct limits {
    size_t max_elems, max_nbytes;
};

/* At most max_nbytes of a string, cut between characters. */
static json_t *text_json(const char *data, size_t nbytes, size_t max_nbytes)
{
    size_t n = 0;
    bool well_formed = true;
    while (n < nbytes) {
        size_t length = rmli_utf8_sequence_nbytes((const uint8_t *)data + n, nbytes - n);
        if (n + (length ? length : 1) > max_nbytes)
            break;
        well_formed = well_formed && length;
        n += length ? length : 1;
    }
    if (well_formed)
        return json_stringn(data, n);
    char *copy = malloc(n);
    if (!copy)
        return NULL;
    for (size_t i = 0; i < n; i++)
        copy[i] = (unsigned char)data[i] < 0x80 ? data[i] : '?';
    json_t *string = json_stringn(copy, n);
    free(copy);
    return string;
}

/* ---- GGUF --------------------------------------------------------------------------- */

static const char *const type_names[RMLI_GGUF_N_TYPES] = {
    [RMLI_GGUF_U8] = "u8",       [RMLI_GGUF_I8] = "i8",     [RMLI_GGUF_U16] = "u16",
    [RMLI_GGUF_I16] = "i16",     [RMLI_GGUF_U32] = "u32",   [RMLI_GGUF_I32] = "i32",
    [RMLI_GGUF_F32] = "f32",     [RMLI_GGUF_BOOL] = "bool", [RMLI_GGUF_STRING] = "string",
    [RMLI_GGUF_ARRAY] = "array", [RMLI_GGUF_U64] = "u64",   [RMLI_GGUF_I64] = "i64",
    [RMLI_GGUF_F64] = "f64",
};

static json_t *number_json(const struct rmli_gguf_kv *kv, uint64_t i)
{
    if (kv->elem_type == RMLI_GGUF_BOOL)
        return json_boolean(rmli_gguf_elem_i64(kv, i) != 0);
    if (kv->elem_type != RMLI_GGUF_F32 && kv->elem_type != RMLI_GGUF_F64)
        return json_integer(rmli_gguf_elem_i64(kv, i));
    double x = rmli_gguf_elem_f64(kv, i);
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *value_json(const struct rmli_gguf_kv *kv, const struct limits *limits)
{
    bool is_text = kv->elem_type == RMLI_GGUF_STRING, is_array = kv->type == RMLI_GGUF_ARRAY;
    const uint8_t *cursor = kv->data;
    json_t *array = is_array ? json_array() : NULL;
    for (uint64_t i = 0; i < kv->nelems && i < limits->max_elems; i++) {
        json_t *value;
        if (is_text) {
            struct rmli_gguf_string s = rmli_gguf_next_string(&cursor);
            value = text_json(s.data, s.nbytes, limits->max_nbytes);
        } else if (kv->elem_type == RMLI_GGUF_ARRAY) {
            struct rmli_gguf_kv inner;
            rmli_gguf_next_array(&cursor, &inner);
            value = value_json(&inner, limits);
        } else {
            value = number_json(kv, i);
        }
        if (!is_array)
            return value;
        json_array_append_new(array, value);
    }
    return array ? array : json_null();
}

static json_t *gguf_entry(const struct rmli_gguf_kv *kv, const struct limits *limits)
{
    bool is_array = kv->type == RMLI_GGUF_ARRAY;
    char type[32];
    snprintf(type, sizeof type, "%s%s", is_array ? "array of " : "", type_names[kv->elem_type]);
    json_t *length = json_null();
    if (is_array) {
        length = json_integer((json_int_t)kv->nelems);
    } else if (kv->type == RMLI_GGUF_STRING) {
        const uint8_t *cursor = kv->data;
        length = json_integer((json_int_t)rmli_gguf_next_string(&cursor).nbytes);
    }
    struct limits one = *limits;
    if (!is_array && one.max_elems == 0)
        one.max_elems = 1;
    return json_pack("{so ss so so}", "key", json_stringn(kv->key.data, kv->key.nbytes), "type",
                     type, "length", length, "value", value_json(kv, &one));
}

/* ---- config.json -------------------------------------------------------------------- */

static const char *json_type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "integer";
    case JSON_REAL:
        return "real";
    case JSON_NULL:
        return "null";
    default:
        return "bool";
    }
}

static json_t *config_entry(const char *key, const json_t *value, const struct limits *limits)
{
    json_t *length = json_null(), *shown = NULL;
    if (json_is_string(value)) {
        length = json_integer((json_int_t)json_string_length(value));
        shown = text_json(json_string_value(value), json_string_length(value), limits->max_nbytes);
    } else if (json_is_array(value)) {
        length = json_integer((json_int_t)json_array_size(value));
        shown = json_array();
        for (size_t i = 0; i < json_array_size(value) && i < limits->max_elems; i++)
            json_array_append_new(shown, json_deep_copy(json_array_get(value, i)));
    } else {
        shown = json_deep_copy(value);
    }
    return json_pack("{ss ss so so}", "key", key, "type", json_type_name(value), "length", length,
                     "value", shown);
}

json_t *rml_checkpoint_metadata(const struct rml_checkpoint *cp, size_t max_elems,
                                size_t max_nbytes, struct rml_error *err)
{
    const struct limits limits = {max_elems, max_nbytes};
    const struct rmli_gguf *gguf = rmli_checkpoint_gguf(cp);
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; ok && gguf && i < rmli_gguf_n_kv(gguf); i++)
        ok = json_array_append_new(list, gguf_entry(rmli_gguf_kv(gguf, i), &limits)) == 0;
    if (!gguf) {
        /* jansson's iterators take no const. */
        json_t *config = (json_t *)(uintptr_t)rmli_checkpoint_config(cp);
        const char *key;
        json_t *value;
        json_object_foreach(config, key, value) ok =
            ok && json_array_append_new(list, config_entry(key, value, &limits)) == 0;
    }
    if (ok)
        return list;
    json_decref(list);
    rmli_fail(err, RML_NO_MEMORY, rml_checkpoint_path(cp), -1, "no memory for its metadata");
    return NULL;
}
