/*
 * Running patterns.
 */
#include "text/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/memory.h"
#include "text/growing.h"
#include "text/unicode.h"

/*
 * Limits on matching. PCRE2's own count backtracking, per match, and leave out what a repeated
 * character takes: a megabyte of spaces under \s{2,}x costs nothing by them and ten minutes. So it
 * calls back before each item of the pattern, and what it has moved forward since the last is added up,
 * over all matches of a text. Real patterns take tens of steps a byte, a megabyte of white space
 * under \s+(?!\S) two; a thousand a byte are over within ten seconds a megabyte. Where nothing can
 * fail behind a repetition there is nothing to count.
 *
 * With JIT, backtracking needs a stack, of so many bytes at most.
 */
enum {
    STEPS_AT_FIRST = 10000000,
    STEPS_A_BYTE = 1000,
    MATCH_LIMIT = 10000000,
    HEAP_LIMIT_KB = 65536,
    JIT_STACK_NBYTES = 8 << 20
};

/* A hostile pattern may expand to much more than it is; real ones stay under 100 KB. */
enum { MAX_TRANSLATION_NBYTES = 4 << 20 };

/* Known patterns that do not match everywhere, found by functions of our own: any backtracking
 * engine takes time for them that grows with the square of a run's length. */
typedef int finder_fn(const char *text, size_t nbytes, size_t from, size_t last_end, size_t *begin,
                      size_t *end);

struct rmli_pattern {
    char *literal; /* or NULL */
    size_t literal_nbytes;
    char *source; /* of a regular expression; or NULL */
    rmli_matcher_fn *matcher;
    finder_fn *finder;
    pcre2_code *code;
};

struct rmli_pattern *rmli_pattern_literal(const char *s, size_t nbytes, struct rml_error *err)
{
    struct rmli_pattern *pattern = rmli_alloc_zeroed(1, sizeof *pattern, err);
    char *copy = pattern ? rmli_alloc(nbytes, 1, err) : NULL;
    if (!copy) {
        rmli_free(pattern);
        return NULL;
    }
    if (nbytes > 0)
        memcpy(copy, s, nbytes);
    pattern->literal = copy;
    pattern->literal_nbytes = nbytes;
    return pattern;
}

/* Of a translation: items one behind another of which the last alone may be repeated. A match that
 * fails has then taken no more steps than there are items. (Counting takes a third of the speed.) */
static bool is_walked_once(const char *p, const char *end)
{
    while (p < end) {
        if (strchr("(|)^$.*+?{", *p))
            return false;
        const char *close = *p == '[' ? memchr(p, ']', (size_t)(end - p))
                            : *p == '\\' && end - p > 2 && p[2] == '{'
                                ? memchr(p, '}', (size_t)(end - p))
                                : p + (*p == '\\');
        if (!close)
            return false;
        p = close + 1;
        if (p < end && *p == '?')
            p++;
        else if (p < end && strchr("*+", *p))
            return p + 1 == end;
        else if (p < end && *p == '{')
            return memchr(p, '}', (size_t)(end - p)) == end - 1;
    }
    return true;
}

struct rmli_pattern *rmli_pattern_pcre2(const char *regex, size_t nbytes, struct rml_error *err)
{
    struct rml_bytes translation = {0};
    struct rmli_pattern *pattern = NULL;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a pattern");
        goto end;
    }
    if (!rmli_pattern_translate(regex, nbytes, &translation, err))
        goto end;
    if (translation.n > MAX_TRANSLATION_NBYTES) {
        rmli_fail(err, RML_UNSUPPORTED, NULL, -1, "pattern '%.100s' is too large", regex);
        goto end;
    }
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    int code_error;
    PCRE2_SIZE where;
    const char *text = translation.data ? translation.data : "";
    uint32_t options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    options |= is_walked_once(text, text + translation.n) ? 0 : PCRE2_AUTO_CALLOUT;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)text, translation.n, options, &code_error, &where, context);
    if (!code) {
        char message[256];
        pcre2_get_error_message(code_error, (PCRE2_UCHAR *)message, sizeof message);
        rmli_fail(err, RML_FORMAT, NULL, -1, "pattern '%.200s' is not valid: %s", regex, message);
        goto end;
    }
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* without a JIT, the interpreter runs */
    pattern = rmli_alloc_zeroed(1, sizeof *pattern, err);
    if (pattern)
        pattern->code = code;
    else
        pcre2_code_free(code);
end:
    pcre2_compile_context_free(context);
    free(translation.data);
    return pattern;
}

/* ---- Finders ----------------------------------------------------------------------- */

static bool is_a(const char *text, size_t nbytes, size_t at, uint64_t mask, size_t *length)
{
    return at < nbytes && (rmli_unicode_mask(rmli_utf8_decode(text + at, length)) & mask);
}

