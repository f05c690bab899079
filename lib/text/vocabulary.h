/*
 * The vocabulary: tokens by id, and ids by bytes.
 *
 * Every token has up to three faces, each a byte string in one block:
 *
 *     text     as the file writes it ("Ġthe", "▁the", "<0x0A>", "<|eot_id|>")
 *     key      what it matches in the text given to the model. In byte-level vocabularies,
 *              whose files write bytes as printable characters, the bytes themselves (" the");
 *              elsewhere equal to `text`. Only keys are in the hash table.
 *     piece    what it decodes to in the middle of a text
 *
 * The hash table is open addressing. A key of up to 11 bytes stands whole in its slot, so that
 * nearly every look-up reads one place that no cache holds, not three; of a longer key the slot has
 * the hash, and one that fits is confirmed by comparing bytes.
 */
#ifndef RML_TEXT_VOCABULARY_H
#define RML_TEXT_VOCABULARY_H

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "text/tokenizer.h"

/* n strings one after another; string i is data[offsets[i] .. offsets[i + 1]). */
struct rmli_strings {
    char *data;
    uint32_t *offsets; /* [n + 1] */
};

struct rmli_slot {
    uint64_t low; /* what rmli_pack_key makes of the key */
    uint32_t high;
    uint32_t id_plus_1; /* 0: empty */
};

struct rmli_vocabulary {
    size_t n; /* largest id + 1 */
    bool bytelevel;
    struct rmli_strings text, keys, pieces; /* keys may be text, pieces may be keys */
    uint8_t *kinds;                         /* [n] enum rml_token_kind */
    uint8_t *in_model;                      /* [n] 1: the model may produce it */
    float *scores;                          /* [n], or NULL: byte-level */

    /* Tokens that decode as another text than theirs (added tokens, normalised), by id. */
    struct rmli_text_override {
        int32_t id;
        uint32_t nbytes;
        bool is_special; /* that text is a special token's */
        char *text;      /* owned */
    } * overrides;
    size_t n_overrides, overrides_capacity;

    struct rmli_slot *slots; /* hash table of keys of tokens that are in the model */
    size_t slot_mask;
    bool has_equal_keys; /* of two such tokens; then only one of them can be found */
};

/* One token as a file lists it; text is borrowed until init returns. */
struct rmli_token_entry {
    const char *text;
    uint32_t nbytes;
    int32_t id;
    float score;
    uint8_t kind;     /* enum rml_token_kind */
    uint8_t in_model; /* else only an added token */
};

/* At most this many ids, and strings of 4 GB in total. */
#define RMLI_MAX_VOCABULARY ((size_t)1 << 24)

/* Ids may come in any order and leave holes (kind UNUSED, no text); of two
 * entries with one id the later stands, of two model tokens with one key the later is
 * found. Released by rmli_vocabulary_release, also after failure. */
bool rmli_vocabulary_init(struct rmli_vocabulary *v, const struct rmli_token_entry *entries,
                          size_t n_entries, bool bytelevel, struct rml_error *err);
void rmli_vocabulary_release(struct rmli_vocabulary *v);

/* Gives a token another text to decode as; best in ascending order of ids. */
bool rmli_vocabulary_override(struct rmli_vocabulary *v, int32_t id, const char *text,
                              size_t nbytes, bool is_special, struct rml_error *err);
/* Left out when special tokens are: the text that it decodes as is a special token's. */
bool rmli_vocabulary_is_left_out(const struct rmli_vocabulary *v, int32_t id);
/* The text that a token decodes as. */
const char *rmli_vocabulary_decoded_text(const struct rmli_vocabulary *v, int32_t id,
                                         size_t *nbytes);

/*
 * Byte-level vocabularies write the printable bytes of Latin-1 as themselves and the other 68
 * as U+0100 and up, in order (bytes_to_unicode of GPT-2's encoder.py).
 */
