/*
 * Small tokenizers with the ids that the reference implementation gives (make/cases.py).
 *
 * A case file holds one tokenizer.json and variants of it; each variant is written to a file
 * and opened as any other.
 */
#include "text/tokenizer.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text/tests/tokenizer_files.h"

static void check_ids(const struct rml_tokenizer *t, const json_t *one, const char *key,
                      unsigned flags, const char *where, struct rml_ids *ids)
{
    struct rml_error err = RML_ERROR_INIT;
    const json_t *text = json_object_get(one, "text"), *want = json_object_get(one, key);
    ids->n = 0;
    cr_assert(rml_tokenizer_encode(t, json_string_value(text), json_string_length(text), flags, ids,
                                   &err),
              "%s: '%s': %s", where, json_string_value(text), err.message);
    bool same = ids->n == json_array_size(want);
    for (size_t i = 0; same && i < ids->n; i++)
        same = json_integer_value(json_array_get(want, i)) == ids->ids[i];
    cr_expect(same, "%s: '%s' (%s): %zu ids, expected %zu", where, json_string_value(text), key,
              ids->n, json_array_size(want));
}

/* What is no UTF-8 is left out of both: the reference writes it as U+FFFD in its own ways. */
static bool same_text(const char *got, size_t n, const char *want)
{
    size_t i = 0;
    for (; *want; want++) {
        if (strncmp(want, "\xef\xbf\xbd", 3) == 0)
            return true;
        if (i == n || got[i] != *want)
            return i < n && (got[i] & 0x80);
        i++;
    }
    return i == n || (got[i] & 0x80);
}

static void check_decoded(const struct rml_tokenizer *t, const json_t *one, const char *key,
                          bool skip_special, const char *where, const struct rml_ids *ids)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rml_bytes whole = {0}, streamed = {0};
    const char *want = json_string_value(json_object_get(one, key));
    cr_assert(rml_tokenizer_decode(t, ids->ids, ids->n, skip_special, &whole, &err), "%s",
              err.message);
    if (!strchr(json_string_value(json_object_get(one, "text")), 0) ||
        strlen(want) == json_string_length(json_object_get(one, key)))
        cr_expect(same_text(whole.data ? whole.data : "", whole.n, want),
                  "%s: decoded '%.*s', expected '%s'", where, (int)whole.n, whole.data, want);
    struct rml_decode_stream stream;
    rml_decode_stream_init(&stream, t, skip_special);
    for (size_t i = 0; i < ids->n; i++)
        cr_assert(rml_decode_stream_step(&stream, ids->ids[i], &streamed, &err));
    cr_assert(rml_decode_stream_finish(&stream, &streamed, &err));
    cr_expect(streamed.n == whole.n &&
                  (whole.n == 0 || memcmp(streamed.data, whole.data, whole.n) == 0),
              "%s: '%s' streams as '%.*s', decodes as '%.*s'", where,
              json_string_value(json_object_get(one, "text")), (int)streamed.n, streamed.data,
              (int)whole.n, whole.data);
    rml_bytes_release(&whole);
    rml_bytes_release(&streamed);
}

static void check_file(const char *name)
{
    json_t *file = test_load_json("lib/text/tests/cases", name);
    const json_t *variants = json_object_get(file, "variants");
    cr_assert_gt(json_array_size(variants), 3u);
    for (size_t v = 0; v < json_array_size(variants); v++) {
        const json_t *variant = json_array_get(variants, v);
        const char *where = json_string_value(json_object_get(variant, "name"));
        struct rml_error err = RML_ERROR_INIT;
        struct rml_tokenizer *t = test_open_patched(json_object_get(file, "tokenizer"),
                                                    json_object_get(variant, "patch"), &err);
        cr_assert_not_null(t, "%s: %s", where, err.message);
        const json_t *cases = json_object_get(variant, "cases");
        struct rml_ids ids = {0};
        for (size_t i = 0; i < json_array_size(cases); i++) {
            const json_t *one = json_array_get(cases, i);
            check_ids(t, one, "parsed", RML_PARSE_SPECIAL, where, &ids);
            check_ids(t, one, "ids", RML_ADD_SPECIAL, where, &ids);
            check_decoded(t, one, "decoded", false, where, &ids);
            check_decoded(t, one, "decoded_plain", true, where, &ids);
        }
        rml_ids_release(&ids);
        rml_tokenizer_destroy(t);
    }
    json_decref(file);
}

Test(tokenizer_cases, bytelevel)
{
    check_file("bytelevel.json");
}
Test(tokenizer_cases, fallback)
{
    check_file("fallback.json");
}
Test(tokenizer_cases, unknown)
{
    check_file("unknown.json");
}
Test(tokenizer_cases, unigram)
{
    check_file("unigram.json");
}

Test(tokenizer_cases, bytelevel_that_lacks_bytes)
{
    check_file("gaps.json");
}
