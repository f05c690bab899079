"""A byte-level BPE vocabulary: training and encoding.

Words are cut as GPT-2 cuts them; the text is ASCII, for which its pattern needs no
Unicode classes. The pair that occurs most often is merged first, ties going to the
pair with the smaller ids (Sennrich et al. 2016, arXiv 1508.07909).
"""

import collections
import json
import re

WORD = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")
BOS, EOS = "<s>", "</s>"


def byte_letters():
    """GPT-2's printable letter for each byte."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {b: chr(b) for b in plain}
    for b in range(256):
        if b not in letters:
            letters[b] = chr(256 + len(letters) - len(plain))
    return letters


def train(texts, n_vocab):
    """(tokens by id, merges): specials, the 256 bytes, then a token for each merge."""
    letters = byte_letters()
    counts = collections.Counter(w for text in texts for w in WORD.findall(text))
    vocabulary = [BOS, EOS] + [letters[b] for b in range(256)]
    words = [([2 + b for b in word.encode()], n) for word, n in sorted(counts.items())]
    pairs, where = collections.Counter(), collections.defaultdict(set)
    for i, (ids, n) in enumerate(words):
        for pair in zip(ids, ids[1:]):
            pairs[pair] += n
            where[pair].add(i)
    merges = []
    while len(vocabulary) < n_vocab:
        best = min(pairs, key=lambda p: (-pairs[p], p))
        new = len(vocabulary)
        vocabulary.append(vocabulary[best[0]] + vocabulary[best[1]])
        merges.append((vocabulary[best[0]], vocabulary[best[1]]))
        for i in where.pop(best):
            ids, n = words[i]
            for pair in zip(ids, ids[1:]):
                pairs[pair] -= n
            ids = _merge(ids, best, new)
            words[i] = ids, n
            for pair in zip(ids, ids[1:]):
                pairs[pair] += n
                where[pair].add(i)
        del pairs[best]
    return vocabulary, merges


def _merge(ids, pair, new):
    out, i = [], 0
    while i < len(ids):
        if tuple(ids[i:i + 2]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


class Encoder:
    def __init__(self, vocabulary, merges):
        self.ids = {token: i for i, token in enumerate(vocabulary)}
        self.rank = {(self.ids[a], self.ids[b]): (r, self.ids[a + b])
                     for r, (a, b) in enumerate(merges)}
        self.letters, self.known = byte_letters(), {}

    def encode(self, text):
        return [i for word in WORD.findall(text) for i in self._word(word)]

    def _word(self, word):
        if word not in self.known:
            ids = [self.ids[self.letters[b]] for b in word.encode()]
            while len(ids) > 1:
                found = [(self.rank[p], p) for p in zip(ids, ids[1:]) if p in self.rank]
                if not found:
                    break
                (_, new), pair = min(found)
                ids = _merge(ids, pair, new)
            self.known[word] = ids
        return self.known[word]


def tokenizer_json(vocabulary, merges):
    """The same as a Hugging Face tokenizer.json that puts BOS first."""
    def special(i):
        return {"id": i, "content": vocabulary[i], "single_word": False, "lstrip": False,
                "rstrip": False, "normalized": False, "special": True}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                  "use_regex": True}
    sequence = {"Sequence": {"id": "A", "type_id": 0}}
    bos = {"SpecialToken": {"id": BOS, "type_id": 0}}
    return json.dumps({
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [special(0), special(1)], "normalizer": None, "pre_tokenizer": byte_level,
        "post_processor": {
            "type": "TemplateProcessing", "single": [bos, sequence],
            "pair": [bos, sequence, bos, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {BOS: {"id": BOS, "ids": [0], "tokens": [BOS]}}},
        "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {token: i for i, token in enumerate(vocabulary)},
                  "merges": [list(pair) for pair in merges]},
    }, ensure_ascii=False, indent=1) + "\n"
