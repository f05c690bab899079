/*
 * Unigram's trie and its search.
 */
#include "text/unigram.h"

#include <math.h>

#include "text/bpe.h"
#include "text/unicode.h"

/* ---- Trie ----------------------------------------------------------------------- */

static size_t edge_hash(uint64_t key)
{
    uint64_t h = key * 0x9e3779b97f4a7c15;
    return (size_t)(h >> 32 ^ h >> 13);
}

const struct rmli_trie_edge *rmli_trie_step(const struct rmli_trie *trie, uint32_t node,
                                            uint8_t byte)
{
    uint64_t key = ((uint64_t)node << 8 | byte) + 1;
    for (size_t i = edge_hash(key) & trie->mask;; i = (i + 1) & trie->mask) {
        if (trie->edges[i].key == key)
            return &trie->edges[i];
        if (trie->edges[i].key == 0)
            return NULL;
    }
}

bool rmli_trie_init(struct rmli_trie *trie, size_t total_nbytes, struct rml_error *err)
{
    size_t n = 64;
    while (n < total_nbytes * 2)
        n *= 2;
    *trie = (struct rmli_trie){.n_nodes = 1, .mask = n - 1};
    trie->edges = rmli_alloc_zeroed(n, sizeof *trie->edges, err);
    return trie->edges != NULL;
}

void rmli_trie_insert(struct rmli_trie *trie, const char *s, size_t nbytes, int32_t id)
{
    uint32_t node = 0;
    for (size_t k = 0; k < nbytes; k++) {
        uint64_t key = ((uint64_t)node << 8 | (uint8_t)s[k]) + 1;
        size_t i = edge_hash(key) & trie->mask;
        while (trie->edges[i].key != 0 && trie->edges[i].key != key)
            i = (i + 1) & trie->mask;
        if (trie->edges[i].key == 0) {
            trie->edges[i] = (struct rmli_trie_edge){key, trie->n_nodes++, -1};
            trie->n_edges++;
        }
        if (k + 1 == nbytes)
            trie->edges[i].id = id;
        node = trie->edges[i].node;
    }
}

void rmli_trie_release(struct rmli_trie *trie)
{
    rmli_free(trie->edges);
    *trie = (struct rmli_trie){0};
}

/* ---- Model ------------------------------------------------------------------------ */

bool rmli_unigram_init(struct rmli_unigram *unigram, const struct rmli_vocabulary *vocabulary,
                       double *scores, int32_t unk_id, bool byte_fallback, struct rml_error *err)
{
    *unigram = (struct rmli_unigram){.vocabulary = vocabulary,
                                     .scores = scores,
                                     .unk_id = unk_id,
                                     .byte_fallback = byte_fallback};
    double least = INFINITY;
    for (size_t id = 0; id < vocabulary->n; id++)
        if (vocabulary->in_model[id] && scores[id] < least)
            least = scores[id];
    unigram->unk_score = least - 10.0; /* the reference's penalty */
    for (unsigned byte = 0; byte < 256; byte++) {
        char name[] = {'<', '0', 'x', "0123456789ABCDEF"[byte >> 4], "0123456789ABCDEF"[byte & 15],
                       '>'};
        unigram->byte_ids[byte] = rmli_vocabulary_find(vocabulary, name, sizeof name);
    }
    if (!rmli_trie_init(&unigram->trie, vocabulary->text.offsets[vocabulary->n], err))
        return false;
    for (size_t id = 0; id < vocabulary->n; id++) {
        size_t nbytes;
        const char *key = rmli_strings_get(&vocabulary->keys, id, &nbytes);
        /* Of two tokens with one text the later counts, as everywhere. */
        if (vocabulary->in_model[id] && nbytes > 0)
            rmli_trie_insert(&unigram->trie, key, nbytes, (int32_t)id);
    }
    return true;
}

