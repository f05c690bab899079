/*
 * Building the vocabulary.
 */
#include "text/vocabulary.h"

#include "text/tokenizer_private.h"
#include "text/unicode.h"

uint32_t rmli_bytelevel_code_point(uint8_t byte)
{
    if (rmli_bytelevel_is_itself(byte))
        return byte;
    if (byte <= 0x20)
        return 0x100u + byte;
    if (byte <= 0xa0) /* 0x7f to 0xa0 follow the 33 below 0x21 */
        return 0x121u + (byte - 0x7fu);
    return 0x143; /* 0xad */
}

static bool strings_init(struct rmli_strings *s, size_t n, size_t nbytes, struct rml_error *err)
{
    if (nbytes > UINT32_MAX)
        return rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                         "the vocabulary's strings have %zu bytes, expected less than 2^32",
                         nbytes);
    s->data = rmli_alloc_table(nbytes + 1, 1, err);
    s->offsets = rmli_alloc_table(n + 1, sizeof *s->offsets, err);
    return s->data && s->offsets;
}

int64_t rmli_bytelevel_bytes(const char *text, size_t nbytes, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < nbytes; i++) {
        uint8_t c = (uint8_t)text[i];
        if (c <= ' ' || c >= 0x7f) {
            /* All others of the alphabet are U+00A1 to U+0143, of two bytes. */
            if (c < 0xc2 || c > 0xc5 || i + 1 == nbytes || ((uint8_t)text[i + 1] & 0xc0) != 0x80)
                return -1;
            int byte = rmli_bytelevel_byte((uint32_t)(c & 31) << 6 | ((uint8_t)text[++i] & 63));
            if (byte < 0)
                return -1;
            c = (uint8_t)byte;
        }
        out[n++] = (char)c;
    }
    return (int64_t)n;
}

static void insert(struct rmli_vocabulary *v, size_t id, const struct rmli_packed_key *k)
{
    size_t nbytes;
    const char *key = rmli_strings_get(&v->keys, id, &nbytes);
    size_t i = k->hash & v->slot_mask;
    for (; v->slots[i].id_plus_1 != 0; i = (i + 1) & v->slot_mask) {
        if (rmli_slot_fits(&v->slots[i], k) && rmli_slot_is(v, &v->slots[i], key, nbytes)) {
            v->has_equal_keys = true;
            break;
        }
    }
    v->slots[i] = (struct rmli_slot){k->low, k->high, (uint32_t)id + 1};
}

/* Slots lie all over the table: they are fetched ahead, a batch at a time. */
static void insert_all(struct rmli_vocabulary *v)
{
    enum { BATCH = 64 };
    struct rmli_packed_key packed[BATCH];
    for (size_t begin = 0; begin < v->n; begin += BATCH) {
        size_t end = v->n - begin < BATCH ? v->n : begin + BATCH, nbytes;
        for (size_t id = begin; id < end; id++) {
            const char *key = rmli_strings_get(&v->keys, id, &nbytes);
            packed[id - begin] = rmli_pack_key(key, nbytes);
            __builtin_prefetch(&v->slots[packed[id - begin].hash & v->slot_mask], 1);
        }
        for (size_t id = begin; id < end; id++)
            if (v->in_model[id])
                insert(v, id, &packed[id - begin]);
    }
}

static const struct rmli_token_entry no_entry = {.kind = RML_TOKEN_UNUSED};

/* The entry of an id. by_id is NULL when each entry's place is its id. */
static const struct rmli_token_entry *entry_of(const struct rmli_token_entry *entries,
                                               const uint32_t *by_id, size_t id)
{
    if (!by_id)
        return &entries[id];
    return by_id[id] ? &entries[by_id[id] - 1] : &no_entry;
}

static bool fill_text(struct rmli_vocabulary *v, const struct rmli_token_entry *entries,
                      const uint32_t *by_id, struct rml_error *err)
{
    size_t total_nbytes = 0, offset = 0;
    for (size_t id = 0; id < v->n; id++)
        total_nbytes += entry_of(entries, by_id, id)->nbytes;
    if (!strings_init(&v->text, v->n, total_nbytes, err))
        return false;
    for (size_t id = 0; id < v->n; id++) {
        const struct rmli_token_entry *e = entry_of(entries, by_id, id);
        v->text.offsets[id] = (uint32_t)offset;
        v->kinds[id] = e->kind;
        v->in_model[id] = e->in_model;
        if (v->scores)
            v->scores[id] = e->score;
        if (e->nbytes > 0)
            memcpy(v->text.data + offset, e->text, e->nbytes);
        offset += e->nbytes;
    }
    v->text.offsets[v->n] = (uint32_t)offset;
    return true;
}

