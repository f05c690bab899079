/*
 * Types of columns.
 *
 * What is known of a column is an object: which kinds of values it has ("text", "real", "whole",
 * "truth", "list", "object"), "element" of what its lists hold, "fields" of what its objects have,
 * "varied" where the keys of these differ.
 */
#include "eval/data_columns.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/parse.h"

#define MAX_WHOLE 9007199254740992.0 /* 2^53: beyond it doubles skip whole numbers */

/* The part of a column, made when it is not there; borrowed. NULL: no memory. */
static json_t *part_of(json_t *column, const char *name)
{
    json_t *part = json_object_get(column, name);
    if (!part && json_object_set_new(column, name, json_object()) == 0)
        part = json_object_get(column, name);
    return part;
}

static bool mark(json_t *column, const char *name)
{
    return json_object_set_new(column, name, json_true()) == 0;
}

static bool learn(json_t *column, const json_t *value);

static bool learn_object(json_t *column, const json_t *object)
{
    bool is_first = !json_object_get(column, "fields");
    json_t *fields = part_of(column, "fields"), *value;
    const char *key;
    size_t n_before = json_object_size(fields);
    bool ok = fields;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        json_t *field = ok ? part_of(fields, key) : NULL;
        ok = field && learn(field, value);
    }
    bool differs = json_object_size(fields) != json_object_size(object) ||
                   (!is_first && json_object_size(fields) != n_before);
    return ok && (!differs || mark(column, "varied"));
}

static bool learn(json_t *column, const json_t *value)
{
    if (json_is_real(value))
        return mark(column, "real");
    if (json_is_integer(value))
        return mark(column, "whole");
    if (json_is_string(value))
        return mark(column, "text");
    if (json_is_boolean(value))
        return mark(column, "truth");
    if (json_is_object(value))
        return mark(column, "object") && learn_object(column, value);
    bool ok = !json_is_array(value) || mark(column, "list");
    for (size_t i = 0; ok && i < json_array_size(value); i++) {
        json_t *element = part_of(column, "element");
        ok = element && learn(element, json_array_get(value, i));
    }
    return ok;
}

static bool has(const json_t *column, const char *kind)
{
    return json_object_get(column, kind);
}

/* Of values of several kinds: `datasets` keeps it as JSON. */
static bool is_mixed(const json_t *column)
{
    return has(column, "text") + (has(column, "real") || has(column, "whole")) +
               has(column, "truth") + has(column, "list") + has(column, "object") >
           1;
}

/* A record is a row of columns, whichever of them it has. */
static bool learn_record(json_t *fields, const json_t *record)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)record, key, value)
    {
        json_t *column = part_of(fields, key);
        if (!column || !learn(column, value))
            return false;
    }
    return true;
}

/* ---- Values of another type --------------------------------------------------------------------- */

/* Why a value cannot be had in its column's type. */
struct misfit {
    const json_t *value; /* borrowed; NULL: none */
    const char *expected;
};

static json_t *refuse(struct misfit *misfit, const json_t *value, const char *expected)
{
    *misfit = (struct misfit){value, expected};
    return NULL;
}

static bool is_whole_text(const char *text)
{
    const char *digits = text + (*text == '-');
    size_t n = strspn(digits, "0123456789");
    return n > 0 && n < 16 && !digits[n] && (digits[0] != '0' || text[1] == 0);
}

