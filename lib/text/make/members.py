#!/usr/bin/env python3
"""Writes ../tests/members.json: what the tokenizers package makes of members of a tokenizer.json.

    pip install tokenizers==0.23.3
    ./members.py

`opens`: a member's text and whether a file with it is opened. `unknown`: settings of a BPE model whose
vocabulary is a, b and ab, a text, and its ids, or null where encoding it is an error.
"""
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


def file(member, text, model=None):
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"], **(model or {})}
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


def main():
    cases = {"opens": [], "unknown": []}
    for member, settings in (("truncation", TRUNCATION), ("padding", PADDING)):
        for text in dict.fromkeys(texts(settings)):
            if text != "[]":  # an array of the members in order is read by the package, and refused by rml
                cases["opens"].append([member, text, opens(member, text)])
    for unk in UNKNOWN:
        for fuse in False, True:
            model = {"unk_token": unk, "fuse_unk": fuse}
            for text in "ab", "abc", "ccab", "":
                cases["unknown"].append([model, text, ids(model, text)])
    lines = [f'"{key}": [\n ' + ",\n ".join(json.dumps(case) for case in value) + "\n]" for key, value in cases.items()]
    OUT.write_text("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
