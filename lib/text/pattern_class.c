/*
 * Classes of characters in Oniguruma's syntax.
 *
 * A hyphen between two characters makes a range, at the beginning or the end of a class it stands
 * for itself, and so it does behind a range or a class; behind a property it is an error. "&&"
 * meets what stands left of it with what stands right of it.
 */
#include "text/pattern_class.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "text/growing.h"
#include "text/unicode.h"

enum { N_WORDS = 0x110000 / 64, MAX_DEPTH = 8 };

bool rmli_translator_refuse(const struct rmli_translator *t, const char *what)
{
    return rmli_fail(t->err, RML_UNSUPPORTED, NULL, -1,
                     "pattern '%.200s' has %s, which is not supported", t->regex, what);
}

bool rmli_translator_put(struct rmli_translator *t, const char *s)
{
    return rmli_bytes_append(t->out, s, strlen(s), t->err);
}

/* 0-9 A-F a-f, as bits of ASCII */
#define HEX_DIGITS                                                                                 \
    {                                                                                              \
        0x03ff000000000000, 0x0000007e0000007e                                                     \
    }

/* ---- Escapes ------------------------------------------------------------------------- */

/* The classes that POSIX names; \p{} knows them too. */
static const struct {
    char name[8];
    struct rmli_property property;
} named_classes[] = {
    {"alnum", {.mask = RMLI_UC_ALPHA | RMLI_UC_BIT(RMLI_GC_ND)}},
    {"alpha", {.mask = RMLI_UC_ALPHA}},
    {"ascii", {.ascii = {UINT64_MAX, UINT64_MAX}}},
    {"blank", {.mask = RMLI_UC_BIT(RMLI_GC_ZS), .ascii = {(uint64_t)1 << '\t', 0}}},
    {"cntrl", {.mask = RMLI_UC_BIT(RMLI_GC_CC)}},
    {"digit", {.mask = RMLI_UC_BIT(RMLI_GC_ND)}},
    {"graph", {.mask = RMLI_UC_GRAPH}},
    {"lower", {.mask = RMLI_UC_LOWERCASE}},
    {"print", {.mask = RMLI_UC_GRAPH | RMLI_UC_BIT(RMLI_GC_ZS)}},
    {"punct", {.mask = RMLI_UC_PUNCT}},
    {"space", {.mask = RMLI_UC_SPACE}},
    {"upper", {.mask = RMLI_UC_UPPERCASE}},
    {"word", {.mask = RMLI_UC_LISTED_WORD}},
    {"xdigit", {.ascii = HEX_DIGITS}},
};

static const struct rmli_property *find_class(const char *name, size_t nbytes)
{
    for (size_t i = 0; i < sizeof named_classes / sizeof *named_classes; i++)
        if (strlen(named_classes[i].name) == nbytes &&
            memcmp(named_classes[i].name, name, nbytes) == 0)
            return &named_classes[i].property;
    return NULL;
}

static uint64_t category_or_script(const char *name, size_t nbytes)
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
    return nbytes == 3 && memcmp(name, "Han", 3) == 0 ? RMLI_UC_HAN : 0;
}

/* "{name}" of \p, t->p behind the letter. */
static bool read_property(struct rmli_translator *t, struct rmli_property *property)
{
    const char *close =
        t->p < t->end && *t->p == '{' ? memchr(t->p, '}', (size_t)(t->end - t->p)) : NULL;
    if (!close)
        return rmli_translator_refuse(t, "\\p without {name}");
    const char *name = t->p + 1;
    if (name < close && *name == '^') {
        property->negated = !property->negated;
        name++;
    }
    size_t nbytes = (size_t)(close - name);
    const struct rmli_property punctuation = {.mask = RMLI_UC_P}, *class = find_class(name, nbytes);
    if (class && memcmp(name, "punct", 5) == 0)
        class = &punctuation; /* here it is the category */
    bool negated = property->negated;
    if (class)
        *property = *class;
    else
        property->mask = category_or_script(name, nbytes);
    property->negated = negated;
    if (!class && !property->mask) {
        char what[64];
        snprintf(what, sizeof what, "the property '%.*s'",
                 close - name < 32 ? (int)(close - name) : 32, name);
        return rmli_translator_refuse(t, what);
    }
    /* The reference folds the cases of a class, not of a property, and PCRE2 sees classes alone. */
    if (t->folds)
        return rmli_translator_refuse(t, "a property under (?i)");
    t->p = close + 1;
    return true;
}

