/*
 * Scores for AVX2: dot products of query rows with cached keys.
 *
 * 2 keys x 4 query rows: each key is converted once for 4 rows, each 8 elements of
 * a query serve 2 keys, and 8 accumulators are folded together. Fewer rows take
 * more keys at once.
 */
#include "kernels/x86/attention_rows_avx2.h"

enum {
    BLOCK = RMLI_ATTENTION_BLOCK,
    /* With this many rows i8 keys are first widened to f32, some at a time (16 KB
     * at the largest head_dim), which costs less than widening them for every four
     * rows. For f16 it never did. */
    WIDEN_FROM_ROWS = 12,
    WIDE_KEYS = 8
};

/* One pass over the keys: scores of up to four query rows. */
struct score_pass {
    const float *const *q; /* the rows */
    float *weights;        /* of the first of them */
    size_t head_dim;
    float scale;
    struct span span;
    const uint8_t *keys; /* row of key `first_key` */
    size_t first_key, key_nbytes;
    size_t elements_offset; /* in a key's row: after its scales */
    unsigned log2_group;    /* i8 */
};

/* Key i, or the nearest one in the span. */
RMLI_INLINE const uint8_t *key_at(const struct score_pass *p, size_t i)
{
    i = i < p->span.begin ? p->span.begin : i;
    i = i < p->span.end ? i : p->span.end - 1;
    return p->keys + (i - p->first_key) * p->key_nbytes;
}

/*
 * A key as the loops read it. `step` dimensions at a time share a scale: 32, which
 * unrolls the loops by four, or 8, which is always right.
 */
struct key {
    const float *scales; /* when scaled: i8 */
    const uint8_t *elements;
    __m256 scale; /* of the group that was entered last */
};

RMLI_INLINE struct key open_key(const struct score_pass *p, size_t i)
{
    const uint8_t *row = key_at(p, i);
    return (struct key){(const float *)(const void *)row, row + p->elements_offset,
                        _mm256_setzero_ps()};
}

RMLI_INLINE void enter_group(struct key *key, size_t d, size_t step, bool scaled,
                             unsigned log2_group)
{
    if (scaled)
        key->scale = _mm256_broadcast_ss(key->scales + (step == 32 ? d / 32 : d >> log2_group));
}

RMLI_INLINE __m256 read_key(const struct key *key, size_t d, bool scaled, load_fn *load)
{
    __m256 x = load(key->elements, d);
    return scaled ? _mm256_mul_ps(key->scale, x) : x;
}

/* Four folded sums: rows r and r + 1 with keys i and i + 1. */
RMLI_INLINE void store_2x2(const struct score_pass *p, size_t r, size_t i, __m128 sums)
{
    float *to = p->weights + r * BLOCK + i;
    sums = _mm_mul_ps(sums, _mm_set1_ps(p->scale));
    _mm_storel_pi((__m64 *)(void *)to, sums);
    _mm_storeh_pi((__m64 *)(void *)(to + BLOCK), sums);
}

/* Four folded sums: row r with keys i to i + 3. */
RMLI_INLINE void store_1x4(const struct score_pass *p, size_t r, size_t i, __m128 sums)
{
    _mm_storeu_ps(p->weights + r * BLOCK + i, _mm_mul_ps(sums, _mm_set1_ps(p->scale)));
}

/*
 * The passes. Each begins at a multiple of the keys it takes at once, so that what
 * it writes beyond the span stays in the rows' own weights.
 */
