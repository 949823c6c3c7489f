"""The three C++ listings of *Transformer Theory*, run without a compiler.

Their loops are written afresh in Python, and their generator of chance is that of the C++ library
of GCC: a Mersenne twister and Marsaglia's polar method. A test compiles a C++ program of ours that
does the same, where a compiler is found, and compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.parameters import (
    BlockParameters,
    FeedForwardParameters,
    HeadParameters,
    NormParameters,
)

__all__ = ["EMBEDDINGS", "block_as_listed", "block_by_library", "draws", "normals", "with_places"]

EMBEDDINGS = np.array(
    [
        [0.1, 0.2, 0.1, 0.0, -0.1, 0.05, 0.2, -0.05],
        [0.0, -0.1, 0.2, 0.3, 0.1, -0.2, 0.0, 0.05],
        [0.2, 0.1, -0.1, 0.1, 0.0, 0.2, -0.2, 0.1],
        [-0.1, 0.3, 0.2, -0.2, 0.1, -0.1, 0.05, 0.0],
    ]
)
"""The words of the second listing."""
D, HIDDEN = 8, 32
NAMES = ("w_q", "w_k", "w_v", "w_o", "w_in", "w_out")


def with_places() -> np.ndarray:
    """Return what the second listing prints last: words plus sinusoids, (4, 8)."""
    rows = EMBEDDINGS.copy()
    for place in range(len(rows)):
        for column in range(0, D, 2):
            angle = place / 10000.0 ** (column / D)
            rows[place, column] += np.sin(angle)
            rows[place, column + 1] += np.cos(angle)
    return rows


def normals(seed: int) -> Iterator[float]:
    """Yield what GCC's `normal_distribution<double>` draws from `mt19937(seed)`, two by two.

    Each uniform takes two words of 32 bits, the lower one first; a pair in the unit circle gives
    two normals, of which the second coordinate's comes first.
    """
    bits = np.random.RandomState(seed)

    def uniform() -> float:
        low, high = (int(x) for x in bits.randint(0, 2**32, size=2, dtype=np.uint64))
        return (low + high * 2.0**32) / 2.0**64

    while True:
        x, y = 2.0 * uniform() - 1.0, 2.0 * uniform() - 1.0
        square = x * x + y * y
        if 0.0 < square <= 1.0:
            factor = float(np.sqrt(-2.0 * np.log(square) / square))
            yield y * factor
            yield x * factor


@cache
def draws(seed: int = 42) -> dict[str, np.ndarray]:
    """Return the input (4, 8) of the third listing and its six matrices, in the order drawn."""
    stream = normals(seed)

    def table(rows: int, columns: int, factor: float) -> np.ndarray:
        return factor * np.array([[next(stream) for _ in range(columns)] for _ in range(rows)])

    found = {"x": table(4, D, 0.1)}
    for name in NAMES:
        rows, columns = (HIDDEN if name == "w_out" else D), (HIDDEN if name == "w_in" else D)
        found[name] = table(rows, columns, 1.0 / np.sqrt(rows))
    return found


def block_as_listed() -> np.ndarray:
    """Return what the third listing prints, (4, 8): its arithmetic, step by step."""
    given = draws()
    x = given["x"]
    rows = _normed(x)
    q, k, v = (rows @ given[name] for name in ("w_q", "w_k", "w_v"))
    scores = q @ k.T / np.sqrt(D)
    terms = np.exp(scores - scores.max(axis=-1, keepdims=True))
    x = x + terms / (terms.sum(axis=-1, keepdims=True) + 1e-12) @ v @ given["w_o"]
    h = _normed(x) @ given["w_in"]
    h = 0.5 * h * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (h + 0.044715 * h * h * h)))
    return x + h @ given["w_out"]


def block_by_library() -> np.ndarray:
    """Return the same from the library's block, with norms before and the tanh form of GELU."""
    given = draws()
    heads = HeadParameters(*(given[name][np.newaxis] for name in NAMES[:4]))
    layer = FeedForwardParameters(given["w_in"], given["w_out"])
    parameters = BlockParameters(heads, layer, NormParameters(), NormParameters())
    configuration = Configuration(activation="gelu_tanh", positions="none")
    return ref.block(given["x"], parameters, configuration)


def _normed(x: np.ndarray) -> np.ndarray:
    mean = x.sum(axis=-1, keepdims=True) / D
    variance = ((x - mean) ** 2).sum(axis=-1, keepdims=True) / D
    return (x - mean) * (1.0 / np.sqrt(variance + 1e-5))
