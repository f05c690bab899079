/*
 * The regex filter and exact match.
 */
#include "eval/answer_match.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "eval/python_text.h"
#include "tools/cli/byte_input.h"

struct answer_matcher {
    struct answer_rules rules;
    pcre2_code *filter, *ignored[ANSWER_MAX_IGNORED];
    pcre2_match_data *filter_data, *ignored_data[ANSWER_MAX_IGNORED];
};

/* ---- Patterns -------------------------------------------------------------------------------- */

static pcre2_code *compile_pattern(const char *pattern, struct rml_error *err)
{
    int error;
    PCRE2_SIZE place;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | PCRE2_UCP, &error, &place, NULL);
    if (!code) {
        PCRE2_UCHAR why[200];
        pcre2_get_error_message(error, why, sizeof why);
        rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                  "'%.100s' found, expected a pattern: %s (byte offset %zu)", pattern,
                  (const char *)why, (size_t)place);
    }
    return code;
}

bool answer_pattern_check(const char *pattern, struct rml_error *err)
{
    pcre2_code *code = compile_pattern(pattern, err);
    pcre2_code_free(code);
    return code != NULL;
}

static bool compile(const char *pattern, pcre2_code **code, pcre2_match_data **data,
                    struct rml_error *err)
{
    *code = compile_pattern(pattern, err);
    if (!*code)
        return false;
    *data = pcre2_match_data_create_from_pattern(*code, NULL);
    return *data || rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a pattern");
}

struct answer_matcher *answer_matcher_create(const struct answer_rules *rules,
                                             struct rml_error *err)
{
    struct answer_matcher *m = calloc(1, sizeof *m);
    if (!m) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a pattern");
        return NULL;
    }
    m->rules = *rules;
    bool ok = !rules->pattern || compile(rules->pattern, &m->filter, &m->filter_data, err);
    for (size_t i = 0; ok && i < rules->n_ignore_regexes; i++)
        ok = compile(rules->ignore_regexes[i], &m->ignored[i], &m->ignored_data[i], err);
    if (ok)
        return m;
    answer_matcher_destroy(m);
    return NULL;
}

void answer_matcher_destroy(struct answer_matcher *matcher)
{
    if (!matcher)
        return;
    pcre2_match_data_free(matcher->filter_data);
    pcre2_code_free(matcher->filter);
    for (size_t i = 0; i < matcher->rules.n_ignore_regexes; i++) {
        pcre2_match_data_free(matcher->ignored_data[i]);
        pcre2_code_free(matcher->ignored[i]);
    }
    free(matcher);
}

/* Where a search for all matches is. */
struct scan {
    size_t at;      /* the end of the last match */
    bool was_empty; /* behind an empty match only one that is not may begin at its place */
};

static bool next_match(const pcre2_code *code, pcre2_match_data *data, const char *text,
                       size_t nbytes, struct scan *scan, bool *found, struct rml_error *err)
{
    int rc = pcre2_match(code, (PCRE2_SPTR)text, nbytes, scan->at,
                         scan->was_empty ? PCRE2_NOTEMPTY_ATSTART : 0, data, NULL);
    *found = rc >= 0;
    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH) {
        PCRE2_UCHAR why[200];
        pcre2_get_error_message(rc, why, sizeof why);
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "the pattern cannot be matched against a reply: %s", (const char *)why);
    }
    if (*found) {
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data);
        *scan = (struct scan){.at = ends[1], .was_empty = ends[0] == ends[1]};
    }
    return true;
}

/* ---- The filter -------------------------------------------------------------------------------- */

static void strip(const char **text, size_t *nbytes)
{
    size_t space = python_leading_space_nbytes(*text, *nbytes);
    *text += space;
    *nbytes = python_rstrip_nbytes(*text, *nbytes - space);
}

/* What findall gives for the match in filter_data; false: several groups, all empty. */
static bool matched_text(const struct answer_matcher *m, const char *text, const char **out,
                         size_t *nbytes)
{
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(m->filter_data);
    uint32_t n_groups = 0;
    pcre2_pattern_info(m->filter, PCRE2_INFO_CAPTURECOUNT, &n_groups);
    for (uint32_t g = n_groups > 0; g <= n_groups; g++) {
        bool is_set = ends[2 * g] != PCRE2_UNSET;
        *out = is_set ? text + ends[2 * g] : "";
        *nbytes = is_set ? ends[2 * g + 1] - ends[2 * g] : 0;
        if (n_groups < 2 || *nbytes > 0)
            return true;
    }
    return false;
}

