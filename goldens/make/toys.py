"""The toys: one config.json each, with settings that differ from the defaults.

`seed` draws the weights, `shrink` makes some of them smaller; `gguf` adds, changes or (None) removes GGUF keys; `folders`
are the Hugging Face folders (name: options of layout.write_folder, config: a change
of the config); `ggufs` are further GGUFs of the same model (name: version, n_parts,
gguf). Every file of a toy is one model and is held to one golden.
"""

BASE = {
    "vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
    "attention_dropout": 0.0, "initializer_range": 0.02, "use_cache": True,
    "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None, "dtype": "bfloat16",
    "tie_word_embeddings": False, "transformers_version": "5.24.0",
}
LLAMA = BASE | {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "attention_bias": False, "mlp_bias": False, "pretraining_tp": 1,
}
QWEN = BASE | {
    "hidden_act": "silu", "use_sliding_window": False, "sliding_window": None,
    "bos_token_id": None, "eos_token_id": 63,
}
QWEN3_MOE = QWEN | {
    "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe",
    "intermediate_size": 64, "moe_intermediate_size": 20, "head_dim": 12,
    "num_local_experts": 8, "num_experts_per_tok": 3, "norm_topk_prob": True,
    "decoder_sparse_step": 1, "mlp_only_layers": [], "attention_bias": False,
    "output_router_logits": False, "router_aux_loss_coef": 0.001, "rms_norm_eps": 5e-3,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1500.0},
}
OLMOE = BASE | {
    "architectures": ["OlmoeForCausalLM"], "model_type": "olmoe",
    "intermediate_size": 24, "hidden_act": "silu", "attention_bias": False,
    "clip_qkv": None, "num_experts": 8, "num_experts_per_tok": 3,
    "norm_topk_prob": False, "output_router_logits": False,
    "router_aux_loss_coef": 0.01, "rms_norm_eps": 2e-3,
    "rope_parameters": {"rope_type": "default", "rope_theta": 800.0},
}
GEMMA = BASE | {
    "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text",
    "hidden_activation": "gelu_pytorch_tanh", "attention_bias": False,
    "attn_logit_softcapping": None, "final_logit_softcapping": None,
    "use_bidirectional_attention": False, "bos_token_id": 2, "eos_token_id": 1,
    "pad_token_id": 0, "tie_word_embeddings": True,
}


