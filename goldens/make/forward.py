"""The decoder in float64: one recipe, many switches.

Written from the mathematics of the Hugging Face modelling code: norms, rotary
angles, softmax and router run in float64 too, where that code goes through float32.
Nothing is cached, batched or blocked; the whole prompt is one matrix, so this is
slow, short and easy to believe.

    forward.py CHECKPOINT TOKENS [--residual]

prints the five best logits of every position, and with --residual the norm of the
residual stream at the last position after each branch.
"""

import argparse

import numpy as np

import rope


def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def log_sum_exp(x):
    m = np.max(x, axis=-1)
    return m + np.log(np.sum(np.exp(x - m[..., None]), axis=-1))


def activate(x, name):
    if name == "silu":
        return x / (1 + np.exp(-x))
    if name == "gelu_pytorch_tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))
    raise ValueError(f"activation {name}")


def rotate(x, cos, sin):
    """x [n][heads][head_dim]; dimension i pairs with i + head_dim / 2."""
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    cos, sin = cos[:, None, :], sin[:, None, :]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


class Model:
    """A recipe (see recipe.py) and its weights: float64 arrays under GGUF names,
    q and k rows in the half order of Hugging Face, norms as they multiply."""

    def __init__(self, recipe, weights):
        self.recipe = recipe
        self.weights = weights
        self.router_gap = np.inf  # least gap between a chosen and a refused expert

    def logits(self, tokens, positions=None, on_residual=None):
        """The logits of all positions, or of those listed, [n][vocab]. on_residual(layer, branch, x) sees the
        residual stream after each branch, with the names of a golden file."""
        r, w = self.recipe, self.weights
        on_residual = on_residual or (lambda layer, branch, x: None)
        x = w["token_embd.weight"][np.asarray(tokens)] * r.embedding_scale
        on_residual(-1, "embedding", x)
        for layer in range(r.n_layers):
            for branch, run in (("attention", self._attention),
                                ("feed_forward", self._feed_forward)):
                norm = "attn_norm" if branch == "attention" else "ffn_norm"
                y = run(layer, rms_norm(x, w[f"blk.{layer}.{norm}.weight"], r.eps))
                if r.sandwich_norms:
                    post = "post_attention_norm" if branch == "attention" else "post_ffw_norm"
                    y = rms_norm(y, w[f"blk.{layer}.{post}.weight"], r.eps)
                x = x + y
                on_residual(layer, branch, x)
        x = rms_norm(x, w["output_norm.weight"], r.eps)
        on_residual(r.n_layers, "output", x)
        head = w["token_embd.weight" if r.tied_head else "output.weight"]
        return (x if positions is None else x[positions]) @ head.T

    def _attention(self, layer, x):
        r = self.recipe
        n = len(x)
        q = self._project(layer, "attn_q", x)
        k = self._project(layer, "attn_k", x)
        v = self._project(layer, "attn_v", x).reshape(n, r.n_kv_heads, r.head_dim)
        if r.qk_norm == "row":
            q = rms_norm(q, self.weights[f"blk.{layer}.attn_q_norm.weight"], r.eps)
            k = rms_norm(k, self.weights[f"blk.{layer}.attn_k_norm.weight"], r.eps)
        q = q.reshape(n, r.n_heads, r.head_dim)
        k = k.reshape(n, r.n_kv_heads, r.head_dim)
        if r.qk_norm == "head":
            q = rms_norm(q, self.weights[f"blk.{layer}.attn_q_norm.weight"], r.eps)
            k = rms_norm(k, self.weights[f"blk.{layer}.attn_k_norm.weight"], r.eps)

        sliding = r.sliding[layer]
        if sliding and r.local_theta is not None:
            theta, scaling = r.local_theta, r.local_scaling
        else:
            theta, scaling = r.theta, r.scaling
        inv_freq, factor = rope.inverse_frequencies(theta, r.head_dim, scaling)
        angle = np.arange(n, dtype=np.float64)[:, None] * inv_freq
        cos, sin = np.cos(angle) * factor, np.sin(angle) * factor
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)

        distance = np.arange(n)[:, None] - np.arange(n)[None, :]
        hidden = distance < 0
        if sliding:
            hidden |= distance >= r.window
        out = np.empty((n, r.n_heads, r.head_dim), x.dtype)
        for head in range(r.n_heads):
            kv = head // (r.n_heads // r.n_kv_heads)
            score = q[:, head] @ k[:, kv].T * r.attention_scale
            score[hidden] = -np.inf
            out[:, head] = softmax(score) @ v[:, kv]
        return self._project(layer, "attn_output", out.reshape(n, -1))

    def _project(self, layer, name, x):
        y = x @ self.weights[f"blk.{layer}.{name}.weight"].T
        bias = self.weights.get(f"blk.{layer}.{name}.bias")
        return y if bias is None else y + bias

    def _feed_forward(self, layer, x):
        r, w = self.recipe, self.weights
        if r.n_experts == 0:
            return self._gated(x, *(w[f"blk.{layer}.ffn_{m}.weight"]
                                    for m in ("gate", "up", "down")))
        gate, up, down = (w[f"blk.{layer}.ffn_{m}_exps.weight"]
                          for m in ("gate", "up", "down"))
        score = x @ w[f"blk.{layer}.ffn_gate_inp.weight"].T
        probability = softmax(score)
        order = np.argsort(-probability, axis=-1, kind="stable")  # ties: lower id first
        if r.n_experts_used < r.n_experts:
            ranked = np.take_along_axis(score, order, axis=-1)
            gap = ranked[:, r.n_experts_used - 1] - ranked[:, r.n_experts_used]
            self.router_gap = min(self.router_gap, gap.min())
        out = np.zeros_like(x)
        for token, row in enumerate(x):
            chosen = order[token, :r.n_experts_used]
            share = probability[token, chosen]
            if r.normalize_experts:
                share = share / share.sum()
            for expert, weight in zip(chosen, share):
                out[token] += weight * self._gated(row, gate[expert], up[expert], down[expert])
        return out

    def _gated(self, x, gate, up, down):
        return (activate(x @ gate.T, self.recipe.activation) * (x @ up.T)) @ down.T

    def greedy(self, tokens, n_steps):
        """(ids, least gap between the best logit and the second on the way)."""
        ids, gap = [], np.inf
        for _ in range(n_steps):
            last = self.logits(list(tokens) + ids)[-1]
            second, best = np.sort(last)[-2:]
            gap = min(gap, best - second)
            ids.append(int(np.argmax(last)))
        return ids, float(gap)


def main():
    import checkpoint

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkpoint")
    parser.add_argument("tokens", help="ids separated by commas")
    parser.add_argument("--residual", action="store_true")
    args = parser.parse_args()
    model = checkpoint.open_model(args.checkpoint)
    tokens = [int(t) for t in args.tokens.split(",")]

    def show(layer, branch, x):
        if args.residual:
            head = " ".join(f"{v:.7g}" for v in x[-1, :4])
            print(f"layer {layer} {branch}: norm {np.linalg.norm(x[-1]):.9g}  starts {head}")

    logits = model.logits(tokens, on_residual=show)
    for position, row in enumerate(logits):
        best = np.argsort(-row, kind="stable")[:5]
        print(position, " ".join(f"{i}:{row[i]:.9g}" for i in best))


if __name__ == "__main__":
    main()
