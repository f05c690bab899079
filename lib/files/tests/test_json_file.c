/*
 * Numbers of JSON files that jansson alone would refuse. The expected values are what Python's
 * json.loads and float() make of the texts.
 */
#include "files/json_file.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "temp_folder.h"

TestSuite(json_file, .init = temp_folder_make, .fini = temp_folder_remove);

static json_t *load(const char *text, struct rml_error *err)
{
    temp_write_text("a.json", text);
    return rmli_json_load_file(temp_path("a.json"), 4096, err);
}

static const struct {
    const char *text;
    json_int_t integer; /* 0: a real */
    double real;
} numbers[] = {
    {"9223372036854775807", INT64_MAX, 0},
    {"-9223372036854775808", INT64_MIN, 0},
    {"9223372036854775808", 0, 9223372036854775808.0},
    {"-9223372036854775809", 0, -9223372036854775808.0},
    {"18446744073709551615", 0, 1.8446744073709552e19},
    {"1000000000000000019884624838656", 0, 1e30},
    {"-99999999999999999999", 0, -1e20},
    {"9223372036854775808.5", 0, 9223372036854775808.0},
    {"99999999999999999999e-19", 0, 10.0},
    {"1.00000000000000000000000001e2", 0, 100.0},
    {"1E+00000000000000000000002", 0, 100.0},
};

Test(json_file, integers_of_any_length)
{
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        /* With a long integer beside it, and its digits where they are no number. */
        char text[512];
        snprintf(text, sizeof text,
                 "{\"n\": [%s], \"99999999999999999999\": \"\\\\\\\"99999999999999999999\", "
                 "\"z\":123456789012345678901234567890}",
                 numbers[i].text);
        struct rml_error err = RML_ERROR_INIT;
        json_t *root = load(text, &err);
        cr_assert_not_null(root, "%s: %s", numbers[i].text, err.message);
        const json_t *n = json_array_get(json_object_get(root, "n"), 0);
        if (numbers[i].integer)
            cr_expect_eq(json_integer_value(n), numbers[i].integer, "%s", numbers[i].text);
        else
            cr_expect(json_is_real(n) && fabs(json_real_value(n) - numbers[i].real) <=
                                             1e-15 * fabs(numbers[i].real),
                      "%s: %.17g", numbers[i].text, json_number_value(n));
        const json_t *word = json_object_get(root, "99999999999999999999");
        cr_expect_str_eq(json_string_value(word), "\\\"99999999999999999999");
        cr_expect_float_eq(json_real_value(json_object_get(root, "z")), 1.2345678901234568e29,
                           1e14);
        json_decref(root);
    }
}

Test(json_file, errors_behind_a_long_integer_keep_their_place)
{
    static const struct {
        const char *text, *message;
        int64_t offset;
    } bad[] = {
        {"{\"a\": 123456789012345678901, \"b\": x}", "invalid token near 'x'", 35},
        {"[123456789012345678901, 1e999]", "real number overflow", 29},
        {"[123456789012345678901", "']' expected", 22},
        {"123456789012345678901 1", "end of file expected", 23},
        {"[-012345678901234567890123]", "invalid token", 3},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct rml_error err = RML_ERROR_INIT;
        cr_expect_null(load(bad[i].text, &err), "%s", bad[i].text);
        cr_expect_eq(err.code, RML_FORMAT, "%s", bad[i].text);
        cr_expect_not_null(strstr(err.message, bad[i].message), "%s: %s", bad[i].text, err.message);
        cr_expect_eq(err.offset, bad[i].offset, "%s: byte %lld", bad[i].text,
                     (long long)err.offset);
    }
}