RMLI_INLINE void score_4_rows(const struct score_pass *p, size_t step, bool scaled, load_fn *load,
                              struct prefetch *prefetch)
{
    const float *q0 = p->q[0], *q1 = p->q[1], *q2 = p->q[2], *q3 = p->q[3];
    struct prefetch ahead = *prefetch;
    for (size_t i = p->span.begin / 2 * 2; i < p->span.end; i += 2) {
        struct key k0 = open_key(p, i), k1 = open_key(p, i + 1);
        __m256 s00 = _mm256_setzero_ps(), s01 = s00, s10 = s00, s11 = s00;
        __m256 s20 = s00, s21 = s00, s30 = s00, s31 = s00;
        for (size_t group = 0; group < p->head_dim; group += step) {
            enter_group(&k0, group, step, scaled, p->log2_group);
            enter_group(&k1, group, step, scaled, p->log2_group);
            RMLI_UNROLL
            for (size_t d = group; d < group + step; d += 8) {
                prefetch_step(&ahead);
                __m256 x0 = read_key(&k0, d, scaled, load), x1 = read_key(&k1, d, scaled, load);
                __m256 y = load_once(q0 + d);
                s00 = _mm256_fmadd_ps(y, x0, s00);
                s01 = _mm256_fmadd_ps(y, x1, s01);
                y = load_once(q1 + d);
                s10 = _mm256_fmadd_ps(y, x0, s10);
                s11 = _mm256_fmadd_ps(y, x1, s11);
                y = load_once(q2 + d);
                s20 = _mm256_fmadd_ps(y, x0, s20);
                s21 = _mm256_fmadd_ps(y, x1, s21);
                y = load_once(q3 + d);
                s30 = _mm256_fmadd_ps(y, x0, s30);
                s31 = _mm256_fmadd_ps(y, x1, s31);
            }
        }
        store_2x2(p, 0, i, fold_lanes_4(s00, s01, s10, s11));
        store_2x2(p, 2, i, fold_lanes_4(s20, s21, s30, s31));
    }
    *prefetch = ahead;
}

RMLI_INLINE void score_3_rows(const struct score_pass *p, size_t step, bool scaled, load_fn *load,
                              struct prefetch *prefetch)
{
    const float *q0 = p->q[0], *q1 = p->q[1], *q2 = p->q[2];
    struct prefetch ahead = *prefetch;
    for (size_t i = p->span.begin / 2 * 2; i < p->span.end; i += 2) {
        struct key k0 = open_key(p, i), k1 = open_key(p, i + 1);
        __m256 s00 = _mm256_setzero_ps(), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00;
        for (size_t group = 0; group < p->head_dim; group += step) {
            enter_group(&k0, group, step, scaled, p->log2_group);
            enter_group(&k1, group, step, scaled, p->log2_group);
            RMLI_UNROLL
            for (size_t d = group; d < group + step; d += 8) {
                prefetch_step(&ahead);
                __m256 x0 = read_key(&k0, d, scaled, load), x1 = read_key(&k1, d, scaled, load);
                __m256 y = load_once(q0 + d);
                s00 = _mm256_fmadd_ps(y, x0, s00);
                s01 = _mm256_fmadd_ps(y, x1, s01);
                y = load_once(q1 + d);
                s10 = _mm256_fmadd_ps(y, x0, s10);
                s11 = _mm256_fmadd_ps(y, x1, s11);
                y = load_once(q2 + d);
                s20 = _mm256_fmadd_ps(y, x0, s20);
                s21 = _mm256_fmadd_ps(y, x1, s21);
            }
        }
        store_2x2(p, 0, i, fold_lanes_4(s00, s01, s10, s11));
        __m128 last = fold_lanes_4(s20, s21, s20, s21);
        _mm_storel_pi((__m64 *)(void *)(p->weights + 2 * BLOCK + i),
                      _mm_mul_ps(last, _mm_set1_ps(p->scale)));
    }
    *prefetch = ahead;
}

RMLI_INLINE void score_2_rows(const struct score_pass *p, size_t step, bool scaled, load_fn *load,
                              struct prefetch *prefetch)
{
    const float *q0 = p->q[0], *q1 = p->q[1];
    struct prefetch ahead = *prefetch;
    for (size_t i = p->span.begin / 4 * 4; i < p->span.end; i += 4) {
        struct key k0 = open_key(p, i), k1 = open_key(p, i + 1);
        struct key k2 = open_key(p, i + 2), k3 = open_key(p, i + 3);
        __m256 s00 = _mm256_setzero_ps(), s01 = s00, s02 = s00, s03 = s00;
        __m256 s10 = s00, s11 = s00, s12 = s00, s13 = s00;
        for (size_t group = 0; group < p->head_dim; group += step) {
            enter_group(&k0, group, step, scaled, p->log2_group);
            enter_group(&k1, group, step, scaled, p->log2_group);
            enter_group(&k2, group, step, scaled, p->log2_group);
            enter_group(&k3, group, step, scaled, p->log2_group);
            RMLI_UNROLL
            for (size_t d = group; d < group + step; d += 8) {
                prefetch_step(&ahead);
                __m256 y0 = load_once(q0 + d), y1 = load_once(q1 + d);
                __m256 x = read_key(&k0, d, scaled, load);
                s00 = _mm256_fmadd_ps(y0, x, s00);
                s10 = _mm256_fmadd_ps(y1, x, s10);
                x = read_key(&k1, d, scaled, load);
                s01 = _mm256_fmadd_ps(y0, x, s01);
                s11 = _mm256_fmadd_ps(y1, x, s11);
                x = read_key(&k2, d, scaled, load);
                s02 = _mm256_fmadd_ps(y0, x, s02);
                s12 = _mm256_fmadd_ps(y1, x, s12);
                x = read_key(&k3, d, scaled, load);
                s03 = _mm256_fmadd_ps(y0, x, s03);
                s13 = _mm256_fmadd_ps(y1, x, s13);
            }
        }
        store_1x4(p, 0, i, fold_lanes_4(s00, s01, s02, s03));
        store_1x4(p, 1, i, fold_lanes_4(s10, s11, s12, s13));
    }
    *prefetch = ahead;
}

