/*
 * Members of tokenizer.json with values of every type, and unknown tokens that the vocabulary lacks.
 * members.json is what the tokenizers package does with each (make/members.py).
 */
#include "text/tokenizer.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text/tests/tokenizer_files.h"

/* A file with that text, opened; its name is in `path`. */
static struct rml_tokenizer *open_text(const char *text, char path[64], struct rml_error *err)
{
    strcpy(path, "/tmp/members.XXXXXX");
    int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    struct rml_tokenizer *t = rml_tokenizer_from_json(path, err);
    unlink(path);
    return t;
}

/* A small file with a member, or without when it is NULL, and settings of its model. */
static char *file_with(const char *member, const char *text, const char *settings)
{
    size_t nbytes = 300 + strlen(member ? member : "") + strlen(text) + strlen(settings);
    char *file = malloc(nbytes);
    cr_assert_not_null(file);
    snprintf(file, nbytes,
             "{\"version\": \"1.0\", %s%s%s%s%s \"added_tokens\": [], \"model\": {\"type\": "
             "\"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]%s}}",
             member ? "\"" : "", member ? member : "", member ? "\": " : "", member ? text : "",
             member ? "," : "", settings);
    return file;
}

static struct rml_tokenizer *open_with(const char *member, const char *text, const char *settings,
                                       struct rml_error *err)
{
    char path[64], *file = file_with(member, text, settings);
    struct rml_tokenizer *t = open_text(file, path, err);
    free(file);
    return t;
}

/* Opened or refused as it should be, and refused with a place in the member's value. */
static void expect_open(const char *member, const char *text, bool opens)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_tokenizer *t = open_with(member, text, "", &err);
    cr_expect_eq(t != NULL, opens, "%s %s: %s", member, text, err.message);
    int64_t begin = (int64_t)strlen("{\"version\": \"1.0\", \"\": ") + (int64_t)strlen(member);
    if (!t && !opens)
        cr_expect(err.offset >= begin && err.offset <= begin + (int64_t)strlen(text),
                  "%s %s: %s at %lld", member, text, err.message, (long long)err.offset);
    rml_tokenizer_destroy(t);
}

Test(json_members, values_are_checked_as_by_the_reference)
{
    json_t *cases = test_load_json("lib/text/tests", "members.json");
    const json_t *opens = json_object_get(cases, "opens");
    const json_t *refused = json_object_get(cases, "refused");
    const json_t *settings = json_object_get(cases, "settings");
    for (size_t i = 0; i < json_array_size(opens); i++) {
        const json_t *one = json_array_get(opens, i);
        expect_open(json_string_value(json_array_get(one, 0)),
                    json_string_value(json_array_get(one, 1)),
                    json_is_true(json_array_get(one, 2)));
    }
    for (size_t i = 0; i < json_array_size(refused); i++) {
        const json_t *one = json_array_get(refused, i);
        expect_open(json_string_value(json_array_get(one, 0)),
                    json_string_value(json_array_get(one, 1)), false);
    }
    for (size_t i = 0; i < json_array_size(settings); i++) {
        char *model = json_dumps(json_array_get(settings, i), 0);
        struct rml_error err = RML_ERROR_INIT;
        model[0] = ',';
        model[strlen(model) - 1] = 0;
        cr_expect_null(open_with(NULL, "", model, &err), "%s", model);
        cr_expect_gt(err.offset, 0, "%s: %s", model, err.message);
        free(model);
    }
    cr_expect_geq(json_array_size(opens), 300u);
    cr_expect_geq(json_array_size(refused), 500u);
    cr_expect_geq(json_array_size(settings), 50u);
    json_decref(cases);
}

