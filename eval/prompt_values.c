/*
 * Values of templates as Python has them: JSON's types, with Python's truth, equality, str() and
 * indexing. Text is indexed by code points.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "eval/prompt_node.h"
#include "eval/python_text.h"

static json_t *refuse(struct rml_error *err, const char *what, const json_t *value,
                      const char *expected)
{
    static const char *const names[] = {"a mapping", "a list", "text",  "a number",
                                        "a number",  "true",   "false", "none"};
    rmli_fail(err, RML_FORMAT, NULL, -1, "%s of %s found in a template, expected %s", what,
              names[json_typeof(value)], expected);
    return NULL;
}

json_t *prompt_kept(json_t *value, struct rml_error *err)
{
    if (!value)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a value of a template");
    return value;
}

json_t *prompt_text_of_bytes(bool ok, struct rml_bytes *bytes, struct rml_error *err)
{
    json_t *text = ok ? json_stringn(bytes->n > 0 ? bytes->data : "", bytes->n) : NULL;
    rml_bytes_release(bytes);
    return prompt_kept(text, err);
}

/* ---- Truth, equality ------------------------------------------------------------------------------ */

static bool is_number(const json_t *value)
{
    return json_is_number(value) || json_is_boolean(value);
}

static double number(const json_t *value)
{
    return json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
}

bool prompt_truth(const json_t *value)
{
    if (is_number(value))
        return number(value) != 0;
    if (json_is_string(value))
        return json_string_length(value) > 0;
    return json_is_array(value)    ? json_array_size(value) > 0
           : json_is_object(value) ? json_object_size(value) > 0
                                   : false;
}

bool prompt_equal(const json_t *a, const json_t *b)
{
    if (json_is_integer(a) && json_is_integer(b))
        return json_integer_value(a) == json_integer_value(b);
    if (is_number(a) && is_number(b))
        return number(a) == number(b);
    if (json_is_array(a) && json_is_array(b)) {
        size_t n = json_array_size(a);
        bool equal = n == json_array_size(b);
        for (size_t i = 0; equal && i < n; i++)
            equal = prompt_equal(json_array_get(a, i), json_array_get(b, i));
        return equal;
    }
    if (json_is_object(a) && json_is_object(b)) {
        const char *key;
        json_t *value;
        bool equal = json_object_size(a) == json_object_size(b);
        json_object_foreach((json_t *)(uintptr_t)a, key, value)
        {
            const json_t *other = json_object_get(b, key);
            equal = equal && other && prompt_equal(value, other);
        }
        return equal;
    }
    return json_equal(a, b);
}

/* ---- str() and repr() --------------------------------------------------------------------------------- */

/* The shortest digits that read back, written as Python does: 1e+16 from 16 digits before the point
 * on and 1e-05 below 0.0001, else with a point. */
static void write_real(double value, FILE *out)
{
    char digits[40];
    int precision = 0;
    if (isnan(value) || isinf(value)) {
        fputs(isnan(value) ? "nan" : value > 0 ? "inf" : "-inf", out);
        return;
    }
    for (; precision < 17; precision++) {
        snprintf(digits, sizeof digits, "%.*e", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    int exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent < -4 || exponent >= 16)
        fputs(digits, out);
    else
        fprintf(out, "%.*f", precision > exponent ? precision - exponent : 1, value);
}

/* str.isprintable: neither "other" nor a separator but the space. */
static bool is_printable(utf8proc_int32_t c)
{
    utf8proc_category_t category = utf8proc_category(c);
    return c == ' ' || !(category == UTF8PROC_CATEGORY_CN || category >= UTF8PROC_CATEGORY_ZS);
}

static void write_repr(const char *text, size_t nbytes, FILE *out)
{
    char quote = memchr(text, '\'', nbytes) && !memchr(text, '"', nbytes) ? '"' : '\'';
    fputc(quote, out);
    for (size_t i = 0; i < nbytes;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text + i,
                                              (utf8proc_ssize_t)(nbytes - i), &c);
        n = n < 1 ? 1 : n;
        if (c == '\\' || c == quote)
            fprintf(out, "\\%c", (char)c);
        else if (c == '\n' || c == '\r' || c == '\t')
            fputs(c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t", out);
        else if (is_printable(c))
            fwrite(text + i, 1, (size_t)n, out);
        else
            fprintf(out, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)c);
        i += (size_t)n;
    }
    fputc(quote, out);
}

