/*
 * The matchers of known patterns against the patterns themselves in PCRE2, with the classes of
 * our table: the same spans on random text, seed printed.
 */
#include "text/matchers.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "text/pattern.h"
#include "text/unicode.h"

enum { N_TEXTS = 4000, MAX_NBYTES = 256 };

/* Mostly what the patterns tell apart, sometimes anything. */
static uint32_t random_code_point(struct rmli_rng *rng)
{
    static const uint32_t telling[] = {
        ' ',     ' ',     ' ',    '\n',   '\r',   '\t',   '\'',   '\'',  's',   'S',
        't',     'T',     'r',    'e',    'R',    'E',    'v',    'l',   'L',   'm',
        'd',     'a',     'Z',    '0',    '1',    '9',    '/',    '.',   '-',   '_',
        0x17f,   0xa0,    0x85,   0x3000, 0x2028, 0x300,  0x301,  0x1c5, 0x2b0, 0x4e00,
        0xb2,    0x2167,  0x663,  0x200d, 0xfe0f, 0x200b, 0x180e, 0xaa,  0xe9,  0xc9,
        0x1f600, 0x10400, 0x212a, 0x130,  0x345,  0x903,  0x20dd, 0xad,  0x1c,  0x1f};
    if (rmli_rng_below(rng, 8) > 0)
        return telling[rmli_rng_below(rng, sizeof telling / sizeof *telling)];
    uint32_t c = (uint32_t)rmli_rng_below(rng, rmli_rng_below(rng, 2) ? 0x3100 : 0x110000);
    return c >= 0xd800 && c < 0xe000 ? 'x' : c;
}

static size_t random_text(struct rmli_rng *rng, char *text)
{
    size_t n = 0, wanted = rmli_rng_below(rng, MAX_NBYTES - 4);
    while (n < wanted)
        n += rmli_utf8_encode(random_code_point(rng), text + n);
    return n;
}

/* Long runs: white space that is cut in powers of two. */
static size_t random_spaces(struct rmli_rng *rng, char *text)
{
    size_t n = 0, n_spaces = rmli_rng_below(rng, 1200);
    while (n < n_spaces)
        text[n++] = rmli_rng_below(rng, 300) > 0 ? ' ' : "\t\nx\r"[rmli_rng_below(rng, 4)];
    if (rmli_rng_below(rng, 2))
        text[n++] = "x1.\n"[rmli_rng_below(rng, 4)];
    return n;
}

Test(matchers, equal_their_patterns)
{
    const char *given = getenv("RML_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 20240607;
    for (size_t p = 0; p < rmli_n_known_patterns; p++) {
        const struct rmli_known_pattern *known = &rmli_known_patterns[p];
        struct rml_error err = RML_ERROR_INIT;
        struct rmli_pattern *pattern =
            rmli_pattern_pcre2(known->pattern, strlen(known->pattern), &err);
        cr_assert_not_null(pattern, "%s", err.message);
        struct rmli_match_scratch scratch = {0};
        struct rmli_rng rng;
        rmli_rng_seed(&rng, seed);
        for (int i = 0; i < N_TEXTS; i++) {
            char text[1300];
            size_t n = i % 16 > 0 ? random_text(&rng, text) : random_spaces(&rng, text), begin, end;
            for (size_t at = 0; at < n; at = end) {
                cr_assert_eq(
                    rmli_pattern_next(pattern, &scratch, text, n, at, SIZE_MAX, &begin, &end, &err),
                    1, "%s", err.message);
                cr_assert_eq(begin, at);
                size_t ours = known->match(text, at, n);
                cr_assert_eq(ours, end,
                             "seed %llu, text %d '%.*s', pattern '%s': at %zu the match ends at "
                             "%zu, expected %zu",
                             (unsigned long long)seed, i, (int)n, text, known->pattern, at, ours,
                             end);
            }
        }
        rmli_match_scratch_release(&scratch);
        rmli_pattern_destroy(pattern);
    }
}

/* The same for those that are found: one match after the other, at random texts of digits. */
Test(matchers, finders_equal_their_patterns)
{
    static const char *const patterns[] = {"\\s+$", RMLI_PATTERN_THREES,
                                           RMLI_PATTERN_BEFORE_THREES};
    static const uint32_t telling[] = {'0', '1', '2', '3', '4',  '5',   '6',
                                       '7', '8', '9', '0', '1',  0x661, 0x1d7d8,
                                       'a', ' ', '.', '_', '\n', 0xbd,  0xb2};
    struct rmli_rng rng;
    rmli_rng_seed(&rng, 7);
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        struct rml_error err = RML_ERROR_INIT;
        struct rmli_pattern *ours = rmli_pattern_regex(patterns[p], strlen(patterns[p]), &err);
        struct rmli_pattern *pcre2 = rmli_pattern_pcre2(patterns[p], strlen(patterns[p]), &err);
        cr_assert(ours && pcre2, "%s", err.message);
        struct rmli_match_scratch scratch = {0};
        for (int i = 0; i < N_TEXTS; i++) {
            char text[MAX_NBYTES];
            size_t n = 0, wanted = rmli_rng_below(&rng, 40);
            size_t most = rmli_rng_below(&rng, 2) ? 13 : sizeof telling / sizeof *telling;
            while (n < wanted)
                n += rmli_utf8_encode(telling[rmli_rng_below(&rng, most)], text + n);
            size_t last_end = SIZE_MAX, from = 0, begin[2], end[2];
            int found[2];
            do {
                found[0] = rmli_pattern_next(ours, &scratch, text, n, from, last_end, &begin[0],
                                             &end[0], &err);
                found[1] = rmli_pattern_next(pcre2, &scratch, text, n, from, last_end, &begin[1],
                                             &end[1], &err);
                cr_assert(found[0] == found[1] &&
                              (found[0] == 0 || (begin[0] == begin[1] && end[0] == end[1])),
                          "'%.*s' from %zu, pattern '%s': %d %zu %zu, expected %d %zu %zu", (int)n,
                          text, from, patterns[p], found[0], begin[0], end[0], found[1], begin[1],
                          end[1]);
                from = last_end = end[0];
            } while (found[0] > 0);
        }
        rmli_match_scratch_release(&scratch);
        rmli_pattern_destroy(ours);
        rmli_pattern_destroy(pcre2);
    }
}
