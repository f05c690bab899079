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

#include "base/utf8.h"

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
#define RMLI_UC_WORD RMLI_UC_BIT(33)        /* \w of patterns, outside of brackets */
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
/* More of what patterns name: a script, and POSIX classes as Oniguruma extends them. */
#define RMLI_UC_HAN RMLI_UC_BIT(40)
#define RMLI_UC_ALPHA RMLI_UC_BIT(41)
#define RMLI_UC_UPPERCASE RMLI_UC_BIT(42)
#define RMLI_UC_LOWERCASE RMLI_UC_BIT(43)
#define RMLI_UC_PUNCT RMLI_UC_BIT(44)
#define RMLI_UC_GRAPH RMLI_UC_BIT(45)
/* \w in brackets, where Oniguruma looks it up elsewhere: without U+00BD and its like. */
#define RMLI_UC_LISTED_WORD RMLI_UC_BIT(46)

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

#endif
