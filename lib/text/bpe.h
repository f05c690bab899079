/*
 * Byte-pair encoding of one piece of text.
 *
 * A piece begins as one symbol a byte (byte-level vocabularies) or a character, and the
 * best adjacent pair is merged until none is left. What "best" means is the only difference
 * between the two kinds:
 *
 *     by rank    the file lists merges (left, right), best first     tokenizer.json, gpt2
 *     by score   any two symbols whose concatenation is a token; the
 *                token with the highest score first                  SentencePiece, llama
 *
 * Among equals the leftmost goes first. Three things make it fast without changing a
 * single id:
 *
 *   - a piece that is itself a token needs no merging once it is known that merging would
 *     give just that token; this is found out once for each token and remembered;
 *   - where no token contains two characters side by side, nothing can ever be merged across
 *     the boundary between them, so a text without pre-tokenizer is cut there, in effect
 *     into words;
 *   - a cache of recent pieces for the duration of one call.
 */
#ifndef RML_TEXT_BPE_H
#define RML_TEXT_BPE_H

#include <stdatomic.h>

#include "text/tokenizer.h"
#include "text/vocabulary.h"

struct rmli_merge_slot {
    uint64_t key; /* left << 32 | right, plus 1; 0 is empty */
    uint32_t rank;
    int32_t id;
};

struct rmli_bpe {
    const struct rmli_vocabulary *vocabulary;
    bool by_score;
    struct rmli_merge_slot *merges; /* by rank only */
    size_t merge_mask, n_merges;
    size_t capacity; /* while merges are added */
    uint32_t *ranks; /* [n] by score only: equal scores have equal ranks' order */

    int32_t single_ids[256]; /* of single bytes (byte-level) or ASCII characters, or -1 */
    int32_t byte_ids[256];   /* of "<0x..>" (byte fallback), or -1 */
    bool has_every_byte;     /* byte-level: no byte is unknown */
    bool byte_fallback, fuse_unk, ignore_merges;
    int32_t unk_id;      /* or -1: unknown characters vanish, or with unk_is_missing are an error */
    bool unk_is_missing; /* the file names an unknown token that the model lacks */

    bool cuts; /* the second of the three things above applies */
    uint64_t small_pairs[128 * 128 / 64], *pairs;
    size_t pair_mask; /* bits - 1 */

    atomic_uchar *is_whole; /* [n] 0: not known, 1: merging its bytes gives it, 2: does not */
};

/* By rank: call init, then add_merge for each in order, then finish. Duplicates: the last
 * stands. By score: init, then finish. The settings are put in between. */
bool rmli_bpe_init(struct rmli_bpe *bpe, const struct rmli_vocabulary *vocabulary, bool by_score,
                   size_t n_merges, struct rml_error *err);
bool rmli_bpe_add_merge(struct rmli_bpe *bpe, int32_t left, int32_t right, int32_t id,
                        struct rml_error *err);
bool rmli_bpe_finish(struct rmli_bpe *bpe, struct rml_error *err);
void rmli_bpe_release(struct rmli_bpe *bpe);

/* One recent piece and its ids; a cache line. */
#define RMLI_CACHE_KEY_NBYTES 30
#define RMLI_CACHE_N_IDS 7
struct rmli_cache_entry {
    int32_t ids[RMLI_CACHE_N_IDS];
    uint32_t n_ids; /* 0: empty */
    uint8_t nbytes;
    uint8_t unused;
    char key[RMLI_CACHE_KEY_NBYTES];
};

/* What one call of encode needs; all zero to begin with. */
struct rmli_bpe_scratch {
    struct rmli_cache_entry *cache;
    size_t cache_mask;
    void *block; /* arrays of a long piece */
    size_t block_nbytes;
    bool after_unk; /* the last symbol was an unknown character */
};
/* A cache that suits nbytes of text; done without when memory is short. */
void rmli_bpe_scratch_init(struct rmli_bpe_scratch *scratch, size_t nbytes);
void rmli_bpe_scratch_release(struct rmli_bpe_scratch *scratch);

/* Appends the ids of a piece of well-formed UTF-8; of at most 2^31 bytes. */
bool rmli_bpe_encode(const struct rmli_bpe *bpe, struct rmli_bpe_scratch *scratch, const char *text,
                     size_t nbytes, struct rml_ids *out, struct rml_error *err);

/* Room for n more ids. */
bool rmli_ids_reserve(struct rml_ids *ids, size_t n, struct rml_error *err);

#endif
