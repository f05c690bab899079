/*
 * From Oniguruma's (Ruby) syntax to PCRE2's, classes written out.
 */
#include <stdio.h>

#include "text/growing.h"
#include "text/pattern.h"
#include "text/unicode.h"

struct translator {
    const char *p, *end, *regex;
    struct rml_bytes *out;
    struct rml_error *err;
};

static bool refuse(const struct translator *t, const char *what)
{
    return rmli_fail(t->err, RML_UNSUPPORTED, NULL, -1,
                     "pattern '%.200s' has %s, which is not supported", t->regex, what);
}

static bool put(struct translator *t, const char *s)
{
    return rmli_bytes_append(t->out, s, strlen(s), t->err);
}

/* The code points whose mask meets `mask` (or, negated, does not), as ranges of a class. */
static bool put_ranges(struct translator *t, uint64_t mask, bool negated)
{
    uint32_t begin = 0;
    bool inside = false;
    for (uint32_t c = 0; c <= 0x110000; c++) {
        if (c == 0xd800)
            c = 0xe000; /* no surrogates in UTF-8: a run goes on across them */
        bool member = c < 0x110000 && (rmli_unicode_mask(c) & mask ? !negated : negated);
        if (member && !inside)
            begin = c;
        if (!member && inside) {
            uint32_t last = c == 0xe000 ? 0xd7ff : c - 1;
            char range[48];
            snprintf(range, sizeof range, last > begin ? "\\x{%x}-\\x{%x}" : "\\x{%x}",
                     (unsigned)begin, (unsigned)last);
            if (!put(t, range))
                return false;
        }
        inside = member;
    }
    return true;
}

static bool put_class(struct translator *t, uint64_t mask, bool negated)
{
    return put(t, negated ? "[^" : "[") && put_ranges(t, mask, false) && put(t, "]");
}

static uint64_t property(const char *name, size_t nbytes)
{
    static const char names[][3] = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl",
                                    "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc",
                                    "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"};
    static const struct {
        const char *name;
        uint64_t mask;
    } groups[] = {{"L", RMLI_UC_L}, {"M", RMLI_UC_M}, {"N", RMLI_UC_N}, {"P", RMLI_UC_P},
                  {"S", RMLI_UC_S}, {"Z", RMLI_UC_Z}, {"C", RMLI_UC_C}};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (nbytes == 1 && name[0] == groups[i].name[0])
            return groups[i].mask;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (nbytes == 2 && memcmp(name, names[i], 2) == 0)
            return RMLI_UC_BIT(i);
    return 0;
}

/* An escape, t->p behind its backslash. */
static bool escape(struct translator *t, bool in_class)
{
    if (t->p == t->end)
        return refuse(t, "a lone backslash at its end");
    char c = *t->p++;
    uint64_t mask = 0;
    bool negated = false;
    switch (c) {
    case 'S':
        negated = true;
        mask = RMLI_UC_SPACE;
        break;
    case 's':
        mask = RMLI_UC_SPACE;
        break;
    case 'D':
        negated = true;
        mask = RMLI_UC_BIT(RMLI_GC_ND);
        break;
    case 'd':
        mask = RMLI_UC_BIT(RMLI_GC_ND);
        break;
    case 'W':
        negated = true;
        mask = RMLI_UC_WORD;
        break;
    case 'w':
        mask = RMLI_UC_WORD;
        break;
    case 'p':
    case 'P': {
        negated = c == 'P';
        const char *close =
            t->p < t->end && *t->p == '{' ? memchr(t->p, '}', (size_t)(t->end - t->p)) : NULL;
        if (!close)
            return refuse(t, "\\p without {name}");
        const char *name = t->p + 1;
        if (name < close && *name == '^') {
            negated = !negated;
            name++;
        }
        mask = property(name, (size_t)(close - name));
        if (!mask) {
            char what[64];
            snprintf(what, sizeof what, "the property '%.*s'",
                     close - name < 32 ? (int)(close - name) : 32, name);
            return refuse(t, what);
        }
        t->p = close + 1;
        break;
    }
    case 'b':
    case 'B':
        if (in_class)
            return refuse(t, "\\b in a class");
        /* A boundary of our own words: one side is a word character, the other is not. */
        return put(t, c == 'b' ? "(?:(?<=" : "(?:(?<!") && put_class(t, RMLI_UC_WORD, false) &&
               put(t, ")(?!") && put_class(t, RMLI_UC_WORD, false) &&
               put(t, c == 'b' ? ")|(?<!" : ")|(?<=") && put_class(t, RMLI_UC_WORD, false) &&
               put(t, ")(?=") && put_class(t, RMLI_UC_WORD, false) && put(t, "))");
    case 'n':
        return put(t, "\\n");
    case 'r':
        return put(t, "\\r");
    case 't':
        return put(t, "\\t");
    case 'f':
        return put(t, "\\f");
    case 'v':
        return put(t, "\\x0b");
    case 'a':
        return put(t, "\\a");
    case 'e':
        return put(t, "\\e");
    case 'A':
        return in_class ? refuse(t, "\\A in a class") : put(t, "\\A");
    case 'z':
        return in_class ? refuse(t, "\\z in a class") : put(t, "\\z");
    case 'u':
    case 'x': {
        size_t n = 0, max = c == 'u' ? 4 : 2;
        bool braces = c == 'x' && t->p < t->end && *t->p == '{';
        if (braces) {
            t->p++;
            max = 8;
        }
        const char *digits = t->p;
        for (; n < max && t->p < t->end && strchr("0123456789abcdefABCDEF", *t->p) && *t->p; t->p++)
            n++;
        if (n == 0 || (c == 'u' && n != 4) || (braces && (t->p == t->end || *t->p != '}')))
            return refuse(t, "an incomplete \\x or \\u");
        bool ok = put(t, "\\x{") && rmli_bytes_append(t->out, digits, n, t->err) && put(t, "}");
        t->p += braces;
        return ok;
    }
    default:
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) {
            char what[] = {'\\', c, 0};
            return refuse(t, what);
        }
        t->p--;
        /* Escaped punctuation means itself; a backslash before another byte says nothing. */
        if ((uint8_t)c < 0x80 && !put(t, "\\"))
            return false;
        return rmli_bytes_append(t->out, t->p++, 1, t->err);
    }
    return in_class ? put_ranges(t, mask, negated) : put_class(t, mask, negated);
}

