/*
 * Encoding a piece: cuts, cache, merges.
 *
 * Merging takes two forms with one result. A short piece is an array of symbols with the rank
 * of each adjacent pair beside it, scanned for its minimum and closed up after each merge:
 * quadratic, but in a cache line or two. A long one is a linked list with a heap of (rank,
 * position), O(n log n): an entry is stale when the rank kept beside its position is another.
 */
#include "text/bpe.h"

#include "text/bpe_private.h"
#include "text/unicode.h"

enum { SHORT_PIECE = 48 }; /* symbols */

void rmli_bpe_scratch_init(struct rmli_bpe_scratch *scratch, size_t nbytes)
{
    *scratch = (struct rmli_bpe_scratch){0};
    if (nbytes < 4096)
        return;
    size_t n = 128;
    while (n < nbytes / 32 && n < 32768)
        n *= 2;
    scratch->cache = rmli_alloc_zeroed(n, sizeof *scratch->cache, NULL);
    scratch->cache_mask = n - 1;
}

void rmli_bpe_scratch_release(struct rmli_bpe_scratch *scratch)
{
    rmli_free(scratch->cache);
    rmli_free(scratch->block);
    *scratch = (struct rmli_bpe_scratch){0};
}

static inline bool push(struct rml_ids *out, int32_t id, struct rml_error *err)
{
    if (out->n == out->capacity && !rmli_ids_reserve(out, 1, err))
        return false;
    out->ids[out->n++] = id;
    return true;
}

/* ---- Symbols -------------------------------------------------------------- */

/* Symbol i covers text[start[i] .. start[i + 1]); ids below 0 are no tokens (yet). */
struct symbols {
    int32_t *id;
    uint32_t *start;
    size_t n;
};

static inline int32_t pair_of(const struct rmli_bpe *bpe, const char *text, uint32_t start,
                              uint32_t end, int32_t left, int32_t right, uint32_t *rank)
{
    *rank = RMLI_NO_MERGE;
    if (bpe->by_score) {
        int32_t id = rmli_vocabulary_find(bpe->vocabulary, text + start, end - start);
        if (id >= 0)
            *rank = bpe->ranks[id];
        return id;
    }
    if (left < 0 || right < 0)
        return -1;
    uint64_t key = rmli_merge_key(left, right);
    for (size_t i = rmli_merge_hash(key) & bpe->merge_mask;; i = (i + 1) & bpe->merge_mask) {
        const struct rmli_merge_slot *slot = &bpe->merges[i];
        if (slot->key == key) {
            *rank = slot->rank;
            return slot->id;
        }
        if (slot->key == 0)
            return -1;
    }
}

/* A byte that a byte-level vocabulary does not know is a character of its alphabet to the
 * reference, so that up to two bytes can stand for it. */
static inline size_t max_symbols(const struct rmli_bpe *bpe, size_t nbytes)
{
    return bpe->vocabulary->bytelevel && !bpe->has_every_byte ? 2 * nbytes : nbytes;
}

/* The tokens of an unknown character's bytes; 0 when there are none. */
static size_t fall_back(const struct rmli_bpe *bpe, const char *text, size_t length, int32_t ids[4])
{
    char alphabet[4];
    if (!bpe->byte_fallback)
        return 0;
    if (bpe->vocabulary->bytelevel) {
        length = rmli_utf8_encode(rmli_bytelevel_code_point((uint8_t)*text), alphabet);
        text = alphabet;
    }
    for (size_t k = 0; k < length; k++)
        if ((ids[k] = bpe->byte_ids[(uint8_t)text[k]]) < 0)
            return 0;
    return length;
}

/*
 * The symbols that a piece begins with; there is room for max_symbols. An unknown character
 * becomes the tokens of its bytes, else the unknown token, else nothing. Several in a row are
 * one unknown token with fuse_unk; as in the reference, that one is held back until a known
 * character comes, so bytes go before it. *cacheable: no unknown token took part.
 */
