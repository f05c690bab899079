#!/usr/bin/env python3
"""Expectations of perplexity and KL divergence.

    perplexity_expectations.py toy goldens/fixtures/llama-text/hf-text eval/tests/expected
    perplexity_expectations.py real CHECKPOINT.gguf eval/tests/expected/NAME.json
        [--tokenizer tokenizer.json] [--text FILE]

`toy`: the toy with a tokenizer, in float64. Reads text.txt of the output folder; writes perplexity.json and llama_cpp.base. Logits are
transformers' in float64, window after window as the protocols say; windows of the rolling
protocol are lm-eval's own (get_rolling_token_windows). llama_cpp.base is a file as llama.cpp's
perplexity tool writes it, of distributions that are those of the toy with logits times 0.9;
kld.json has the divergences of the toy from it, by the formula over the codes of the file.

`real`: a checkpoint, a GGUF or a Hugging Face folder, in float32 (log-softmax and sums in float64),
as lm_eval_expectations.py loads it; the same text unless --text names another.

Packages: torch, transformers, lm-eval==0.4.13, numpy; for `real` those of lm_eval_expectations.py.
"""
import argparse
import json
import re
from pathlib import Path

import numpy as np
import torch
import transformers
from lm_eval.utils import get_rolling_token_windows, make_disjoint_window

EXPECTED = Path(__file__).resolve().parent.parent / "expected"
parser = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("mode", choices=["toy", "real"])
parser.add_argument("checkpoint")
parser.add_argument("out", type=Path)
parser.add_argument("--tokenizer")
parser.add_argument("--text", type=Path, default=EXPECTED / "text.txt")
args = parser.parse_args()
mode, checkpoint, out = args.mode, args.checkpoint, args.out
if mode == "toy":
    model = transformers.AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float64)
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
else:
    from lm_eval_expectations import load
    model, tokenizer = load(checkpoint, args.tokenizer)
text = args.text.read_text()
BOS = tokenizer.bos_token_id
with_special = tokenizer(text).input_ids
offsets = tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
word_begins = [m.start() for m in re.finditer(r"(?<!\S)\S", text)]
plain = tokenizer(text, add_special_tokens=False).input_ids
adds_bos = with_special != plain
assert not adds_bos or with_special == [BOS] + plain


def logprobs(ids):
    """[len(ids)][vocabulary] in float64"""
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].double().log_softmax(-1).numpy()


def nll(ids, first):
    """Sum over targets first ... len(ids) - 1."""
    rows = logprobs(ids[:-1])
    return -sum(rows[i - 1, ids[i]] for i in range(first, len(ids)))


def llama_cpp(n_ctx):
    """Words count where they begin, in the text that scored tokens stand for."""
    total, count, n_words, n_bytes = 0.0, 0, 0, 0
    for begin in range(0, len(with_special) - n_ctx + 1, n_ctx):
        scored = slice(offsets[begin + n_ctx // 2 + 1][0], offsets[begin + n_ctx - 1][1])
        n_words += sum(scored.start <= at < scored.stop for at in word_begins)
        n_bytes += len(text[scored].encode())
        chunk = with_special[begin : begin + n_ctx]
        chunk[0] = BOS if adds_bos else chunk[0]
        total += nll(chunk, n_ctx // 2 + 1)
        count += n_ctx - n_ctx // 2 - 1
    return {"nll_sum": total, "n_scored": count, **per_text(total, n_words, n_bytes)}


def per_text(total, n_words, n_bytes):
    return {"word_perplexity": float(np.exp(total / n_words)),
            "byte_perplexity": float(np.exp(total / n_bytes)),
            "bits_per_byte": total / n_bytes / float(np.log(2))}


def hf_stride(max_length, stride):
    """The loop of the Hugging Face page, each token weighted once."""
    total, count, previous_end = 0.0, 0, 0
    for begin in range(0, len(with_special), stride):
        end = min(begin + max_length, len(with_special))
        n_new = end - previous_end if begin else end - 1
        ids = with_special[begin:end]
        total += nll(ids, len(ids) - n_new)
        count += n_new
        previous_end = end
        if end == len(with_special):
            break
    return {"nll_sum": total, "n_scored": count}


def rolling(max_length, ids):
    total = 0.0
    for window in get_rolling_token_windows(ids, BOS, max_length, 1):
        context, continuation = make_disjoint_window(window)
        total += nll(context + continuation, len(context))
    return {"nll_sum": total, "n_scored": len(ids),
            **per_text(total, len(re.split(r"\s+", text)), len(text.encode()))}


def base_file(n_ctx, n_chunks):
    vocabulary = model.config.vocab_size
    n_coded = 2 * ((vocabulary + 1) // 2) + 4
    first, rows, kld, same, candidate, base = n_ctx // 2, [], [], [], [], []
    for c in range(n_chunks):
        chunk = [BOS] + with_special[c * n_ctx + 1 : (c + 1) * n_ctx]
        q_rows = logprobs(chunk)
        for i in range(first, n_ctx - 1):
            q = q_rows[i]
            p = 0.9 * q
            p = p - np.log(np.exp(p).sum())
            low = max(p.min(), p.max() - 16)
            scale = np.float32((p.max() - low) / 65535)
            codes = np.clip(np.rint((p - low) / scale), 0, 65535).astype(np.uint16)
            row = np.zeros(n_coded, np.uint16)
            row[:4] = np.array([scale, np.float32(low)], np.float32).view(np.uint16)
            row[4 : 4 + vocabulary] = codes
            rows.append(row)
            b = (scale * codes.astype(np.float32) + np.float32(low)).astype(np.float64)
            kept = b > -16
            kld.append(float((np.exp(b[kept]) * (b[kept] - q[kept])).sum()))
            same.append(bool(b.argmax() == q.argmax()))
            candidate.append(q[chunk[i + 1]])
            base.append(b[chunk[i + 1]])
    with open(out / "llama_cpp.base", "wb") as file:
        file.write(b"_logits_")
        np.array([n_ctx, vocabulary, n_chunks], np.int32).tofile(file)
        np.array(with_special[: n_ctx * n_chunks], np.int32).tofile(file)
        np.concatenate(rows).tofile(file)
    candidate, base, kld = np.array(candidate), np.array(base), np.array(kld)
    dp = np.exp(candidate) - np.exp(base)
    return {"n_scored": len(kld), "kld_mean": kld.mean(), "kld_max": kld.max(),
            "kld_median": float(np.quantile(kld, 0.5)), "kld_p90": float(np.quantile(kld, 0.9)),
            "same_top": float(np.mean(same)), "dp_mean": dp.mean(),
            "dp_rms": float(np.sqrt((dp**2).mean())), "ln_ppl_ratio": (base - candidate).mean(),
            "correlation": float(np.corrcoef(candidate, base)[0, 1])}


document = {"source": {"engine": "transformers", "version": transformers.__version__,
                       "dtype": str(model.dtype).split(".")[-1]},
            "llama.cpp 128": llama_cpp(128), "hf-stride 128 64": hf_stride(128, 64),
            "lm-eval 128": rolling(128, plain)}
if mode == "toy":
    document |= {"llama.cpp 65": llama_cpp(65), "hf-stride 100 33": hf_stride(100, 33),
                 "lm-eval 100 double-bos": rolling(100, with_special), "kld": base_file(64, 4)}
    out = out / "perplexity.json"
out.write_text(json.dumps(document, indent=1) + "\n")