bool answer_extract(struct answer_matcher *m, const char *reply, size_t nbytes,
                    struct rml_bytes *answer, struct rml_error *err)
{
    if (!m->filter)
        return cli_bytes_append(answer, reply, nbytes, err);
    bool found = true;
    struct scan scan = {0};
    size_t n_matches = 0;
    int64_t wanted = m->rules.group_select;
    if (wanted < 0) { /* counted from the end */
        for (; found; n_matches += found)
            if (!next_match(m->filter, m->filter_data, reply, nbytes, &scan, &found, err))
                return false;
        wanted += (int64_t)n_matches;
        scan = (struct scan){0};
    }
    found = wanted >= 0;
    for (int64_t i = 0; found && i <= wanted; i++)
        if (!next_match(m->filter, m->filter_data, reply, nbytes, &scan, &found, err))
            return false;
    const char *text;
    size_t n;
    if (!found)
        return cli_bytes_append(answer, m->rules.fallback, strlen(m->rules.fallback), err);
    if (!matched_text(m, reply, &text, &n)) {
        text = m->rules.fallback;
        n = strlen(text);
    }
    strip(&text, &n);
    return cli_bytes_append(answer, text, n, err);
}

/* ---- Exact match --------------------------------------------------------------------------------- */

/* re.sub(ignored, "", text) */
static bool cut_matches(const pcre2_code *code, pcre2_match_data *data, const char *text,
                        size_t nbytes, struct rml_bytes *out, struct rml_error *err)
{
    struct scan scan = {0};
    size_t kept_to = 0;
    for (bool found = true; found;) {
        if (!next_match(code, data, text, nbytes, &scan, &found, err))
            return false;
        if (!found)
            break;
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data);
        if (!cli_bytes_append(out, text + kept_to, ends[0] - kept_to, err))
            return false;
        kept_to = ends[1];
    }
    return cli_bytes_append(out, text + kept_to, nbytes - kept_to, err);
}

static bool cut_ignored(struct answer_matcher *m, struct rml_bytes *text, struct rml_error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < m->rules.n_ignore_regexes; i++) {
        struct rml_bytes out = {0};
        ok = cut_matches(m->ignored[i], m->ignored_data[i], text->n > 0 ? text->data : "", text->n,
                         &out, err);
        rml_bytes_release(text);
        *text = out;
    }
    return ok;
}

bool answer_strip(const char *text, size_t nbytes, struct rml_bytes *out, struct rml_error *err)
{
    strip(&text, &nbytes);
    return cli_bytes_append(out, text, nbytes, err);
}

bool answer_letter_case(const char *text, size_t nbytes, bool upper, struct rml_bytes *out,
                        struct rml_error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < nbytes;) {
        utf8proc_int32_t c;
        utf8proc_uint8_t encoded[4];
        utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text + i,
                                              (utf8proc_ssize_t)(nbytes - i), &c);
        if (n <= 0) {
            ok = cli_bytes_append(out, text + i++, 1, err);
            continue;
        }
        c = upper ? utf8proc_toupper(c) : utf8proc_tolower(c);
        utf8proc_ssize_t length = utf8proc_encode_char(c, encoded);
        ok = cli_bytes_append(out, (const char *)encoded, (size_t)length, err);
        i += (size_t)n;
    }
    return ok;
}

static bool lower(struct rml_bytes *text, struct rml_error *err)
{
    struct rml_bytes out = {0};
    bool ok = answer_letter_case(text->n > 0 ? text->data : "", text->n, false, &out, err);
    rml_bytes_release(text);
    *text = out;
    return ok;
}

static void cut_characters(struct rml_bytes *text, const char *cut)
{
    size_t n = 0;
    for (size_t i = 0; i < text->n; i++)
        if (text->data[i] == 0 || !strchr(cut, text->data[i]))
            text->data[n++] = text->data[i];
    text->n = n;
}

static bool normalise(struct answer_matcher *m, const char *text, size_t nbytes,
                      struct rml_bytes *out, struct rml_error *err)
{
    if (!cli_bytes_append(out, text, nbytes, err) || !cut_ignored(m, out, err) ||
        (m->rules.ignore_case && !lower(out, err)))
        return false;
    if (m->rules.ignore_punctuation)
        cut_characters(out, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~");
    if (m->rules.ignore_numbers)
        cut_characters(out, "0123456789");
    return true;
}

bool answer_equals(struct answer_matcher *m, const char *answer, size_t answer_nbytes,
                   const char *accepted, size_t accepted_nbytes, bool *equal, struct rml_error *err)
{
    struct rml_bytes a = {0}, b = {0};
    bool ok = normalise(m, answer, answer_nbytes, &a, err) &&
              normalise(m, accepted, accepted_nbytes, &b, err);
    *equal = ok && a.n == b.n && (a.n == 0 || memcmp(a.data, b.data, a.n) == 0);
    rml_bytes_release(&a);
    rml_bytes_release(&b);
    return ok;
}
