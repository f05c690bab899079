/*
 * Attention kernels for AVX2, FMA and F16C.
 *
 *     scores    2 keys x 4 query rows: each key is converted once for 4 rows and
 *               each 8 elements of a query serve 2 keys; 8 accumulators are folded
 *               together (fewer rows take more keys at once)
 *     values    4 rows x 16 dimensions over all keys of the block, accumulators
 *               in registers (fewer rows take more dimensions)
 *
 * With many rows (prefill) keys and values are first widened to f32 in a small
 * buffer on the stack, so that the conversion is paid once and not for every
 * four rows; the bits are the same. What is to be read next is prefetched all
 * along, a little at each step: decode reads the cache once, from DRAM.
 *
 * A head_dim that is not a multiple of 8 is left to the reference kernels: no
 * released model has one.
 */
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

#include "kernels/kv_rows.h"
#include "kernels/x86/elementwise_avx2.h"
#include "kernels/x86/lanes_avx2.h"

enum {
    BLOCK = RMLI_ATTENTION_BLOCK,
    /* From this many rows on, widening first is faster. */
    MANY_ROWS = 9,
    WIDE_KEYS = 8, /* keys widened at a time: 16 KB at the largest head_dim */
    WIDE_DIMS = 16 /* dimensions of all values widened at a time: 4 KB */
};

/* How a cached row is read: eight elements from d on, d a multiple of 8. */
struct row_format {
    size_t scales_nbytes; /* i8 */
    unsigned group_shift; /* i8: log2 of the group, 3 to 5 */
};
typedef __m256 load_fn(const uint8_t *row, size_t d, struct row_format format);

RMLI_INLINE __m256 load_f32(const uint8_t *row, size_t d, struct row_format format)
{
    (void)format;
    return _mm256_loadu_ps((const float *)(const void *)row + d);
}

RMLI_INLINE __m256 load_f16(const uint8_t *row, size_t d, struct row_format format)
{
    (void)format;
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(row + 2 * d)));
}

RMLI_INLINE __m256 load_i8(const uint8_t *row, size_t d, struct row_format format)
{
    const float *scales = (const float *)(const void *)row;
    __m128i q = _mm_loadl_epi64((const __m128i *)(const void *)(row + format.scales_nbytes + d));
    return _mm256_mul_ps(_mm256_broadcast_ss(scales + (d >> format.group_shift)),
                         _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q)));
}

static struct row_format format_of(size_t head_dim)
{
    size_t group = rmli_kv_group(head_dim);
    return (struct row_format){.scales_nbytes = head_dim / group * sizeof(float),
                               .group_shift = (unsigned)__builtin_ctzll(group)};
}

/* Prefetches a stretch of memory over many steps. */
struct prefetch {
    const uint8_t *at;
    size_t step_nbytes;
};

static struct prefetch spread(const struct rmli_attention_tile *t, size_t n_steps)
{
    if (t->next_nbytes == 0 || n_steps == 0)
        return (struct prefetch){(const uint8_t *)t->out, 0}; /* where a prefetch is cheap */
    return (struct prefetch){t->next, (t->next_nbytes + n_steps - 1) / n_steps};
}

RMLI_INLINE void prefetch_step(struct prefetch *p)
{
    _mm_prefetch((const char *)p->at, _MM_HINT_T0);
    p->at += p->step_nbytes;
}

/* Keys or values [begin, end) of the block that any of the rows sees. */
struct span {
    size_t begin, end;
};

static struct span seen_by_any(const struct rmli_attention_tile *t)
{
    struct span span = {BLOCK, 0};
    for (size_t r = 0; r < t->n_rows; r++) {
        span.begin = t->first[r] < span.begin ? t->first[r] : span.begin;
        span.end = t->last[r] > span.end ? t->last[r] : span.end;
    }
    return span;
}

/* ---- Scores ----------------------------------------------------------------- */

/* Where keys lie: the rows of the block, or those that were widened. */
struct key_rows {
    const uint8_t *base; /* of key `first` */
    size_t first, nbytes;
};

/*
 * Scores of n_rows query rows (from `row` on) with the keys of the span, n_keys
 * at a time, n_rows x n_keys <= 8. Begins at a multiple of n_keys, so that what
 * is written beyond the span stays in the rows' own weights; keys beyond it are
 * replaced by the nearest inside.
 */
