"""Random weights of a toy: healthy, sharp and exact.

Every matrix entry is a whole number below 2^8 times a power of two, so bfloat16 and
float16 both hold it exactly, and a Hugging Face folder and a GGUF are one model.
Standard deviations are chosen by where the matrix stands: attention scores, router
scores and logits then spread over several units, and a wrong frequency, window or
scale moves the logits by far more than any tolerance.
"""

import numpy as np

# Standard deviation of an output for inputs of unit variance.
GAIN = {"attn_q": 1.6, "attn_k": 1.6, "attn_v": 1.2, "attn_output": 1.6,
        "ffn_gate": 1.5, "ffn_up": 1.5, "ffn_down": 1.2,
        "ffn_gate_inp": 3.0, "output": 3.0}


def deviation(kind, shape, tied_head):
    """Standard deviation of a matrix's entries; kind as in attn_q or ffn_up_exps."""
    if kind == "token_embd":
        return 2.5 / shape[-1] ** 0.5 if tied_head else 1.0
    return GAIN[kind.removesuffix("_exps")] / shape[-1] ** 0.5


def exact(x):
    """x rounded to 7 bits below the largest magnitude's power of two."""
    step = 2.0 ** (np.ceil(np.log2(np.abs(x).max())) - 7)
    return np.round(x / step) * step


def shapes(r, n_ff):
    """{GGUF name: shape} of a recipe's weights, in the order of a GGUF's table."""
    q, kv = r.n_heads * r.head_dim, r.n_kv_heads * r.head_dim
    out = {"token_embd.weight": (r.vocab, r.hidden), "output_norm.weight": (r.hidden,)}
    if not r.tied_head:
        out["output.weight"] = (r.vocab, r.hidden)
    for layer in range(r.n_layers):
        block = {"attn_norm": (r.hidden,), "attn_q": (q, r.hidden), "attn_k": (kv, r.hidden),
                 "attn_v": (kv, r.hidden), "attn_output": (r.hidden, q),
                 "ffn_norm": (r.hidden,)}
        if r.qk_norm != "none":
            whole = r.qk_norm == "row"
            block["attn_q_norm"] = (q if whole else r.head_dim,)
            block["attn_k_norm"] = (kv if whole else r.head_dim,)
        if r.sandwich_norms:
            block |= {"post_attention_norm": (r.hidden,), "post_ffw_norm": (r.hidden,)}
        gate, down = (n_ff, r.hidden), (r.hidden, n_ff)
        if r.n_experts:
            block["ffn_gate_inp"] = (r.n_experts, r.hidden)
            block |= {"ffn_gate_exps": (r.n_experts, *gate), "ffn_up_exps": (r.n_experts, *gate),
                      "ffn_down_exps": (r.n_experts, *down)}
        else:
            block |= {"ffn_gate": gate, "ffn_up": gate, "ffn_down": down}
        out |= {f"blk.{layer}.{name}.weight": shape for name, shape in block.items()}
        if r.family == "qwen2":
            out |= {f"blk.{layer}.attn_q.bias": (q,), f"blk.{layer}.attn_k.bias": (kv,),
                    f"blk.{layer}.attn_v.bias": (kv,)}
    return out


def weights(recipe, n_ff, seed, shrink=None):
    rng = np.random.default_rng(seed)
    out = {}
    for name, shape in shapes(recipe, n_ff).items():
        kind = name.split(".")[-2]
        if name.endswith(".bias"):
            x = exact(rng.normal(0, 0.8, shape))
        elif "norm" in kind:
            # In steps of 2^-6 below 2, both the weight and (Gemma) the weight less
            # one are exact.
            x = 1 + np.clip(np.round(rng.normal(0, 0.25, shape) * 64), -60, 60) / 64
            if kind == "output_norm" and recipe.tied_head:
                # Else a tied head sees the token's own embedding above all.
                x *= rng.choice([-1, 1], shape)
        else:
            x = exact(rng.normal(0, deviation(kind, shape, recipe.tied_head), shape))
        out[name] = x * (shrink or {}).get(kind, 1)
    return out
