/*
 * Attention kernels: every instruction set against the reference, bit by bit,
 * in memory that ends where the operands end; the reference against sums in
 * double precision; and scores that are not finite.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kv_rows.h"
#include "kernels/tests/guarded_buffer.h"
#include "kernels/tests/kernel_cases.h"

#define SEED_TEXT "(RML_TEST_SEED=%llu)"
#define SEED ((unsigned long long)test_seed())
#define BLOCK RMLI_ATTENTION_BLOCK

static const size_t head_dims[] = {2,  4,  6,  8,  10, 12, 16,  20,  24,  32,  34,
                                   40, 48, 64, 72, 80, 96, 112, 128, 192, 256, 512};
enum { N_HEAD_DIMS = sizeof head_dims / sizeof head_dims[0], MAX_ROWS = 40 };

/* Operands of one tile; outputs come from elsewhere. */
struct operands {
    size_t n_rows, head_dim;
    enum rml_kv_dtype dtype;
    size_t row_nbytes; /* of a cached row */
    uint8_t first[MAX_ROWS], last[MAX_ROWS];
    size_t begin, end; /* keys that any row sees */
    struct guarded_buffer q, rows;
    const float *q_rows[MAX_ROWS];
    const uint8_t *cached; /* row 0 of the block; only rows [begin, end) exist */
};

/* Some values that are not finite, rarely. */
static void spoil(struct test_rng *rng, float *x, size_t n)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-40f, -0.0f};
    for (size_t k = test_rng_below(rng, 3); k > 0; k--)
        x[test_rng_below(rng, n)] = bad[test_rng_below(rng, sizeof bad / sizeof *bad)];
}

static void draw_ranges(struct test_rng *rng, struct operands *o)
{
    bool whole = test_rng_below(rng, 3) == 0, causal = test_rng_below(rng, 2) == 0;
    size_t base = test_rng_below(rng, BLOCK);
    o->begin = BLOCK;
    o->end = 0;
    for (size_t r = 0; r < o->n_rows; r++) {
        size_t first = whole || causal ? 0 : test_rng_below(rng, BLOCK);
        size_t last = whole ? BLOCK : first + 1 + test_rng_below(rng, BLOCK - first);
        if (causal)
            last = base + r / 2 < BLOCK ? base + r / 2 + 1 : BLOCK;
        o->first[r] = (uint8_t)first;
        o->last[r] = (uint8_t)last;
        o->begin = first < o->begin ? first : o->begin;
        o->end = last > o->end ? last : o->end;
    }
}

static void draw_operands(struct test_rng *rng, struct operands *o)
{
    o->dtype = (enum rml_kv_dtype)test_rng_below(rng, RML_N_KV_DTYPES);
    o->head_dim = head_dims[test_rng_below(rng, N_HEAD_DIMS)];
    o->n_rows = 1 + test_rng_below(rng, test_rng_below(rng, 3) ? 9 : MAX_ROWS);
    o->row_nbytes = rmli_kv_head_nbytes(o->dtype, o->head_dim);
    draw_ranges(rng, o);
    enum guard_side side = test_rng_below(rng, 2) ? GUARD_BEFORE : GUARD_BEHIND;
    guarded_buffer_init(&o->q, o->n_rows * o->head_dim * sizeof(float), side);
    float *q = (float *)(void *)o->q.data;
    fill_floats(rng, q, o->n_rows * o->head_dim);
    for (size_t r = 0; r < o->n_rows; r++)
        o->q_rows[r] = q + r * o->head_dim;
    guarded_buffer_init(&o->rows, (o->end - o->begin) * o->row_nbytes, side);
    bool spoiled = test_rng_below(rng, 4) == 0;
    float x[RMLI_MAX_HEAD_DIM];
    for (size_t i = 0; i < o->end - o->begin; i++) {
        fill_floats(rng, x, o->head_dim);
        if (spoiled && test_rng_below(rng, 8) == 0)
            spoil(rng, x, o->head_dim);
        rmli_attention_ref.store[o->dtype](o->rows.data + i * o->row_nbytes, x, o->head_dim);
    }
    o->cached = o->rows.data - o->begin * o->row_nbytes;
}

