/*
 * Methods and filters of templates: Python's str methods, list.index, and Jinja's filters.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "eval/prompt_node.h"
#include "eval/python_text.h"
#include "tools/cli/byte_input.h"

typedef json_t *function(const json_t *value, json_t *const *args, size_t n_args,
                         struct rml_error *err);

static json_t *text_of(const char *text, size_t nbytes, struct rml_error *err)
{
    return prompt_kept(json_stringn(text, nbytes), err);
}

static bool append_text(struct rml_bytes *out, const json_t *text, struct rml_error *err)
{
    return cli_bytes_append(out, json_string_value(text), json_string_length(text), err);
}

static bool are_texts(const char *name, const json_t *value, json_t *const *args, size_t n_args,
                      struct rml_error *err)
{
    bool ok = json_is_string(value);
    for (size_t i = 0; i < n_args; i++)
        ok = ok && json_is_string(args[i]);
    return ok || rmli_fail(err, RML_FORMAT, NULL, -1,
                           "'%s' in a template of what is no text found, expected text", name);
}

/* ---- Stripping ----------------------------------------------------------------------------------- */

/* Bytes of the code point at `text`. */
static size_t point_nbytes(const char *text, size_t nbytes)
{
    size_t n = 1;
    while (n < nbytes && ((unsigned char)text[n] & 0xc0) == 0x80)
        n++;
    return n;
}

static bool is_in_set(const char *point, size_t nbytes, const json_t *set)
{
    return memmem(json_string_value(set), json_string_length(set), point, nbytes) != NULL;
}

/* Code points of `set`, or white space without one, taken off. */
static json_t *strip_sides(const json_t *value, const json_t *set, bool left, bool right,
                           struct rml_error *err)
{
    const char *text = json_string_value(value);
    size_t end = json_string_length(value), begin = 0;
    if (!set) {
        begin = left ? python_leading_space_nbytes(text, end) : 0;
        if (right)
            end = begin + python_rstrip_nbytes(text + begin, end - begin);
        return text_of(text + begin, end - begin, err);
    }
    for (size_t n; left && begin < end; begin += n) {
        n = point_nbytes(text + begin, end - begin);
        if (!is_in_set(text + begin, n, set))
            break;
    }
    while (right && end > begin) {
        size_t last = end - 1;
        while (last > begin && ((unsigned char)text[last] & 0xc0) == 0x80)
            last--;
        if (!is_in_set(text + last, end - last, set))
            break;
        end = last;
    }
    return text_of(text + begin, end - begin, err);
}

static json_t *strip(const json_t *value, json_t *const *args, size_t n_args, struct rml_error *err)
{
    return are_texts("strip", value, args, n_args, err)
               ? strip_sides(value, n_args ? args[0] : NULL, true, true, err)
               : NULL;
}

static json_t *lstrip(const json_t *value, json_t *const *args, size_t n_args,
                      struct rml_error *err)
{
    return are_texts("lstrip", value, args, n_args, err)
               ? strip_sides(value, n_args ? args[0] : NULL, true, false, err)
               : NULL;
}

static json_t *rstrip(const json_t *value, json_t *const *args, size_t n_args,
                      struct rml_error *err)
{
    return are_texts("rstrip", value, args, n_args, err)
               ? strip_sides(value, n_args ? args[0] : NULL, false, true, err)
               : NULL;
}

/* ---- Case --------------------------------------------------------------------------------------------- */

/* Characters whose mapping is several characters or depends on what stands beside them (Unicode's
 * SpecialCasing.txt), and those that have a case for titles: Python treats them by rules that are
 * not made here. */
static bool is_special_case(utf8proc_int32_t c)
{
    return c == 0xdf || c == 0x130 || c == 0x149 || c == 0x1f0 || c == 0x390 || c == 0x3a3 ||
           c == 0x3b0 || c == 0x587 || (c >= 0x1c4 && c <= 0x1cc) || (c >= 0x1f1 && c <= 0x1f3) ||
           (c >= 0x1e96 && c <= 0x1e9e) || (c >= 0x1f50 && c <= 0x1f56) ||
           (c >= 0x1f80 && c <= 0x1fff) || (c >= 0xfb00 && c <= 0xfb17) ||
           (c >= 0x10d0 && c <= 0x10ff);
}

enum letter_case { LOWER, UPPER, CAPITALIZED };

