/*
 * The table of names. In a name, the first # stands for the layer and the
 * second for the expert.
 */
#include "model/weight_names.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *gguf, *hf;
} names_of[RMLI_N_WEIGHTS] = {
    [RMLI_WEIGHT_EMBEDDING] = {"token_embd.weight", "model.embed_tokens.weight"},
    [RMLI_WEIGHT_OUTPUT_NORM] = {"output_norm.weight", "model.norm.weight"},
    [RMLI_WEIGHT_HEAD] = {"output.weight", "lm_head.weight"},
    [RMLI_WEIGHT_ROPE_FACTORS] = {"rope_freqs.weight", NULL},
    [RMLI_WEIGHT_ATTENTION_NORM] = {"blk.#.attn_norm.weight",
                                    "model.layers.#.input_layernorm.weight"},
    [RMLI_WEIGHT_QKV] = {"blk.#.attn_qkv.weight", NULL},
    [RMLI_WEIGHT_QKV_BIAS] = {"blk.#.attn_qkv.bias", NULL},
    [RMLI_WEIGHT_Q] = {"blk.#.attn_q.weight", "model.layers.#.self_attn.q_proj.weight"},
    [RMLI_WEIGHT_K] = {"blk.#.attn_k.weight", "model.layers.#.self_attn.k_proj.weight"},
    [RMLI_WEIGHT_V] = {"blk.#.attn_v.weight", "model.layers.#.self_attn.v_proj.weight"},
    [RMLI_WEIGHT_Q_BIAS] = {"blk.#.attn_q.bias", "model.layers.#.self_attn.q_proj.bias"},
    [RMLI_WEIGHT_K_BIAS] = {"blk.#.attn_k.bias", "model.layers.#.self_attn.k_proj.bias"},
    [RMLI_WEIGHT_V_BIAS] = {"blk.#.attn_v.bias", "model.layers.#.self_attn.v_proj.bias"},
    [RMLI_WEIGHT_Q_NORM] = {"blk.#.attn_q_norm.weight", "model.layers.#.self_attn.q_norm.weight"},
    [RMLI_WEIGHT_K_NORM] = {"blk.#.attn_k_norm.weight", "model.layers.#.self_attn.k_norm.weight"},
    [RMLI_WEIGHT_O] = {"blk.#.attn_output.weight", "model.layers.#.self_attn.o_proj.weight"},
    [RMLI_WEIGHT_POST_ATTENTION_NORM] = {"blk.#.post_attention_norm.weight", NULL},
    [RMLI_WEIGHT_FEED_FORWARD_NORM] = {"blk.#.ffn_norm.weight",
                                       "model.layers.#.post_attention_layernorm.weight"},
    [RMLI_WEIGHT_GATE] = {"blk.#.ffn_gate.weight", "model.layers.#.mlp.gate_proj.weight"},
    [RMLI_WEIGHT_UP] = {"blk.#.ffn_up.weight", "model.layers.#.mlp.up_proj.weight"},
    [RMLI_WEIGHT_DOWN] = {"blk.#.ffn_down.weight", "model.layers.#.mlp.down_proj.weight"},
    [RMLI_WEIGHT_POST_FEED_FORWARD_NORM] = {"blk.#.post_ffw_norm.weight", NULL},
    [RMLI_WEIGHT_ROUTER] = {"blk.#.ffn_gate_inp.weight", "model.layers.#.mlp.gate.weight"},
    [RMLI_WEIGHT_STACKED_GATE_UP] = {"blk.#.ffn_gate_up_exps.weight",
                                     "model.layers.#.mlp.experts.gate_up_proj"},
    [RMLI_WEIGHT_STACKED_GATE] = {"blk.#.ffn_gate_exps.weight", NULL},
    [RMLI_WEIGHT_STACKED_UP] = {"blk.#.ffn_up_exps.weight", NULL},
    [RMLI_WEIGHT_STACKED_DOWN] = {"blk.#.ffn_down_exps.weight",
                                  "model.layers.#.mlp.experts.down_proj"},
    [RMLI_WEIGHT_EXPERT_GATE] = {"blk.#.ffn_gate.#.weight",
                                 "model.layers.#.mlp.experts.#.gate_proj.weight"},
    [RMLI_WEIGHT_EXPERT_UP] = {"blk.#.ffn_up.#.weight",
                               "model.layers.#.mlp.experts.#.up_proj.weight"},
    [RMLI_WEIGHT_EXPERT_DOWN] = {"blk.#.ffn_down.#.weight",
                                 "model.layers.#.mlp.experts.#.down_proj.weight"},
};

