/*
 * Reading a template: its text, statements and comments.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "eval/prompt_parser.h"
#include "eval/python_text.h"

/* ---- Statements ---------------------------------------------------------------------------------------- */

/* The next "{{", "{%" or "{#" from p->at on; p->end without. */
static const char *next_tag(const struct prompt_parser *p)
{
    for (const char *c = p->at; c + 1 < p->end; c++)
        if (c[0] == '{' && (c[1] == '{' || c[1] == '%' || c[1] == '#'))
            return c;
    return p->end;
}

static bool add_text(struct prompt_parser *p, struct prompt_node ***tail, const char *end,
                     bool strip)
{
    size_t nbytes = (size_t)(end - p->at);
    if (strip)
        nbytes = python_rstrip_nbytes(p->at, nbytes);
    if (nbytes == 0)
        return true;
    struct prompt_node *text = parser_constant(p, PROMPT_TEXT, json_stringn(p->at, nbytes));
    if (!text)
        return false;
    **tail = text;
    *tail = &text->next;
    return true;
}

/* "}}" or "%}", with "-" before it the white space behind it goes, too. */
static bool close_tag(struct prompt_parser *p, const char *close)
{
    bool strips = parser_take(p, "-");
    if (!parser_need(p, close,
                     "the end of what braces hold: an operator is none of + - ~ == != < <= > >= "
                     "in and or"))
        return false;
    if (strips)
        p->at += python_leading_space_nbytes(p->at, (size_t)(p->end - p->at));
    return true;
}

enum block_end { END_OF_TEXT, END_ELIF, END_ELSE, END_IF };
static bool parse_body(struct prompt_parser *p, struct prompt_node **first, enum block_end *how);

/* Behind "{% if": condition, body, and what follows it. */
static struct prompt_node *parse_if(struct prompt_parser *p)
{
    struct prompt_node *n = parser_node(p, PROMPT_IF, NULL, NULL, NULL);
    enum block_end how;
    if (p->depth == PROMPT_MAX_DEPTH)
        return parser_refuse(p, p->at, "statements nested less deeply");
    p->depth++;
    if (!n || !(n->a = parser_expression(p)) || !close_tag(p, "%}") || !parse_body(p, &n->b, &how))
        return NULL;
    if (how == END_ELIF) {
        if (!(n->c = parse_if(p)))
            return NULL;
    } else if (how == END_ELSE) {
        if (!close_tag(p, "%}") || !parse_body(p, &n->c, &how))
            return NULL;
        if (how != END_IF)
            return parser_refuse(p, p->at, "{% endif %}");
    } else if (how == END_OF_TEXT) {
        return parser_refuse(p, p->at, "{% endif %}");
    }
    p->depth--;
    return n;
}

/* Behind "{%". *ends: the statement ends the body; `how` says by what. */
static bool parse_statement(struct prompt_parser *p, struct prompt_node ***tail, bool *ends,
                            enum block_end *how)
{
    static const struct {
        const char *word;
        enum block_end how;
    } ends_by[] = {{"elif", END_ELIF}, {"else", END_ELSE}, {"endif", END_IF}};
    if (parser_take(p, "if")) {
        struct prompt_node *n = parse_if(p);
        if (!n || !close_tag(p, "%}"))
            return false;
        **tail = n;
        *tail = &n->next;
        return true;
    }
    for (size_t i = 0; i < 3; i++)
        if (parser_take(p, ends_by[i].word)) {
            *how = ends_by[i].how;
            *ends = true;
            return true;
        }
    return parser_refuse(p, p->at, "one of the statements if, elif, else and endif");
}

static bool parse_comment(struct prompt_parser *p)
{
    const char *start = p->at;
    for (p->at += 2; p->at + 1 < p->end; p->at++)
        if (p->at[0] == '#' && p->at[1] == '}') {
            bool strips = p->at[-1] == '-';
            p->at += 2;
            if (strips)
                p->at += python_leading_space_nbytes(p->at, (size_t)(p->end - p->at));
            return true;
        }
    return parser_refuse(p, start, "a comment that ends");
}

static bool parse_body(struct prompt_parser *p, struct prompt_node **first, enum block_end *how)
{
    struct prompt_node **tail = first;
    *how = END_OF_TEXT;
    for (bool ends = false; !ends;) {
        const char *tag = next_tag(p);
        bool strips = tag + 2 < p->end && tag[2] == '-';
        if (!add_text(p, &tail, tag, strips))
            return false;
        p->at = tag;
        if (tag == p->end)
            return true;
        if (tag[1] == '#') {
            if (!parse_comment(p))
                return false;
            continue;
        }
        p->at += 2 + strips;
        if (tag[1] == '%') {
            if (!parse_statement(p, &tail, &ends, how))
                return false;
            continue;
        }
        struct prompt_node *expression = parser_expression(p);
        struct prompt_node *output =
            expression ? parser_node(p, PROMPT_OUTPUT, NULL, expression, NULL) : NULL;
        if (!output || !close_tag(p, "}}"))
            return false;
        *tail = output;
        tail = &output->next;
    }
    return true;
}

/* ---- All of it --------------------------------------------------------------------------------------------- */

/* Jinja makes every "\r\n" and "\r" of its source "\n". */
static char *normalise(const char *text, size_t nbytes, size_t *n)
{
    char *copy = malloc(nbytes + 1);
    *n = 0;
    for (size_t i = 0; copy && i < nbytes; i++) {
        bool is_return = text[i] == '\r';
        if (is_return && i + 1 < nbytes && text[i + 1] == '\n')
            i++;
        copy[(*n)++] = is_return ? '\n' : text[i];
    }
    return copy;
}

struct prompt_template *prompt_template_create(const char *text, size_t nbytes,
                                               struct rml_error *err)
{
    size_t n = 0;
    char *copy = normalise(text, nbytes, &n);
    struct prompt_template *t = copy ? calloc(1, sizeof *t) : NULL;
    if (!t) {
        free(copy);
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a template");
        return NULL;
    }
    struct prompt_parser p = {.template = t, .end = copy + n, .at = copy, .err = err};
    enum block_end how = END_OF_TEXT;
    bool ok = parse_body(&p, &t->first, &how);
    if (ok && how != END_OF_TEXT)
        ok = rmli_fail(err, RML_FORMAT, NULL, -1,
                       "an else, elif or endif found in a template, expected an if before it");
    free(copy);
    if (ok)
        return t;
    prompt_template_destroy(t);
    return NULL;
}

void prompt_template_destroy(struct prompt_template *template)
{
    if (!template)
        return;
    for (struct prompt_node *n = template->allocated, *before; n; n = before) {
        before = n->allocated;
        json_decref(n->value);
        free(n->args);
        free(n);
    }
    free(template);
}
