/*
 * Attention kernels for AVX2, FMA and F16C: softmax, merging and storing, and the
 * table. Scores and values have files of their own.
 *
 * A head_dim that is not a multiple of 8 is left to the reference kernels wherever
 * that matters: no released model has one.
 */
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

#include "kernels/kv_rows.h"
#include "kernels/x86/attention_rows_avx2.h"
#include "kernels/x86/elementwise_avx2.h"

enum { BLOCK = RMLI_ATTENTION_BLOCK };

/* ---- Softmax ---------------------------------------------------------------- */

/* All bits set in the lanes of keys i to i + 7 that are in [first, last). */
static __m256 seen_lanes(size_t i, size_t first, size_t last)
{
    __m256i key =
        _mm256_add_epi32(_mm256_set1_epi32((int)i), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    __m256i not_below = _mm256_cmpgt_epi32(key, _mm256_set1_epi32((int)first - 1));
    __m256i below = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)last), key);
    return _mm256_castsi256_ps(_mm256_and_si256(not_below, below));
}

static float max_of_lanes(__m256 v)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

/* One row, whose keys [first, last) lie in groups of eight [begin, end). With
 * `masked` false the groups hold nothing else. */
RMLI_INLINE void softmax_row(float *weights, size_t first, size_t last, bool masked, float *max,
                             float *sum)
{
    const __m256 nothing = _mm256_set1_ps(-INFINITY);
    size_t begin = masked ? first / 8 * 8 : 0, end = masked ? last : BLOCK;
    __m256 lanes = nothing;
    for (size_t i = begin; i < end; i += 8) {
        __m256 x = _mm256_loadu_ps(weights + i);
        if (masked)
            x = _mm256_blendv_ps(nothing, x, seen_lanes(i, first, last));
        lanes = _mm256_max_ps(x, lanes); /* of NaN and m: m */
    }
    *max = max_of_lanes(lanes);
    __m256 shift = _mm256_set1_ps(*max == -INFINITY ? 0 : *max);
    lanes = _mm256_setzero_ps();
    for (size_t i = begin; i < end; i += 8) {
        __m256 y = rmli_exp_avx2(_mm256_sub_ps(_mm256_loadu_ps(weights + i), shift));
        if (masked)
            y = _mm256_and_ps(y, seen_lanes(i, first, last));
        _mm256_storeu_ps(weights + i, y);
        lanes = _mm256_add_ps(lanes, y); /* + 0 changes no lane: none is -0 */
    }
    *sum = _mm_cvtss_f32(fold_lanes_4(lanes, lanes, lanes, lanes));
}

static void softmax_avx2(const struct rmli_attention_tile *t)
{
    for (size_t r = 0; r < t->n_rows; r++) {
        float *weights = t->weights + r * BLOCK;
        if (t->first[r] == 0 && t->last[r] == BLOCK)
            softmax_row(weights, 0, BLOCK, false, &t->max[r], &t->sum[r]);
        else
            softmax_row(weights, t->first[r], t->last[r], true, &t->max[r], &t->sum[r]);
    }
}

/* ---- Merging and storing ------------------------------------------------------ */

static void merge_avx2(float *a_max, float *a_sum, float *a_out, float b_max, float b_sum,
                       const float *b_out, size_t head_dim)
{
    float max = b_max > *a_max ? b_max : *a_max;
    float shift = max == -INFINITY ? 0 : max;
    __m256 factors = rmli_exp_avx2(_mm256_setr_ps(*a_max - shift, b_max - shift, 0, 0, 0, 0, 0, 0));
    float a_factor = _mm256_cvtss_f32(factors);
    float b_factor = _mm_cvtss_f32(_mm_movehdup_ps(_mm256_castps256_ps128(factors)));
    *a_max = max;
    *a_sum = *a_sum * a_factor + b_sum * b_factor;
    float *restrict to = a_out;
    for (size_t d = 0; d < head_dim; d++)
        to[d] = to[d] * a_factor + b_out[d] * b_factor;
}

static void store_f16_avx2(void *row, const float *x, size_t head_dim)
{
    uint8_t *to = row;
    size_t d = 0;
    for (; d + 8 <= head_dim; d += 8) {
        __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(x + d), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)(void *)(to + 2 * d), half);
    }
    rmli_kv_store_f16(to + 2 * d, x + d, head_dim - d);
}

/* One group of 8, 16 or 32. */
static void quantize_group(float *scale, int8_t *q, const float *x, size_t n)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i bits = _mm256_setzero_si256(); /* as integers, NaN is above all */
    for (size_t i = 0; i < n; i += 8)
        bits = _mm256_max_epi32(
            bits, _mm256_and_si256(_mm256_castps_si256(_mm256_loadu_ps(x + i)), magnitude));
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
    m = _mm_max_epi32(m, _mm_unpackhi_epi64(m, m));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 1));
    float max = _mm_cvtss_f32(_mm_castsi128_ps(m));
    *scale = max < RMLI_KV_I8_TINY ? 0 : max / 127.0f;
    if (!(max >= RMLI_KV_I8_TINY && max < INFINITY)) {
        memset(q, 0, n);
        return;
    }
    __m256 inverse = _mm256_set1_ps(127.0f / max);
    for (size_t i = 0; i < n; i += 8) {
        __m256i v = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + i), inverse));
        __m128i w = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        _mm_storel_epi64((__m128i *)(void *)(q + i), _mm_packs_epi16(w, w));
    }
}

static void store_i8_avx2(void *row, const float *x, size_t head_dim)
{
    if (head_dim % 8 != 0) {
        rmli_kv_store_i8(row, x, head_dim);
        return;
    }
    size_t group = rmli_kv_group(head_dim), n_groups = head_dim / group;
    float *scales = row;
    int8_t *q = (int8_t *)(scales + n_groups);
    for (size_t g = 0; g < n_groups; g++)
        quantize_group(&scales[g], q + g * group, x + g * group, group);
}

const struct rmli_attention_kernels rmli_attention_avx2 = {
    .scores = {rmli_scores_f32_avx2, rmli_scores_f16_avx2, rmli_scores_i8_avx2},
    .softmax = softmax_avx2,
    .values = {rmli_values_f32_avx2, rmli_values_f16_avx2, rmli_values_i8_avx2},
    .merge = merge_avx2,
    .store = {rmli_kv_store_f32, store_f16_avx2, store_i8_avx2},
};