static bool fill_keys(struct rmli_vocabulary *v, struct rml_error *err)
{
    if (!v->bytelevel) {
        v->keys = v->text;
    } else {
        if (!strings_init(&v->keys, v->n, v->text.offsets[v->n], err))
            return false;
        size_t offset = 0;
        for (size_t id = 0; id < v->n; id++) {
            size_t nbytes;
            const char *text = rmli_strings_get(&v->text, id, &nbytes);
            int64_t n = rmli_bytelevel_bytes(text, nbytes, v->keys.data + offset);
            v->keys.offsets[id] = (uint32_t)offset;
            /* With a character outside the alphabet the model can never produce it, and it
             * decodes as itself. */
            if (n < 0) {
                if (!rmli_tokenizer_is_well_formed(text, nbytes))
                    return rmli_fail(err, RML_FORMAT, NULL, -1, "token %zu is not UTF-8", id);
                memcpy(v->keys.data + offset, text, nbytes);
                v->in_model[id] = 0;
            }
            offset += n < 0 ? nbytes : (size_t)n;
        }
        v->keys.offsets[v->n] = (uint32_t)offset;
    }
    size_t n_slots = 16;
    while (n_slots < v->n * 2)
        n_slots *= 2;
    v->slots = rmli_alloc_table(n_slots, sizeof *v->slots, err);
    if (!v->slots)
        return false;
    v->slot_mask = n_slots - 1;
    insert_all(v);
    return true;
}

static bool is_same_text(const struct rmli_token_entry *a, const struct rmli_token_entry *b)
{
    return a->nbytes == b->nbytes && (a->nbytes == 0 || memcmp(a->text, b->text, a->nbytes) == 0);
}

/* Of two texts with one id only one could be found again. */
static bool refuse_shared_id(const struct rmli_token_entry *a, const struct rmli_token_entry *b,
                             struct rml_error *err)
{
    return rmli_fail(err, RML_UNSUPPORTED, NULL, -1,
                     "tokens '%.*s' and '%.*s' have the same id %d, which is not supported",
                     a->nbytes < 100 ? (int)a->nbytes : 100, a->nbytes ? a->text : "",
                     b->nbytes < 100 ? (int)b->nbytes : 100, b->nbytes ? b->text : "", (int)a->id);
}

bool rmli_vocabulary_init(struct rmli_vocabulary *v, const struct rmli_token_entry *entries,
                          size_t n_entries, bool bytelevel, struct rml_error *err)
{
    *v = (struct rmli_vocabulary){.bytelevel = bytelevel};
    bool in_order = true;
    for (size_t i = 0; i < n_entries; i++) {
        if (entries[i].id < 0 || (size_t)entries[i].id >= RMLI_MAX_VOCABULARY)
            return rmli_fail(err, RML_FORMAT, NULL, -1, "a token has the id %d, expected 0 to %zu",
                             (int)entries[i].id, RMLI_MAX_VOCABULARY - 1);
        if ((size_t)entries[i].id >= v->n)
            v->n = (size_t)entries[i].id + 1;
        in_order = in_order && (size_t)entries[i].id == i;
    }
    /* Holes are seen in real files, a few hundred in a row. */
    if (v->n > 2 * n_entries + 65536)
        return rmli_fail(err, RML_FORMAT, NULL, -1,
                         "ids reach %zu with %zu tokens, expected ids without such holes", v->n - 1,
                         n_entries);
    uint32_t *by_id = in_order ? NULL : rmli_alloc_zeroed(v->n, sizeof *by_id, err);
    bool distinct = true;
    for (size_t i = 0; by_id && distinct && i < n_entries; i++) {
        uint32_t *place = &by_id[entries[i].id];
        distinct = *place == 0 || is_same_text(&entries[*place - 1], &entries[i]) ||
                   refuse_shared_id(&entries[*place - 1], &entries[i], err);
        *place = (uint32_t)i + 1;
    }
    v->kinds = rmli_alloc(v->n, 1, err);
    v->in_model = rmli_alloc(v->n, 1, err);
    v->scores = bytelevel ? NULL : rmli_alloc(v->n, sizeof *v->scores, err);
    bool ok = distinct && (in_order || by_id) && v->kinds && v->in_model &&
              (bytelevel || v->scores) && fill_text(v, entries, by_id, err) && fill_keys(v, err);
    rmli_free(by_id);
    return ok;
}

