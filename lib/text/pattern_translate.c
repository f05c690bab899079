/*
 * From Oniguruma's syntax to PCRE2's: classes are written out (pattern_class.c), groups and
 * references are told apart.
 *
 * What the two read differently is written in PCRE2's way or refused:
 *
 *     a(?i)b|c        options in force to the end of the group, over its alternatives: a(?i:b|c)
 *     (?m)            PCRE2's (?s)
 *     (?<n>a)(b)      beside named groups the others take nothing
 *     \1 \k<1> \k<n>  of a group that has ended before
 *     \h \R \N \O     classes
 *     a{2}? a{2}+     the second repeats the first: refused
 */
#include "text/pattern.h"

#include <stdio.h>
#include <string.h>

#include "text/growing.h"
#include "text/pattern_class.h"
#include "text/unicode.h"

enum { MAX_NESTING = 100, MAX_CAPTURES = 99, MAX_NAMES = 32 };

struct level {
    size_t capture;  /* the number of the group, 0 for one that takes nothing */
    size_t n_opened; /* groups opened within it for options */
    bool folds_outside;
};

struct groups {
    struct rmli_translator t;
    struct level levels[MAX_NESTING];
    size_t depth;
    size_t n_captures;
    bool has_ended[MAX_CAPTURES + 1];
    struct {
        const char *name;
        size_t nbytes, capture;
    } names[MAX_NAMES];
    size_t n_names;
    bool named; /* somewhere in the pattern */
    bool has_folded, has_referred;
};

static bool refuse(const struct groups *g, const char *what)
{
    return rmli_translator_refuse(&g->t, what);
}

static bool put(struct groups *g, const char *s)
{
    return rmli_translator_put(&g->t, s);
}

/* ---- Escapes ----------------------------------------------------------------------------- */

/* A boundary of our own words: one side is a word character, the other is not. */
static bool put_boundary(struct groups *g, bool negated)
{
    const struct rmli_property word = {.mask = RMLI_UC_WORD};
    return put(g, negated ? "(?:(?<!" : "(?:(?<=") && rmli_translator_put_property(&g->t, &word) &&
           put(g, ")(?!") && rmli_translator_put_property(&g->t, &word) &&
           put(g, negated ? ")|(?<=" : ")|(?<!") && rmli_translator_put_property(&g->t, &word) &&
           put(g, ")(?=") && rmli_translator_put_property(&g->t, &word) && put(g, "))");
}

static bool put_reference(struct groups *g, size_t capture)
{
    if (capture == 0 || capture > g->n_captures || !g->has_ended[capture])
        return refuse(g, "a reference to a group that has not ended before it");
    char reference[32];
    snprintf(reference, sizeof reference, "\\g{%zu}", capture);
    g->has_referred = true;
    return put(g, reference);
}

/* "1", t->p at its first digit. */
static bool numbered_reference(struct groups *g)
{
    size_t number = 0;
    for (; g->t.p < g->t.end && *g->t.p >= '0' && *g->t.p <= '9'; g->t.p++)
        number = number < 1000 ? 10 * number + (size_t)(*g->t.p - '0') : number;
    if (g->named)
        return refuse(g, "a numbered reference beside named groups");
    return put_reference(g, number);
}

/* "<name>" of \k, t->p behind the letter. */
static bool named_reference(struct groups *g)
{
    const char *close = g->t.p < g->t.end && *g->t.p == '<'
                            ? memchr(g->t.p, '>', (size_t)(g->t.end - g->t.p))
                            : NULL;
    if (!close)
        return refuse(g, "\\k without <name>");
    const char *name = g->t.p + 1;
    size_t nbytes = (size_t)(close - name);
    if (nbytes > 0 && strspn(name, "0123456789") == nbytes) {
        g->t.p = name;
        bool ok = numbered_reference(g);
        g->t.p = close + 1;
        return ok;
    }
    g->t.p = close + 1;
    for (size_t i = 0; i < g->n_names; i++)
        if (g->names[i].nbytes == nbytes && memcmp(g->names[i].name, name, nbytes) == 0)
            return put_reference(g, g->names[i].capture);
    return refuse(g, "a reference to a name that no group before it has");
}