static bool split_characters(const struct rmli_bpe *bpe, struct rmli_bpe_scratch *scratch,
                             const char *text, size_t nbytes, struct symbols *s, bool *cacheable,
                             struct rml_error *err)
{
    const struct rmli_vocabulary *v = bpe->vocabulary;
    size_t n = 0;
    int32_t *id = s->id;
    uint32_t *start = s->start;
    if (bpe->has_every_byte) {
        for (size_t i = 0; i < nbytes; i++) {
            id[i] = bpe->single_ids[(uint8_t)text[i]];
            start[i] = (uint32_t)i;
        }
        s->n = n = nbytes;
        start[n] = (uint32_t)nbytes;
        *cacheable = true;
        return true;
    }
    bool held = false; /* an unknown token not yet put down */
    uint32_t held_start = 0;
    bool after_unk = scratch->after_unk;
    for (size_t i = 0, length; i < nbytes; i += length) {
        length = v->bytelevel ? 1 : rmli_utf8_length(text[i]);
        if (length > nbytes - i)
            length = nbytes - i;
        int32_t known = length == 1 ? bpe->single_ids[(uint8_t)text[i]]
                                    : rmli_vocabulary_find(v, text + i, length);
        int32_t bytes[4];
        size_t n_bytes;
        if (known >= 0 || bpe->by_score) {
            if (held) {
                id[n] = bpe->unk_id;
                start[n++] = held_start;
                held = false;
            }
            after_unk = false;
            id[n] = known;
            start[n++] = (uint32_t)i;
            continue;
        }
        if ((n_bytes = fall_back(bpe, text + i, length, bytes)) > 0) {
            for (size_t k = 0; k < n_bytes; k++) {
                id[n] = bytes[k];
                start[n++] = (uint32_t)(v->bytelevel ? i : i + k);
            }
            after_unk = false;
        } else if (bpe->unk_id >= 0) {
            *cacheable = false;
            if (bpe->fuse_unk && (held || after_unk))
                continue;
            if (held) {
                id[n] = bpe->unk_id;
                start[n++] = held_start;
            }
            held = true;
            held_start = (uint32_t)i;
            after_unk = true;
        } else if (bpe->unk_is_missing) {
            return rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                             "the text has a character that the vocabulary lacks, and the unknown "
                             "token (unk_token) too");
        }
    }
    if (held) {
        id[n] = bpe->unk_id;
        start[n++] = held_start;
    }
    if (!bpe->by_score) /* else not known before the merges */
        scratch->after_unk = after_unk;
    s->n = n;
    start[n] = (uint32_t)nbytes;
    return true;
}

/* ---- Merging --------------------------------------------------------------- */

static void merge_short(const struct rmli_bpe *bpe, const char *text, struct symbols *s)
{
    uint32_t rank[SHORT_PIECE];
    int32_t merged[SHORT_PIECE];
    size_t n = s->n;
    for (size_t i = 0; i + 1 < n; i++)
        merged[i] =
            pair_of(bpe, text, s->start[i], s->start[i + 2], s->id[i], s->id[i + 1], &rank[i]);
    for (;;) {
        uint32_t best = RMLI_NO_MERGE;
        size_t at = 0;
        for (size_t i = 0; i + 1 < n; i++)
            if (rank[i] < best) {
                best = rank[i];
                at = i;
            }
        if (best == RMLI_NO_MERGE)
            break;
        s->id[at] = merged[at];
        n--;
        for (size_t i = at + 1; i < n; i++) {
            s->id[i] = s->id[i + 1];
            s->start[i] = s->start[i + 1];
        }
        for (size_t i = at + 1; i + 1 < n; i++) { /* pairs are one fewer than symbols */
            rank[i] = rank[i + 1];
            merged[i] = merged[i + 1];
        }
        s->start[n] = s->start[n + 1];
        for (size_t i = at > 0 ? at - 1 : 0; i <= at && i + 1 < n; i++)
            merged[i] =
                pair_of(bpe, text, s->start[i], s->start[i + 2], s->id[i], s->id[i + 1], &rank[i]);
    }
    s->n = n;
}

struct long_piece {
    const struct rmli_bpe *bpe;
    const char *text;
    struct symbols s;
    uint32_t *next, *previous; /* [n + 1]; n is the end */
    uint32_t *rank;            /* of the pair that begins here */
    int32_t *merged;           /* what it becomes */
    uint64_t *heap;            /* rank << 32 | position */
    size_t heap_n;
};

static void sift_up(uint64_t *heap, size_t i)
{
    uint64_t x = heap[i];
    for (; i > 0 && heap[(i - 1) / 4] > x; i = (i - 1) / 4)
        heap[i] = heap[(i - 1) / 4];
    heap[i] = x;
}

static void sift_down(uint64_t *heap, size_t n, size_t i)
{
    uint64_t x = heap[i];
    for (;;) {
        size_t first = 4 * i + 1, best = first;
        if (first >= n)
            break;
        for (size_t k = first + 1; k < first + 4 && k < n; k++)
            if (heap[k] < heap[best])
                best = k;
        if (heap[best] >= x)
            break;
        heap[i] = heap[best];
        i = best;
    }
    heap[i] = x;
}

static void rank_pair(struct long_piece *p, uint32_t at)
{
    uint32_t right = p->next[at];
    p->rank[at] = RMLI_NO_MERGE;
    if (right == p->s.n)
        return;
    p->merged[at] = pair_of(p->bpe, p->text, p->s.start[at], p->s.start[p->next[right]],
                            p->s.id[at], p->s.id[right], &p->rank[at]);
}

