/*
 * The tensors of a Hugging Face folder as llama.cpp's converter lays them out.
 *
 * The names are those of model/weight_names.h; the recipe (model_config.h) says which there are. That
 * each is there, has its shape, and that none is left over, the weight loader has checked before.
 * What differs from the folder:
 *
 *   - q and k of the llama architecture pair neighbours (conversion_private.h);
 *   - experts are stacked into one tensor, gate and up apart;
 *   - Gemma's norms have their 1 added;
 *   - the scaling of Llama 3.1 becomes a tensor of divisors, one a pair of dimensions.
 */
#include <math.h>
#include <string.h>

#include "convert/folder.h"
#include "model/tensor_values.h"
#include "model/weights.h"

struct planner {
    struct rml_conversion *c;
    const struct rml_model_config *config;
    bool interleaved; /* the architecture's rotary pairs are neighbours */
    struct rml_error *err;
};

static const struct rml_tensor_info *find(const struct planner *p, enum rmli_weight weight,
                                          uint32_t layer, uint32_t expert)
{
    char names[RMLI_WEIGHT_MAX_NAMES][RMLI_WEIGHT_NAME_NBYTES];
    int n =
        rmli_weight_names(RML_CHECKPOINT_HF, p->config->architecture, weight, layer, expert, names);
    for (int i = 0; i < n; i++) {
        const struct rml_tensor_info *tensor = rml_checkpoint_find_tensor(p->c->cp, names[i]);
        if (tensor)
            return tensor;
    }
    return NULL;
}

static bool fail_missing(const struct planner *p, enum rmli_weight weight, uint32_t layer)
{
    char names[RMLI_WEIGHT_MAX_NAMES][RMLI_WEIGHT_NAME_NBYTES] = {"?"};
    rmli_weight_names(RML_CHECKPOINT_GGUF, p->config->architecture, weight, layer, 0, names);
    return rmli_fail(p->err, RML_NOT_FOUND, rml_checkpoint_path(p->c->cp), -1, "no tensor for '%s'",
                     names[0]);
}

static struct rmli_planned_tensor *add(const struct planner *p, enum rmli_weight weight,
                                       uint32_t layer, enum rml_dtype from, int n_dims,
                                       const uint64_t *dims)
{
    char names[RMLI_WEIGHT_MAX_NAMES][RMLI_WEIGHT_NAME_NBYTES];
    rmli_weight_names(RML_CHECKPOINT_GGUF, p->config->architecture, weight, layer, 0, names);
    return rmli_conversion_add(p->c, names[0], from, n_dims, dims, p->err);
}

/* ---- Of one tensor -------------------------------------------------------------------- */

static bool plan_matrix(const struct planner *p, enum rmli_weight weight, uint32_t layer,
                        uint64_t n_rows, uint64_t n_cols, uint64_t n_heads)
{
    const struct rml_tensor_info *tensor = find(p, weight, layer, 0);
    const uint64_t dims[2] = {n_rows, n_cols};
    if (!tensor)
        return fail_missing(p, weight, layer);
    struct rmli_planned_tensor *t = add(p, weight, layer, tensor->dtype, 2, dims);
    if (!t || !rmli_conversion_add_sources(p->c, t, 1, p->err))
        return false;
    t->sources[0].tensor = tensor;
    t->rows_per_source = n_rows;
    t->n_heads = p->interleaved ? n_heads : 0;
    t->info.nbytes_before = tensor->nbytes;
    return true;
}

static bool plan_norm(const struct planner *p, enum rmli_weight weight, uint32_t layer, uint64_t n)
{
    const struct rml_tensor_info *tensor = find(p, weight, layer, 0);
    if (!tensor)
        return fail_missing(p, weight, layer);
    struct rmli_planned_tensor *t = add(p, weight, layer, tensor->dtype, 1, &n);
    if (!t || !rmli_conversion_add_sources(p->c, t, 1, p->err))
        return false;
    t->sources[0].tensor = tensor;
    t->rows_per_source = 1;
    t->plus_one = p->config->norm_plus_one;
    t->info.nbytes_before = tensor->nbytes;
    return true;
}

static float *values(const struct planner *p, uint64_t n)
{
    return rmli_arena_alloc(&p->c->arena, (size_t)n * sizeof(float), p->err);
}

