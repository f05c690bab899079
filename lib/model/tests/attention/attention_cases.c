/* Drawing and running batches for tests of attention. */
#include "model/tests/attention/attention_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

uint64_t attention_seed(void)
{
    static uint64_t seed;
    if (seed == 0) {
        const char *fixed = getenv("RML_TEST_SEED");
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        seed = fixed && *fixed ? strtoull(fixed, NULL, 0)
                               : (uint64_t)t.tv_nsec * 2654435761u + (uint64_t)getpid();
        seed += seed == 0;
    }
    return seed;
}

static void fill(struct rmli_rng *rng, float *x, size_t n, float magnitude)
{
    for (size_t i = 0; i < n; i++)
        x[i] = magnitude * (float)(rmli_rng_uniform(rng) + rmli_rng_uniform(rng) +
                                   rmli_rng_uniform(rng) + rmli_rng_uniform(rng) - 2);
}

void attention_append(struct rml_sequence *s, struct rmli_rng *rng, size_t n)
{
    const struct rml_kv_shape *shape = rml_kv_cache_shape(rml_sequence_cache(s));
    float x[RMLI_MAX_HEAD_DIM];
    size_t length = rml_sequence_length(s);
    if (!rmli_sequence_reserve(s, n, NULL))
        abort();
    for (size_t i = length; i < length + n; i++) {
        /* Some keys stand out, so that maxima move along the context. */
        float magnitude = rmli_rng_below(rng, 16) ? 1.0f : 6.0f;
        for (uint32_t layer = 0; layer < shape->n_layer; layer++) {
            for (uint32_t head = 0; head < shape->n_head_kv; head++) {
                fill(rng, x, shape->head_dim, magnitude);
                rmli_attention_ref.store[shape->k_dtype](rmli_sequence_key(s, layer, head, i), x,
                                                         shape->head_dim);
                fill(rng, x, shape->head_dim, 1);
                rmli_attention_ref.store[shape->v_dtype](rmli_sequence_value(s, layer, head, i), x,
                                                         shape->head_dim);
            }
        }
    }
    rmli_sequence_commit(s, n);
}

/* A sequence with the same rows in pages of its own. */
static struct rml_sequence *copy_of(const struct rml_sequence *s)
{
    struct rml_kv_cache *cache = rml_sequence_cache(s);
    const struct rml_kv_shape *shape = rml_kv_cache_shape(cache);
    size_t n = rml_sequence_length(s);
    struct rml_sequence *copy = must(rml_sequence_create(cache, n, NULL));
    if (!rmli_sequence_reserve(copy, n, NULL))
        abort();
    for (size_t i = 0; i < n; i++) {
        for (uint32_t layer = 0; layer < shape->n_layer; layer++) {
            for (uint32_t head = 0; head < shape->n_head_kv; head++) {
                memcpy(rmli_sequence_key(copy, layer, head, i),
                       rmli_sequence_key(s, layer, head, i),
                       rmli_kv_head_nbytes(shape->k_dtype, shape->head_dim));
                memcpy(rmli_sequence_value(copy, layer, head, i),
                       rmli_sequence_value(s, layer, head, i),
                       rmli_kv_head_nbytes(shape->v_dtype, shape->head_dim));
            }
        }
    }
    rmli_sequence_commit(copy, n);
    return copy;
}

static void draw_sequences(struct attention_case *c, struct rmli_rng *rng, size_t n_tokens)
{
    c->n_sequences = 1 + rmli_rng_below(rng, ATTENTION_MAX_SEQUENCES);
    size_t n_pages = 2 * ATTENTION_MAX_SEQUENCES * (n_tokens / RML_PAGE_TOKENS + 1);
    c->cache = must(rml_kv_cache_create(&c->shape, n_pages, NULL));
    for (size_t i = 0; i < c->n_sequences; i++) {
        struct rml_sequence *s;
        size_t kept = 0;
        if (i > 0 && rmli_rng_below(rng, 2)) {
            const struct rml_sequence *parent = c->sequences[rmli_rng_below(rng, i)];
            kept = rmli_rng_below(rng, rml_sequence_length(parent) + 1);
            s = must(rml_sequence_fork(parent, kept, NULL));
        } else {
            s = must(rml_sequence_create(c->cache, n_tokens, NULL));
        }
        size_t n = rmli_rng_below(rng, n_tokens - kept + 1);
        attention_append(s, rng, kept + n > 0 ? n : 1);
        c->sequences[i] = s;
        c->unshared[i] = copy_of(s);
    }
}

