#!/usr/bin/env python3
"""Expectations of multiple choice and rolling perplexity from lm-eval.

    lm_eval_expectations.py questions TEXT N QUESTIONS.jsonl
    lm_eval_expectations.py score CHECKPOINT QUESTIONS.jsonl OUT.json [--tokenizer tokenizer.json]

OUT.json is written after every 64 items, and a run goes on where it ends.

`questions` makes N items of four choices from a text: some words of it as context, the words
that follow and three pieces from elsewhere as choices. Every 16th context ends with spaces,
every 16th is empty, and a choice in eight is cut inside a word, so that the rules of the
boundary between context and choice come in.

`score` runs lm-eval 0.4.13 (HFLM, logits_cache=False, batch size 16, float32) on transformers'
reading of a GGUF or a Hugging Face folder. A GGUF's tokenizer is that of goldens/make/real.py.
Packages: lm-eval==0.4.13, torch, transformers, tokenizers, gguf.
"""
import json
import random
import sys
from pathlib import Path

SLICE = 64


def make_questions(text_file, count, out):
    words = Path(text_file).read_text().split()
    draw = random.Random(6)
    with open(out, "w") as file:
        for number in range(count):
            start = draw.randrange(len(words) - 64)
            n_context, n_choice = draw.randrange(6, 24), draw.randrange(1, 7)
            context = " ".join(words[start : start + n_context])
            right = " ".join(words[start + n_context : start + n_context + n_choice])
            choices = [right]
            while len(choices) < 4:
                other = draw.randrange(len(words) - 8)
                choice = " ".join(words[other : other + n_choice])
                if choice not in choices:
                    choices.append(choice)
            if number % 16 == 3:
                context += "  "
            if number % 16 == 7:
                context = ""
            if number % 8 == 5:
                choices[3] = choices[3][: max(1, len(choices[3]) - 2)]
            gold = draw.randrange(4)
            choices[0], choices[gold] = choices[gold], choices[0]
            item = {"context": context, "choices": choices, "gold": gold}
            file.write(json.dumps(item, ensure_ascii=False) + "\n")


def load(checkpoint, tokenizer_file):
    import torch
    import transformers
    path = Path(checkpoint)
    if path.is_dir():
        model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
        return model, transformers.AutoTokenizer.from_pretrained(path)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32)
    import gguf
    fields = gguf.GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    if tokenizer_file:
        import tokenizers
        tokenizer = tokenizers.Tokenizer.from_file(tokenizer_file)
    else:
        sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "goldens" / "make"))
        import real
        tokenizer = real.smollm2_tokenizer(path)
    bos, eos = (tokens[fields[f"tokenizer.ggml.{key}_token_id"].contents()]
                for key in ("bos", "eos"))
    return model, transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=bos, eos_token=eos)


def score(checkpoint, questions, out, tokenizer_file):
    import lm_eval
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM
    model, tokenizer = load(checkpoint, tokenizer_file)
    lm = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=16, logits_cache=False,
              device="cpu", dtype="float32")
    items = [json.loads(line) for line in open(questions)]
    documents = ["".join(item["context"] + " " + item["choices"][item["gold"]] + "\n"
                         for item in items[i : i + 10]) for i in (0, 10, 20, 30)]
    if Path(out).exists():
        document = json.loads(Path(out).read_text())
    else:
        rolling = lm.loglikelihood_rolling(
            [Instance("loglikelihood_rolling", {}, (text,), 0) for text in documents])
        document = {
            "source": {"engine": "lm-eval", "version": "0.4.13", "dtype": "float32"},
            "loglik": [], "greedy": [], "rolling": [round(float(x), 4) for x in rolling],
        }
    while len(document["loglik"]) < len(items):
        begin = len(document["loglik"])
        part = items[begin : begin + SLICE]
        results = lm.loglikelihood(
            [Instance("loglikelihood", {}, (item["context"], " " + choice), i)
             for item in part for i, choice in enumerate(item["choices"])])
        for i in range(0, len(results), 4):
            document["loglik"].append([round(float(x), 5) for x, _ in results[i : i + 4]])
            document["greedy"].append([bool(g) for _, g in results[i : i + 4]])
        Path(out).write_text(json.dumps(document) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "questions":
        make_questions(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        score(sys.argv[2], sys.argv[3], sys.argv[4],
              sys.argv[6] if len(sys.argv) > 6 else None)
