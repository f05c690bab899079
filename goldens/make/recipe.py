"""What a checkpoint's config.json or GGUF metadata say about the decoder.

One flat record of switches; forward.py branches on nothing else. The readers here
cover what the fixtures contain and refuse little: they are the oracle's, not the
product's.
"""

from dataclasses import dataclass, field

import numpy as np

MOE = ("mixtral", "qwen3_moe", "olmoe")


@dataclass
class Recipe:
    family: str
    vocab: int
    hidden: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    eps: float
    activation: str = "silu"
    tied_head: bool = False
    qk_norm: str = "none"  # none, head (each head alone), row (all heads at once)
    sandwich_norms: bool = False
    embedding_scale: float = 1.0
    attention_scale: float = 1.0
    theta: float = 10000.0
    scaling: dict = field(default_factory=dict)
    local_theta: float | None = None  # base of the sliding layers, if their own
    local_scaling: dict = field(default_factory=dict)
    window: int = 0
    sliding: list = field(default_factory=list)  # one flag a layer
    n_experts: int = 0
    n_experts_used: int = 0
    normalize_experts: bool = False


def from_config(config):
    """The recipe of a config.json, as transformers 4 or 5 writes it."""
    family = config["model_type"]
    eps = 1e-5 if family in ("mixtral", "olmoe") else 1e-6
    heads = config["num_attention_heads"]
    layers = config["num_hidden_layers"]
    gemma = family == "gemma3_text"
    head_dim = config.get("head_dim") or (256 if gemma else config["hidden_size"] // heads)
    r = Recipe(
        family=family, vocab=config["vocab_size"], hidden=config["hidden_size"],
        n_layers=layers, n_heads=heads,
        n_kv_heads=config.get("num_key_value_heads") or heads, head_dim=head_dim,
        eps=config.get("rms_norm_eps", eps),
        activation=config.get("hidden_activation") or config.get("hidden_act") or "silu",
        tied_head=config.get("tie_word_embeddings", gemma),
        qk_norm="row" if family == "olmoe"
        else "head" if family in ("qwen3", "qwen3_moe", "gemma3_text") else "none",
        sandwich_norms=gemma,
        embedding_scale=config["hidden_size"] ** 0.5 if gemma else 1.0,
        attention_scale=(config["query_pre_attn_scalar"] if gemma else head_dim) ** -0.5,
        sliding=[False] * layers)
    _rope_from_config(r, config)
    _window_from_config(r, config)
    if family in MOE:
        r.n_experts = config.get("num_local_experts") or config["num_experts"]
        r.n_experts_used = config["num_experts_per_tok"]
        r.normalize_experts = family == "mixtral" or config.get("norm_topk_prob", False)
    return r


def _rope_from_config(r, config):
    parameters = config.get("rope_parameters")
    if parameters is None:
        parameters = dict(config.get("rope_scaling") or {})
        parameters.setdefault("rope_theta", config.get("rope_theta", 1e6 if r.family in ("mixtral", "gemma3_text") else r.theta))
        parameters.setdefault("rope_type", parameters.pop("type", "default"))
    if "full_attention" in parameters:
        local = parameters.get("sliding_attention")
        if local is not None:
            r.local_theta, r.local_scaling = local["rope_theta"], local
        parameters = parameters["full_attention"]
    elif r.family == "gemma3_text":
        r.local_theta = config.get("rope_local_base_freq", 10000.0)
    r.theta, r.scaling = parameters["rope_theta"], parameters


def _window_from_config(r, config):
    window = config.get("sliding_window")
    if window is None or r.family.startswith("qwen"):
        return
    r.window = window
    if r.family != "gemma3_text":
        r.sliding = [True] * r.n_layers
    elif "layer_types" in config:
        r.sliding = [t == "sliding_attention" for t in config["layer_types"]]
    else:
        period = config.get("sliding_window_pattern", config.get("_sliding_window_pattern", 6))
        r.sliding = [(i + 1) % period != 0 for i in range(r.n_layers)]


ARCHITECTURES = {"llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3",
                 "qwen3moe": "qwen3_moe", "gemma3": "gemma3_text", "olmoe": "olmoe"}


def from_gguf(keys, shapes):
    """The recipe of a GGUF: keys {name: value}, shapes {tensor name: numpy shape}.
    What GGUF has no key for is read off the tensor table."""
    arch = keys["general.architecture"]
    family = ARCHITECTURES[arch]

    def get(name, default=None):
        return keys.get(f"{arch}.{name}", default)

    if arch == "llama" and get("expert_count", 0) > 0:
        family = "mixtral"
    gemma = family == "gemma3_text"
    heads = get("attention.head_count")
    hidden = get("embedding_length")
    layers = get("block_count")
    head_dim = get("attention.key_length", hidden // heads)
    r = Recipe(
        family=family, vocab=shapes["token_embd.weight"][0], hidden=hidden,
        n_layers=layers, n_heads=heads,
        n_kv_heads=get("attention.head_count_kv", heads), head_dim=head_dim,
        eps=get("attention.layer_norm_rms_epsilon"),
        activation="gelu_pytorch_tanh" if gemma else "silu",
        tied_head="output.weight" not in shapes,
        sandwich_norms=gemma,
        embedding_scale=hidden ** 0.5 if gemma else 1.0,
        attention_scale=get("attention.scale", _gemma_scale(layers, hidden, heads, head_dim)
                            if gemma else head_dim ** -0.5),
        theta=get("rope.freq_base", 10000.0),
        sliding=[False] * layers)
    if "blk.0.attn_q_norm.weight" in shapes:
        r.qk_norm = "head" if shapes["blk.0.attn_q_norm.weight"] == (head_dim,) else "row"
    r.scaling = _scaling_from_gguf(get)
    window = get("attention.sliding_window", 0)
    if window:
        r.window = window
        pattern = get("attention.sliding_window_pattern", 6 if gemma else 0)
        r.sliding = (list(map(bool, pattern)) if isinstance(pattern, list)
                     else [pattern == 0 or (i + 1) % pattern != 0 for i in range(layers)])
    if gemma:
        r.local_theta = get("rope.freq_base_swa", 10000.0)
    if family in MOE:
        r.n_experts = get("expert_count")
        r.n_experts_used = get("expert_used_count")
        r.normalize_experts = bool(get("expert_weights_norm", family != "olmoe"))
    return r


def _gemma_scale(layers, hidden, heads, head_dim):
    """Only the 27B model, known by its 62 layers, does not scale by head_dim."""
    return (hidden // heads if layers == 62 else head_dim) ** -0.5


def _scaling_from_gguf(get):
    kind = get("rope.scaling.type", "none")
    if kind == "none":
        return {}
    scaling = {"rope_type": kind, "factor": get("rope.scaling.factor")}
    if kind == "yarn":
        scaling["original_max_position_embeddings"] = get("rope.scaling.original_context_length")
        scaling["beta_fast"] = get("rope.scaling.yarn_beta_fast")
        scaling["beta_slow"] = get("rope.scaling.yarn_beta_slow")
        scaling["attention_factor"] = get("rope.scaling.yarn_attn_factor")
        scaling["attention_multiplier"] = get("rope.scaling.attn_factor", 1.0)
    return scaling


def with_divisors(recipe, divisors):
    """Llama 3.1's scaling as a GGUF stores it: a divisor for each frequency."""
    recipe.scaling = {"rope_type": "divisors", "divisors": np.asarray(divisors, np.float64)}
    return recipe
