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
 * The hash table is open addressing over slots of (upper hash bits, id + 1); a slot that
 * fits is confirmed by comparing bytes.
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

struct rmli_vocabulary {
    size_t n; /* largest id + 1 */
    bool bytelevel;
    struct rmli_strings text, keys, pieces; /* keys.data may be text.data */
    uint8_t *kinds;                         /* [n] enum rml_token_kind */
    uint8_t *in_model;                      /* [n] 1: the model may produce it */
    float *scores;                          /* [n], or NULL */

    /* Tokens that decode as another text than theirs (added tokens, normalised), by id. */
    struct rmli_text_override {
        int32_t id;
        uint32_t nbytes;
        bool is_special; /* that text is a special token's */
        char *text;      /* owned */
    } * overrides;
    size_t n_overrides, overrides_capacity;

    uint64_t *slots; /* hash table of keys of tokens that are in the model */
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

/* A hash of n bytes, in the manner of wyhash: each multiplication folds 16 bytes, and
 * overlapping loads take the tail. */
static inline uint64_t rmli_hash(const char *p, size_t n)
{
    const uint64_t k0 = 0xa0761d6478bd642f, k1 = 0xe7037ed1a0b428db;
    uint64_t seed = k0 ^ n, a, b;
    if (n <= 16) {
        if (n >= 8) {
            a = rmli_load64(p);
            b = rmli_load64(p + n - 8);
        } else if (n >= 4) {
            a = rmli_load32(p);
            b = rmli_load32(p + n - 4);
        } else if (n > 0) {
            a = (uint64_t)(uint8_t)p[0] << 16 | (uint64_t)(uint8_t)p[n >> 1] << 8 |
                (uint8_t)p[n - 1];
            b = 0;
        } else {
            a = b = 0;
        }
        return rmli_mix(k1 ^ n, rmli_mix(a ^ k1, b ^ seed));
    }
    size_t left = n;
    const char *q = p;
    for (; left > 16; left -= 16, q += 16)
        seed = rmli_mix(rmli_load64(q) ^ k1, rmli_load64(q + 8) ^ seed);
    a = rmli_load64(p + n - 16);
    b = rmli_load64(p + n - 8);
    return rmli_mix(k1 ^ n, rmli_mix(a ^ k1, b ^ seed));
}

static inline const char *rmli_strings_get(const struct rmli_strings *s, size_t i, size_t *nbytes)
{
    *nbytes = s->offsets[i + 1] - s->offsets[i];
    return s->data + s->offsets[i];
}

static inline int32_t rmli_vocabulary_find_hashed(const struct rmli_vocabulary *v, const char *key,
                                                  size_t nbytes, uint64_t hash)
{
    uint32_t fingerprint = (uint32_t)(hash >> 32);
    for (size_t i = hash & v->slot_mask;; i = (i + 1) & v->slot_mask) {
        uint64_t slot = v->slots[i];
        if (slot == 0)
            return -1;
        if ((uint32_t)(slot >> 32) != fingerprint)
            continue;
        uint32_t id = (uint32_t)slot - 1;
        uint32_t offset = v->keys.offsets[id];
        if (v->keys.offsets[id + 1] - offset == nbytes &&
            rmli_equal_bytes(v->keys.data + offset, key, nbytes))
            return (int32_t)id;
    }
}

/* The model's token with that key, or -1. */
static inline int32_t rmli_vocabulary_find(const struct rmli_vocabulary *v, const char *key,
                                           size_t nbytes)
{
    return rmli_vocabulary_find_hashed(v, key, nbytes, rmli_hash(key, nbytes));
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
