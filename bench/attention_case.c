#include "bench/attention_case.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/rng.h"
#include "kernels/kernels.h"
#include "model/attention.h"

struct attention_case {
    struct attention_shape shape;
    struct rml_kv_shape kv;
    size_t depth, n_rows;
    struct rml_thread_pool *pool;
    const struct rmli_kernels *kernels;
    struct rml_kv_cache *cache;
    struct rml_sequence *sequence;
    struct rmli_attention *attention;
    struct rmli_row *rows; /* [n_rows] */
    float *q, *out;        /* [n_rows][n_head * head_dim] */
    float *key, *value;    /* [n_rows][n_head_kv * head_dim] of the new tokens */
};

/* Nearly normal, deviation 1: the sum of four 16-bit uniforms from one draw. */
static float draw(struct rmli_rng *rng)
{
    uint64_t bits = rmli_rng_next(rng);
    double sum = (double)(bits & 0xffff) + (double)(bits >> 16 & 0xffff) +
                 (double)(bits >> 32 & 0xffff) + (double)(bits >> 48);
    /* Each has mean 65535/2 and variance 65536^2/12. */
    return (float)((sum - 2 * 65535.0) / (65536.0 * 0.57735026918962576));
}

static void draw_many(struct rmli_rng *rng, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = draw(rng);
}

/* The row-th of c->key and c->value. */
static void store_token(struct attention_case *c, size_t row, size_t position)
{
    const struct rmli_attention_kernels *kernels = c->kernels->attention;
    size_t dim = c->shape.head_dim, first = row * c->shape.n_head_kv * dim;
    for (uint32_t head = 0; head < c->shape.n_head_kv; head++) {
        kernels->store[c->kv.k_dtype](rmli_sequence_key(c->sequence, 0, head, position),
                                      c->key + first + head * dim, dim);
        kernels->store[c->kv.v_dtype](rmli_sequence_value(c->sequence, 0, head, position),
                                      c->value + first + head * dim, dim);
    }
}

static bool fill(struct attention_case *c, uint64_t seed, struct rml_error *err)
{
    size_t n = (size_t)c->shape.n_head_kv * c->shape.head_dim;
    struct rmli_rng rng;
    rmli_rng_seed(&rng, seed);
    if (!rmli_sequence_reserve(c->sequence, c->depth + c->n_rows, err))
        return false;
    for (size_t position = 0; position < c->depth; position++) {
        draw_many(&rng, c->key, n);
        draw_many(&rng, c->value, n);
        store_token(c, 0, position);
    }
    for (size_t row = 0; row < c->n_rows; row++) {
        draw_many(&rng, c->key + row * n, n);
        draw_many(&rng, c->value + row * n, n);
        c->rows[row] = (struct rmli_row){.sequence = c->sequence, .position = c->depth + row};
    }
    rmli_sequence_commit(c->sequence, c->depth);
    draw_many(&rng, c->q, c->n_rows * c->shape.n_head * c->shape.head_dim);
    return true;
}

struct attention_case *attention_case_create(const struct attention_settings *settings,
                                             struct rml_thread_pool *pool, struct rml_error *err)
{
    const struct attention_shape *shape = &settings->shape;
    size_t depth = settings->depth, n_rows = settings->n_rows;
    struct attention_case *c = calloc(1, sizeof *c);
    if (!c) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for an attention layer");
        return NULL;
    }
    *c = (struct attention_case){
        .shape = *shape,
        .kv = {.n_layer = 1,
               .n_head_kv = shape->n_head_kv,
               .head_dim = shape->head_dim,
               .k_dtype = settings->k,
               .v_dtype = settings->v},
        .depth = depth,
        .n_rows = n_rows,
        .pool = pool,
        .kernels = rmli_kernels_best(err),
    };
    size_t n_q = n_rows * shape->n_head * shape->head_dim;
    size_t n_kv = n_rows * shape->n_head_kv * shape->head_dim;
    size_t n_pages = (depth + n_rows + RML_PAGE_TOKENS - 1) / RML_PAGE_TOKENS;
    if (!c->kernels || !(c->rows = rmli_alloc(n_rows, sizeof *c->rows, err)) ||
        !(c->q = rmli_alloc(n_q, sizeof *c->q, err)) ||
        !(c->out = rmli_alloc_zeroed(n_q, sizeof *c->out, err)) ||
        !(c->key = rmli_alloc(n_kv, sizeof *c->key, err)) ||
        !(c->value = rmli_alloc(n_kv, sizeof *c->value, err)) ||
        !(c->cache = rml_kv_cache_create(&c->kv, n_pages, err)) ||
        !(c->sequence = rml_sequence_create(c->cache, depth + n_rows, err)) ||
        !(c->attention = rmli_attention_create(pool, shape->n_head, shape->n_head_kv,
                                               shape->head_dim, n_rows, depth + n_rows, err)) ||
        !fill(c, settings->seed, err)) {
        attention_case_destroy(c);
        return NULL;
    }
    return c;
}

void attention_case_destroy(struct attention_case *c)
{
    if (!c)
        return;
    rmli_attention_destroy(c->attention);
    rml_sequence_destroy(c->sequence);
    rml_kv_cache_destroy(c->cache);
    rmli_free(c->rows);
    rmli_free(c->q);
    rmli_free(c->out);
    rmli_free(c->key);
    rmli_free(c->value);
    free(c);
}

/* ---- The step ------------------------------------------------------------------------ */

