"""Reads a Hugging Face folder or a GGUF into a forward.Model.

Safetensors are read here (numpy knows no bfloat16); GGUF by the gguf package, whose
dequantisers are the oracle for quantised tensors.
"""

import json
import pathlib
import re

import numpy as np

import forward
import names
import recipe as recipes


def open_model(path):
    path = pathlib.Path(path)
    return open_folder(path) if path.is_dir() else open_gguf(path)


def open_folder(folder):
    recipe = recipes.from_config(json.loads((folder / "config.json").read_text()))
    index = folder / "model.safetensors.index.json"
    files = (sorted(set(json.loads(index.read_text())["weight_map"].values()))
             if index.exists() else ["model.safetensors"])
    tensors = {}
    for name in files:
        tensors |= read_safetensors(folder / name)
    weights = {}
    for gguf_name, hf in names.gguf_to_hf(recipe).items():
        if isinstance(hf, list):
            if hf[0] in tensors:
                weights[gguf_name] = np.stack([tensors[name] for name in hf])
        elif hf in tensors:
            plus_one = recipe.family == "gemma3_text" and "norm" in hf
            weights[gguf_name] = tensors[hf] + (1.0 if plus_one else 0.0)
    return forward.Model(recipe, weights)


def read_safetensors(path):
    data = path.read_bytes()
    n_header = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:8 + n_header]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + n_header + offset for offset in entry["data_offsets"])
        tensors[name] = _widen(data[begin:end], entry["dtype"]).reshape(entry["shape"])
    return tensors


def _widen(raw, dtype):
    if dtype == "BF16":
        bits = np.frombuffer(raw, "<u2").astype(np.uint32) << 16
        return bits.view(np.float32).astype(np.float64)
    return np.frombuffer(raw, {"F16": "<f2", "F32": "<f4"}[dtype]).astype(np.float64)


def gguf_parts(path):
    """All files of a split GGUF, given its first."""
    split = re.fullmatch(r"(.*)-00001-of-(\d{5})\.gguf", path.name)
    if not split:
        return [path]
    stem, count = split[1], split[2]
    return [path.with_name(f"{stem}-{i + 1:05}-of-{count}.gguf") for i in range(int(count))]


def open_gguf(path):
    import gguf

    keys, raw = {}, {}
    for part in gguf_parts(pathlib.Path(path)):
        reader = gguf.GGUFReader(part)
        for field in reader.fields.values():
            keys.setdefault(field.name, field.contents())
        raw |= {t.name: t for t in reader.tensors}

    def dequantize(tensor):
        # The reader already shapes plain types; dequantize() shapes the others.
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        return values.astype(np.float64)

    shapes = {name: tuple(int(n) for n in t.shape[::-1]) for name, t in raw.items()}
    recipe = recipes.from_gguf(keys, shapes)
    weights = {name: dequantize(t).reshape(shapes[name]) for name, t in raw.items()}
    divisors = weights.pop("rope_freqs.weight", None)
    if divisors is not None:
        recipes.with_divisors(recipe, divisors)
    if names.is_interleaved(recipe.family):
        for name, x in weights.items():
            n_heads = names.heads_of(name, recipe)
            if n_heads:
                weights[name] = names.deinterleave_rows(x, n_heads)
    return forward.Model(recipe, weights)
