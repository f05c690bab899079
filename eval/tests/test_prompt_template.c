/* Templates against Jinja as lm-eval uses it (expected/prompt_cases.json). */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/prompt_template.h"

static json_t *load_cases(void)
{
    char path[4096];
    const char *root = getenv("RML_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/eval/tests/expected/prompt_cases.json", root ? root : ".");
    json_t *file = json_load_file(path, 0, NULL);
    cr_assert(json_array_size(json_object_get(file, "cases")) > 80, "%s", path);
    return file;
}

static void check_literal(const struct prompt_template *template, const json_t *document,
                          const char *text, const json_t *want)
{
    struct rml_error err = RML_ERROR_INIT;
    json_t *got = prompt_template_literal(template, document, &err);
    cr_expect(got && json_equal(got, want), "%s: %s", text, err.message);
    json_decref(got);
}

Test(prompt_template, renders_as_jinja)
{
    json_t *file = load_cases(), *document = json_object_get(file, "document"), *entry;
    size_t i;
    json_array_foreach(json_object_get(file, "cases"), i, entry)
    {
        const json_t *want = json_object_get(entry, "text");
        const json_t *literal = json_object_get(entry, "literal");
        const char *text = json_string_value(json_object_get(entry, "template"));
        struct rml_error err = RML_ERROR_INIT;
        struct prompt_template *template = prompt_template_create(text, strlen(text), &err);
        if (json_object_get(entry, "refused") && template) {
            /* what depends on the document is refused when it is rendered */
            json_t *got = prompt_template_render(template, document, &err);
            cr_expect(!got && err.code == RML_UNSUPPORTED, "%s", text);
        } else if (template) {
            json_t *got = prompt_template_render(template, document, &err);
            cr_expect(want ? got && json_equal(got, want) : !got, "%s: '%s' %s", text,
                      got ? json_string_value(got) : "", err.message);
            json_decref(got);
            if (literal)
                check_literal(template, document, text, literal);
        } else {
            cr_expect(!want && err.message[0], "%s: %s", text, err.message);
        }
        prompt_template_destroy(template);
    }
    json_decref(file);
}

Test(prompt_template, what_is_not_taken_is_refused_by_name)
{
    const struct {
        const char *text, *name;
    } cases[] = {
        {"{% for c in x %}", "'for c in x %}'"}, {"{{ x|map('upper') }}", "'map('upper') }}'"},
        {"{{ x.title() }}", "'title() }}'"},     {"{{ 2 * 3 }}", "'* 3 }}'"},
        {"{{ range(3) }}", "'range(3) }}'"},     {"{{ x is odd }}", "'odd }}'"},
        {"{{ x.items }}", "'items }}'"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rml_error err = RML_ERROR_INIT;
        cr_expect(!prompt_template_create(cases[i].text, strlen(cases[i].text), &err));
        cr_expect(strstr(err.message, cases[i].name), "%s: %s", cases[i].text, err.message);
    }
    char deep[512];
    memset(deep, '(', sizeof deep);
    memcpy(deep, "{{", 2);
    struct rml_error err = RML_ERROR_INIT;
    cr_expect(!prompt_template_create(deep, sizeof deep, &err));
    cr_expect(strstr(err.message, "nested less deeply"), "%s", err.message);
}