int64_t rmli_vocabulary_key(const struct rmli_vocabulary *v, const char *text, size_t nbytes,
                            char *out)
{
    if (v->bytelevel)
        return rmli_bytelevel_bytes(text, nbytes, out);
    memcpy(out, text, nbytes);
    return (int64_t)nbytes;
}

int32_t rmli_vocabulary_find_model_text(const struct rmli_vocabulary *v, const char *text,
                                        size_t nbytes)
{
    char key[1024];
    if (!v->bytelevel)
        return rmli_vocabulary_find(v, text, nbytes);
    if (nbytes > sizeof key)
        return -1;
    int64_t n = rmli_bytelevel_bytes(text, nbytes, key);
    return n < 0 ? -1 : rmli_vocabulary_find(v, key, (size_t)n);
}

int32_t rmli_vocabulary_find_text(const struct rmli_vocabulary *v, const char *text, size_t nbytes)
{
    int32_t found = rmli_vocabulary_find_model_text(v, text, nbytes);
    if (found >= 0)
        return found;
    /* What is not in the model: added tokens, few in number. */
    for (size_t id = 0; id < v->n; id++) {
        size_t other_nbytes;
        const char *other = rmli_strings_get(&v->text, id, &other_nbytes);
        if (other_nbytes == nbytes && v->kinds[id] != RML_TOKEN_UNUSED &&
            memcmp(other, text, nbytes) == 0)
            return (int32_t)id;
    }
    return -1;
}

void rmli_vocabulary_mark_bytes(struct rmli_vocabulary *v)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        char name[] = {'<', '0', 'x', "0123456789ABCDEF"[byte >> 4], "0123456789ABCDEF"[byte & 15],
                       '>'};
        int32_t id = rmli_vocabulary_find(v, name, sizeof name);
        if (id >= 0)
            v->kinds[id] = RML_TOKEN_BYTE;
    }
}

bool rmli_vocabulary_override(struct rmli_vocabulary *v, int32_t id, const char *text,
                              size_t nbytes, bool is_special, struct rml_error *err)
{
    char *copy = rmli_alloc(nbytes, 1, err);
    if (!copy || !rmli_reserve_one((void **)&v->overrides, v->n_overrides, &v->overrides_capacity,
                                   sizeof *v->overrides, err)) {
        rmli_free(copy);
        return false;
    }
    if (nbytes > 0)
        memcpy(copy, text, nbytes);
    size_t at = v->n_overrides++;
    for (; at > 0 && v->overrides[at - 1].id > id; at--)
        v->overrides[at] = v->overrides[at - 1];
    v->overrides[at] = (struct rmli_text_override){id, (uint32_t)nbytes, is_special, copy};
    return true;
}

static const struct rmli_text_override *find_override(const struct rmli_vocabulary *v, int32_t id)
{
    size_t low = 0, high = v->n_overrides;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (v->overrides[middle].id == id)
            return &v->overrides[middle];
        if (v->overrides[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const char *rmli_vocabulary_decoded_text(const struct rmli_vocabulary *v, int32_t id,
                                         size_t *nbytes)
{
    const struct rmli_text_override *found = find_override(v, id);
    if (!found)
        return rmli_strings_get(&v->text, (size_t)id, nbytes);
    *nbytes = found->nbytes;
    return found->text;
}

bool rmli_vocabulary_is_left_out(const struct rmli_vocabulary *v, int32_t id)
{
    enum rml_token_kind kind = (enum rml_token_kind)v->kinds[id];
    if (kind != RML_TOKEN_SPECIAL && kind != RML_TOKEN_ADDED)
        return false;
    const struct rmli_text_override *found = find_override(v, id);
    return found ? found->is_special : kind == RML_TOKEN_SPECIAL;
}

void rmli_vocabulary_release(struct rmli_vocabulary *v)
{
    for (size_t i = 0; i < v->n_overrides; i++)
        rmli_free(v->overrides[i].text);
    rmli_free(v->overrides);
    if (v->pieces.data != v->keys.data) {
        rmli_free(v->pieces.data);
        rmli_free(v->pieces.offsets);
    }
    if (v->keys.data != v->text.data) {
        rmli_free(v->keys.data);
        rmli_free(v->keys.offsets);
    }
    rmli_free(v->text.data);
    rmli_free(v->text.offsets);
    rmli_free(v->kinds);
    rmli_free(v->in_model);
    rmli_free(v->scores);
    rmli_free(v->slots);
    *v = (struct rmli_vocabulary){0};
}