Test(json_members, truncation_and_padding_are_told)
{
    static const char truncation[] =
        "{\"max_length\": 18446744073709551615, \"strategy\": \"OnlyFirst\", \"stride\": 4}";
    static const char padding[] =
        "{\"strategy\": {\"Fixed\": 40}, \"direction\": \"Left\", \"pad_to_multiple_of\": 8, "
        "\"pad_id\": 4294967295, \"pad_type_id\": 0, \"pad_token\": \"b\"}";
    struct rml_error err = RML_ERROR_INIT;
    struct rml_tokenizer *t = open_with("truncation", truncation, "", &err);
    cr_assert_not_null(t, "%s", err.message);
    struct rml_tokenizer_batching b = rml_tokenizer_batching(t);
    cr_expect(b.truncates && !b.pads && b.max_length == UINT64_MAX);
    rml_tokenizer_destroy(t);

    t = open_with("padding", padding, "", &err);
    cr_assert_not_null(t, "%s", err.message);
    b = rml_tokenizer_batching(t);
    cr_expect(!b.truncates && b.pads && b.fixed_length == 40);
    struct rml_ids ids = {0};
    cr_expect(rml_tokenizer_encode(t, "ab", 2, 0, &ids, &err));
    cr_expect_eq(ids.n, 1u, "texts stay as they are");
    rml_ids_release(&ids);
    rml_tokenizer_destroy(t);

    t = open_with("truncation", "null, \"padding\": null", "", &err);
    cr_assert_not_null(t, "%s", err.message);
    b = rml_tokenizer_batching(t);
    cr_expect(!b.truncates && !b.pads);
    rml_tokenizer_destroy(t);
}

/* Ids as wanted, or an error with those words where null is. */
static void expect_encoding(const struct rml_tokenizer *t, const char *text, const json_t *want,
                            const char *words, const char *model)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_ids ids = {0};
    bool ok = rml_tokenizer_encode(t, text, strlen(text), 0, &ids, &err);
    cr_expect_eq(ok, json_is_array(want), "%s '%s': %s", model, text, err.message);
    cr_expect_eq(ids.n, json_array_size(want), "%s '%s'", model, text);
    for (size_t k = 0; k < ids.n && k < json_array_size(want); k++)
        cr_expect_eq(ids.ids[k], json_integer_value(json_array_get(want, k)), "%s '%s'", model,
                     text);
    if (!ok)
        cr_expect(strstr(err.message, words), "%s", err.message);
    rml_ids_release(&ids);
}

Test(json_members, an_unknown_token_that_is_not_there)
{
    json_t *cases = test_load_json("lib/text/tests", "members.json");
    const json_t *list = json_object_get(cases, "unknown");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        char *model = json_dumps(json_array_get(one, 0), 0);
        model[0] = ',';
        model[strlen(model) - 1] = 0;
        struct rml_error err = RML_ERROR_INIT;
        struct rml_tokenizer *t = open_with(NULL, "", model, &err);
        cr_assert_not_null(t, "%s: %s", model, err.message);
        expect_encoding(t, json_string_value(json_array_get(one, 1)), json_array_get(one, 2),
                        "unk_token", model);
        rml_tokenizer_destroy(t);
        free(model);
    }
    cr_expect_geq(json_array_size(list), 30u);
    json_decref(cases);
}

Test(json_members, a_unigram_model_without_an_unknown_token)
{
    json_t *cases = test_load_json("lib/text/tests", "members.json");
    const json_t *list = json_object_get(cases, "unigram");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        char *model = json_dumps(json_array_get(one, 0), JSON_PRESERVE_ORDER), path[64], text[512];
        snprintf(text, sizeof text, "{\"version\": \"1.0\", \"added_tokens\": [], \"model\": %s}",
                 model);
        struct rml_error err = RML_ERROR_INIT;
        struct rml_tokenizer *t = open_text(text, path, &err);
        cr_assert_not_null(t, "%s: %s", text, err.message);
        expect_encoding(t, json_string_value(json_array_get(one, 1)), json_array_get(one, 2),
                        "there is no unknown token", model);
        rml_tokenizer_destroy(t);
        free(model);
    }
    cr_expect_geq(json_array_size(list), 18u);
    json_decref(cases);
}

Test(json_members, a_refused_part_has_its_place)
{
    struct rml_error err = RML_ERROR_INIT;
    char path[64];
    char *file = file_with("post_processor", "{\"type\": \"BertProcessing\"}", "");
    cr_expect_null(open_text(file, path, &err));
    cr_expect_eq(err.offset, strstr(file, "{\"type\": \"Bert") - file, "%s at %lld", err.message,
                 (long long)err.offset);
    cr_expect_str_eq(err.file, path);
    free(file);
}
