/*
 * Settings of other architectures that would change the numbers.
 *
 * A config carries dozens of keys that the forward pass does not need, and
 * new ones with every release, so unknown keys are ignored. These are the
 * known ones that would make the result wrong, with their values that change
 * nothing. A key that shows in the tensor table (a bias, a norm) is left to
 * the check of unused tensors.
 */
#include <stdio.h>
#include <string.h>

#include "files/gguf.h"
#include "model/config_readers.h"
#include "model/json_fields.h"

enum { NO = 1, YES = 2, ZERO = 4, ONE = 8, EMPTY = 16 }; /* neutral values; null always is */

static const struct {
    const char *key;
    unsigned neutral;
} json_settings[] = {
    /* scores and logits */
    {"attn_logit_softcapping", 0},
    {"final_logit_softcapping", 0},
    {"router_logit_softcapping", 0},
    {"logits_soft_cap", 0},
    {"logit_scale", ONE},
    {"logits_scaling", ONE},
    {"attention_multiplier", 0},
    {"attn_temperature_tuning", NO | ZERO},
    {"llama_4_scaling", EMPTY},
    {"clip_qkv", 0},
    /* which keys a query sees */
    {"use_bidirectional_attention", NO},
    {"is_causal", YES},
    {"attention_chunk_size", 0},
    {"is_encoder_decoder", NO},
    {"add_cross_attention", NO},
    {"alibi", NO},
    {"use_alibi", NO},
    /* rotation */
    {"partial_rotary_factor", ONE},
    {"rotary_pct", ONE},
    {"rope_interleave", NO},
    {"rope_interleaved", NO},
    {"use_mrope", NO},
    {"no_rope_layers", EMPTY},
    {"no_rope_layer_interval", ZERO},
    /* the residual stream */
    {"embedding_multiplier", ONE},
    {"residual_multiplier", ONE},
    {"scale_emb", ONE},
    {"scale_depth", 0},
    {"dim_model_base", 0},
    {"parallel_residual", NO},
    {"use_parallel_residual", NO},
    {"mlp_bias", NO},
    /* experts */
    {"mlp_only_layers", EMPTY},
    {"decoder_sparse_step", ONE},
    {"moe_layer_freq", ONE},
    {"interleave_moe_layer_step", ONE},
    {"first_k_dense_replace", ZERO},
    {"n_group", ONE},
    {"topk_group", ONE},
    {"routed_scaling_factor", ONE},
    {"n_shared_experts", ZERO},
    {"num_shared_experts", ZERO},
    {"shared_expert_intermediate_size", ZERO},
    /* layers and weights that are not plain */
    {"num_nextn_predict_layers", ZERO},
    {"mtp_num_hidden_layers", ZERO},
    {"per_layer_config", EMPTY},
    {"num_kv_shared_layers", ZERO},
    {"quantization_config", 0},
    {"compression_config", 0},
};

static bool is_neutral(const json_t *value, unsigned neutral)
{
    bool is_zero = json_is_number(value) && json_number_value(value) == 0;
    bool is_one = json_is_number(value) && json_number_value(value) == 1;
    return !value || json_is_null(value) || (neutral & NO && json_is_false(value)) ||
           (neutral & YES && json_is_true(value)) || (neutral & ZERO && is_zero) ||
           (neutral & ONE && is_one) ||
           (neutral & EMPTY && json_array_size(value) == 0 && json_object_size(value) == 0 &&
            (json_is_array(value) || json_is_object(value)));
}

void rmli_refuse_json_settings(struct rmli_json_fields *f)
{
    static const struct {
        unsigned neutral;
        const char *expected;
    } wanted[] = {{NO, "false"}, {YES, "true"}, {ZERO, "0"}, {ONE, "1"}, {EMPTY, "none"}};

    for (size_t i = 0; i < sizeof json_settings / sizeof json_settings[0]; i++) {
        const char *expected = "null";
        if (is_neutral(rmli_field_get(f, json_settings[i].key), json_settings[i].neutral))
            continue;
        for (size_t j = 0; j < sizeof wanted / sizeof wanted[0]; j++)
            if (json_settings[i].neutral & wanted[j].neutral)
                expected = wanted[j].expected;
        rmli_field_fail(f, RML_UNSUPPORTED, json_settings[i].key, "%s or no such key", expected);
    }
}

