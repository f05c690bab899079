"""Hugging Face tensor names and their GGUF counterparts, and llama.cpp's row order."""

import numpy as np

# post_attention_layernorm is the norm before the feed-forward half everywhere but
# in Gemma, where it comes after attention.
LAYER = {
    "input_layernorm.weight": "attn_norm.weight",
    "post_attention_layernorm.weight": "ffn_norm.weight",
    "self_attn.q_proj.weight": "attn_q.weight",
    "self_attn.k_proj.weight": "attn_k.weight",
    "self_attn.v_proj.weight": "attn_v.weight",
    "self_attn.o_proj.weight": "attn_output.weight",
    "self_attn.q_proj.bias": "attn_q.bias",
    "self_attn.k_proj.bias": "attn_k.bias",
    "self_attn.v_proj.bias": "attn_v.bias",
    "self_attn.q_norm.weight": "attn_q_norm.weight",
    "self_attn.k_norm.weight": "attn_k_norm.weight",
    "mlp.gate_proj.weight": "ffn_gate.weight",
    "mlp.up_proj.weight": "ffn_up.weight",
    "mlp.down_proj.weight": "ffn_down.weight",
}
LAYER_GEMMA = LAYER | {
    "post_attention_layernorm.weight": "post_attention_norm.weight",
    "pre_feedforward_layernorm.weight": "ffn_norm.weight",
    "post_feedforward_layernorm.weight": "post_ffw_norm.weight",
}
TOP = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}
# (block, gate, up, down) of the experts; the router is <block>.gate.
EXPERTS = {
    "mixtral": ("block_sparse_moe", "w1", "w3", "w2"),
    "qwen3_moe": ("mlp", "gate_proj", "up_proj", "down_proj"),
    "olmoe": ("mlp", "gate_proj", "up_proj", "down_proj"),
}


def gguf_to_hf(recipe):
    """{GGUF name: Hugging Face name, or for stacked experts a list of names}."""
    names = {gguf: hf for hf, gguf in TOP.items()}
    per_layer = LAYER_GEMMA if recipe.family == "gemma3_text" else LAYER
    for layer in range(recipe.n_layers):
        there, here = f"model.layers.{layer}.", f"blk.{layer}."
        names |= {here + gguf: there + hf for hf, gguf in per_layer.items()}
        if recipe.n_experts:
            block, *projections = EXPERTS[recipe.family]
            names[here + "ffn_gate_inp.weight"] = f"{there}{block}.gate.weight"
            for gguf, hf in zip(("gate", "up", "down"), projections):
                names[f"{here}ffn_{gguf}_exps.weight"] = [
                    f"{there}{block}.experts.{e}.{hf}.weight"
                    for e in range(recipe.n_experts)]
    return names


def interleave_rows(x, n_heads):
    """Half order to llama.cpp's: within each head, rows i and i + half side by side."""
    half = x.reshape(n_heads, 2, -1, *x.shape[1:])
    return np.ascontiguousarray(half.swapaxes(1, 2)).reshape(x.shape)


def deinterleave_rows(x, n_heads):
    pairs = x.reshape(n_heads, -1, 2, *x.shape[1:])
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(x.shape)


def heads_of(name, recipe):
    """How many heads the rows of this q or k tensor hold; 0 for any other tensor."""
    part = name.split(".")
    if len(part) == 4 and part[2] == "attn_q":
        return recipe.n_heads
    if len(part) == 4 and part[2] == "attn_k":
        return recipe.n_kv_heads
    return 0


def is_interleaved(family):
    """Which families llama.cpp's converter permutes (its llama architecture)."""
    return family in ("llama", "mistral", "mixtral")
