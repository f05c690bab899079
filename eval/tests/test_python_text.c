/* Counts of text against what Python 3 says. */
#include <criterion/criterion.h>
#include <string.h>

#include "eval/python_text.h"

Test(python_text, words_as_re_split_counts_them)
{
    /* len(re.split(r"\s+", text)) */
    const struct {
        const char *text;
        size_t n;
    } cases[] = {{"", 1},
                 {" a b\n", 4},
                 {"a", 1},
                 {"a  b\t\nc", 3},
                 {"\n", 2},
                 {"a\xc2\xa0"
                  "b",
                  2},
                 {"a\xe2\x80\x8b"
                  "b",
                  1},
                 {"a\xe3\x80\x80"
                  "b",
                  2},
                 {"a\x1c"
                  "b",
                  2},
                 {"a\xc2\x85"
                  "b",
                  2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect(python_n_words(cases[i].text, strlen(cases[i].text)) == cases[i].n, "case %zu",
                  i);
}

Test(python_text, words_that_begin_in_a_part)
{
    /* sum(m.start() >= begin for m in re.finditer(rb"(?<!\\S)\\S", text)) */
    const char text[] = "one two\n\nthree ";
    const size_t expected[] = {3, 2, 2, 2, 2, 1, 1, 1, 1, 1, 0};
    for (size_t begin = 0; begin < sizeof expected / sizeof expected[0]; begin++)
        cr_expect(python_n_words_begun(text, strlen(text), begin) == expected[begin], "at %zu",
                  begin);
    cr_expect(python_n_words_begun("", 0, 0) == 0);
    cr_expect(python_n_words_begun("a\xe3\x80\x80\xc3\xa4", 6, 1) == 1);
    cr_expect(python_n_words_begun("a\xe3\x80\x80\xc3\xa4", 6, 5) == 0); /* cut inside it */
}

Test(python_text, rstrip_and_length)
{
    cr_expect(python_rstrip_nbytes("ab \t\n", 5) == 2);
    cr_expect(python_rstrip_nbytes("ab\xe2\x80\xa8\xe3\x80\x80", 8) == 2);
    cr_expect(python_rstrip_nbytes("  ", 2) == 0);
    cr_expect(python_rstrip_nbytes("a\xe2\x80\x8b", 4) == 4); /* zero width space is none */
    cr_expect(python_leading_space_nbytes(" \xc2\xa0x", 4) == 3);
    cr_expect(python_length("na\xc3\xafve \xf0\x9f\x8d\x95", 11) == 7);
}

/* All 29 code points that str.isspace knows, and none beside them below U+3100. */
Test(python_text, white_space_is_pythons)
{
    size_t n = 0;
    for (unsigned c = 1; c < 0x3100; c++) {
        char text[4];
        size_t nbytes = 0;
        if (c < 0x80) {
            text[nbytes++] = (char)c;
        } else if (c < 0x800) {
            text[nbytes++] = (char)(0xc0 | c >> 6);
            text[nbytes++] = (char)(0x80 | (c & 63));
        } else {
            text[nbytes++] = (char)(0xe0 | c >> 12);
            text[nbytes++] = (char)(0x80 | (c >> 6 & 63));
            text[nbytes++] = (char)(0x80 | (c & 63));
        }
        n += python_rstrip_nbytes(text, nbytes) == 0;
    }
    cr_expect(n == 29, "%zu", n);
}