RMLI_INLINE void score_rows(const struct rmli_attention_tile *t, size_t row, size_t n_rows,
                            size_t n_keys, struct key_rows keys, struct span span, load_fn *load,
                            struct row_format format, struct prefetch *prefetch)
{
    const __m128 scale = _mm_set1_ps(t->scale);
    const float *q[4];
    for (size_t r = 0; r < n_rows; r++)
        q[r] = t->q[row + r];
    float *weights = t->weights + row * BLOCK;
    for (size_t i = span.begin / n_keys * n_keys; i < span.end; i += n_keys) {
        const uint8_t *key[8];
        RMLI_UNROLL
        for (size_t k = 0; k < n_keys; k++) {
            size_t j = i + k < span.begin ? span.begin : i + k;
            j = j < span.end ? j : span.end - 1;
            key[k] = keys.base + (j - keys.first) * keys.nbytes;
        }
        __m256 acc[8];
        RMLI_UNROLL
        for (size_t a = 0; a < 8; a++)
            acc[a] = _mm256_setzero_ps();
        for (size_t d = 0; d < t->head_dim; d += 8) {
            __m256 x[8];
            prefetch_step(prefetch);
            RMLI_UNROLL
            for (size_t k = 0; k < n_keys; k++)
                x[k] = load(key[k], d, format);
            RMLI_UNROLL
            for (size_t r = 0; r < n_rows; r++) {
                __m256 y = _mm256_loadu_ps(q[r] + d);
                RMLI_UNROLL
                for (size_t k = 0; k < n_keys; k++)
                    acc[r * n_keys + k] = _mm256_fmadd_ps(y, x[k], acc[r * n_keys + k]);
            }
        }
        RMLI_UNROLL
        for (size_t a = 0; a < n_rows * n_keys; a += 4) {
            __m128 four = fold_lanes_4(acc[a], acc[a + 1], acc[a + 2], acc[a + 3]);
            float *to = weights + a / n_keys * BLOCK + i + a % n_keys;
            four = _mm_mul_ps(four, scale);
            if (n_keys >= 4) {
                _mm_storeu_ps(to, four);
            } else {
                _mm_storel_pi((__m64 *)(void *)to, four);
                if (a + 2 < n_rows * n_keys)
                    _mm_storeh_pi((__m64 *)(void *)(to + BLOCK), four);
            }
        }
    }
}

RMLI_INLINE void score_all_rows(const struct rmli_attention_tile *t, struct key_rows keys,
                                struct span span, load_fn *load, struct row_format format,
                                struct prefetch prefetch)
{
    size_t row = 0;
    for (; row + 4 <= t->n_rows; row += 4) {
        score_rows(t, row, 4, 2, keys, span, load, format, &prefetch);
        prefetch.step_nbytes = 0;
    }
    switch (t->n_rows - row) {
    case 3:
        score_rows(t, row, 3, 2, keys, span, load, format, &prefetch);
        break;
    case 2:
        score_rows(t, row, 2, 4, keys, span, load, format, &prefetch);
        break;
    case 1:
        score_rows(t, row, 1, 8, keys, span, load, format, &prefetch);
        break;
    default:
        break;
    }
}

/* Inner steps of the first pass over the keys, for spreading the prefetch. */
static size_t score_steps(const struct rmli_attention_tile *t, struct span span)
{
    size_t n_keys = t->n_rows >= 3 ? 2 : t->n_rows == 2 ? 4 : 8;
    return (span.end - span.begin + n_keys - 1) / n_keys * (t->head_dim / 8);
}

RMLI_INLINE void scores(const struct rmli_attention_tile *t, const uint8_t *keys, size_t key_nbytes,
                        enum rml_kv_dtype dtype, load_fn *load)
{
    if (t->head_dim % 8 != 0) {
        rmli_attention_ref.scores[dtype](t, keys, key_nbytes);
        return;
    }
    struct span span = seen_by_any(t);
    struct row_format format = format_of(t->head_dim);
    if (t->n_rows < MANY_ROWS || dtype == RML_KV_F32) {
        struct prefetch prefetch = spread(t, score_steps(t, span));
        score_all_rows(t, (struct key_rows){keys, 0, key_nbytes}, span, load, format, prefetch);
        return;
    }
    float wide[WIDE_KEYS][RMLI_MAX_HEAD_DIM];
    struct prefetch prefetch = spread(t, (span.end - span.begin) * (t->head_dim / 8));
    /* From multiples of WIDE_KEYS, so that no pass writes into the scores of the last. */
    for (size_t at = span.begin / WIDE_KEYS * WIDE_KEYS; at < span.end; at += WIDE_KEYS) {
        size_t begin = at > span.begin ? at : span.begin;
        size_t end = at + WIDE_KEYS < span.end ? at + WIDE_KEYS : span.end;
        for (size_t i = begin; i < end; i++) {
            for (size_t d = 0; d < t->head_dim; d += 8) {
                prefetch_step(&prefetch);
                _mm256_storeu_ps(wide[i - begin] + d, load(keys + i * key_nbytes, d, format));
            }
        }
        struct key_rows rows = {(const uint8_t *)wide, begin, sizeof wide[0]};
        score_all_rows(t, rows, (struct span){begin, end}, load_f32, format,
                       (struct prefetch){(const uint8_t *)wide, 0});
    }
}

