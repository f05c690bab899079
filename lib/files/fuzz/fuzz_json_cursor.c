/*
 * Any bytes as JSON: the pull parser and jansson accept the same texts, except
 * where one of them has a limit that the other has not.
 */
#include <jansson.h>
#include <stdlib.h>

#include "files/json_cursor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

static int depth_of(const json_t *value)
{
    int deepest = 0;
    const char *key;
    size_t i;
    json_t *child;
    if (json_is_object(value)) {
        json_object_foreach((json_t *)(uintptr_t)value, key, child)
        {
            int depth = depth_of(child);
            deepest = depth > deepest ? depth : deepest;
        }
        return deepest + 1;
    }
    if (json_is_array(value)) {
        json_array_foreach(value, i, child)
        {
            int depth = depth_of(child);
            deepest = depth > deepest ? depth : deepest;
        }
        return deepest + 1;
    }
    return 0;
}

static bool is_limit_of_jansson(const json_error_t *why)
{
    switch (json_error_code(why)) {
    case json_error_numeric_overflow:
    case json_error_stack_overflow:
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return true;
    default:
        return false;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rmli_arena strings = {0};
    struct rmli_json_cursor c = {
        .in = {.data = data, .nbytes = nbytes}, .file = "input", .strings = &strings, .err = &err};
    bool ours = rmli_json_skip(&c) && rmli_json_end(&c);
    if (ours != (err.code == RML_OK) || err.offset > (int64_t)nbytes)
        abort();
    json_error_t why;
    json_t *value = json_loadb((const char *)data, nbytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    if (ours && !value && !is_limit_of_jansson(&why))
        abort();
    /* jansson loses a NUL behind a word or a number. */
    bool has_nul = nbytes > 0 && memchr(data, 0, nbytes);
    if (!ours && value && !has_nul && depth_of(value) <= RMLI_JSON_MAX_DEPTH)
        abort();
    json_decref(value);
    rmli_arena_release(&strings);
    return 0;
}
