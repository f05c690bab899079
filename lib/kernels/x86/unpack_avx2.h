/*
 * The integers of quantised blocks, 32 elements at a time, in order of k.
 *
 * unpack_<dtype>(block, i) gives elements 32 i .. 32 i + 31 of a block as
 * bytes: unsigned for the types whose stored bits are unsigned (the offset that
 * makes Q4_0, Q5_0, Q3_K and Q6_K signed is left to the caller), signed for
 * Q8_0 and the codebook types. The diagrams are in tensor/blocks.h. Nothing is
 * read outside the block.
 */
#ifndef RML_KERNELS_X86_UNPACK_AVX2_H
#define RML_KERNELS_X86_UNPACK_AVX2_H

#include <string.h>

#include "kernels/x86/lanes_avx2.h"
#include "tensor/blocks.h"

/* What is to be subtracted from the unpacked bytes to get q. */
enum { OFFSET_Q4_0 = 8, OFFSET_Q5_0 = 16, OFFSET_Q3_K = 4, OFFSET_Q6_K = 32 };

RMLI_INLINE __m256i load_32(const void *p)
{
    return _mm256_loadu_si256(p);
}

/* Sixteen bytes, in both halves. */
RMLI_INLINE __m256i load_16_twice(const void *p)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(p));
}

/* Bytes shifted right by n < 8 bits and masked; `mask` keeps what a byte still
 * owns after a shift of its 16-bit word. */
RMLI_INLINE __m256i shift_bytes(__m256i bytes, int n, int mask)
{
    return _mm256_and_si256(_mm256_srli_epi16(bytes, n), _mm256_set1_epi8((char)mask));
}

/* The low nibbles of 16 bytes, then the high ones. */
RMLI_INLINE __m256i nibbles_of_16(const uint8_t *qs)
{
    const __m256i shift = _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4);
    return _mm256_and_si256(_mm256_srlv_epi32(load_16_twice(qs), shift), _mm256_set1_epi8(15));
}

/* Byte i is `value` when bit i of the 32-bit number at p is set, else 0. */
RMLI_INLINE __m256i bits_to_bytes(const uint8_t *p, int value)
{
    int32_t bits;
    memcpy(&bits, p, sizeof bits);
    const __m256i spread =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201);
    __m256i own = _mm256_shuffle_epi8(_mm256_set1_epi32(bits), spread);
    __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(own, bit), bit);
    return _mm256_and_si256(set, _mm256_set1_epi8((char)value));
}

RMLI_INLINE __m256i codebook_values(__m256i nibbles)
{
    const __m256i codebook = _mm256_broadcastsi128_si256(_mm_setr_epi8(RMLI_IQ4_CODEBOOK));
    return _mm256_shuffle_epi8(codebook, nibbles);
}

RMLI_INLINE __m256i unpack_q4_0(const void *block, int i)
{
    (void)i;
    return nibbles_of_16(((const struct rmli_block_q4_0 *)block)->qs);
}

RMLI_INLINE __m256i unpack_q4_1(const void *block, int i)
{
    (void)i;
    return nibbles_of_16(((const struct rmli_block_q4_1 *)block)->qs);
}

RMLI_INLINE __m256i unpack_q5_0(const void *block, int i)
{
    const struct rmli_block_q5_0 *b = block;
    (void)i;
    return _mm256_or_si256(nibbles_of_16(b->qs), bits_to_bytes(b->qh, 16));
}

RMLI_INLINE __m256i unpack_q5_1(const void *block, int i)
{
    const struct rmli_block_q5_1 *b = block;
    (void)i;
    return _mm256_or_si256(nibbles_of_16(b->qs), bits_to_bytes(b->qh, 16));
}

RMLI_INLINE __m256i unpack_q8_0(const void *block, int i)
{
    (void)i;
    return load_32(((const struct rmli_block_q8_0 *)block)->qs);
}

RMLI_INLINE __m256i unpack_iq4_nl(const void *block, int i)
{
    (void)i;
    return codebook_values(nibbles_of_16(((const struct rmli_block_iq4_nl *)block)->qs));
}

RMLI_INLINE __m256i unpack_q2_k(const void *block, int i)
{
    const struct rmli_block_q2_k *b = block;
    return shift_bytes(load_32(b->qs + 32 * (i / 4)), 2 * (i % 4), 3);
}

RMLI_INLINE __m256i unpack_q3_k(const void *block, int i)
{
    const struct rmli_block_q3_k *b = block;
    __m256i low = shift_bytes(load_32(b->qs + 32 * (i / 4)), 2 * (i % 4), 3);
    __m256i high = shift_bytes(load_32(b->hmask), i, 1);
    return _mm256_or_si256(low, _mm256_slli_epi16(high, 2));
}

RMLI_INLINE __m256i unpack_q4_k(const void *block, int i)
{
    const struct rmli_block_q4_k *b = block;
    return shift_bytes(load_32(b->qs + 32 * (i / 2)), 4 * (i % 2), 15);
}

RMLI_INLINE __m256i unpack_q5_k(const void *block, int i)
{
    const struct rmli_block_q5_k *b = block;
    __m256i low = shift_bytes(load_32(b->qs + 32 * (i / 2)), 4 * (i % 2), 15);
    __m256i high = shift_bytes(load_32(b->qh), i, 1);
    return _mm256_or_si256(low, _mm256_slli_epi16(high, 4));
}

RMLI_INLINE __m256i unpack_q6_k(const void *block, int i)
{
    const struct rmli_block_q6_k *b = block;
    int half = i / 4, quarter = i % 4;
    __m256i low =
        shift_bytes(load_32(b->ql + 64 * half + 32 * (quarter % 2)), 4 * (quarter / 2), 15);
    __m256i high = shift_bytes(load_32(b->qh + 32 * half), 2 * quarter, 3);
    return _mm256_or_si256(low, _mm256_slli_epi16(high, 4));
}

RMLI_INLINE __m256i unpack_iq4_xs(const void *block, int i)
{
    const struct rmli_block_iq4_xs *b = block;
    return codebook_values(nibbles_of_16(b->qs + 16 * i));
}

#endif
