"""Do the goldens notice a wrong decoder? Breaks one switch of each toy's recipe at a
time and prints the largest change of a logit at the golden's positions, which must be
far above the golden's tolerance. Exits 1 where a change would pass.

    sensitivity.py [NAME...]
"""

import copy
import json
import pathlib
import sys

import numpy as np

import checkpoint
import forward
import script_arguments

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
LEAST = 5e-3  # 25 times the toys' tolerance


def breakages(r):
    """{what: a function that breaks a recipe}; only those that mean something to r."""
    def change(**values):
        return lambda recipe: [setattr(recipe, k, v) for k, v in values.items()]

    out = {
        "eps": change(eps=1e-5 if r.eps == 1e-6 else 1e-6),
        "theta": change(theta=r.theta * 1.1),
        "attention_scale": change(attention_scale=r.attention_scale * 1.05),
        "activation": change(activation="silu" if r.activation != "silu"
                             else "gelu_pytorch_tanh"),
        "kv head of a group": _swap_kv_heads,
    }
    if r.scaling.get("rope_type", "default") != "default":
        out["no scaling"] = change(scaling={})
        # YaRN rounds the ends of its ramp to whole pairs: only a large change shows.
        for key, wrong in (("factor", 1.5), ("beta_fast", 32), ("beta_slow", 1),
                           ("low_freq_factor", 1.5), ("high_freq_factor", 1.5),
                           ("original_max_position_embeddings", 4)):
            value = r.scaling.get(key)
            if value is not None:
                wrong = wrong if key.startswith("beta") else value * wrong
                out[f"scaling {key}"] = change(scaling=r.scaling | {key: wrong})
        if r.scaling["rope_type"] == "yarn":
            out["attention factor"] = change(scaling=r.scaling | {"attention_factor": 1.0})
    if r.window:
        out |= {"window + 1": change(window=r.window + 1),
                "window - 1": change(window=r.window - 1),
                "no window": change(sliding=[False] * r.n_layers)}
        if not all(r.sliding):
            out["all layers slide"] = change(sliding=[True] * r.n_layers)
    if r.local_theta is not None:
        out["one base"] = change(local_theta=r.theta)
        out["local scaling"] = change(local_scaling={"rope_type": "linear", "factor": 4.0})
    if r.qk_norm == "head":
        out["no qk norm"] = change(qk_norm="none")
    if r.embedding_scale != 1:
        out["embedding scale"] = change(embedding_scale=r.embedding_scale * 1.05)
    if r.n_experts:
        out |= {"experts normalised": change(normalize_experts=not r.normalize_experts),
                "one expert fewer": change(n_experts_used=r.n_experts_used - 1)}
    return out


def _swap_kv_heads(recipe):
    """Query heads dealt out to kv heads in turn, not in runs."""
    recipe.n_kv_heads_in_turn = True


class Broken(forward.Model):
    """A model whose query heads may be permuted, to break the grouping."""

    def _project(self, layer, name, x):
        y = super()._project(layer, name, x)
        r = self.recipe
        if name == "attn_q" and getattr(r, "n_kv_heads_in_turn", False):
            heads = y.reshape(len(y), r.n_heads, r.head_dim)
            order = np.arange(r.n_heads).reshape(r.n_kv_heads, -1).T.ravel()
            y = heads[:, order].reshape(y.shape)
        return y


def check(name):
    cases = json.loads((FIXTURES / name / "golden.json").read_text())["cases"]
    model = checkpoint.open_model(FIXTURES / name / "hf")
    want = [model.logits(c["tokens"]) for c in cases]
    weak = 0
    for what, damage in breakages(model.recipe).items():
        recipe = copy.deepcopy(model.recipe)
        damage(recipe)
        if what == "kv head of a group" and recipe.n_kv_heads in (1, recipe.n_heads):
            continue
        broken = Broken(recipe, model.weights)
        moved = max(np.abs(broken.logits(c["tokens"]) - w).max() for c, w in zip(cases, want))
        seen = moved >= LEAST
        weak += not seen
        print(f"{name:24} {what:36} {moved:9.2e}{'' if seen else '  NOT SEEN'}")
    return weak


def main():
    arguments = script_arguments.parse(__doc__, ("names", {"metavar": "NAME", "nargs": "*"}))
    names = arguments.names or sorted(p.parent.name for p in FIXTURES.glob("*/hf"))
    return 1 if sum([check(name) for name in names]) else 0


if __name__ == "__main__":
    sys.exit(main())
