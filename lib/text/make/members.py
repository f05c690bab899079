#!/usr/bin/env python3
"""Writes ../tests/members.json: what the tokenizers package makes of members of a tokenizer.json.

    pip install tokenizers==0.23.3
    ./members.py

`opens`: a member's text and whether a file with it is opened. `refused`: a member's text with which none is.
`settings`: settings of a BPE model with which none is. `unknown`: settings of a BPE model whose vocabulary is
a, b and ab, a text, and its ids, or null where encoding it is an error; `unigram`: the same of a Unigram
model of <unk>, a and b.
"""
import copy
import json
import pathlib

from tokenizers import Tokenizer

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests/members.json"
TRUNCATION = {"direction": "Right", "max_length": 512, "strategy": "LongestFirst", "stride": 0}
PADDING = {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
           "pad_token": "[PAD]"}
VALUES = [None, True, 0, 1, -1, 1.0, 2.5, "", "x", [], {}, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64]
NAMES = ["Left", "Right", "left", "LongestFirst", "longest_first", "OnlyFirst", "OnlySecond", "BatchLongest", "Fixed",
         {"Fixed": 0}, {"Fixed": 8}, {"Fixed": 2**64 - 1}, {"Fixed": -1}, {"Fixed": None}, {"fixed": 8}, {"Fixed": 8, "x": 1}]
UNKNOWN = [None, "", "a", "<unk>"]
BYTELEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
REPLACE = {"type": "Replace", "pattern": {"String": "a"}, "content": "b"}
SEQUENCES = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]
TEMPLATE = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "a", "type_id": 0}}, SEQUENCES[0]],
            "pair": SEQUENCES, "special_tokens": {"a": {"id": "a", "ids": [0], "tokens": ["a"]}}}
PARTS = {
    "normalizer": [REPLACE, {"type": "Prepend", "prepend": "a"}, {"type": "Strip", "strip_left": True, "strip_right": True},
                   {"type": "Sequence", "normalizers": [{"type": "NFC"}]}],
    "pre_tokenizer": [BYTELEVEL, METASPACE, {"type": "Digits", "individual_digits": True},
                      {"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Isolated", "invert": False},
                      {"type": "Punctuation", "behavior": "Isolated"},
                      {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}]}],
    "post_processor": [BYTELEVEL, TEMPLATE, {"type": "Sequence", "processors": [BYTELEVEL]}],
    "decoder": [BYTELEVEL, METASPACE, REPLACE, {"type": "Strip", "content": " ", "start": 1, "stop": 0},
                {"type": "Sequence", "decoders": [{"type": "Fuse"}]}],
    "added_tokens": [[{"id": 3, "content": "<s>", "single_word": False, "lstrip": False, "rstrip": False,
                       "normalized": False, "special": True}]]}
SETTINGS = ["type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
            "byte_fallback", "ignore_merges"]
MISSING = object()


def file(member, text, model=None):
    bpe = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
    model = model if model and "vocab" in model else {**bpe, **(model or {})}
    head = f'"{member}": {text}, ' if member else ""
    return '{"version": "1.0", ' + head + '"added_tokens": [], "model": ' + json.dumps(model) + "}"


def opens(member, text):
    try:
        Tokenizer.from_str(file(member, text))
        return True
    except Exception:  # the package has no narrower one
        return False


def texts(settings):
    yield "null"
    for value in VALUES:
        yield json.dumps(value)
    yield json.dumps(settings)
    yield json.dumps({"more": [1], **settings})
    for key in settings:
        yield json.dumps({k: v for k, v in settings.items() if k != key})
        for value in VALUES + NAMES:
            yield json.dumps({**settings, key: value})
        yield json.dumps(settings)[:-1] + f', "{key}": {json.dumps(settings[key])}' + "}"


def ids(model, text):
    try:
        return Tokenizer.from_str(file(None, None, model)).encode(text).ids
    except Exception:
        return None


def paths(value, path=()):
    """Of each member and element below a value."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield path + (key,)
        yield from paths(value[key], path + (key,))


def changed(part, path, value):
    """The part with another value in a place, or without it."""
    part = copy.deepcopy(part)
    at = part
    for key in path[:-1]:
        at = at[key]
    if value is MISSING:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return part


def main():
    cases = {"opens": [], "refused": [], "settings": [], "unknown": [], "unigram": []}
    for member, settings in (("truncation", TRUNCATION), ("padding", PADDING)):
        for text in dict.fromkeys(texts(settings)):
            if text != "[]":  # an array of the members in order is read by the package, and refused by rml
                cases["opens"].append([member, text, opens(member, text)])
    for member, parts in PARTS.items():
        for part in parts:
            cases["opens"].append([member, json.dumps(part), opens(member, json.dumps(part))])
            for path in paths(part):
                for value in None, True, 5, 1.5, "x", [], {}, MISSING:
                    text = json.dumps(changed(part, path, value))
                    if path[-1] != "type" and not opens(member, text):
                        cases["refused"].append([member, text])
    for key in SETTINGS:
        for value in 0, 1, -1, 1.5, True, "", "x", [], {}:
            try:
                Tokenizer.from_str(file(None, None, {key: value}))
            except Exception:
                cases["settings"].append({key: value})
    for unk in UNKNOWN:
        for fuse in False, True:
            model = {"unk_token": unk, "fuse_unk": fuse}
            for text in "ab", "abc", "ccab", "":
                cases["unknown"].append([model, text, ids(model, text)])
    for unk in None, 0, 1:
        model = {"type": "Unigram", "unk_id": unk, "vocab": [["<unk>", 0.0], ["a", -1.0], ["b", -2.0]]}
        for text in "ab", "abc", "ccab", "", "<unk>", "a<b>":
            cases["unigram"].append([model, text, ids(model, text)])
    lines = [f'"{key}": [\n ' + ",\n ".join(json.dumps(case) for case in value) + "\n]" for key, value in cases.items()]
    OUT.write_text("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
