/*
 * Types of columns.
 *
 * What is known of a column is an object: "real" and "whole" where there are such numbers,
 * "element" of what its lists hold, "fields" of what its objects have, "varied" where the keys of
 * these differ.
 */
#include "eval/data_columns.h"

#include <jansson.h>
#include <math.h>

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
    bool ok = true;
    if (json_is_real(value))
        return mark(column, "real");
    if (json_is_integer(value))
        return mark(column, "whole");
    if (json_is_object(value))
        return learn_object(column, value);
    for (size_t i = 0; ok && i < json_array_size(value); i++) {
        json_t *element = part_of(column, "element");
        ok = element && learn(element, json_array_get(value, i));
    }
    return ok;
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

/* The value with the column's numbers, a new reference; NULL when there is no memory, or with *bad
 * a fraction where the column has none. */
static json_t *converted(const json_t *column, json_t *value, double *bad)
{
    if (json_is_integer(value) && json_object_get(column, "real"))
        return json_real((double)json_integer_value(value));
    if (json_is_real(value) && json_object_get(column, "whole") &&
        !json_object_get(column, "real")) {
        double x = json_real_value(value);
        if (x == floor(x) && fabs(x) <= MAX_WHOLE)
            return json_integer((json_int_t)x);
        *bad = x;
        return NULL;
    }
    bool is_object = json_is_object(value) && !json_object_get(column, "varied");
    if (!is_object && !json_is_array(value))
        return json_incref(value);
    json_t *made = is_object ? json_object() : json_array(), *part;
    const char *key;
    bool ok = made;
    if (is_object) {
        const json_t *fields = json_object_get(column, "fields");
        json_object_foreach(value, key, part) ok =
            ok &&
            json_object_set_new(made, key, converted(json_object_get(fields, key), part, bad)) == 0;
    }
    for (size_t i = 0; ok && !is_object && i < json_array_size(value); i++)
        ok = json_array_append_new(made, converted(json_object_get(column, "element"),
                                                   json_array_get(value, i), bad)) == 0;
    if (ok)
        return made;
    json_decref(made);
    return NULL;
}

static bool convert(const json_t *fields, struct data_records *records, struct rml_error *err)
{
    for (size_t i = 0; i < records->n; i++) {
        const char *key;
        json_t *value, *record = json_object();
        bool ok = record;
        json_object_foreach(records->records[i].object, key, value)
        {
            double bad = NAN;
            ok = ok && json_object_set_new(
                           record, key, converted(json_object_get(fields, key), value, &bad)) == 0;
            if (!isnan(bad)) {
                json_decref(record);
                return data_fail(records, i, err,
                                 "%.17g found in \"%s\", expected a whole number as in the split "
                                 "that data_files names first",
                                 bad, key);
            }
        }
        if (!ok) {
            json_decref(record);
            return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the documents");
        }
        json_decref(records->records[i].object);
        records->records[i].object = record;
    }
    return true;
}

bool data_columns_unify(struct data_records *first, struct data_records *second,
                        struct rml_error *err)
{
    json_t *fields = json_object();
    bool ok = fields;
    for (size_t i = 0; ok && i < first->n; i++)
        ok = learn_record(fields, first->records[i].object);
    if (!ok)
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for the documents");
    ok = ok && convert(fields, first, err) &&
         (!second || second == first || convert(fields, second, err));
    json_decref(fields);
    return ok;
}