static void scores_f32_avx2(const struct rmli_attention_tile *t, const uint8_t *keys,
                            size_t key_nbytes)
{
    scores(t, keys, key_nbytes, RML_KV_F32, load_f32);
}

static void scores_f16_avx2(const struct rmli_attention_tile *t, const uint8_t *keys,
                            size_t key_nbytes)
{
    scores(t, keys, key_nbytes, RML_KV_F16, load_f16);
}

static void scores_i8_avx2(const struct rmli_attention_tile *t, const uint8_t *keys,
                           size_t key_nbytes)
{
    scores(t, keys, key_nbytes, RML_KV_I8, load_i8);
}

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

/* ---- Values ----------------------------------------------------------------- */

/* Where values lie: dimensions from first_dim on of keys from first_key on. */
struct value_rows {
    const uint8_t *base;
    size_t nbytes;
    size_t first_key, first_dim;
};

/*
 * Adds the weighted values of keys [span.begin, span.end) to n_rows outputs from
 * `row` on, in n_vectors x 8 dimensions from d on; n_rows x n_vectors <= 8.
 */
RMLI_INLINE void add_values(const struct rmli_attention_tile *t, size_t row, size_t n_rows,
                            size_t d, size_t n_vectors, struct value_rows values, struct span span,
                            load_fn *load, struct row_format format, struct prefetch *prefetch)
{
    float *out = t->out + row * t->head_dim + d;
    const float *weights = t->weights + row * BLOCK;
    __m256 acc[8];
    RMLI_UNROLL
    for (size_t r = 0; r < n_rows; r++)
        RMLI_UNROLL
    for (size_t v = 0; v < n_vectors; v++)
        acc[r * n_vectors + v] = _mm256_loadu_ps(out + r * t->head_dim + 8 * v);
    const uint8_t *value = values.base + (span.begin - values.first_key) * values.nbytes;
    for (size_t i = span.begin; i < span.end; i++, value += values.nbytes) {
        __m256 x[8];
        prefetch_step(prefetch);
        RMLI_UNROLL
        for (size_t v = 0; v < n_vectors; v++)
            x[v] = load(value, d - values.first_dim + 8 * v, format);
        RMLI_UNROLL
        for (size_t r = 0; r < n_rows; r++) {
            __m256 w = _mm256_broadcast_ss(weights + r * BLOCK + i);
            RMLI_UNROLL
            for (size_t v = 0; v < n_vectors; v++)
                acc[r * n_vectors + v] = _mm256_fmadd_ps(w, x[v], acc[r * n_vectors + v]);
        }
    }
    RMLI_UNROLL
    for (size_t r = 0; r < n_rows; r++)
        RMLI_UNROLL
    for (size_t v = 0; v < n_vectors; v++)
        _mm256_storeu_ps(out + r * t->head_dim + 8 * v, acc[r * n_vectors + v]);
}

/* The same for all dimensions [begin_dim, end_dim), multiples of 8. */
RMLI_INLINE void add_values_rows(const struct rmli_attention_tile *t, size_t row, size_t n_rows,
                                 size_t n_vectors, struct span dims, struct value_rows values,
                                 struct span span, load_fn *load, struct row_format format,
                                 struct prefetch *prefetch)
{
    size_t d = dims.begin;
    for (; d + 8 * n_vectors <= dims.end; d += 8 * n_vectors)
        add_values(t, row, n_rows, d, n_vectors, values, span, load, format, prefetch);
    for (; d < dims.end; d += 8)
        add_values(t, row, n_rows, d, 1, values, span, load, format, prefetch);
}

/* One row, part of its keys. */
RMLI_INLINE void add_values_row(const struct rmli_attention_tile *t, size_t row, struct span dims,
                                struct value_rows values, struct span span, load_fn *load,
                                struct row_format format, struct prefetch *prefetch)
{
    if (span.begin < span.end)
        add_values_rows(t, row, 1, 8, dims, values, span, load, format, prefetch);
}

/* n_rows rows together over the keys that all of them see; what only some see,
 * before and after, row by row: each row's keys come in ascending order. */
