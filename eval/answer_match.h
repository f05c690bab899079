/*
 * From a reply to a verdict, by lm-eval's rules: the regex filter takes the answer out of the
 * text, exact_match compares it with what is accepted.
 */
#ifndef EVAL_ANSWER_MATCH_H
#define EVAL_ANSWER_MATCH_H

#include "rml.h"

#define ANSWER_MAX_IGNORED 16

struct answer_rules {
    const char *pattern;  /* NULL: the whole reply is the answer */
    int64_t group_select; /* which of all matches: 0 the first, -1 the last */
    const char *fallback; /* the answer when there is no such match */
    /* What each of these matches is cut out before comparing, in their order, */
    const char *ignore_regexes[ANSWER_MAX_IGNORED];
    size_t n_ignore_regexes;
    bool ignore_case;        /* letters are lowered one by one, */
    bool ignore_punctuation; /* the 32 ASCII characters of Python's string.punctuation, */
    bool ignore_numbers;     /* and ASCII digits are cut out */
};

/* False when the pattern does not compile: RML_INVALID_ARGUMENT with its place. */
bool answer_pattern_check(const char *pattern, struct rml_error *err);

struct answer_matcher;

/* Patterns are PCRE2's, in UTF mode with Unicode classes. One that does not compile is
 * RML_INVALID_ARGUMENT with its place. */
struct answer_matcher *answer_matcher_create(const struct answer_rules *rules,
                                             struct rml_error *err);
void answer_matcher_destroy(struct answer_matcher *matcher); /* NULL is allowed */

/*
 * Appends the answer in a reply (UTF-8). As re.findall and lm-eval's filter: of the selected
 * match the text of its only group, or of its first group that is not empty, or of all of it when
 * the pattern has no group; white space at both ends stripped.
 */
bool answer_extract(struct answer_matcher *matcher, const char *reply, size_t nbytes,
                    struct rml_bytes *answer, struct rml_error *err);

/* Whether an answer is the accepted text under the rules. */
bool answer_equals(struct answer_matcher *matcher, const char *answer, size_t answer_nbytes,
                   const char *accepted, size_t accepted_nbytes, bool *equal,
                   struct rml_error *err);

/* Appends the text without white space at both ends (str.strip). */
bool answer_strip(const char *text, size_t nbytes, struct rml_bytes *out, struct rml_error *err);
/* Appends the text in lower or upper case, letter by letter. */
bool answer_letter_case(const char *text, size_t nbytes, bool upper, struct rml_bytes *out,
                        struct rml_error *err);

#endif
