/*
 * Expressions that nobody has written for speed, on texts that nobody would write: a match is found or
 * given up within steps in proportion to the text.
 */
#include "text/pattern.h"

#include <criterion/criterion.h>
#include <string.h>

/* Matches in n bytes of `c` and an 'x' behind them; -1 when given up, with RML_OUT_OF_RANGE. */
static int count_matches(const char *regex, char c, size_t n)
{
    struct rml_error err = RML_ERROR_INIT;
    struct rmli_match_scratch scratch = {0};
    struct rmli_pattern *pattern = rmli_pattern_regex(regex, strlen(regex), &err);
    cr_assert_not_null(pattern, "%s: %s", regex, err.message);
    char *text = malloc(n + 1);
    memset(text, c, n);
    text[n] = 'x';
    int n_matches = 0, found;
    size_t from = 0, last_end = SIZE_MAX, begin, end;
    while ((found = rmli_pattern_next(pattern, &scratch, text, n + 1, from, last_end, &begin, &end,
                                      &err)) > 0) {
        n_matches++;
        from = last_end = end;
    }
    if (found < 0) {
        cr_expect_eq(err.code, RML_OUT_OF_RANGE, "%s", regex);
        cr_expect(strstr(err.message, regex), "%s: %s", regex, err.message);
    }
    free(text);
    rmli_match_scratch_release(&scratch);
    rmli_pattern_destroy(pattern);
    return found < 0 ? -1 : n_matches;
}

Test(pattern_limits, a_long_run_is_walked_once)
{
    /* A run of spaces but its last, the last, the letter. */
    cr_expect_eq(count_matches("\\s+(?!\\S)|\\s|x", ' ', 1000000), 3);
    cr_expect_eq(count_matches("[^ ]|( )+", ' ', 200000), 2);
    cr_expect_eq(count_matches("a{1,3}|x", 'a', 300000), 100001);
    cr_expect_eq(count_matches("(?=a)|x", 'a', 300000), 300001);
}

/* Nothing can fail behind the repetition at its end: not counted, and there is nothing to give up. */
Test(pattern_limits, items_one_behind_another_are_not_counted)
{
    cr_expect_eq(count_matches("\\s?[bc]+", ' ', 1000000), 0);
    cr_expect_eq(count_matches(" ?\\x20? {1,3}", ' ', 1000000), 200000);
    cr_expect_eq(count_matches("[[:alpha:]]", 'a', 100000), 100001);
}

Test(pattern_limits, a_run_that_is_walked_from_each_of_its_places_is_given_up)
{
    cr_expect_eq(count_matches("\\s{2,}[bc]|x", ' ', 30000), -1);
    cr_expect_eq(count_matches("\\s{2,}[bc]", ' ', 30000), -1);
    cr_expect_eq(count_matches(" ? +[bc]", ' ', 30000), -1);
    cr_expect_eq(count_matches("(?: )+[bc]|x", ' ', 30000), -1);
    cr_expect_eq(count_matches("(?= +[bc])|x", ' ', 30000), -1);
}

Test(pattern_limits, backtracking_is_given_up)
{
    cr_expect_eq(count_matches("(?:a|aa)+b|x", 'a', 3000), -1);
    cr_expect_eq(count_matches("a*a*a*b|a|x", 'a', 20000), -1);
    /* Each match is under every limit; all of them together are not. */
    cr_expect_eq(count_matches("(?:a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?[bc])?[ax]", 'a', 20000),
                 -1);
}
