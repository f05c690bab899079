/*
 * The packed blocks of the quantised types, bit by bit, and what value each
 * element has.
 *
 * The formats are those of GGUF files (ggml's quantised types). A row is a
 * sequence of blocks of 32 or 256 consecutive elements. Integers are
 * little-endian; d, m and dmin are f16. Every structure has alignment 2 and
 * no padding, so a row in a file can be read through a pointer to it.
 *
 * Evaluation order. A block gives each element an integer q (unsigned bits,
 * or those minus an offset, or a codebook entry) and, for the types with
 * 256 elements, integers sc and m for each sub-block. The f32 value is
 *
 *     Q4_0 Q5_0 Q8_0 IQ4_NL       d * q
 *     Q4_1 Q5_1                   (d * q) + m
 *     Q3_K Q6_K IQ4_XS            (d * sc) * q
 *     Q2_K Q4_K Q5_K              ((d * sc) * q) - (dmin * m)
 *
 * with d, m and dmin converted to f32 first and every operation rounded to
 * f32 by itself: no fma, no reassociation. It is the order of ggml's
 * dequantisation and of the `gguf` Python package, so three implementations
 * agree to the last bit.
 *
 * In the diagrams a byte is drawn from its highest bit to its lowest; "q5"
 * is element 5 of the block and "q5.4" its bit 4.
 */
#ifndef RML_TENSOR_BLOCKS_H
#define RML_TENSOR_BLOCKS_H

#include <assert.h>
#include <stdint.h>

/* ---- Blocks of 32 -------------------------------------------------------- */

/*
 * Q4_0, 4.5 bits an element:  q = nibble - 8
 *
 *     qs[j]    7654 3210        low nibble: element j, high: element j + 16
 *              q(j+16) q(j)
 */
struct rmli_block_q4_0 {
    uint16_t d;
    uint8_t qs[16];
};
static_assert(sizeof(struct rmli_block_q4_0) == 18, "Q4_0 block");

/* Q4_1, 5 bits:  q = nibble, laid out as in Q4_0. */
struct rmli_block_q4_1 {
    uint16_t d;
    uint16_t m;
    uint8_t qs[16];
};
static_assert(sizeof(struct rmli_block_q4_1) == 20, "Q4_1 block");

/*
 * Q5_0, 5.5 bits:  q = (nibble | fifth bit << 4) - 16
 *
 *     qh as a 32-bit number:  bit j is q(j).4
 *     qs as in Q4_0:          the four lower bits
 */
struct rmli_block_q5_0 {
    uint16_t d;
    uint8_t qh[4];
    uint8_t qs[16];
};
static_assert(sizeof(struct rmli_block_q5_0) == 22, "Q5_0 block");

/* Q5_1, 6 bits:  q = nibble | fifth bit << 4, laid out as in Q5_0. */
struct rmli_block_q5_1 {
    uint16_t d;
    uint16_t m;
    uint8_t qh[4];
    uint8_t qs[16];
};
static_assert(sizeof(struct rmli_block_q5_1) == 24, "Q5_1 block");

/* Q8_0, 8.5 bits:  q = qs[j], two's complement (a file may hold -128). */
struct rmli_block_q8_0 {
    uint16_t d;
    int8_t qs[32];
};
static_assert(sizeof(struct rmli_block_q8_0) == 34, "Q8_0 block");

/* IQ4_NL, 4.5 bits:  q = codebook[nibble], laid out as Q4_0. */
struct rmli_block_iq4_nl {
    uint16_t d;
    uint8_t qs[16];
};
static_assert(sizeof(struct rmli_block_iq4_nl) == 18, "IQ4_NL block");

/* The codebook of IQ4_NL and IQ4_XS, as an initialiser of sixteen int8_t. */
#define RMLI_IQ4_CODEBOOK -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113

/* ---- Blocks of 256 -------------------------------------------------------- */

/*
 * Q2_K, 2.625 bits:  16 sub-blocks of 16,  q in 0 .. 3
 *
 *     scales[i]      7654 3210         sub-block i: sc low, m high
 *                    m    sc
 *     qs[32h + l]    76 54 32 10       h = 0, 1 (halves of 128), l = 0 .. 31
 *                    l+96 l+64 l+32 l+0    elements 128h + ...
 */
