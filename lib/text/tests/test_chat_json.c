/*
 * Conversations from JSON: what is one, and what each refusal says.
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "text/chat_json.h"

static bool parse(const char *text, struct rml_conversation *out, struct rml_error *err)
{
    json_error_t error;
    json_t *json = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    cr_assert(json, "%s: %s", text, error.text);
    bool ok = rml_conversation_from_json(out, json, "chat.json", err);
    json_decref(json);
    return ok;
}

Test(chat_json, reads_messages)
{
    struct rml_conversation c = {0};
    struct rml_error err = RML_ERROR_INIT;
    cr_assert(parse("[{\"role\":\"system\",\"content\":\"\"},"
                    "{\"content\":\"a\\u0000b\",\"role\":\"user\"}]",
                    &c, &err),
              "%s", err.message);
    cr_expect_eq(c.n, 2);
    cr_expect_str_eq(c.messages[0].role, "system");
    cr_expect_eq(c.messages[0].content_nbytes, 0);
    cr_expect_str_eq(c.messages[1].role, "user");
    cr_expect_eq(c.messages[1].content_nbytes, 3);
    cr_expect(memcmp(c.messages[1].content, "a\0b", 3) == 0,
              "the messages outlive the caller's json");
    rml_conversation_release(&c);
    cr_expect_null(c.messages);
    rml_conversation_release(&c);
}

Test(chat_json, refuses_by_name)
{
    static const struct {
        const char *json;
        enum rml_code code;
        const char *says;
    } cases[] = {
        {"{}", RML_FORMAT, "an object, expected an array"},
        {"null", RML_FORMAT, "null, expected an array"},
        {"[]", RML_FORMAT, "an empty array"},
        {"[1]", RML_FORMAT, "messages[0] is a number"},
        {"[{\"role\":\"user\",\"content\":\"a\"},[]]", RML_FORMAT, "messages[1] is an array"},
        {"[{\"content\":\"a\"}]", RML_FORMAT, "messages[0]: no 'role'"},
        {"[{\"role\":\"user\"}]", RML_FORMAT, "messages[0]: no 'content'"},
        {"[{\"role\":\"user\",\"content\":null}]", RML_FORMAT, "'content' is null"},
        {"[{\"role\":7,\"content\":\"a\"}]", RML_FORMAT, "'role' is a number"},
        {"[{\"role\":\"\",\"content\":\"a\"}]", RML_FORMAT, "role ''"},
        {"[{\"role\":\"us\\u0000er\",\"content\":\"a\"}]", RML_FORMAT, "role 'us'"},
        {"[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}]", RML_UNSUPPORTED,
         "a list of parts"},
        {"[{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[]}]", RML_UNSUPPORTED,
         "key 'tool_calls'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rml_conversation c = {0};
        struct rml_error err = RML_ERROR_INIT;
        cr_expect(!parse(cases[i].json, &c, &err), "%s", cases[i].json);
        cr_expect_eq(err.code, cases[i].code, "%s", cases[i].json);
        cr_expect(strstr(err.message, cases[i].says), "%s: %s", cases[i].json, err.message);
        cr_expect_str_eq(err.file, "chat.json");
        cr_expect_null(c.messages);
    }
    struct rml_conversation c = {0};
    struct rml_error err = RML_ERROR_INIT;
    cr_expect(!rml_conversation_from_json(&c, NULL, NULL, &err));
    cr_expect(strstr(err.message, "nothing, expected an array"), "%s", err.message);
}

static bool load(const char *text, struct rml_conversation *out, struct rml_error *err)
{
    char path[] = P_tmpdir "/rml-chat-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    bool ok = rml_conversation_load(out, path, err);
    cr_expect(ok || strcmp(err->file, path) == 0, "the error names '%s'", err->file);
    unlink(path);
    return ok;
}

Test(chat_json, loads_files)
{
    struct rml_conversation c = {0};
    struct rml_error err = RML_ERROR_INIT;
    cr_expect(load("[{\"role\":\"user\",\"content\":\"Hi\"}]\n", &c, &err), "%s", err.message);
    cr_expect_eq(c.n, 1);
    rml_conversation_release(&c);
    cr_expect(
        load("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}", &c, &err),
        "%s", err.message);
    cr_expect_eq(c.n, 1);
    rml_conversation_release(&c);
    cr_expect(!load("{\"message\":[]}", &c, &err));
    rml_error_clear(&err);
    cr_expect(!load("[{\"role\":\"user\",\"content\":\"Hi\"}", &c, &err));
    cr_expect_eq(err.code, RML_FORMAT);
    rml_error_clear(&err);
    cr_expect(!rml_conversation_load(&c, "/nowhere/chat.json", &err));
    cr_expect_str_eq(err.file, "/nowhere/chat.json");
}