static void release_operands(struct operands *o)
{
    guarded_buffer_release(&o->q);
    guarded_buffer_release(&o->rows);
}

/* A tile over the operands with outputs of its own. */
struct tile {
    struct rmli_attention_tile t;
    struct guarded_buffer weights, max, sum, out;
};

static void tile_init(struct tile *tile, const struct operands *o)
{
    guarded_buffer_init(&tile->weights, o->n_rows * BLOCK * sizeof(float), GUARD_BEHIND);
    guarded_buffer_init(&tile->max, o->n_rows * sizeof(float), GUARD_BEHIND);
    guarded_buffer_init(&tile->sum, o->n_rows * sizeof(float), GUARD_BEHIND);
    guarded_buffer_init(&tile->out, o->n_rows * o->head_dim * sizeof(float), GUARD_BEHIND);
    tile->t = (struct rmli_attention_tile){
        .n_rows = o->n_rows,
        .head_dim = o->head_dim,
        .scale = 1 / sqrtf((float)o->head_dim),
        .q = o->q_rows,
        .first = o->first,
        .last = o->last,
        .weights = (float *)(void *)tile->weights.data,
        .max = (float *)(void *)tile->max.data,
        .sum = (float *)(void *)tile->sum.data,
        .out = (float *)(void *)tile->out.data,
    };
}

static void tile_release(struct tile *tile)
{
    guarded_buffer_release(&tile->weights);
    guarded_buffer_release(&tile->max);
    guarded_buffer_release(&tile->sum);
    guarded_buffer_release(&tile->out);
}

static void check_same(const char *what, const struct operands *o, size_t r, size_t i, float got,
                       float expected)
{
    cr_assert(same_float(got, expected),
              "%s: row %zu of %zu, element %zu: %a, expected %a; %s, head_dim %zu, keys [%d, "
              "%d) " SEED_TEXT,
              what, r, o->n_rows, i, got, expected, rml_kv_dtype_name(o->dtype), o->head_dim,
              o->first[r], o->last[r], SEED);
}

static void check_same_weights(const char *what, const struct operands *o, const struct tile *a,
                               const struct tile *b)
{
    for (size_t r = 0; r < o->n_rows; r++)
        for (size_t i = o->first[r]; i < o->last[r]; i++)
            check_same(what, o, r, i, a->t.weights[r * BLOCK + i], b->t.weights[r * BLOCK + i]);
}

static void compare_once(struct test_rng *rng, const struct rmli_attention_kernels *k)
{
    const struct rmli_attention_kernels *ref = &rmli_attention_ref;
    struct operands o;
    draw_operands(rng, &o);
    struct tile got, expected;
    tile_init(&got, &o);
    tile_init(&expected, &o);
    if (test_rng_below(rng, 2)) {
        got.t.next = o.rows.data;
        got.t.next_nbytes = o.rows.nbytes;
    }
    k->scores[o.dtype](&got.t, o.cached, o.row_nbytes);
    ref->scores[o.dtype](&expected.t, o.cached, o.row_nbytes);
    check_same_weights("scores", &o, &got, &expected);

    if (test_rng_below(rng, 4) == 0)
        spoil(rng, expected.t.weights, o.n_rows * BLOCK);
    memcpy(got.t.weights, expected.t.weights, o.n_rows * BLOCK * sizeof(float));
    k->softmax(&got.t);
    ref->softmax(&expected.t);
    check_same_weights("weights", &o, &got, &expected);
    for (size_t r = 0; r < o.n_rows; r++) {
        /* The maximum of +0 and -0 is either. */
        check_same("max", &o, r, 0, got.t.max[r] + 0.0f, expected.t.max[r] + 0.0f);
        check_same("sum", &o, r, 0, got.t.sum[r], expected.t.sum[r]);
    }

    k->values[o.dtype](&got.t, o.cached, o.row_nbytes);
    ref->values[o.dtype](&expected.t, o.cached, o.row_nbytes);
    for (size_t r = 0; r < o.n_rows; r++)
        for (size_t d = 0; d < o.head_dim; d++)
            check_same("values", &o, r, d, got.t.out[r * o.head_dim + d],
                       expected.t.out[r * o.head_dim + d]);

    /* Each row merged into the first. */
    for (size_t r = 1; r < o.n_rows; r++) {
        size_t at = r * o.head_dim;
        k->merge(got.t.max, got.t.sum, got.t.out, got.t.max[r], got.t.sum[r], got.t.out + at,
                 o.head_dim);
        ref->merge(expected.t.max, expected.t.sum, expected.t.out, expected.t.max[r],
                   expected.t.sum[r], expected.t.out + at, o.head_dim);
        check_same("merged max", &o, 0, r, got.t.max[0] + 0.0f, expected.t.max[0] + 0.0f);
        check_same("merged sum", &o, 0, r, got.t.sum[0], expected.t.sum[0]);
        for (size_t d = 0; d < o.head_dim; d++)
            check_same("merged", &o, 0, d, got.t.out[d], expected.t.out[d]);
    }
    tile_release(&got);
    tile_release(&expected);
    release_operands(&o);
}