static inline bool rmli_bytelevel_is_itself(uint32_t byte)
{
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/* The byte that a character of a byte-level vocabulary stands for, or -1; and back. */
static inline int rmli_bytelevel_byte(uint32_t code_point)
{
    if (code_point < 0x100)
        return rmli_bytelevel_is_itself(code_point) ? (int)code_point : -1;
    if (code_point <= 0x120)
        return (int)(code_point - 0x100);
    if (code_point <= 0x142)
        return (int)(code_point - 0x121 + 0x7f);
    return code_point == 0x143 ? 0xad : -1;
}

uint32_t rmli_bytelevel_code_point(uint8_t byte);
/* The bytes that a token's text stands for into `out` (nbytes long); how many, or -1 when a character
 * stands for none, or is none: merges of a GGUF may be anything. */
int64_t rmli_bytelevel_bytes(const char *text, size_t nbytes, char *out);

static inline uint64_t rmli_load64(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static inline uint64_t rmli_load32(const char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* As memcmp(a, b, n) == 0, without a call for what nearly all tokens are long. */
static inline bool rmli_equal_bytes(const char *a, const char *b, size_t n)
{
    if (n >= 8 && n <= 16)
        return rmli_load64(a) == rmli_load64(b) && rmli_load64(a + n - 8) == rmli_load64(b + n - 8);
    if (n >= 4 && n < 8)
        return rmli_load32(a) == rmli_load32(b) && rmli_load32(a + n - 4) == rmli_load32(b + n - 4);
    if (n < 4)
        return n == 0 || (a[0] == b[0] && a[n >> 1] == b[n >> 1] && a[n - 1] == b[n - 1]);
    return memcmp(a, b, n) == 0;
}

static inline uint64_t rmli_mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#define RMLI_HASH_K0 0xa0761d6478bd642f
#define RMLI_HASH_K1 0xe7037ed1a0b428db

/* A hash of n > 8 bytes, in the manner of wyhash: each multiplication folds 16 bytes, and
 * overlapping loads take the tail. */
static inline uint64_t rmli_hash_long(const char *p, size_t n)
{
    uint64_t seed = RMLI_HASH_K0 ^ n;
    size_t left = n;
    const char *q = p, *last = n <= 16 ? p : p + n - 16;
    for (; left > 16; left -= 16, q += 16)
        seed = rmli_mix(rmli_load64(q) ^ RMLI_HASH_K1, rmli_load64(q + 8) ^ seed);
    uint64_t a = rmli_load64(last), b = rmli_load64(p + n - 8);
    return rmli_mix(RMLI_HASH_K1 ^ n, rmli_mix(a ^ RMLI_HASH_K1, b ^ seed));
}

/* A key as the table compares it: up to 11 bytes in order and their number in the uppermost byte,
 * which no longer key has; of that, the hash. */
#define RMLI_WHOLE_KEY_NBYTES 11
struct rmli_packed_key {
    uint64_t low, hash;
    uint32_t high;
};

static inline struct rmli_packed_key rmli_pack_key(const char *p, size_t n)
{
    struct rmli_packed_key k;
    if (n > RMLI_WHOLE_KEY_NBYTES) {
        k.low = k.hash = rmli_hash_long(p, n);
        k.high = 0xff000000 | ((uint32_t)n & 0xffffff);
        return k;
    }
    k.high = (uint32_t)n << 24;
    if (n >= 8) {
        k.low = rmli_load64(p);
        /* The last n - 8 bytes; by two shifts, as one of 64 bits is none. */
        k.high |= (uint32_t)(rmli_load64(p + n - 8) >> 8 >> (120 - 8 * n));
    } else if (n >= 4) {
        k.low = rmli_load32(p) | rmli_load32(p + n - 4) << (8 * (n - 4));
    } else if (n > 0) {
        k.low = (uint64_t)(uint8_t)p[0] | (uint64_t)(uint8_t)p[n >> 1] << (8 * (n >> 1)) |
                (uint64_t)(uint8_t)p[n - 1] << (8 * (n - 1));
    } else {
        k.low = 0;
    }
    k.hash = rmli_mix(k.low ^ RMLI_HASH_K1, k.high ^ RMLI_HASH_K0);
    return k;
}

static inline const char *rmli_strings_get(const struct rmli_strings *s, size_t i, size_t *nbytes)
{
    *nbytes = s->offsets[i + 1] - s->offsets[i];
    return s->data + s->offsets[i];
}

static inline bool rmli_slot_fits(const struct rmli_slot *slot, const struct rmli_packed_key *k)
{
    return slot->low == k->low && slot->high == k->high;
}

/* Whether the token of a slot that fits has that key. */
static inline bool rmli_slot_is(const struct rmli_vocabulary *v, const struct rmli_slot *slot,
                                const char *key, size_t nbytes)
{
    if (nbytes <= RMLI_WHOLE_KEY_NBYTES)
        return true;
    size_t other_nbytes;
    const char *other = rmli_strings_get(&v->keys, slot->id_plus_1 - 1, &other_nbytes);
    return other_nbytes == nbytes && rmli_equal_bytes(other, key, nbytes);
}

static inline int32_t rmli_vocabulary_find_packed(const struct rmli_vocabulary *v, const char *key,
                                                  size_t nbytes, const struct rmli_packed_key *k)
{
    for (size_t i = k->hash & v->slot_mask;; i = (i + 1) & v->slot_mask) {
        const struct rmli_slot *slot = &v->slots[i];
        if (slot->id_plus_1 == 0)
            return -1;
        if (rmli_slot_fits(slot, k) && rmli_slot_is(v, slot, key, nbytes))
            return (int32_t)slot->id_plus_1 - 1;
    }
}

/* The model's token with that key, or -1. */
static inline int32_t rmli_vocabulary_find(const struct rmli_vocabulary *v, const char *key,
                                           size_t nbytes)
{
    struct rmli_packed_key packed = rmli_pack_key(key, nbytes);
    return rmli_vocabulary_find_packed(v, key, nbytes, &packed);
}

/* The key of a text into `out` (nbytes long); its length, or -1 when no key can be so. */
int64_t rmli_vocabulary_key(const struct rmli_vocabulary *v, const char *text, size_t nbytes,
                            char *out);
/* The model's token with that text, or -1. */
int32_t rmli_vocabulary_find_model_text(const struct rmli_vocabulary *v, const char *text,
                                        size_t nbytes);
/* Gives the tokens "<0x00>" to "<0xFF>" their kind. */
void rmli_vocabulary_mark_bytes(struct rmli_vocabulary *v);

/* The token with that text, in the model or added; -1 when there is none. */
int32_t rmli_vocabulary_find_text(const struct rmli_vocabulary *v, const char *text, size_t nbytes);

#endif
