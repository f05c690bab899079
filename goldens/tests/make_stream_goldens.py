"""Writes stream_NAME.json: goldens that hold nothing but the residual stream of a toy,
computed in float64 by goldens/make/forward.py, with the fingerprints of residual.h.

    python3 make_stream_goldens.py
"""

import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "make"), str(HERE)]

import checkpoint  # noqa: E402
import script_arguments  # noqa: E402
from make_residual_cases import BRANCHES, signs  # noqa: E402

N_POSITIONS = 5


def f32(x):
    return float(f"{np.float32(x):.9g}")


script_arguments.parse(__doc__)
for name in ("llama", "gemma3", "mixtral", "olmoe", "qwen2", "qwen3"):
    fixture = HERE.parent / "fixtures" / name
    tokens = json.loads((fixture / "golden.json").read_text())["cases"][0]["tokens"]
    rows = []

    def take(layer, branch, x):
        for position in range(N_POSITIONS):
            row = x[position]
            rows.append({"layer": layer, "branch": branch, "position": position,
                         "norm": f32(np.linalg.norm(row)),
                         "projections": [f32(row @ signs(layer, BRANCHES.index(branch), k, len(row)))
                                         for k in range(8)]})

    checkpoint.open_model(fixture / "hf").logits(tokens, on_residual=take)
    head = {"format": "rml-golden", "version": 1, "name": f"{name} stream",
            "source": {"engine": "numpy", "version": np.__version__, "dtype": "float64"},
            "arithmetic": "f32", "kv": "f32",
            "tolerance": {"logit_abs": 0, "logsumexp_abs": 0, "residual_rel": 1e-5}}
    case = {"name": "short", "tokens": tokens, "positions": []}
    body = ",\n".join("   " + json.dumps(row, separators=(",", ":")) for row in rows)
    (HERE / f"stream_{name}.json").write_text(
        json.dumps(head)[:-1] + ",\n \"cases\": [\n  " + json.dumps(case)[:-1]
        + ", \"residual\": [\n" + body + "]}]}\n")
