/* Typed fields of a JSON object: see json_fields.h. */
#include "model/json_fields.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const json_t *rmli_field_get(const struct rmli_json_fields *f, const char *key)
{
    return json_object_get(f->object, key);
}

bool rmli_field_has(const struct rmli_json_fields *f, const char *key)
{
    const json_t *value = rmli_field_get(f, key);
    return value && !json_is_null(value);
}

void rmli_field_show(const json_t *value, char *out, size_t out_nbytes)
{
    if (!value) {
        snprintf(out, out_nbytes, "absent");
        return;
    }
    /* jansson writes whole tokens that fit and returns the full size. */
    size_t n = json_dumpb(value, out, out_nbytes - 1,
                          JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    if (n == 0) {
        snprintf(out, out_nbytes, "a value that cannot be shown");
    } else if (n < out_nbytes) {
        out[n] = '\0';
    } else {
        out[out_nbytes - 4] = '\0';
        strcat(out, "...");
    }
}

void rmli_field_fail(struct rmli_json_fields *f, enum rml_code code, const char *key,
                     const char *format, ...)
{
    char value[96], expected[256];
    va_list args;

    rmli_field_show(rmli_field_get(f, key), value, sizeof value);
    va_start(args, format);
    vsnprintf(expected, sizeof expected, format, args);
    va_end(args);
    rmli_fail(f->err, code, f->file, -1, "'%s%s' is %s, expected %s", f->path, key, value,
              expected);
    f->ok = false;
}

void rmli_field_u32(struct rmli_json_fields *f, const char *key, uint32_t *out)
{
    const json_t *value = rmli_field_get(f, key);
    if (!value)
        return;
    json_int_t n = json_is_integer(value) ? json_integer_value(value) : -1;
    if (n < 0 || n > (json_int_t)UINT32_MAX)
        rmli_field_fail(f, RML_FORMAT, key, "an integer from 0 to %u", UINT32_MAX);
    else
        *out = (uint32_t)n;
}

void rmli_field_u32_or_null(struct rmli_json_fields *f, const char *key, uint32_t if_null,
                            uint32_t *out)
{
    if (json_is_null(rmli_field_get(f, key)))
        *out = if_null;
    else
        rmli_field_u32(f, key, out);
}

void rmli_field_f64(struct rmli_json_fields *f, const char *key, double *out)
{
    const json_t *value = rmli_field_get(f, key);
    if (!value)
        return;
    double x = json_is_number(value) ? json_number_value(value) : NAN;
    if (isfinite(x))
        *out = x;
    else
        rmli_field_fail(f, RML_FORMAT, key, "a number");
}

void rmli_field_f64_or_null(struct rmli_json_fields *f, const char *key, double if_null,
                            double *out)
{
    if (json_is_null(rmli_field_get(f, key)))
        *out = if_null;
    else
        rmli_field_f64(f, key, out);
}

void rmli_field_bool(struct rmli_json_fields *f, const char *key, bool *out)
{
    const json_t *value = rmli_field_get(f, key);
    if (!value)
        return;
    if (json_is_boolean(value) || json_is_null(value))
        *out = json_is_true(value);
    else
        rmli_field_fail(f, RML_FORMAT, key, "true or false");
}