/* A bias of q or k is one row whose elements change places. */
static bool plan_bias(const struct planner *p, enum rmli_weight weight, uint32_t layer, uint64_t n,
                      uint64_t n_heads)
{
    const struct rml_tensor_info *tensor = find(p, weight, layer, 0);
    if (!tensor)
        return fail_missing(p, weight, layer);
    struct rmli_planned_tensor *t = add(p, weight, layer, tensor->dtype, 1, &n);
    float *x = t ? values(p, 2 * n) : NULL;
    if (!x)
        return false;
    t->info.nbytes_before = tensor->nbytes;
    t->values = x;
    rml_tensor_widen(tensor, 0, (size_t)n, x);
    if (!p->interleaved || !n_heads)
        return true;
    float *y = x + n;
    uint64_t head_dim = n / n_heads;
    for (uint64_t i = 0; i < n; i++)
        y[i] = x[i - i % head_dim + i % head_dim / 2 + i % 2 * (head_dim / 2)];
    t->values = y;
    return true;
}

static bool plan_rope_factors(const struct planner *p)
{
    const struct rml_rope_scaling *s = &p->config->rope_scaling;
    const double two_pi = 6.283185307179586476925286766559;
    uint64_t n = p->config->head_dim / 2;
    struct rmli_planned_tensor *t = add(p, RMLI_WEIGHT_ROPE_FACTORS, 0, RML_F32, 1, &n);
    float *x = t ? values(p, n) : NULL;
    if (!x)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        /* Turns over the original context: few are slowed down by the factor, many are not. */
        double inv_freq = pow(p->config->rope_theta, -2.0 * (double)i / p->config->head_dim);
        double n_turns = s->original_context * inv_freq / two_pi;
        double blend = (n_turns - s->low_freq_factor) / (s->high_freq_factor - s->low_freq_factor);
        blend = blend < 0 ? 0 : blend > 1 ? 1 : blend;
        x[i] = (float)(1 / ((1 - blend) / s->factor + blend));
    }
    t->values = x;
    return true;
}

/* ---- Experts ----------------------------------------------------------------------------- */

/* One of gate, up and down of all experts. `fused`: a tensor with all experts, of stride rows
 * each, ours from `first` on; or NULL. */
static bool plan_experts(const struct planner *p, enum rmli_weight stacked, enum rmli_weight expert,
                         uint32_t layer, uint64_t n_rows, uint64_t n_cols,
                         const struct rml_tensor_info *fused, uint64_t stride, uint64_t first)
{
    uint32_t n_expert = p->config->n_expert;
    const uint64_t dims[3] = {n_expert, n_rows, n_cols};
    const struct rml_tensor_info *one = fused ? fused : find(p, expert, layer, 0);
    if (!one)
        return fail_missing(p, stacked, layer);
    struct rmli_planned_tensor *t = add(p, stacked, layer, one->dtype, 3, dims);
    if (!t || !rmli_conversion_add_sources(p->c, t, n_expert, p->err))
        return false;
    t->rows_per_source = n_rows;
    for (uint32_t e = 0; e < n_expert; e++) {
        const struct rml_tensor_info *source = fused ? fused : find(p, expert, layer, e);
        if (!source)
            return fail_missing(p, stacked, layer);
        t->sources[e].tensor = source;
        t->sources[e].first_row = fused ? e * stride + first : 0;
        t->info.nbytes_before += n_rows * n_cols * rml_dtype_traits(source->dtype)->block_nbytes;
        if (source->dtype != one->dtype)
            t->info.from = RML_F32; /* of several types: none is copied as it is */
    }
    return true;
}

static bool plan_all_experts(const struct planner *p, uint32_t layer)
{
    uint64_t n_ff = p->config->n_ff_expert, n_embd = p->config->n_embd;
    const struct rml_tensor_info *gate_up = find(p, RMLI_WEIGHT_STACKED_GATE_UP, layer, 0);
    const struct rml_tensor_info *down = find(p, RMLI_WEIGHT_STACKED_DOWN, layer, 0);
    return plan_experts(p, RMLI_WEIGHT_STACKED_GATE, RMLI_WEIGHT_EXPERT_GATE, layer, n_ff, n_embd,
                        gate_up, 2 * n_ff, 0) &&
           plan_experts(p, RMLI_WEIGHT_STACKED_UP, RMLI_WEIGHT_EXPERT_UP, layer, n_ff, n_embd,
                        gate_up, 2 * n_ff, n_ff) &&
           plan_experts(p, RMLI_WEIGHT_STACKED_DOWN, RMLI_WEIGHT_EXPERT_DOWN, layer, n_embd, n_ff,
                        gate_up ? down : NULL, n_embd, 0);
}

