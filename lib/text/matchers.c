/*
 * Two shapes cover the families, each with compile-time settings:
 *
 *     GPT-2    contraction | ?letters | ?numbers | ?others | spaces
 *     cl100k   contraction | [prefix]letters | few numbers | ?others newlines* | spaces newline
 *              | spaces; its letters may be split by case (o200k, tekken)
 *
 * The comments beside the steps quote the alternatives in the patterns' order, as the first that
 * matches wins.
 */
#include "text/matchers.h"

#include <string.h>

#include "text/unicode.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Moves over characters of the class; `i` may be nbytes. */
ALWAYS_INLINE size_t skip(const char *s, size_t i, size_t n, uint64_t class)
{
    while (i < n) {
        size_t length;
        if (!(rmli_unicode_mask(rmli_utf8_decode(s + i, &length)) & class))
            break;
        i += length;
    }
    return i;
}

/* "[^class]+" with the same bounds. */
ALWAYS_INLINE size_t skip_others(const char *s, size_t i, size_t n, uint64_t class)
{
    while (i < n) {
        size_t length;
        if (rmli_unicode_mask(rmli_utf8_decode(s + i, &length)) & class)
            break;
        i += length;
    }
    return i;
}

ALWAYS_INLINE uint64_t mask_at(const char *s, size_t i, size_t n)
{
    size_t length;
    return i < n ? rmli_unicode_mask(rmli_utf8_decode(s + i, &length)) : 0;
}

/* "'s|'t|'re|'ve|'m|'ll|'d" at s[i], which is an apostrophe: the end of the match, or i. Folded,
 * the letters are taken in both cases, and s as the long s U+017F too. */
ALWAYS_INLINE size_t contraction(const char *s, size_t i, size_t n, bool folded)
{
    if (i + 1 >= n)
        return i;
    char a = s[i + 1], b = i + 2 < n ? s[i + 2] : 0;
    if (folded) {
        if (a == (char)0xc5 && b == (char)0xbf)
            return i + 3;
        a = a >= 'A' && a <= 'Z' ? (char)(a | 32) : a;
        b = b >= 'A' && b <= 'Z' ? (char)(b | 32) : b;
    }
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return i + 2;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l'))
        return i + 3;
    return i;
}

/* "\s+(?!\S)|\s+" at white space: all but the last character when something follows. */
ALWAYS_INLINE size_t spaces(const char *s, size_t i, size_t n)
{
    size_t end = skip(s, i, n, RMLI_UC_SPACE);
    if (end == n)
        return end;
    size_t last = rmli_utf8_previous(s, i, end);
    return last > i ? last : end;
}

static size_t match_gpt2(const char *s, size_t i, size_t n)
{
    size_t length;
    if (s[i] == '\'') {
        size_t end = contraction(s, i, n, false);
        if (end > i)
            return end;
    }
    uint64_t mask = rmli_unicode_mask(rmli_utf8_decode(s + i, &length));
    size_t begin = i;
    if (s[i] == ' ' && i + 1 < n) { /* " ?": the class of what follows decides */
        mask = mask_at(s, i + 1, n);
        begin = i + 1;
    }
    if (mask & RMLI_UC_L)
        return skip(s, begin, n, RMLI_UC_L);
    if (mask & RMLI_UC_N)
        return skip(s, begin, n, RMLI_UC_N);
    if (!(mask & RMLI_UC_SPACE))
        return skip_others(s, begin, n, RMLI_UC_SPACE | RMLI_UC_L | RMLI_UC_N);
    return spaces(s, i, n);
}

struct cl100k_shape {
    bool contracts;       /* folded contractions first */
    bool by_case;         /* letters as UPPER* LOWER+ | UPPER+ LOWER*, with marks */
    bool contracts_after; /* by_case: a contraction belongs to the word */
    bool marks;           /* not by_case: marks count as letters */
    bool slash;           /* "[\r\n/]*" after others */
    bool one_after;       /* "[\r\n/]?" instead */
    bool spaced;          /* words that single spaces part are one, and marks belong to letters */
    bool cascade;         /* white space in powers of two, 512 at most */
    unsigned max_numbers; /* 0: any */
};

/* "UPPER*LOWER+" from i, or i: UPPER and LOWER share the letters without case, so the run of
 * UPPER gives back what LOWER needs. */