/* Rows of some sequences: the last ones (a prefill chunk, one of them a decode
 * step) or any ascending choice (rows whose logits are wanted). */
static void draw_rows(struct attention_case *c, struct rmli_rng *rng)
{
    size_t capacity = 0;
    for (size_t i = 0; i < c->n_sequences; i++)
        capacity += rml_sequence_length(c->sequences[i]);
    c->rows = must(malloc(capacity * sizeof *c->rows));
    for (size_t i = 0; i < c->n_sequences; i++) {
        size_t length = rml_sequence_length(c->sequences[i]);
        size_t n = rmli_rng_below(rng, 2) ? 1 : 1 + rmli_rng_below(rng, length < 70 ? length : 70);
        bool gaps = rmli_rng_below(rng, 4) == 0;
        for (size_t p = gaps ? 0 : length - n; p < length; p++)
            if (!gaps || rmli_rng_below(rng, length) < n)
                c->rows[c->n_rows++] = (struct rmli_row){c->sequences[i], p};
    }
}

void attention_case_init(struct attention_case *c, struct rmli_rng *rng,
                         const struct attention_limits *limits)
{
    static const uint32_t head_dims[] = {6, 8, 12, 16, 32, 40, 64, 80, 96, 128, 256};
    *c = (struct attention_case){0};
    c->shape = (struct rml_kv_shape){
        .n_layer = 1 + (uint32_t)rmli_rng_below(rng, limits->n_layer),
        .n_head_kv = 1 + (uint32_t)rmli_rng_below(rng, limits->n_head_kv),
        .head_dim = head_dims[rmli_rng_below(rng, sizeof head_dims / sizeof head_dims[0])],
        .k_dtype = (enum rml_kv_dtype)rmli_rng_below(rng, RML_N_KV_DTYPES),
        .v_dtype = (enum rml_kv_dtype)rmli_rng_below(rng, RML_N_KV_DTYPES)};
    uint32_t group = 1 + (uint32_t)rmli_rng_below(rng, limits->group);
    c->params = (struct rmli_attention_params){
        .n_head = group * c->shape.n_head_kv,
        .n_head_kv = c->shape.n_head_kv,
        .head_dim = c->shape.head_dim,
        .layer = (uint32_t)rmli_rng_below(rng, c->shape.n_layer),
        .window = rmli_rng_below(rng, 2) ? 1 + (uint32_t)rmli_rng_below(rng, limits->n_tokens) : 0,
        .scale = 1 / sqrtf((float)c->shape.head_dim)};
    c->max_context = limits->n_tokens;
    draw_sequences(c, rng, limits->n_tokens);
    while (c->n_rows == 0) {
        free(c->rows);
        draw_rows(c, rng);
    }
    size_t n = c->n_rows * c->params.n_head * c->params.head_dim;
    c->q = must(malloc(n * sizeof *c->q));
    c->out = must(malloc(n * sizeof *c->out));
    fill(rng, c->q, n, 2);
}

void attention_case_release(struct attention_case *c)
{
    for (size_t i = 0; i < c->n_sequences; i++) {
        rml_sequence_destroy(c->sequences[i]);
        rml_sequence_destroy(c->unshared[i]);
    }
    rml_kv_cache_destroy(c->cache);
    free(c->rows);
    free(c->q);
    free(c->out);
}

static void run(const struct attention_case *c, const struct rmli_kernels *kernels,
                struct rml_thread_pool *pool, const struct rmli_row *rows, size_t n_rows,
                const float *q, float *out)
{
    struct rmli_attention *attention =
        must(rmli_attention_create(pool, c->params.n_head, c->params.n_head_kv, c->params.head_dim,
                                   n_rows, c->max_context, NULL));
    rmli_attend(attention, pool, kernels, &c->params, rows, n_rows, q, out);
    rmli_attention_destroy(attention);
}

void attention_run(const struct attention_case *c, const struct rmli_kernels *kernels,
                   struct rml_thread_pool *pool, float *out)
{
    run(c, kernels, pool, c->rows, c->n_rows, c->q, out);
}

void attention_run_row(const struct attention_case *c, const struct rmli_kernels *kernels,
                       struct rml_thread_pool *pool, size_t r, bool unshared, float *out)
{
    struct rmli_row row = c->rows[r];
    for (size_t i = 0; i < c->n_sequences && unshared; i++)
        if (c->sequences[i] == row.sequence) {
            row.sequence = c->unshared[i];
            break;
        }
    run(c, kernels, pool, &row, 1, c->q + r * c->params.n_head * c->params.head_dim, out);
}
