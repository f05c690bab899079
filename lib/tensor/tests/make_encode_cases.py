#!/usr/bin/env python3
"""Writes encode_cases.h: values, the blocks that the `gguf` Python package (an
implementation apart from ours) makes of them for the types with one accepted rounding,
and for the others the error of llama.cpp's quantizer.

    pip install numpy gguf
    python3 make_encode_cases.py LIBGGML_BASE.so > encode_cases.h
"""
import ctypes
import importlib.metadata
import sys

import numpy as np
from gguf import GGMLQuantizationType, quants

EXACT = ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"]
SEARCHED = ["Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS"]


def special_rows():
    """Blocks of 32 that try the corners of the rounding rules."""
    half = np.arange(32, dtype=np.float32) / 2 - 8
    rows = [
        np.zeros(32), np.full(32, 0.75), np.full(32, -0.75), half, -half,
        half * 0.1, np.where(np.arange(32) % 2, 8.0, -8.0),  # equal magnitudes: the first counts
        np.where(np.arange(32) % 2, -8.0, 8.0), np.full(32, 1e-6), half * 1e-8, half * 3e3,
        np.where(np.arange(32) == 17, 5.0, 0.0), np.where(np.arange(32) == 17, -5.0, 0.0),
        np.abs(half) + 100, -np.abs(half) - 100, np.ldexp(1.0, -np.arange(32)),
        np.linspace(-127, 127, 32) + 0.5,
    ]
    return np.concatenate(rows).astype(np.float32)


def table(c_type, name, values, form, per_line):
    lines = [f"static const {c_type} {name}[] = {{"]
    for i in range(0, len(values), per_line):
        lines.append("    " + " ".join(form % v + "," for v in values[i:i + per_line]))
    return "\n".join(lines + ["};"])


def main():
    ggml = ctypes.CDLL(sys.argv[1])
    ggml.ggml_quantize_chunk.restype = ctypes.c_size_t
    rng = np.random.default_rng(20250311)
    values = {
        "gaussian": (rng.standard_normal(1024) * 0.03).astype(np.float32),
        "heavy_tailed": (rng.standard_t(3, 1024) * 0.02).astype(np.float32),
        "special": special_rows(),
    }
    print("/* Written by make_encode_cases.py with version "
          f"{importlib.metadata.version('gguf')} of the Python package gguf. */")
    print("#ifndef RML_TENSOR_TESTS_ENCODE_CASES_H\n#define RML_TENSOR_TESTS_ENCODE_CASES_H\n")
    print("#include <stddef.h>\n#include <stdint.h>\n\n#include \"tensor/dtype.h\"\n")
    print("/* clang-format off */")
    print("/* Bits of f32 values. */")
    for name, x in values.items():
        print(table("uint32_t", name, x.view(np.uint32), "0x%08x", 8))
    exact, searched = [], []
    for data, x in values.items():
        for name in EXACT:
            blocks = quants.quantize(x.reshape(1, -1), GGMLQuantizationType[name])
            print(table("uint8_t", f"{name.lower()}_{data}", blocks.view(np.uint8).reshape(-1),
                        "%3d", 20))
            exact.append(f"    {{RML_{name}, \"{data}\", {len(x)}, {data}, "
                         f"{name.lower()}_{data}}},")
        if data == "special":
            continue
        for name in SEARCHED:
            dtype = GGMLQuantizationType[name]
            nelems, nbytes = quants.GGML_QUANT_SIZES[dtype]
            blocks = np.zeros(len(x) // nelems * nbytes, np.uint8)
            ggml.ggml_quantize_chunk(
                ctypes.c_int(int(dtype)), x.ctypes.data_as(ctypes.c_void_p),
                blocks.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(0),
                ctypes.c_int64(len(x) // 256), ctypes.c_int64(256), None)
            decoded = quants.dequantize(blocks.reshape(-1, nbytes), dtype).reshape(-1)
            error = np.square(decoded.astype(np.float64) - x.astype(np.float64)).sum()
            searched.append(f"    {{RML_{name}, \"{data}\", {len(x)}, {data}, {error!r}}},")
    print("\nstatic const struct {\n    enum rml_dtype dtype;\n    const char *data;\n"
          "    size_t n;\n    const uint32_t *values;\n    const uint8_t *blocks;\n"
          "} exact_cases[] = {")
    print("\n".join(exact) + "\n};\n")
    print("static const struct {\n    enum rml_dtype dtype;\n    const char *data;\n"
          "    size_t n;\n    const uint32_t *values;\n"
          "    double squared_error; /* of llama.cpp's quantizer */\n} searched_cases[] = {")
    print("\n".join(line.replace("np.float64(", "").replace(")}", "}") for line in searched)
          + "\n};\n/* clang-format on */\n\n#endif")


if __name__ == "__main__":
    main()
