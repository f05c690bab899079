/* What the parts of rml-tokenize share. */
#ifndef TOOLS_TOKENIZE_H
#define TOOLS_TOKENIZE_H

#include "rml.h"

/* What is done to each text or list of ids. */
struct tokenize_job {
    const struct rml_tokenizer *tokenizer;
    const char *source; /* of the input, as messages name it */
    bool decode;
    bool no_special;
    bool parse_special;
};

bool tokenize_encode(const struct tokenize_job *job, const char *text, size_t nbytes,
                     struct rml_ids *out, struct rml_error *err);
bool tokenize_decode(const struct tokenize_job *job, const struct rml_ids *ids,
                     struct rml_bytes *out, struct rml_error *err);

/*
 * --jsonl: one JSON value a line in, one a line out, in the order of the input.
 *
 * Lines that have arrived are worked on together, by all threads of the pool, and written before
 * more is waited for; so a partner who sends a line gets its answer, and a file is read in large
 * pieces. Memory is that of one such piece, or of the longest line. `text` (NULL: standard input)
 * is the input. The first line that fails ends the run: those before it have been written.
 */
bool tokenize_lines(const struct tokenize_job *job, struct rml_thread_pool *pool, const char *text,
                    struct rml_error *err);

#endif