/* "\s+$": of each run of white space, up to the end of the text or its last newline. */
static int line_end_spaces(const char *text, size_t nbytes, size_t from, size_t last_end,
                           size_t *begin, size_t *end)
{
    (void)last_end;
    size_t i = from, length;
    while (i < nbytes) {
        if (!is_a(text, nbytes, i, RMLI_UC_SPACE, &length)) {
            i += length;
            continue;
        }
        size_t first = i, last_newline = i;
        for (; is_a(text, nbytes, i, RMLI_UC_SPACE, &length); i += length)
            if (text[i] == '\n')
                last_newline = i;
        *begin = first;
        *end = i == nbytes ? nbytes : last_newline;
        if (*end > first)
            return 1;
    }
    return 0;
}

#define DIGIT RMLI_UC_BIT(RMLI_GC_ND)

/* Behind three digits; SIZE_MAX when there are fewer. */
static size_t after_three(const char *text, size_t nbytes, size_t at)
{
    size_t length;
    for (int i = 0; i < 3; i++, at += length)
        if (!is_a(text, nbytes, at, DIGIT, &length))
            return SIZE_MAX;
    return at;
}

/* The first run of digits from `at` on: where it begins, or nbytes; its end and their number. */
static size_t next_run(const char *text, size_t nbytes, size_t at, size_t *end, size_t *n_digits)
{
    size_t length;
    while (at < nbytes && !is_a(text, nbytes, at, DIGIT, &length))
        at += length;
    *n_digits = 0;
    for (*end = at; is_a(text, nbytes, *end, DIGIT, &length); *end += length)
        ++*n_digits;
    return at;
}

static size_t after_digits(const char *text, size_t at, size_t n_digits)
{
    for (size_t i = 0; i < n_digits; i++)
        at += rmli_utf8_length(text[at]);
    return at;
}

/* "\d{1,3}(?=(?:\d{3})*\b)": digits in threes from the right, of runs that no letter follows. The
 * match before ended where a multiple of three is left. */
static int digits_in_threes(const char *text, size_t nbytes, size_t from, size_t last_end,
                            size_t *begin, size_t *end)
{
    size_t n, length, run_end, at = from;
    if (from == last_end && (*end = after_three(text, nbytes, from)) != SIZE_MAX) {
        *begin = from;
        return 1;
    }
    for (; (at = next_run(text, nbytes, at, &run_end, &n)) < nbytes; at = run_end) {
        if (is_a(text, nbytes, run_end, RMLI_UC_WORD, &length))
            continue;
        *begin = at;
        *end = after_digits(text, at, n % 3 > 0 ? n % 3 : 3);
        return 1;
    }
    return 0;
}

/* "(?=(\d{3})+(?!\d))": the places in a run of digits before a multiple of three. */
static int before_threes(const char *text, size_t nbytes, size_t from, size_t last_end,
                         size_t *begin, size_t *end)
{
    size_t n, run_end, at = from, length;
    if (from == last_end) {
        at = after_three(text, nbytes, from);
        if (at != SIZE_MAX && is_a(text, nbytes, at, DIGIT, &length)) {
            *begin = *end = at;
            return 1;
        }
        at = at == SIZE_MAX ? from : at;
    }
    for (; (at = next_run(text, nbytes, at, &run_end, &n)) < nbytes; at = run_end) {
        if (n < 3)
            continue;
        *begin = *end = after_digits(text, at, n % 3);
        return 1;
    }
    return 0;
}

static const struct {
    const char *pattern;
    finder_fn *find;
} finders[] = {{"\\s+$", line_end_spaces},
               {RMLI_PATTERN_THREES, digits_in_threes},
               {RMLI_PATTERN_BEFORE_THREES, before_threes}};

static finder_fn *find_finder(const char *regex, size_t nbytes)
{
    for (size_t i = 0; i < sizeof finders / sizeof *finders; i++)
        if (strlen(finders[i].pattern) == nbytes && memcmp(finders[i].pattern, regex, nbytes) == 0)
            return finders[i].find;
    return NULL;
}

/* ---- Making --------------------------------------------------------------------------- */

static struct rmli_pattern *make_regex(const char *regex, size_t nbytes, struct rml_error *err)
{
    rmli_matcher_fn *matcher = rmli_find_matcher(regex, nbytes);
    finder_fn *finder = find_finder(regex, nbytes);
    if (!matcher && !finder)
        return rmli_pattern_pcre2(regex, nbytes, err);
    struct rmli_pattern *pattern = rmli_alloc_zeroed(1, sizeof *pattern, err);
    if (pattern) {
        pattern->matcher = matcher;
        pattern->finder = finder;
    }
    return pattern;
}

struct rmli_pattern *rmli_pattern_regex(const char *regex, size_t nbytes, struct rml_error *err)
{
    struct rmli_pattern *pattern = make_regex(regex, nbytes, err);
    if (!pattern)
        return NULL;
    pattern->source = rmli_alloc_zeroed(nbytes + 1, 1, err);
    if (!pattern->source) {
        rmli_pattern_destroy(pattern);
        return NULL;
    }
    memcpy(pattern->source, regex, nbytes);
    return pattern;
}

