"""Toys of one family in every tensor type, as GGUF only.

The plain types get rows of 36 and 52 (not whole vectors of any instruction set), the
types in blocks of 32 rows of 96 and 160, those in blocks of 256 one layer of 256.
The embedding and the head have the type too. One toy has stacked quantised experts.
"""

import gguf
import numpy as np

import blocks
import draw
import layout
import recipe as recipes
import tensor_files as files

Type = gguf.GGMLQuantizationType
CONFIG = {
    "model_type": "llama", "vocab_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5, "rope_parameters": {"rope_type": "default", "rope_theta": 1200.0},
}
PLAIN = CONFIG | {"hidden_size": 36, "head_dim": 10, "intermediate_size": 52}
OF_32 = CONFIG | {"hidden_size": 96, "head_dim": 24, "intermediate_size": 160}
OF_256 = CONFIG | {"hidden_size": 256, "head_dim": 64, "intermediate_size": 256,
                   "num_hidden_layers": 1, "num_key_value_heads": 1,
                   "tie_word_embeddings": True}
EXPERTS = CONFIG | {"model_type": "mixtral", "hidden_size": 64, "head_dim": 16,
                    "intermediate_size": 32, "num_local_experts": 5,
                    "num_experts_per_tok": 2}

# {name: (type, config)}; the place in the list seeds the weights.
TOYS = ({f"llama-{t.name.lower()}": (t, PLAIN) for t in (Type.F32, Type.F16, Type.BF16)}
        | {f"llama-{t.name.lower()}": (t, OF_32 if l.n_elements == 32 else OF_256)
           for t, l in blocks.LAYOUTS.items()}
        | {"mixtral-q5_0": (Type.Q5_0, EXPERTS)})

FILE_TYPES = {Type.F32: "ALL_F32", Type.Q3_K: "MOSTLY_Q3_K_M", Type.Q4_K: "MOSTLY_Q4_K_M",
              Type.Q5_K: "MOSTLY_Q5_K_M"}


def tensor(rng, kind, shape, deviation):
    """(type, shape, bytes) of a random matrix, or of stacked ones."""
    x = rng.normal(0, deviation, shape).astype(np.float32)
    if kind == Type.F32:
        return kind, shape, x.tobytes()
    if kind == Type.F16:
        return kind, shape, x.astype("<f2").tobytes()
    if kind == Type.BF16:
        return kind, shape, (x.view(np.uint32) >> 16).astype("<u2").tobytes()
    n_rows = int(np.prod(shape[:-1]))
    return kind, shape, blocks.random_blocks(rng, kind, n_rows, shape[-1], deviation).tobytes()


def write(path, name):
    """Writes the GGUF; returns the seed of its prompts."""
    kind, config = TOYS[name]
    seed = 100 + list(TOYS).index(name)
    rng = np.random.default_rng(seed)
    recipe = recipes.from_config(config)
    tensors = {}
    for tensor_name, shape in draw.shapes(recipe, config["intermediate_size"]).items():
        part = tensor_name.split(".")[-2]
        if "norm" in part:
            x = (1 + rng.normal(0, 0.25, shape)).astype(np.float32)
            if part == "output_norm" and recipe.tied_head:
                x *= rng.choice([-1, 1], shape).astype(np.float32)  # as in draw.py
            tensors[tensor_name] = (files.F32, shape, x.tobytes())
            continue
        deviation = draw.deviation(part, shape, recipe.tied_head)
        plain = part == "ffn_gate_inp"
        tensors[tensor_name] = tensor(rng, Type.F32 if plain else kind, shape, deviation)
    keys = layout.gguf_keys(config, recipe)
    keys["general.file_type"] = int(gguf.LlamaFileType[FILE_TYPES.get(kind, f"MOSTLY_{kind.name}")])
    files.write_gguf(path, keys, tensors)
    return seed