static void merge_long(struct long_piece *p)
{
    size_t n = p->s.n;
    for (size_t i = 0; i < n; i++) {
        p->next[i] = (uint32_t)(i + 1);
        p->previous[i] = (uint32_t)(i - 1); /* of the first: never followed */
    }
    p->next[n] = (uint32_t)n;
    p->heap_n = 0;
    for (size_t i = 0; i < n; i++) {
        rank_pair(p, (uint32_t)i);
        if (p->rank[i] != RMLI_NO_MERGE)
            p->heap[p->heap_n++] = (uint64_t)p->rank[i] << 32 | i;
    }
    for (size_t i = p->heap_n; i-- > 0;)
        sift_down(p->heap, p->heap_n, i);
    while (p->heap_n > 0) {
        uint64_t top = p->heap[0];
        uint32_t at = (uint32_t)top;
        bool stale = p->rank[at] != (uint32_t)(top >> 32);
        if (!stale) {
            uint32_t right = p->next[at];
            p->s.id[at] = p->merged[at];
            p->next[at] = p->next[right];
            if (p->next[right] != n)
                p->previous[p->next[right]] = at;
            p->rank[right] = RMLI_NO_MERGE;
            rank_pair(p, at);
        }
        /* The new pair to the right takes the place of the entry just used. */
        if (!stale && p->rank[at] != RMLI_NO_MERGE)
            p->heap[0] = (uint64_t)p->rank[at] << 32 | at;
        else
            p->heap[0] = p->heap[--p->heap_n];
        if (p->heap_n > 0)
            sift_down(p->heap, p->heap_n, 0);
        if (!stale && at > 0) {
            uint32_t left = p->previous[at], before = p->rank[left];
            rank_pair(p, left);
            /* Each merge has taken one entry away, or put a new one in its place; this
             * one may be one more than there were, at most 2n in all. */
            if (p->rank[left] != RMLI_NO_MERGE && p->rank[left] != before) {
                p->heap[p->heap_n++] = (uint64_t)p->rank[left] << 32 | left;
                sift_up(p->heap, p->heap_n - 1);
            }
        }
    }
    size_t m = 0;
    for (size_t i = 0; i < n; i = p->next[i]) {
        p->s.id[m] = p->s.id[i];
        p->s.start[m++] = p->s.start[i];
    }
    p->s.start[m] = p->s.start[n];
    p->s.n = m;
}

/* ---- Words ------------------------------------------------------------------ */

/* Ids of symbols; those that are no tokens (only by score) become bytes or unknown. */
static bool push_symbols(const struct rmli_bpe *bpe, struct rmli_bpe_scratch *scratch,
                         const char *text, const struct symbols *s, struct rml_ids *out,
                         bool *cacheable, struct rml_error *err)
{
    size_t most = bpe->by_score ? s->start[s->n] : s->n;
    if (!rmli_ids_reserve(out, most + 1, err))
        return false;
    for (size_t i = 0; i < s->n; i++) {
        if (s->id[i] >= 0) {
            out->ids[out->n++] = s->id[i];
            if (bpe->by_score)
                scratch->after_unk = false;
            continue;
        }
        bool all = bpe->byte_fallback;
        for (uint32_t k = s->start[i]; all && k < s->start[i + 1]; k++)
            all = bpe->byte_ids[(uint8_t)text[k]] >= 0;
        if (all) {
            for (uint32_t k = s->start[i]; k < s->start[i + 1]; k++)
                out->ids[out->n++] = bpe->byte_ids[(uint8_t)text[k]];
            scratch->after_unk = false;
        } else {
            *cacheable = false;
            if (bpe->unk_id >= 0 && !(bpe->fuse_unk && scratch->after_unk))
                out->ids[out->n++] = bpe->unk_id;
            scratch->after_unk = true;
        }
    }
    return true;
}

static bool encode_long(const struct rmli_bpe *bpe, struct rmli_bpe_scratch *scratch,
                        const char *text, size_t nbytes, struct rml_ids *out, bool *cacheable,
                        struct rml_error *err)
{
    /* Per symbol id, start, next, previous, rank, merged; two heap entries. */
    size_t n = max_symbols(bpe, nbytes) + 2, need = n * (6 * 4 + 2 * 8);
    if (scratch->block_nbytes < need) {
        rmli_free(scratch->block);
        scratch->block_nbytes = 0;
        scratch->block = rmli_alloc(need, 1, err);
        if (!scratch->block)
            return false;
        scratch->block_nbytes = need;
    }
    uint64_t *heap = scratch->block;
    uint32_t *words = (uint32_t *)(heap + 2 * n);
    struct long_piece p = {.bpe = bpe,
                           .text = text,
                           .heap = heap,
                           .next = words,
                           .previous = words + n,
                           .rank = words + 2 * n,
                           .merged = (int32_t *)(words + 3 * n),
                           .s = {.id = (int32_t *)(words + 4 * n), .start = words + 5 * n}};
    if (!split_characters(bpe, scratch, text, nbytes, &p.s, cacheable, err))
        return false;
    merge_long(&p);
    return push_symbols(bpe, scratch, text, &p.s, out, cacheable, err);
}

