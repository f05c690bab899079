/*
 * Reading the expressions of a template: recursive descent over its characters, by Jinja's grammar
 * and precedences.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "eval/prompt_parser.h"

/* ---- Helpers --------------------------------------------------------------------------------- */

/* What stands at a place, for messages. */
struct prompt_node *parser_refuse(struct prompt_parser *p, const char *at, const char *expected)
{
    size_t n = (size_t)(p->end - at), shown = 0;
    while (shown < n && shown < 30 && at[shown] != '\n')
        shown++;
    if (n == 0)
        rmli_fail(p->err, RML_FORMAT, NULL, -1, "the end of the template found, expected %s",
                  expected);
    else
        rmli_fail(p->err, RML_UNSUPPORTED, NULL, -1, "'%.*s' found in a template, expected %s",
                  (int)shown, at, expected);
    return NULL;
}

struct prompt_node *parser_node(struct prompt_parser *p, enum prompt_kind kind, const char *name,
                                struct prompt_node *a, struct prompt_node *b)
{
    struct prompt_node *n = calloc(1, sizeof *n);
    if (!n) {
        rmli_fail(p->err, RML_NO_MEMORY, NULL, -1, "no memory for a template");
        return NULL;
    }
    n->kind = kind;
    if (name)
        memcpy(n->name, name, strnlen(name, sizeof n->name - 1));
    n->a = a;
    n->b = b;
    n->allocated = p->template->allocated;
    p->template->allocated = n;
    return n;
}

/* Takes over `value`. */
struct prompt_node *parser_constant(struct prompt_parser *p, enum prompt_kind kind, json_t *value)
{
    struct prompt_node *n =
        prompt_kept(value, p->err) ? parser_node(p, kind, NULL, NULL, NULL) : NULL;
    if (n)
        n->value = value;
    else
        json_decref(value);
    return n;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

void parser_skip_space(struct prompt_parser *p)
{
    while (p->at < p->end && strchr(" \t\n\r\f\v", *p->at) && *p->at)
        p->at++;
}

/* Whether the text comes next; a word only as a whole one. */
static bool is_next(struct prompt_parser *p, const char *text)
{
    parser_skip_space(p);
    size_t n = strlen(text);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, text, n) != 0)
        return false;
    return !is_name_char(text[0]) || p->at + n == p->end || !is_name_char(p->at[n]);
}

bool parser_take(struct prompt_parser *p, const char *text)
{
    if (!is_next(p, text))
        return false;
    p->at += strlen(text);
    return true;
}

