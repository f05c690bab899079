#!/usr/bin/env python3
"""What checkpoints reply to chats: lm-eval 0.4.13's generate_until behind --apply_chat_template.

    chat_reply_expectations.py PROMPTS.jsonl                       the prompts
    chat_reply_expectations.py PROMPTS.jsonl CHECKPOINT OUT.json   [--tokenizer tokenizer.json]
        [--config tokenizer_config.json]                           what lm-eval (HFLM, float32) replies

CHECKPOINT is a Hugging Face folder or a GGUF, whose tokenizer is that of lm_eval_expectations.py and
whose chat template is its own, or that of --config. Greedy, until one of UNTIL or MAX_TOKENS; once
without a system message and once with SYSTEM. (No prompt holds text of a special token: rml keeps that as text,
lm-eval does not.)
`margins` are the least gaps between the best and the second logit on the way of each reply, from the
same model's own forward passes: where one is small, another order of additions may rightly give
another reply.
Packages: lm-eval==0.4.13, torch, transformers, tokenizers, gguf.
"""
import argparse
import json
from pathlib import Path

SYSTEM = "You answer in few words."
UNTIL, MAX_TOKENS = ["\n\n", "!"], 24
PROMPTS = [
    "What is the capital of France?", "What is 12 + 30?", "  Name three colours.  ", "Who are you?",
    "Translate to German: \u201eгород\u201c \u2014 ok?", "Write one line of Python that prints 1\n2\n3.",
    "Complete: if a < b and b < c, then", "人人生而自由。 Which language is this?",
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prompts")
    parser.add_argument("checkpoint", nargs="?")
    parser.add_argument("out", nargs="?")
    parser.add_argument("--tokenizer")
    parser.add_argument("--config")
    args = parser.parse_args()
    if not args.checkpoint:
        Path(args.prompts).write_text("".join(
            json.dumps({"context": text}, ensure_ascii=False) + "\n" for text in PROMPTS))
        return
    import torch
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM
    import lm_eval_expectations
    model, tokenizer = lm_eval_expectations.load(args.checkpoint, args.tokenizer)
    path = Path(args.checkpoint)
    if path.is_file() and not args.tokenizer:  # one of a byte-level vocabulary alone
        import tokenizers
        tokenizer.backend_tokenizer.decoder = tokenizers.decoders.ByteLevel()
    if args.config:
        tokenizer.chat_template = json.loads(Path(args.config).read_text())["chat_template"]
    elif path.is_file():
        import gguf
        tokenizer.chat_template = gguf.GGUFReader(path).fields["tokenizer.chat_template"].contents()
    lm = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=1, device="cpu", dtype="float32")

    def margin(context, reply):
        ids = lm.tok_encode(context)
        replied = lm.tok_encode(context + reply)
        with torch.no_grad():
            logits = model(torch.tensor([replied])).logits[0, len(ids) - 1 :]
        best = logits.topk(2).values
        return round(float((best[:, 0] - best[:, 1]).min()), 4)

    contexts = [json.loads(line)["context"] for line in open(args.prompts)]
    runs = []
    for system in (None, SYSTEM):
        rendered = [lm.apply_chat_template(([{"role": "system", "content": system}] if system else [])
                                           + [{"role": "user", "content": text}]) for text in contexts]
        replies = lm.generate_until([
            Instance("generate_until", {}, (text, {"until": UNTIL, "max_gen_toks": MAX_TOKENS, "do_sample": False}), i)
            for i, text in enumerate(rendered)])
        runs.append({"system": system, "rendered": rendered, "replies": replies,
                     "margins": [margin(text, reply) for text, reply in zip(rendered, replies)]})
    document = {"source": {"engine": "lm-eval", "version": "0.4.13", "dtype": "float32"},
                "until": UNTIL, "max_tokens": MAX_TOKENS, "runs": runs}
    Path(args.out).write_text(json.dumps(document, ensure_ascii=False, indent=0) + "\n")


if __name__ == "__main__":
    main()
