"""Rotary frequencies in float64.

Pair i of a head turns by position x inv_freq[i], inv_freq[i] = theta^(-2i / head_dim).
The scalings stretch slow pairs so that a model reads positions beyond those it was
trained on:

  linear   every pair slower by `factor`
  llama3   pairs with a wavelength above original / low_freq_factor slower by
           `factor`, those below original / high_freq_factor unchanged, and
           between them the two blended along original / wavelength
  yarn     the blend runs along the pair's index instead, between the indices that
           complete beta_fast and beta_slow turns within the original context; and
           cos and sin are both multiplied by an attention factor
           (Peng et al. 2023, arXiv:2309.00071)

A `scaling` here is a dict in the spelling of config.json's rope_parameters.
"""

import math

import numpy as np


def inverse_frequencies(theta, head_dim, scaling):
    """Returns (inv_freq[head_dim / 2], attention factor)."""
    plain = theta ** (-np.arange(0, head_dim, 2, dtype=np.float64) / head_dim)
    kind = scaling.get("rope_type", "default")
    if kind == "default":
        return plain, 1.0
    if kind == "linear":
        return plain / scaling["factor"], 1.0
    if kind == "llama3":
        return plain / llama3_divisors(plain, scaling), 1.0
    if kind == "yarn":
        return _yarn(plain, theta, head_dim, scaling)
    if kind == "divisors":  # a GGUF's rope_freqs tensor
        return plain / scaling["divisors"], 1.0
    raise ValueError(f"rope type {kind}")


def llama3_divisors(inv_freq, scaling):
    """What each frequency is divided by; also the content of a GGUF's rope_freqs."""
    factor = scaling["factor"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    turns = scaling["original_max_position_embeddings"] * inv_freq / (2 * math.pi)
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    return 1 / ((1 - smooth) / factor + smooth)


def _yarn(plain, theta, head_dim, scaling):
    factor = scaling["factor"]
    original = scaling["original_max_position_embeddings"]

    def pair_with_turns(n):
        return head_dim * math.log(original / (n * 2 * math.pi)) / (2 * math.log(theta))

    first = pair_with_turns(scaling.get("beta_fast") or 32)
    last = pair_with_turns(scaling.get("beta_slow") or 1)
    if scaling.get("truncate", True):
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, head_dim - 1)
    if first == last:
        last += 0.001
    slowed = np.clip((np.arange(head_dim // 2) - first) / (last - first), 0, 1)
    inv_freq = plain / factor * slowed + plain * (1 - slowed)

    attention = scaling.get("attention_factor")
    if attention is None:
        attention = 0.1 * math.log(factor) + 1 if factor > 1 else 1.0
        scale, scale_all = scaling.get("mscale"), scaling.get("mscale_all_dim")
        if scale and scale_all and factor > 1:
            attention = (0.1 * scale * math.log(factor) + 1) / (
                0.1 * scale_all * math.log(factor) + 1)
    return inv_freq, attention * scaling.get("attention_multiplier", 1.0)
