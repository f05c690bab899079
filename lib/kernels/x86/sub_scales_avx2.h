/*
 * The scales of quantised blocks: f16 fields, and the packed integers that the
 * types with 256 elements keep for each sub-block (diagrams in tensor/blocks.h).
 *
 * Sub-block integers come as i16: sixteen of them for sub-blocks of 16
 * elements, eight for sub-blocks of 32.
 */
#ifndef RML_KERNELS_X86_SUB_SCALES_AVX2_H
#define RML_KERNELS_X86_SUB_SCALES_AVX2_H

#include <string.h>

#include "kernels/x86/lanes_avx2.h"
#include "tensor/blocks.h"

RMLI_INLINE float f32_of_f16(uint16_t h)
{
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h)));
}

RMLI_INLINE uint16_t load_u16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

RMLI_INLINE uint32_t load_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

RMLI_INLINE uint64_t load_u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Eight f16 fields that are step bytes apart, as f32. */
RMLI_INLINE __m256 gather_f16_steps(const uint8_t *p, size_t step)
{
    __m128i v = _mm_cvtsi32_si128(load_u16(p));
    v = _mm_insert_epi16(v, load_u16(p + step), 1);
    v = _mm_insert_epi16(v, load_u16(p + 2 * step), 2);
    v = _mm_insert_epi16(v, load_u16(p + 3 * step), 3);
    v = _mm_insert_epi16(v, load_u16(p + 4 * step), 4);
    v = _mm_insert_epi16(v, load_u16(p + 5 * step), 5);
    v = _mm_insert_epi16(v, load_u16(p + 6 * step), 6);
    return _mm256_cvtph_ps(_mm_insert_epi16(v, load_u16(p + 7 * step), 7));
}

/* sc in the low four bits, m in the high four. */
RMLI_INLINE __m256i scales_q2_k(const struct rmli_block_q2_k *b)
{
    __m128i low = _mm_and_si128(_mm_loadu_si128((const __m128i *)b->scales), _mm_set1_epi8(15));
    return _mm256_cvtepu8_epi16(low);
}

RMLI_INLINE __m256i minima_q2_k(const struct rmli_block_q2_k *b)
{
    __m128i both = _mm_loadu_si128((const __m128i *)b->scales);
    return _mm256_cvtepu8_epi16(_mm_and_si128(_mm_srli_epi16(both, 4), _mm_set1_epi8(15)));
}

RMLI_INLINE __m256i scales_q3_k(const struct rmli_block_q3_k *b)
{
    const uint64_t nibble = 0x0f0f0f0f0f0f0f0f;
    const uint32_t two_bits = 0x03030303;
    uint64_t low = load_u64(b->scales);
    uint32_t high = load_u32(b->scales + 8);
    uint64_t first =
        (low & nibble) | (uint64_t)(high & two_bits) << 4 | (uint64_t)(high >> 2 & two_bits) << 36;
    uint64_t second = (low >> 4 & nibble) | (uint64_t)(high >> 4 & two_bits) << 4 |
                      (uint64_t)(high >> 6 & two_bits) << 36;
    __m128i six_bits = _mm_set_epi64x((long long)second, (long long)first);
    return _mm256_cvtepi8_epi16(_mm_sub_epi8(six_bits, _mm_set1_epi8(32)));
}

/* Q4_K and Q5_K: eight sc in the lower half, eight m in the upper. */
RMLI_INLINE __m256i scales_and_minima_q4_k(const uint8_t *scales)
{
    const uint32_t six_bits = 0x3f3f3f3f, nibble = 0x0f0f0f0f, upper_two = 0x30303030;
    uint32_t s = load_u32(scales), m = load_u32(scales + 4), high = load_u32(scales + 8);
    uint32_t s_high = (high & nibble) | (s >> 2 & upper_two);
    uint32_t m_high = (high >> 4 & nibble) | (m >> 2 & upper_two);
    return _mm256_cvtepu8_epi16(
        _mm_set_epi64x((long long)((uint64_t)m_high << 32 | (m & six_bits)),
                       (long long)((uint64_t)s_high << 32 | (s & six_bits))));
}

RMLI_INLINE __m256i scales_q6_k(const struct rmli_block_q6_k *b)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)b->scales));
}

RMLI_INLINE __m128i scales_iq4_xs(const struct rmli_block_iq4_xs *b)
{
    const __m256i by_4 = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    const __m256i by_2 = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
    __m256i low = _mm256_srlv_epi32(_mm256_set1_epi32((int)load_u32(b->scales_l)), by_4);
    __m256i high = _mm256_srlv_epi32(_mm256_set1_epi32(b->scales_h), by_2);
    __m256i sc =
        _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi32(15)),
                        _mm256_slli_epi32(_mm256_and_si256(high, _mm256_set1_epi32(3)), 4));
    sc = _mm256_sub_epi32(sc, _mm256_set1_epi32(32));
    return _mm_packs_epi32(_mm256_castsi256_si128(sc), _mm256_extracti128_si256(sc, 1));
}

/* ---- In one form --------------------------------------------------------- */

/* Sub-block integers, sixteen i16 each: for types with sub-blocks of 32 every
 * sub-block has two equal entries next to each other. */
struct sub_integers {
    __m256i sc;
    __m256i mn; /* for types with minima */
};
typedef void sub_integers_fn(struct sub_integers *s, const void *block);

/* Eight i16, each twice. */
RMLI_INLINE __m256i double_entries(__m128i v)
{
    return _mm256_set_m128i(_mm_unpackhi_epi16(v, v), _mm_unpacklo_epi16(v, v));
}

RMLI_INLINE void sub_integers_q2_k(struct sub_integers *s, const void *block)
{
    s->sc = scales_q2_k(block);
    s->mn = minima_q2_k(block);
}

RMLI_INLINE void sub_integers_q3_k(struct sub_integers *s, const void *block)
{
    s->sc = scales_q3_k(block);
}

RMLI_INLINE void sub_integers_q4_k(struct sub_integers *s, const void *block)
{
    __m256i both = scales_and_minima_q4_k(((const struct rmli_block_q4_k *)block)->scales);
    s->sc = double_entries(_mm256_castsi256_si128(both));
    s->mn = double_entries(_mm256_extracti128_si256(both, 1));
}

RMLI_INLINE void sub_integers_q5_k(struct sub_integers *s, const void *block)
{
    __m256i both = scales_and_minima_q4_k(((const struct rmli_block_q5_k *)block)->scales);
    s->sc = double_entries(_mm256_castsi256_si128(both));
    s->mn = double_entries(_mm256_extracti128_si256(both, 1));
}

RMLI_INLINE void sub_integers_q6_k(struct sub_integers *s, const void *block)
{
    s->sc = scales_q6_k(block);
}

RMLI_INLINE void sub_integers_iq4_xs(struct sub_integers *s, const void *block)
{
    s->sc = double_entries(scales_iq4_xs(block));
}

#endif