void rmli_unigram_release(struct rmli_unigram *unigram)
{
    rmli_free((void *)unigram->scores);
    rmli_trie_release(&unigram->trie);
    *unigram = (struct rmli_unigram){0};
}

void rmli_unigram_scratch_release(struct rmli_unigram_scratch *scratch)
{
    rmli_free(scratch->block);
    *scratch = (struct rmli_unigram_scratch){0};
}

/* The best way to reach a position. */
struct node {
    double score;
    uint32_t start; /* of its last token; UINT32_MAX: not reached */
    int32_t id;
};

static bool push_unknown(const struct rmli_unigram *u, const char *text, size_t begin, size_t end,
                         struct rml_ids *out, struct rml_error *err)
{
    bool all = u->byte_fallback;
    for (size_t i = begin; all && i < end; i++)
        all = u->byte_ids[(uint8_t)text[i]] >= 0;
    if (!rmli_ids_reserve(out, end - begin + 1, err))
        return false;
    for (size_t i = begin; all && i < end; i++)
        out->ids[out->n++] = u->byte_ids[(uint8_t)text[i]];
    if (!all)
        out->ids[out->n++] = u->unk_id;
    return true;
}

/* Whether it is the best way there so far. */
static bool reach(struct node *node, double score, size_t start, int32_t id)
{
    bool best = node->start == UINT32_MAX || score > node->score;
    if (best)
        *node = (struct node){score, (uint32_t)start, id};
    return best;
}

bool rmli_unigram_encode(const struct rmli_unigram *u, struct rmli_unigram_scratch *scratch,
                         const char *text, size_t nbytes, struct rml_ids *out,
                         struct rml_error *err)
{
    size_t need = (nbytes + 1) * sizeof(struct node);
    if (scratch->block_nbytes < need) {
        rmli_free(scratch->block);
        scratch->block_nbytes = 0;
        scratch->block = rmli_alloc(need, 1, err);
        if (!scratch->block)
            return false;
        scratch->block_nbytes = need;
    }
    struct node *nodes = scratch->block;
    for (size_t i = 0; i <= nbytes; i++)
        nodes[i] = (struct node){0, UINT32_MAX, 0};
    for (size_t i = 0, length; i < nbytes; i += length) {
        length = rmli_utf8_length(text[i]);
        double here = nodes[i].score;
        bool single = false;
        uint32_t at = 0;
        for (size_t k = i; k < nbytes; k++) {
            const struct rmli_trie_edge *edge = rmli_trie_step(&u->trie, at, (uint8_t)text[k]);
            if (!edge)
                break;
            at = edge->node;
            if (edge->id < 0)
                continue;
            single |= k + 1 - i == length;
            reach(&nodes[k + 1], u->scores[edge->id] + here, i, edge->id);
        }
        /* The reference stops here too, whether or not the best path comes by and has bytes. */
        if (!single && reach(&nodes[i + length], u->unk_score + here, i, u->unk_id) &&
            u->unk_id < 0)
            return rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                             "the text has a character that the vocabulary lacks, and there is no "
                             "unknown token");
    }
    /* Backwards: the starts are turned round into ends, then read forwards. */
    size_t end = nbytes;
    while (end > 0) {
        size_t start = nodes[end].start;
        nodes[start].score = (double)end; /* read only as the link below */
        end = start;
    }
    for (size_t begin = 0; begin < nbytes;) {
        end = (size_t)nodes[begin].score;
        int32_t id = nodes[end].id;
        if (id == u->unk_id) { /* unknown characters in a row are one */
            while (end < nbytes && nodes[(size_t)nodes[end].score].id == u->unk_id)
                end = (size_t)nodes[end].score;
            id = rmli_vocabulary_find(u->vocabulary, text + begin, end - begin);
        }
        if (id < 0) {
            if (!push_unknown(u, text, begin, end, out, err))
                return false;
        } else {
            if (!rmli_ids_reserve(out, 1, err))
                return false;
            out->ids[out->n++] = id;
        }
        begin = end;
    }
    return true;
}