/* Strings of a column that is kept as JSON are read as such: "7" is 7, "null" None. */
static json_t *from_mixed(json_t *value, struct misfit *misfit)
{
    const char *text = json_string_value(value);
    if (!text)
        return json_incref(value);
    if (is_whole_text(text))
        return json_integer(strtoll(text, NULL, 10));
    const char *begin = text + strspn(text, " \t\r\n");
    bool is_json = *begin && strchr("-0123456789\"[{", *begin);
    static const char *const words[] = {"true", "false", "null", "NaN", "Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        is_json |= strncmp(begin, words[i], strlen(words[i])) == 0;
    return is_json ? refuse(misfit, value, "values of one type, or no text that is JSON,")
                   : json_incref(value);
}

/* As Arrow writes it: "40" for 40.0, with an exponent from 1e10 on, which is refused. */
static json_t *number_as_text(const json_t *value, struct misfit *misfit)
{
    char text[40];
    double x = json_number_value(value);
    if (json_is_integer(value))
        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    for (int digits = 15; json_is_real(value) && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    bool has_exponent = strchr(text, 'e') || (json_is_real(value) && fabs(x) >= 1e10);
    return has_exponent ? refuse(misfit, value, "text") : json_string(text);
}

static json_t *text_as_number(const json_t *column, const json_t *value, struct misfit *misfit)
{
    const char *text = json_string_value(value);
    double x;
    if (has(column, "real") && cli_parse_f64(text, -1e300, 1e300, &x))
        return json_real(x);
    return !has(column, "real") && is_whole_text(text) ? json_integer(strtoll(text, NULL, 10))
                                                       : refuse(misfit, value, "a number");
}

static json_t *as_number(const json_t *column, const json_t *value, struct misfit *misfit)
{
    if (json_is_string(value))
        return text_as_number(column, value, misfit);
    if (has(column, "real"))
        return json_real(json_is_boolean(value) ? json_is_true(value) : json_number_value(value));
    if (json_is_boolean(value))
        return json_integer(json_is_true(value));
    double x = json_number_value(value);
    return x == floor(x) && fabs(x) <= MAX_WHOLE ? json_integer((json_int_t)x)
                                                 : refuse(misfit, value, "a whole number");
}

/* A scalar of a column of scalars of one kind. */
static json_t *converted_scalar(const json_t *column, json_t *value, struct misfit *misfit)
{
    bool is_number = json_is_number(value), is_truth = json_is_boolean(value);
    if (has(column, "text") && is_number)
        return number_as_text(value, misfit);
    if (has(column, "text") && is_truth)
        return json_string(json_is_true(value) ? "true" : "false");
    if (has(column, "truth") && is_number)
        return json_boolean(json_number_value(value) != 0);
    if (has(column, "truth") && json_is_string(value))
        return refuse(misfit, value, "true or false");
    bool is_numbers = has(column, "whole") || has(column, "real");
    if (is_numbers && !(json_is_integer(value) && !has(column, "real")))
        return as_number(column, value, misfit);
    return json_incref(value);
}

/* ---- Columns of values --------------------------------------------------------------------------- */

static json_t *converted(const json_t *column, const json_t *own, json_t *value,
                         struct misfit *misfit);

/* With all the fields of its column, in their order: one that is missing is None. */
static json_t *converted_object(const json_t *column, const json_t *own, json_t *object,
                                struct misfit *misfit)
{
    json_t *fields = json_object_get(column, "fields"), *field, *part, *made = json_object();
    const json_t *own_fields = json_object_get(own, "fields");
    const char *key;
    bool ok = made;
    json_object_foreach(fields, key, field)
    {
        part = json_object_get(object, key);
        ok = ok && json_object_set_new(
                       made, key,
                       part ? converted(field, json_object_get(own_fields, key), part, misfit)
                            : json_null()) == 0;
    }
    json_object_foreach(object, key, part)
    {
        if (!json_object_get(fields, key))
            ok = ok && json_object_set(made, key, part) == 0;
    }
    if (ok)
        return made;
    json_decref(made);
    return NULL;
}

/* The value in the type of its column, a new reference; `own` is what its own split has there. NULL
 * when there is no memory, or with *misfit. */
static json_t *converted(const json_t *column, const json_t *own, json_t *value,
                         struct misfit *misfit)
{
    bool is_object = json_is_object(value) && !has(column, "varied");
    if (is_mixed(column))
        return from_mixed(value, misfit);
    if (is_mixed(own) && json_object_size(column) > 0)
        return refuse(misfit, value, "values of one type");
    if (json_is_object(value) && has(column, "text"))
        return refuse(misfit, value, "text");
    if (json_is_string(value) || json_is_number(value) || json_is_boolean(value))
        return converted_scalar(column, value, misfit);
    if (!is_object && !json_is_array(value))
        return json_incref(value);
    json_t *made = is_object ? converted_object(column, own, value, misfit) : json_array();
    bool ok = made;
    for (size_t i = 0; ok && !is_object && i < json_array_size(value); i++)
        ok = json_array_append_new(made, converted(json_object_get(column, "element"),
                                                   json_object_get(own, "element"),
                                                   json_array_get(value, i), misfit)) == 0;
    if (ok)
        return made;
    json_decref(made);
    return NULL;
}

static bool tell_misfit(const struct data_records *records, size_t i, const char *key,
                        const struct misfit *misfit, struct rml_error *err)
{
    char *found = json_dumps(misfit->value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    data_fail(records, i, err,
              "%.100s found in \"%s\", expected %s as in the split that data_files names first",
              found ? found : "", key, misfit->expected);
    free(found);
    return false;
}

static bool convert_record(const json_t *fields, const json_t *own, struct data_records *records,
                           size_t i, struct rml_error *err)
{
    const char *key;
    json_t *value, *record = json_object();
    bool ok = record || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the documents");
    json_object_foreach(records->records[i].object, key, value)
    {
        struct misfit misfit = {0};
        json_t *made =
            ok ? converted(json_object_get(fields, key), json_object_get(own, key), value, &misfit)
               : NULL;
        if (ok && misfit.value)
            ok = tell_misfit(records, i, key, &misfit, err);
        else if (ok && json_object_set_new(record, key, made) != 0)
            ok = rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the documents");
    }
    if (ok) {
        json_decref(records->records[i].object);
        records->records[i].object = record;
    } else {
        json_decref(record);
    }
    return ok;
}

/* What is known of all columns; NULL when there is no memory. */
static json_t *learn_records(const struct data_records *records)
{
    json_t *fields = json_object();
    bool ok = fields;
    for (size_t i = 0; ok && i < records->n; i++)
        ok = learn_record(fields, records->records[i].object);
    if (ok)
        return fields;
    json_decref(fields);
    return NULL;
}

bool data_columns_unify(const struct data_records *first, struct data_records *const *all, size_t n,
                        struct rml_error *err)
{
    json_t *fields = learn_records(first);
    bool ok = fields;
    for (size_t k = 0; ok && k < n; k++) {
        json_t *own = all[k] == first ? json_incref(fields) : learn_records(all[k]);
        ok = own;
        for (size_t i = 0; ok && i < all[k]->n; i++)
            ok = convert_record(fields, own, all[k], i, err);
        json_decref(own);
    }
    json_decref(fields);
    return ok || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the documents");
}
