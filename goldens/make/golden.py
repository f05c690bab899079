"""Writes golden files (format "rml-golden") from a function tokens -> logits."""

import json

import numpy as np

import forward

N_TOP = 8
N_GREEDY = 8


def number(x, digits=9):
    return float(f"{x:.{digits}g}")


def best_first(row, n):
    return [int(i) for i in np.argsort(-row, kind="stable")[:n]]


def position_entry(position, row, all_logits):
    entry = {"position": position, "logsumexp": number(forward.log_sum_exp(row))}
    if all_logits:
        entry["logits"] = [number(v) for v in row]
    else:
        entry["top"] = [[i, number(row[i])] for i in best_first(row, N_TOP)]
    return entry


def case(name, tokens, logits, positions, all_logits, greedy, margin, extra=None):
    """One case; logits [n][vocab] of the whole prompt, positions those written."""
    return {"name": name, **(extra or {}), "tokens": [int(t) for t in tokens],
            "positions": [position_entry(p, logits[p], all_logits) for p in positions],
            "greedy": greedy, "greedy_margin": number(margin, 6)}


def document(name, source, tolerance, cases, model=None, note=None):
    out = {"format": "rml-golden", "version": 1, "name": name, "source": source}
    if note:
        out["note"] = note
    if model:
        out["model"] = model
    return out | {"arithmetic": "f32", "kv": "f32",
                  "tolerance": {"logit_abs": tolerance, "logsumexp_abs": tolerance},
                  "cases": cases}


def write(path, doc):
    """One line a position: small, and a diff shows where a model changed."""
    cases = doc["cases"]
    text = json.dumps(doc | {"cases": []}, ensure_ascii=False, indent=2)
    body = ",\n".join(_case_text(c) for c in cases)
    path.write_text(text.replace('"cases": []', f'"cases": [\n{body}\n  ]') + "\n")


def _case_text(c):
    lines = []
    for key, value in c.items():
        if key == "positions":
            rows = ",\n".join("      " + json.dumps(p, separators=(",", ":")) for p in value)
            lines.append(f'     "positions": [\n{rows}]')
        else:
            lines.append(f'     "{key}": {json.dumps(value, ensure_ascii=False)}')
    return "    {\n" + ",\n".join(lines) + "}"
