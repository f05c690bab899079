#!/usr/bin/env python3
"""Writes ../tests/cases/*.json: small tokenizers with the ids that the reference gives.

    pip install tokenizers==0.23.3
    ./cases.py

Each file has `tokenizer` (a tokenizer.json whose vocabulary was trained on a few lines) and `variants`:
members that replace the tokenizer's own, and `cases`: text, ids with special tokens added (special text
not parsed), ids with special text parsed, and the text decoded from the former, all and without
special tokens.
"""
import json
import pathlib

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import Regex

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests/cases"
LINES = ["The quick brown fox jumps over the lazy dog. Don't panic, it's 42!", "def f(x):\n    return x + 1\n",
         "Größe naïve café 你好世界 привет мир", "hello hello world world the the there then",
         "1234 567 89 0", "   spaces   and\ttabs\n\nnewlines"]
TEXTS = ["", " ", "a", "Hello world", " the quick  brown   fox", "Don't DON'T we'll 'tis I'M 'ſ", "12345 6 78x9", "x²½Ⅷ٣",
         "\n\n \n x\r\n\ty  ", "café cafe\u0301 \ufb01 Å \u1e9b\u0323", "你好世界，こんにちは 한국어", "👩‍👩‍👧 🏳️‍🌈 \U0001f1e9\U0001f1ea",
         "שלום مرحبا नमस्ते", "def f(x): return {'a': [1, 2]}", "<s>a</s> <mask> <|x|><|y|>word <|x|>", "  <mask>  after",
         "amask mask maskb", "İSTANBUL ẞ ΑΣ", "▁ ▁▁ a▁b", "a\0b", "\u200b\ufeff\u00a0\u3000.", "!!!??...,,,(([[",
         "<0x0A> <0xZZ>", "zzzzqqqq \U0001d49c\U00010437", "hello hellothe theworld", "word1word2 A_b-c/d\\e", "aaa" * 30,
         "  " * 20, "é" * 20 + "e\u0301" * 5, "\u0315\u0300\u0345a\u0345\u0300\u0315", "가각\u1100\u1161\u11a8"]