Test(attention_kernels, equal_the_reference)
{
    struct test_rng rng = {test_seed()};
    const struct rmli_kernels *table = NULL;
    while ((table = next_table(table ? table->isa : RML_ISA_REF)) != NULL)
        for (int i = 0; i < 3000; i++)
            compare_once(&rng, table->attention);
}

Test(attention_kernels, store_equals_the_reference)
{
    struct test_rng rng = {test_seed()};
    const struct rmli_kernels *table = NULL;
    while ((table = next_table(table ? table->isa : RML_ISA_REF)) != NULL) {
        for (int i = 0; i < 6000; i++) {
            enum rml_kv_dtype dtype = (enum rml_kv_dtype)(i % RML_N_KV_DTYPES);
            size_t head_dim = head_dims[test_rng_below(&rng, N_HEAD_DIMS)];
            size_t nbytes = rmli_kv_head_nbytes(dtype, head_dim);
            struct guarded_buffer x, row;
            guarded_buffer_init(&x, head_dim * sizeof(float), GUARD_BEHIND);
            guarded_buffer_init(&row, nbytes, i % 2 ? GUARD_BEFORE : GUARD_BEHIND);
            uint8_t expected[RMLI_MAX_HEAD_DIM * 4];
            float *values = (float *)(void *)x.data;
            fill_floats(&rng, values, head_dim);
            float magnitude = ldexpf(1, (int)test_rng_below(&rng, 270) - 140);
            for (size_t d = 0; d < head_dim; d++)
                values[d] *= magnitude;
            if (i % 3 == 0)
                spoil(&rng, values, head_dim);
            memset(row.data, 0xa5, nbytes);
            memset(expected, 0x5a, nbytes);
            table->attention->store[dtype](row.data, values, head_dim);
            rmli_attention_ref.store[dtype](expected, values, head_dim);
            float got_values[RMLI_MAX_HEAD_DIM], expected_values[RMLI_MAX_HEAD_DIM];
            static void (*const widen[])(float *, const uint8_t *, size_t) = {
                rmli_kv_widen_f32, rmli_kv_widen_f16, rmli_kv_widen_i8};
            widen[dtype](got_values, row.data, head_dim);
            widen[dtype](expected_values, expected, head_dim);
            for (size_t d = 0; d < head_dim; d++)
                cr_assert(same_float(got_values[d], expected_values[d]),
                          "%s head_dim %zu element %zu: %a is stored as %a, expected %a " SEED_TEXT,
                          rml_kv_dtype_name(dtype), head_dim, d, values[d], got_values[d],
                          expected_values[d], SEED);
            guarded_buffer_release(&x);
            guarded_buffer_release(&row);
        }
    }
}

/* ---- The reference against double precision ----------------------------------- */

/* Half a unit in the last place of 1: the relative error of one rounding. */
static const double half_ulp = 0x1p-24;

static void check_near(const char *what, double got, double expected, double bound)
{
    cr_assert(fabs(got - expected) <= bound, "%s: %.9g, expected %.9g within %.3g " SEED_TEXT, what,
              got, expected, bound, SEED);
}

