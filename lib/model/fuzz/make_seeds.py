#!/usr/bin/env python3
"""Writes corpus/ and the dictionaries: what the harnesses of this folder start from.

config_json: the toys of ../tests/cases/config_json.json with some of their variants.
model_gguf:  one layer of a few elements for some architectures. Needs numpy and gguf.
"""

import json
import pathlib
import re

import gguf
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
VARIANTS = ("llama, llama3", "llama, old yarn", "llama, yarn, mscale", "gemma3_text, old rope",
            "gemma3_text, a period")


def write_configs():
    folder = HERE / "corpus" / "config_json"
    folder.mkdir(parents=True, exist_ok=True)
    cases = json.loads((HERE.parent / "tests" / "cases" / "config_json.json").read_text())
    configs = {name: base["config"] for name, base in cases["bases"].items()
               if "hidden_size" in base["config"] and base["config"]["hidden_size"] == 32}
    for case in cases["cases"]:
        if case["name"] in VARIANTS:
            config = {k: v for k, v in configs[case["of"]].items() if k not in case["drop"]}
            configs[re.sub("[ ,]+", "_", case["name"])] = config | case["set"]
    for name, config in configs.items():
        (folder / f"{name}.json").write_text(json.dumps(config))


def dictionary(name, sources):
    words = set()
    for source in sources:
        words |= set(re.findall(r'"([a-z0-9_.]{3,40})"', (HERE.parent / source).read_text()))
    (HERE / f"{name}.dict").write_text("".join(f'"{word}"\n' for word in sorted(words)))


def write_gguf(arch, keys, layer, tied=False, dtype=np.float16):
    path = HERE / "corpus" / "model_gguf" / f"{arch}.gguf"
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(path, arch)
    for name, value in {"block_count": 1, "context_length": 8, "embedding_length": 8,
                        "attention.head_count": 2, "attention.head_count_kv": 1,
                        "attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 100.0,
                        "feed_forward_length": 6}.items() | keys.items():
        add = (writer.add_float32 if isinstance(value, float)
               else writer.add_string if isinstance(value, str) else writer.add_uint32)
        add(f"{arch}.{name}", value)
    tensors = {"token_embd.weight": (4, 8), "output_norm.weight": (8,)} | layer
    if not tied:
        tensors["output.weight"] = (4, 8)
    for name, shape in tensors.items():
        writer.add_tensor(name, np.ones(shape, np.float32 if len(shape) == 1 else dtype))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_models():
    attention = {"blk.0.attn_norm.weight": (8,), "blk.0.attn_q.weight": (8, 8),
                 "blk.0.attn_k.weight": (4, 8), "blk.0.attn_v.weight": (4, 8),
                 "blk.0.attn_output.weight": (8, 8), "blk.0.ffn_norm.weight": (8,)}
    dense = {"blk.0.ffn_gate.weight": (6, 8), "blk.0.ffn_up.weight": (6, 8),
             "blk.0.ffn_down.weight": (8, 6)}
    experts = {"blk.0.ffn_gate_inp.weight": (2, 8), "blk.0.ffn_gate_exps.weight": (2, 6, 8),
               "blk.0.ffn_up_exps.weight": (2, 6, 8), "blk.0.ffn_down_exps.weight": (2, 8, 6)}
    write_gguf("llama", {}, attention | dense | {"rope_freqs.weight": (2,)})
    write_gguf("qwen2", {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0},
               attention | dense | {f"blk.0.attn_{x}.bias": (8 if x == "q" else 4,)
                                    for x in "qkv"}, tied=True)
    write_gguf("gemma3", {"attention.sliding_window": 4, "attention.sliding_window_pattern": 2},
               attention | dense | {
                   "blk.0.attn_q_norm.weight": (4,), "blk.0.attn_k_norm.weight": (4,),
                   "blk.0.post_attention_norm.weight": (8,),
                   "blk.0.post_ffw_norm.weight": (8,)}, tied=True)
    write_gguf("olmoe", {"expert_count": 2, "expert_used_count": 1}, attention | experts | {
        "blk.0.attn_q_norm.weight": (8,), "blk.0.attn_k_norm.weight": (4,)})


write_configs()
write_models()
dictionary("config_json", ["config_from_json.c", "rope_from_json.c", "config_refusals.c"])
dictionary("model_gguf", ["config_from_gguf.c", "config_refusals.c", "weight_names.c"])
