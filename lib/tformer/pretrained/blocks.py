"""The block formats of GGUF: plain numbers, or quantized blocks of 32 that share a scale.

Source: ggml's `ggml-common.h` (`block_q4_0`, `block_q4_1`, `block_q8_0`) and the functions
`dequantize_row_*` of `ggml-quants.c`, https://github.com/ggml-org/ggml. All is little-endian.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FORMATS", "BlockFormat", "Float32", "quantised"]

Float32 = NDArray[np.float32]
HALF_BLOCK = 16
"""Bytes of a 4-bit block; the low nibble of byte i is number i, the high nibble number i + 16."""


class BlockFormat(NamedTuple):
    """How numbers are stored.

    Attributes
    ----------
    name : str
        In ggml.
    block : numpy.dtype
        Of one block in the file.
    size : int
        The number of weights in a block.
    decode : callable
        From blocks to weights in float32, a row for each block.
    """

    name: str
    block: np.dtype[Any]
    size: int
    decode: Callable[[NDArray[Any]], Float32]


def quantised(blocks: NDArray[Any]) -> tuple[NDArray[Any], Float32, Float32 | None]:
    """What a row of weights is made of, (32,) each: whole numbers, a scale, and a zero.

    Parameters
    ----------
    blocks : structured array of Q4_0, Q4_1 or Q8_0

    Returns
    -------
    q : (blocks, 32) integer array
        From 0 to 15, or from -128 to 127 of eight bits.
    scale : (blocks,) array
    zero : (blocks,) array, or None
        The weight of q = 8; None for eight bits, where it is scale · 8.
    """
    scale = blocks["d"].astype(np.float32)
    if blocks.dtype == FORMATS[8].block:
        return blocks["q"], scale, None
    has_least = blocks.dtype == FORMATS[3].block
    zero = blocks["m"].astype(np.float32) + 8 * scale if has_least else np.zeros_like(scale)
    return _nibbles(blocks), scale, zero


def _unquantized(blocks: NDArray[Any]) -> Float32:
    return blocks.astype(np.float32)


def _column(blocks: NDArray[Any], field: str) -> Float32:
    return blocks[field].astype(np.float32)[:, None]


def _nibbles(blocks: NDArray[Any]) -> NDArray[np.uint8]:
    """The 32 quantized numbers of each block, from 0 to 15."""
    return np.concatenate([blocks["q"] & 15, blocks["q"] >> 4], axis=1)


def _q4_0(blocks: NDArray[Any]) -> Float32:
    return (_nibbles(blocks).astype(np.float32) - np.float32(8)) * _column(blocks, "d")


def _q4_1(blocks: NDArray[Any]) -> Float32:
    numbers = _nibbles(blocks) * _column(blocks, "d")
    numbers += _column(blocks, "m")
    return numbers


def _q8_0(blocks: NDArray[Any]) -> Float32:
    return blocks["q"] * _column(blocks, "d")


SCALE, LEAST, NIBBLES = ("d", "<f2"), ("m", "<f2"), ("q", "u1", (HALF_BLOCK,))
FORMATS = {
    0: BlockFormat("F32", np.dtype("<f4"), 1, _unquantized),
    1: BlockFormat("F16", np.dtype("<f2"), 1, _unquantized),
    2: BlockFormat("Q4_0", np.dtype([SCALE, NIBBLES]), 32, _q4_0),
    3: BlockFormat("Q4_1", np.dtype([SCALE, LEAST, NIBBLES]), 32, _q4_1),
    8: BlockFormat("Q8_0", np.dtype([SCALE, ("q", "i1", (32,))]), 32, _q8_0),
}
"""The supported formats by their number in ggml, which has thirty more."""
