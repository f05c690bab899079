"""Writers of safetensors and GGUF files: the same bytes on every run.

Layouts: the safetensors README (8-byte header length, JSON, data) and ggml's
docs/gguf.md (magic, version, counts, key-value pairs, tensor table, aligned data).
"""

import json
import struct

import numpy as np

ALIGNMENT = 32
F32, F16, BF16 = 0, 1, 30  # ggml type numbers

_UINT16, _UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 2, 4, 5, 6, 7, 8, 9


def to_bf16(x):
    """The bytes of x as bfloat16; x must be exactly representable."""
    bits = np.ascontiguousarray(x, "<f4").view("<u4")
    assert np.all(np.asarray(x, np.float32) == x) and np.all(bits & 0xFFFF == 0), "not a bf16"
    return (bits >> 16).astype("<u2").tobytes()


def to_f16(x):
    half = np.ascontiguousarray(x, "<f2")
    assert np.all(half.astype(np.float64) == x), "not an f16"
    return half.tobytes()


def to_f32(x):
    single = np.ascontiguousarray(x, "<f4")
    assert np.all(single.astype(np.float64) == x), "not an f32"
    return single.tobytes()


_SAFETENSORS_TYPES = {"BF16": to_bf16, "F16": to_f16, "F32": to_f32}


def write_safetensors(path, tensors, dtype="BF16", unaligned=False):
    """tensors: {name: array}. The header is padded with spaces to a multiple of 8,
    as the format's own writer does it, or, unaligned, to an odd length."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, x in tensors.items():
        raw = _SAFETENSORS_TYPES[dtype](x)
        header[name] = {"dtype": dtype, "shape": list(x.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8) + (b" " if unaligned else b"")
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def _string(s):
    raw = s.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value):
    """(type number, bytes): bool, int, float and string become bool, uint32,
    float32 and string, a list an array of its first element's type; a numpy integer
    keeps its width."""
    if isinstance(value, np.uint16):
        return _UINT16, struct.pack("<H", value)
    if isinstance(value, np.int32):
        return _INT32, struct.pack("<i", value)
    if isinstance(value, bool):
        return _BOOL, struct.pack("<?", value)
    if isinstance(value, int):
        return _UINT32, struct.pack("<I", value)
    if isinstance(value, float):
        return _FLOAT32, struct.pack("<f", value)
    if isinstance(value, str):
        return _STRING, _string(value)
    items = [_value(v) for v in value]
    return _ARRAY, struct.pack("<IQ", items[0][0], len(items)) + b"".join(b for _, b in items)


def write_gguf(path, keys, tensors, version=3, n_parts=1):
    """keys: {name: value}; tensors: {name: (ggml type, numpy shape, bytes)}. In parts,
    the first carries all keys, as llama.cpp's gguf-split leaves them. Returns the
    paths written."""
    if n_parts == 1:
        path.write_bytes(_gguf(keys, tensors, version))
        return [path]
    items = list(tensors.items())
    paths = []
    for i in range(n_parts):
        part = dict(items[len(items) * i // n_parts:len(items) * (i + 1) // n_parts])
        split = {"split.no": np.uint16(i), "split.count": np.uint16(n_parts),
                 "split.tensors.count": np.int32(len(items))}
        paths.append(path.with_name(f"{path.stem}-{i + 1:05}-of-{n_parts:05}.gguf"))
        paths[-1].write_bytes(_gguf(split if i else keys | split, part, version))
    return paths


def _gguf(keys, tensors, version):
    alignment = keys.get("general.alignment", ALIGNMENT)
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys))
    for name, value in keys.items():
        kind, raw = _value(value)
        head += _string(name) + struct.pack("<I", kind) + raw
    data = b""
    for name, (kind, shape, raw) in tensors.items():
        head += _string(name) + struct.pack("<I", len(shape))
        head += struct.pack(f"<{len(shape)}Q", *reversed(shape))  # innermost first
        head += struct.pack("<IQ", kind, len(data))
        data += raw + bytes(-len(raw) % alignment)
    return head + bytes(-len(head) % alignment) + data