struct rmli_block_q2_k {
    uint8_t scales[16];
    uint8_t qs[64];
    uint16_t d;
    uint16_t dmin;
};
static_assert(sizeof(struct rmli_block_q2_k) == 84, "Q2_K block");

/*
 * Q3_K, 3.4375 bits:  16 sub-blocks of 16,  q = (two bits | third << 2) - 4,
 * sc = six bits - 32
 *
 *     qs             the two low bits, laid out as in Q2_K
 *     hmask[l]       bit b: third bit of element 32b + l,  l = 0 .. 31
 *     scales[i]      i = 0 .. 7:  low nibble sc(i).3-0, high nibble sc(i+8).3-0
 *     scales[8 + i]  76 54 32 10       i = 0 .. 3
 *                    sc(i+12) sc(i+8) sc(i+4) sc(i): bits 5-4 of each
 */
struct rmli_block_q3_k {
    uint8_t hmask[32];
    uint8_t qs[64];
    uint8_t scales[12];
    uint16_t d;
};
static_assert(sizeof(struct rmli_block_q3_k) == 110, "Q3_K block");

/*
 * Q4_K, 4.5 bits:  8 sub-blocks of 32,  q in 0 .. 15, sc and m of six bits
 *
 *     qs[32p + l]    7654 3210         p = 0 .. 3, l = 0 .. 31
 *                    64p+32+l  64p+l   sub-block 2p low, 2p + 1 high
 *     scales[i]      76 543210         i = 0 .. 3:  sc(i+4).5-4, sc(i)
 *     scales[4 + i]  76 543210                      m(i+4).5-4,  m(i)
 *     scales[8 + i]  7654 3210                      m(i+4).3-0,  sc(i+4).3-0
 */
struct rmli_block_q4_k {
    uint16_t d;
    uint16_t dmin;
    uint8_t scales[12];
    uint8_t qs[128];
};
static_assert(sizeof(struct rmli_block_q4_k) == 144, "Q4_K block");

/*
 * Q5_K, 5.5 bits:  Q4_K with a fifth bit,  q in 0 .. 31
 *
 *     qh[l]          bit b: q.4 of element 32b + l,  l = 0 .. 31
 */
struct rmli_block_q5_k {
    uint16_t d;
    uint16_t dmin;
    uint8_t scales[12];
    uint8_t qh[32];
    uint8_t qs[128];
};
static_assert(sizeof(struct rmli_block_q5_k) == 176, "Q5_K block");

/*
 * Q6_K, 6.5625 bits:  16 sub-blocks of 16,  q = six bits - 32, sc = int8
 *
 *     in each half h of 128 elements, l = 0 .. 31:
 *     ql[64h + l]       7654 3210      l+64, l+0:   bits 3-0 of each
 *     ql[64h + 32 + l]  7654 3210      l+96, l+32:  bits 3-0
 *     qh[32h + l]       76 54 32 10    l+96, l+64, l+32, l+0:  bits 5-4
 */
struct rmli_block_q6_k {
    uint8_t ql[128];
    uint8_t qh[64];
    int8_t scales[16];
    uint16_t d;
};
static_assert(sizeof(struct rmli_block_q6_k) == 210, "Q6_K block");

/*
 * IQ4_XS, 4.25 bits:  8 sub-blocks of 32,  q = codebook[nibble],
 * sc = six bits - 32
 *
 *     qs[16b + j]       7654 3210      32b+16+j, 32b+j   (b = sub-block)
 *     scales_l[i]       7654 3210      sc(2i+1).3-0, sc(2i).3-0
 *     scales_h          bits 2b+1, 2b: sc(b).5-4
 */
struct rmli_block_iq4_xs {
    uint16_t d;
    uint16_t scales_h;
    uint8_t scales_l[4];
    uint8_t qs[128];
};
static_assert(sizeof(struct rmli_block_iq4_xs) == 136, "IQ4_XS block");

#endif
