/*
 * The model of byte-pair encoding: merges, cuts, and what is known of whole tokens.
 */
#include "text/bpe.h"

#include <stdlib.h>

#include "text/bpe_private.h"
#include "text/unicode.h"

bool rmli_bpe_init(struct rmli_bpe *bpe, const struct rmli_vocabulary *vocabulary, bool by_score,
                   size_t n_merges, struct rml_error *err)
{
    *bpe = (struct rmli_bpe){.vocabulary = vocabulary, .by_score = by_score, .unk_id = -1};
    if (by_score)
        return true;
    size_t n_slots = 16;
    while (n_slots < n_merges + n_merges / 3)
        n_slots *= 2;
    bpe->merges = rmli_alloc_table(n_slots, sizeof *bpe->merges, err);
    bpe->merge_mask = n_slots - 1;
    bpe->capacity = n_merges;
    return bpe->merges != NULL;
}

bool rmli_bpe_add_merge(struct rmli_bpe *bpe, int32_t left, int32_t right, int32_t id,
                        struct rml_error *err)
{
    if (bpe->n_merges == bpe->capacity)
        return rmli_fail(err, RML_INTERNAL, NULL, -1, "more merges than announced");
    uint64_t key = rmli_merge_key(left, right);
    size_t i = rmli_merge_hash(key) & bpe->merge_mask;
    while (bpe->merges[i].key != 0 && bpe->merges[i].key != key)
        i = (i + 1) & bpe->merge_mask;
    bpe->merges[i] = (struct rmli_merge_slot){key, (uint32_t)bpe->n_merges++, id};
    return true;
}

/* ---- Single bytes and characters ---------------------------------------- */