static struct rmli_attention_params params_of(const struct attention_case *c)
{
    return (struct rmli_attention_params){.n_head = c->shape.n_head,
                                          .n_head_kv = c->shape.n_head_kv,
                                          .head_dim = c->shape.head_dim,
                                          .scale = 1 / sqrtf((float)c->shape.head_dim)};
}

static bool run(void *arg, int64_t iters, int64_t *times, struct rml_error *err)
{
    struct attention_case *c = arg;
    const struct rmli_attention_params params = params_of(c);
    (void)times, (void)err;
    for (int64_t i = 0; i < iters; i++) {
        for (size_t row = 0; row < c->n_rows; row++)
            store_token(c, row, c->depth + row);
        rmli_attend(c->attention, c->pool, c->kernels, &params, c->rows, c->n_rows, c->q, c->out);
    }
    return true;
}

static const void *output(const void *arg, size_t *nbytes)
{
    return attention_case_output(arg, nbytes);
}

struct bench_work attention_case_work(struct attention_case *c)
{
    return (struct bench_work){.run = run, .output = output, .arg = c, .iters_step = 1};
}

enum rml_isa attention_case_isa(const struct attention_case *c)
{
    return c->kernels->isa;
}

const float *attention_case_output(const struct attention_case *c, size_t *nbytes)
{
    *nbytes = c->n_rows * c->shape.n_head * c->shape.head_dim * sizeof *c->out;
    return c->out;
}

/* Adds what one row is off by; false when a value is not finite. */
static bool compare_row(const struct attention_case *c, size_t row, float *want, double *largest,
                        double *worst)
{
    const struct rmli_attention_params params = params_of(c);
    size_t n = (size_t)c->shape.n_head * c->shape.head_dim;
    const float *got = c->out + row * n;
    bool finite = true;
    rmli_attend_ref(&params, &c->rows[row], 1, c->q + row * n, want);
    for (size_t i = 0; i < n; i++) {
        *largest = fmax(*largest, fabs((double)want[i]));
        *worst = fmax(*worst, fabs((double)got[i] - (double)want[i]));
        finite = finite && isfinite(got[i]);
    }
    return finite;
}

bool attention_case_verify(const struct attention_case *c, struct rml_error *err)
{
    enum { MAX_ROWS = 8 };
    size_t n = c->n_rows < MAX_ROWS ? c->n_rows : MAX_ROWS;
    float *want = rmli_alloc((size_t)c->shape.n_head * c->shape.head_dim, sizeof *want, err);
    if (!want)
        return false;
    double largest = 0, worst = 0;
    bool finite = true;
    /* the first, the last, and some between */
    for (size_t i = 0; i < n; i++)
        finite &= compare_row(c, n > 1 ? i * (c->n_rows - 1) / (n - 1) : 0, want, &largest, &worst);
    rmli_free(want);
    if (finite && worst <= 1e-4 * largest)
        return true;
    return rmli_fail(err, RML_INTERNAL, NULL, -1,
                     "attention output is wrong: off by %g from the definition, whose largest "
                     "value is %g",
                     finite ? worst : NAN, largest);
}

bool attention_shape_fits(const struct attention_shape *s, struct rml_error *err)
{
    if (s->n_head == 0 || s->n_head_kv == 0 || s->n_head % s->n_head_kv != 0)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "%u query heads are no multiple of %u key-value heads", s->n_head,
                         s->n_head_kv);
    if (s->n_head / s->n_head_kv > RMLI_MAX_HEAD_GROUP)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "%u query heads share a key-value head, expected at most %d",
                         s->n_head / s->n_head_kv, RMLI_MAX_HEAD_GROUP);
    if (s->head_dim == 0 || s->head_dim % 2 != 0 || s->head_dim > RMLI_MAX_HEAD_DIM)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                         "heads of %u dimensions, expected an even number up to %d", s->head_dim,
                         RMLI_MAX_HEAD_DIM);
    return true;
}

double attention_bytes(const struct attention_settings *s)
{
    const struct attention_shape *shape = &s->shape;
    double row = (double)(rmli_kv_head_nbytes(s->k, shape->head_dim) +
                          rmli_kv_head_nbytes(s->v, shape->head_dim));
    double n_rows = (double)s->n_rows;
    double kv = row * shape->n_head_kv * ((double)s->depth + 2 * n_rows); /* the new: both */
    return kv + 2.0 * n_rows * shape->n_head * shape->head_dim * sizeof(float);
}

double attention_flops(const struct attention_settings *s)
{
    double n = (double)s->n_rows, keys = n * (double)s->depth + n * (n + 1) / 2;
    return 4.0 * s->shape.n_head * s->shape.head_dim * keys;
}

double attention_memory_nbytes(const struct attention_settings *s)
{
    const struct rml_kv_shape kv = {.n_layer = 1,
                                    .n_head_kv = s->shape.n_head_kv,
                                    .head_dim = s->shape.head_dim,
                                    .k_dtype = s->k,
                                    .v_dtype = s->v};
    size_t n_pages = (s->depth + s->n_rows + RML_PAGE_TOKENS - 1) / RML_PAGE_TOKENS;
    double rows = 2.0 * (double)s->n_rows * s->shape.head_dim * sizeof(float) *
                  (s->shape.n_head + s->shape.n_head_kv);
    return (double)n_pages * (double)rml_kv_page_nbytes(&kv) + (s->n_rows > 1 ? rows : 0);
}

size_t attention_case_kv_nbytes(const struct attention_case *c)
{
    return rml_kv_cache_nbytes_used(c->cache);
}
