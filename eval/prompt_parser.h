/*
 * Where the reading of a template is, and the parts of it that statements and expressions share.
 */
#ifndef EVAL_PROMPT_PARSER_H
#define EVAL_PROMPT_PARSER_H

#include "eval/prompt_node.h"

struct prompt_parser {
    struct prompt_template *template; /* owns the nodes */
    const char *end, *at;
    bool is_literal; /* only what ast.literal_eval reads */
    size_t depth;
    struct rml_error *err;
};

/* Says what stands at a place, and what was expected. Returns NULL. */
struct prompt_node *parser_refuse(struct prompt_parser *p, const char *at, const char *expected);

/* Nodes; NULL when memory is exhausted. parser_constant takes over `value`, also on failure. */
struct prompt_node *parser_node(struct prompt_parser *p, enum prompt_kind kind, const char *name,
                                struct prompt_node *a, struct prompt_node *b);
struct prompt_node *parser_constant(struct prompt_parser *p, enum prompt_kind kind,
                                    struct json_t *value);

/* Behind white space: whether the text comes next, a word only as a whole; then it is taken. */
void parser_skip_space(struct prompt_parser *p);
bool parser_take(struct prompt_parser *p, const char *text);
/* The same, else refused as what is not `what`. */
bool parser_need(struct prompt_parser *p, const char *text, const char *what);

/* An expression; NULL with *err on failure. */
struct prompt_node *parser_expression(struct prompt_parser *p);

#endif