/* t->p behind the backslash. */
static bool escape(struct groups *g)
{
    struct rmli_escape escape;
    char c = g->t.p < g->t.end ? *g->t.p : 0;
    if (c >= '1' && c <= '9')
        return numbered_reference(g);
    g->t.p++;
    switch (c) {
    case 'b':
    case 'B':
        return put_boundary(g, c == 'B');
    case 'A':
        return put(g, "\\A");
    case 'z':
        return put(g, "\\z");
    case 'R':
        return put(g, "(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])");
    case 'N':
        return put(g, "[^\\n]");
    case 'O':
        return put(g, "(?s:.)");
    case 'k':
        return named_reference(g);
    default:
        g->t.p--;
        break;
    }
    if (!rmli_translator_read_escape(&g->t, &escape))
        return false;
    if (escape.is_property)
        return rmli_translator_put_property(&g->t, &escape.property);
    bool letter = (escape.code_point | 0x20) >= 'a' && (escape.code_point | 0x20) <= 'z';
    if (g->t.folds && (escape.code_point >= 0x80 || letter))
        return refuse(g, "a letter as an escape under (?i)");
    char character[16];
    snprintf(character, sizeof character, "\\x{%x}", (unsigned)escape.code_point);
    return put(g, character);
}

/* ---- Groups -------------------------------------------------------------------------------- */

static bool push(struct groups *g, size_t capture, bool folds)
{
    if (g->depth + 1 == MAX_NESTING)
        return refuse(g, "groups nested a hundred deep");
    g->levels[++g->depth] = (struct level){.capture = capture, .folds_outside = g->t.folds};
    g->t.folds = folds;
    return true;
}

static bool close_options(struct groups *g)
{
    for (size_t i = 0; i < g->levels[g->depth].n_opened; i++)
        if (!put(g, ")"))
            return false;
    return true;
}

/* t->p behind ')'. */
static bool close_group(struct groups *g)
{
    if (g->depth == 0)
        return rmli_fail(
            g->t.err, RML_FORMAT, NULL, -1,
            "pattern '%.200s' is not valid: a closing parenthesis without an opening one",
            g->t.regex);
    if (!close_options(g) || !put(g, ")"))
        return false;
    const struct level *level = &g->levels[g->depth--];
    g->t.folds = level->folds_outside;
    g->has_ended[level->capture] = level->capture > 0;
    return true;
}

static bool open_capture(struct groups *g)
{
    if (g->n_captures == MAX_CAPTURES)
        return refuse(g, "more than 99 groups");
    return put(g, "(") && push(g, ++g->n_captures, g->t.folds);
}

/* "<name>", t->p at the bracket. */
static bool open_named(struct groups *g)
{
    const char *name = g->t.p + 1;
    const char *close = memchr(name, '>', (size_t)(g->t.end - name));
    size_t nbytes = close ? (size_t)(close - name) : 0;
    if (nbytes == 0 || g->n_names == MAX_NAMES)
        return refuse(g, close ? "a group without a name, or more than 32 names"
                               : "a group of another kind than (?: (?= (?! (?> (?<= (?<! (?<name>");
    for (size_t i = 0; i < nbytes; i++)
        if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') ||
              name[i] == '_' || (i > 0 && name[i] >= '0' && name[i] <= '9')))
            return refuse(g, "a group whose name is not of ASCII letters and digits");
    for (size_t i = 0; i < g->n_names; i++)
        if (g->names[i].nbytes == nbytes && memcmp(g->names[i].name, name, nbytes) == 0)
            return refuse(g, "two groups of one name");
    g->names[g->n_names].name = name;
    g->names[g->n_names].nbytes = nbytes;
    g->names[g->n_names++].capture = g->n_captures + 1;
    g->t.p = close + 1;
    return open_capture(g);
}

/* "i-m:" or "i-m)", t->p at the first letter. */
static bool options(struct groups *g)
{
    bool folds = g->t.folds, on = true;
    if (!put(g, "(?"))
        return false;
    for (; g->t.p < g->t.end && *g->t.p && strchr("im-", *g->t.p); g->t.p++) {
        char option[] = {*g->t.p == 'm' ? 's' : *g->t.p, 0};
        if (*option == '-' && !on)
            return refuse(g, "unknown group options");
        on = on && *option != '-';
        folds = *option == 'i' ? on : folds;
        if (!put(g, option))
            return false;
    }
    if (g->t.p == g->t.end || (*g->t.p != ':' && *g->t.p != ')'))
        return refuse(g, "unknown group options");
    g->has_folded |= folds;
    if (!put(g, ":"))
        return false;
    if (*g->t.p++ == ':')
        return push(g, 0, folds);
    g->levels[g->depth].n_opened++;
    g->t.folds = folds;
    return true;
}

