/*
 * What the score and value kernels for AVX2 share: reading cached rows eight
 * elements at a time, and prefetching what comes next. Include only from files
 * compiled for AVX2, FMA and F16C. head_dim is a multiple of 8 throughout.
 */
#ifndef RML_KERNELS_X86_ATTENTION_ROWS_AVX2_H
#define RML_KERNELS_X86_ATTENTION_ROWS_AVX2_H

#include <string.h>

#include "kernels/kernels.h"
#include "kernels/x86/lanes_avx2.h"

/* Entries of the table in attention_avx2.c. */
void rmli_scores_f32_avx2(const struct rmli_attention_tile *t, const uint8_t *keys, size_t nbytes);
void rmli_scores_f16_avx2(const struct rmli_attention_tile *t, const uint8_t *keys, size_t nbytes);
void rmli_scores_i8_avx2(const struct rmli_attention_tile *t, const uint8_t *keys, size_t nbytes);
void rmli_values_f32_avx2(const struct rmli_attention_tile *t, const uint8_t *rows, size_t nbytes);
void rmli_values_f16_avx2(const struct rmli_attention_tile *t, const uint8_t *rows, size_t nbytes);
void rmli_values_i8_avx2(const struct rmli_attention_tile *t, const uint8_t *rows, size_t nbytes);

/* Keys or values [begin, end) of a block. */
struct span {
    size_t begin, end;
};

/* What any of the rows sees. */
static inline struct span seen_by_any(const struct rmli_attention_tile *t)
{
    struct span span = {RMLI_ATTENTION_BLOCK, 0};
    for (size_t r = 0; r < t->n_rows; r++) {
        span.begin = t->first[r] < span.begin ? t->first[r] : span.begin;
        span.end = t->last[r] > span.end ? t->last[r] : span.end;
    }
    return span;
}

/* ---- Reading rows --------------------------------------------------------------- */

/* The elements from a place in a row on, in f32; of an i8 row without its scale. */
typedef __m256 load_fn(const uint8_t *elements, size_t d);

RMLI_INLINE __m256 load_f32(const uint8_t *elements, size_t d)
{
    return _mm256_loadu_ps((const float *)(const void *)elements + d);
}

RMLI_INLINE __m256 load_f16(const uint8_t *elements, size_t d)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(elements + 2 * d)));
}

RMLI_INLINE __m256 load_i8(const uint8_t *elements, size_t d)
{
    __m128i q = _mm_loadl_epi64((const __m128i *)(const void *)(elements + d));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q));
}

/* Bytes of scales in front of the elements of an i8 row. */
static inline size_t scales_nbytes(size_t head_dim)
{
    return head_dim / rmli_kv_group(head_dim) * sizeof(float);
}

/* Eight query elements in a register. Without the asm gcc loads them again for each
 * product that takes them, and loads become the bottleneck. */
RMLI_INLINE __m256 load_once(const float *p)
{
    __m256 v = _mm256_loadu_ps(p);
    __asm__("" : "+x"(v));
    return v;
}

/* ---- Prefetching ------------------------------------------------------------------ */

/* A stretch of memory that is prefetched a little at each step of a kernel: decode
 * reads the cache once, from DRAM. */
struct prefetch {
    const uint8_t *at;
    size_t step_nbytes;
};

/* Over n_steps steps; where there is nothing to prefetch, of memory in the cache. */
static inline struct prefetch spread(const struct rmli_attention_tile *t, size_t n_steps)
{
    if (t->next_nbytes == 0 || n_steps == 0)
        return (struct prefetch){(const uint8_t *)t->out, 0};
    return (struct prefetch){t->next, (t->next_nbytes + n_steps - 1) / n_steps};
}

RMLI_INLINE void prefetch_step(struct prefetch *p)
{
    _mm_prefetch((const char *)p->at, _MM_HINT_T0);
    p->at += p->step_nbytes;
}

#endif
