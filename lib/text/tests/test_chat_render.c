/*
 * Rendering against transformers: every format on every conversation of chat_cases.json, which
 * make_chat_cases.py writes from the templates themselves.
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "text/chat_format.h"
#include "text/chat_layout.h"

static char *source_path(const char *name)
{
    static char path[4096];
    const char *root = getenv("RML_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/lib/text/tests/%s", root ? root : ".", name);
    return path;
}

static json_t *load_cases(void)
{
    json_error_t error;
    json_t *cases = json_load_file(source_path("chat_cases.json"), 0, &error);
    cr_assert(cases, "%s: %s", error.source, error.text);
    return cases;
}

static struct rml_chat_message *messages_of(json_t *conversation, size_t *n)
{
    *n = json_array_size(conversation);
    struct rml_chat_message *messages = calloc(*n, sizeof *messages);
    for (size_t i = 0; i < *n; i++) {
        json_t *message = json_array_get(conversation, i);
        json_t *content = json_object_get(message, "content");
        messages[i].role = json_string_value(json_object_get(message, "role"));
        messages[i].content = json_string_value(content);
        messages[i].content_nbytes = json_string_length(content);
    }
    return messages;
}

/* What the format is expected to write: NULL when it must refuse the conversation. */
static char *expected_text(json_t *expected, bool prompt)
{
    if (!json_is_array(expected))
        return NULL;
    const char *plain = json_string_value(json_array_get(expected, 1));
    const char *prompted = json_string_value(json_array_get(expected, 2));
    bool continues = prompted[0] == '+';
    char *text = calloc(strlen(plain) + strlen(prompted) + 1, 1);
    if (!prompt || continues)
        strcat(text, plain);
    if (prompt)
        strcat(text, prompted + 1);
    return text;
}

static void check_case(const struct rml_chat_format *format, const char *name, json_t *conversation,
                       json_t *expected, bool prompt)
{
    size_t n;
    struct rml_chat_message *messages = messages_of(conversation, &n);
    struct rml_bytes out = {0};
    struct rml_error err = RML_ERROR_INIT;
    bool ok = rml_chat_render(format, messages, n, prompt, "<s>", "</s>", &out, &err);
    char *want = expected_text(expected, prompt);
    const char *kind = json_string_value(json_array_get(expected, 0));
    if (!want) {
        cr_expect(!ok, "%s: %s: rendered as '%.*s', expected an error", format->name, name,
                  (int)out.n, out.data);
    } else if (ok || strcmp(kind, "equal-or-refused") != 0) {
        cr_expect(ok, "%s: %s: %s", format->name, name, err.message);
        cr_expect(ok && out.n == strlen(want) && (out.n == 0 || memcmp(out.data, want, out.n) == 0),
                  "%s: %s: got '%.*s', expected '%s'", format->name, name, (int)out.n, out.data,
                  want);
    }
    if (!ok) {
        cr_expect_eq(err.code, RML_INVALID_ARGUMENT);
        cr_expect_eq(out.n, 0, "%s: %s: an error left text behind", format->name, name);
    }
    free(want);
    free(messages);
    rml_bytes_release(&out);
}

Test(chat_render, equals_transformers)
{
    json_t *cases = load_cases(), *group, *conversation;
    size_t i, j;
    const char *name;
    json_array_foreach(json_object_get(cases, "groups"), i, group)
    {
        const char *format_name = json_string_value(json_object_get(group, "format"));
        const struct rml_chat_format *format = rml_chat_format_by_name(format_name);
        cr_assert(format, "no format '%s'", format_name);
        json_t *expected = json_object_get(group, "cases");
        j = 0;
        json_object_foreach(json_object_get(cases, "conversations"), name, conversation)
        {
            for (int prompt = 0; prompt <= 1; prompt++)
                check_case(format, name, conversation, json_array_get(expected, j), prompt);
            j++;
        }
        cr_expect_eq(j, json_array_size(expected));
    }
    json_decref(cases);
}

Test(chat_render, every_format_has_cases)
{
    json_t *cases = load_cases(), *group;
    size_t n = 0, i;
    for (const struct rml_chat_format *format; (format = rml_chat_format_at(n)); n++) {
        size_t found = 0;
        json_array_foreach(json_object_get(cases, "groups"), i, group)
        {
            const char *name = json_string_value(json_object_get(group, "format"));
            found += strcmp(rml_chat_format_name(format), name) == 0;
        }
        cr_expect_geq(found, 1, "the format '%s' is compared with nothing", format->name);
        cr_expect_eq(rml_chat_format_by_name(format->name), format, "'%s' stands twice",
                     format->name);
    }
    cr_expect_gt(n, 20);
    json_decref(cases);
}

/* The table and the list of cases name the same templates. */
Test(chat_render, table_of_templates_is_that_of_the_cases)
{
    json_t *cases = load_cases(), *template;
    size_t i;
    json_t *templates = json_object_get(cases, "templates");
    cr_assert_eq(json_array_size(templates), rmli_chat_n_templates);
    json_array_foreach(templates, i, template)
    {
        const struct rmli_chat_template *known = &rmli_chat_templates[i];
        const char *format = json_string_value(json_object_get(template, "format"));
        cr_expect_str_eq(known->sha256, json_string_value(json_object_get(template, "sha256")));
        cr_expect_str_eq(known->source, json_string_value(json_object_get(template, "source")));
        cr_expect_eq(known->format == NULL, format == NULL);
        if (known->format && format) {
            cr_expect_str_eq(known->format, format);
            cr_expect(rml_chat_format_by_name(format));
        } else {
            cr_expect(known->reason && known->reason[0]);
        }
        if (i > 0)
            cr_expect_lt(strcmp(known[-1].sha256, known->sha256), 0, "not sorted at %zu", i);
    }
    json_decref(cases);
}