/* A class, t->p behind its '['. A class within a class is their union. */
static bool class(struct translator *t)
{
    int depth = 1;
    if (!put(t, "["))
        return false;
    if (t->p < t->end && *t->p == '^') {
        t->p++;
        if (!put(t, "^"))
            return false;
    }
    bool first = true;
    for (; t->p < t->end; first = false) {
        char c = *t->p++;
        bool ok;
        if (c == ']' && first) {
            return refuse(t, "an empty class");
        } else if (c == ']') {
            if (--depth == 0)
                return put(t, "]");
            continue;
        } else if (c == '[') {
            if (t->p < t->end && (*t->p == ':' || *t->p == '^'))
                return refuse(t, *t->p == ':' ? "a POSIX class" : "a negated class in a class");
            depth++;
            continue;
        } else if (c == '&' && t->p < t->end && *t->p == '&') {
            return refuse(t, "an intersection of classes");
        } else if (c == '\\') {
            ok = escape(t, true);
        } else {
            ok = rmli_bytes_append(t->out, &c, 1, t->err);
        }
        if (!ok)
            return false;
    }
    return refuse(t, "a class without end");
}

/* "(?", whose options are written differently: Ruby's m is the others' s. */
static bool group(struct translator *t)
{
    if (!put(t, "("))
        return false;
    if (t->p == t->end || *t->p != '?')
        return true;
    t->p++;
    if (!put(t, "?"))
        return false;
    bool any = false;
    for (; t->p < t->end && *t->p && strchr("imx-", *t->p); t->p++, any = true) {
        char option = *t->p == 'm' ? 's' : *t->p;
        if (!rmli_bytes_append(t->out, &option, 1, t->err))
            return false;
    }
    if (t->p == t->end)
        return refuse(t, "a group without end");
    if (any)
        return *t->p == ':' || *t->p == ')' || refuse(t, "unknown group options");
    if (!strchr(":=!>", *t->p) && !(*t->p == '<' && t->end - t->p > 1 && strchr("=!", t->p[1])))
        return refuse(t, "a group of another kind than (?: (?= (?! (?> (?<= (?<!");
    return true;
}

bool rmli_pattern_translate(const char *regex, size_t nbytes, struct rml_bytes *out,
                            struct rml_error *err)
{
    struct translator t = {
        .p = regex, .end = regex + nbytes, .regex = regex, .out = out, .err = err};
    if (memchr(regex, 0, nbytes))
        return rmli_fail(err, RML_UNSUPPORTED, NULL, -1, "a pattern has a NUL, expected none");
    while (t.p < t.end) {
        char c = *t.p++;
        bool ok;
        if (c == '\\') {
            ok = escape(&t, false);
        } else if (c == '[') {
            ok = class(&t);
        } else if (c == '(') {
            ok = group(&t);
        } else if (c == '{' && t.p < t.end && *t.p == ',') {
            ok = refuse(&t, "a repetition {,n}");
        } else if (c == '}' && t.p < t.end && (*t.p == '+')) {
            ok = refuse(&t, "a repetition {n,m}+");
        } else {
            ok = rmli_bytes_append(out, &c, 1, err);
        }
        if (!ok)
            return false;
    }
    return true;
}
