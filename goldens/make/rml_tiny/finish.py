"""What belongs to the trained folder beside the weights: the same model as a GGUF, the
held-out text and the multiple-choice files.

    python3 goldens/make/rml_tiny/finish.py goldens/models/rml-tiny
"""

import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import checkpoint
import corpus
import items
import layout
import names
import recipe as recipes
import script_arguments
import tensor_files

SEED = 1
TEXT = ("persuasion 23", "persuasion 24", "Ruth", "Jonah")  # the rest makes the items
NORMAL, CONTROL = np.int32(1), np.int32(3)


def gguf_keys(config, recipe, tokenizer):
    keys = layout.gguf_keys(config, recipe)
    keys |= {"general.name": "rml-tiny", "general.license": "apache-2.0",
             "general.file_type": 32}  # mostly bf16
    vocabulary = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get)
    n_special = len(tokenizer["added_tokens"])
    return keys | {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": vocabulary,
        "tokenizer.ggml.token_type": [CONTROL if i < n_special else NORMAL
                                      for i in range(len(vocabulary))],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in tokenizer["model"]["merges"]],
        "tokenizer.ggml.bos_token_id": config["bos_token_id"],
        "tokenizer.ggml.eos_token_id": config["eos_token_id"],
        "tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.add_eos_token": False,
    }


def gguf_tensors(recipe, folder):
    hf, out = checkpoint.read_safetensors(folder / "model.safetensors"), {}
    for name, hf_name in names.gguf_to_hf(recipe).items():
        if hf_name not in hf:
            continue
        x = hf[hf_name]
        n_heads = names.heads_of(name, recipe)
        if n_heads:
            x = names.interleave_rows(x, n_heads)
        out[name] = ((tensor_files.F32, x.shape, tensor_files.to_f32(x)) if x.ndim == 1
                     else (tensor_files.BF16, x.shape, tensor_files.to_bf16(x)))
    return out


def main():
    folder = Path(script_arguments.parse(__doc__, "folder").folder)
    config = json.loads((folder / "config.json").read_text())
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    recipe = recipes.from_config(config)
    tensor_files.write_gguf(folder / "rml-tiny.gguf", gguf_keys(config, recipe, tokenizer),
                            gguf_tensors(recipe, folder))

    _, held_out = corpus.split()
    text = [d for d in held_out if d[0].startswith(TEXT)]
    rest = [d for d in held_out if not d[0].startswith(TEXT)]
    (folder / "held-out.txt").write_text("\n\n".join(t for _, t in text) + "\n")
    items.write(folder / "order.jsonl", items.order(rest, SEED))
    items.write(folder / "cloze.jsonl", items.cloze(rest, SEED))


if __name__ == "__main__":
    main()
