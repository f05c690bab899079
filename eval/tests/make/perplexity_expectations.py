#!/usr/bin/env python3
"""Expectations of perplexity and KL divergence on the toy with a tokenizer, in float64.

    perplexity_expectations.py goldens/fixtures/llama-text/hf-text eval/tests/expected

Reads text.txt of the output folder; writes perplexity.json and llama_cpp.base. Logits are
transformers' in float64, window after window as the protocols say; windows of the rolling
protocol are lm-eval's own (get_rolling_token_windows). llama_cpp.base is a file as llama.cpp's
perplexity tool writes it, of distributions that are those of the toy with logits times 0.9;
kld.json has the divergences of the toy from it, by the formula over the codes of the file.
Packages: torch, transformers, lm-eval==0.4.13, numpy.
"""
import json
import re
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from lm_eval.utils import get_rolling_token_windows, make_disjoint_window

folder, out = Path(sys.argv[1]), Path(sys.argv[2])
text = (out / "text.txt").read_text()
model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
BOS = tokenizer.bos_token_id
with_special = tokenizer(text).input_ids
plain = tokenizer(text, add_special_tokens=False).input_ids
assert with_special == [BOS] + plain


def logprobs(ids):
    """[len(ids)][vocabulary] in float64"""
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].double().log_softmax(-1).numpy()


def nll(ids, first):
    """Sum over targets first ... len(ids) - 1."""
    rows = logprobs(ids[:-1])
    return -sum(rows[i - 1, ids[i]] for i in range(first, len(ids)))


def llama_cpp(n_ctx):
    total, count = 0.0, 0
    for begin in range(0, len(with_special) - n_ctx + 1, n_ctx):
        chunk = [BOS] + with_special[begin + 1 : begin + n_ctx]
        total += nll(chunk, n_ctx // 2 + 1)
        count += n_ctx - n_ctx // 2 - 1
    return {"nll_sum": total, "n_scored": count}


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
            "word_perplexity": float(np.exp(total / len(re.split(r"\s+", text)))),
            "byte_perplexity": float(np.exp(total / len(text.encode()))),
            "bits_per_byte": total / len(text.encode()) / float(np.log(2))}


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


(out / "perplexity.json").write_text(json.dumps({
    "source": {"engine": "transformers", "version": transformers.__version__, "dtype": "float64"},
    "llama.cpp 128": llama_cpp(128), "llama.cpp 65": llama_cpp(65),
    "hf-stride 128 64": hf_stride(128, 64), "hf-stride 100 33": hf_stride(100, 33),
    "lm-eval 128": rolling(128, plain), "lm-eval 100 double-bos": rolling(100, with_special),
    "kld": base_file(64, 4)}, indent=1) + "\n")