/* The digits of \x.. \x{..} and \u...., t->p behind the letter. */
static bool read_code_point(struct rmli_translator *t, char letter, uint32_t *code_point)
{
    size_t n = 0, max = letter == 'u' ? 4 : 2;
    bool braces = letter == 'x' && t->p < t->end && *t->p == '{';
    if (braces) {
        t->p++;
        max = 8;
    }
    char digits[9] = "";
    for (; n < max && t->p < t->end && *t->p && strchr("0123456789abcdefABCDEF", *t->p); t->p++)
        digits[n++] = *t->p;
    if (n == 0 || (letter == 'u' && n != 4) || (braces && (t->p == t->end || *t->p != '}')))
        return rmli_translator_refuse(t, "an incomplete \\x or \\u");
    unsigned long value = strtoul(digits, NULL, 16);
    if (letter == 'x' && !braces && value >= 0x80)
        return rmli_translator_refuse(t, "a byte beyond ASCII");
    if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return rmli_translator_refuse(t, "an escape that is no character");
    *code_point = (uint32_t)value;
    t->p += braces;
    return true;
}

bool rmli_translator_read_escape(struct rmli_translator *t, struct rmli_escape *escape)
{
    static const char letters[] = "nrtfvae";
    static const char controls[] = "\n\r\t\f\v\a\x1b";
    *escape = (struct rmli_escape){0};
    if (t->p == t->end)
        return rmli_translator_refuse(t, "a lone backslash at its end");
    char c = *t->p++;
    struct rmli_property *property = &escape->property;
    property->negated = c == 'S' || c == 'D' || c == 'W' || c == 'H' || c == 'P';
    escape->is_property = true;
    switch (c) {
    case 'S':
    case 's':
        property->mask = RMLI_UC_SPACE;
        return true;
    case 'D':
    case 'd':
        property->mask = RMLI_UC_BIT(RMLI_GC_ND);
        return true;
    case 'W':
    case 'w':
        property->mask = RMLI_UC_WORD;
        return true;
    case 'H':
    case 'h':
        *property = (struct rmli_property){.ascii = HEX_DIGITS, .negated = c == 'H'};
        return true;
    case 'P':
    case 'p':
        return read_property(t, property);
    default:
        break;
    }
    escape->is_property = false;
    if (c == 'u' || c == 'x')
        return read_code_point(t, c, &escape->code_point);
    const char *control = c ? strchr(letters, c) : NULL;
    if (control) {
        escape->code_point = (uint8_t)controls[control - letters];
        return true;
    }
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) {
        char what[] = {'\\', c, 0};
        return rmli_translator_refuse(t, what);
    }
    /* Escaped punctuation means itself, as does any other character. */
    size_t length;
    escape->code_point = rmli_utf8_decode(t->p - 1, &length);
    t->p += length - 1;
    return true;
}

/* ---- Sets ------------------------------------------------------------------------------ */

static bool has(const uint64_t *set, uint32_t c)
{
    return set[c / 64] >> (c & 63) & 1;
}

static void add(uint64_t *set, uint32_t c)
{
    set[c / 64] |= (uint64_t)1 << (c & 63);
}

static void add_property(uint64_t *set, const struct rmli_property *p)
{
    for (uint32_t c = 0; c < 0x110000; c++) {
        bool member =
            (rmli_unicode_mask(c) & p->mask) != 0 || (c < 128 && p->ascii[c / 64] >> (c & 63) & 1);
        if (member != p->negated)
            add(set, c);
    }
}

