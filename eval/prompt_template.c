/*
 * Rendering a template: its tree evaluated over a document.
 *
 * What is not defined (a field that the document does not have) is a state beside the values: a
 * test or the filter `default` may ask for it, anything else fails on it and names it.
 */
#include "eval/prompt_template.h"

#include <jansson.h>
#include <string.h>

#include "eval/prompt_node.h"
#include "tools/cli/byte_input.h"

struct evaluation {
    const json_t *document; /* NULL: no fields */
    struct rml_error *err;
};

/* A value, or nothing: then either *err says why or `undefined` names what is not defined. */
struct result {
    json_t *value;
    const char *undefined;
};

/* What "e if e" is without its condition: nothing that is defined, but Jinja writes it as "". */
static const char blank[] = "else";

static struct result evaluate(struct evaluation *e, const struct prompt_node *node);

static json_t *value_of(struct evaluation *e, struct result r)
{
    if (r.undefined == blank)
        rmli_fail(e->err, RML_FORMAT, NULL, -1, "an 'if' without 'else' found, expected a value");
    else if (r.undefined)
        rmli_fail(e->err, RML_FORMAT, NULL, -1, "no field '%.60s' found, expected a value",
                  r.undefined);
    return r.value;
}

/* The value of an expression that has to be defined. */
static json_t *defined(struct evaluation *e, const struct prompt_node *node)
{
    return value_of(e, evaluate(e, node));
}

/* The same where it is written out. */
static json_t *written(struct evaluation *e, const struct prompt_node *node)
{
    struct result r = evaluate(e, node);
    return r.undefined == blank ? json_string("") : value_of(e, r);
}

/* ---- Expressions ------------------------------------------------------------------------------ */

static struct result field_of(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    return value ? (struct result){.value = json_incref(value)}
                 : (struct result){.undefined = name};
}