/* ---- Layers --------------------------------------------------------------------------------- */

static bool plan_attention(const struct planner *p, uint32_t i)
{
    const struct rml_model_config *c = p->config;
    uint64_t q = (uint64_t)c->n_head * c->head_dim, kv = (uint64_t)c->n_head_kv * c->head_dim;
    bool whole = c->qk_norm == RML_QK_NORM_WHOLE;
    if (!plan_norm(p, RMLI_WEIGHT_ATTENTION_NORM, i, c->n_embd) ||
        !plan_matrix(p, RMLI_WEIGHT_Q, i, q, c->n_embd, c->n_head) ||
        !plan_matrix(p, RMLI_WEIGHT_K, i, kv, c->n_embd, c->n_head_kv) ||
        !plan_matrix(p, RMLI_WEIGHT_V, i, kv, c->n_embd, 0) ||
        !plan_matrix(p, RMLI_WEIGHT_O, i, c->n_embd, q, 0))
        return false;
    if (c->attention_bias && (!plan_bias(p, RMLI_WEIGHT_Q_BIAS, i, q, c->n_head) ||
                              !plan_bias(p, RMLI_WEIGHT_K_BIAS, i, kv, c->n_head_kv) ||
                              !plan_bias(p, RMLI_WEIGHT_V_BIAS, i, kv, 0)))
        return false;
    return c->qk_norm == RML_QK_NORM_NONE ||
           (plan_norm(p, RMLI_WEIGHT_Q_NORM, i, whole ? q : c->head_dim) &&
            plan_norm(p, RMLI_WEIGHT_K_NORM, i, whole ? kv : c->head_dim));
}

static bool plan_feed_forward(const struct planner *p, uint32_t i)
{
    const struct rml_model_config *c = p->config;
    if (!plan_norm(p, RMLI_WEIGHT_FEED_FORWARD_NORM, i, c->n_embd))
        return false;
    if (c->n_expert)
        return plan_matrix(p, RMLI_WEIGHT_ROUTER, i, c->n_expert, c->n_embd, 0) &&
               plan_all_experts(p, i);
    return plan_matrix(p, RMLI_WEIGHT_GATE, i, c->n_ff, c->n_embd, 0) &&
           plan_matrix(p, RMLI_WEIGHT_UP, i, c->n_ff, c->n_embd, 0) &&
           plan_matrix(p, RMLI_WEIGHT_DOWN, i, c->n_embd, c->n_ff, 0);
}

static bool plan_layer(const struct planner *p, uint32_t i)
{
    const struct rml_model_config *c = p->config;
    return plan_attention(p, i) && plan_feed_forward(p, i) &&
           (!c->sandwich_norms || (plan_norm(p, RMLI_WEIGHT_POST_ATTENTION_NORM, i, c->n_embd) &&
                                   plan_norm(p, RMLI_WEIGHT_POST_FEED_FORWARD_NORM, i, c->n_embd)));
}

bool rmli_conversion_plan_folder(struct rml_conversion *c, struct rml_error *err)
{
    const struct rml_model_config *config = &c->config;
    /* Looks at every tensor's shape and type, and for any that is not used. */
    struct rmli_weights weights;
    if (!rmli_weights_init(&weights, c->cp, config, err))
        return false;
    rmli_weights_release(&weights);

    const struct planner p = {.c = c,
                              .config = config,
                              .interleaved = strcmp(rmli_gguf_architecture(config), "llama") == 0,
                              .err = err};
    if (config->rope_scaling.type == RML_ROPE_SCALING_LLAMA3 && !plan_rope_factors(&p))
        return false;
    if (!plan_matrix(&p, RMLI_WEIGHT_EMBEDDING, 0, config->n_vocab, config->n_embd, 0) ||
        !plan_norm(&p, RMLI_WEIGHT_OUTPUT_NORM, 0, config->n_embd) ||
        (!config->tied_head &&
         !plan_matrix(&p, RMLI_WEIGHT_HEAD, 0, config->n_vocab, config->n_embd, 0)))
        return false;
    for (uint32_t i = 0; i < config->n_layer; i++)
        if (!plan_layer(&p, i))
            return false;
    return true;
}
