"""What rml-tiny scores, worked out in float64 by goldens/make/forward.py from the
definitions: perplexity and multiple choice as they are to come out of any engine.

    python3 goldens/make/rml_tiny/expected.py goldens/models/rml-tiny

Writes expected.json into the folder.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import bpe
import checkpoint
import script_arguments

N_POSITIONS = 256
N_CTX = (128, N_POSITIONS)


def log_softmax(logits):
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def chunked_perplexity(model, ids, n_ctx):
    """llama.cpp's: disjoint chunks that begin with BOS, their second half scored."""
    n_chunks, nll = len(ids) // n_ctx, []
    for c in range(n_chunks):
        chunk = np.array(ids[c * n_ctx:(c + 1) * n_ctx])
        chunk[0] = 0
        scores = log_softmax(model.logits(chunk))
        nll += [-scores[i, chunk[i + 1]] for i in range(n_ctx // 2, n_ctx - 1)]
    return {"n_ctx": n_ctx, "n_chunks": n_chunks, "n_scored": len(nll),
            "ppl": math.exp(math.fsum(nll) / len(nll))}


def choices(model, encoder, path):
    """Log-likelihoods of " " + choice after the context; the encoding is BOS first."""
    logliks, hits, hits_norm = [], 0, 0
    for line in path.read_text().splitlines():
        item, scores = json.loads(line), []
        n_context = 1 + len(encoder.encode(item["context"]))
        for choice in item["choices"]:
            ids = np.array([0] + encoder.encode(f"{item['context']} {choice}"))
            targets = ids[n_context:]
            ids = ids[-(N_POSITIONS + 1):]  # what is too long loses its beginning
            rows = log_softmax(model.logits(ids[:-1]))[-len(targets):]
            scores.append(math.fsum(rows[np.arange(len(rows)), targets]))
        logliks.append([float(f"{s:.6f}") for s in scores])
        per_character = [s / len(c) for s, c in zip(scores, item["choices"])]
        hits += int(np.argmax(scores)) == item["gold"]
        hits_norm += int(np.argmax(per_character)) == item["gold"]
    n = len(logliks)
    return {"n": n, "acc": hits / n, "acc_norm": hits_norm / n, "loglik": logliks}


def main():
    folder = Path(script_arguments.parse(__doc__, "folder").folder)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())["model"]
    encoder = bpe.Encoder(sorted(tokenizer["vocab"], key=tokenizer["vocab"].get),
                          [tuple(pair) for pair in tokenizer["merges"]])
    model = checkpoint.open_folder(folder)
    text = (folder / "held-out.txt").read_text()
    ids = [0] + encoder.encode(text)
    out = {"source": f"numpy {np.__version__}, float64", "n_tokens": len(ids),
           "n_bytes": len(text.encode()), "n_words": len(text.split()),
           "perplexity": [chunked_perplexity(model, ids, n) for n in N_CTX]}
    for name in ("order", "cloze"):
        out[name] = choices(model, encoder, folder / f"{name}.jsonl")
    text = json.dumps(out, indent=1)
    (folder / "expected.json").write_text(
        text.replace("[\n    ", "[").replace(",\n    ", ", ").replace("\n   ]", "]") + "\n")


if __name__ == "__main__":
    main()
