/*
 * Batches of merges.
 */
#include "text/merge_list.h"

#include "text/bpe_private.h"

enum { BATCH = 64, MAX_KEY_NBYTES = 256, N_KEYS = 3 };

/* A look-up on its way. */
struct lookup {
    const char *key;
    size_t nbytes;
    struct rmli_packed_key packed;
    int32_t id; /* of a long key, a candidate at first */
};

struct batch {
    size_t n;
    int32_t last;                         /* what the merge before made, or -1 */
    struct lookup lookups[BATCH][N_KEYS]; /* left, right, both */
    struct lookup *long_keys[BATCH * N_KEYS];
    size_t n_long;
    char keys[BATCH][MAX_KEY_NBYTES];
};

/* Characters of well-formed UTF-8: of a byte-level vocabulary's alphabet, each is a byte of the key. */
static size_t count_characters(const char *text, size_t nbytes)
{
    size_t n = 0, i = 0;
    for (; i + 8 <= nbytes; i += 8) {
        uint64_t x = rmli_load64(text + i);
        uint64_t continuations = x & ~(x << 1) & 0x8080808080808080; /* 10...... */
        n += 8 - (size_t)__builtin_popcountll(continuations);
    }
    for (; i < nbytes; i++)
        n += ((uint8_t)text[i] & 0xc0) != 0x80;
    return n;
}

/*
 * Trained merges stand in the order of the tokens that they make, so that most make the same token
 * as the one before, or the next. When the text is that token's, its key holds those of both sides.
 * Texts decide, so that a wrong guess costs a comparison; where two tokens have one key, the table
 * is asked, which knows one of them.
 */
static bool guess_result(struct batch *batch, const struct rmli_vocabulary *v,
                         const struct rmli_merge_text *m, struct lookup l[N_KEYS])
{
    if (batch->last < 0 || v->has_equal_keys)
        return false;
    size_t begin = (size_t)batch->last, end = begin + 2 < v->n ? begin + 2 : v->n;
    for (size_t id = begin; id < end; id++) {
        size_t nbytes, key_nbytes;
        const char *text = rmli_strings_get(&v->text, id, &nbytes);
        if (nbytes != (size_t)m->left_nbytes + m->right_nbytes || !v->in_model[id] ||
            !rmli_equal_bytes(text, m->left, m->left_nbytes) ||
            !rmli_equal_bytes(text + m->left_nbytes, m->right, m->right_nbytes))
            continue;
        const char *key = rmli_strings_get(&v->keys, id, &key_nbytes);
        size_t left = v->bytelevel ? count_characters(text, m->left_nbytes) : m->left_nbytes;
        if (left > key_nbytes || (m->right_nbytes > 0 && ((uint8_t)m->right[0] & 0xc0) == 0x80))
            return false; /* cut inside a character */
        l[0] = (struct lookup){.key = key, .nbytes = left, .id = -1};
        l[1] = (struct lookup){.key = key + left, .nbytes = key_nbytes - left, .id = -1};
        l[2] = (struct lookup){.key = key, .nbytes = key_nbytes, .id = (int32_t)id};
        batch->last = (int32_t)id;
        return true;
    }
    return false;
}

/* Keys of the merge's texts; none when it is long, or not of the alphabet. */
static void make_keys(const struct rmli_vocabulary *v, const struct rmli_merge_text *m, char *out,
                      struct lookup l[N_KEYS])
{
    for (int k = 0; k < N_KEYS; k++)
        l[k] = (struct lookup){.key = NULL, .id = -1};
    if ((size_t)m->left_nbytes + m->right_nbytes > MAX_KEY_NBYTES)
        return;
    int64_t left = rmli_vocabulary_key(v, m->left, m->left_nbytes, out);
    int64_t right = left < 0 ? -1 : rmli_vocabulary_key(v, m->right, m->right_nbytes, out + left);
    if (right < 0)
        return;
    l[0] = (struct lookup){.key = out, .nbytes = (size_t)left, .id = -1};
    l[1] = (struct lookup){.key = out + left, .nbytes = (size_t)right, .id = -1};
    l[2] = (struct lookup){.key = out, .nbytes = (size_t)(left + right), .id = -1};
}

static void prepare(struct batch *batch, const struct rmli_vocabulary *v,
                    const struct rmli_merge_text *merges)
{
    for (size_t i = 0; i < batch->n; i++) {
        struct lookup *l = batch->lookups[i];
        if (!guess_result(batch, v, &merges[i], l))
            make_keys(v, &merges[i], batch->keys[i], l);
        for (int k = 0; k < N_KEYS; k++) {
            if (!l[k].key || l[k].id >= 0)
                continue;
            l[k].packed = rmli_pack_key(l[k].key, l[k].nbytes);
            __builtin_prefetch(&v->slots[l[k].packed.hash & v->slot_mask]);
        }
    }
}

/* Short keys are found; for a long one, the first slot that fits is nearly always the one, and its
 * bytes are fetched. */
