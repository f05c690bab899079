/* Command-line values are taken whole or not at all. */
#include "tools/cli/parse.h"

#include <criterion/criterion.h>
#include <stdlib.h>

Test(parse, whole_numbers)
{
    static const struct {
        const char *text;
        uint64_t min, max;
        bool ok;
        uint64_t value;
    } cases[] = {
        {"0", 0, 10, true, 0},
        {"10", 0, 10, true, 10},
        {"007", 0, 10, true, 7},
        {"11", 0, 10, false, 0},
        {"0", 1, 10, false, 0},
        {"18446744073709551615", 0, UINT64_MAX, true, UINT64_MAX},
        {"18446744073709551616", 0, UINT64_MAX, false, 0},
        {"99999999999999999999999", 0, UINT64_MAX, false, 0},
        {"", 0, 10, false, 0},
        {" 1", 0, 10, false, 0},
        {"1 ", 0, 10, false, 0},
        {"+1", 0, 10, false, 0},
        {"-1", 0, UINT64_MAX, false, 0},
        {"1.0", 0, 10, false, 0},
        {"0x1", 0, 10, false, 0},
        {"1k", 0, 10, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t value = 99;
        bool ok = cli_parse_u64(cases[i].text, cases[i].min, cases[i].max, &value);
        cr_expect_eq(ok, cases[i].ok, "'%s'", cases[i].text);
        cr_expect_eq(value, cases[i].ok ? cases[i].value : 99, "'%s'", cases[i].text);
    }
}

Test(parse, numbers)
{
    static const struct {
        const char *text;
        double min, max;
        bool ok;
        double value;
    } cases[] = {
        {"0.5", 0, 1, true, 0.5},      {"-1e-3", -1, 1, true, -1e-3}, {"1", 0, 1, true, 1},
        {".5", 0, 1, true, 0.5},       {"1.0001", 0, 1, false, 0},    {"", 0, 1, false, 0},
        {"nan", 0, 1, false, 0},       {"inf", 0, 1e308, false, 0},   {"0x1p-1", 0, 1, false, 0},
        {"1e999", 0, 1e308, false, 0}, {"0.5x", 0, 1, false, 0},      {" 0.5", 0, 1, false, 0},
        {"1e", 0, 1, false, 0},        {"-", -1, 1, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double value = 99;
        bool ok = cli_parse_f64(cases[i].text, cases[i].min, cases[i].max, &value);
        cr_expect_eq(ok, cases[i].ok, "'%s'", cases[i].text);
        cr_expect_eq(value, cases[i].ok ? cases[i].value : 99, "'%s'", cases[i].text);
    }
}

Test(parse, cache_types)
{
    enum rml_kv_dtype k, v;
    cr_expect(cli_parse_kv("f16", &k, &v));
    cr_expect(k == RML_KV_F16 && v == RML_KV_F16);
    cr_expect(cli_parse_kv("f32:i8", &k, &v));
    cr_expect(k == RML_KV_F32 && v == RML_KV_I8);
    static const char *const bad[] = {"",     ":",    "f16:",        ":f16", "f16:f16:f16",
                                      "q8_0", "f16 ", "f32f32f32f32"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_expect_not(cli_parse_kv(bad[i], &k, &v), "'%s'", bad[i]);
        cr_expect(k == RML_KV_F32 && v == RML_KV_I8);
    }
}

Test(parse, token_ids)
{
    int32_t *ids;
    size_t n;
    const char *bad;
    cr_assert(cli_parse_ids("0,2147483647, 5,\n6", &ids, &n, &bad));
    cr_assert_eq(n, 4);
    cr_expect_eq(ids[0], 0);
    cr_expect_eq(ids[1], INT32_MAX);
    cr_expect_eq(ids[2], 5);
    cr_expect_eq(ids[3], 6);
    free(ids);

    static const struct {
        const char *text, *bad;
    } cases[] = {
        {"", ""},
        {"1,", ""},
        {",1", ",1"},
        {"1,x,3", "x,3"},
        {"1,-2", "-2"},
        {"1 ,2", "1 ,2"},
        {"2147483648", "2147483648"},
        {"1,2,99999999999999999999", "99999999999999999999"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_not(cli_parse_ids(cases[i].text, &ids, &n, &bad), "'%s'", cases[i].text);
        cr_expect_str_eq(bad, cases[i].bad);
    }
}