static json_t *list(struct evaluation *e, const struct prompt_node *node)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < node->n_args; i++)
        if (json_array_append_new(array, defined(e, node->args[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static struct result item(struct evaluation *e, const struct prompt_node *node)
{
    json_t *of = defined(e, node->a), *at = of ? defined(e, node->b) : NULL;
    struct result r = {0};
    bool is_undefined = false;
    if (at)
        r.value = prompt_item(of, at, &is_undefined, e->err);
    if (is_undefined)
        r.undefined = json_is_string(at) ? "of that name" : "at that place";
    json_decref(of);
    json_decref(at);
    return r;
}

static json_t *slice(struct evaluation *e, const struct prompt_node *node)
{
    json_t *of = defined(e, node->a);
    json_t *from = of && node->b ? defined(e, node->b) : NULL;
    json_t *to = of && node->c ? defined(e, node->c) : NULL;
    json_t *value =
        of && (from || !node->b) && (to || !node->c) ? prompt_slice(of, from, to, e->err) : NULL;
    json_decref(of);
    json_decref(from);
    json_decref(to);
    return value;
}

static json_t *call(struct evaluation *e, const struct prompt_node *node)
{
    json_t *args[PROMPT_MAX_ARGS] = {0}, *value = NULL, *of = NULL;
    bool ok = true;
    bool has_default = node->kind == PROMPT_FILTER &&
                       (strcmp(node->name, "default") == 0 || strcmp(node->name, "d") == 0);
    struct result r = evaluate(e, node->a);
    if (r.undefined && has_default)
        return node->n_args > 0 ? defined(e, node->args[0]) : json_string("");
    of = value_of(e, r);
    if (has_default || !of)
        return of;
    for (size_t i = 0; ok && i < node->n_args; i++)
        ok = (args[i] = defined(e, node->args[i])) != NULL;
    if (ok)
        value = node->kind == PROMPT_METHOD
                    ? prompt_method(node->name, of, args, node->n_args, e->err)
                    : prompt_filter(node->name, of, args, node->n_args, e->err);
    for (size_t i = 0; i < node->n_args; i++)
        json_decref(args[i]);
    json_decref(of);
    return value;
}

static json_t *test(struct evaluation *e, const struct prompt_node *node)
{
    struct result r = evaluate(e, node->a);
    bool is_none = json_is_null(r.value);
    bool is_defined = !r.undefined;
    json_decref(r.value);
    if (!r.value && is_defined)
        return NULL;
    return json_boolean(strcmp(node->name, "none") == 0      ? is_none
                        : strcmp(node->name, "defined") == 0 ? is_defined
                                                             : !is_defined);
}

static json_t *binary(struct evaluation *e, const struct prompt_node *node)
{
    bool writes = strcmp(node->name, "~") == 0;
    json_t *a = writes ? written(e, node->a) : defined(e, node->a);
    bool is_or = strcmp(node->name, "or") == 0;
    if (a && (is_or || strcmp(node->name, "and") == 0)) {
        if (prompt_truth(a) == is_or)
            return a;
        json_decref(a);
        return defined(e, node->b);
    }
    json_t *b = !a ? NULL : writes ? written(e, node->b) : defined(e, node->b);
    json_t *value = b ? prompt_binary(node->name, a, b, e->err) : NULL;
    json_decref(a);
    json_decref(b);
    return value;
}

static json_t *negative(struct evaluation *e, const struct prompt_node *node)
{
    json_t *of = defined(e, node->a), *zero = json_integer(0);
    json_t *value = of ? prompt_binary("-", zero, of, e->err) : NULL;
    json_decref(of);
    json_decref(zero);
    return value;
}

/* -1: the condition has no value. */
static int truth(struct evaluation *e, const struct prompt_node *node)
{
    json_t *value = defined(e, node);
    int is_true = value ? prompt_truth(value) : -1;
    json_decref(value);
    return is_true;
}

static struct result evaluate(struct evaluation *e, const struct prompt_node *node)
{
    int is_true;
    switch (node->kind) {
    case PROMPT_CONSTANT:
        return (struct result){.value = json_incref(node->value)};
    case PROMPT_NAME:
        return field_of(e->document, json_string_value(node->value));
    case PROMPT_FIELD: {
        json_t *of = defined(e, node->a);
        struct result r = {0};
        if (of)
            r = field_of(of, json_string_value(node->value));
        json_decref(of);
        return r;
    }
    case PROMPT_ITEM:
        return item(e, node);
    case PROMPT_SLICE:
        return (struct result){.value = slice(e, node)};
    case PROMPT_METHOD:
    case PROMPT_FILTER:
        return (struct result){.value = call(e, node)};
    case PROMPT_TEST:
        return (struct result){.value = test(e, node)};
    case PROMPT_LIST:
        return (struct result){.value = list(e, node)};
    case PROMPT_NOT:
        is_true = truth(e, node->a);
        return (struct result){.value = is_true < 0 ? NULL : json_boolean(!is_true)};
    case PROMPT_NEGATIVE:
        return (struct result){.value = negative(e, node)};
    case PROMPT_BINARY:
        return (struct result){.value = binary(e, node)};
    case PROMPT_CHOOSE:
        is_true = truth(e, node->a);
        if (is_true == 0 && !node->c)
            return (struct result){.undefined = blank};
        return is_true < 0 ? (struct result){0} : evaluate(e, is_true ? node->b : node->c);
    default:
        rmli_fail(e->err, RML_INTERNAL, NULL, -1, "a statement within an expression");
        return (struct result){0};
    }
}

json_t *prompt_value(const struct prompt_node *node, const json_t *document, struct rml_error *err)
{
    struct evaluation e = {.document = document, .err = err};
    return defined(&e, node);
}

/* ---- Statements --------------------------------------------------------------------------------- */

static bool append(struct rml_bytes *out, const json_t *text, struct rml_error *err)
{
    return cli_bytes_append(out, json_string_value(text), json_string_length(text), err);
}

static bool render(struct evaluation *e, const struct prompt_node *node, struct rml_bytes *out)
{
    bool ok = true;
    for (; ok && node; node = node->next) {
        if (node->kind == PROMPT_TEXT) {
            ok = append(out, node->value, e->err);
        } else if (node->kind == PROMPT_IF) {
            int is_true = truth(e, node->a);
            ok = is_true >= 0 && render(e, is_true ? node->b : node->c, out);
        } else {
            json_t *value = written(e, node->a);
            json_t *text = value ? prompt_text(value, e->err) : NULL;
            ok = text && append(out, text, e->err);
            json_decref(value);
            json_decref(text);
        }
    }
    return ok;
}

bool prompt_template_is_plain(const struct prompt_template *template)
{
    return !template->first || (template->first->kind == PROMPT_TEXT && !template->first->next);
}

json_t *prompt_template_render(const struct prompt_template *template, const json_t *document,
                               struct rml_error *err)
{
    struct evaluation e = {.document = document, .err = err};
    struct rml_bytes out = {0};
    bool ok = render(&e, template->first, &out);
    return prompt_text_of_bytes(ok, &out, err);
}

/* A list in one pair of braces is what its text would be read as again. */
json_t *prompt_template_literal(const struct prompt_template *template, const json_t *document,
                                struct rml_error *err)
{
    const struct prompt_node *first = template->first;
    if (first && !first->next && first->kind == PROMPT_OUTPUT) {
        json_t *value = prompt_value(first->a, document, err);
        if (!value || json_is_array(value))
            return value;
        json_decref(value);
    }
    json_t *text = prompt_template_render(template, document, err);
    json_t *value =
        text ? python_literal(json_string_value(text), json_string_length(text), err) : NULL;
    json_decref(text);
    return value;
}
