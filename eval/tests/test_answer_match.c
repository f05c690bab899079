/* The regex filter against Python's re (expected/answer_cases.json), and exact match. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/answer_match.h"

Test(answer_match, equals_python)
{
    char path[4096];
    const char *root = getenv("RML_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/eval/tests/expected/answer_cases.json", root ? root : ".");
    json_t *cases = json_load_file(path, 0, NULL), *entry;
    cr_assert(json_array_size(cases) > 100, "%s", path);
    size_t i;
    json_array_foreach(cases, i, entry)
    {
        json_t *reply = json_object_get(entry, "reply"), *want = json_object_get(entry, "answer");
        const struct answer_rules rules = {
            .pattern = json_string_value(json_object_get(entry, "pattern")),
            .group_select = json_integer_value(json_object_get(entry, "group")),
            .fallback = "[invalid]"};
        struct rml_error err = RML_ERROR_INIT;
        struct answer_matcher *matcher = answer_matcher_create(&rules, &err);
        cr_assert(matcher, "%s", err.message);
        struct rml_bytes answer = {0};
        cr_assert(answer_extract(matcher, json_string_value(reply), json_string_length(reply),
                                 &answer, &err),
                  "%s", err.message);
        cr_expect(
            answer.n == json_string_length(want) &&
                (answer.n == 0 || memcmp(answer.data, json_string_value(want), answer.n) == 0),
            "'%s' %d in '%s': '%.*s', expected '%s'", rules.pattern, (int)rules.group_select,
            json_string_value(reply), (int)answer.n, answer.data, json_string_value(want));
        rml_bytes_release(&answer);
        answer_matcher_destroy(matcher);
    }
    json_decref(cases);
}

static bool equal(const struct answer_rules *rules, const char *a, const char *b)
{
    struct rml_error err = RML_ERROR_INIT;
    struct answer_matcher *matcher = answer_matcher_create(rules, &err);
    bool result = false;
    cr_assert(matcher && answer_equals(matcher, a, strlen(a), b, strlen(b), &result, &err), "%s",
              err.message);
    answer_matcher_destroy(matcher);
    return result;
}

Test(answer_match, exact_match)
{
    const struct answer_rules plain = {0}, lower = {.ignore_case = true},
                              words = {.ignore_case = true, .ignore_punctuation = true},
                              letters = {.ignore_numbers = true},
                              cut = {.ignore_regexes = {"\\s|,"}, .n_ignore_regexes = 1};
    cr_expect(equal(&plain, "Paris", "Paris"));
    cr_expect_not(equal(&plain, "Paris", "paris"));
    cr_expect_not(equal(&plain, "Paris", "Paris "));
    cr_expect(equal(&plain, "", ""));
    cr_expect(equal(&lower, "ÄPFEL", "äpfel"));
    cr_expect_not(equal(&lower, "Paris.", "paris"));
    cr_expect(equal(&words, "\"Paris\".", "paris"));
    cr_expect(equal(&letters, "a1b22", "ab"));
    cr_expect(equal(&cut, "1,000 000", "1000000"));
    cr_expect_not(equal(&cut, "1.000", "1000"));
}

Test(answer_match, refuses_what_is_no_pattern)
{
    const struct answer_rules bad[] = {{.pattern = "a("},
                                       {.ignore_regexes = {"[z-a]"}, .n_ignore_regexes = 1}};
    for (int i = 0; i < 2; i++) {
        struct rml_error err = RML_ERROR_INIT;
        cr_expect_null(answer_matcher_create(&bad[i], &err));
        cr_expect_eq(err.code, RML_INVALID_ARGUMENT);
    }
}