RMLI_INLINE void score_1_row(const struct score_pass *p, size_t step, bool scaled, load_fn *load,
                             struct prefetch *prefetch)
{
    const float *q = p->q[0];
    struct prefetch ahead = *prefetch;
    for (size_t i = p->span.begin / 4 * 4; i < p->span.end; i += 4) {
        struct key k0 = open_key(p, i), k1 = open_key(p, i + 1);
        struct key k2 = open_key(p, i + 2), k3 = open_key(p, i + 3);
        __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
        for (size_t group = 0; group < p->head_dim; group += step) {
            enter_group(&k0, group, step, scaled, p->log2_group);
            enter_group(&k1, group, step, scaled, p->log2_group);
            enter_group(&k2, group, step, scaled, p->log2_group);
            enter_group(&k3, group, step, scaled, p->log2_group);
            RMLI_UNROLL
            for (size_t d = group; d < group + step; d += 8) {
                prefetch_step(&ahead);
                __m256 y = load_once(q + d);
                s0 = _mm256_fmadd_ps(y, read_key(&k0, d, scaled, load), s0);
                s1 = _mm256_fmadd_ps(y, read_key(&k1, d, scaled, load), s1);
                s2 = _mm256_fmadd_ps(y, read_key(&k2, d, scaled, load), s2);
                s3 = _mm256_fmadd_ps(y, read_key(&k3, d, scaled, load), s3);
            }
        }
        store_1x4(p, 0, i, fold_lanes_4(s0, s1, s2, s3));
    }
    *prefetch = ahead;
}

/* A function of its own for each shape and type: inlined into one they would leave
 * the compiler too few registers. */
typedef void score_pass_fn(const struct score_pass *p, struct prefetch *prefetch);
#define SCORE_PASS(rows, step, dtype, scaled)                                                      \
    static __attribute__((noinline)) void score_##rows##_by_##step##_##dtype(                      \
        const struct score_pass *p, struct prefetch *prefetch)                                     \
    {                                                                                              \
        score_##rows(p, step, scaled, load_##dtype, prefetch);                                     \
    }
#define SCORE_PASSES(step, dtype, scaled)                                                          \
    SCORE_PASS(1_row, step, dtype, scaled)                                                         \
    SCORE_PASS(2_rows, step, dtype, scaled)                                                        \
    SCORE_PASS(3_rows, step, dtype, scaled)                                                        \
    SCORE_PASS(4_rows, step, dtype, scaled)                                                        \
    static score_pass_fn *const score_passes_by_##step##_##dtype[5] = {                            \
        NULL, score_1_row_by_##step##_##dtype, score_2_rows_by_##step##_##dtype,                   \
        score_3_rows_by_##step##_##dtype, score_4_rows_by_##step##_##dtype};
SCORE_PASSES(8, f32, false)
SCORE_PASSES(32, f32, false)
SCORE_PASSES(8, f16, false)
SCORE_PASSES(32, f16, false)
SCORE_PASSES(8, i8, true)
SCORE_PASSES(32, i8, true)

/* [by 32][number of rows] */
static score_pass_fn *const *const score_passes[RML_N_KV_DTYPES][2] = {
    [RML_KV_F32] = {score_passes_by_8_f32, score_passes_by_32_f32},
    [RML_KV_F16] = {score_passes_by_8_f16, score_passes_by_32_f16},
    [RML_KV_I8] = {score_passes_by_8_i8, score_passes_by_32_i8},
};

