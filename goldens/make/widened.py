"""Runs transformers in float64 all the way.

model.double() alone leaves the modelling code's casts to float32: norms, rotary
angles, softmax and router. They exist to lift bfloat16 models up; under float64 they
lower precision to about 1e-6. Within `widened()` every such cast means float64, so
what runs is the modelling code's formula and nothing else.
"""

import contextlib

import torch


@contextlib.contextmanager
def widened():
    """torch.float and torch.float32, as attributes and as casts, mean float64."""
    saved = torch.float, torch.float32, torch.Tensor.float, torch.get_default_dtype()
    torch.float = torch.float32 = torch.float64
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.float, torch.float32, torch.Tensor.float = saved[:3]
        torch.set_default_dtype(saved[3])


def rebuild_rotary(model):
    """Recomputes the rotary frequencies, and Gemma's embedding scale, which a model
    keeps as float32 buffers from its construction; call within widened()."""
    for name, module in list(model.named_modules()):
        if type(module).__name__.endswith("RotaryEmbedding"):
            parent = model.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], type(module)(module.config))
        if hasattr(module, "scalar_embed_scale"):
            module.embed_scale = torch.tensor(module.scalar_embed_scale)