static void widen_any(float *dst, const struct operands *o, size_t i)
{
    static void (*const widen[])(float *, const uint8_t *,
                                 size_t) = {rmli_kv_widen_f32, rmli_kv_widen_f16, rmli_kv_widen_i8};
    widen[o->dtype](dst, o->cached + i * o->row_nbytes, o->head_dim);
}

/* One row: scores, weights and output in double, with bounds that count roundings. */
static void check_row(const struct operands *o, const struct rmli_attention_tile *t, size_t r)
{
    float row[RMLI_MAX_HEAD_DIM];
    double weight[BLOCK], max = -INFINITY, sum = 0, largest = 0;
    double lanes = (double)(o->head_dim / 8 + 6);
    double score_bound = 0;
    for (size_t i = o->first[r]; i < o->last[r]; i++) {
        double dot = 0, magnitude = 0;
        widen_any(row, o, i);
        for (size_t d = 0; d < o->head_dim; d++) {
            dot += (double)t->q[r][d] * (double)row[d];
            magnitude += fabs((double)t->q[r][d] * (double)row[d]);
        }
        weight[i] = dot * (double)t->scale;
        max = fmax(max, weight[i]);
        score_bound = fmax(score_bound, lanes * half_ulp * magnitude * (double)t->scale);
        largest = fmax(largest, fabs(weight[i]));
    }
    check_near("max", (double)t->max[r], max, score_bound);
    /* Scores off by score_bound each, their difference rounded, the exponential. */
    double weight_bound = 2 * score_bound + 2 * half_ulp * largest + 2 * half_ulp;
    double out[RMLI_MAX_HEAD_DIM] = {0}, magnitude[RMLI_MAX_HEAD_DIM] = {0};
    for (size_t i = o->first[r]; i < o->last[r]; i++) {
        weight[i] = exp(weight[i] - max);
        sum += weight[i];
        check_near("weight", (double)t->weights[r * BLOCK + i], weight[i],
                   1.01 * weight_bound * weight[i]);
        widen_any(row, o, i);
        for (size_t d = 0; d < o->head_dim; d++) {
            out[d] += weight[i] * (double)row[d];
            magnitude[d] += weight[i] * fabs((double)row[d]);
        }
    }
    check_near("sum", (double)t->sum[r], sum, (1.01 * weight_bound + 11 * half_ulp) * sum);
    for (size_t d = 0; d < o->head_dim; d++)
        check_near("out", (double)t->out[r * o->head_dim + d], out[d],
                   (1.01 * weight_bound + BLOCK * half_ulp) * magnitude[d]);
}

Test(attention_kernels, reference_is_near_double_precision)
{
    struct test_rng rng = {test_seed()};
    for (int n = 0; n < 500; n++) {
        struct operands o;
        draw_operands(&rng, &o);
        bool finite = true;
        float row[RMLI_MAX_HEAD_DIM];
        for (size_t i = o.begin; i < o.end; i++) {
            widen_any(row, &o, i);
            for (size_t d = 0; d < o.head_dim; d++)
                finite &= fabsf(row[d]) < 1e6f;
        }
        struct tile tile;
        tile_init(&tile, &o);
        rmli_attention_ref.scores[o.dtype](&tile.t, o.cached, o.row_nbytes);
        rmli_attention_ref.softmax(&tile.t);
        rmli_attention_ref.values[o.dtype](&tile.t, o.cached, o.row_nbytes);
        for (size_t r = 0; finite && r < o.n_rows; r++)
            check_row(&o, &tile.t, r);
        tile_release(&tile);
        release_operands(&o);
    }
}