bool parser_need(struct prompt_parser *p, const char *text, const char *what)
{
    return parser_take(p, text) || parser_refuse(p, p->at, what);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static bool append_code_point(struct rml_bytes *out, uint32_t c)
{
    char bytes[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return false;
    for (size_t i = n; i-- > 1; c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    bytes[0] = (char)(lead[n] | c);
    memcpy(out->data + out->n, bytes, n);
    out->n += n;
    return true;
}

/* The escape behind a backslash. `out` has room: no escape is shorter than what it stands for. */
static bool unescape(struct prompt_parser *p, struct rml_bytes *out)
{
    static const char names[] = "abfnrtv\\'\"", values[] = "\a\b\f\n\r\t\v\\'\"";
    const char *start = p->at - 1;
    char c = *p->at++;
    const char *known = c ? strchr(names, c) : NULL;
    if (known) {
        out->data[out->n++] = values[known - names];
        return true;
    }
    size_t n_digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (n_digits > 0 && (size_t)(p->end - p->at) >= n_digits) {
        char digits[9] = {0};
        memcpy(digits, p->at, n_digits);
        bool all = strspn(digits, "0123456789abcdefABCDEF") == n_digits; /* no sign */
        unsigned long code = strtoul(digits, NULL, 16);
        p->at += n_digits;
        if (all && append_code_point(out, (uint32_t)code))
            return true;
        return parser_refuse(p, start, "an escape of a character");
    }
    if (c == 'N' || c == '\n' || (c >= '0' && c <= '7') || n_digits > 0)
        return parser_refuse(p, start,
                             "one of the escapes \\n \\t \\r \\\\ \\' \\\" \\xNN \\uNNNN");
    out->data[out->n++] = '\\'; /* Python keeps an escape that it does not know */
    out->data[out->n++] = c;
    return true;
}

static struct prompt_node *parse_string(struct prompt_parser *p)
{
    const char *start = p->at;
    char quote = *p->at++;
    struct rml_bytes text = {.data = malloc((size_t)(p->end - start) + 4)};
    bool ok = text.data || rmli_fail(p->err, RML_NO_MEMORY, NULL, -1, "no memory for a template");
    while (ok && p->at < p->end && *p->at != quote) {
        if (*p->at != '\\' || p->at + 1 == p->end) {
            text.data[text.n++] = *p->at++;
            continue;
        }
        p->at++;
        ok = unescape(p, &text);
    }
    struct prompt_node *n = NULL;
    if (ok && p->at == p->end)
        parser_refuse(p, start, "a quote at its end");
    else if (ok)
        n = parser_constant(p, PROMPT_CONSTANT, json_stringn(text.data, text.n));
    p->at += ok && p->at < p->end;
    rml_bytes_release(&text);
    return n;
}

static struct prompt_node *parse_number(struct prompt_parser *p)
{
    char digits[32];
    const char *start = p->at;
    size_t n = 0;
    bool is_real = false;
    while (p->at < p->end && n + 1 < sizeof digits &&
           ((*p->at >= '0' && *p->at <= '9') || (*p->at == '.' && !is_real))) {
        is_real |= *p->at == '.';
        digits[n++] = *p->at++;
    }
    digits[n] = 0;
    bool ends = p->at == p->end || !is_name_char(*p->at);
    if (!ends || n > 18 || digits[n - 1] == '.' || (n > 1 && digits[0] == '0' && !is_real))
        return parser_refuse(p, start, "a decimal number");
    return parser_constant(p, PROMPT_CONSTANT,
                           is_real ? json_real(strtod(digits, NULL)) : json_integer(atoll(digits)));
}

/* Expressions up to a closing bracket. */
static bool parse_args(struct prompt_parser *p, struct prompt_node *owner, const char *close)
{
    owner->args = calloc(PROMPT_MAX_ARGS, sizeof(struct prompt_node *));
    if (!owner->args)
        return rmli_fail(p->err, RML_NO_MEMORY, NULL, -1, "no memory for a template");
    while (!parser_take(p, close)) {
        if (owner->n_args == PROMPT_MAX_ARGS)
            return parser_refuse(p, p->at, "at most 64 values");
        struct prompt_node *arg = parser_expression(p);
        if (!arg)
            return false;
        owner->args[owner->n_args++] = arg;
        if (!parser_take(p, ",") && !is_next(p, close))
            return parser_refuse(p, p->at, "',' or the end of the values");
    }
    return true;
}

static bool parse_name(struct prompt_parser *p, char name[64])
{
    size_t n = 0;
    parser_skip_space(p);
    const char *start = p->at;
    while (p->at < p->end && is_name_char(*p->at) && n < 63)
        name[n++] = *p->at++;
    name[n] = 0;
    if (n == 0 || (name[0] >= '0' && name[0] <= '9') || n == 63)
        return parser_refuse(p, start, "a name");
    return true;
}

static struct prompt_node *parse_word(struct prompt_parser *p)
{
    static const char *const reserved[] = {"if", "else", "and", "or",  "not",
                                           "in", "is",   "for", "set", "elif"};
    static const struct {
        const char *name;
        int value; /* 0, 1, or 2 for none */
    } constants[] = {{"True", 1}, {"False", 0}, {"None", 2},
                     {"true", 1}, {"false", 0}, {"none", 2}};
    char name[64];
    const char *start = p->at;
    if (!parse_name(p, name))
        return NULL;
    for (size_t i = 0; i < (p->is_literal ? 3 : 6); i++)
        if (strcmp(name, constants[i].name) == 0)
            return parser_constant(p, PROMPT_CONSTANT,
                                   constants[i].value == 2 ? json_null()
                                                           : json_boolean(constants[i].value));
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (strcmp(name, reserved[i]) == 0)
            return parser_refuse(p, start, "a value");
    if (p->is_literal)
        return parser_refuse(p, start, "a Python literal");
    if (is_next(p, "("))
        return parser_refuse(p, start, "a field, as functions are not called");
    return parser_constant(p, PROMPT_NAME, json_string(name));
}

static struct prompt_node *parse_primary(struct prompt_parser *p)
{
    parser_skip_space(p);
    if (p->at == p->end)
        return parser_refuse(p, p->at, "a value");
    if (*p->at == '\'' || *p->at == '"')
        return parse_string(p);
    if (*p->at >= '0' && *p->at <= '9')
        return parse_number(p);
    if (parser_take(p, "[")) {
        struct prompt_node *list = parser_node(p, PROMPT_LIST, NULL, NULL, NULL);
        return list && parse_args(p, list, "]") ? list : NULL;
    }
    if (!p->is_literal && parser_take(p, "(")) {
        struct prompt_node *inner = parser_expression(p);
        return inner && parser_need(p, ")", "')'") ? inner : NULL;
    }
    if (!is_name_char(*p->at))
        return parser_refuse(p, p->at, "a value");
    return parse_word(p);
}

/* ---- Parts, methods, filters, tests -------------------------------------------------------------- */

static struct prompt_node *parse_subscript(struct prompt_parser *p, struct prompt_node *of)
{
    struct prompt_node *from = NULL;
    if (!is_next(p, ":") && !(from = parser_expression(p)))
        return NULL;
    if (!parser_take(p, ":"))
        return parser_need(p, "]", "']'") ? parser_node(p, PROMPT_ITEM, NULL, of, from) : NULL;
    struct prompt_node *slice = parser_node(p, PROMPT_SLICE, NULL, of, from);
    if (!slice || (!is_next(p, "]") && !(slice->c = parser_expression(p))))
        return NULL;
    return parser_need(p, "]", "']'") ? slice : NULL;
}

/* The attributes of Python's dict, which Jinja finds before a field of that name. */
static bool is_dict_attribute(const char *name)
{
    static const char *const names[] = {"clear", "copy",    "fromkeys",   "get",    "items", "keys",
                                        "pop",   "popitem", "setdefault", "update", "values"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static struct prompt_node *parse_attribute(struct prompt_parser *p, struct prompt_node *of)
{
    char name[64];
    const char *start = p->at;
    if (!parse_name(p, name))
        return NULL;
    if (!parser_take(p, "(")) {
        if (is_dict_attribute(name))
            return parser_refuse(p, start, "the field in brackets, as it is named like a method");
        struct prompt_node *field = parser_constant(p, PROMPT_FIELD, json_string(name));
        if (field)
            field->a = of;
        return field;
    }
    struct prompt_node *call = parser_node(p, PROMPT_METHOD, name, of, NULL);
    if (!call || !parse_args(p, call, ")"))
        return NULL;
    return prompt_has_method(name, call->n_args)
               ? call
               : parser_refuse(p, start,
                               "one of the methods strip, lstrip, rstrip, lower, upper, "
                               "capitalize, replace, split, index, startswith, endswith and join");
}

static struct prompt_node *parse_filter(struct prompt_parser *p, struct prompt_node *of)
{
    char name[64];
    parser_skip_space(p);
    const char *start = p->at;
    if (!parse_name(p, name))
        return NULL;
    struct prompt_node *filter = parser_node(p, PROMPT_FILTER, name, of, NULL);
    if (!filter || (parser_take(p, "(") && !parse_args(p, filter, ")")))
        return NULL;
    return prompt_has_filter(name, filter->n_args)
               ? filter
               : parser_refuse(p, start,
                               "one of the filters trim, string, int, length, count, join, list, "
                               "lower, upper, capitalize, replace, first, last and default");
}

static struct prompt_node *parse_test(struct prompt_parser *p, struct prompt_node *of)
{
    bool negated = parser_take(p, "not");
    char name[64];
    parser_skip_space(p);
    const char *start = p->at;
    if (!parse_name(p, name))
        return NULL;
    if (strcmp(name, "None") == 0)
        memcpy(name, "none", 5);
    if (strcmp(name, "defined") != 0 && strcmp(name, "undefined") != 0 && strcmp(name, "none") != 0)
        return parser_refuse(p, start, "one of the tests defined, undefined and none");
    struct prompt_node *test = parser_node(p, PROMPT_TEST, name, of, NULL);
    return test && negated ? parser_node(p, PROMPT_NOT, NULL, test, NULL) : test;
}

static struct prompt_node *parse_postfix(struct prompt_parser *p)
{
    struct prompt_node *n = parse_primary(p);
    while (n && !p->is_literal) {
        if (parser_take(p, "."))
            n = parse_attribute(p, n);
        else if (parser_take(p, "["))
            n = parse_subscript(p, n);
        else
            break;
    }
    return n;
}

/* Jinja: filters and tests bind closer than any operator but the sign before a value. */
static struct prompt_node *parse_unary(struct prompt_parser *p)
{
    bool negative = parser_take(p, "-");
    struct prompt_node *n = parse_postfix(p);
    if (n && negative)
        n = parser_node(p, PROMPT_NEGATIVE, NULL, n, NULL);
    while (n && !p->is_literal) {
        if (parser_take(p, "|"))
            n = parse_filter(p, n);
        else if (parser_take(p, "is"))
            n = parse_test(p, n);
        else
            break;
    }
    return n;
}

/* ---- Operators -------------------------------------------------------------------------------------- */

/* The operator that comes next out of a list of one-character ones; NULL without. */
static const char *take_one(struct prompt_parser *p, const char *const *operators)
{
    if (p->is_literal || is_next(p, "-}}") || is_next(p, "-%}"))
        return NULL;
    for (; *operators; operators++)
        if (parser_take(p, *operators))
            return *operators;
    return NULL;
}

/* "~" binds closer than "+" and "-". */
static struct prompt_node *parse_sum(struct prompt_parser *p, bool is_joined)
{
    static const char *const joins[] = {"~", NULL}, *const sums[] = {"+", "-", NULL};
    struct prompt_node *n = is_joined ? parse_unary(p) : parse_sum(p, true);
    for (const char *name; n && (name = take_one(p, is_joined ? joins : sums));) {
        struct prompt_node *right = is_joined ? parse_unary(p) : parse_sum(p, true);
        n = right ? parser_node(p, PROMPT_BINARY, name, n, right) : NULL;
    }
    return n;
}

static struct prompt_node *parse_comparison(struct prompt_parser *p)
{
    static const char *const operators[] = {"==", "!=", "<=", ">=", "<", ">", "in"};
    struct prompt_node *n = parse_sum(p, false);
    if (!n || p->is_literal)
        return n;
    const char *name = NULL, *before = p->at;
    bool negated = parser_take(p, "not");
    for (size_t i = negated ? 6 : 0; !name && i < 7; i++)
        if (parser_take(p, operators[i]))
            name = operators[i];
    if (!name) {
        p->at = before;
        return n;
    }
    struct prompt_node *right = parse_sum(p, false);
    n = right ? parser_node(p, PROMPT_BINARY, name, n, right) : NULL;
    for (size_t i = 0; n && i < 7; i++)
        if (is_next(p, operators[i]))
            return parser_refuse(p, p->at, "one comparison");
    return n && negated ? parser_node(p, PROMPT_NOT, NULL, n, NULL) : n;
}

static struct prompt_node *parse_not(struct prompt_parser *p)
{
    if (p->is_literal || !parser_take(p, "not"))
        return parse_comparison(p);
    struct prompt_node *inner = parse_comparison(p);
    return inner ? parser_node(p, PROMPT_NOT, NULL, inner, NULL) : NULL;
}

static struct prompt_node *parse_logic(struct prompt_parser *p, const char *word)
{
    bool is_or = strcmp(word, "or") == 0;
    struct prompt_node *n = is_or ? parse_logic(p, "and") : parse_not(p);
    while (n && !p->is_literal && parser_take(p, word)) {
        struct prompt_node *right = is_or ? parse_logic(p, "and") : parse_not(p);
        n = right ? parser_node(p, PROMPT_BINARY, word, n, right) : NULL;
    }
    return n;
}

struct prompt_node *parser_expression(struct prompt_parser *p)
{
    if (p->depth == PROMPT_MAX_DEPTH)
        return parser_refuse(p, p->at, "values nested less deeply");
    p->depth++;
    struct prompt_node *n = parse_logic(p, "or");
    if (n && !p->is_literal && parser_take(p, "if")) {
        struct prompt_node *condition = parse_logic(p, "or");
        struct prompt_node *choose =
            condition ? parser_node(p, PROMPT_CHOOSE, NULL, condition, n) : NULL;
        if (choose && parser_take(p, "else") && !(choose->c = parser_expression(p)))
            choose = NULL;
        n = choose;
    }
    p->depth--;
    return n;
}

/* ---- Literals ------------------------------------------------------------------------------------ */

json_t *python_literal(const char *text, size_t nbytes, struct rml_error *err)
{
    struct prompt_template *whole = calloc(1, sizeof *whole);
    json_t *value = NULL;
    if (!whole) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a literal");
        return NULL;
    }
    struct prompt_parser p = {
        .template = whole, .end = text + nbytes, .at = text, .is_literal = true, .err = err};
    struct prompt_node *n = parser_expression(&p);
    parser_skip_space(&p);
    if (n && p.at != p.end)
        n = parser_refuse(&p, p.at, "nothing behind a Python literal");
    if (n)
        value = prompt_value(n, NULL, err);
    prompt_template_destroy(whole);
    return value;
}
