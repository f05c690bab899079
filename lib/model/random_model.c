/*
 * A model with random weights, for benchmarks of shapes whose checkpoints are not here.
 *
 * Float matrices are normal with standard deviation 0.02. Quantised blocks are random bits
 * with scales that give about the same deviation: no quantiser is needed, every bit
 * pattern occurs, and the time of a kernel does not depend on the values.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/memory.h"
#include "base/rng.h"
#include "model/model.h"

#define DEVIATION 0.02f

/* Where a block keeps its f16 scales, and the integers' standard deviation and mean under
 * uniform bits: d = DEVIATION / deviation, and an offset (m, or dmin times the mean of its
 * integers) takes the mean away. */
struct block_scales {
    int d_at, offset_at; /* bytes from the block's start; -1: none */
    float deviation;     /* of the integer that d multiplies */
    float offset;        /* m or dmin, as a multiple of d */
};

static const struct block_scales block_scales[RML_N_WEIGHT_DTYPES] = {
    [RML_Q4_0] = {0, -1, 4.61f, 0},     [RML_Q4_1] = {0, 2, 4.61f, -7.5f},
    [RML_Q5_0] = {0, -1, 9.23f, 0},     [RML_Q5_1] = {0, 2, 9.23f, -15.5f},
    [RML_Q8_0] = {0, -1, 73.9f, 0},     [RML_Q2_K] = {80, 82, 12.4f, 1.5f},
    [RML_Q3_K] = {108, -1, 42.4f, 0},   [RML_Q4_K] = {0, 2, 297.0f, 7.5f},
    [RML_Q5_K] = {0, 2, 606.0f, 15.5f}, [RML_Q6_K] = {208, -1, 1366.0f, 0},
    [RML_IQ4_NL] = {0, -1, 67.0f, 0},   [RML_IQ4_XS] = {0, -1, 1236.0f, 0},
};

struct builder {
    uint8_t *next; /* in the arena; NULL while sizes are counted */
    size_t nbytes; /* counted so far, each part rounded up to the alignment */
    enum rml_dtype dtype;
    struct rmli_rng rng;
};

static void *take(struct builder *b, size_t nbytes)
{
    uint8_t *p = b->next ? b->next + b->nbytes : NULL;
    b->nbytes += (nbytes + RMLI_ALIGNMENT - 1) / RMLI_ALIGNMENT * RMLI_ALIGNMENT;
    return p;
}

static float normal(struct rmli_rng *rng)
{
    double u = 1 - rmli_rng_uniform(rng), v = rmli_rng_uniform(rng);
    return (float)(sqrt(-2 * log(u)) * cos(2 * M_PI * v));
}

static void fill_floats(struct builder *b, uint8_t *data, enum rml_dtype dtype, size_t nelems)
{
    for (size_t i = 0; i < nelems; i++) {
        float f = DEVIATION * normal(&b->rng);
        uint16_t half = dtype == RML_F16 ? rmli_f16_from_f32(f) : rmli_bf16_from_f32(f);
        if (dtype == RML_F32)
            memcpy(data + 4 * i, &f, 4);
        else
            memcpy(data + 2 * i, &half, 2);
    }
}

static void fill_blocks(struct builder *b, uint8_t *data, enum rml_dtype dtype, size_t nbytes)
{
    const struct block_scales *scales = &block_scales[dtype];
    const size_t block_nbytes = rml_dtype_traits(dtype)->block_nbytes;
    const float d = DEVIATION / scales->deviation;
    const uint16_t d_f16 = rmli_f16_from_f32(d), offset_f16 = rmli_f16_from_f32(d * scales->offset);
    for (size_t i = 0; i < nbytes; i += sizeof(uint64_t)) {
        uint64_t bits = rmli_rng_next(&b->rng);
        memcpy(data + i, &bits, nbytes - i < sizeof bits ? nbytes - i : sizeof bits);
    }
    for (size_t at = 0; at < nbytes; at += block_nbytes) {
        memcpy(data + at + scales->d_at, &d_f16, 2);
        if (scales->offset_at >= 0)
            memcpy(data + at + scales->offset_at, &offset_f16, 2);
    }
}

static struct rmli_matrix matrix(struct builder *b, size_t n_rows, size_t n_cols)
{
    struct rmli_matrix m = {.dtype = b->dtype, .n_rows = n_rows, .n_cols = n_cols};
    rml_dtype_row_nbytes(b->dtype, n_cols, &m.row_nbytes);
    uint8_t *data = take(b, n_rows * m.row_nbytes);
    m.data = data;
    if (data && block_scales[b->dtype].deviation > 0)
        fill_blocks(b, data, b->dtype, n_rows * m.row_nbytes);
    else if (data)
        fill_floats(b, data, b->dtype, n_rows * n_cols);
    return m;
}

static float *vector(struct builder *b, size_t n, float value)
{
    float *p = take(b, n * sizeof *p);
    for (size_t i = 0; p && i < n; i++)
        p[i] = value;
    return p;
}