def transformers_4(config):
    """The same settings as transformers 4 wrote them."""
    out = {k: v for k, v in config.items()
           if k not in ("dtype", "rope_parameters", "layer_types", "_sliding_window_pattern")}
    out |= {"torch_dtype": config["dtype"], "transformers_version": "4.51.3"}
    rope = config["rope_parameters"]
    if "sliding_attention" in rope:
        out["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        out["sliding_window_pattern"] = config["layer_types"].index("full_attention") + 1
        rope = rope["full_attention"]
    scaling = {k: v for k, v in rope.items() if k != "rope_theta"}
    out["rope_theta"] = rope["rope_theta"]
    out["rope_scaling"] = scaling if scaling["rope_type"] != "default" else None
    return dict(sorted(out.items()))


def changed(**keys):
    return lambda config: config | keys


def only_underscore_pattern(config):
    out = transformers_4(config)
    return out | {"_sliding_window_pattern": out.pop("sliding_window_pattern")}


def both_patterns(config):
    """transformers reads the plain key; its own default stays under the other name."""
    return transformers_4(config) | {"_sliding_window_pattern": 6}


def with_old_type_key(config):
    """Qwen's model cards spell the scaling with `type`, not `rope_type`."""
    out = transformers_4(config)
    scaling = dict(out["rope_scaling"])
    return out | {"rope_scaling": {"type": scaling.pop("rope_type")} | scaling,
                  "sliding_window": 24, "max_window_layers": 1}


TOYS = {
    # Llama 3.1's frequency scaling: of six pairs one is kept, one blended, four slowed.
    "llama": {
        "seed": 1,
        "config": LLAMA | {
            "intermediate_size": 56, "head_dim": 12, "rms_norm_eps": 3e-3,
            "rope_parameters": {
                "rope_type": "llama3", "rope_theta": 5000.0, "factor": 8.0,
                "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 32}},
        "folders": {"hf": {}, "hf-v4": {"config": transformers_4},
                    "hf-sharded": {"n_shards": 3}, "hf-unaligned": {"unaligned": True}},
        "ggufs": {"model-v2.gguf": {"version": 2}, "split.gguf": {"n_parts": 3}}},
    # As few keys as there can be: plain heads, every default of the family.
    "llama-defaults": {
        "seed": 2, "shrink": {"token_embd": 2 ** -6},  # or epsilon would not show
        "config": {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama",
            "vocab_size": 64, "hidden_size": 32, "intermediate_size": 40,
            "num_hidden_layers": 2, "num_attention_heads": 4,
            "max_position_embeddings": 256},
        "folders": {"hf": {"dtype": "F32"}, "hf-nulls": {
            "dtype": "F16", "config": changed(
                num_key_value_heads=None, head_dim=None, rope_scaling=None,
                rope_parameters=None, torch_dtype="float16")}},
        "gguf": {f"llama.{key}": None for key in (
            "attention.head_count_kv", "rope.freq_base", "rope.dimension_count",
            "vocab_size")}},
    # The same attention factor: given whole in config.json, and in the GGUF as a
    # multiple of YaRN's own 0.1 ln(factor) + 1 (key attn_factor).
    "llama-yarn": {
        "seed": 3,
        "config": LLAMA | {
            "intermediate_size": 40, "head_dim": 16, "rms_norm_eps": 4e-3,
            "rope_parameters": {
                "rope_type": "yarn", "rope_theta": 3000.0, "factor": 4.0,
                "original_max_position_embeddings": 64, "attention_factor": 1.25}},
        "folders": {"hf": {"dtype": "F16", "config": changed(dtype="float16")}},
        "gguf": {"general.alignment": 64, "llama.rope.scaling.yarn_attn_factor": None,
                 "llama.rope.scaling.attn_factor": 1.25 / 1.1386294361119891}},
    # A window shorter than the prompt, linear scaling, a tied head.
    "mistral": {
        "seed": 4,
        "config": BASE | {
            "architectures": ["MistralForCausalLM"], "model_type": "mistral",
            "intermediate_size": 40, "hidden_act": "silu", "head_dim": 10,
            "rms_norm_eps": 2e-3, "sliding_window": 48, "tie_word_embeddings": True,
            "rope_parameters": {
                "rope_type": "linear", "rope_theta": 3000.0, "factor": 2.5}},
        "folders": {"hf": {}, "hf-v4": {"config": transformers_4}}},
    # head_dim null (hidden / heads), no window.
    "mixtral": {
        "seed": 5,
        "config": BASE | {
            "architectures": ["MixtralForCausalLM"], "model_type": "mixtral",
            "intermediate_size": 24, "hidden_act": "silu", "head_dim": None,
            "num_local_experts": 8, "num_experts_per_tok": 2, "rms_norm_eps": 5e-3,
            "output_router_logits": False, "router_aux_loss_coef": 0.001,
            "router_jitter_noise": 0.0, "sliding_window": None,
            "rope_parameters": {"rope_type": "default", "rope_theta": 700.0}},
        "folders": {"hf": {}, "hf-v4": {"config": transformers_4}}},
    # Biases; YaRN with its own betas and the default attention factor.
    "qwen2": {
        "seed": 6,
        "config": QWEN | {
            "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2",
            "intermediate_size": 48, "rms_norm_eps": 3e-3, "tie_word_embeddings": True,
            "layer_types": ["full_attention"] * 2, "max_window_layers": 28,
            "rope_parameters": {
                "rope_type": "yarn", "rope_theta": 2000.0, "factor": 4.0,
                "original_max_position_embeddings": 64,
                "beta_fast": 1.0, "beta_slow": 0.1}},
        "folders": {"hf": {}, "hf-v4": {"config": with_old_type_key}}},
    "qwen3": {
        "seed": 7,
        "config": QWEN | {
            "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3",
            "intermediate_size": 48, "head_dim": 16, "rms_norm_eps": 4e-3,
            "attention_bias": False, "layer_types": ["full_attention"] * 2,
            "max_window_layers": 28,
            "rope_parameters": {"rope_type": "default", "rope_theta": 900.0}}},
    # YaRN's attention factor as a value of its own, in both files.
    "qwen3-yarn": {
        "seed": 8,
        "config": QWEN | {
            "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3",
            "intermediate_size": 48, "head_dim": 14, "rms_norm_eps": 2e-3,
            "attention_bias": False, "layer_types": ["full_attention"] * 2,
            "max_window_layers": 28, "tie_word_embeddings": True,
            "rope_parameters": {
                "rope_type": "yarn", "rope_theta": 4000.0, "factor": 3.0,
                "original_max_position_embeddings": 48, "attention_factor": 0.9}}},
    "qwen3_moe": {
        "seed": 9, "config": QWEN3_MOE,
        "folders": {"hf": {}, "hf-v4": {"config": lambda c: {
            k.replace("num_local_experts", "num_experts"): v
            for k, v in transformers_4(c).items()}}}},
    "qwen3_moe-raw-weights": {
        "seed": 10, "config": QWEN3_MOE | {"norm_topk_prob": False},
        "gguf": {"qwen3moe.expert_weights_norm": False}},
    "olmoe": {"seed": 11, "config": OLMOE},
    # Plain multi-head attention, as the published model has it.
    "olmoe-normalised": {
        "seed": 12, "config": OLMOE | {"norm_topk_prob": True, "num_key_value_heads": 4},
        "gguf": {"olmoe.expert_weights_norm": True}},
    # Two layers slide, one does not; linear scaling on that one only; a query scale
    # of its own, which a GGUF can state and llama.cpp's converter does not.
    "gemma3": {
        "seed": 13,
        "config": GEMMA | {
            "num_hidden_layers": 3, "intermediate_size": 40, "head_dim": 16,
            "rms_norm_eps": 3e-3, "sliding_window": 40, "query_pre_attn_scalar": 24,
            "_sliding_window_pattern": 6,
            "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
            "rope_parameters": {
                "full_attention": {
                    "rope_type": "linear", "rope_theta": 20000.0, "factor": 4.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 500.0}}},
        "folders": {"hf": {}, "hf-v4": {"config": transformers_4},
                    "hf-underscore": {"config": only_underscore_pattern},
                    "hf-both-patterns": {"config": both_patterns}},
        "gguf": {"gemma3.attention.sliding_window_pattern": 3,
                 "gemma3.attention.scale": 24 ** -0.5},
        "ggufs": {"model-array.gguf": {"gguf": {
            "gemma3.attention.sliding_window_pattern": [True, True, False]}}}},
    # What no key says: a pattern of six, a local base of 10000, scale by head_dim.
    "gemma3-defaults": {
        "seed": 14, "shrink": {"attn_q": 2 ** -6, "attn_k": 2 ** -6},
        "config": {k: v for k, v in GEMMA.items() if k != "tie_word_embeddings"} | {
            "num_hidden_layers": 7, "intermediate_size": 24, "head_dim": 10,
            "num_attention_heads": 2, "num_key_value_heads": 1,
            "rms_norm_eps": 1e-6, "sliding_window": 33, "query_pre_attn_scalar": 10},
        "gguf": {"gemma3.rope.freq_base_swa": None}},
}