static void write_value(const json_t *value, bool as_repr, FILE *out)
{
    const char *key, *comma = "";
    json_t *member;
    size_t i;
    switch (json_typeof(value)) {
    case JSON_STRING:
        if (as_repr)
            write_repr(json_string_value(value), json_string_length(value), out);
        else
            fwrite(json_string_value(value), 1, json_string_length(value), out);
        return;
    case JSON_INTEGER:
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return;
    case JSON_REAL:
        write_real(json_real_value(value), out);
        return;
    case JSON_TRUE:
        fputs("True", out);
        return;
    case JSON_FALSE:
        fputs("False", out);
        return;
    case JSON_NULL:
        fputs("None", out);
        return;
    case JSON_ARRAY:
        fputc('[', out);
        json_array_foreach(value, i, member)
        {
            fputs(comma, out);
            write_value(member, true, out);
            comma = ", ";
        }
        fputc(']', out);
        return;
    case JSON_OBJECT:
        fputc('{', out);
        json_object_foreach((json_t *)(uintptr_t)value, key, member)
        {
            fputs(comma, out);
            write_repr(key, strlen(key), out);
            fputs(": ", out);
            write_value(member, true, out);
            comma = ", ";
        }
        fputc('}', out);
        return;
    }
}

json_t *prompt_text(const json_t *value, struct rml_error *err)
{
    if (json_is_string(value))
        return json_incref((json_t *)(uintptr_t)value);
    char *data = NULL;
    size_t nbytes = 0;
    FILE *out = open_memstream(&data, &nbytes);
    if (out)
        write_value(value, false, out);
    json_t *text = out && fclose(out) == 0 ? json_stringn(data, nbytes) : NULL;
    free(data);
    return prompt_kept(text, err);
}

/* ---- Parts ---------------------------------------------------------------------------------------------- */

/* The byte at which code point i of a text begins, nbytes past the last. */
static size_t place(const char *text, size_t nbytes, size_t i)
{
    size_t at = 0;
    for (; i > 0 && at < nbytes; i--)
        do
            at++;
        while (at < nbytes && ((unsigned char)text[at] & 0xc0) == 0x80);
    return at;
}

static size_t length_of(const json_t *value)
{
    return json_is_string(value)
               ? python_length(json_string_value(value), json_string_length(value))
               : json_array_size(value);
}

static json_t *text_part(const json_t *value, size_t from, size_t to, struct rml_error *err)
{
    const char *text = json_string_value(value);
    size_t nbytes = json_string_length(value);
    size_t begin = place(text, nbytes, from), end = place(text, nbytes, to);
    return prompt_kept(json_stringn(text + begin, end - begin), err);
}

json_t *prompt_item(const json_t *value, const json_t *at, bool *is_undefined,
                    struct rml_error *err)
{
    if (json_is_object(value) && json_is_string(at)) {
        json_t *member = json_object_get(value, json_string_value(at));
        *is_undefined = !member;
        return json_incref(member);
    }
    if (!json_is_array(value) && !json_is_string(value))
        return refuse(err, "a part", value, "a list, text or a mapping");
    if (!json_is_integer(at))
        return refuse(err, "an index", at, "a whole number");
    json_int_t n = (json_int_t)length_of(value), i = json_integer_value(at);
    i += i < 0 ? n : 0;
    *is_undefined = i < 0 || i >= n;
    if (*is_undefined)
        return NULL;
    return json_is_array(value) ? json_incref(json_array_get(value, (size_t)i))
                                : text_part(value, (size_t)i, (size_t)i + 1, err);
}

/* A bound of a slice within [0, n]. */
static bool bound(const json_t *at, size_t n, size_t otherwise, size_t *out, struct rml_error *err)
{
    *out = otherwise;
    if (!at || json_is_null(at))
        return true;
    if (!json_is_integer(at))
        return refuse(err, "a bound", at, "a whole number");
    json_int_t i = json_integer_value(at);
    i += i < 0 ? (json_int_t)n : 0;
    *out = i < 0 ? 0 : (uint64_t)i > n ? n : (size_t)i;
    return true;
}

json_t *prompt_slice(const json_t *value, const json_t *from, const json_t *to,
                     struct rml_error *err)
{
    size_t begin, end;
    if (!json_is_array(value) && !json_is_string(value))
        return refuse(err, "a slice", value, "a list or text");
    size_t n = length_of(value);
    if (!bound(from, n, 0, &begin, err) || !bound(to, n, n, &end, err))
        return NULL;
    end = end < begin ? begin : end;
    if (json_is_string(value))
        return text_part(value, begin, end, err);
    json_t *part = json_array();
    for (size_t i = begin; part && i < end; i++)
        json_array_append(part, json_array_get(value, i));
    return prompt_kept(part, err);
}

/* ---- Operators -------------------------------------------------------------------------------------------- */