const char *rmli_pattern_source(const struct rmli_pattern *pattern)
{
    return pattern->source;
}

void rmli_pattern_destroy(struct rmli_pattern *pattern)
{
    if (!pattern)
        return;
    rmli_free(pattern->literal);
    rmli_free(pattern->source);
    pcre2_code_free(pattern->code);
    rmli_free(pattern);
}

rmli_matcher_fn *rmli_pattern_matcher(const struct rmli_pattern *pattern)
{
    return pattern->matcher;
}

void rmli_match_scratch_release(struct rmli_match_scratch *scratch)
{
    pcre2_match_data_free(scratch->match_data);
    pcre2_match_context_free(scratch->context);
    pcre2_jit_stack_free(scratch->stack);
    *scratch = (struct rmli_match_scratch){0};
}

static int count_steps(pcre2_callout_block *block, void *user)
{
    struct rmli_match_scratch *scratch = user;
    size_t position = block->current_position;
    uint64_t n = 1 + (position > scratch->position ? position - scratch->position : 0);
    scratch->position = position;
    if (n > scratch->n_steps_left)
        return PCRE2_ERROR_CALLOUT; /* ends the match */
    scratch->n_steps_left -= n;
    return 0;
}

static bool prepare(struct rmli_match_scratch *scratch, struct rml_error *err)
{
    if (scratch->match_data)
        return true;
    scratch->context = pcre2_match_context_create(NULL);
    scratch->match_data = pcre2_match_data_create(1, NULL);
    if (!scratch->context || !scratch->match_data) {
        rmli_match_scratch_release(scratch);
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for matching");
    }
    pcre2_set_match_limit(scratch->context, MATCH_LIMIT);
    pcre2_set_heap_limit(scratch->context, HEAP_LIMIT_KB);
    pcre2_set_callout(scratch->context, count_steps, scratch);
    scratch->n_steps_left = STEPS_AT_FIRST;
    return true;
}

/* JIT's own stack of 32 KB is enough for nearly all texts, and mapping another takes longer than
 * encoding a line. */
static bool enlarge_stack(struct rmli_match_scratch *scratch)
{
    if (scratch->stack)
        return false;
    scratch->stack = pcre2_jit_stack_create(64 << 10, JIT_STACK_NBYTES, NULL);
    pcre2_jit_stack_assign(scratch->context, NULL, scratch->stack);
    return scratch->stack;
}

static int next_pcre2(const struct rmli_pattern *pattern, struct rmli_match_scratch *scratch,
                      const char *text, size_t nbytes, size_t from, size_t last_end, size_t *begin,
                      size_t *end, struct rml_error *err)
{
    if (!prepare(scratch, err))
        return -1;
    if (from == 0 &&
        last_end == SIZE_MAX) /* a text that is new, or one as the step before left it */
        scratch->n_steps_left += (uint64_t)nbytes * STEPS_A_BYTE;
    for (;;) {
        scratch->position = from;
        int rc = pcre2_match(pattern->code, (PCRE2_SPTR)text, nbytes, from, PCRE2_NO_UTF_CHECK,
                             scratch->match_data, scratch->context);
        if (rc == PCRE2_ERROR_NOMATCH)
            return 0;
        if (rc == PCRE2_ERROR_JIT_STACKLIMIT && enlarge_stack(scratch))
            continue;
        if (rc < 0) {
            char message[256] = "too many steps for its length";
            if (rc != PCRE2_ERROR_CALLOUT)
                pcre2_get_error_message(rc, (PCRE2_UCHAR *)message, sizeof message);
            rmli_fail(err, RML_OUT_OF_RANGE, NULL, (int64_t)from,
                      "pattern '%.200s' gives up on the text: %s",
                      pattern->source ? pattern->source : "", message);
            return -1;
        }
        const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(scratch->match_data);
        if (bounds[0] == bounds[1] && bounds[1] == last_end) {
            if (from >= nbytes)
                return 0;
            from += rmli_utf8_length(text[from]);
            last_end = SIZE_MAX;
            continue;
        }
        *begin = bounds[0];
        *end = bounds[1];
        return *end >= *begin;
    }
}

int rmli_pattern_next(const struct rmli_pattern *pattern, struct rmli_match_scratch *scratch,
                      const char *text, size_t nbytes, size_t from, size_t last_end, size_t *begin,
                      size_t *end, struct rml_error *err)
{
    if (pattern->code)
        return next_pcre2(pattern, scratch, text, nbytes, from, last_end, begin, end, err);
    if (from >= nbytes)
        return 0;
    if (pattern->matcher) {
        *begin = from;
        *end = pattern->matcher(text, from, nbytes);
        return 1;
    }
    if (pattern->finder)
        return pattern->finder(text, nbytes, from, last_end, begin, end);
    const char *found =
        memmem(text + from, nbytes - from, pattern->literal, pattern->literal_nbytes);
    if (!found)
        return 0;
    *begin = (size_t)(found - text);
    *end = *begin + pattern->literal_nbytes;
    return 1;
}
