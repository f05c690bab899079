/*
 * Reading conversations from JSON.
 */
#include "text/chat_json.h"

#include <jansson.h>
#include <string.h>

#include "base/memory.h"
#include "files/json_file.h"

/* More than any model's context holds. */
#define MAX_FILE_NBYTES ((size_t)64 << 20)

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_NULL:
        return "null";
    default:
        return "a boolean";
    }
}

/* The string under `key` of a message; NULL after an error. */
static const json_t *string_of(const json_t *message, const char *key, size_t i, const char *file,
                               struct rml_error *err)
{
    const json_t *value = json_object_get(message, key);
    if (!value)
        rmli_fail(err, RML_FORMAT, file, -1, "messages[%zu]: no '%s', expected a string", i, key);
    else if (json_is_array(value) && strcmp(key, "content") == 0)
        rmli_fail(err, RML_UNSUPPORTED, file, -1,
                  "messages[%zu]: 'content' is a list of parts, expected a string", i);
    else if (!json_is_string(value))
        rmli_fail(err, RML_FORMAT, file, -1, "messages[%zu]: '%s' is %s, expected a string", i, key,
                  type_name(value));
    else
        return value;
    return NULL;
}

static bool read_message(struct rml_chat_message *out, json_t *message, size_t i, const char *file,
                         struct rml_error *err)
{
    if (!json_is_object(message))
        return rmli_fail(err, RML_FORMAT, file, -1,
                         "messages[%zu] is %s, expected an object with 'role' and 'content'", i,
                         type_name(message));
    const char *key;
    json_t *ignored;
    json_object_foreach(message, key, ignored)
    {
        if (strcmp(key, "role") != 0 && strcmp(key, "content") != 0)
            return rmli_fail(err, RML_UNSUPPORTED, file, -1,
                             "messages[%zu]: key '%s', expected 'role' and 'content' alone", i,
                             key);
    }
    const json_t *role = string_of(message, "role", i, file, err);
    const json_t *content = role ? string_of(message, "content", i, file, err) : NULL;
    if (!content)
        return false;
    out->role = json_string_value(role);
    out->content = json_string_value(content);
    out->content_nbytes = json_string_length(content);
    if (out->role[0] == '\0' || strlen(out->role) != json_string_length(role))
        return rmli_fail(err, RML_FORMAT, file, -1,
                         "messages[%zu]: role '%s', expected a name without NUL", i, out->role);
    return true;
}

bool rml_conversation_from_json(struct rml_conversation *out, struct json_t *array,
                                const char *file, struct rml_error *err)
{
    if (!json_is_array(array) || json_array_size(array) == 0)
        return rmli_fail(err, RML_FORMAT, file, -1,
                         "messages: %s, expected an array of at least one message",
                         !array                 ? "nothing"
                         : json_is_array(array) ? "an empty array"
                                                : type_name(array));
    size_t n = json_array_size(array);
    struct rml_chat_message *messages = rmli_alloc(n, sizeof *messages, err);
    bool ok = messages != NULL;
    for (size_t i = 0; ok && i < n; i++)
        ok = read_message(&messages[i], json_array_get(array, i), i, file, err);
    if (!ok) {
        rmli_free(messages);
        return false;
    }
    *out = (struct rml_conversation){.messages = messages, .n = n, .json = json_incref(array)};
    return true;
}

bool rml_conversation_load(struct rml_conversation *out, const char *path, struct rml_error *err)
{
    json_t *json = rmli_json_load_file(path, MAX_FILE_NBYTES, err);
    if (!json)
        return false;
    json_t *array = json_is_object(json) ? json_object_get(json, "messages") : json;
    bool ok = rml_conversation_from_json(out, array, path, err);
    json_decref(json);
    return ok;
}

void rml_conversation_release(struct rml_conversation *conversation)
{
    rmli_free(conversation->messages);
    json_decref(conversation->json);
    *conversation = (struct rml_conversation){0};
}