/* The byte that "<0x0A>" names, or -1. */
static int named_byte(const char *text, size_t nbytes)
{
    static const char digits[] = "0123456789ABCDEF";
    if (nbytes != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>')
        return -1;
    const char *high = strchr(digits, text[3]), *low = strchr(digits, text[4]);
    return high && low && *high && *low ? (int)((high - digits) * 16 + (low - digits)) : -1;
}

static void find_single_tokens(struct rmli_bpe *bpe)
{
    const struct rmli_vocabulary *v = bpe->vocabulary;
    bpe->has_every_byte = v->bytelevel;
    for (unsigned byte = 0; byte < 256; byte++) {
        char c = (char)byte;
        bpe->single_ids[byte] = byte < 128 || v->bytelevel ? rmli_vocabulary_find(v, &c, 1) : -1;
        bpe->has_every_byte = bpe->has_every_byte && bpe->single_ids[byte] >= 0;
        bpe->byte_ids[byte] = -1;
    }
    for (size_t id = 0; id < v->n && !bpe->has_every_byte; id++) {
        size_t nbytes;
        const char *text = rmli_strings_get(&v->text, id, &nbytes);
        int byte = named_byte(text, nbytes);
        if (byte >= 0 && (v->in_model[id] || v->kinds[id] == RML_TOKEN_BYTE))
            bpe->byte_ids[byte] = (int32_t)id;
    }
}

/* ---- Cuts ---------------------------------------------------------------- */

static void note_pair(struct rmli_bpe *bpe, uint32_t left, uint32_t right)
{
    uint32_t a = rmli_small_code_point(left), b = rmli_small_code_point(right);
    if (a < 128 && b < 128) {
        bpe->small_pairs[a * 2 + b / 64] |= (uint64_t)1 << (b & 63);
    } else {
        size_t bit = rmli_pair_hash(left, right) & bpe->pair_mask;
        bpe->pairs[bit / 64] |= (uint64_t)1 << (bit & 63);
    }
}

/* Cuts rest on symbols being made of neighbouring characters. A merge that takes a byte of
 * the fallback or the unknown token as one of its sides would break that; so would bytes
 * that only some characters have, as the unknown token then changes places with them. A byte
 * below 128 is a character of its own, which does without where it is a token itself: Gemma's
 * first vocabulary has no <0x09>, as it has a token for the tabulator. */
static bool may_cut(const struct rmli_bpe *bpe)
{
    if (bpe->vocabulary->bytelevel)
        return false;
    int n_bytes = 0, n_missing = 0;
    for (int byte = 0; byte < 256; byte++) {
        n_bytes += bpe->byte_ids[byte] >= 0;
        n_missing += bpe->byte_ids[byte] < 0 && !(byte < 128 && bpe->single_ids[byte] >= 0);
    }
    if (bpe->byte_fallback && n_bytes != 0 && n_missing != 0)
        return false;
    if (bpe->by_score)
        return true;
    /* Characters that vanish leave their neighbours side by side. */
    if (bpe->unk_id < 0 && !(bpe->byte_fallback && n_bytes != 0))
        return false;
    for (size_t i = 0; i <= bpe->merge_mask; i++) {
        uint64_t key = bpe->merges[i].key;
        if (key == 0)
            continue;
        int32_t sides[2] = {(int32_t)((key - 1) >> 32), (int32_t)(uint32_t)(key - 1)};
        for (int side = 0; side < 2; side++) {
            if (sides[side] == bpe->unk_id)
                return false;
            size_t nbytes;
            const char *text =
                rmli_strings_get(&bpe->vocabulary->text, (size_t)sides[side], &nbytes);
            if (nbytes == 6 && memcmp(text, "<0x", 3) == 0 && text[5] == '>')
                return false;
        }
    }
    return true;
}

static bool note_pairs(struct rmli_bpe *bpe, struct rml_error *err)
{
    const struct rmli_vocabulary *v = bpe->vocabulary;
    size_t n_bits = 4096;
    while (n_bits < v->text.offsets[v->n] * (size_t)4)
        n_bits *= 2;
    bpe->pairs = rmli_alloc_zeroed(n_bits / 64, sizeof *bpe->pairs, err);
    if (!bpe->pairs)
        return false;
    bpe->pair_mask = n_bits - 1;
    for (size_t id = 0; id < v->n; id++) {
        if (!v->in_model[id])
            continue;
        size_t nbytes;
        const char *key = rmli_strings_get(&v->keys, id, &nbytes);
        uint32_t previous = 0;
        for (size_t i = 0, length; i < nbytes; i += length) {
            uint32_t code_point = rmli_utf8_decode(key + i, &length);
            if (i > 0)
                note_pair(bpe, previous, code_point);
            previous = code_point;
        }
    }
    return true;
}

/* ---- Ranks from scores ---------------------------------------------------- */

/* A float as an integer that orders alike. */
static uint32_t ordered(float score)
{
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    return bits & 0x80000000 ? ~bits : bits | 0x80000000;
}

static bool rank_scores(struct rmli_bpe *bpe, struct rml_error *err)
{
    const struct rmli_vocabulary *v = bpe->vocabulary;
    bpe->ranks = rmli_alloc(v->n, sizeof *bpe->ranks, err);
    if (!bpe->ranks)
        return false;
    for (size_t id = 0; id < v->n; id++) {
        /* Zeros of both signs are equal, as in llama.cpp and up to sentencepiece 0.2.1 (0.2.3 has
         * -0 after +0). UINT32_MAX is kept for "no merge". */
        uint32_t order = ordered(v->scores[id] + 0.0f);
        bpe->ranks[id] = order == 0 ? UINT32_MAX - 1 : UINT32_MAX - order;
    }
    return true;
}

bool rmli_bpe_finish(struct rmli_bpe *bpe, struct rml_error *err)
{
    find_single_tokens(bpe);
    size_t n = bpe->vocabulary->n;
    bpe->is_whole = rmli_alloc_zeroed(n + 1, sizeof *bpe->is_whole, err);
    if (!bpe->is_whole)
        return false;
    if (bpe->by_score && !rank_scores(bpe, err))
        return false;
    bpe->cuts = may_cut(bpe);
    return !bpe->cuts || note_pairs(bpe, err);
}

void rmli_bpe_release(struct rmli_bpe *bpe)
{
    rmli_free(bpe->merges);
    rmli_free(bpe->ranks);
    rmli_free(bpe->pairs);
    rmli_free(bpe->is_whole);
    *bpe = (struct rmli_bpe){0};
}

bool rmli_ids_reserve(struct rml_ids *ids, size_t n, struct rml_error *err)
{
    if (ids->capacity - ids->n >= n)
        return true;
    size_t capacity = ids->capacity < 64 ? 64 : ids->capacity;
    while (capacity - ids->n < n)
        capacity *= 2;
    /* realloc moves megabytes without copying; ids have no alignment to keep. */
    int32_t *grown = realloc(ids->ids, capacity * sizeof *grown);
    if (!grown)
        return rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for %zu ids", capacity);
    ids->ids = grown;
    ids->capacity = capacity;
    return true;
}
