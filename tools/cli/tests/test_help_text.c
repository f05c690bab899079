/* Expected: lines broken by hand. */
#include "tools/cli/help_text.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static void broken(const char *text, size_t width, size_t indent, const char *expected)
{
    char *got = cli_help_text(text, width, indent);
    cr_expect_str_eq(got, expected);
    free(got);
}

Test(help_text, lines_are_broken_at_blanks)
{
    broken("", 10, 0, "");
    broken("one two", 10, 0, "one two");
    broken("0123456789", 10, 0, "0123456789");
    broken("01234 6789", 10, 0, "01234 6789"); /* fits exactly */
    broken("01234 67890", 10, 0, "01234\n67890");
    broken("a b c d e f", 3, 0, "a b\nc d\ne f");
    broken("a longerthanthewidth b", 10, 0, "a\nlongerthanthewidth\nb");
    broken("one\n\ntwo three", 5, 0, "one\n\ntwo\nthree");
}

Test(help_text, later_parts_of_a_line_are_indented)
{
    broken("aa bb cc dd", 8, 3, "aa bb cc\n   dd");
    broken("aa bb cc dd ee", 8, 3, "aa bb cc\n   dd ee");
    broken("aa\nbb", 8, 3, "aa\nbb");
}

Test(help_text, lists_and_examples_stay)
{
    broken("Example of it:\n\n  rml-bench --many --options\nand on", 8, 0,
           "Example\nof it:\n\n  rml-bench --many --options\nand on");
}

Test(help_text, columns_are_characters)
{
    broken("\xc3\xa9\xc3\xa9\xc3\xa9 \xc3\xa9\xc3\xa9", 6, 0,
           "\xc3\xa9\xc3\xa9\xc3\xa9 \xc3\xa9\xc3\xa9");
}
