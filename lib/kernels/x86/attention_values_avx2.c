/*
 * Values for AVX2: weighted sums of cached rows.
 *
 * 4 rows x 16 dimensions over all keys of the block, accumulators in registers;
 * fewer rows take more dimensions. In i8 the scale of a group of dimensions is
 * multiplied into the weights, four rows x 64 keys at a time, instead of into each
 * value.
 */
#include "kernels/x86/attention_rows_avx2.h"

enum { BLOCK = RMLI_ATTENTION_BLOCK };

/* One pass over keys [span.begin, span.end): up to four rows in dimensions
 * [dims.begin, dims.end), multiples of 8. */
struct value_pass {
    float *out;           /* of the first row */
    const float *weights; /* of the first row, [][BLOCK] */
    size_t head_dim;
    struct span dims, span;
    const uint8_t *values; /* elements of key 0 */
    size_t value_nbytes;
};

/*
 * The passes: out += weight * value, accumulators kept over all keys. Each does as many dimensions
 * as it can from d on, and returns where it stopped. Both counts are constants where this is
 * inlined, so that the arrays are registers; rows * vectors accumulators, with the vectors of a
 * value and one weight, have to fit in 16.
 */
RMLI_INLINE size_t add_in_registers(const struct value_pass *p, size_t n_rows, size_t n_vectors,
                                    size_t d, load_fn *load, struct prefetch *prefetch)
{
    struct prefetch ahead = *prefetch;
    for (; d + 8 * n_vectors <= p->dims.end; d += 8 * n_vectors) {
        float *out = p->out + d;
        __m256 sum[4][4], x[4];
        RMLI_UNROLL
        for (size_t r = 0; r < n_rows; r++)
            RMLI_UNROLL
        for (size_t v = 0; v < n_vectors; v++)
            sum[r][v] = _mm256_loadu_ps(out + r * p->head_dim + 8 * v);
        const uint8_t *value = p->values + p->span.begin * p->value_nbytes;
        const float *weight = p->weights + p->span.begin, *end = p->weights + p->span.end;
        for (; weight < end; weight++, value += p->value_nbytes) {
            prefetch_step(&ahead);
            RMLI_UNROLL
            for (size_t v = 0; v < n_vectors; v++)
                x[v] = load(value, d + 8 * v);
            RMLI_UNROLL
            for (size_t r = 0; r < n_rows; r++) {
                __m256 w = _mm256_broadcast_ss(weight + r * BLOCK);
                RMLI_UNROLL
                for (size_t v = 0; v < n_vectors; v++)
                    sum[r][v] = _mm256_fmadd_ps(w, x[v], sum[r][v]);
            }
        }
        RMLI_UNROLL
        for (size_t r = 0; r < n_rows; r++)
            RMLI_UNROLL
        for (size_t v = 0; v < n_vectors; v++)
            _mm256_storeu_ps(out + r * p->head_dim + 8 * v, sum[r][v]);
    }
    *prefetch = ahead;
    return d;
}

/* What the passes above leave at the end of head_dim, eight dimensions of one row at
 * a time. */
RMLI_INLINE void add_rest(const struct value_pass *p, size_t n_rows, size_t d, load_fn *load)
{
    for (; d < p->dims.end; d += 8) {
        for (size_t r = 0; r < n_rows; r++) {
            float *out = p->out + r * p->head_dim + d;
            __m256 sum = _mm256_loadu_ps(out);
            for (size_t i = p->span.begin; i < p->span.end; i++) {
                __m256 x = load(p->values + i * p->value_nbytes, d);
                sum = _mm256_fmadd_ps(_mm256_broadcast_ss(p->weights + r * BLOCK + i), x, sum);
            }
            _mm256_storeu_ps(out, sum);
        }
    }
}

/* A function of its own for each shape and type: inlined into one they would leave
 * the compiler too few registers. */
