/*
 * The templates of task files: text with {{ expressions }} over a document's fields, as Jinja
 * renders them for lm-eval (strictly: what is not defined is an error).
 *
 * This is the part of Jinja that task files use without Python code, and nothing else:
 *
 *     statements    {{ e }}  {% if e %} {% elif e %} {% else %} {% endif %}  {# comment #}, with "-"
 *     values        names of fields, 'text', "text", 12, 1.5, true, false, none, [e, ...], (e)
 *     parts         e.field  e['field']  e[0]  e[-1]  e[from:to]
 *     operators     + - ~  == != < <= > >=  in  not in  and or not  e if e else e  e if e
 *     tests         is defined, is undefined, is none, with "is not"
 *     filters       trim string int length count join list lower upper capitalize replace first last
 *                   default d
 *     methods       strip lstrip rstrip lower upper capitalize replace split index startswith
 *                   endswith join
 *
 * Everything else is refused by name when the template is read. Text is counted in code points,
 * values become text as Python's str() writes them. upper, lower and capitalize refuse the
 * characters that Python maps to several or by their neighbours.
 *
 * Messages have no place: who reads the template knows the file and the line.
 */
#ifndef EVAL_PROMPT_TEMPLATE_H
#define EVAL_PROMPT_TEMPLATE_H

#include "rml.h"

struct json_t;
struct prompt_template;

/* NULL with *err on failure. */
struct prompt_template *prompt_template_create(const char *text, size_t nbytes,
                                               struct rml_error *err);
void prompt_template_destroy(struct prompt_template *template); /* NULL is allowed */

/* Whether it holds neither expression nor statement. */
bool prompt_template_is_plain(const struct prompt_template *template);

/* The text for a document (an object) as a JSON string; NULL with *err on failure. */
struct json_t *prompt_template_render(const struct prompt_template *template,
                                      const struct json_t *document, struct rml_error *err);

/* The rendered text read as a Python literal (ast.literal_eval): lists of choices are written
 * so. */
struct json_t *prompt_template_literal(const struct prompt_template *template,
                                       const struct json_t *document, struct rml_error *err);

/* A Python literal: a list, text, a number, True, False, None. NULL with *err when it is none. */
struct json_t *python_literal(const char *text, size_t nbytes, struct rml_error *err);

#endif
