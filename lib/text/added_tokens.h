/*
 * Added tokens: those that are cut out of the text before anything else sees it.
 *
 * Two lists, as in the reference: tokens with normalized = false are looked for in the text as it
 * is, those with normalized = true in the normalised text between them. In each the leftmost
 * match wins, and of those that begin together the longest. A special token that is not to be
 * parsed still takes its place in this search; its text just stays text.
 */
#ifndef RML_TEXT_ADDED_TOKENS_H
#define RML_TEXT_ADDED_TOKENS_H

#include "text/unigram.h"

struct rmli_added_token {
    int32_t id;
    bool special, single_word, lstrip, rstrip, normalized;
    bool in_model;       /* the model has a token of that text */
    const char *content; /* borrowed until the list is made */
    size_t nbytes;
    size_t n_put_before; /* bytes of `content` that a normalizer puts before a text */
};

/* The order of their contents, for qsort and bsearch over pointers to tokens. */
int rmli_added_token_compare(const void *left, const void *right);

struct rmli_added_list {
    struct rmli_trie trie;           /* ids are places in `tokens` */
    uint64_t first_bytes[4];         /* bits: bytes that some token begins with */
    struct rmli_added_token *tokens; /* content is no longer valid */
    size_t n;
};

/* Copies the tokens; duplicates of a content: the first stands. (Tokens that a normalizer makes equal
 * are such: which of them the reference finds, tokenizers 0.23.3, differs from load to load.) */
bool rmli_added_list_init(struct rmli_added_list *list, const struct rmli_added_token *tokens,
                          size_t n, struct rml_error *err);
void rmli_added_list_release(struct rmli_added_list *list);

/*
 * Where the text of special tokens becomes those tokens: everywhere, nowhere, or inside one of
 * `ranges`, which are ascending and apart from each other. What a normalizer puts before a token's
 * text needs no trust. A match that a border of a range cuts is none; it hides nothing of what
 * begins behind it.
 */
struct rmli_trust {
    bool all;
    const struct rmli_range {
        size_t begin, end;
    } * ranges;
    size_t n;
};
/* The range that ends behind `at`; n when there is none. */
size_t rmli_trust_range(const struct rmli_trust *trust, size_t at);

/* The walk over a text: zero to begin with. */
struct rmli_added_cursor {
    size_t search_from; /* where the next match may begin */
    size_t taken;       /* the end of what has been given out */
};

/*
 * The next stretch of text without tokens and the token after it: text[*begin .. *end) (may be
 * empty), and *id, -1 at the end of the text. false when all has been given out.
 */
bool rmli_added_next(const struct rmli_added_list *list, struct rmli_added_cursor *cursor,
                     const char *text, size_t nbytes, const struct rmli_trust *trust, size_t *begin,
                     size_t *end, int32_t *id);

#endif