Test(attention_kernels, i8_rows_round_to_within_half_a_step)
{
    struct test_rng rng = {test_seed()};
    for (int n = 0; n < 2000; n++) {
        size_t head_dim = head_dims[test_rng_below(&rng, N_HEAD_DIMS)];
        size_t group = rmli_kv_group(head_dim);
        uint8_t row[RMLI_MAX_HEAD_DIM * 4];
        float x[RMLI_MAX_HEAD_DIM], y[RMLI_MAX_HEAD_DIM];
        fill_floats(&rng, x, head_dim);
        rmli_attention_ref.store[RML_KV_I8](row, x, head_dim);
        rmli_kv_widen_i8(y, row, head_dim);
        for (size_t g = 0; g < head_dim; g += group) {
            float max = 0;
            for (size_t d = g; d < g + group; d++)
                max = fmaxf(max, fabsf(x[d]));
            /* Half a step, and the roundings of 127 / max, of its product with x, of the scale
             * and of its product with q: each at most 127 * 2^-24 steps. */
            for (size_t d = g; d < g + group; d++)
                check_near("i8", (double)y[d], (double)x[d],
                           (double)max / 127 * (0.5 + 4 * 127 * 0x1p-24));
        }
    }
    cr_assert_eq(rmli_kv_group(128), 32u);
    cr_assert_eq(rmli_kv_group(80), 16u);
    cr_assert_eq(rmli_kv_group(6), 2u);
    cr_assert_eq(rmli_kv_head_nbytes(RML_KV_I8, 128), 4 * 4 + 128u);
    cr_assert_eq(rmli_kv_head_nbytes(RML_KV_I8, 6), 3 * 4 + 8u);
    cr_assert_eq(rmli_kv_head_nbytes(RML_KV_F16, 6), 12u);
    cr_assert_eq(rmli_kv_head_nbytes(RML_KV_F32, 6), 24u);
}

/* ---- Scores that are not finite ------------------------------------------------- */

/* One row of 64 scores, all `fill` but one. */
static struct rmli_attention_tile special_tile(float fill, float special, size_t at, float *weights,
                                               float *max, float *sum)
{
    static const uint8_t first[1] = {0}, last[1] = {BLOCK};
    for (size_t i = 0; i < BLOCK; i++)
        weights[i] = i == at ? special : fill;
    return (struct rmli_attention_tile){.n_rows = 1,
                                        .head_dim = 8,
                                        .first = first,
                                        .last = last,
                                        .weights = weights,
                                        .max = max,
                                        .sum = sum};
}

Test(attention_kernels, what_is_not_finite_shows_or_weighs_nothing)
{
    for (int isa = RML_ISA_REF; isa < RML_N_ISAS; isa++) {
        const struct rmli_kernels *table = rmli_kernels_for((enum rml_isa)isa);
        if (!table)
            continue;
        const struct rmli_attention_kernels *k = table->attention;
        float w[BLOCK], max, sum;
        for (size_t at = 0; at < BLOCK; at++) {
            struct rmli_attention_tile t = special_tile(1, NAN, at, w, &max, &sum);
            k->softmax(&t);
            cr_assert(isnan(sum) && isnan(w[at]), "NaN at %zu", at);
            t = special_tile(1, INFINITY, at, w, &max, &sum);
            k->softmax(&t);
            cr_assert(isnan(sum) && isnan(w[at]), "+inf at %zu", at);
            t = special_tile(1, -INFINITY, at, w, &max, &sum);
            k->softmax(&t);
            cr_assert(sum == 63 && w[at] == 0 && max == 1, "-inf at %zu", at);
        }
        struct rmli_attention_tile t = special_tile(-INFINITY, -INFINITY, 0, w, &max, &sum);
        k->softmax(&t);
        cr_assert(max == -INFINITY && sum == 0 && w[5] == 0);

        /* Merging: nothing into something, something into nothing, NaN into either. */
        float some[2] = {3, 4}, none[2] = {0, 0}, some_max = 2, some_sum = 5;
        k->merge(&some_max, &some_sum, some, -INFINITY, 0, none, 2);
        cr_assert(some_max == 2 && some_sum == 5 && some[0] == 3 && some[1] == 4);
        float none_max = -INFINITY, none_sum = 0;
        k->merge(&none_max, &none_sum, none, 2, 5, some, 2);
        cr_assert(none_max == 2 && none_sum == 5 && none[0] == 3 && none[1] == 4);
        float bad[2] = {NAN, NAN}, all_nan_max = -INFINITY;
        k->merge(&some_max, &some_sum, some, all_nan_max, NAN, bad, 2);
        cr_assert(isnan(some_sum) && isnan(some[0]));
        k->merge(&some_max, &some_sum, some, 9, 1, none, 2);
        cr_assert(isnan(some_sum) && isnan(some[1]), "NaN stays");
    }
}
