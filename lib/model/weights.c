/*
 * Finding the weights. What the recipe implies is asked for by name, checked
 * and noted as used; what is left over at the end must be inert.
 */
#include "model/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/weight_loader.h"

static bool load_attention(struct rmli_weight_loader *l, uint32_t i)
{
    const struct rml_model_config *c = l->config;
    struct rmli_layer_weights *w = &l->weights->layers[i];
    uint64_t q_rows = (uint64_t)c->n_head * c->head_dim;
    uint64_t kv_rows = (uint64_t)c->n_head_kv * c->head_dim;
    bool whole = c->qk_norm == RML_QK_NORM_WHOLE;

    const struct rmli_rows rows[3] = {
        {&w->q, &w->q_bias, q_rows}, {&w->k, &w->k_bias, kv_rows}, {&w->v, &w->v_bias, kv_rows}};
    if (!rmli_load_norm(l, RMLI_WEIGHT_ATTENTION_NORM, i, c->n_embd, &w->attention_norm) ||
        !rmli_load_qkv(l, i, rows))
        return false;
    if (c->qk_norm != RML_QK_NORM_NONE &&
        (!rmli_load_norm(l, RMLI_WEIGHT_Q_NORM, i, whole ? q_rows : c->head_dim, &w->q_norm) ||
         !rmli_load_norm(l, RMLI_WEIGHT_K_NORM, i, whole ? kv_rows : c->head_dim, &w->k_norm)))
        return false;
    if (!rmli_load_matrix(l, RMLI_WEIGHT_O, i, 0, c->n_embd, q_rows, &w->o))
        return false;
    return !c->sandwich_norms || rmli_load_norm(l, RMLI_WEIGHT_POST_ATTENTION_NORM, i, c->n_embd,
                                                &w->post_attention_norm);
}

static bool load_feed_forward(struct rmli_weight_loader *l, uint32_t i)
{
    const struct rml_model_config *c = l->config;
    struct rmli_layer_weights *w = &l->weights->layers[i];

    if (!rmli_load_norm(l, RMLI_WEIGHT_FEED_FORWARD_NORM, i, c->n_embd, &w->feed_forward_norm))
        return false;
    if (c->n_expert) {
        if (!rmli_load_matrix(l, RMLI_WEIGHT_ROUTER, i, 0, c->n_expert, c->n_embd, &w->router) ||
            !rmli_load_experts(l, i))
            return false;
    } else if (!rmli_load_matrix(l, RMLI_WEIGHT_GATE, i, 0, c->n_ff, c->n_embd, &w->gate) ||
               !rmli_load_matrix(l, RMLI_WEIGHT_UP, i, 0, c->n_ff, c->n_embd, &w->up) ||
               !rmli_load_matrix(l, RMLI_WEIGHT_DOWN, i, 0, c->n_embd, c->n_ff, &w->down)) {
        return false;
    }
    return !c->sandwich_norms || rmli_load_norm(l, RMLI_WEIGHT_POST_FEED_FORWARD_NORM, i, c->n_embd,
                                                &w->post_feed_forward_norm);
}

static bool load_all(struct rmli_weight_loader *l)
{
    const struct rml_model_config *c = l->config;
    struct rmli_weights *w = l->weights;

    if (!rmli_load_matrix(l, RMLI_WEIGHT_EMBEDDING, 0, 0, c->n_vocab, c->n_embd, &w->embedding) ||
        !rmli_load_norm(l, RMLI_WEIGHT_OUTPUT_NORM, 0, c->n_embd, &w->output_norm))
        return false;
    if (c->tied_head)
        w->head = w->embedding;
    else if (!rmli_load_matrix(l, RMLI_WEIGHT_HEAD, 0, 0, c->n_vocab, c->n_embd, &w->head))
        return false;
    if (c->rope_scaling.type == RML_ROPE_SCALING_FACTORS && !rmli_load_rope_factors(l))
        return false;

    w->layers = rmli_own_zeroed(l, c->n_layer, sizeof *w->layers);
    if (!w->layers)
        return false;
    for (uint32_t i = 0; i < c->n_layer; i++)
        if (!load_attention(l, i) || !load_feed_forward(l, i))
            return false;
    return rmli_check_unused(l);
}

bool rmli_weights_init(struct rmli_weights *weights, const struct rml_checkpoint *cp,
                       const struct rml_model_config *config, struct rml_error *err)
{
    struct rmli_weight_loader l = {.weights = weights, .cp = cp, .config = config, .err = err};
    memset(weights, 0, sizeof *weights);
    bool ok = rmli_loader_init(&l) && load_all(&l);
    rmli_loader_release(&l);
    if (!ok)
        rmli_weights_release(weights);
    return ok;
}

void rmli_weights_release(struct rmli_weights *weights)
{
    rmli_free_owned(weights->owned);
    memset(weights, 0, sizeof *weights);
}
