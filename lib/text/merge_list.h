/*
 * The merges of a file, looked up and put into the model.
 *
 * A merge takes three look-ups in the vocabulary and one store in the table of merges, all
 * at places that no cache holds: 300,000 of them, one after another, would take longer than
 * everything else. They are therefore done in batches, each step for the whole batch, fetching
 * ahead what the next step reads.
 */
#ifndef RML_TEXT_MERGE_LIST_H
#define RML_TEXT_MERGE_LIST_H

#include "text/bpe.h"

/* One merge as the file writes it; borrowed. */
struct rmli_merge_text {
    const char *left, *right;
    uint32_t left_nbytes, right_nbytes;
    uint64_t offset; /* in the file, for messages */
};

/*
 * Adds n merges, in order, to a model by rank that was initialised for them. A merge whose sides or
 * result are no tokens of the model is left out when `lenient`; else it is RML_FORMAT, and the
 * message has its place and text.
 */
bool rmli_merges_add(struct rmli_bpe *bpe, const struct rmli_merge_text *merges, size_t n,
                     bool lenient, struct rml_error *err);

#endif