/* As ranges in brackets. No surrogates in UTF-8: a run goes on across them. */
static bool put_set(struct rmli_translator *t, const uint64_t *set, bool negated)
{
    bool inside = false, any = false;
    size_t before = t->out->n;
    if (!rmli_translator_put(t, negated ? "[^" : "["))
        return false;
    for (uint32_t c = 0, begin = 0; c <= 0x110000; c++) {
        if (c == 0xd800)
            c = 0xe000;
        if (!inside && c < 0x110000 && c % 64 == 0 && set[c / 64] == 0) {
            c += 63;
            continue;
        }
        bool member = c < 0x110000 && has(set, c);
        if (member && !inside)
            begin = c;
        if (!member && inside) {
            uint32_t last = c == 0xe000 ? 0xd7ff : c - 1;
            char range[48];
            snprintf(range, sizeof range, last > begin ? "\\x{%x}-\\x{%x}" : "\\x{%x}",
                     (unsigned)begin, (unsigned)last);
            if (!rmli_translator_put(t, range))
                return false;
            any = true;
        }
        inside = member;
    }
    if (any)
        return rmli_translator_put(t, "]");
    t->out->n = before;
    return rmli_translator_put(t, negated ? "(?s:.)" : "(?!)");
}

bool rmli_translator_put_property(struct rmli_translator *t, const struct rmli_property *property)
{
    uint64_t *set = rmli_alloc_zeroed(N_WORDS, sizeof *set, t->err);
    if (!set)
        return false;
    struct rmli_property positive = *property;
    positive.negated = false;
    add_property(set, &positive);
    bool ok = put_set(t, set, property->negated);
    rmli_free(set);
    return ok;
}

/* ---- Classes ----------------------------------------------------------------------------- */

/* "[:name:]", t->p behind its first bracket. */
static bool read_posix(struct rmli_translator *t, struct rmli_property *property)
{
    const char *name = t->p + 1;
    bool negated = name < t->end && *name == '^';
    name += negated;
    const char *close = memchr(name, ':', (size_t)(t->end - name));
    const struct rmli_property *class = close ? find_class(name, (size_t)(close - name)) : NULL;
    if (!class || t->end - close < 2 || close[1] != ']')
        return rmli_translator_refuse(t, "an unknown POSIX class");
    *property = *class;
    property->negated = negated;
    t->p = close + 2;
    return true;
}

/* A class being read: what is left of "&&", what is right of it, and where in it the reader is. */
struct class
{
    uint64_t *set, *left;          /* left: NULL without "&&" */
    struct rmli_property positive; /* properties to be added, all in one pass */
    enum { START, VALUE, PROPERTY, RANGE, COMPLETE } state;
    uint32_t value; /* VALUE: the last character, perhaps the beginning of a range; RANGE: that */
};

static void add_properties(struct class *class)
{
    const struct rmli_property *p = &class->positive;
    if (p->mask || p->ascii[0] || p->ascii[1])
        add_property(class->set, p);
    class->positive = (struct rmli_property){0};
}

static bool take_property(struct rmli_translator *t, struct class *class,
                          const struct rmli_property *property)
{
    struct rmli_property listed = *property;
    if (class->state == RANGE)
        return rmli_translator_refuse(t, "a range that ends in a property");
    if (listed.mask == RMLI_UC_WORD)
        listed.mask = RMLI_UC_LISTED_WORD;
    property = &listed;
    if (property->negated) {
        add_property(class->set, property);
    } else {
        class->positive.mask |= property->mask;
        class->positive.ascii[0] |= property->ascii[0];
        class->positive.ascii[1] |= property->ascii[1];
    }
    class->state = PROPERTY;
    return true;
}

static bool take_character(struct rmli_translator *t, struct class *class, uint32_t c)
{
    if (class->state == RANGE) {
        if (c < class->value)
            return rmli_fail(t->err, RML_FORMAT, NULL, -1,
                             "pattern '%.200s' is not valid: a range that runs backwards",
                             t->regex);
        for (uint32_t i = class->value; i <= c; i++)
            add(class->set, i);
        class->state = COMPLETE;
        return true;
    }
    add(class->set, c);
    class->value = c;
    class->state = VALUE;
    return true;
}

/* t->p behind the hyphen. */
static bool take_hyphen(struct rmli_translator *t, struct class *class)
{
    bool ends = t->p < t->end && (*t->p == ']' || (t->end - t->p > 1 && !memcmp(t->p, "&&", 2)));
    if (class->state == PROPERTY && !ends)
        return rmli_translator_refuse(t, "a hyphen behind a property");
    if (class->state == VALUE && !ends) {
        class->state = RANGE;
        return true;
    }
    return take_character(t, class, '-');
}

