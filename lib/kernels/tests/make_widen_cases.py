#!/usr/bin/env python3
"""Writes widen_cases.h: blocks of random bits for each quantised type and the
f32 value of every element, bit for bit, as the `gguf` Python package gives it
(an implementation apart from ours; version in the header it writes).

    pip install numpy gguf
    python3 make_widen_cases.py > widen_cases.h
"""
import importlib.metadata

import numpy as np
from gguf import GGMLQuantizationType, quants

# Name, blocks, and the byte offsets of the f16 fields of a block.
TYPES = [
    ("Q4_0", 12, [0]), ("Q4_1", 12, [0, 2]), ("Q5_0", 12, [0]), ("Q5_1", 12, [0, 2]),
    ("Q8_0", 12, [0]), ("Q2_K", 4, [80, 82]), ("Q3_K", 4, [108]), ("Q4_K", 4, [0, 2]),
    ("Q5_K", 4, [0, 2]), ("Q6_K", 4, [208]), ("IQ4_NL", 12, [0]), ("IQ4_XS", 4, [0]),
]
# f16 fields of the first blocks: one, the smallest and largest subnormal, the
# largest number, minus zero; those of the others are random and finite.
SPECIAL = [0x3C00, 0x0001, 0x83FF, 0x7BFF, 0x8000]


def table(c_type, name, values, form, per_line):
    lines = [f"static const {c_type} {name}[] = {{"]
    for i in range(0, len(values), per_line):
        lines.append("    " + " ".join(form % v + "," for v in values[i:i + per_line]))
    return "\n".join(lines + ["};"])


def main():
    rng = np.random.default_rng(20240607)
    version = importlib.metadata.version("gguf")
    print("/* Written by make_widen_cases.py with version "
          f"{version} of the Python package gguf. */")
    print("#ifndef RML_KERNELS_TESTS_WIDEN_CASES_H\n#define RML_KERNELS_TESTS_WIDEN_CASES_H\n")
    print("#include <stddef.h>\n#include <stdint.h>\n\n#include \"tensor/dtype.h\"\n")
    print("/* clang-format off */")
    cases = []
    for name, n_blocks, f16_offsets in TYPES:
        dtype = GGMLQuantizationType[name]
        block_nelems, block_nbytes = quants.GGML_QUANT_SIZES[dtype]
        blocks = rng.integers(0, 256, (n_blocks, block_nbytes), dtype=np.uint8)
        if name == "Q8_0":
            blocks[0, 2:6] = [0x80, 0x7F, 0x00, 0xFF]
        for i, block in enumerate(blocks):
            for j, offset in enumerate(f16_offsets):
                sign, exponent, mantissa = rng.integers([0, 0, 0], [2, 31, 1024])
                half = sign << 15 | exponent << 10 | mantissa
                if i < 4:
                    half = SPECIAL[(i + j) % len(SPECIAL)]
                block[offset:offset + 2] = half & 255, half >> 8
        with np.errstate(over="raise", invalid="raise"):
            values = quants.dequantize(blocks, dtype).reshape(-1)
        assert np.isfinite(values).all() and values.dtype == np.float32
        key = name.lower()
        print(table("uint8_t", f"{key}_blocks", blocks.reshape(-1), "%3d", 20))
        print(table("uint32_t", f"{key}_values", values.view(np.uint32), "0x%08x", 8))
        cases.append(f"    {{RML_{name}, {n_blocks * block_nelems}, {key}_blocks, {key}_values}},")
    print("/* clang-format on */\n")
    print("""static const struct widen_case {
    enum rml_dtype dtype;
    size_t n;
    const uint8_t *blocks;
    const uint32_t *values; /* bits of the f32 values, [n] */
} widen_cases[] = {""")
    print("\n".join(cases))
    print("};\n\n#endif")


if __name__ == "__main__":
    main()