/* Families whose Hugging Face names differ. Gemma's post_attention_layernorm is the norm of
 * the attention's output, not the one before the feed-forward; so its names stand alone,
 * while Mixtral's modules have the common names too (in memory, and as transformers 5 can
 * save them). */
static const struct {
    const char *model_type;
    enum rmli_weight weight;
    const char *hf;
    bool alone;
} other_names[] = {
    {"gemma3_text", RMLI_WEIGHT_POST_ATTENTION_NORM,
     "model.layers.#.post_attention_layernorm.weight", true},
    {"gemma3_text", RMLI_WEIGHT_FEED_FORWARD_NORM,
     "model.layers.#.pre_feedforward_layernorm.weight", true},
    {"gemma3_text", RMLI_WEIGHT_POST_FEED_FORWARD_NORM,
     "model.layers.#.post_feedforward_layernorm.weight", true},
    {"mixtral", RMLI_WEIGHT_ROUTER, "model.layers.#.block_sparse_moe.gate.weight", false},
    {"mixtral", RMLI_WEIGHT_EXPERT_GATE, "model.layers.#.block_sparse_moe.experts.#.w1.weight",
     false},
    {"mixtral", RMLI_WEIGHT_EXPERT_UP, "model.layers.#.block_sparse_moe.experts.#.w3.weight",
     false},
    {"mixtral", RMLI_WEIGHT_EXPERT_DOWN, "model.layers.#.block_sparse_moe.experts.#.w2.weight",
     false},
};

static void fill_in(char *out, const char *pattern, uint32_t layer, uint32_t expert)
{
    uint32_t number = layer;
    size_t n = 0;
    for (; *pattern && n < RMLI_WEIGHT_NAME_NBYTES - 12; pattern++) {
        if (*pattern == '#') {
            n += (size_t)snprintf(out + n, 12, "%u", number);
            number = expert;
        } else {
            out[n++] = *pattern;
        }
    }
    out[n] = '\0';
}

/* The names of the Hugging Face convention, without those of a bare base model. */
static int hf_names(const char *model_type, enum rmli_weight weight, uint32_t layer,
                    uint32_t expert, char names[][RMLI_WEIGHT_NAME_NBYTES])
{
    int n = 0;
    for (size_t i = 0; i < sizeof other_names / sizeof other_names[0]; i++) {
        if (other_names[i].weight != weight || strcmp(other_names[i].model_type, model_type) != 0)
            continue;
        fill_in(names[n++], other_names[i].hf, layer, expert);
        if (other_names[i].alone)
            return n;
    }
    if (names_of[weight].hf)
        fill_in(names[n++], names_of[weight].hf, layer, expert);
    return n;
}

int rmli_weight_names(enum rml_checkpoint_kind kind, const char *model_type,
                      enum rmli_weight weight, uint32_t layer, uint32_t expert,
                      char names[RMLI_WEIGHT_MAX_NAMES][RMLI_WEIGHT_NAME_NBYTES])
{
    if (kind == RML_CHECKPOINT_GGUF) {
        if (!names_of[weight].gguf)
            return 0;
        fill_in(names[0], names_of[weight].gguf, layer, expert);
        return 1;
    }
    int n = hf_names(model_type, weight, layer, expert, names);
    /* Saved from the base class (LlamaModel, ...), a model has no outer module. */
    size_t prefix = strlen("model.");
    for (int i = 0, n_full = n; i < n_full; i++)
        if (strncmp(names[i], "model.", prefix) == 0)
            memmove(names[n++], names[i] + prefix, RMLI_WEIGHT_NAME_NBYTES - prefix);
    return n;
}

bool rmli_is_inert_tensor(const char *name)
{
    /* Tables that older versions saved: angles, masks, position numbers. */
    static const char *const endings[] = {
        "rotary_emb.inv_freq",     "rotary_emb.cos_cached", "rotary_emb.sin_cached",
        "attn.masked_bias",        ".attn_rot_embd.weight", "embeddings.position_ids",
        "rotary_pos_emb.inv_freq",
    };
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t n = strlen(endings[i]);
        if (length >= n && strcmp(name + length - n, endings[i]) == 0)
            return true;
    }
    return false;
}
