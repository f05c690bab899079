/*
 * A pattern that splits text: a literal string, a known pattern with a matcher of its own
 * (matchers.h), or any other in PCRE2.
 *
 * tokenizer.json's patterns are written for Oniguruma in its own syntax. They are translated: \s \S
 * \d \D \w \W \b \B and \p{..} become explicit classes out of our table, so that the ids do not
 * depend on PCRE2's Unicode version; ^ and $ match at line ends. What the two syntaxes read
 * differently is written in PCRE2's way; what that cannot say, or a property that the table does not
 * know, is refused by name.
 *
 * PCRE2 runs with its JIT compiler where it has one. Its steps are counted, and those allowed are
 * in proportion to the text, so that no text can make it hang: beyond them encoding fails with
 * RML_OUT_OF_RANGE.
 */
#ifndef RML_TEXT_PATTERN_H
#define RML_TEXT_PATTERN_H

#include "base/error.h"
#include "text/matchers.h"
#include "text/tokenizer.h"

struct rmli_pattern;

/* Both copy what they need. NULL on failure. A literal has a byte at least; the empty expression
 * matches before, between and behind all characters. */
struct rmli_pattern *rmli_pattern_literal(const char *s, size_t nbytes, struct rml_error *err);
struct rmli_pattern *rmli_pattern_regex(const char *regex, size_t nbytes, struct rml_error *err);
/* The same without a matcher of our own, for tests. */
struct rmli_pattern *rmli_pattern_pcre2(const char *regex, size_t nbytes, struct rml_error *err);
void rmli_pattern_destroy(struct rmli_pattern *pattern); /* NULL is allowed */

/* The regular expression as it was given, terminated; NULL of a literal. Borrowed. */
const char *rmli_pattern_source(const struct rmli_pattern *pattern);

/* Non-NULL for a known pattern: use it directly. */
rmli_matcher_fn *rmli_pattern_matcher(const struct rmli_pattern *pattern);

/* State of PCRE2 for one call of encode; zero to begin with, and not moved from the first match on. */
struct rmli_match_scratch {
    void *match_data, *context, *stack;
    uint64_t n_steps_left;
    size_t position; /* where in the text the last step was */
};
void rmli_match_scratch_release(struct rmli_match_scratch *scratch);

/*
 * The next match in text[from .. nbytes), the text before `from` being visible to look-behind:
 * 1 and its bounds, 0 for none, -1 on error. `last_end` is the end of the match before (SIZE_MAX
 * at first): an empty match there is passed over, as the reference does.
 */
int rmli_pattern_next(const struct rmli_pattern *pattern, struct rmli_match_scratch *scratch,
                      const char *text, size_t nbytes, size_t from, size_t last_end, size_t *begin,
                      size_t *end, struct rml_error *err);

/* The translation alone, appended to `out`; for PCRE2 in UTF mode with PCRE2_MULTILINE. */
bool rmli_pattern_translate(const char *regex, size_t nbytes, struct rml_bytes *out,
                            struct rml_error *err);

#endif