static const struct {
    const char *key; /* after the architecture and its dot */
    unsigned neutral;
} gguf_settings[] = {
    /* scores and logits */
    {"attn_logit_softcapping", ZERO},
    {"final_logit_softcapping", ZERO},
    {"router_logit_softcapping", ZERO},
    {"logit_scale", ZERO | ONE},
    {"attention.clamp_kqv", ZERO},
    {"attention.output_scale", ZERO | ONE},
    {"attention.value_scale", ZERO | ONE},
    {"attention.temperature_length", ZERO},
    {"attention.temperature_scale", ZERO},
    /* which keys a query sees */
    {"attention.causal", YES},
    {"attention.max_alibi_bias", ZERO},
    {"attention.shared_kv_layers", ZERO},
    {"attention.recurrent_layers", ZERO},
    {"full_attention_interval", ZERO | ONE},
    {"pooling_type", ZERO},
    /* rotation */
    {"attention.rope_pattern", YES | ONE},
    {"rope.dimension_sections", ZERO},
    {"rope.scaling.alpha", ZERO},
    {"rope.scaling.yarn_ext_factor", ONE},
    /* the residual stream */
    {"embedding_scale", ZERO | ONE},
    {"residual_scale", ZERO | ONE},
    {"use_parallel_residual", NO},
    {"embedding_length_per_layer_input", ZERO},
    {"num_loops", ZERO | ONE},
    {"swin_norm", NO},
    /* experts: gating function 1 is softmax */
    {"expert_gating_func", ZERO | ONE},
    {"expert_weights_scale", ZERO | ONE},
    {"expert_shared_count", ZERO},
    {"expert_shared_feed_forward_length", ZERO},
    {"expert_chunk_feed_forward_length", ZERO},
    {"expert_group_count", ZERO | ONE},
    {"expert_group_used_count", ZERO | ONE},
    {"expert_group_scale", ZERO | ONE},
    {"expert_latent_length", ZERO},
    {"moe_latent_size", ZERO},
    {"moe_every_n_layers", ZERO | ONE},
    {"interleave_moe_layer_step", ZERO | ONE},
    {"leading_dense_block_count", ZERO},
    {"swiglu_clamp_exp", ZERO},
    {"swiglu_clamp_shexp", ZERO},
    /* layers that are not plain */
    {"nextn_predict_layers", ZERO},
    {"n_deepstack_layers", ZERO},
    {"hyper_connection.count", ZERO | ONE},
    {"adapters.count", ZERO},
};

/* Each element of a number, a bool or an array of them. */
static bool is_neutral_kv(const struct rmli_gguf_kv *kv, unsigned neutral)
{
    if (kv->elem_type == RMLI_GGUF_STRING || kv->elem_type == RMLI_GGUF_ARRAY)
        return false;
    for (uint64_t i = 0; i < kv->nelems; i++) {
        double x = rmli_gguf_elem_f64(kv, i);
        if (!(x == 0 && neutral & (NO | ZERO)) && !(x == 1 && neutral & (YES | ONE)))
            return false;
    }
    return true;
}

/* All that may stand after "rope." in a key: what is read, refused above, or says nothing
 * about the numbers. Another key there is a rotation that this code does not know. */
static const char *const rope_keys[] = {
    "dimension_count",
    "dimension_count_swa",
    "dimension_sections",
    "freq_base",
    "freq_base_swa",
    "scale_linear",
    "scaling.type",
    "scaling.factor",
    "scaling.attn_factor",
    "scaling.alpha",
    "scaling.original_context_length",
    "scaling.finetuned",
    "scaling.yarn_ext_factor",
    "scaling.yarn_attn_factor",
    "scaling.yarn_beta_fast",
    "scaling.yarn_beta_slow",
    "scaling.yarn_log_multiplier",
};

static bool refuse_unknown_rotation(const struct rmli_gguf *gguf, const char *arch,
                                    struct rml_error *err)
{
    char prefix[64];
    size_t n_prefix = (size_t)snprintf(prefix, sizeof prefix, "%s.rope.", arch);
    for (size_t i = 0; i < rmli_gguf_n_kv(gguf); i++) {
        const struct rmli_gguf_kv *kv = rmli_gguf_kv(gguf, i);
        if (kv->key.nbytes < n_prefix || memcmp(kv->key.data, prefix, n_prefix) != 0)
            continue;
        const char *name = kv->key.data + n_prefix;
        size_t n = kv->key.nbytes - n_prefix;
        bool known = false;
        for (size_t j = 0; !known && j < sizeof rope_keys / sizeof rope_keys[0]; j++)
            known = strlen(rope_keys[j]) == n && memcmp(rope_keys[j], name, n) == 0;
        if (!known)
            return rmli_fail(err, RML_UNSUPPORTED, rmli_gguf_path(gguf), (int64_t)kv->offset,
                             "'%.*s' is no key of a rotation that is known here",
                             (int)(kv->key.nbytes < 128 ? kv->key.nbytes : 128), kv->key.data);
    }
    return true;
}

bool rmli_refuse_gguf_settings(const struct rmli_gguf *gguf, const char *arch,
                               struct rml_error *err)
{
    for (size_t i = 0; i < sizeof gguf_settings / sizeof gguf_settings[0]; i++) {
        unsigned neutral = gguf_settings[i].neutral;
        char key[128], found[32] = "not a number";
        snprintf(key, sizeof key, "%s.%s", arch, gguf_settings[i].key);
        const struct rmli_gguf_kv *kv = rmli_gguf_find(gguf, key);
        if (!kv || is_neutral_kv(kv, neutral))
            continue;
        if (kv->type == RMLI_GGUF_ARRAY)
            snprintf(found, sizeof found, "a list");
        else if (kv->type != RMLI_GGUF_STRING)
            snprintf(found, sizeof found, "%g", rmli_gguf_elem_f64(kv, 0));
        return rmli_fail(err, RML_UNSUPPORTED, rmli_gguf_path(gguf), (int64_t)kv->offset,
                         "'%s' is %s, expected %s or no such key", key, found,
                         neutral & (YES | ONE) ? "1" : "0");
    }
    return refuse_unknown_rotation(gguf, arch, err);
}
