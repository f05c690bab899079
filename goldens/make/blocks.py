"""Random blocks of every quantised type.

Not quantised weights: the codes and sub-block scales are random bytes, so that every
bit pattern of a format occurs, and only the block scales are chosen, so that the
weights they stand for have the standard deviation asked for. What they stand for is
said by the dequantisers of the gguf package. Half the blocks have a negative scale.

Layouts are those of ggml-common.h: where the f16 scales stand in a block, and what
the second of them (an offset subtracted or added) must be for a mean of zero.
"""

import dataclasses

import gguf
import numpy as np

Type = gguf.GGMLQuantizationType


@dataclasses.dataclass
class Layout:
    n_elements: int
    n_bytes: int
    scale_at: int
    offset_at: int = -1
    offset_ratio: float = 0.0  # offset / scale that centres uniformly random codes


LAYOUTS = {
    Type.Q4_0: Layout(32, 18, 0),
    Type.Q4_1: Layout(32, 20, 0, 2, -7.5),
    Type.Q5_0: Layout(32, 22, 0),
    Type.Q5_1: Layout(32, 24, 0, 2, -15.5),
    Type.Q8_0: Layout(32, 34, 0),
    Type.Q2_K: Layout(256, 84, 80, 82, 1.5),
    Type.Q3_K: Layout(256, 110, 108),
    Type.Q4_K: Layout(256, 144, 0, 2, 7.5),
    Type.Q5_K: Layout(256, 176, 0, 2, 15.5),
    Type.Q6_K: Layout(256, 210, 208),
    Type.IQ4_NL: Layout(32, 18, 0),
    Type.IQ4_XS: Layout(256, 136, 0),
}


def random_blocks(rng, kind, n_rows, n_columns, deviation):
    """[n_rows][bytes a row], standing for weights of about that deviation."""
    layout = LAYOUTS[kind]
    n_blocks = n_rows * n_columns // layout.n_elements
    blocks = rng.integers(0, 256, (n_blocks, layout.n_bytes), dtype=np.uint8)
    _set_scales(blocks, layout, np.ones(n_blocks))
    scale = deviation / dequantize(blocks, kind).std() * rng.uniform(0.6, 1.3, n_blocks)
    _set_scales(blocks, layout, scale * rng.choice([-1, 1], n_blocks))
    return blocks.reshape(n_rows, -1)


def _set_scales(blocks, layout, scale):
    def put(at, values):
        blocks[:, at:at + 2] = values.astype("<f2").view(np.uint8).reshape(-1, 2)

    put(layout.scale_at, scale)
    if layout.offset_at >= 0:
        put(layout.offset_at, scale * layout.offset_ratio)


def dequantize(data, kind):
    return gguf.quants.dequantize(data, kind).astype(np.float64)
