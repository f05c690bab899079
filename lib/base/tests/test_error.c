/* The first error wins, and what it says can be printed anywhere. */
#include "base/error.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(error, starts_empty)
{
    struct rml_error err = RML_ERROR_INIT;
    cr_assert_eq(err.code, RML_OK);
    cr_assert_eq(err.offset, -1);
    cr_assert_str_eq(err.file, "");
    cr_assert_str_eq(err.message, "");
}

Test(error, records_all_fields)
{
    struct rml_error err = RML_ERROR_INIT;
    cr_assert_not(rmli_fail(&err, RML_FORMAT, "a.gguf", 17, "found %d, expected '%s'", 3, "x"));
    cr_assert_eq(err.code, RML_FORMAT);
    cr_assert_eq(err.offset, 17);
    cr_assert_str_eq(err.file, "a.gguf");
    cr_assert_str_eq(err.message, "found 3, expected 'x'");
}

Test(error, first_error_wins)
{
    struct rml_error err = RML_ERROR_INIT;
    rmli_fail(&err, RML_NOT_FOUND, "first", 1, "cause");
    cr_assert_not(rmli_fail(&err, RML_INTERNAL, "second", 2, "aftermath"));
    cr_assert_eq(err.code, RML_NOT_FOUND);
    cr_assert_str_eq(err.file, "first");
    cr_assert_str_eq(err.message, "cause");
    rml_error_clear(&err);
    rmli_fail(&err, RML_INTERNAL, NULL, -1, "second");
    cr_assert_eq(err.code, RML_INTERNAL);
    cr_assert_str_eq(err.file, "");
    cr_assert_str_eq(err.message, "second");
}

Test(error, null_is_allowed)
{
    cr_assert_not(rmli_fail(NULL, RML_IO, NULL, -1, "nobody listens"));
    rml_error_clear(NULL);
}

Test(error, codes_have_names)
{
    cr_assert_str_eq(rml_code_name(RML_OK), "ok");
    cr_assert_str_eq(rml_code_name(RML_INVALID_ARGUMENT), "invalid-argument");
    cr_assert_str_eq(rml_code_name(RML_OUT_OF_RANGE), "out-of-range");
    cr_assert_str_eq(rml_code_name(RML_INTERNAL), "internal");
    cr_assert_str_eq(rml_code_name((enum rml_code)(RML_INTERNAL + 1)), "unknown");
    cr_assert_str_eq(rml_code_name((enum rml_code) - 1), "unknown");
}

/* What a message becomes. */
static const struct {
    const char *in, *out;
} messages[] = {
    {"plain", "plain"},
    {"a\nb\tc\033[31m", "a?b?c?[31m"},
    {"del\177", "del?"},
    {"caf\303\251 \342\202\254 \360\237\230\200", "caf\303\251 \342\202\254 \360\237\230\200"},
    {"lone \251 lead \303", "lone ? lead ?"},
    {"overlong \300\200", "overlong ??"},
    {"surrogate \355\240\200", "surrogate ???"},
    {"above \364\220\200\200", "above ????"},
    {"c1 \302\205 next", "c1 ? next"},
    {"", ""},
};

Test(error, messages_are_printable_utf8)
{
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        struct rml_error err = RML_ERROR_INIT;
        rmli_fail(&err, RML_FORMAT, messages[i].in, -1, "%s", messages[i].in);
        cr_expect_str_eq(err.message, messages[i].out);
        cr_expect_str_eq(err.file, messages[i].out);
    }
}

Test(error, long_messages_are_cut_between_characters)
{
    /* Every phase of a three-byte character against the end of the field. */
    for (size_t lead = 0; lead < 3; lead++) {
        char text[2000];
        memset(text, 'x', lead);
        for (size_t i = lead; i + 3 < sizeof text; i += 3)
            memcpy(text + i, "\342\202\254", 4);
        struct rml_error err = RML_ERROR_INIT;
        rmli_fail(&err, RML_FORMAT, NULL, -1, "%s", text);
        size_t n = strlen(err.message);
        cr_expect_leq(n, sizeof err.message - 1);
        cr_expect_gt(n, sizeof err.message - 4);
        cr_expect_eq((n - lead) % 3, 0u);
        cr_expect_null(strchr(err.message, '?'));
        cr_expect_eq(memcmp(err.message, text, n), 0);
    }
}

Test(error, long_file_names_keep_their_end)
{
    char path[3000];
    for (size_t lead = 0; lead < 3; lead++) {
        memset(path, '/', lead);
        for (size_t i = lead; i + 20 < sizeof path; i += 3)
            memcpy(path + i, "\342\202\254", 4);
        strcat(path, "/model.gguf");
        struct rml_error err = RML_ERROR_INIT;
        rmli_fail(&err, RML_FORMAT, path, -1, "x");
        cr_expect_gt(strlen(err.file), sizeof err.file - 4);
        cr_expect_null(strchr(err.file, '?'));
        cr_expect_str_eq(err.file, path + strlen(path) - strlen(err.file));
    }
}
