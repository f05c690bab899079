/*
 * What the tokenizers need to know of each code point.
 *
 * One generated table (unicode_table.c) answers for everything: general
 * categories, white space and the word and number classes of the reference
 * implementation, which draws on several Unicode versions at once. A property
 * set is one 64-bit mask, so that a character class of a pattern is a mask as
 * well and a test is an AND.
 *
 *     code point -> stage 1 [cp >> 8] -> stage 2 [block][cp & 255] -> record -> mask
 *
 * Text that reaches these functions is well-formed UTF-8: the tokenizer replaces
 * what is not before anything else looks at it.
 */
#ifndef RML_TEXT_UNICODE_H
#define RML_TEXT_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RMLI_UC_BIT(i) ((uint64_t)1 << (i))

/* General categories, in the order of unicode_table.py. */
enum {
    RMLI_GC_LU,
    RMLI_GC_LL,
    RMLI_GC_LT,
    RMLI_GC_LM,
    RMLI_GC_LO, /* clang-format off */
    RMLI_GC_MN, RMLI_GC_MC, RMLI_GC_ME, RMLI_GC_ND, RMLI_GC_NL, RMLI_GC_NO,
    RMLI_GC_PC, RMLI_GC_PD, RMLI_GC_PS, RMLI_GC_PE, RMLI_GC_PI, RMLI_GC_PF, RMLI_GC_PO,
    RMLI_GC_SM, RMLI_GC_SC, RMLI_GC_SK, RMLI_GC_SO, RMLI_GC_ZS, RMLI_GC_ZL, RMLI_GC_ZP,
    RMLI_GC_CC, RMLI_GC_CF, RMLI_GC_CS, RMLI_GC_CO, RMLI_GC_CN /* clang-format on */
};

#define RMLI_UC_L (RMLI_UC_BIT(5) - 1)
#define RMLI_UC_M (RMLI_UC_BIT(8) - RMLI_UC_BIT(5))
#define RMLI_UC_N (RMLI_UC_BIT(11) - RMLI_UC_BIT(8))
#define RMLI_UC_P (RMLI_UC_BIT(18) - RMLI_UC_BIT(11))
#define RMLI_UC_S (RMLI_UC_BIT(22) - RMLI_UC_BIT(18))
#define RMLI_UC_Z (RMLI_UC_BIT(25) - RMLI_UC_BIT(22))
#define RMLI_UC_C (RMLI_UC_BIT(30) - RMLI_UC_BIT(25))
/* [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and [\p{Ll}\p{Lm}\p{Lo}\p{M}] */
#define RMLI_UC_UPPER (RMLI_UC_L - RMLI_UC_BIT(RMLI_GC_LL) + RMLI_UC_M)
#define RMLI_UC_LOWER (RMLI_UC_L - RMLI_UC_BIT(RMLI_GC_LU) - RMLI_UC_BIT(RMLI_GC_LT) + RMLI_UC_M)

#define RMLI_UC_SPACE RMLI_UC_BIT(32)       /* \s, White_Space */
#define RMLI_UC_WORD RMLI_UC_BIT(33)        /* \w of patterns */
#define RMLI_UC_PLAIN_WORD RMLI_UC_BIT(34)  /* \w of the Whitespace pre-tokenizer, added tokens */
#define RMLI_UC_NUMERIC RMLI_UC_BIT(35)     /* the Digits pre-tokenizer */
#define RMLI_UC_PUNCTUATION RMLI_UC_BIT(36) /* the Punctuation pre-tokenizer */
#define RMLI_UC_INERT                                                                              \
    RMLI_UC_BIT(37) /* never changed by normalisation, whatever the library
                                               says: unassigned in the reference's Unicode version */
#define RMLI_UC_UNSTABLE                                                                           \
    RMLI_UC_BIT(38)                          /* may change, or combine with its neighbour, in some
                                               normalisation form: not a starter that stays as it is
                                               in all four */
#define RMLI_UC_UNSTABLE_NFC RMLI_UC_BIT(39) /* the same for NFC alone */

extern const uint16_t rmli_unicode_stage1[0x1100];
extern const uint8_t rmli_unicode_stage2[];
extern const uint64_t rmli_unicode_records[];
extern const uint64_t rmli_unicode_ascii[128];

static inline uint64_t rmli_unicode_mask(uint32_t code_point)
{
    if (code_point < 128)
        return rmli_unicode_ascii[code_point];
    size_t block = rmli_unicode_stage1[code_point >> 8];
    return rmli_unicode_records[rmli_unicode_stage2[block << 8 | (code_point & 255)]];
}

/* Lower case, at most 3 code points; the number of them. */
size_t rmli_unicode_lowercase(uint32_t code_point, uint32_t out[3]);

struct rmli_unicode_lower {
    uint32_t code_point, lower[2]; /* lower[1] is 0 when there is only one */
};
extern const struct rmli_unicode_lower rmli_unicode_lower[];
extern const size_t rmli_unicode_n_lower;
extern const char rmli_unicode_version[];

/* The code point at p, which begins a well-formed sequence; *nbytes is its length. */
static inline uint32_t rmli_utf8_decode(const char *s, size_t *nbytes)
{
    const uint8_t *p = (const uint8_t *)s;
    if (p[0] < 0x80) {
        *nbytes = 1;
        return p[0];
    }
    if (p[0] < 0xe0) {
        *nbytes = 2;
        return (uint32_t)(p[0] & 31) << 6 | (p[1] & 63);
    }
    if (p[0] < 0xf0) {
        *nbytes = 3;
        return (uint32_t)(p[0] & 15) << 12 | (uint32_t)(p[1] & 63) << 6 | (p[2] & 63);
    }
    *nbytes = 4;
    return (uint32_t)(p[0] & 7) << 18 | (uint32_t)(p[1] & 63) << 12 | (uint32_t)(p[2] & 63) << 6 |
           (p[3] & 63);
}

/* Bytes of the sequence that begins with this byte. */
static inline size_t rmli_utf8_length(char first)
{
    uint8_t byte = (uint8_t)first;
    return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/* The start of the code point that ends before `end`, not before `begin`. */
static inline size_t rmli_utf8_previous(const char *s, size_t begin, size_t end)
{
    do
        end--;
    while (end > begin && ((uint8_t)s[end] & 0xc0) == 0x80);
    return end;
}

static inline size_t rmli_utf8_encode(uint32_t code_point, char *out)
{
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (char)(0xc0 | code_point >> 6);
        out[1] = (char)(0x80 | (code_point & 63));
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (char)(0xe0 | code_point >> 12);
        out[1] = (char)(0x80 | (code_point >> 6 & 63));
        out[2] = (char)(0x80 | (code_point & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | code_point >> 18);
    out[1] = (char)(0x80 | (code_point >> 12 & 63));
    out[2] = (char)(0x80 | (code_point >> 6 & 63));
    out[3] = (char)(0x80 | (code_point & 63));
    return 4;
}

#endif
