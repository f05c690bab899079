/*
 * Matchers of our own for the patterns of the known families: the same splits as the pattern
 * in a regular-expression engine, at the speed of a loop over bytes.
 *
 * Each of these patterns matches at every position, so a matcher takes a position and gives
 * the end of the match that begins there: begin < end <= nbytes.
 */
#ifndef RML_TEXT_MATCHERS_H
#define RML_TEXT_MATCHERS_H

#include <stddef.h>

typedef size_t rmli_matcher_fn(const char *text, size_t begin, size_t nbytes);

struct rmli_known_pattern {
    const char *pattern; /* as tokenizer.json writes it */
    rmli_matcher_fn *match;
};
extern const struct rmli_known_pattern rmli_known_patterns[];
extern const size_t rmli_n_known_patterns;

/* NULL for a pattern that has no matcher. */
rmli_matcher_fn *rmli_find_matcher(const char *pattern, size_t nbytes);

/* These two are found, not matched everywhere (pattern.c). */
#define RMLI_PATTERN_THREES "\\d{1,3}(?=(?:\\d{3})*\\b)"
#define RMLI_PATTERN_BEFORE_THREES "(?=(\\d{3})+(?!\\d))"

#define RMLI_PATTERN_GPT2                                                                          \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define RMLI_PATTERN_CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define RMLI_PATTERN_SPACES "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define RMLI_PATTERN_LLAMA3                                                                        \
    RMLI_PATTERN_CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"                          \
                             "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" RMLI_PATTERN_SPACES
#define RMLI_PATTERN_QWEN2                                                                         \
    RMLI_PATTERN_CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"                               \
                             "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" RMLI_PATTERN_SPACES
#define RMLI_PATTERN_QWEN35                                                                        \
    RMLI_PATTERN_CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"                       \
                             "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" RMLI_PATTERN_SPACES
#define RMLI_PATTERN_EXAONE_MOE                                                                    \
    RMLI_PATTERN_CONTRACTION                                                                       \
    "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+"                                 \
    "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"
#define RMLI_PATTERN_JAIS2                                                                         \
    RMLI_PATTERN_CONTRACTION                                                                       \
    "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"                                                   \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+"                                                \
    "|\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|\\s{16}(?!"    \
    "\\S)"                                                                                         \
    "|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}"
#define RMLI_PATTERN_UFAKZEKA                                                                      \
    "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" RMLI_PATTERN_SPACES
#define RMLI_PATTERN_MINICPM                                                                       \
    RMLI_PATTERN_CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}+"                              \
                             "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" RMLI_PATTERN_SPACES
#define RMLI_PATTERN_CL100K                                                                        \
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}"                             \
    "| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"
#define RMLI_PATTERN_BAILING                                                                       \
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}"                                  \
    "| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"
#define RMLI_PATTERN_UPPER_ "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define RMLI_PATTERN_LOWER_ "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define RMLI_PATTERN_TEKKEN                                                                        \
    "[^\\r\\n\\p{L}\\p{N}]?" RMLI_PATTERN_UPPER_ "*" RMLI_PATTERN_LOWER_ "+"                       \
    "|[^\\r\\n\\p{L}\\p{N}]?" RMLI_PATTERN_UPPER_ "+" RMLI_PATTERN_LOWER_ "*"                      \
    "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" RMLI_PATTERN_SPACES
#define RMLI_PATTERN_O200K_DIGIT                                                                   \
    "[^\\r\\n\\p{L}\\p{N}]?" RMLI_PATTERN_UPPER_ "*" RMLI_PATTERN_LOWER_                           \
    "+" RMLI_PATTERN_CONTRACTION "?"                                                               \
    "|[^\\r\\n\\p{L}\\p{N}]?" RMLI_PATTERN_UPPER_ "+" RMLI_PATTERN_LOWER_                          \
    "*" RMLI_PATTERN_CONTRACTION "?"                                                               \
    "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" RMLI_PATTERN_SPACES
#define RMLI_PATTERN_O200K                                                                         \
    "[^\\r\\n\\p{L}\\p{N}]?" RMLI_PATTERN_UPPER_ "*" RMLI_PATTERN_LOWER_                           \
    "+" RMLI_PATTERN_CONTRACTION "?"                                                               \
    "|[^\\r\\n\\p{L}\\p{N}]?" RMLI_PATTERN_UPPER_ "+" RMLI_PATTERN_LOWER_                          \
    "*" RMLI_PATTERN_CONTRACTION "?"                                                               \
    "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" RMLI_PATTERN_SPACES

#endif