/* All rows of the tile, four by four; p lacks only them. */
static void score_all_rows(const struct rmli_attention_tile *t, struct score_pass p,
                           enum rml_kv_dtype dtype, struct prefetch *prefetch)
{
    score_pass_fn *const *passes = score_passes[dtype][t->head_dim % 32 == 0];
    for (size_t row = 0; row < t->n_rows; row += 4) {
        p.q = t->q + row;
        p.weights = t->weights + row * BLOCK;
        passes[t->n_rows - row < 4 ? t->n_rows - row : 4](&p, prefetch);
    }
}

/* Inner steps over all rows, for spreading the prefetch. */
static size_t score_steps(const struct rmli_attention_tile *t, struct span span)
{
    size_t n_keys = span.end - span.begin, n_left = t->n_rows % 4;
    size_t n_steps = t->n_rows / 4 * ((n_keys + 1) / 2);
    if (n_left > 0)
        n_steps += n_left == 3 ? (n_keys + 1) / 2 : (n_keys + 3) / 4;
    return n_steps * (t->head_dim / 8);
}

/* wide[head_dim] = the values of key i. */
static void widen_i8_key(float *wide, const struct score_pass *p, size_t i,
                         struct prefetch *prefetch)
{
    struct key key = open_key(p, i);
    for (size_t d = 0; d < p->head_dim; d += 8) {
        prefetch_step(prefetch);
        enter_group(&key, d, 8, true, p->log2_group);
        _mm256_storeu_ps(wide + d, read_key(&key, d, true, load_i8));
    }
}

/* Scores of many rows with i8 keys. */
static void score_widened(const struct rmli_attention_tile *t, const struct score_pass *p)
{
    float wide[WIDE_KEYS][RMLI_MAX_HEAD_DIM];
    struct score_pass from_wide = *p;
    from_wide.keys = (const uint8_t *)wide;
    from_wide.key_nbytes = sizeof wide[0];
    from_wide.elements_offset = 0;
    struct prefetch prefetch = spread(t, (p->span.end - p->span.begin) * (t->head_dim / 8));
    struct prefetch nothing = {(const uint8_t *)wide, 0};
    /* From multiples of WIDE_KEYS, so that no pass writes into the scores of the last. */
    for (size_t at = p->span.begin / WIDE_KEYS * WIDE_KEYS; at < p->span.end; at += WIDE_KEYS) {
        size_t begin = at > p->span.begin ? at : p->span.begin;
        size_t end = at + WIDE_KEYS < p->span.end ? at + WIDE_KEYS : p->span.end;
        for (size_t i = begin; i < end; i++)
            widen_i8_key(wide[i - begin], p, i, &prefetch);
        from_wide.span = (struct span){begin, end};
        from_wide.first_key = begin;
        score_all_rows(t, from_wide, RML_KV_F32, &nothing);
    }
}

static void scores(const struct rmli_attention_tile *t, const uint8_t *keys, size_t key_nbytes,
                   enum rml_kv_dtype dtype)
{
    if (t->head_dim % 8 != 0) {
        rmli_attention_ref.scores[dtype](t, keys, key_nbytes);
        return;
    }
    struct score_pass p = {
        .head_dim = t->head_dim,
        .scale = t->scale,
        .span = seen_by_any(t),
        .keys = keys,
        .key_nbytes = key_nbytes,
        .elements_offset = dtype == RML_KV_I8 ? scales_nbytes(t->head_dim) : 0,
        .log2_group = (unsigned)__builtin_ctzll(rmli_kv_group(t->head_dim)),
    };
    if (dtype == RML_KV_I8 && t->n_rows >= WIDEN_FROM_ROWS) {
        score_widened(t, &p);
        return;
    }
    struct prefetch prefetch = spread(t, score_steps(t, p.span));
    score_all_rows(t, p, dtype, &prefetch);
}

void rmli_scores_f32_avx2(const struct rmli_attention_tile *t, const uint8_t *keys, size_t nbytes)
{
    scores(t, keys, nbytes, RML_KV_F32);
}

void rmli_scores_f16_avx2(const struct rmli_attention_tile *t, const uint8_t *keys, size_t nbytes)
{
    scores(t, keys, nbytes, RML_KV_F16);
}

void rmli_scores_i8_avx2(const struct rmli_attention_tile *t, const uint8_t *keys, size_t nbytes)
{
    scores(t, keys, nbytes, RML_KV_I8);
}
