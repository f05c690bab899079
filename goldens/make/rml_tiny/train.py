"""Trains rml-tiny and leaves it as a Hugging Face folder.

    python3 goldens/make/rml_tiny/train.py goldens/models/rml-tiny

Debian's python3-torch, r-cran-janeaustenr and bible-kjv are all it needs. The seed fixes
tokenizer, weights at the start and batches; another version of torch rounds differently,
so a model trained again is as good but not the same to the bit.

The architecture is Llama's (Touvron et al. 2023, arXiv 2302.13971) with grouped
queries and a tied head; rows are 256 long, so that every block format fits.
"""

import argparse
import json
import math
import random
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).parent.parent))

import bpe
import corpus
import tensor_files

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 2048,
    "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
    "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": True,
    "bos_token_id": 0, "eos_token_id": 1, "torch_dtype": "bfloat16",
}
HEAD_DIM = CONFIG["hidden_size"] // CONFIG["num_attention_heads"]


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(CONFIG["hidden_size"]))

    def forward(self, x):
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + CONFIG["rms_norm_eps"])
        return x * scale * self.weight


def linear(n_in, n_out):
    return nn.Linear(n_in, n_out, bias=False)


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        n, self.n_head, self.n_kv = (CONFIG["hidden_size"], CONFIG["num_attention_heads"],
                                     CONFIG["num_key_value_heads"])
        self.q_proj = linear(n, self.n_head * HEAD_DIM)
        self.k_proj = linear(n, self.n_kv * HEAD_DIM)
        self.v_proj = linear(n, self.n_kv * HEAD_DIM)
        self.o_proj = linear(self.n_head * HEAD_DIM, n)

    def forward(self, x, cos, sin, mask):
        def heads(y, n):
            return y.view(*y.shape[:2], n, HEAD_DIM).transpose(1, 2)
        q = rotate(heads(self.q_proj(x), self.n_head), cos, sin)
        k = rotate(heads(self.k_proj(x), self.n_kv), cos, sin)
        v = heads(self.v_proj(x), self.n_kv)
        k, v = (y.repeat_interleave(self.n_head // self.n_kv, dim=1) for y in (k, v))
        scores = q @ k.transpose(2, 3) / math.sqrt(HEAD_DIM) + mask
        out = scores.softmax(-1) @ v
        return self.o_proj(out.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        n, m = CONFIG["hidden_size"], CONFIG["intermediate_size"]
        self.gate_proj, self.up_proj, self.down_proj = linear(n, m), linear(n, m), linear(m, n)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_layernorm, self.self_attn = Norm(), Attention()
        self.post_attention_layernorm, self.mlp = Norm(), FeedForward()

    def forward(self, x, *context):
        x = x + self.self_attn(self.input_layernorm(x), *context)
        return x + self.mlp(self.post_attention_layernorm(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(CONFIG["vocab_size"], CONFIG["hidden_size"])
        self.layers = nn.ModuleList(Layer() for _ in range(CONFIG["num_hidden_layers"]))
        self.norm = Norm()
        depth = 2 * CONFIG["num_hidden_layers"]
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                branch_end = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(weight, std=0.02 / math.sqrt(depth) if branch_end else 0.02)

    def forward(self, ids):
        n = ids.shape[1]
        rate = CONFIG["rope_theta"] ** (-torch.arange(0, HEAD_DIM, 2) / HEAD_DIM)
        angles = torch.arange(n)[:, None] * rate
        mask = torch.full((n, n), -math.inf).triu(1)
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x, angles.cos(), angles.sin(), mask)
        return self.norm(x) @ self.embed_tokens.weight.T


def loss_of(model, ids):
    return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


def optimizer_of(model):
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1},
                              {"params": vectors, "weight_decay": 0.0}], betas=(0.9, 0.95))


def batch_of(stream, window, n):
    """Windows anywhere in the text. Half of them begin with BOS in the place of their
    first token, as those of a perplexity protocol do."""
    starts = torch.randint(len(stream) - window - 1, (n,))
    ids = torch.stack([stream[s:s + window + 1] for s in starts.tolist()])
    ids[: n // 2, 0] = CONFIG["bos_token_id"]
    return ids


def train(stream, test, options):
    torch.manual_seed(options.seed)
    model = Model()
    print(sum(p.numel() for p in model.parameters()), "parameters,", len(stream), "tokens")
    optimizer, started = optimizer_of(model), time.monotonic()
    for step in range(options.steps + 1):
        if step % 200 == 0 or step == options.steps:
            with torch.no_grad():
                print(f"step {step}: held-out loss {loss_of(model, test):.4f}, "
                      f"{time.monotonic() - started:.0f} s", flush=True)
        if step == options.steps:
            break
        progress = step / options.steps
        rate = options.rate * min(1, (step + 1) / 100) * (1 - 0.95 * progress)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        loss_of(model, batch_of(stream, options.window, options.batch)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--window", type=int, default=256)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random.seed(options.seed)

    documents, held_out = corpus.split()
    vocabulary, merges = bpe.train([text for _, text in documents], CONFIG["vocab_size"])
    encoder = bpe.Encoder(vocabulary, merges)
    random.shuffle(documents)
    stream = torch.tensor([i for _, text in documents for i in [0, *encoder.encode(text), 1]])
    test = torch.tensor([i for _, text in held_out for i in [0, *encoder.encode(text), 1]])
    window = options.window + 1
    test = test[:len(test) // window * window].view(-1, window)[:16]
    model = train(stream, test, options)

    options.folder.mkdir(parents=True, exist_ok=True)
    weights = {("model." + name): p.detach().to(torch.bfloat16).float().numpy()
               for name, p in model.named_parameters()}
    tensor_files.write_safetensors(options.folder / "model.safetensors",
                                   dict(sorted(weights.items())))
    (options.folder / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
    (options.folder / "tokenizer.json").write_text(bpe.tokenizer_json(vocabulary, merges))
    (options.folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": bpe.BOS, "eos_token": bpe.EOS,
        "add_bos_token": True, "add_eos_token": False, "clean_up_tokenization_spaces": False,
        "model_max_length": CONFIG["max_position_embeddings"]}, indent=2) + "\n")


if __name__ == "__main__":
    main()