static json_t *join(const json_t *a, const json_t *b, struct rml_error *err)
{
    struct rml_bytes out = {.n = json_string_length(a) + json_string_length(b)};
    out.data = malloc(out.n + 1);
    if (!out.data)
        return prompt_kept(NULL, err);
    memcpy(out.data, json_string_value(a), json_string_length(a));
    memcpy(out.data + json_string_length(a), json_string_value(b), json_string_length(b));
    json_t *joined = json_stringn(out.data, out.n);
    rml_bytes_release(&out);
    return prompt_kept(joined, err);
}

static json_t *add(const json_t *a, const json_t *b, struct rml_error *err)
{
    json_int_t sum;
    if (json_is_string(a) && json_is_string(b))
        return join(a, b, err);
    if (json_is_array(a) && json_is_array(b)) {
        json_t *both = json_copy((json_t *)(uintptr_t)a);
        if (both)
            json_array_extend(both, (json_t *)(uintptr_t)b);
        return prompt_kept(both, err);
    }
    if (json_is_integer(a) && json_is_integer(b) &&
        !__builtin_add_overflow(json_integer_value(a), json_integer_value(b), &sum))
        return prompt_kept(json_integer(sum), err);
    if (is_number(a) && is_number(b) && (json_is_real(a) || json_is_real(b)))
        return prompt_kept(json_real(number(a) + number(b)), err);
    return refuse(err, "a sum", json_is_number(a) ? b : a, "two numbers, two texts or two lists");
}

static json_t *subtract(const json_t *a, const json_t *b, struct rml_error *err)
{
    json_int_t difference;
    if (json_is_integer(a) && json_is_integer(b) &&
        !__builtin_sub_overflow(json_integer_value(a), json_integer_value(b), &difference))
        return prompt_kept(json_integer(difference), err);
    if (is_number(a) && is_number(b) && (json_is_real(a) || json_is_real(b)))
        return prompt_kept(json_real(number(a) - number(b)), err);
    return refuse(err, "a difference", json_is_number(a) ? b : a, "two numbers");
}

static json_t *is_in(const json_t *a, const json_t *b, struct rml_error *err)
{
    bool found = false;
    if (json_is_string(b) && json_is_string(a))
        found = json_string_length(a) == 0 || memmem(json_string_value(b), json_string_length(b),
                                                     json_string_value(a), json_string_length(a));
    else if (json_is_object(b) && json_is_string(a))
        found = json_object_get(b, json_string_value(a));
    else if (!json_is_array(b))
        return refuse(err, "'in'", b, "a list, text or a mapping");
    for (size_t i = 0; json_is_array(b) && !found && i < json_array_size(b); i++)
        found = prompt_equal(a, json_array_get(b, i));
    return json_boolean(found);
}

/* Text is ordered by code points, which is how UTF-8 bytes are ordered. */
static json_t *compare(const char *name, const json_t *a, const json_t *b, struct rml_error *err)
{
    int order;
    if (json_is_integer(a) && json_is_integer(b)) {
        order = (json_integer_value(a) > json_integer_value(b)) -
                (json_integer_value(a) < json_integer_value(b));
    } else if (is_number(a) && is_number(b)) {
        order = (number(a) > number(b)) - (number(a) < number(b));
    } else if (json_is_string(a) && json_is_string(b)) {
        size_t n_a = json_string_length(a), n_b = json_string_length(b);
        order = memcmp(json_string_value(a), json_string_value(b), n_a < n_b ? n_a : n_b);
        order = order ? order : (n_a > n_b) - (n_a < n_b);
    } else {
        return refuse(err, "a comparison", is_number(a) ? b : a, "two numbers or two texts");
    }
    bool or_equal = name[1] == '=';
    return json_boolean(*name == '<' ? order < 0 || (or_equal && order == 0)
                                     : order > 0 || (or_equal && order == 0));
}

json_t *prompt_binary(const char *operator, const json_t * a, const json_t *b,
                      struct rml_error *err)
{
    switch (*operator) {
    case '~': {
        json_t *left = prompt_text(a, err), *right = left ? prompt_text(b, err) : NULL;
        json_t *joined = right ? join(left, right, err) : NULL;
        json_decref(left);
        json_decref(right);
        return joined;
    }
    case '+':
        return add(a, b, err);
    case '-':
        return subtract(a, b, err);
    case '=':
        return json_boolean(prompt_equal(a, b));
    case '!':
        return json_boolean(!prompt_equal(a, b));
    case 'i':
        return is_in(a, b, err);
    default:
        return compare(operator, a, b, err);
    }
}
