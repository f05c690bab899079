"""A model laid out as a Hugging Face folder, and as llama.cpp's converter writes a GGUF.

The converter's choices: matrices f16 and vectors f32; q and k rows of the llama
architecture interleaved; experts stacked into one tensor; Gemma's norms as they
multiply (1 + w); Llama 3.1's frequency scaling as a tensor rope_freqs, and the
other scalings as keys.
"""

import json

import numpy as np

import names
import rope
import tensor_files as files

ARCHITECTURE = {"llama": "llama", "mistral": "llama", "mixtral": "llama", "qwen2": "qwen2",
                "qwen3": "qwen3", "qwen3_moe": "qwen3moe", "gemma3_text": "gemma3",
                "olmoe": "olmoe"}


def hf_tensors(recipe, weights):
    """{Hugging Face name: array} in checkpoint order."""
    out = {}
    for name, hf in names.gguf_to_hf(recipe).items():
        if name not in weights:
            continue
        x = weights[name]
        if isinstance(hf, list):
            out |= dict(zip(hf, x))
        elif recipe.family == "gemma3_text" and "norm" in hf:
            out[hf] = x - 1
        else:
            out[hf] = x
    return dict(sorted(out.items()))


def write_folder(folder, config, recipe, weights, n_shards=1, dtype="BF16", unaligned=False):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    tensors = hf_tensors(recipe, weights)
    if n_shards == 1:
        files.write_safetensors(folder / "model.safetensors", tensors, dtype, unaligned)
        return
    items = list(tensors.items())
    cut = [len(items) * i // n_shards for i in range(n_shards + 1)]
    weight_map = {}
    for i in range(n_shards):
        name = f"model-{i + 1:05}-of-{n_shards:05}.safetensors"
        part = dict(items[cut[i]:cut[i + 1]])
        files.write_safetensors(folder / name, part, dtype, unaligned)
        weight_map |= {tensor: name for tensor in part}
    width = {"BF16": 2, "F16": 2, "F32": 4}[dtype]
    index = {"metadata": {"total_size": sum(width * x.size for x in tensors.values())},
             "weight_map": dict(sorted(weight_map.items()))}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")


def gguf_keys(config, recipe):
    arch = ARCHITECTURE[recipe.family]
    keys = {"general.architecture": arch, "general.type": "model",
            "general.name": f"Toy {recipe.family}", "general.file_type": 1,
            "general.quantization_version": 2}

    def put(name, value):
        keys[f"{arch}.{name}"] = value

    put("block_count", recipe.n_layers)
    put("context_length", config["max_position_embeddings"])
    put("embedding_length", recipe.hidden)
    put("feed_forward_length", config["intermediate_size"])
    put("attention.head_count", recipe.n_heads)
    put("attention.head_count_kv", recipe.n_kv_heads)
    put("attention.layer_norm_rms_epsilon", float(recipe.eps))
    put("rope.freq_base", float(recipe.theta))
    _put_scaling(put, recipe.scaling)
    if config.get("head_dim") is not None:
        put("attention.key_length", recipe.head_dim)
        put("attention.value_length", recipe.head_dim)
    if recipe.n_experts:
        put("expert_count", recipe.n_experts)
        put("expert_used_count", recipe.n_experts_used)
        if "moe_intermediate_size" in config:
            put("expert_feed_forward_length", config["moe_intermediate_size"])
    if recipe.window:
        put("attention.sliding_window", recipe.window)
    if recipe.family == "gemma3_text" and recipe.local_theta is not None:
        put("rope.freq_base_swa", float(recipe.local_theta))
    if arch == "llama":
        put("vocab_size", recipe.vocab)
        put("rope.dimension_count", recipe.head_dim)
    keys["tokenizer.ggml.model"] = "none"
    return keys


def _put_scaling(put, scaling):
    kind = scaling.get("rope_type", "default")
    if kind not in ("linear", "yarn"):
        return
    put("rope.scaling.type", kind)
    put("rope.scaling.factor", float(scaling["factor"]))
    if kind == "yarn":
        put("rope.scaling.original_context_length", scaling["original_max_position_embeddings"])
        for here, there in (("attention_factor", "yarn_attn_factor"),
                            ("beta_fast", "yarn_beta_fast"), ("beta_slow", "yarn_beta_slow")):
            if scaling.get(here) is not None:
                put(f"rope.scaling.{there}", float(scaling[here]))


def gguf_tensors(recipe, weights):
    out = {}
    if recipe.scaling.get("rope_type") == "llama3":
        plain, _ = rope.inverse_frequencies(recipe.theta, recipe.head_dim, {})
        divisors = rope.llama3_divisors(plain, recipe.scaling).astype(np.float32)
        out["rope_freqs.weight"] = (files.F32, divisors.shape, files.to_f32(divisors))
    for name, x in weights.items():
        n_heads = names.heads_of(name, recipe)
        if n_heads and names.is_interleaved(recipe.family):
            x = names.interleave_rows(x, n_heads)
        plain_f32 = x.ndim == 1 or name.endswith("ffn_gate_inp.weight")
        out[name] = ((files.F32, x.shape, files.to_f32(x)) if plain_f32
                     else (files.F16, x.shape, files.to_f16(x)))
    return out
