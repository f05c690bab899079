"""The toys: one config.json a family, with settings that differ from the defaults.

`seed` draws the weights, `gguf` adds or (None) removes GGUF keys.
"""

BASE = {
    "vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2,
    "attention_dropout": 0.0, "initializer_range": 0.02, "use_cache": True,
    "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None, "dtype": "bfloat16",
    "transformers_version": "5.24.0",
}

TOYS = {
    # Llama 3.1's frequency scaling: of six pairs one is kept, one blended, four slowed.
    "llama": {
        "seed": 1,
        "config": BASE | {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama",
            "intermediate_size": 56, "head_dim": 12, "hidden_act": "silu",
            "max_position_embeddings": 256, "rms_norm_eps": 3e-5,
            "attention_bias": False, "mlp_bias": False, "pretraining_tp": 1,
            "tie_word_embeddings": False,
            "rope_parameters": {
                "rope_type": "llama3", "rope_theta": 5000.0, "factor": 8.0,
                "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 32}}},
}