static bool encode_merging(const struct rmli_bpe *bpe, struct rmli_bpe_scratch *scratch,
                           const char *text, size_t nbytes, struct rml_ids *out, bool *cacheable,
                           struct rml_error *err)
{
    if (max_symbols(bpe, nbytes) > SHORT_PIECE)
        return encode_long(bpe, scratch, text, nbytes, out, cacheable, err);
    int32_t ids[SHORT_PIECE + 2];
    uint32_t starts[SHORT_PIECE + 2];
    struct symbols s = {.id = ids, .start = starts};
    if (!split_characters(bpe, scratch, text, nbytes, &s, cacheable, err))
        return false;
    merge_short(bpe, text, &s);
    return push_symbols(bpe, scratch, text, &s, out, cacheable, err);
}

/* A piece that is not cut further. `ignore`: a piece that is a token is that token, whatever
 * the merges say. */
static bool encode_word(const struct rmli_bpe *bpe, struct rmli_bpe_scratch *scratch,
                        const char *text, size_t nbytes, bool ignore, struct rml_ids *out,
                        struct rml_error *err)
{
    struct rmli_packed_key packed = rmli_pack_key(text, nbytes);
    struct rmli_cache_entry *entry = NULL;
    if (scratch->cache && nbytes <= RMLI_CACHE_KEY_NBYTES) {
        entry = &scratch->cache[packed.hash & scratch->cache_mask];
        if (entry->n_ids > 0 && entry->nbytes == nbytes && memcmp(entry->key, text, nbytes) == 0) {
            if (!rmli_ids_reserve(out, RMLI_CACHE_N_IDS, err))
                return false;
            memcpy(out->ids + out->n, entry->ids, sizeof entry->ids);
            out->n += entry->n_ids;
            scratch->after_unk = false;
            return true;
        }
    }
    size_t first = out->n;
    bool cacheable = true;
    int32_t id = rmli_vocabulary_find_packed(bpe->vocabulary, text, nbytes, &packed);
    unsigned char whole = 1;
    if (id >= 0 && !ignore)
        whole = atomic_load_explicit(&bpe->is_whole[id], memory_order_relaxed);
    if (id >= 0 && whole == 1) {
        if (!push(out, id, err))
            return false;
        scratch->after_unk = false;
    } else {
        if (!encode_merging(bpe, scratch, text, nbytes, out, &cacheable, err))
            return false;
        if (id >= 0 && whole == 0) {
            whole = out->n == first + 1 && out->ids[first] == id && cacheable ? 1 : 2;
            atomic_store_explicit(&bpe->is_whole[id], whole, memory_order_relaxed);
        }
    }
    size_t n_ids = out->n - first;
    if (entry && cacheable && n_ids > 0 && n_ids <= RMLI_CACHE_N_IDS) {
        memcpy(entry->ids, out->ids + first, n_ids * sizeof *entry->ids);
        memcpy(entry->key, text, nbytes);
        entry->n_ids = (uint32_t)n_ids;
        entry->nbytes = (uint8_t)nbytes;
    }
    return true;
}

bool rmli_bpe_encode(const struct rmli_bpe *bpe, struct rmli_bpe_scratch *scratch, const char *text,
                     size_t nbytes, struct rml_ids *out, struct rml_error *err)
{
    scratch->after_unk = false;
    if (nbytes == 0)
        return true;
    if (!bpe->cuts)
        return encode_word(bpe, scratch, text, nbytes, bpe->ignore_merges, out, err);
    if (bpe->ignore_merges) {
        int32_t id = rmli_vocabulary_find(bpe->vocabulary, text, nbytes);
        if (id >= 0)
            return push(out, id, err);
    }
    size_t begin = 0, i = 0, length;
    uint32_t previous = rmli_utf8_decode(text, &length);
    for (i = length; i < nbytes; i += length) {
        uint32_t code_point = rmli_utf8_decode(text + i, &length);
        if (!rmli_may_touch(bpe, previous, code_point)) {
            if (!encode_word(bpe, scratch, text + begin, i - begin, false, out, err))
                return false;
            begin = i;
        }
        previous = code_point;
    }
    return encode_word(bpe, scratch, text + begin, nbytes - begin, false, out, err);
}