/* t->p behind '('. */
static bool open_group(struct groups *g)
{
    size_t left = (size_t)(g->t.end - g->t.p);
    if (left == 0 || *g->t.p != '?')
        return g->named ? put(g, "(?:") && push(g, 0, g->t.folds) : open_capture(g);
    g->t.p++;
    if (--left == 0)
        return refuse(g, "a group without end");
    if (strchr("im-", *g->t.p))
        return options(g);
    bool behind = *g->t.p == '<';
    if (behind && !(left > 1 && strchr("=!", g->t.p[1])))
        return open_named(g);
    if (!behind && !strchr(":=!>", *g->t.p))
        return refuse(g, "a group of another kind than (?: (?= (?! (?> (?<= (?<! (?<name>");
    size_t n = behind ? 2 : 1;
    bool ok = put(g, "(?") && rmli_bytes_append(g->t.out, g->t.p, n, g->t.err);
    g->t.p += n;
    return ok && push(g, 0, g->t.folds);
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* Two letters that are one elsewhere in Unicode, as in "ß" and "ﬁ": the reference's (?i) takes that
 * for them. */
static bool folds_to_one(char a, char b)
{
    a |= 0x20;
    b |= 0x20;
    return (a == 's' && (b == 's' || b == 't')) || (a == 'f' && (b == 'f' || b == 'i' || b == 'l'));
}

/* "{n,m}" behind t->p, which is behind '{'; what follows it. */
static bool check_repetition(struct groups *g)
{
    const char *p = g->t.p, *end = g->t.end;
    if (p < end && *p == ',')
        return refuse(g, "a repetition {,n}");
    const char *first = p;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    bool counts = p > first, fixed = true;
    if (p < end && *p == ',') {
        fixed = false;
        do
            p++;
        while (p < end && *p >= '0' && *p <= '9');
    }
    if (!counts || p == end || *p != '}' || p + 1 == end)
        return true;
    if (p[1] == '+')
        return refuse(g, "a repetition {n,m}+");
    return p[1] != '?' || !fixed || refuse(g, "a repetition {n}?");
}

static bool literal(struct groups *g, char c)
{
    if (g->t.folds && ((uint8_t)c >= 0x80 || (g->t.p < g->t.end && folds_to_one(c, *g->t.p))))
        return refuse(g, "letters under (?i) of which one may stand for several");
    return rmli_bytes_append(g->t.out, &c, 1, g->t.err);
}

static bool translate(struct groups *g)
{
    while (g->t.p < g->t.end) {
        char c = *g->t.p++;
        bool ok = true;
        if (c == '\\')
            ok = escape(g);
        else if (c == '[')
            ok = rmli_translator_put_class(&g->t);
        else if (c == '(')
            ok = open_group(g);
        else if (c == ')')
            ok = close_group(g);
        else
            ok = (c != '{' || check_repetition(g)) && literal(g, c);
        if (!ok)
            return false;
    }
    if (g->has_referred && g->has_folded)
        return refuse(g, "a reference to a group beside (?i)");
    return close_options(g);
}

bool rmli_pattern_translate(const char *regex, size_t nbytes, struct rml_bytes *out,
                            struct rml_error *err)
{
    struct groups g = {
        .t = {.p = regex, .end = regex + nbytes, .regex = regex, .out = out, .err = err}};
    if (memchr(regex, 0, nbytes))
        return rmli_fail(err, RML_UNSUPPORTED, NULL, -1, "a pattern has a NUL, expected none");
    /* A look at names ahead: they say what the groups before them are. (In a class or escaped it is
     * no group; that costs numbered references alone.) */
    for (size_t i = 0; i + 3 < nbytes && !g.named; i++)
        g.named = memcmp(regex + i, "(?<", 3) == 0 && !strchr("=!", regex[i + 3]);
    return translate(&g);
}
