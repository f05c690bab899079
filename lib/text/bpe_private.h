/* What the two halves of byte-pair encoding share; nothing else includes it. */
#ifndef RML_TEXT_BPE_PRIVATE_H
#define RML_TEXT_BPE_PRIVATE_H

#include "text/bpe.h"

#define RMLI_NO_MERGE UINT32_MAX

/* Never 0, as ids are below 2^31. */
static inline uint64_t rmli_merge_key(int32_t left, int32_t right)
{
    return ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) + 1;
}

static inline size_t rmli_merge_hash(uint64_t key)
{
    uint64_t h = key * 0x9e3779b97f4a7c15;
    return (size_t)(h >> 32 ^ h >> 15);
}

/* ASCII as it is and U+2581, which stands for the space in SentencePiece vocabularies, as 127:
 * pairs of these have an exact table that stays in the first-level cache. */
static inline uint32_t rmli_small_code_point(uint32_t code_point)
{
    return code_point == 0x2581 ? 127 : code_point;
}

static inline size_t rmli_pair_hash(uint32_t left, uint32_t right)
{
    return (size_t)(((uint64_t)left * 0x9e3779b97f4a7c15 ^ (uint64_t)right * 0xc2b2ae3d27d4eb4f) >>
                    24);
}

/* False: no token has these two side by side. */
static inline bool rmli_may_touch(const struct rmli_bpe *bpe, uint32_t left, uint32_t right)
{
    uint32_t a = rmli_small_code_point(left), b = rmli_small_code_point(right);
    if (a < 128 && b < 128)
        return bpe->small_pairs[a * 2 + b / 64] >> (b & 63) & 1;
    size_t bit = rmli_pair_hash(left, right) & bpe->pair_mask;
    return bpe->pairs[bit / 64] >> (bit & 63) & 1;
}

#endif