ALWAYS_INLINE size_t upper_lower(const char *s, size_t i, size_t n)
{
    size_t end = i, last_shared = i, length;
    bool any_shared = false;
    while (end < n) {
        uint64_t mask = rmli_unicode_mask(rmli_utf8_decode(s + end, &length));
        if (!(mask & RMLI_UC_UPPER))
            break;
        if (mask & RMLI_UC_LOWER) {
            any_shared = true;
            last_shared = end + length;
        }
        end += length;
    }
    if (mask_at(s, end, n) & RMLI_UC_LOWER)
        return skip(s, end, n, RMLI_UC_LOWER);
    return any_shared ? last_shared : i;
}

ALWAYS_INLINE size_t cased_word(const char *s, size_t i, size_t prefix_end, size_t n)
{
    size_t end;
    if (prefix_end > i && (end = upper_lower(s, prefix_end, n)) > prefix_end)
        return end;
    if ((end = upper_lower(s, i, n)) > i)
        return end;
    if (prefix_end > i && (end = skip(s, prefix_end, n, RMLI_UC_UPPER)) > prefix_end)
        return skip(s, end, n, RMLI_UC_LOWER);
    if ((end = skip(s, i, n, RMLI_UC_UPPER)) > i)
        return skip(s, end, n, RMLI_UC_LOWER);
    return i;
}

/* "(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+" at a letter. */
ALWAYS_INLINE size_t spaced_words(const char *s, size_t i, size_t n)
{
    do {
        i = skip(s, i, n, RMLI_UC_L | RMLI_UC_M);
        if (!(i < n && s[i] == ' ' && mask_at(s, i + 1, n) & RMLI_UC_L))
            return i;
        i++;
    } while (true);
}

/* "\s{512}(?!\S)|..|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}" at white space. */
ALWAYS_INLINE size_t cascaded_spaces(const char *s, size_t i, size_t n)
{
    size_t ends[514] = {i}, n_spaces = 0, length;
    while (n_spaces < 513 && ends[n_spaces] < n &&
           rmli_unicode_mask(rmli_utf8_decode(s + ends[n_spaces], &length)) & RMLI_UC_SPACE) {
        ends[n_spaces + 1] = ends[n_spaces] + length;
        n_spaces++;
    }
    /* As many as white space or the end of the text follows. */
    size_t most = n_spaces < 513 && ends[n_spaces] < n ? n_spaces - 1 : n_spaces;
    for (size_t power = 512; power > 0; power /= 2)
        if (power <= most)
            return ends[power];
    return ends[1];
}

ALWAYS_INLINE size_t match_cl100k(const char *s, size_t i, size_t n, struct cl100k_shape shape)
{
    size_t length, end;
    uint64_t letters = shape.marks ? RMLI_UC_L | RMLI_UC_M : RMLI_UC_L;
    uint64_t not_others = RMLI_UC_SPACE | letters | RMLI_UC_N;
    char c = s[i];
    if (shape.contracts && c == '\'' && (end = contraction(s, i, n, true)) > i)
        return end;
    uint64_t mask = rmli_unicode_mask(rmli_utf8_decode(s + i, &length));
    /* "[^\r\n\p{L}\p{N}]?" and letters */
    bool may_prefix = !(mask & (RMLI_UC_L | RMLI_UC_N)) && c != '\r' && c != '\n';
    if (shape.by_case) {
        end = cased_word(s, i, may_prefix ? i + length : i, n);
        if (end > i) {
            if (shape.contracts_after && end < n && s[end] == '\'')
                end = contraction(s, end, n, true);
            return end;
        }
    } else {
        if (mask & letters)
            return shape.spaced ? spaced_words(s, i, n) : skip(s, i + length, n, letters);
        if (may_prefix && mask_at(s, i + length, n) & letters)
            return shape.spaced ? spaced_words(s, i + length, n) : skip(s, i + length, n, letters);
    }
    if (mask & RMLI_UC_N) { /* "\p{N}{1,3}" */
        if (shape.max_numbers == 0)
            return skip(s, i, n, RMLI_UC_N);
        for (end = i + length; shape.max_numbers > 1 && end < n; end += length) {
            if (!(rmli_unicode_mask(rmli_utf8_decode(s + end, &length)) & RMLI_UC_N))
                break;
            if (--shape.max_numbers == 1)
                return end + length;
        }
        return end;
    }
    /* " ?[^\s\p{L}\p{N}]+[\r\n]*" */
    size_t begin = c == ' ' && i + 1 < n && !(mask_at(s, i + 1, n) & not_others) ? i + 1 : i;
    if (begin > i || !(mask & not_others)) {
        end = skip_others(s, begin, n, not_others);
        while (end < n && (s[end] == '\r' || s[end] == '\n' || (shape.slash && s[end] == '/'))) {
            end++;
            if (shape.one_after)
                break;
        }
        return end;
    }
    /* "\s*[\r\n]+": up to the last newline of the white space */
    size_t after_newline = i;
    /* Behind a part of a run there is none: it would have been in an earlier match. */
    if (shape.cascade && i > 0 && s[i - 1] != '\r' && s[i - 1] != '\n' &&
        mask_at(s, rmli_utf8_previous(s, 0, i), n) & RMLI_UC_SPACE)
        return cascaded_spaces(s, i, n);
    for (end = i; end < n; end += length) {
        if (!(rmli_unicode_mask(rmli_utf8_decode(s + end, &length)) & RMLI_UC_SPACE))
            break;
        if (s[end] == '\r' || s[end] == '\n')
            after_newline = end + 1;
    }
    if (after_newline > i)
        return after_newline;
    if (shape.cascade)
        return cascaded_spaces(s, i, n);
    /* "\s+(?!\S)|\s+" */
    if (end == n)
        return end;
    size_t last = rmli_utf8_previous(s, i, end);
    return last > i ? last : end;
}

