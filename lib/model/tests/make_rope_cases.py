"""Writes rope_cases.h: inverse frequencies and angles, for test_rope.c.

Computed with 50 digits from the definitions, in the form in which Hugging Face's
modeling_rope_utils states them (by wavelength for llama3), which is not the form
of lib/model/rope.c. With --check they are compared with transformers itself,
which works in f32. Needs mpmath.

    python3 make_rope_cases.py | clang-format --assume-filename=rope_cases.h > rope_cases.h
"""

import sys

from mpmath import ceil, cos, floor, log, mp, mpf, pi, sin

mp.dps = 50

CASES = [
    # name, head_dim, theta, rope_parameters
    ("plain, theta 10000", 128, 10000, {"rope_type": "default"}),
    ("plain, small head and another theta", 8, 500, {"rope_type": "default"}),
    ("linear", 64, 1000000, {"rope_type": "linear", "factor": 8}),
    ("Llama 3.1 8B", 128, 500000,
     {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
      "original_max_position_embeddings": 8192}),
    ("Llama 3.2 1B", 64, 500000,
     {"rope_type": "llama3", "factor": 32, "low_freq_factor": 1, "high_freq_factor": 4,
      "original_max_position_embeddings": 8192}),
    ("Qwen yarn", 128, 1000000,
     {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 32768}),
    ("yarn, range not rounded", 64, 150000,
     {"rope_type": "yarn", "factor": 32, "original_max_position_embeddings": 4096,
      "beta_fast": 32, "beta_slow": 1, "truncate": False}),
    ("yarn, other betas and attention factor", 96, 10000,
     {"rope_type": "yarn", "factor": 2.5, "original_max_position_embeddings": 2048,
      "beta_fast": 20, "beta_slow": 3, "attention_factor": 0.75}),
    ("yarn, a range that goes on after the last pair", 16, 100,
     {"rope_type": "yarn", "factor": 3, "original_max_position_embeddings": 4096}),
    ("yarn, an empty range", 4, 100,
     {"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 2,
      "beta_fast": 32, "beta_slow": 1}),
]
POSITIONS = [0, 1, 17, 4095, 131071, 1000003]


def frequencies(head_dim, theta, p):
    """(inverse frequencies, attention factor)"""
    plain = [1 / mpf(theta) ** (mpf(i) / head_dim) for i in range(0, head_dim, 2)]
    kind = p["rope_type"]
    if kind == "default":
        return plain, mpf(1)
    factor = mpf(p["factor"])
    if kind == "linear":
        return [f / factor for f in plain], mpf(1)
    original = mpf(p["original_max_position_embeddings"])
    if kind == "llama3":
        low, high = mpf(p["low_freq_factor"]), mpf(p["high_freq_factor"])
        out = []
        for f in plain:
            wavelength = 2 * pi / f
            if wavelength < original / high:
                out.append(f)
            elif wavelength > original / low:
                out.append(f / factor)
            else:
                smooth = (original / wavelength - low) / (high - low)
                out.append((1 - smooth) * f / factor + smooth * f)
        return out, mpf(1)
    assert kind == "yarn"
    attention = p.get("attention_factor")
    if attention is None:
        attention = mpf("0.1") * log(factor) + 1

    def dimension(rotations):
        return head_dim * log(original / (rotations * 2 * pi)) / (2 * log(mpf(theta)))

    low, high = dimension(p.get("beta_fast", 32)), dimension(p.get("beta_slow", 1))
    if p.get("truncate", True):
        low, high = floor(low), ceil(high)
    low, high = max(low, mpf(0)), min(high, mpf(head_dim - 1))
    if low == high:
        high += mpf("0.001")
    out = []
    for i, f in enumerate(plain):
        ramp = min(max((i - low) / (high - low), mpf(0)), mpf(1))
        extrapolation = 1 - ramp
        out.append(f / factor * (1 - extrapolation) + f * extrapolation)
    return out, mpf(attention)


def check():
    import numpy as np
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
    for name, head_dim, theta, p in CASES:
        if p["rope_type"] == "default":
            continue
        config = LlamaConfig(hidden_size=head_dim, num_attention_heads=1, head_dim=head_dim,
                             max_position_embeddings=131072,
                             rope_parameters={"rope_theta": float(theta), **p})
        theirs, attention = ROPE_INIT_FUNCTIONS[p["rope_type"]](config, "cpu")
        ours, our_attention = frequencies(head_dim, theta, p)
        error = np.abs(theirs.numpy() / np.array(ours, dtype=float) - 1).max()
        print(f"{name}: {error:.2g} {abs(attention - float(our_attention)):.2g}", file=sys.stderr)
        assert error < 2e-6 and abs(attention - float(our_attention)) < 1e-12


def c_scaling(p, attention):
    kinds = {"default": "NONE", "linear": "LINEAR", "llama3": "LLAMA3", "yarn": "YARN"}
    fields = [f".type = RML_ROPE_SCALING_{kinds[p['rope_type']]}"]
    names = {"factor": "factor", "low_freq_factor": "low_freq_factor",
             "high_freq_factor": "high_freq_factor",
             "original_max_position_embeddings": "original_context"}
    fields += [f".{c} = {p[python]}" for python, c in names.items() if python in p]
    if p["rope_type"] == "yarn":
        fields += [f".beta_fast = {p.get('beta_fast', 32)}", f".beta_slow = {p.get('beta_slow', 1)}",
                   f".attention_factor = {float(attention).hex()}",
                   f".truncate = {str(p.get('truncate', True)).lower()}"]
    return "{" + ", ".join(fields) + "}"


def main():
    if "--check" in sys.argv:
        check()
        return
    print(f"""/* Made by make_rope_cases.py; not edited by hand. */
#ifndef RML_MODEL_TESTS_ROPE_CASES_H
#define RML_MODEL_TESTS_ROPE_CASES_H

#include <stddef.h>

#include "model/rope.h"

enum {{ ROPE_MAX_PAIRS = 9, ROPE_N_POSITIONS = {len(POSITIONS)} }};

struct rope_case {{
    const char *name;
    uint32_t head_dim;
    double theta;
    struct rml_rope_scaling scaling;
    size_t n_pairs;
    struct {{
        uint32_t index;
        double inv_freq;
        double cos_sin[ROPE_N_POSITIONS][2]; /* times the attention factor */
    }} pairs[ROPE_MAX_PAIRS];
}};

static const size_t rope_positions[ROPE_N_POSITIONS] = {{{", ".join(map(str, POSITIONS))}}};
""")
    print("static const struct rope_case rope_cases[] = {")
    for name, head_dim, theta, p in CASES:
        inv_freq, attention = frequencies(head_dim, theta, p)
        # A few pairs of each: ends, middle, and where the scalings bend.
        n = head_dim // 2
        pairs = sorted({0, 1, n // 4, 3 * n // 8, n // 2, 9 * n // 16, 5 * n // 8, 3 * n // 4,
                        n - 1} & set(range(n)))
        print(f'    {{"{name}",\n     {head_dim},\n     {theta},\n     {c_scaling(p, attention)},')
        print(f"     {len(pairs)},\n     {{")
        for i in pairs:
            f = inv_freq[i]
            angles = ", ".join(f"{{{float(cos(f * m) * attention)!r}, {float(sin(f * m) * attention)!r}}}"
                               for m in POSITIONS)
            print(f"         {{{i},\n          {float(f)!r},\n          {{{angles}}}}},")
        print("     }},")
    print("};\n\n#endif")


if __name__ == "__main__":
    main()
