#!/usr/bin/env python3
"""Writes cases/config_json.json: config.json texts and what transformers makes of them.

Each expectation is read off the model that transformers builds (on the meta device), not
off its config class: sizes of the modules, scales and epsilons they hold, the rotary
tables they would use, the number of parameters. A case is a base config with some keys
set or dropped; its expectation lists only what that changes. Configs that transformers
rejects are left out, and named on standard error.

    make_config_cases.py [-o FILE]          needs torch and transformers (5.24.0 was used)
"""

import argparse
import json
import pathlib
import sys
import tempfile

import torch
import transformers

TOY = {
    "vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 7, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 24, "max_position_embeddings": 256,
    "rms_norm_eps": 3e-5, "bos_token_id": 3, "eos_token_id": [4, 5],
    "tie_word_embeddings": False, "head_dim": 12,
    "rope_parameters": {"rope_type": "default", "rope_theta": 5000.0},
}
QWEN = {"hidden_act": "silu", "use_sliding_window": False, "sliding_window": 40,
        "max_window_layers": 2}
TOYS = {
    "llama": TOY | {"hidden_act": "silu", "attention_bias": False, "mlp_bias": False},
    "mistral": TOY | {"hidden_act": "silu", "sliding_window": 40},
    "mixtral": TOY | {"hidden_act": "silu", "sliding_window": None, "num_local_experts": 6,
                      "num_experts_per_tok": 3},
    "qwen2": TOY | QWEN,
    "qwen3": TOY | QWEN | {"attention_bias": False},
    "qwen3_moe": TOY | QWEN | {
        "moe_intermediate_size": 20, "num_experts": 6, "num_experts_per_tok": 3,
        "norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": [],
        "attention_bias": False},
    "gemma3_text": TOY | {
        "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 40, "query_pre_attn_scalar": 24,
        "attn_logit_softcapping": None, "final_logit_softcapping": None,
        "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2
        + ["sliding_attention"],
        "rope_parameters": {
            "full_attention": {"rope_type": "linear", "rope_theta": 20000.0, "factor": 4.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 500.0}}},
    "olmoe": TOY | {"hidden_act": "silu", "num_experts": 6, "num_experts_per_tok": 3,
                    "norm_topk_prob": True, "clip_qkv": None, "attention_bias": False},
}
del TOYS["olmoe"]["head_dim"]  # its class knows no other than hidden_size / heads
TOYS = {family: {"model_type": family} | toy for family, toy in TOYS.items()}

