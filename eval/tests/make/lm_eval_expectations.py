#!/usr/bin/env python3
"""Expectations of multiple choice and rolling perplexity from lm-eval.

    lm_eval_expectations.py questions TEXT N QUESTIONS.jsonl
    lm_eval_expectations.py mixed TEXT N QUESTIONS.jsonl
    lm_eval_expectations.py score CHECKPOINT QUESTIONS.jsonl OUT.json [--tokenizer tokenizer.json]
        [--max-length N] [--batch N]

OUT.json is written after every 32 items, and a run goes on where it ends.

`questions` makes N items of four choices from a text: some words of it as context, the words
that follow and three pieces from elsewhere as choices. Every 16th context ends with spaces,
every 16th is empty, and a choice in eight is cut inside a word, so that the rules of the
boundary between context and choice come in.

`mixed` makes N items of two to five choices of eight kinds: short contexts; contexts that end with
white space of several kinds; empty ones; other scripts; figures, signs and code; and, a quarter as
often, long contexts, such that begin with one of three headers, and such of more than 160 tokens.
They are meant to be scored with --max-length 160. (A context of white space alone is one that
lm-eval fails on.)

`score` runs lm-eval 0.4.13 (HFLM, logits_cache=False, float32) on transformers' reading of a GGUF
or a Hugging Face folder. A GGUF's tokenizer is that of goldens/make/real.py.
Packages: lm-eval==0.4.13, torch, transformers, tokenizers, gguf.
"""
import argparse
import json
import random
import sys
from pathlib import Path

SLICE = 32
WHITE = ["  ", "\t", "\n", "\u00a0", " \n\n", "\u3000", "\u2003 "]
# Article 1 of the Universal Declaration of Human Rights, and a line of signs.
SCRIPTS = [
    "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и "
    "совестью и должны поступать в отношении друг друга в духе братства.",
    "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
    "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا.",
    "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।",
    "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",
    "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.",
    "Toți oamenii se nasc liberi și egali — 🙂🙃 👩‍👩‍👧 ½ ﬁ Å e\u0301 „ja“ …",
]
SIGNS = ["for i in range(%d):\n    total += x[i] * %d", "%d + %d =", "{\"a\": %d, \"b\": [%d,", "$%d.%02d (approx.)",
         "https://example.org/%d/%d?q=", "# %d\n\n- item %d\n-"]


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


def mixed_question(number, words, draw):
    def piece(n):
        at = draw.randrange(len(words) - n)
        return at, " ".join(words[at : at + n])

    kind = number % 8
    if kind in (1, 2, 6) and number // 8 % 4:
        kind = 0
    n_context = {0: 6, 1: 90, 2: 20, 3: 6, 4: 0, 5: 0, 6: 220, 7: 4}[kind]
    n_choice = draw.randrange(1, 6)
    at, context = piece(n_context + draw.randrange(6) + n_choice) if n_context else (0, "")
    after = context.split(" ")
    context, right = " ".join(after[:-n_choice]), " ".join(after[-n_choice:])
    if kind == 2:
        header = number // 32 % 3 * 700
        context = " ".join(words[header : header + 70]) + "\n\n" + context
    elif kind == 3:
        context += WHITE[number // 8 % len(WHITE)]
    elif kind == 4:
        right = piece(n_choice)[1]
    elif kind == 5:
        text = SCRIPTS[number // 8 % len(SCRIPTS)]
        cut = draw.randrange(len(text) // 4, len(text) // 2)
        context, right = text[:cut], text[cut : cut + 6 * n_choice]
    elif kind == 7:
        sign = SIGNS[number // 8 % len(SIGNS)]
        context = context + "\n" + sign % tuple(draw.randrange(99) for _ in range(sign.count("%")))
    n_choices = 2 if kind in (1, 6) else draw.randrange(2, 6)
    choices = [right]
    while len(choices) < n_choices:
        choice = piece(n_choice)[1]
        if kind == 5:
            text = SCRIPTS[draw.randrange(len(SCRIPTS))]
            cut = draw.randrange(len(text) - 4)
            choice = text[cut : cut + 6 * n_choice].strip()
        elif kind == 7:
            choice = str(draw.randrange(10 ** draw.randrange(1, 6)))
        if choice not in choices:
            choices.append(choice)
    gold = draw.randrange(n_choices)
    choices[0], choices[gold] = choices[gold], choices[0]
    return {"context": context, "choices": choices, "gold": gold}


def make_mixed(text_file, count, out):
    words = Path(text_file).read_text().split()
    draw = random.Random(7)
    with open(out, "w") as file:
        for number in range(count):
            item = mixed_question(number, words, draw)
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


def score(args):
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM
    model, tokenizer = load(args.checkpoint, args.tokenizer)
    lm = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=args.batch, logits_cache=False,
              device="cpu", dtype="float32", max_length=args.max_length)
    items = [json.loads(line) for line in open(args.questions)]
    out = Path(args.out)
    if out.exists():
        document = json.loads(out.read_text())
    else:
        document = {"source": {"engine": "lm-eval", "version": "0.4.13", "dtype": "float32"},
                    "loglik": [], "greedy": []}
        if args.max_length:
            document["max_length"] = args.max_length
        else:
            documents = ["".join(item["context"] + " " + item["choices"][item["gold"]] + "\n"
                                 for item in items[i : i + 10]) for i in (0, 10, 20, 30)]
            rolling = lm.loglikelihood_rolling(
                [Instance("loglikelihood_rolling", {}, (text,), 0) for text in documents])
            document["rolling"] = [round(float(x), 4) for x in rolling]
    while len(document["loglik"]) < len(items):
        begin = len(document["loglik"])
        part = items[begin : begin + SLICE]
        results = lm.loglikelihood(
            [Instance("loglikelihood", {}, (item["context"], " " + choice), i)
             for item in part for i, choice in enumerate(item["choices"])])
        for item in part:
            own, results = results[: len(item["choices"])], results[len(item["choices"]) :]
            document["loglik"].append([round(float(x), 5) for x, _ in own])
            document["greedy"].append([bool(g) for _, g in own])
        out.write_text(json.dumps(document) + "\n")


def main():
    if sys.argv[1] in ("questions", "mixed"):
        make = make_questions if sys.argv[1] == "questions" else make_mixed
        make(sys.argv[2], int(sys.argv[3]), sys.argv[4])
        return
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["score"])
    parser.add_argument("checkpoint")
    parser.add_argument("questions")
    parser.add_argument("out")
    parser.add_argument("--tokenizer")
    parser.add_argument("--max-length", type=int)
    parser.add_argument("--batch", type=int, default=16)
    score(parser.parse_args())


if __name__ == "__main__":
    main()
