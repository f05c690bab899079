#!/usr/bin/env python3
"""Writes chat_ids.json: the ids of rendered conversations, for small tokenizers made here.

Each tokenizer is trained on the texts themselves, so that merges reach across the borders of
markers and contents, and stands in the file whole. The ids are those of the `tokenizers` package
for the text that chat_cases.json has from transformers, which is what apply_chat_template
does with tokenize=True.

Where contents hold the text of special tokens, rml differs on purpose. What it should give
comes from the same package: the markers that the template wrote are replaced by private
characters, and the tokenizer's special tokens are renamed to those, so that the same text in
contents is none.

    make_chat_ids.py          after make_chat_cases.py; needs tokenizers (0.23.3 was used)
"""

import json
import pathlib
import re
import sys

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,
                        pre_tokenizers, trainers)

HERE = pathlib.Path(__file__).resolve().parent
BOS, EOS = "<s>", "</s>"
CONVERSATIONS = ["answered", "system, two turns", "empty user", "blanks around", "unicode blanks",
                 "newlines inside", "emoji and scripts", "thinking", "text and code",
                 "special-token text"]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def train(tokenizer, corpus, alphabet):
    trainer = trainers.BpeTrainer(vocab_size=len(alphabet) + 160, initial_alphabet=alphabet,
                                  special_tokens=["<unk>"], show_progress=False)
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


def byte_level(corpus, pattern=None):
    tokenizer = Tokenizer(models.BPE())
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    tokenizer.pre_tokenizer = level if not pattern else pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), level])
    tokenizer.decoder = decoders.ByteLevel()
    return train(tokenizer, corpus, pre_tokenizers.ByteLevel.alphabet())


def sentencepiece(corpus, scheme=None):
    """BPE over characters with bytes for the rest; a space before the text by a normalizer, as
    in Llama 2, or by Metaspace."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if scheme:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme=scheme, split=False)
    else:
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    lines = [line for text in corpus for line in text.splitlines()]
    train(tokenizer, lines, sorted(set("▁abcdefghijklmnopqrstuvwxyzABCDEFGHI.<>|[]/_\n")))
    state = json.loads(tokenizer.to_str())
    vocabulary = state["model"]["vocab"]
    for byte in range(256):
        vocabulary.setdefault(f"<0x{byte:02X}>", len(vocabulary))
    return Tokenizer.from_str(json.dumps(state))


CHATML = ["<|im_start|>", "<|im_end|>"]
LLAMA3_MARKERS = ["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
PHI = ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
# name: how to make it, special tokens with their flags, other added tokens, formats
TOKENIZERS = {
    "byte-level": (byte_level, {}, CHATML + LLAMA3_MARKERS, ["<think>", "</think>"],
                   ["qwen3", "smollm2", "llama3"]),
    "byte-level, split by a pattern": (lambda corpus: byte_level(corpus, LLAMA3), {},
                                       LLAMA3_MARKERS, [], ["llama3.1", "tulu", "zephyr"]),
    "sentencepiece": (sentencepiece, {}, ["[INST]", "[/INST]"], [],
                      ["llama2", "mistral-v3", "zephyr"]),
    "sentencepiece, tokens in normalised text": (sentencepiece, {"normalized": True}, [], [],
                                                 ["llama2", "zephyr", "olmoe"]),
    "metaspace": (lambda corpus: sentencepiece(corpus, "first"), {},
                  ["<start_of_turn>", "<end_of_turn>"], [], ["gemma3", "mistral-v1"]),
    "tokens that take white space": (byte_level, {"rstrip": True}, PHI, ["<|"],
                                     ["phi3.5", "tulu2"]),
}


def add_tokens(tokenizer, special, others, flags):
    tokenizer.add_special_tokens([AddedToken(t, special=True, **({"normalized": False} | flags))
                                  for t in special])
    tokenizer.add_tokens([AddedToken(t, special=False, normalized=False) for t in others])


def texts_of(cases, format_name):
    """{conversation: text with a generation prompt} for those that the format renders."""
    group = next(g for g in cases["groups"] if g["format"] == format_name)
    texts = {}
    for name, case in zip(cases["conversations"], group["cases"]):
        if name in CONVERSATIONS and not isinstance(case, str):
            kind, plain, prompted = case
            texts[name] = (plain if prompted[0] == "+" else "") + prompted[1:]
    return texts


def hide(text, contents, private):
    """The text with the markers outside of the contents replaced; a content that the format
    leaves out is not found."""
    hidden = ""
    for content in contents + [None]:
        at = len(text) if content is None else text.find(content)
        if at < 0:
            continue
        marked = text[:at]
        for token, character in private.items():
            marked = marked.replace(token, character)
        hidden += marked + (content or "")
        text = text[at + len(content or ""):]
    return hidden


def main():
    cases = json.loads((HERE / "chat_cases.json").read_text(encoding="utf-8"))
    out = {"tokenizers": []}
    for name, (make, flags, markers, others, formats) in TOKENIZERS.items():
        texts = {f: texts_of(cases, f) for f in formats}
        special = [BOS, EOS] + markers
        # Without the markers: real vocabularies do not build them up from characters.
        parts = re.compile("|".join(map(re.escape, sorted(special + others, key=len, reverse=True))))
        corpus = [part for by_name in texts.values() for text in by_name.values()
                  for part in parts.split(text)]
        base = make(corpus).to_str()
        tokenizer = Tokenizer.from_str(base)
        add_tokens(tokenizer, special, others, flags)
        # Private characters of the two-byte kind that no text here has, the longest token first.
        private = {t: chr(0xE000 + special.index(t))
                   for t in sorted(special, key=len, reverse=True)}
        hiding = Tokenizer.from_str(base)
        add_tokens(hiding, [private[t] for t in special], others, flags)
        if any(tokenizer.token_to_id(t) != hiding.token_to_id(private[t]) for t in special):
            sys.exit(f"{name}: a marker has become a token of the model")
        entries = []
        for format_name, by_name in texts.items():
            for conversation, text in by_name.items():
                ids = tokenizer.encode(text, add_special_tokens=False).ids
                entry = {"format": format_name, "conversation": conversation, "ids": ids}
                contents = [m["content"] for m in cases["conversations"][conversation]]
                if conversation == "special-token text":
                    ours = hiding.encode(hide(text, contents, private), add_special_tokens=False)
                    if "<0xEE>" in ours.tokens:
                        continue  # a marker is none where it stands, and so has no reference here
                    entry["rml_ids"] = ours.ids
                entries.append(entry)
        out["tokenizers"].append({"name": name, "bos": BOS, "eos": EOS,
                                  "tokenizer": json.loads(tokenizer.to_str()), "cases": entries})
    with open(HERE / "chat_ids.json", "w", encoding="utf-8") as file:
        text = json.dumps(out, ensure_ascii=False, separators=(",", ":"))
        file.write(text.replace('{"format"', '\n{"format"').replace('{"name"', '\n{"name"') + "\n")


if __name__ == "__main__":
    main()