typedef void value_pass_fn(const struct value_pass *p, struct prefetch *prefetch);
#define VALUE_PASS(n_rows, n_vectors, rows, dtype)                                                 \
    static __attribute__((noinline)) void add_##rows##_##dtype(const struct value_pass *p,         \
                                                               struct prefetch *prefetch)          \
    {                                                                                              \
        size_t d = add_in_registers(p, n_rows, n_vectors, p->dims.begin, load_##dtype, prefetch);  \
        add_rest(p, n_rows, d, load_##dtype);                                                      \
    }
#define VALUE_PASSES(dtype)                                                                        \
    VALUE_PASS(1, 4, 1_row, dtype)                                                                 \
    VALUE_PASS(2, 4, 2_rows, dtype)                                                                \
    VALUE_PASS(3, 2, 3_rows, dtype)                                                                \
    VALUE_PASS(4, 2, 4_rows, dtype)
VALUE_PASSES(f32)
VALUE_PASSES(f16)
VALUE_PASSES(i8)

/* By dtype and number of rows. */
static value_pass_fn *const value_passes[RML_N_KV_DTYPES][5] = {
    [RML_KV_F32] = {NULL, add_1_row_f32, add_2_rows_f32, add_3_rows_f32, add_4_rows_f32},
    [RML_KV_F16] = {NULL, add_1_row_f16, add_2_rows_f16, add_3_rows_f16, add_4_rows_f16},
    [RML_KV_I8] = {NULL, add_1_row_i8, add_2_rows_i8, add_3_rows_i8, add_4_rows_i8},
};

/* A pass for row r alone of those in p, when there is a key for it. */
static void add_one_row(struct value_pass p, size_t r, struct span span,
                        value_pass_fn *const *passes, struct prefetch *prefetch)
{
    if (span.begin >= span.end)
        return;
    p.out += r * p.head_dim;
    p.weights += r * BLOCK;
    p.span = span;
    passes[1](&p, prefetch);
}

/*
 * Up to four rows: together over the keys that all of them see; what only some see,
 * before and after, row by row, so that each row's keys come in ascending order.
 * first and last are those of the rows.
 */
static void add_rows(struct value_pass p, size_t n_rows, const uint8_t *first, const uint8_t *last,
                     value_pass_fn *const *passes, struct prefetch *prefetch)
{
    struct span all = {first[0], last[0]};
    for (size_t r = 1; r < n_rows; r++) {
        all.begin = first[r] > all.begin ? first[r] : all.begin;
        all.end = last[r] < all.end ? last[r] : all.end;
    }
    if (all.begin >= all.end)
        all.begin = all.end = BLOCK; /* nothing in common: all of it comes before */
    for (size_t r = 0; r < n_rows; r++) {
        struct span before = {first[r], all.begin < last[r] ? all.begin : last[r]};
        add_one_row(p, r, before, passes, prefetch);
    }
    if (all.begin < all.end) {
        p.span = all;
        passes[n_rows](&p, prefetch);
    }
    for (size_t r = 0; r < n_rows; r++)
        add_one_row(p, r, (struct span){all.end, last[r]}, passes, prefetch);
}

/* All rows of the tile, four by four; p lacks only them. With scales, one for each
 * key, the weights are multiplied by them first. */
static void add_all_rows(const struct rmli_attention_tile *t, struct value_pass p,
                         enum rml_kv_dtype dtype, const float *scales, struct prefetch *prefetch)
{
    float scaled[4 * BLOCK];
    for (size_t row = 0; row < t->n_rows; row += 4) {
        size_t n_rows = t->n_rows - row < 4 ? t->n_rows - row : 4;
        p.out = t->out + row * t->head_dim;
        p.weights = t->weights + row * BLOCK;
        if (scales) {
            for (size_t i = 0; i < n_rows * BLOCK; i += 8)
                _mm256_storeu_ps(scaled + i, _mm256_mul_ps(_mm256_loadu_ps(p.weights + i),
                                                           _mm256_loadu_ps(scales + i % BLOCK)));
            p.weights = scaled;
        }
        add_rows(p, n_rows, t->first + row, t->last + row, value_passes[dtype], prefetch);
    }
}

/* Inner steps over all rows, for spreading the prefetch. */
static size_t value_steps(const struct rmli_attention_tile *t, struct span span)
{
    size_t n_left = t->n_rows % 4;
    size_t n_steps = t->n_rows / 4 * (t->head_dim / 16);
    if (n_left > 0)
        n_steps += n_left == 3 ? t->head_dim / 16 : t->head_dim / 32;
    return n_steps * (span.end - span.begin);
}

/* scales[j][i] = the scale of group first + j of key i, for n groups, 1 to 4. */
static void gather_scales(float scales[4][BLOCK], const uint8_t *rows, size_t nbytes,
                          struct span span, size_t first, size_t n)
{
    size_t i = span.begin;
    const uint8_t *row = rows + first * sizeof(float);
    for (; n == 4 && i + 4 <= span.end; i += 4) {
        __m128 k0 = _mm_loadu_ps((const float *)(const void *)(row + i * nbytes));
        __m128 k1 = _mm_loadu_ps((const float *)(const void *)(row + (i + 1) * nbytes));
        __m128 k2 = _mm_loadu_ps((const float *)(const void *)(row + (i + 2) * nbytes));
        __m128 k3 = _mm_loadu_ps((const float *)(const void *)(row + (i + 3) * nbytes));
        _MM_TRANSPOSE4_PS(k0, k1, k2, k3);
        _mm_storeu_ps(&scales[0][i], k0);
        _mm_storeu_ps(&scales[1][i], k1);
        _mm_storeu_ps(&scales[2][i], k2);
        _mm_storeu_ps(&scales[3][i], k3);
    }
    for (; i < span.end; i++)
        for (size_t j = 0; j < n; j++)
            memcpy(&scales[j][i], row + i * nbytes + j * sizeof(float), sizeof(float));
}

/* All dimensions at once; in i8, where each group has scales of its own, one group
 * after the other. */
static void values(const struct rmli_attention_tile *t, const uint8_t *rows, size_t nbytes,
                   enum rml_kv_dtype dtype)
{
    if (t->head_dim % 8 != 0) {
        rmli_attention_ref.values[dtype](t, rows, nbytes);
        return;
    }
    memset(t->out, 0, t->n_rows * t->head_dim * sizeof *t->out);
    struct span span = seen_by_any(t);
    struct prefetch prefetch = spread(t, value_steps(t, span));
    struct value_pass p = {
        .head_dim = t->head_dim, .dims = {0, t->head_dim}, .values = rows, .value_nbytes = nbytes};
    if (dtype != RML_KV_I8) {
        add_all_rows(t, p, dtype, NULL, &prefetch);
        return;
    }
    p.values += scales_nbytes(t->head_dim);
    size_t group = rmli_kv_group(t->head_dim), n_groups = t->head_dim / group;
    float scales[4][BLOCK] = {0}; /* those of keys that no row sees are read too */
    for (size_t g = 0; g < n_groups; g++) {
        if (g % 4 == 0)
            gather_scales(scales, rows, nbytes, span, g, n_groups - g < 4 ? n_groups - g : 4);
        p.dims = (struct span){g * group, (g + 1) * group};
        add_all_rows(t, p, dtype, scales[g % 4], &prefetch);
    }
}

void rmli_values_f32_avx2(const struct rmli_attention_tile *t, const uint8_t *rows, size_t nbytes)
{
    values(t, rows, nbytes, RML_KV_F32);
}

void rmli_values_f16_avx2(const struct rmli_attention_tile *t, const uint8_t *rows, size_t nbytes)
{
    values(t, rows, nbytes, RML_KV_F16);
}

void rmli_values_i8_avx2(const struct rmli_attention_tile *t, const uint8_t *rows, size_t nbytes)
{
    values(t, rows, nbytes, RML_KV_I8);
}
