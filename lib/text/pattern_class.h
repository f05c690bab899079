/*
 * Sets of code points, as patterns name them: by properties of our table, and as bracketed classes.
 *
 * A class is read into a set first and written as ranges afterwards, so that what stands in it (classes
 * within classes, intersections, properties beside hyphens) is understood by one syntax alone.
 */
#ifndef RML_TEXT_PATTERN_CLASS_H
#define RML_TEXT_PATTERN_CLASS_H

#include "base/error.h"
#include "text/tokenizer.h"

/* A pattern on its way to PCRE2. */
struct rmli_translator {
    const char *p, *end, *regex; /* what is read next; the whole, terminated */
    struct rml_bytes *out;
    struct rml_error *err;
    bool folds; /* (?i) is in force */
};

/* Fails: the pattern has `what`, which is not supported. */
bool rmli_translator_refuse(const struct rmli_translator *t, const char *what);
bool rmli_translator_put(struct rmli_translator *t, const char *s);

/* Code points whose mask (unicode.h) meets `mask`, and those of ASCII that `ascii` has as bits; or,
 * negated, the others. */
struct rmli_property {
    uint64_t mask, ascii[2];
    bool negated;
};

/* What an escape inside or outside of a class stands for. */
struct rmli_escape {
    bool is_property;
    struct rmli_property property;
    uint32_t code_point;
};
/* Reads an escape, t->p behind its backslash. Assertions and references are none of those. */
bool rmli_translator_read_escape(struct rmli_translator *t, struct rmli_escape *escape);

/* A property as a class of its own. */
bool rmli_translator_put_property(struct rmli_translator *t, const struct rmli_property *property);
/* A class, t->p behind its '['. */
bool rmli_translator_put_class(struct rmli_translator *t);

#endif