static json_t *map_case(const json_t *value, enum letter_case how, struct rml_error *err)
{
    const char *text = json_string_value(value);
    size_t nbytes = json_string_length(value), n_out = 0;
    char *out = malloc(4 * nbytes + 1);
    if (!out)
        return prompt_kept(NULL, err);
    for (size_t i = 0; i < nbytes;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text + i,
                                              (utf8proc_ssize_t)(nbytes - i), &c);
        if (n < 1 || is_special_case(c)) {
            free(out);
            rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                      "the character U+%04X in upper or lower case found in a template, expected "
                      "characters with one of each",
                      (unsigned)c);
            return NULL;
        }
        bool is_upper = how == UPPER || (how == CAPITALIZED && i == 0);
        c = is_upper ? utf8proc_toupper(c) : utf8proc_tolower(c);
        n_out += (size_t)utf8proc_encode_char(c, (utf8proc_uint8_t *)out + n_out);
        i += (size_t)n;
    }
    json_t *mapped = text_of(out, n_out, err);
    free(out);
    return mapped;
}

static json_t *lower(const json_t *value, json_t *const *args, size_t n_args, struct rml_error *err)
{
    return are_texts("lower", value, args, n_args, err) ? map_case(value, LOWER, err) : NULL;
}

static json_t *upper(const json_t *value, json_t *const *args, size_t n_args, struct rml_error *err)
{
    return are_texts("upper", value, args, n_args, err) ? map_case(value, UPPER, err) : NULL;
}

static json_t *capitalize(const json_t *value, json_t *const *args, size_t n_args,
                          struct rml_error *err)
{
    return are_texts("capitalize", value, args, n_args, err) ? map_case(value, CAPITALIZED, err)
                                                             : NULL;
}

/* ---- Searching ------------------------------------------------------------------------------------------ */

static json_t *replace(const json_t *value, json_t *const *args, size_t n_args,
                       struct rml_error *err)
{
    if (!are_texts("replace", value, args, n_args, err))
        return NULL;
    const char *text = json_string_value(value), *end = text + json_string_length(value);
    const char *old = json_string_value(args[0]), *by = json_string_value(args[1]);
    size_t n_old = json_string_length(args[0]), n_by = json_string_length(args[1]), n = 0;
    if (n_old == 0) {
        rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                  "'replace' of empty text found in a template, expected text that can occur");
        return NULL;
    }
    size_t n_found = 0;
    for (const char *at = text; (at = memmem(at, (size_t)(end - at), old, n_old)); at += n_old)
        n_found++;
    char *out = malloc((size_t)(end - text) + n_found * n_by + 1);
    if (!out)
        return prompt_kept(NULL, err);
    while (text < end) {
        const char *at = memmem(text, (size_t)(end - text), old, n_old);
        size_t before = (size_t)((at ? at : end) - text);
        memcpy(out + n, text, before);
        n += before;
        if (at) {
            memcpy(out + n, by, n_by);
            n += n_by;
        }
        text = at ? at + n_old : end;
    }
    json_t *replaced = text_of(out, n, err);
    free(out);
    return replaced;
}

/* A list whose making came to its end, or not. */
static json_t *whole(json_t *parts, bool ok, struct rml_error *err)
{
    if (ok)
        return parts;
    json_decref(parts);
    return prompt_kept(NULL, err);
}

static bool append_part(json_t *parts, const char *text, size_t nbytes)
{
    return json_array_append_new(parts, json_stringn(text, nbytes)) == 0;
}

/* By white space, which leaves no empty pieces. */
static bool split_space(json_t *parts, const char *text, size_t nbytes)
{
    bool ok = true;
    for (size_t i = python_leading_space_nbytes(text, nbytes); ok && i < nbytes;) {
        size_t end = i;
        while (end < nbytes && python_leading_space_nbytes(text + end, nbytes - end) == 0)
            end += point_nbytes(text + end, nbytes - end);
        ok = append_part(parts, text + i, end - i);
        i = end + python_leading_space_nbytes(text + end, nbytes - end);
    }
    return ok;
}

static json_t *split(const json_t *value, json_t *const *args, size_t n_args, struct rml_error *err)
{
    if (!are_texts("split", value, args, n_args, err))
        return NULL;
    const char *text = json_string_value(value), *end = text + json_string_length(value);
    json_t *parts = json_array();
    if (n_args == 0)
        return whole(parts, parts && split_space(parts, text, (size_t)(end - text)), err);
    const char *by = json_string_value(args[0]);
    size_t n_by = json_string_length(args[0]);
    if (n_by == 0) {
        json_decref(parts);
        rmli_fail(err, RML_FORMAT, NULL, -1,
                  "'split' by empty text found in a template, expected text that can occur");
        return NULL;
    }
    bool ok = parts;
    for (const char *at; ok && (at = memmem(text, (size_t)(end - text), by, n_by));
         text = at + n_by)
        ok = append_part(parts, text, (size_t)(at - text));
    ok = ok && append_part(parts, text, (size_t)(end - text));
    return whole(parts, ok, err);
}