#define CL100K(name, ...)                                                                          \
    static size_t name(const char *s, size_t i, size_t n)                                          \
    {                                                                                              \
        return match_cl100k(s, i, n, (struct cl100k_shape){__VA_ARGS__});                          \
    }

CL100K(match_llama3, .contracts = true, .max_numbers = 3)
CL100K(match_qwen2, .contracts = true, .max_numbers = 1)
CL100K(match_exaone_moe, .contracts = true, .max_numbers = 1, .spaced = true, .slash = true,
       .one_after = true)
CL100K(match_jais2, .contracts = true, .max_numbers = 3, .cascade = true)
CL100K(match_ufakzeka, .max_numbers = 1)
CL100K(match_qwen35, .contracts = true, .max_numbers = 1, .marks = true)
CL100K(match_minicpm, .contracts = true, .max_numbers = 0)
CL100K(match_tekken, .by_case = true, .max_numbers = 1, .slash = true)
CL100K(match_o200k_digit, .by_case = true, .contracts_after = true, .max_numbers = 1, .slash = true)
CL100K(match_o200k, .by_case = true, .contracts_after = true, .max_numbers = 3, .slash = true)

const struct rmli_known_pattern rmli_known_patterns[] = {
    {RMLI_PATTERN_GPT2, match_gpt2},         {RMLI_PATTERN_LLAMA3, match_llama3},
    {RMLI_PATTERN_QWEN2, match_qwen2},       {RMLI_PATTERN_QWEN35, match_qwen35},
    {RMLI_PATTERN_MINICPM, match_minicpm},   {RMLI_PATTERN_CL100K, match_llama3},
    {RMLI_PATTERN_BAILING, match_qwen2},     {RMLI_PATTERN_TEKKEN, match_tekken},
    {RMLI_PATTERN_O200K, match_o200k},       {RMLI_PATTERN_O200K_DIGIT, match_o200k_digit},
    {RMLI_PATTERN_UFAKZEKA, match_ufakzeka}, {RMLI_PATTERN_EXAONE_MOE, match_exaone_moe},
    {RMLI_PATTERN_JAIS2, match_jais2},
};
const size_t rmli_n_known_patterns = sizeof rmli_known_patterns / sizeof *rmli_known_patterns;

rmli_matcher_fn *rmli_find_matcher(const char *pattern, size_t nbytes)
{
    for (size_t i = 0; i < rmli_n_known_patterns; i++)
        if (strlen(rmli_known_patterns[i].pattern) == nbytes &&
            memcmp(rmli_known_patterns[i].pattern, pattern, nbytes) == 0)
            return rmli_known_patterns[i].match;
    return NULL;
}
