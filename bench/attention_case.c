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
    size_t depth;
    struct rml_thread_pool *pool;
    const struct rmli_kernels *kernels;
    struct rml_kv_cache *cache;
    struct rml_sequence *sequence;
    struct rmli_attention *attention;
    float *q, *out;     /* [n_head * head_dim] */
    float *key, *value; /* [n_head_kv * head_dim] of the new token */
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

static void store_token(struct attention_case *c, size_t position)
{
    const struct rmli_attention_kernels *kernels = c->kernels->attention;
    size_t dim = c->shape.head_dim;
    for (uint32_t head = 0; head < c->shape.n_head_kv; head++) {
        kernels->store[c->kv.k_dtype](rmli_sequence_key(c->sequence, 0, head, position),
                                      c->key + head * dim, dim);
        kernels->store[c->kv.v_dtype](rmli_sequence_value(c->sequence, 0, head, position),
                                      c->value + head * dim, dim);
    }
}

static bool fill(struct attention_case *c, uint64_t seed, struct rml_error *err)
{
    size_t n = (size_t)c->shape.n_head_kv * c->shape.head_dim;
    struct rmli_rng rng;
    rmli_rng_seed(&rng, seed);
    if (!rmli_sequence_reserve(c->sequence, c->depth + 1, err))
        return false;
    for (size_t position = 0; position <= c->depth; position++) {
        draw_many(&rng, c->key, n);
        draw_many(&rng, c->value, n);
        store_token(c, position);
    }
    rmli_sequence_commit(c->sequence, c->depth);
    draw_many(&rng, c->q, (size_t)c->shape.n_head * c->shape.head_dim);
    return true;
}

struct attention_case *attention_case_create(const struct attention_settings *settings,
                                             struct rml_thread_pool *pool, struct rml_error *err)
{
    const struct attention_shape *shape = &settings->shape;
    size_t depth = settings->depth;
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
        .pool = pool,
        .kernels = rmli_kernels_best(err),
    };
    size_t n_q = (size_t)shape->n_head * shape->head_dim;
    size_t n_kv = (size_t)shape->n_head_kv * shape->head_dim;
    size_t n_pages = depth / RML_PAGE_TOKENS + 1;
    if (!c->kernels || !(c->q = rmli_alloc(n_q, sizeof *c->q, err)) ||
        !(c->out = rmli_alloc_zeroed(n_q, sizeof *c->out, err)) ||
        !(c->key = rmli_alloc(n_kv, sizeof *c->key, err)) ||
        !(c->value = rmli_alloc(n_kv, sizeof *c->value, err)) ||
        !(c->cache = rml_kv_cache_create(&c->kv, n_pages, err)) ||
        !(c->sequence = rml_sequence_create(c->cache, depth + 1, err)) ||
        !(c->attention = rmli_attention_create(pool, shape->n_head, shape->n_head_kv,
                                               shape->head_dim, 1, depth + 1, err)) ||
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
    const struct rmli_row row = {.sequence = c->sequence, .position = c->depth};
    (void)times, (void)err;
    for (int64_t i = 0; i < iters; i++) {
        store_token(c, c->depth);
        rmli_attend(c->attention, c->pool, c->kernels, &params, &row, 1, c->q, c->out);
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
    *nbytes = (size_t)c->shape.n_head * c->shape.head_dim * sizeof *c->out;
    return c->out;
}

bool attention_case_verify(const struct attention_case *c, struct rml_error *err)
{
    const struct rmli_attention_params params = params_of(c);
    const struct rmli_row row = {.sequence = c->sequence, .position = c->depth};
    size_t n = (size_t)c->shape.n_head * c->shape.head_dim;
    float *want = rmli_alloc(n, sizeof *want, err);
    if (!want)
        return false;
    rmli_attend_ref(&params, &row, 1, c->q, want);
    double largest = 0, worst = 0;
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs((double)want[i]));
        worst = fmax(worst, fabs((double)c->out[i] - (double)want[i]));
        finite = finite && isfinite(c->out[i]);
    }
    rmli_free(want);
    if (finite && worst <= 1e-4 * largest)
        return true;
    return rmli_fail(err, RML_INTERNAL, NULL, -1,
                     "attention output is wrong: off by %g from the definition, whose largest "
                     "value is %g",
                     finite ? worst : NAN, largest);
}

double attention_bytes(const struct attention_settings *s)
{
    const struct attention_shape *shape = &s->shape;
    double row = (double)(rmli_kv_head_nbytes(s->k, shape->head_dim) +
                          rmli_kv_head_nbytes(s->v, shape->head_dim));
    double kv = row * shape->n_head_kv * ((double)s->depth + 2); /* depth + 1 read, 1 written */
    return kv + 2.0 * shape->n_head * shape->head_dim * sizeof(float);
}

double attention_flops(const struct attention_settings *s)
{
    return 4.0 * s->shape.n_head * s->shape.head_dim * ((double)s->depth + 1);
}

double attention_memory_nbytes(const struct attention_settings *s)
{
    const struct rml_kv_shape kv = {.n_layer = 1,
                                    .n_head_kv = s->shape.n_head_kv,
                                    .head_dim = s->shape.head_dim,
                                    .k_dtype = s->k,
                                    .v_dtype = s->v};
    return (double)(s->depth / RML_PAGE_TOKENS + 1) * (double)rml_kv_page_nbytes(&kv);
}

size_t attention_case_kv_nbytes(const struct attention_case *c)
{
    return rml_kv_cache_nbytes_used(c->cache);
}