static json_t *find_index(const json_t *value, json_t *const *args, size_t n_args,
                          struct rml_error *err)
{
    char shown[48] = "";
    for (size_t i = 0; i < json_array_size(value); i++)
        if (prompt_equal(json_array_get(value, i), args[0]))
            return prompt_kept(json_integer((json_int_t)i), err);
    if (json_is_string(value) && are_texts("index", value, args, n_args, err)) {
        const char *text = json_string_value(value);
        const char *at = memmem(text, json_string_length(value), json_string_value(args[0]),
                                json_string_length(args[0]));
        if (at)
            return prompt_kept(json_integer((json_int_t)python_length(text, (size_t)(at - text))),
                               err);
    }
    json_t *what = prompt_text(args[0], err);
    if (what)
        snprintf(shown, sizeof shown, "%s", json_string_value(what));
    json_decref(what);
    rmli_fail(err, RML_FORMAT, NULL, -1, "'index' of '%s' found, which is not among the values",
              shown);
    return NULL;
}

static json_t *startswith(const json_t *value, json_t *const *args, size_t n_args,
                          struct rml_error *err)
{
    if (!are_texts("startswith", value, args, n_args, err))
        return NULL;
    size_t n = json_string_length(args[0]);
    return json_boolean(json_string_length(value) >= n &&
                        memcmp(json_string_value(value), json_string_value(args[0]), n) == 0);
}

static json_t *endswith(const json_t *value, json_t *const *args, size_t n_args,
                        struct rml_error *err)
{
    if (!are_texts("endswith", value, args, n_args, err))
        return NULL;
    size_t n = json_string_length(args[0]), all = json_string_length(value);
    return json_boolean(
        all >= n && memcmp(json_string_value(value) + all - n, json_string_value(args[0]), n) == 0);
}

/* ---- Lists --------------------------------------------------------------------------------------------------- */

/* Code points of a text as a list; a list as it is. */
static json_t *list(const json_t *value, json_t *const *args, size_t n_args, struct rml_error *err)
{
    (void)args, (void)n_args;
    if (json_is_array(value))
        return json_incref((json_t *)(uintptr_t)value);
    if (!are_texts("list", value, NULL, 0, err))
        return NULL;
    const char *text = json_string_value(value);
    json_t *points = json_array();
    bool ok = points;
    for (size_t i = 0, n; ok && i < json_string_length(value); i += n) {
        n = point_nbytes(text + i, json_string_length(value) - i);
        ok = append_part(points, text + i, n);
    }
    return whole(points, ok, err);
}

/* Jinja's filter: str() of each, with text between. */
static json_t *join(const json_t *value, json_t *const *args, size_t n_args, struct rml_error *err)
{
    const json_t *between = n_args > 0 ? args[0] : NULL;
    if (between && !json_is_string(between)) {
        rmli_fail(err, RML_FORMAT, NULL, -1, "'join' without text between found in a template");
        return NULL;
    }
    json_t *items = list(value, NULL, 0, err);
    struct rml_bytes out = {0};
    bool ok = items;
    for (size_t i = 0; ok && i < json_array_size(items); i++) {
        json_t *text = prompt_text(json_array_get(items, i), err);
        ok = text && (i == 0 || !between || append_text(&out, between, err)) &&
             append_text(&out, text, err);
        json_decref(text);
    }
    json_decref(items);
    return prompt_text_of_bytes(ok, &out, err);
}

/* ' '.join(list): of texts only. */
static json_t *join_method(const json_t *value, json_t *const *args, size_t n_args,
                           struct rml_error *err)
{
    (void)n_args;
    for (size_t i = 0; i < json_array_size(args[0]); i++)
        if (!are_texts("join", json_array_get(args[0], i), NULL, 0, err))
            return NULL;
    json_t *between = json_incref((json_t *)(uintptr_t)value);
    json_t *joined =
        are_texts("join", value, NULL, 0, err) ? join(args[0], &between, 1, err) : NULL;
    json_decref(between);
    return joined;
}

static json_t *end_item(const json_t *value, json_int_t at, struct rml_error *err)
{
    bool is_undefined = false;
    json_t *index = json_integer(at);
    json_t *item = prompt_item(value, index, &is_undefined, err);
    json_decref(index);
    if (is_undefined)
        rmli_fail(err, RML_FORMAT, NULL, -1, "'%s' of nothing found in a template",
                  at ? "last" : "first");
    return item;
}

static json_t *first(const json_t *value, json_t *const *args, size_t n_args, struct rml_error *err)
{
    (void)args, (void)n_args;
    return end_item(value, 0, err);
}

static json_t *last(const json_t *value, json_t *const *args, size_t n_args, struct rml_error *err)
{
    (void)args, (void)n_args;
    return end_item(value, -1, err);
}