static struct rmli_matrix *matrices(struct builder *b, uint32_t count, size_t n_rows, size_t n_cols)
{
    struct rmli_matrix *list = take(b, count * sizeof *list);
    for (uint32_t i = 0; i < count; i++) {
        struct rmli_matrix m = matrix(b, n_rows, n_cols);
        if (list)
            list[i] = m;
    }
    return list;
}

static struct rmli_layer_weights layer(struct builder *b, const struct rml_model_config *c)
{
    size_t q_dim = (size_t)c->n_head * c->head_dim, kv_dim = (size_t)c->n_head_kv * c->head_dim;
    struct rmli_layer_weights w = {
        .attention_norm = vector(b, c->n_embd, 1),
        .feed_forward_norm = vector(b, c->n_embd, 1),
        .q = matrix(b, q_dim, c->n_embd),
        .k = matrix(b, kv_dim, c->n_embd),
        .v = matrix(b, kv_dim, c->n_embd),
        .o = matrix(b, c->n_embd, q_dim),
    };
    if (c->attention_bias) {
        w.q_bias = vector(b, q_dim, 0);
        w.k_bias = vector(b, kv_dim, 0);
        w.v_bias = vector(b, kv_dim, 0);
    }
    if (c->qk_norm != RML_QK_NORM_NONE) {
        bool whole = c->qk_norm == RML_QK_NORM_WHOLE;
        w.q_norm = vector(b, whole ? q_dim : c->head_dim, 1);
        w.k_norm = vector(b, whole ? kv_dim : c->head_dim, 1);
    }
    if (c->sandwich_norms) {
        w.post_attention_norm = vector(b, c->n_embd, 1);
        w.post_feed_forward_norm = vector(b, c->n_embd, 1);
    }
    if (c->n_expert) {
        w.router = matrix(b, c->n_expert, c->n_embd);
        w.expert_gate = matrices(b, c->n_expert, c->n_ff_expert, c->n_embd);
        w.expert_up = matrices(b, c->n_expert, c->n_ff_expert, c->n_embd);
        w.expert_down = matrices(b, c->n_expert, c->n_embd, c->n_ff_expert);
    } else {
        w.gate = matrix(b, c->n_ff, c->n_embd);
        w.up = matrix(b, c->n_ff, c->n_embd);
        w.down = matrix(b, c->n_embd, c->n_ff);
    }
    return w;
}

/* Lays all weights out from b->next, or only counts their bytes when that is NULL. */
static void build(struct builder *b, const struct rml_model_config *c, struct rmli_weights *w)
{
    w->embedding = matrix(b, c->n_vocab, c->n_embd);
    w->head = c->tied_head ? w->embedding : matrix(b, c->n_vocab, c->n_embd);
    w->output_norm = vector(b, c->n_embd, 1);
    if (c->rope_scaling.type == RML_ROPE_SCALING_FACTORS)
        w->rope_factors = vector(b, c->head_dim / 2, 1);
    w->layers = take(b, c->n_layer * sizeof *w->layers);
    for (uint32_t l = 0; l < c->n_layer; l++) {
        struct rmli_layer_weights filled = layer(b, c);
        if (w->layers)
            w->layers[l] = filled;
    }
    w->nbytes = b->nbytes;
}

static bool check_columns(const struct rml_model_config *c, enum rml_dtype dtype,
                          struct rml_error *err)
{
    const size_t columns[] = {c->n_embd, (size_t)c->n_head * c->head_dim,
                              c->n_expert ? c->n_ff_expert : c->n_ff};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (columns[i] % rml_dtype_traits(dtype)->block_nelems)
            return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1,
                             "%zu columns are no whole blocks of %s (%u elements)", columns[i],
                             rml_dtype_traits(dtype)->name, rml_dtype_traits(dtype)->block_nelems);
    }
    return true;
}

bool rml_random_model_fits(const struct rml_model_config *config, enum rml_dtype dtype,
                           struct rml_error *err)
{
    if ((unsigned)dtype >= RML_N_WEIGHT_DTYPES)
        return rmli_fail(err, RML_INVALID_ARGUMENT, NULL, -1, "%s is no type of weights",
                         rml_dtype_traits(dtype)->name);
    return rmli_model_config_validate(config, "", NULL, err) && check_columns(config, dtype, err);
}

struct rml_model *rml_model_random(const struct rml_model_config *config, enum rml_dtype dtype,
                                   uint64_t seed, struct rml_error *err)
{
    if (!rml_random_model_fits(config, dtype, err))
        return NULL;
    struct builder counted = {.dtype = dtype}, filled = {.dtype = dtype};
    struct rml_model *model = calloc(1, sizeof *model);
    if (!model) {
        rmli_fail(err, RML_NO_MEMORY, NULL, -1, "no memory for a model");
        return NULL;
    }
    model->config = *config;
    build(&counted, config, &model->weights);
    model->arena = filled.next = rmli_alloc(counted.nbytes, 1, err);
    if (!model->arena) {
        free(model);
        return NULL;
    }
    rmli_rng_seed(&filled.rng, seed);
    build(&filled, config, &model->weights);
    if (!rmli_model_init_rope(model, err)) {
        rml_model_destroy(model);
        return NULL;
    }
    return model;
}