static void find_candidates(struct batch *batch, const struct rmli_vocabulary *v)
{
    batch->n_long = 0;
    for (size_t i = 0; i < batch->n; i++)
        for (int k = 0; k < N_KEYS; k++) {
            struct lookup *l = &batch->lookups[i][k];
            if (!l->key || l->id >= 0)
                continue;
            size_t s = l->packed.hash & v->slot_mask;
            while (v->slots[s].id_plus_1 != 0 && !rmli_slot_fits(&v->slots[s], &l->packed))
                s = (s + 1) & v->slot_mask;
            l->id = (int32_t)v->slots[s].id_plus_1 - 1;
            if (l->id >= 0 && l->nbytes > RMLI_WHOLE_KEY_NBYTES) {
                batch->long_keys[batch->n_long++] = l;
                __builtin_prefetch(&v->keys.offsets[l->id]);
            }
        }
    for (size_t i = 0; i < batch->n_long; i++)
        __builtin_prefetch(v->keys.data + v->keys.offsets[batch->long_keys[i]->id]);
}

static void confirm_long(struct batch *batch, const struct rmli_vocabulary *v)
{
    for (size_t i = 0; i < batch->n_long; i++) {
        struct lookup *l = batch->long_keys[i];
        size_t nbytes;
        const char *key = rmli_strings_get(&v->keys, (size_t)l->id, &nbytes);
        if (nbytes != l->nbytes || !rmli_equal_bytes(key, l->key, nbytes))
            l->id = rmli_vocabulary_find_packed(v, l->key, l->nbytes, &l->packed);
    }
}

/* A merge of which no keys were made: it is long, or not of the alphabet. */
static bool find_directly(const struct rmli_vocabulary *v, const struct rmli_merge_text *m,
                          struct lookup l[N_KEYS], struct rml_error *err)
{
    char *key = rmli_alloc((size_t)m->left_nbytes + m->right_nbytes, 1, err);
    if (!key)
        return false;
    int64_t left = rmli_vocabulary_key(v, m->left, m->left_nbytes, key);
    char *right_key = key + (left < 0 ? 0 : left);
    int64_t right = rmli_vocabulary_key(v, m->right, m->right_nbytes, right_key);
    if (left >= 0)
        l[0].id = rmli_vocabulary_find(v, key, (size_t)left);
    if (right >= 0)
        l[1].id = rmli_vocabulary_find(v, right_key, (size_t)right);
    if (left >= 0 && right >= 0)
        l[2].id = rmli_vocabulary_find(v, key, (size_t)(left + right));
    rmli_free(key);
    return true;
}

static bool confirm(struct batch *batch, const struct rmli_vocabulary *v,
                    const struct rmli_merge_text *merges, const struct rmli_bpe *bpe,
                    struct rml_error *err)
{
    confirm_long(batch, v);
    for (size_t i = 0; i < batch->n; i++) {
        struct lookup *l = batch->lookups[i];
        if (!l[0].key && !find_directly(v, &merges[i], l, err))
            return false;
        __builtin_prefetch(
            &bpe->merges[rmli_merge_hash(rmli_merge_key(l[0].id, l[1].id)) & bpe->merge_mask], 1);
    }
    return true;
}

/* Of a text in a message. */
static int shown_nbytes(uint32_t nbytes)
{
    return nbytes < 200 ? (int)nbytes : 200;
}

static bool fail_merge(const struct rmli_merge_text *m, const struct lookup l[N_KEYS], size_t place,
                       struct rml_error *err)
{
    int which = l[0].id < 0 ? 0 : l[1].id < 0 ? 1 : 2;
    return rmli_fail(err, RML_FORMAT, NULL, (int64_t)m->offset,
                     "merge %zu has '%.*s%.*s', which is no token", place,
                     which != 1 ? shown_nbytes(m->left_nbytes) : 0, m->left,
                     which != 0 ? shown_nbytes(m->right_nbytes) : 0, m->right);
}

/* `begin` is the place of the batch's first merge. */
static bool insert(const struct batch *batch, struct rmli_bpe *bpe,
                   const struct rmli_merge_text *merges, bool lenient, size_t begin,
                   struct rml_error *err)
{
    for (size_t i = 0; i < batch->n; i++) {
        const struct lookup *l = batch->lookups[i];
        if (l[0].id >= 0 && l[1].id >= 0 && l[2].id >= 0) {
            if (!rmli_bpe_add_merge(bpe, l[0].id, l[1].id, l[2].id, err))
                return false;
        } else if (!lenient) {
            return fail_merge(&merges[begin + i], l, begin + i, err);
        }
    }
    return true;
}

bool rmli_merges_add(struct rmli_bpe *bpe, const struct rmli_merge_text *merges, size_t n,
                     bool lenient, struct rml_error *err)
{
    const struct rmli_vocabulary *v = bpe->vocabulary;
    struct batch *batch = rmli_alloc(1, sizeof *batch, err);
    bool ok = batch != NULL;
    if (batch)
        batch->last = -1;
    for (size_t begin = 0; ok && begin < n; begin += BATCH) {
        batch->n = n - begin < BATCH ? n - begin : BATCH;
        prepare(batch, v, merges + begin);
        find_candidates(batch, v);
        ok = confirm(batch, v, merges + begin, bpe, err);
        batch->last = batch->lookups[batch->n - 1][2].id;
        ok = ok && insert(batch, bpe, merges, lenient, begin, err);
    }
    rmli_free(batch);
    return ok;
}