static json_t *length(const json_t *value, json_t *const *args, size_t n_args,
                      struct rml_error *err)
{
    (void)args, (void)n_args;
    if (json_is_array(value) || json_is_object(value))
        return prompt_kept(
            json_integer((json_int_t)(json_is_array(value) ? json_array_size(value)
                                                           : json_object_size(value))),
            err);
    return are_texts("length", value, NULL, 0, err)
               ? prompt_kept(json_integer((json_int_t)python_length(json_string_value(value),
                                                                    json_string_length(value))),
                             err)
               : NULL;
}

/* ---- Types -------------------------------------------------------------------------------------------------------- */

static json_t *string(const json_t *value, json_t *const *args, size_t n_args,
                      struct rml_error *err)
{
    (void)args, (void)n_args;
    return prompt_text(value, err);
}

/* Jinja's filter: int(), of a number's text its whole part, else 0. */
static json_t *integer(const json_t *value, json_t *const *args, size_t n_args,
                       struct rml_error *err)
{
    (void)args, (void)n_args;
    if (json_is_integer(value))
        return json_incref((json_t *)(uintptr_t)value);
    double number = json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
    if (json_is_string(value)) {
        char *end;
        json_t *stripped = strip_sides(value, NULL, true, true, err);
        const char *text = stripped ? json_string_value(stripped) : "";
        number = strtod(text, &end);
        if (*end || text[strspn(text, "+-0123456789.eE")])
            number = 0;
        json_decref(stripped);
    }
    return prompt_kept(json_integer(fabs(number) < 9e15 ? (json_int_t)number : 0), err);
}

/* `default` is evaluated where it is known what is defined (prompt_template.c). */
static json_t *keep_value(const json_t *value, json_t *const *args, size_t n_args,
                          struct rml_error *err)
{
    (void)args, (void)n_args, (void)err;
    return json_incref((json_t *)(uintptr_t)value);
}

/* ---- By name ---------------------------------------------------------------------------------------------------------- */

struct named {
    const char *name;
    size_t least, most; /* arguments */
    function *call;
};

static const struct named methods[] = {{"strip", 0, 1, strip},
                                       {"lstrip", 0, 1, lstrip},
                                       {"rstrip", 0, 1, rstrip},
                                       {"lower", 0, 0, lower},
                                       {"upper", 0, 0, upper},
                                       {"index", 1, 1, find_index},
                                       {"capitalize", 0, 0, capitalize},
                                       {"replace", 2, 2, replace},
                                       {"split", 0, 1, split},
                                       {"startswith", 1, 1, startswith},
                                       {"endswith", 1, 1, endswith},
                                       {"join", 1, 1, join_method},
                                       {NULL, 0, 0, NULL}};

static const struct named filters[] = {
    {"trim", 0, 0, strip},    {"string", 0, 0, string},         {"int", 0, 0, integer},
    {"length", 0, 0, length}, {"count", 0, 0, length},          {"join", 0, 1, join},
    {"list", 0, 0, list},     {"lower", 0, 0, lower},           {"upper", 0, 0, upper},
    {"first", 0, 0, first},   {"capitalize", 0, 0, capitalize}, {"replace", 2, 2, replace},
    {"last", 0, 0, last},     {"default", 0, 1, keep_value},    {"d", 0, 1, keep_value},
    {NULL, 0, 0, NULL}};

static const struct named *find(const struct named *all, const char *name)
{
    while (all->name && strcmp(all->name, name) != 0)
        all++;
    return all->name ? all : NULL;
}

bool prompt_has_method(const char *name, size_t n_args)
{
    const struct named *method = find(methods, name);
    return method && n_args >= method->least && n_args <= method->most;
}

bool prompt_has_filter(const char *name, size_t n_args)
{
    const struct named *filter = find(filters, name);
    return filter && n_args >= filter->least && n_args <= filter->most;
}

json_t *prompt_method(const char *name, const json_t *value, json_t *const *args, size_t n_args,
                      struct rml_error *err)
{
    return find(methods, name)->call(value, args, n_args, err);
}

/* Filters that make text of text take str() of anything else, as Jinja's do. */
json_t *prompt_filter(const char *name, const json_t *value, json_t *const *args, size_t n_args,
                      struct rml_error *err)
{
    static const char *const of_text[] = {"trim", "lower", "upper", "capitalize", "replace"};
    for (size_t i = 0; i < sizeof of_text / sizeof of_text[0]; i++)
        if (strcmp(name, of_text[i]) == 0 && !json_is_string(value)) {
            json_t *text = prompt_text(value, err);
            json_t *made = text ? find(filters, name)->call(text, args, n_args, err) : NULL;
            json_decref(text);
            return made;
        }
    return find(filters, name)->call(value, args, n_args, err);
}
