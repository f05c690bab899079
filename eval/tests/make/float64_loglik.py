#!/usr/bin/env python3
"""The log-likelihood of choices with an empty context, in float64 all the way.

    float64_loglik.py CHECKPOINT.gguf QUESTIONS.jsonl EXPECTED.json ITEM:CHOICE...

A token behind BOS alone can be ill-conditioned: float32 engines then differ from each other by
more than they do anywhere else. This adds to EXPECTED.json, which lm_eval_expectations.py made, the
member "float64", {"ITEM": {"CHOICE": log-likelihood}}, from transformers with its inner casts
widened (goldens/make/widened.py), so that a test can tell which side is nearer.
Packages: torch, transformers, tokenizers, gguf.
"""
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "goldens" / "make")]


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    checkpoint, questions, expected = sys.argv[1:4]
    import torch
    import widened
    from lm_eval_expectations import load

    items = [json.loads(line) for line in Path(questions).read_text().splitlines()]
    out = json.loads(Path(expected).read_text())
    model, tokenizer = load(checkpoint, None)
    model = model.double()
    with widened.widened(), torch.no_grad():
        widened.rebuild_rotary(model)
        for place in sys.argv[4:]:
            item, choice = map(int, place.split(":"))
            if items[item]["context"]:
                sys.exit(f"item {item}: a context found, expected none")
            ids = tokenizer(" " + items[item]["choices"][choice], add_special_tokens=False).input_ids
            logits = model(torch.tensor([[tokenizer.bos_token_id] + ids[:-1]])).logits[0]
            loglik = logits.log_softmax(-1)[range(len(ids)), ids].sum()
            out.setdefault("float64", {}).setdefault(str(item), {})[str(choice)] = round(float(loglik), 6)
    Path(expected).write_text(json.dumps(out) + "\n")


main()
