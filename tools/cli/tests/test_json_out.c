/* Any bytes as a JSON string: one U+FFFD for each maximal subpart (Unicode Standard, 3.9, table
 * 3-8, and what Python's bytes.decode(errors="replace") gives). */
#include <criterion/criterion.h>
#include <string.h>

#include "tools/cli/json_out.h"

#define R "\xef\xbf\xbd"

static const struct {
    const char *bytes;
    size_t nbytes;
    const char *text;
    size_t text_nbytes;
} cases[] = {
#define CASE(bytes, text)                                                                          \
    {                                                                                              \
        bytes, sizeof(bytes) - 1, text, sizeof(text) - 1                                           \
    }
    CASE("", ""),
    CASE("plain", "plain"),
    CASE("a\0b", "a\0b"),
    CASE("\xc3\xa9\xe2\x82\xac\xf0\x9f\xa6\x89", "\xc3\xa9\xe2\x82\xac\xf0\x9f\xa6\x89"),
    CASE("\x80\xbf", R R),
    CASE("\xc0\xaf", R R), /* overlong: no part of it begins anything */
    CASE("\xe0\x80\x80", R R R),
    CASE("\xed\xa0\x80", R R R),       /* a surrogate */
    CASE("\xf4\x90\x80\x80", R R R R), /* above U+10FFFF */
    CASE("\xf5", R),
    CASE("\xe2\x82", R), /* cut short: one */
    CASE("\xe2\x82"
         "A",
         R "A"),
    CASE("\xf0\x9f\xa6", R),
    CASE("\xf0\x9f\xa6\xf0\x9f", R R),
    CASE("\xc3\xc3\xa9", R "\xc3\xa9"),
    CASE("a\xf1\x80\x80\xe1\x80\xc2"
         "b\x80"
         "c\x80\xbf"
         "d",
         "a" R R R "b" R "c" R R "d"),
#undef CASE
};

Test(json_out, any_bytes)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *string = cli_json_bytes(cases[i].bytes, cases[i].nbytes);
        cr_assert(json_is_string(string));
        cr_expect(json_string_length(string) == cases[i].text_nbytes &&
                      memcmp(json_string_value(string), cases[i].text, cases[i].text_nbytes) == 0,
                  "case %zu", i);
        json_decref(string);
    }
}