def trained(kind):
    if kind == "bytelevel":
        t = Tokenizer(models.BPE())
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        t.decoder = decoders.ByteLevel()
        t.train_from_iterator(LINES * 3, trainers.BpeTrainer(
            vocab_size=330, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
        return t
    if kind == "gaps":  # an alphabet that lacks most bytes
        t = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        t.decoder = decoders.ByteLevel()
        special = ["<unk>"] + [f"<0x{b:02X}>" for b in range(256)]
        t.train_from_iterator(LINES * 3, trainers.BpeTrainer(vocab_size=360, special_tokens=special,
                                                            show_progress=False))
        data = json.loads(t.to_str())
        data["added_tokens"] = data["added_tokens"][:1]
        return Tokenizer.from_str(json.dumps(data))
    if kind in ("fallback", "unknown"):
        t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=kind == "fallback"))
        t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        special = ["<unk>", "<s>", "</s>"]
        if kind == "fallback":
            special += [f"<0x{b:02X}>" for b in range(256)]
        t.train_from_iterator(["▁" + line.replace(" ", "▁") for line in LINES * 3], trainers.BpeTrainer(
            vocab_size=len(special) + 150, special_tokens=special, show_progress=False))
        t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                       decoders.Strip(" ", 1, 0)])
        data = json.loads(t.to_str())
        data["added_tokens"] = data["added_tokens"][:3]
        return Tokenizer.from_str(json.dumps(data))
    if (OUT / "unigram.json").exists():  # training differs from run to run; what is there stays
        return Tokenizer.from_str(json.dumps(json.loads((OUT / "unigram.json").read_text())["tokenizer"]))
    t = Tokenizer(models.Unigram())
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    t.train_from_iterator(LINES * 3, trainers.UnigramTrainer(
        vocab_size=120, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>", show_progress=False))
    return t


def part(x):
    return json.loads(x.__getstate__().decode())


def run(data):
    t = Tokenizer.from_str(json.dumps(data))
    cases = []
    for text in TEXTS:
        t.encode_special_tokens = True
        ids = t.encode(text).ids
        t.encode_special_tokens = False
        parsed = t.encode(text, add_special_tokens=False).ids
        cases.append({"text": text, "ids": ids, "parsed": parsed,
                      "decoded": t.decode(ids, skip_special_tokens=False),
                      "decoded_plain": t.decode(ids, skip_special_tokens=True)})
    return cases


def write(name, tokenizer, variants):
    data = json.loads(tokenizer.to_str())
    out = []
    for label, patch in [("as trained", {})] + variants:
        merged = dict(data)
        for key, value in patch.items():
            merged[key] = {**data["model"], **value} if key == "model" else value
        out.append({"name": label, "patch": patch, "cases": run(merged)})
    path = OUT / f"{name}.json"
    path.write_text(json.dumps({"tokenizer": data, "variants": out}, ensure_ascii=False, indent=None,
                               separators=(",", ":")).replace('{"name":', '\n{"name":').replace('{"text":', '\n{"text":') + "\n")
    print(path.name, path.stat().st_size, len(out), "variants")


def main():
    OUT.mkdir(exist_ok=True)
    p, n = pre_tokenizers, normalizers
    gpt2 = p.ByteLevel(add_prefix_space=False)
    rest = p.ByteLevel(add_prefix_space=False, use_regex=False)
    contraction, spaces = "(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    llama3 = contraction + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + spaces
    upper, lower = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
    prefix = r"[^\r\n\p{L}\p{N}]?"
    o200k = (f"{prefix}{upper}*{lower}+{contraction}?|{prefix}{upper}+{lower}*{contraction}?"
             r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + spaces)
    tekken = (f"{prefix}{upper}*{lower}+|{prefix}{upper}+{lower}*"
              r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + spaces)

    def regex(pattern, behavior="isolated", invert=False):
        return {"pre_tokenizer": part(p.Sequence([p.Split(Regex(pattern), behavior, invert), rest]))}

    def pre(*steps):
        return {"pre_tokenizer": part(p.Sequence(list(steps)))}

    variants = [
        ("prefix space", {"pre_tokenizer": part(p.ByteLevel(add_prefix_space=True))}),
        ("llama3", regex(llama3)), ("qwen2", {**regex(llama3.replace("{1,3}", "")), "normalizer": part(n.NFC())}),
        ("o200k", regex(o200k)), ("tekken", regex(tekken)),
        ("ignore_merges", {**regex(llama3), "model": {"ignore_merges": True}}),
        ("digits", pre(p.Digits(True), gpt2)), ("digit runs", pre(p.Digits(False), gpt2)),
        ("falcon", pre(p.Punctuation("contiguous"), gpt2, p.Digits(False), p.Split(Regex("[0-9][0-9][0-9]"), "isolated"))),
        ("deepseek", pre(p.Split(Regex("[\r\n]"), "isolated"), p.Split(Regex(r"\s?\p{L}+"), "isolated"),
                         p.Split(Regex(r"\s?\p{P}+"), "isolated"), p.Split(Regex(r"\s+$"), "isolated"), p.Digits(True), rest)),
        ("whitespace", pre(p.Whitespace(), rest)), ("whitespace split", pre(p.WhitespaceSplit(), rest)),
        ("word boundaries", regex(r"\b\w+\b|\W")), ("numbers from the right", regex(r"\d{1,3}(?=(?:\d{3})*\b)")),
        ("empty matches", regex(r"(?=(\d{3})+(?!\d))")), ("line ends", regex(r"^ +| +$")),
        ("possessive", regex(r"[^\s]++|\s+")), ("nothing", regex("")), ("nothing inverted", regex("", "removed", True)),
        ("nothing literal", pre(p.Split("", "merged_with_next"), rest)), ("doubled", regex(r"(\w)\1|(o)(?:r)\2?")),
        ("named", regex(r"(?<quote>['\"])(x)\k<quote>|(?<l>l)\k<l>")), ("options", regex("d(?i)o|f|(?-i)T")),
        ("classes met", regex(r"[\w&&[^aeiou\d]&&[^x-z]]+")), ("hexadecimal", regex(r"\h{2}|\H\R?")),
        ("POSIX", regex(r"[[:digit:][:space:]]|[[:^word:]-]+")), ("hyphens", regex(r"[--/a-c-[e]]+|[+-]")), ("nested class", regex(r" ?[^(\s|[.,!?…。，、।۔،])]+")),
        ("NFD", {"normalizer": part(n.NFD())}), ("NFKC", {"normalizer": part(n.NFKC())}), ("NFKD", {"normalizer": part(n.NFKD())}),
        ("lower, strip", {"normalizer": part(n.Sequence([n.Lowercase(), n.Strip()]))}),
        ("strip left", {"normalizer": part(n.Strip(True, False))}),
        ("replace regex", {"normalizer": part(n.Replace(Regex(r"\s+"), " "))}),
        ("no decoder", {"decoder": None}), ("no pre-tokenizer", {"pre_tokenizer": None}),
    ]
    for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        for invert in (False, True):
            variants.append((f"{behavior} {invert}", regex(r"[aeiou ]", behavior, invert)))
            variants.append((f"literal {behavior} {invert}", pre(p.Split(" ", behavior, invert), rest)))
        variants.append((f"punctuation {behavior}", pre(p.Punctuation(behavior), rest)))
    flags = ["lstrip", "rstrip", "single_word", "normalized"]
    added = [{"id": 330, "content": "<s>", "special": True}, {"id": 331, "content": "</s>", "special": True},
             {"id": 332, "content": "<mask>", "special": False, "lstrip": True, "rstrip": True},
             {"id": 333, "content": "<|x|>", "special": True, "rstrip": True},
             {"id": 334, "content": "<|x|><|y|>", "special": False}, {"id": 335, "content": "mask", "special": False, "single_word": True},
             {"id": 336, "content": "WORD", "special": False, "normalized": True}, {"id": 337, "content": "quick  brown", "special": False}]
    added = [{**{f: False for f in flags}, **a} for a in added]
    template = part(processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 330), ("</s>", 331)]))
    variants += [
        ("added", {"added_tokens": added}),
        ("added, template", {"added_tokens": added, "post_processor": {"type": "Sequence", "processors": [
            part(processors.ByteLevel()), template]}}),
        ("added, lower case", {"added_tokens": added, "normalizer": part(n.Lowercase())})]
    t = trained("bytelevel")
    write("bytelevel", t, variants)

    def metaspace(**kw):
        return {"normalizer": None, "pre_tokenizer": part(p.Metaspace(**kw)), "decoder": part(decoders.Metaspace(
            prepend_scheme=kw.get("prepend_scheme", "always")))}

    metas = [("metaspace " + s, metaspace(prepend_scheme=s)) for s in ("always", "first", "never")]
    first = metaspace(prepend_scheme="first")
    metas += [(f"first, {name}", {**first, "normalizer": part(normalizer)}) for name, normalizer in (
        ("strip", n.Strip()), ("two replaced", n.Replace(Regex("[A-Za-z]{2}"), "x")), ("one replaced", n.Replace(Regex("[a-z]"), "xy")),
        ("prepend, strip", n.Sequence([n.Prepend("a"), n.Strip()])), ("NFKD, replace", n.Sequence([n.NFKD(), n.Replace(Regex("^.."), "b")])),
        ("lower, cut", n.Sequence([n.Lowercase(), n.Replace(Regex("^h"), "")])))]
    later = part(p.Sequence([p.Split(Regex("[ab]"), "isolated"), p.Metaspace(prepend_scheme="first")]))
    metas += [(f"first, {name}", {**first, "normalizer": part(normalizer), "pre_tokenizer": later}) for name, normalizer in (
        ("put before", n.Replace(Regex("z*"), "ab")), ("lost, put before", n.Sequence([n.Strip(), n.Replace("", "b")])),
        ("before the first", n.Sequence([n.Prepend("ba"), n.Replace("b", "a b")])))]
    metas += [("metaspace whole", metaspace(split=False)),
              ("words, metaspace first", {"normalizer": None, "pre_tokenizer": part(p.Sequence([
                  p.WhitespaceSplit(), p.Metaspace(prepend_scheme="first")]))})]
    gemma = ("gemma", {"normalizer": part(n.Replace(" ", "▁")), "pre_tokenizer": part(p.Split(" ", "merged_with_previous")),
                       "decoder": part(decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]))})
    marks = [{**{f: False for f in flags}, "id": i, "content": c, "special": s} for i, c, s in (
        (0, "<unk>", True), (1, "<s>", True), (2, "</s>", True))]
    marks.append({**{f: False for f in flags}, "id": 500, "content": "<mask>", "special": False, "normalized": True})
    more = [gemma, ("normalized mask", {"added_tokens": marks}), ("unk alone", {"model": {"fuse_unk": False}}),
            ("no fallback", {"model": {"byte_fallback": False}}), ("strip two", {"decoder": part(decoders.Sequence([
                decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 2, 0)]))}),
            # (Before ByteLevel the reference ends in a panic where text is put before all of it.)
            ("replace nothing", {"normalizer": part(n.Replace("", "-"))}),
            ("replace some", {"normalizer": part(n.Sequence([n.Strip(), n.Replace(Regex("l*"), "_")]))}),
            ("decode nothing", {"decoder": part(decoders.Sequence([decoders.Replace("", "."), decoders.Fuse()]))})]
    # Gemma's first vocabulary: no byte for a character that is a token itself; then neither of the two.
    fallback = trained("fallback")
    vocab = json.loads(fallback.to_str())["model"]["vocab"]
    tab = {("\t" if token == "<0x09>" else token): i for token, i in vocab.items()}
    no_tab = {("<0x009>" if token == "<0x09>" else token): i for token, i in vocab.items()}
    write("fallback", fallback, more + metas + [
        ("tab for its byte", {"model": {"vocab": tab}}), ("tab nowhere", {"model": {"vocab": no_tab}})])
    write("unknown", trained("unknown"), more[:4] + more[5:] + metas + [("no unk", {"model": {"unk_token": None}})])
    plain, fused = {"byte_fallback": False}, {"fuse_unk": True}
    write("gaps", trained("gaps"), [
        ("fused", {"model": fused}), ("no fallback", {"model": plain}),
        ("no fallback, fused", {"model": {**plain, **fused}}), ("no unk", {"model": {"unk_token": None}}),
        ("neither", {"model": {**plain, "unk_token": None}}),
        ("empty sequence", {"decoder": part(decoders.Sequence([]))})])
    write("unigram", trained("unigram"), metas + [("whole text", {"pre_tokenizer": None})])


if __name__ == "__main__":
    main()
