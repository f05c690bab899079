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
 * Limits for one match. A megabyte of white space under \s+(?!\S) takes as many steps as it
 * has characters, so a million is too few; ten million are over within a second. With JIT,
 * backtracking needs a stack, of this many bytes at most.
 */
enum { MATCH_LIMIT = 10000000, HEAP_LIMIT_KB = 65536, JIT_STACK_NBYTES = 8 << 20 };

/* A hostile pattern may expand to much more than it is; real ones stay under 100 KB. */
enum { MAX_TRANSLATION_NBYTES = 4 << 20 };

struct rmli_pattern {
    char *literal; /* or NULL */
    size_t literal_nbytes;
    char *source; /* of a regular expression; or NULL */
    rmli_matcher_fn *matcher;
    bool line_end_spaces; /* "\s+$", quadratic in any backtracking engine */
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
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)(translation.data ? translation.data : ""), translation.n,
                      PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                      &code_error, &where, context);
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

static struct rmli_pattern *make_regex(const char *regex, size_t nbytes, struct rml_error *err)
{
    rmli_matcher_fn *matcher = rmli_find_matcher(regex, nbytes);
    bool line_end_spaces = nbytes == 4 && memcmp(regex, "\\s+$", 4) == 0;
    if (!matcher && !line_end_spaces)
        return rmli_pattern_pcre2(regex, nbytes, err);
    struct rmli_pattern *pattern = rmli_alloc_zeroed(1, sizeof *pattern, err);
    if (pattern) {
        pattern->matcher = matcher;
        pattern->line_end_spaces = line_end_spaces;
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

static bool prepare(struct rmli_match_scratch *scratch, struct rml_error *err)
{
    if (scratch->match_data)
        return true;
    scratch->context = pcre2_match_context_create(NULL);
    scratch->stack = pcre2_jit_stack_create(64 << 10, JIT_STACK_NBYTES, NULL);
    scratch->match_data = pcre2_match_data_create(1, NULL);
    if (!scratch->context || !scratch->match_data) {
        rmli_match_scratch_release(scratch);
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for matching");
    }
    pcre2_set_match_limit(scratch->context, MATCH_LIMIT);
    pcre2_set_heap_limit(scratch->context, HEAP_LIMIT_KB);
    if (scratch->stack)
        pcre2_jit_stack_assign(scratch->context, NULL, scratch->stack);
    return true;
}

static int next_pcre2(const struct rmli_pattern *pattern, struct rmli_match_scratch *scratch,
                      const char *text, size_t nbytes, size_t from, size_t last_end, size_t *begin,
                      size_t *end, struct rml_error *err)
{
    if (!prepare(scratch, err))
        return -1;
    for (;;) {
        int rc = pcre2_match(pattern->code, (PCRE2_SPTR)text, nbytes, from, PCRE2_NO_UTF_CHECK,
                             scratch->match_data, scratch->context);
        if (rc == PCRE2_ERROR_NOMATCH)
            return 0;
        if (rc < 0) {
            char message[256];
            pcre2_get_error_message(rc, (PCRE2_UCHAR *)message, sizeof message);
            rmli_fail(err, RML_OUT_OF_RANGE, NULL, (int64_t)from,
                      "the pre-tokenizer's pattern gives up on the text: %s", message);
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

/* "\s+$": of each run of white space, up to the end of the text or its last newline. */
static int next_line_end_spaces(const char *text, size_t nbytes, size_t from, size_t *begin,
                                size_t *end)
{
    size_t i = from, length;
    while (i < nbytes) {
        if (!(rmli_unicode_mask(rmli_utf8_decode(text + i, &length)) & RMLI_UC_SPACE)) {
            i += length;
            continue;
        }
        size_t first = i, last_newline = i;
        for (; i < nbytes; i += length) {
            if (!(rmli_unicode_mask(rmli_utf8_decode(text + i, &length)) & RMLI_UC_SPACE))
                break;
            if (text[i] == '\n')
                last_newline = i;
        }
        *begin = first;
        *end = i == nbytes ? nbytes : last_newline;
        if (*end > first)
            return 1;
    }
    return 0;
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
    if (pattern->line_end_spaces)
        return next_line_end_spaces(text, nbytes, from, begin, end);
    const char *found =
        memmem(text + from, nbytes - from, pattern->literal, pattern->literal_nbytes);
    if (!found)
        return 0;
    *begin = (size_t)(found - text);
    *end = *begin + pattern->literal_nbytes;
    return 1;
}
