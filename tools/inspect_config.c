/*
 * The recipe of a model as JSON, switch by switch.
 */
#include <stdio.h>
#include <stdlib.h>

#include "inspect.h"
#include "tools/cli/json_out.h"

/* The decimal number of fewest digits that reads back as x: 1e-6, not 9.99999997e-07. */
static json_t *real_of_f32(float x)
{
    char text[32];
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)x);
        if (strtof(text, NULL) == x)
            break;
    }
    return cli_json_real(strtod(text, NULL));
}

static json_t *rope_scaling(const struct rml_rope_scaling *scaling)
{
    static const char *const names[] = {
        [RML_ROPE_SCALING_LINEAR] = "linear",
        [RML_ROPE_SCALING_LLAMA3] = "llama3",
        [RML_ROPE_SCALING_FACTORS] = "factors",
        [RML_ROPE_SCALING_YARN] = "yarn",
    };
    if (scaling->type == RML_ROPE_SCALING_NONE)
        return json_null();
    json_t *out = json_pack("{ss}", "type", names[scaling->type]);
    if (scaling->type != RML_ROPE_SCALING_FACTORS)
        json_object_set_new(out, "factor", cli_json_real(scaling->factor));
    if (scaling->type == RML_ROPE_SCALING_LLAMA3) {
        json_object_set_new(out, "low_freq_factor", cli_json_real(scaling->low_freq_factor));
        json_object_set_new(out, "high_freq_factor", cli_json_real(scaling->high_freq_factor));
    }
    if (scaling->type == RML_ROPE_SCALING_LLAMA3 || scaling->type == RML_ROPE_SCALING_YARN)
        json_object_set_new(out, "original_context", cli_json_real(scaling->original_context));
    if (scaling->type == RML_ROPE_SCALING_YARN) {
        json_object_set_new(out, "beta_fast", cli_json_real(scaling->beta_fast));
        json_object_set_new(out, "beta_slow", cli_json_real(scaling->beta_slow));
        json_object_set_new(out, "attention_factor", cli_json_real(scaling->attention_factor));
        json_object_set_new(out, "truncate", json_boolean(scaling->truncate));
    }
    return out;
}

static json_t *sliding_layers(const struct rml_model_config *c)
{
    json_t *layers = json_array();
    for (uint32_t i = 0; c->sliding_window && i < c->n_layer; i++)
        if (c->sliding_layer[i])
            json_array_append_new(layers, json_integer(i));
    return layers;
}

static void set_integer(json_t *out, const char *key, int64_t value)
{
    json_object_set_new(out, key, json_integer(value));
}

json_t *inspect_config(const struct rml_model_config *c)
{
    static const char *const qk_norms[] = {
        [RML_QK_NORM_NONE] = "none", [RML_QK_NORM_HEAD] = "head", [RML_QK_NORM_WHOLE] = "whole"};
    json_t *out = json_object();
    json_object_set_new(out, "architecture", cli_json_text(c->architecture));
    set_integer(out, "n_vocab", c->n_vocab);
    set_integer(out, "n_embd", c->n_embd);
    set_integer(out, "n_layer", c->n_layer);
    set_integer(out, "n_head", c->n_head);
    set_integer(out, "n_head_kv", c->n_head_kv);
    set_integer(out, "head_dim", c->head_dim);
    set_integer(out, "n_ff", c->n_ff);
    set_integer(out, "n_context", c->n_context);
    json_object_set_new(out, "activation",
                        json_string(c->activation == RML_SILU ? "silu" : "gelu-tanh"));
    json_object_set_new(out, "norm_eps", real_of_f32(c->norm_eps));
    json_object_set_new(out, "embedding_scale", real_of_f32(c->embedding_scale));
    json_object_set_new(out, "attention_scale", real_of_f32(c->attention_scale));
    json_object_set_new(out, "attention_bias", json_boolean(c->attention_bias));
    json_object_set_new(out, "qk_norm", json_string(qk_norms[c->qk_norm]));
    json_object_set_new(out, "sandwich_norms", json_boolean(c->sandwich_norms));
    json_object_set_new(out, "norm_plus_one", json_boolean(c->norm_plus_one));
    json_object_set_new(out, "tied_head", json_boolean(c->tied_head));
    json_object_set_new(out, "rope_pairing",
                        json_string(c->rope_pairing == RML_ROPE_HALF ? "half" : "interleaved"));
    json_object_set_new(out, "rope_theta", cli_json_real(c->rope_theta));
    json_object_set_new(out, "rope_scaling", rope_scaling(&c->rope_scaling));
    json_object_set_new(out, "rope_local_theta",
                        c->rope_local_theta > 0 ? cli_json_real(c->rope_local_theta) : json_null());
    json_object_set_new(out, "sliding_window",
                        c->sliding_window ? json_integer(c->sliding_window) : json_null());
    json_object_set_new(out, "sliding_layers", sliding_layers(c));
    set_integer(out, "n_expert", c->n_expert);
    set_integer(out, "n_expert_used", c->n_expert_used);
    set_integer(out, "n_ff_expert", c->n_ff_expert);
    json_object_set_new(out, "normalize_expert_weights", json_boolean(c->normalize_expert_weights));
    json_object_set_new(out, "bos", c->bos >= 0 ? json_integer(c->bos) : json_null());
    json_t *eos = json_array();
    for (uint32_t i = 0; i < c->n_eos; i++)
        json_array_append_new(eos, json_integer(c->eos[i]));
    json_object_set_new(out, "eos", eos);
    return out;
}