LLAMA = {"model_type": "llama", "hidden_act": "silu", "attention_bias": False}
PUBLISHED = {
    "TinyLlama-1.1B": LLAMA | {
        "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22,
        "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 32000,
        "max_position_embeddings": 2048, "rms_norm_eps": 1e-05, "rope_scaling": None,
        "rope_theta": 10000.0, "tie_word_embeddings": False},
    "Llama-3.1-8B": LLAMA | {
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
        "max_position_embeddings": 131072, "rms_norm_eps": 1e-05, "bos_token_id": 128000,
        "eos_token_id": [128001, 128008, 128009], "mlp_bias": False, "pretraining_tp": 1,
        "rope_theta": 500000.0, "rope_scaling": {
            "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192, "rope_type": "llama3"},
        "tie_word_embeddings": False},
    "SmolLM2-135M": LLAMA | {
        "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
        "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152,
        "max_position_embeddings": 8192, "rms_norm_eps": 1e-05, "rope_theta": 100000,
        "rope_interleaved": False, "is_llama_config": True, "tie_word_embeddings": True},
    "Mistral-7B-v0.1": {
        "model_type": "mistral", "hidden_act": "silu", "hidden_size": 4096,
        "intermediate_size": 14336, "max_position_embeddings": 32768, "num_attention_heads": 32,
        "num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
        "rope_theta": 10000.0, "sliding_window": 4096, "tie_word_embeddings": False,
        "vocab_size": 32000},
    "Mixtral-8x7B": {
        "model_type": "mixtral", "hidden_act": "silu", "hidden_size": 4096,
        "intermediate_size": 14336, "max_position_embeddings": 32768, "num_attention_heads": 32,
        "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8,
        "num_local_experts": 8, "output_router_logits": False, "rms_norm_eps": 1e-05,
        "rope_theta": 1000000.0, "router_aux_loss_coef": 0.02, "sliding_window": None,
        "tie_word_embeddings": False, "vocab_size": 32000},
    "Qwen2.5-0.5B": {
        "model_type": "qwen2", "hidden_act": "silu", "hidden_size": 896,
        "intermediate_size": 4864, "max_position_embeddings": 32768, "max_window_layers": 24,
        "num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2,
        "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "sliding_window": 32768,
        "tie_word_embeddings": True, "use_mrope": False, "use_sliding_window": False,
        "vocab_size": 151936, "bos_token_id": 151643, "eos_token_id": 151643},
    "Qwen3-0.6B": {
        "model_type": "qwen3", "attention_bias": False, "head_dim": 128, "hidden_act": "silu",
        "hidden_size": 1024, "intermediate_size": 3072, "max_position_embeddings": 40960,
        "max_window_layers": 28, "num_attention_heads": 16, "num_hidden_layers": 28,
        "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": None,
        "rope_theta": 1000000, "sliding_window": None, "tie_word_embeddings": True,
        "use_sliding_window": False, "vocab_size": 151936},
    "Qwen3-30B-A3B": {
        "model_type": "qwen3_moe", "attention_bias": False, "decoder_sparse_step": 1,
        "head_dim": 128, "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 6144,
        "max_position_embeddings": 40960, "max_window_layers": 48, "mlp_only_layers": [],
        "moe_intermediate_size": 768, "norm_topk_prob": True, "num_attention_heads": 32,
        "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48,
        "num_key_value_heads": 4, "output_router_logits": False, "rms_norm_eps": 1e-06,
        "rope_scaling": None, "rope_theta": 1000000.0, "sliding_window": None,
        "tie_word_embeddings": False, "use_sliding_window": False, "vocab_size": 151936},
    "Gemma-3-1B": {
        "model_type": "gemma3_text", "attention_bias": False, "attn_logit_softcapping": None,
        "cache_implementation": "hybrid", "final_logit_softcapping": None, "head_dim": 256,
        "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 1152,
        "intermediate_size": 6912, "max_position_embeddings": 32768, "num_attention_heads": 4,
        "num_hidden_layers": 26, "num_key_value_heads": 1, "query_pre_attn_scalar": 256,
        "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000, "rope_scaling": None,
        "rope_theta": 1000000, "sliding_window": 512, "sliding_window_pattern": 6,
        "vocab_size": 262144, "eos_token_id": [1, 106]},
    "OLMoE-1B-7B": {
        "model_type": "olmoe", "attention_bias": False, "clip_qkv": None, "hidden_act": "silu",
        "hidden_size": 2048, "intermediate_size": 1024, "max_position_embeddings": 4096,
        "norm_topk_prob": False, "num_attention_heads": 16, "num_experts": 64,
        "num_experts_per_tok": 8, "num_hidden_layers": 16, "num_key_value_heads": 16,
        "output_router_logits": False, "rms_norm_eps": 1e-05, "rope_scaling": None,
        "rope_theta": 10000.0, "tie_word_embeddings": False, "vocab_size": 50304},
}


def variants(family, toy):
    """(name, keys to set, keys to drop)"""
    for key in toy:
        if key != "model_type":
            yield f"without {key}", {}, [key]
    yield "only the type", {}, [key for key in toy if key != "model_type"]
    for key in ("num_key_value_heads", "head_dim", "sliding_window", "layer_types"):
        yield f"null {key}", {key: None}, []
    yield "tied", {"tie_word_embeddings": True}, []
    yield "null tokens", {"bos_token_id": None, "eos_token_id": None}, []
    yield "one end", {"eos_token_id": 7}, []
    yield "an activation", {"hidden_act": "gelu_pytorch_tanh"}, []
    if family == "gemma3_text":
        yield "silu", {"hidden_activation": "silu"}, []
        yield "a period", {"sliding_window_pattern": 2}, ["layer_types"]
        yield "types before the period", {"sliding_window_pattern": 2}, []
        yield "old rope", {
            "rope_theta": 7000.0, "rope_local_base_freq": 300.0,
            "rope_scaling": {"rope_type": "linear", "factor": 8.0}}, ["rope_parameters"]
        yield "old rope, no scaling", {"rope_theta": 7000.0, "rope_scaling": None}, [
            "rope_parameters"]
        yield "only the full set", {"rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 300.0}}}, []
        yield "only the sliding set", {"rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 300.0}}}, []
        yield "sets beat the top level", {"rope_theta": 99.0, "rope_local_base_freq": 98.0}, []
        yield "sets without a base", {
            "rope_theta": 99.0, "rope_local_base_freq": 98.0,
            "rope_parameters": {"full_attention": {"rope_type": "default"},
                                "sliding_attention": {"rope_type": "default"}}}, []
        yield "yarn on global layers", {"rope_parameters": {
            "full_attention": {"rope_type": "yarn", "rope_theta": 300.0, "factor": 4.0,
                               "original_max_position_embeddings": 64},
            "sliding_attention": {"rope_type": "default", "rope_theta": 30.0}}}, []
        yield "yarn in a set, context of the top level too", {
            "original_max_position_embeddings": 96, "rope_parameters": {
                "full_attention": {"rope_type": "yarn", "rope_theta": 300.0, "factor": 4.0,
                                   "original_max_position_embeddings": 64}}}, []
        yield "yarn in a set, context of the top level alone", {
            "original_max_position_embeddings": 16, "rope_parameters": {
                "full_attention": {"rope_type": "yarn", "rope_theta": 300.0, "factor": 4.0}}}, []
        yield "old yarn, context of the top level too", {
            "original_max_position_embeddings": 96, "rope_theta": 700.0, "rope_scaling": {
                "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}}, [
            "rope_parameters"]
        return

    def scaled(kind, **more):
        return {"rope_type": kind, "factor": 4.0} | more

    yield "old theta", {"rope_theta": 700.0}, ["rope_parameters"]
    yield "parameters beat the top level", {"rope_theta": 700.0}, []
    yield "parameters without a base", {
        "rope_theta": 700.0, "rope_parameters": {"rope_type": "default"}}, []
    scalings = {
        "linear": scaled("linear"),
        "llama3": scaled("llama3", low_freq_factor=1.0, high_freq_factor=4.0,
                         original_max_position_embeddings=32),
        "yarn": scaled("yarn", original_max_position_embeddings=64),
        "yarn, betas": scaled("yarn", original_max_position_embeddings=64, beta_fast=4,
                              beta_slow=0.5),
        "yarn, betas of 0": scaled("yarn", original_max_position_embeddings=64, beta_fast=0,
                                   beta_slow=None),
        "yarn, not truncated": scaled("yarn", original_max_position_embeddings=64,
                                      beta_fast=3.0, beta_slow=0.3, truncate=False),
        "yarn, mscale": scaled("yarn", original_max_position_embeddings=64, mscale=0.7,
                               mscale_all_dim=0.4),
        "yarn, mscale alone": scaled("yarn", original_max_position_embeddings=64, mscale=0.7),
        "yarn, mscale of 0": scaled("yarn", original_max_position_embeddings=64, mscale=0.7,
                                    mscale_all_dim=0),
        "yarn, factor below 1": scaled("yarn", original_max_position_embeddings=64) | {
            "factor": 0.5},
        "yarn, attention factor": scaled("yarn", original_max_position_embeddings=64, mscale=0.7,
                                         mscale_all_dim=0.4, attention_factor=1.3),
        "yarn, null attention factor": scaled("yarn", original_max_position_embeddings=64,
                                              attention_factor=None),
        "yarn, null factor": scaled("yarn", original_max_position_embeddings=64) | {
            "factor": None},
    }
    if family in ("llama", "qwen3"):
        for name, scaling in scalings.items():
            yield name, {"rope_parameters": scaling | {"rope_theta": 700.0}}, []
            old = {"type" if k == "rope_type" else k: v for k, v in scaling.items()}
            yield f"old {name}", {"rope_theta": 700.0, "rope_scaling": old}, ["rope_parameters"]
        yield "yarn, context of the top level", {
            "rope_parameters": scalings["yarn"] | {"rope_theta": 700.0},
            "original_max_position_embeddings": 96}, []
        yield "yarn, context not given", {
            "rope_parameters": scaled("yarn", rope_theta=700.0)}, []
        yield "a scaling of nothing", {"rope_scaling": {}}, []
    if family.startswith("qwen"):
        yield "types", {"layer_types": ["full_attention"] * 7}, []
    if family == "qwen3":
        yield "a set for the only layer type", {
            "layer_types": ["full_attention"] * 7, "rope_parameters": {
                "full_attention": scalings["yarn"] | {"rope_theta": 700.0}}}, []
        yield "a set for the only layer type, context of the top level too", {
            "layer_types": ["full_attention"] * 7, "original_max_position_embeddings": 96,
            "rope_parameters": {"full_attention": scalings["yarn"] | {"rope_theta": 700.0}}}, []
        yield "old yarn, context of the top level too", {
            "original_max_position_embeddings": 96, "rope_theta": 700.0,
            "rope_scaling": scalings["yarn"]}, ["rope_parameters"]
    if family in ("mixtral", "qwen3_moe", "olmoe"):
        yield "raw expert weights", {"norm_topk_prob": False}, []
        other = "num_experts" if "num_local_experts" in toy else "num_local_experts"
        here = "num_local_experts" if "num_local_experts" in toy else "num_experts"
        yield f"{other}", {other: 5}, [here]
    if family == "mixtral":
        yield "a window", {"sliding_window": 30}, []
    if family == "mistral":
        yield "types", {"layer_types": ["full_attention", "sliding_attention"] * 3
                        + ["full_attention"]}, []


def build(config):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "config.json").write_text(json.dumps(config))
        parsed = transformers.AutoConfig.from_pretrained(folder)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(parsed)
    rotary = type(model.model.rotary_emb)(parsed)
    return parsed, model, rotary


def token_ids(value):
    return [] if value is None else value if isinstance(value, list) else [value]


def windows(parsed, n_layers):
    window = getattr(parsed, "sliding_window", None) or 0
    if parsed.model_type in ("mistral", "mixtral"):
        return [window] * n_layers
    types = getattr(parsed, "layer_types", None) or ["full_attention"] * n_layers
    return [window if kind == "sliding_attention" else 0 for kind in types]


def expectation(config):
    parsed, model, rotary = build(config)
    layers = model.model.layers
    layer, embedding = layers[0], model.get_input_embeddings()
    attention, mlp = layer.self_attn, layer.mlp
    moe = hasattr(mlp, "experts")
    # What transformers 5 makes of a Mistral with layer_types.
    family = parsed.model_type.replace("ministral", "mistral")
    norm = getattr(attention, "q_norm", None)
    final = model.model.norm
    out = {
        "architecture": family,
        "n_vocab": embedding.num_embeddings, "n_embd": embedding.embedding_dim,
        "n_layer": len(layers), "head_dim": attention.head_dim,
        "n_head": attention.q_proj.out_features // attention.head_dim,
        "n_head_kv": attention.k_proj.out_features // attention.head_dim,
        "n_ff": 0 if moe else mlp.gate_proj.out_features,
        "n_context": parsed.max_position_embeddings,
        "activation": {"SiLUActivation": "silu", "SiLU": "silu", "GELUTanh": "gelu_tanh"}[
            type(mlp.experts.act_fn if moe else mlp.act_fn).__name__],
        "norm_eps": getattr(final, "variance_epsilon", None) or final.eps,
        "embedding_scale": getattr(embedding, "scalar_embed_scale", 1.0),
        "attention_scale": attention.scaling,
        "attention_bias": attention.q_proj.bias is not None,
        "qk_norm": "none" if norm is None
        else "head" if norm.weight.shape[0] == attention.head_dim else "whole",
        "sandwich_norms": hasattr(layer, "pre_feedforward_layernorm"),
        "norm_plus_one": "Gemma" in type(final).__name__,
        "tied_head": model.lm_head.weight is embedding.weight or bool(parsed.tie_word_embeddings),
        "windows": windows(parsed, len(layers)),
        "n_expert": mlp.experts.num_experts if moe else 0,
        "n_expert_used": (mlp.gate.top_k if moe else 0),
        "n_ff_expert": mlp.experts.down_proj.shape[2] if moe else 0,
        "normalize_expert_weights": moe and (family == "mixtral" or mlp.gate.norm_topk_prob),
        "bos": token_ids(parsed.bos_token_id), "eos": token_ids(parsed.eos_token_id),
        "n_parameters": sum(p.numel() for p in model.parameters()),
    }
    if family == "gemma3_text":
        full, sliding = rotary.full_attention_inv_freq, rotary.sliding_attention_inv_freq
        out["local_inv_freq"] = [float(f"{x:.9g}") for x in sliding.tolist()]
        factor = rotary.full_attention_attention_scaling
    else:
        full, factor = rotary.inv_freq, rotary.attention_scaling
    out["inv_freq"] = [float(f"{x:.9g}") for x in full.tolist()]
    out["rope_factor"] = factor
    if out["tied_head"] and model.lm_head.weight is not embedding.weight:
        out["n_parameters"] -= embedding.weight.numel()
    return out


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", default=here / "cases" / "config_json.json")
    transformers.logging.set_verbosity_error()
    bases, cases = {}, []
    for name, config in (TOYS | PUBLISHED).items():
        bases[name] = {"config": config, "expected": expectation(config)}
        for variant, added, dropped in variants(name, config) if name in TOYS else ():
            changed = {k: v for k, v in config.items() if k not in dropped} | added
            try:
                got = expectation(changed)
            except Exception as error:  # whatever transformers says to a bad config
                print(f"{name}, {variant}: {type(error).__name__}: {str(error)[:150]}",
                      file=sys.stderr)
                continue
            if got["n_head"] % got["n_head_kv"] or got["n_expert_used"] > got["n_expert"]:
                continue  # builds, and could not run
            base = bases[name]["expected"]
            cases.append({"name": f"{name}, {variant}", "of": name, "set": added,
                          "drop": dropped,
                          "expected": {k: v for k, v in got.items() if v != base[k]}})
    lines = ["{", f' "transformers": "{transformers.__version__}",', ' "bases": {']
    lines += [f"  {json.dumps(name)}: {json.dumps(base)}," for name, base in bases.items()]
    lines[-1] = lines[-1][:-1]
    lines += [" },", ' "cases": [']
    lines += [f"  {json.dumps(case)}," for case in cases]
    lines[-1] = lines[-1][:-1]
    lines += [" ]", "}"]
    pathlib.Path(parser.parse_args().o).write_text("\n".join(lines) + "\n")
    print(f"{len(bases)} bases, {len(cases)} cases", file=sys.stderr)


if __name__ == "__main__":
    main()
