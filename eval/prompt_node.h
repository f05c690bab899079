/*
 * What a template is made of; for prompt_template.c and prompt_parse.c.
 */
#ifndef EVAL_PROMPT_NODE_H
#define EVAL_PROMPT_NODE_H

#include "eval/prompt_template.h"

enum prompt_kind {
    PROMPT_TEXT,     /* value */
    PROMPT_OUTPUT,   /* a */
    PROMPT_IF,       /* a: condition, b: first node of the body, c: of the other one */
    PROMPT_CONSTANT, /* value */
    PROMPT_NAME,     /* name */
    PROMPT_FIELD,    /* a.name */
    PROMPT_ITEM,     /* a[b] */
    PROMPT_SLICE,    /* a[b:c], b and c may be NULL */
    PROMPT_METHOD,   /* a.name(args) */
    PROMPT_FILTER,   /* a | name(args) */
    PROMPT_TEST,     /* a is name */
    PROMPT_LIST,     /* [args] */
    PROMPT_NOT,      /* not a */
    PROMPT_NEGATIVE, /* -a */
    PROMPT_BINARY,   /* a name b: the operator by its text */
    PROMPT_CHOOSE    /* b if a else c; c NULL: nothing */
};

#define PROMPT_MAX_ARGS 64
#define PROMPT_MAX_DEPTH 48

struct prompt_node {
    enum prompt_kind kind;
    struct json_t *value;
    char name[16];
    struct prompt_node *a, *b, *c;
    struct prompt_node **args; /* [n_args] */
    size_t n_args;
    struct prompt_node *next;      /* the statement behind this one */
    struct prompt_node *allocated; /* the node that was made before this one */
};

struct prompt_template {
    struct prompt_node *first, *allocated;
};

/* The value of an expression (prompt_template.c); `document` NULL: no fields. */
struct json_t *prompt_value(const struct prompt_node *node, const struct json_t *document,
                            struct rml_error *err);

/* ---- Values as Python has them (prompt_values.c); NULL with *err on failure ------------------ */

/* The value itself; NULL is told of as memory that is exhausted, unless *err says more. */
struct json_t *prompt_kept(struct json_t *value, struct rml_error *err);
/* Bytes as text, `ok` telling whether they are whole; they are released. */
struct json_t *prompt_text_of_bytes(bool ok, struct rml_bytes *bytes, struct rml_error *err);
bool prompt_truth(const struct json_t *value);
bool prompt_equal(const struct json_t *a, const struct json_t *b);
/* str(value) */
struct json_t *prompt_text(const struct json_t *value, struct rml_error *err);
/* value[at]: *is_undefined instead of an error where there is none such. */
struct json_t *prompt_item(const struct json_t *value, const struct json_t *at, bool *is_undefined,
                           struct rml_error *err);
struct json_t *prompt_slice(const struct json_t *value, const struct json_t *from,
                            const struct json_t *to, struct rml_error *err);
struct json_t *prompt_binary(const char *operator, const struct json_t * a, const struct json_t *b,
                             struct rml_error *err);

/* ---- Methods and filters (prompt_calls.c) ------------------------------------------------------- */

/* Whether there is one of that name which takes so many arguments. */
bool prompt_has_method(const char *name, size_t n_args);
bool prompt_has_filter(const char *name, size_t n_args);
struct json_t *prompt_method(const char *name, const struct json_t *value,
                             struct json_t *const *args, size_t n_args, struct rml_error *err);
struct json_t *prompt_filter(const char *name, const struct json_t *value,
                             struct json_t *const *args, size_t n_args, struct rml_error *err);

#endif