RMLI_INLINE void add_values_group(const struct rmli_attention_tile *t, size_t row, size_t n_rows,
                                  size_t n_vectors, struct span dims, struct value_rows values,
                                  load_fn *load, struct row_format format,
                                  struct prefetch *prefetch)
{
    struct span all = {t->first[row], t->last[row]};
    for (size_t r = row + 1; r < row + n_rows; r++) {
        all.begin = t->first[r] > all.begin ? t->first[r] : all.begin;
        all.end = t->last[r] < all.end ? t->last[r] : all.end;
    }
    if (all.begin > all.end)
        all.end = all.begin;
    for (size_t r = row; r < row + n_rows; r++) {
        struct span before = {t->first[r], all.begin < t->last[r] ? all.begin : t->last[r]};
        add_values_row(t, r, dims, values, before, load, format, prefetch);
    }
    if (all.begin < all.end)
        add_values_rows(t, row, n_rows, n_vectors, dims, values, all, load, format, prefetch);
    for (size_t r = row; r < row + n_rows; r++) {
        struct span after = {all.end > t->first[r] ? all.end : t->first[r], t->last[r]};
        add_values_row(t, r, dims, values, after, load, format, prefetch);
    }
}

RMLI_INLINE void add_values_all_rows(const struct rmli_attention_tile *t, struct span dims,
                                     struct value_rows values, load_fn *load,
                                     struct row_format format, struct prefetch prefetch)
{
    size_t row = 0;
    for (; row + 4 <= t->n_rows; row += 4) {
        add_values_group(t, row, 4, 2, dims, values, load, format, &prefetch);
        prefetch.step_nbytes = 0;
    }
    switch (t->n_rows - row) {
    case 3:
        add_values_group(t, row, 3, 2, dims, values, load, format, &prefetch);
        break;
    case 2:
        add_values_group(t, row, 2, 4, dims, values, load, format, &prefetch);
        break;
    case 1:
        add_values_group(t, row, 1, 8, dims, values, load, format, &prefetch);
        break;
    default:
        break;
    }
}

/* Inner steps of the first rows, for spreading the prefetch. */
static size_t value_steps(const struct rmli_attention_tile *t, struct span span)
{
    size_t n_dims = t->n_rows >= 3 ? 16 : t->n_rows == 2 ? 32 : 64;
    return (span.end - span.begin) * ((t->head_dim + n_dims - 1) / n_dims);
}

RMLI_INLINE void values(const struct rmli_attention_tile *t, const uint8_t *rows,
                        size_t value_nbytes, enum rml_kv_dtype dtype, load_fn *load)
{
    if (t->head_dim % 8 != 0) {
        rmli_attention_ref.values[dtype](t, rows, value_nbytes);
        return;
    }
    memset(t->out, 0, t->n_rows * t->head_dim * sizeof *t->out);
    struct span span = seen_by_any(t);
    struct row_format format = format_of(t->head_dim);
    if (t->n_rows < MANY_ROWS || dtype == RML_KV_F32) {
        struct prefetch prefetch = spread(t, value_steps(t, span));
        add_values_all_rows(t, (struct span){0, t->head_dim},
                            (struct value_rows){rows, value_nbytes, 0, 0}, load, format, prefetch);
        return;
    }
    float wide[BLOCK][WIDE_DIMS];
    struct prefetch prefetch = spread(t, (span.end - span.begin) * (t->head_dim / 8));
    for (size_t begin = 0; begin < t->head_dim; begin += WIDE_DIMS) {
        size_t end = begin + WIDE_DIMS < t->head_dim ? begin + WIDE_DIMS : t->head_dim;
        for (size_t i = span.begin; i < span.end; i++) {
            for (size_t d = begin; d < end; d += 8) {
                prefetch_step(&prefetch);
                _mm256_storeu_ps(wide[i] + d - begin, load(rows + i * value_nbytes, d, format));
            }
        }
        struct value_rows from = {(const uint8_t *)wide, sizeof wide[0], 0, begin};
        add_values_all_rows(t, (struct span){begin, end}, from, load_f32, format,
                            (struct prefetch){(const uint8_t *)wide, 0});
    }
}

static void values_f32_avx2(const struct rmli_attention_tile *t, const uint8_t *rows,
                            size_t value_nbytes)
{
    values(t, rows, value_nbytes, RML_KV_F32, load_f32);
}

static void values_f16_avx2(const struct rmli_attention_tile *t, const uint8_t *rows,
                            size_t value_nbytes)
{
    values(t, rows, value_nbytes, RML_KV_F16, load_f16);
}

static void values_i8_avx2(const struct rmli_attention_tile *t, const uint8_t *rows,
                           size_t value_nbytes)
{
    values(t, rows, value_nbytes, RML_KV_I8, load_i8);
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

static void store_f32_avx2(void *row, const float *x, size_t head_dim)
{
    rmli_kv_store_f32(row, x, head_dim);
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
    .scores = {scores_f32_avx2, scores_f16_avx2, scores_i8_avx2},
    .softmax = softmax_avx2,
    .values = {values_f32_avx2, values_f16_avx2, values_i8_avx2},
    .merge = merge_avx2,
    .store = {store_f32_avx2, store_f16_avx2, store_i8_avx2},
};