static bool meet(struct rmli_translator *t, struct class *class)
{
    add_properties(class);
    if (!class->left) {
        class->left = class->set;
        class->set = rmli_alloc_zeroed(N_WORDS, sizeof *class->set, t->err);
        return class->set != NULL;
    }
    for (size_t i = 0; i < N_WORDS; i++)
        class->left[i] &= class->set[i];
    memset(class->set, 0, N_WORDS * sizeof *class->set);
    return true;
}

static bool read_class(struct rmli_translator *t, uint64_t *out, bool *negated, int depth);

static bool take_class(struct rmli_translator *t, struct class *class, int depth)
{
    if (class->state == RANGE)
        return rmli_translator_refuse(t, "a range that ends in a class");
    uint64_t *inner = rmli_alloc_zeroed(N_WORDS, sizeof *inner, t->err);
    bool negated = false;
    bool ok = inner && read_class(t, inner, &negated, depth + 1);
    for (size_t i = 0; ok && i < N_WORDS; i++)
        class->set[i] |= negated ? ~inner[i] : inner[i];
    if (ok && t->folds && negated)
        ok = rmli_translator_refuse(t, "a negated class in a class under (?i)");
    class->state = COMPLETE;
    rmli_free(inner);
    return ok;
}

static bool read_member(struct rmli_translator *t, struct class *class, int depth)
{
    struct rmli_escape escape;
    struct rmli_property property;
    size_t length;
    switch (*t->p) {
    case '\\':
        t->p++;
        if (!rmli_translator_read_escape(t, &escape))
            return false;
        return escape.is_property ? take_property(t, class, &escape.property)
                                  : take_character(t, class, escape.code_point);
    case '[':
        t->p++;
        if (t->p < t->end && *t->p == ':')
            return read_posix(t, &property) && take_property(t, class, &property);
        return take_class(t, class, depth);
    case '-':
        t->p++;
        if (class->state == RANGE)
            return take_character(t, class, '-');
        return take_hyphen(t, class);
    default: {
        uint32_t c = rmli_utf8_decode(t->p, &length);
        t->p += length;
        return take_character(t, class, c);
    }
    }
}

/* Adds to `out` what the class lists; t->p behind '[' and then behind ']'. */
static bool read_class(struct rmli_translator *t, uint64_t *out, bool *negated, int depth)
{
    if (depth > MAX_DEPTH)
        return rmli_translator_refuse(t, "classes in classes, more than eight deep");
    *negated = t->p < t->end && *t->p == '^';
    t->p += *negated;
    if (t->p < t->end && *t->p == ']')
        return rmli_translator_refuse(t, "an empty class");
    struct class class = {.set = rmli_alloc_zeroed(N_WORDS, sizeof *class.set, t->err)};
    bool ok = class.set != NULL;
    while (ok && t->p < t->end && *t->p != ']') {
        if (t->end - t->p > 1 && memcmp(t->p, "&&", 2) == 0) {
            t->p += 2;
            ok = t->folds ? rmli_translator_refuse(t, "an intersection under (?i)")
                          : meet(t, &class);
            class.state = START;
        } else {
            ok = read_member(t, &class, depth);
        }
    }
    if (ok && t->p == t->end)
        ok = rmli_translator_refuse(t, "a class without end");
    if (ok) {
        t->p++;
        add_properties(&class);
        for (size_t i = 0; i < N_WORDS; i++)
            out[i] |= class.left ? class.left[i] & class.set[i] : class.set[i];
    }
    rmli_free(class.left);
    rmli_free(class.set);
    return ok;
}

bool rmli_translator_put_class(struct rmli_translator *t)
{
    bool negated;
    uint64_t *set = rmli_alloc_zeroed(N_WORDS, sizeof *set, t->err);
    bool ok = set && read_class(t, set, &negated, 0);
    /* The reference lets a letter that folds to several stand for those: "ss" is in (?i:[ß]). */
    for (size_t i = 2; ok && t->folds && i < N_WORDS; i++)
        if (set[i])
            ok = rmli_translator_refuse(t, "a class beyond ASCII under (?i)");
    ok = ok && put_set(t, set, negated);
    rmli_free(set);
    return ok;
}
