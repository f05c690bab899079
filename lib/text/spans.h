/*
 * Texts of mixed origin: what a program wrote and what it was given.
 */
#ifndef RML_TEXT_SPANS_H
#define RML_TEXT_SPANS_H

#include "text/tokenizer.h"

struct rml_text_span {
    const char *text;
    size_t nbytes;
    bool trusted; /* the text of special tokens becomes those tokens */
};

/*
 * Appends the ids of the joined text of n spans; with RML_ADD_SPECIAL in `flags` also what the
 * tokenizer adds to a text, else nothing (RML_PARSE_SPECIAL is the spans' own matter). A special token is found only where
 * all of its text is trusted; between special tokens the text is one, whatever spans it comes from:
 * merges and patterns see across their borders, as they do when a rendered text is tokenized. On
 * failure `out` is as it was.
 */
bool rml_tokenizer_encode_spans(const struct rml_tokenizer *tokenizer,
                                const struct rml_text_span *spans, size_t n, unsigned flags,
                                struct rml_ids *out, struct rml_error *err);

#endif
