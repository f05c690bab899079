/*
 * Unigram: the segmentation of a piece with the highest sum of scores (Kudo, "Subword
 * Regularization", 2018), found by dynamic programming over its characters.
 *
 * Tokens that begin at a position are enumerated with a trie whose edges (node, byte) lie in one
 * hash table. Among equal sums the segmentation found first stands, as in the reference: earlier
 * last starts, then shorter tokens.
 */
#ifndef RML_TEXT_UNIGRAM_H
#define RML_TEXT_UNIGRAM_H

#include "text/tokenizer.h"
#include "text/vocabulary.h"

struct rmli_trie_edge {
    uint64_t key; /* node << 8 | byte, plus 1; 0 is empty */
    uint32_t node;
    int32_t id; /* of the token that ends here, or -1 */
};

struct rmli_trie {
    struct rmli_trie_edge *edges;
    size_t mask, n_edges;
    uint32_t n_nodes; /* 0 is the root */
};

/* Walks one byte on: the edge, or NULL. */
const struct rmli_trie_edge *rmli_trie_step(const struct rmli_trie *trie, uint32_t node,
                                            uint8_t byte);
/* Of the strings of n_nbytes bytes in total. */
bool rmli_trie_init(struct rmli_trie *trie, size_t total_nbytes, struct rml_error *err);
void rmli_trie_insert(struct rmli_trie *trie, const char *s, size_t nbytes, int32_t id);
void rmli_trie_release(struct rmli_trie *trie);

struct rmli_unigram {
    const struct rmli_vocabulary *vocabulary;
    const double *scores; /* [vocabulary->n]; owned */
    struct rmli_trie trie;
    double unk_score;
    int32_t unk_id; /* or -1: an unknown character is an error */
    int32_t byte_ids[256];
    bool byte_fallback; /* and all 256 byte tokens are there */
};

/* Takes over `scores` (rmli_alloc), also on failure. */
bool rmli_unigram_init(struct rmli_unigram *unigram, const struct rmli_vocabulary *vocabulary,
                       double *scores, int32_t unk_id, bool byte_fallback, struct rml_error *err);
void rmli_unigram_release(struct rmli_unigram *unigram);

struct rmli_unigram_scratch {
    void *block;
    size_t block_nbytes;
};
void rmli_unigram_scratch_release(struct rmli_unigram_scratch *scratch);

bool rmli_unigram_encode(const struct rmli_unigram *unigram, struct rmli_unigram_scratch *scratch,
                         const char *text, size_t nbytes, struct rml_ids *out,
                         struct rml_error *err);

#endif