/* ChatML as most models have it: short enough to stand here. */
#define CHATML                                                                                     \
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "                   \
    "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ "     \
    "'<|im_start|>assistant\\n' }}{% endif %}"

Test(chat_render, templates_are_recognised_by_their_text)
{
    struct rml_error err = RML_ERROR_INIT;
    const struct rml_chat_format *chatml = rml_chat_format_by_name("chatml");
    cr_expect_eq(rml_chat_format_of_template(CHATML, &err), chatml);
    cr_expect_eq(rml_chat_format_of_template(CHATML "\n", &err), chatml,
                 "the template language drops a newline at the end");
    cr_expect_eq(err.code, RML_OK);

    cr_expect_null(rml_chat_format_of_template(CHATML " ", &err));
    cr_expect_eq(err.code, RML_UNSUPPORTED);
    cr_expect(strstr(err.message, "SHA-256 "), "%s", err.message);

    rml_error_clear(&err);
    cr_expect_null(rml_chat_format_of_template(CHATML "\n\n", &err));
    cr_expect_eq(err.code, RML_UNSUPPORTED);
    rml_error_clear(&err);
    cr_expect_null(rml_chat_format_of_template("", &err));
    cr_expect_eq(err.code, RML_UNSUPPORTED);
    rml_error_clear(&err);
    cr_expect_null(rml_chat_format_of_template(NULL, &err));
    cr_expect_eq(err.code, RML_NOT_FOUND);
}

Test(chat_render, names)
{
    static const char *const promised[] = {"llama2",     "llama3",     "llama3.1", "chatml",
                                           "mistral-v1", "mistral-v3", "gemma",    "mistral-v7",
                                           "zephyr",     "tulu",       "olmoe",    "smollm2"};
    for (size_t i = 0; i < sizeof promised / sizeof promised[0]; i++)
        cr_expect(rml_chat_format_by_name(promised[i]), "no format '%s'", promised[i]);
    cr_expect_null(rml_chat_format_by_name("Llama2"));
    cr_expect_null(rml_chat_format_by_name(""));
    cr_expect_null(rml_chat_format_at(100000));
}

Test(chat_render, appends_and_leaves_text_alone_on_failure)
{
    const struct rml_chat_format *format = rml_chat_format_by_name("gemma");
    struct rml_bytes out = {0};
    struct rml_error err = RML_ERROR_INIT;
    const struct rml_chat_message good = {"user", "Hi", 2};
    const struct rml_chat_message bad[2] = {{"user", "Hi", 2}, {"user", "Hi", 2}};
    cr_expect(rml_chat_render(format, &good, 1, false, "<bos>", NULL, &out, &err));
    size_t n = out.n;
    cr_expect(!rml_chat_render(format, bad, 2, false, "<bos>", NULL, &out, &err));
    cr_expect_eq(out.n, n);
    cr_expect(strstr(err.message, "'gemma'") && strstr(err.message, "message 1") &&
                  strstr(err.message, "'user'"),
              "%s", err.message);
    cr_expect(rml_chat_render(format, &good, 1, false, NULL, NULL, &out, NULL));
    const char *want = "<bos><start_of_turn>user\nHi<end_of_turn>\n"
                       "<start_of_turn>user\nHi<end_of_turn>\n";
    cr_expect(out.n == strlen(want) && memcmp(out.data, want, out.n) == 0);
    rml_error_clear(&err);
    cr_expect(!rml_chat_render(format, &good, 0, true, "", "", &out, &err));
    cr_expect_eq(err.code, RML_INVALID_ARGUMENT);
    rml_bytes_release(&out);
}

/* Contents are bytes: NUL and ill-formed UTF-8 pass, and are no white space. */
Test(chat_render, contents_are_bytes)
{
    const struct rml_chat_format *format = rml_chat_format_by_name("llama3");
    static const char content[] = " \0\xff\xc2 ";
    const struct rml_chat_message message = {"user", content, sizeof content - 1};
    struct rml_bytes out = {0};
    cr_expect(rml_chat_render(format, &message, 1, false, "", "", &out, NULL));
    static const char want[] = "<|start_header_id|>user<|end_header_id|>\n\n\0\xff\xc2<|eot_id|>";
    cr_expect_eq(out.n, sizeof want - 1);
    cr_expect(out.n == sizeof want - 1 && memcmp(out.data, want, out.n) == 0);
    rml_bytes_release(&out);
}

/* Every code point, against the property that Python documents for str.isspace. */
Test(chat_render, white_space_is_pythons)
{
    static const char *const spaces[] = {
        "\t",           "\n",           "\v",           "\f",           "\r",
        "\x1c",         "\x1d",         "\x1e",         "\x1f",         " ",
        "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x8a",
        "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};
    static const char *const others[] = {
        "\x1b",     "!", "\xe2\x80\x8b", "\xef\xbb\xbf", "\xe1\xa0\x8e", "\x85", "\xa0",
        "\xe2\x80", "\0"};
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
        const char *text = spaces[i];
        size_t nbytes = strlen(text);
        rmli_python_strip(&text, &nbytes, i % 2, !(i % 2));
        cr_expect_eq(nbytes, 0, "white space %zu stays", i);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const char *text = others[i];
        size_t nbytes = strlen(text) + (text[0] == '\0'), before = nbytes;
        rmli_python_strip(&text, &nbytes, true, true);
        cr_expect_eq(nbytes, before, "text %zu goes", i);
    }
}
