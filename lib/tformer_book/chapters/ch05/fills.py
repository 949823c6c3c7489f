"""What stands in for −∞ in programs, and what it does to a row."""

from collections.abc import Callable

import numpy as np

from tformer import reference

__all__ = ["WAYS", "bfloat16", "filled", "late_and_divided", "naive_softmax"]

FILL = -1e9


def naive_softmax(scores: np.ndarray) -> np.ndarray:
    """The softmax by its formula, in the precision of the scores: a row of −∞ gives NaN."""
    with np.errstate(invalid="ignore"):
        terms = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.asarray(terms / terms.sum(axis=-1, keepdims=True))


def filled(scores: np.ndarray, mask: np.ndarray, dtype: str, fill: float = FILL) -> np.ndarray:
    """Weights if `fill` is added to the scores of hidden keys, all in one precision.

    Parameters
    ----------
    scores : (..., S) array
    mask : (..., S) boolean array
    dtype : "float16", "float32" or "float64"
    """
    with np.errstate(over="ignore"):
        added = scores.astype(dtype) + np.where(mask, 0, fill).astype(dtype)
        return naive_softmax(added)


def _hidden(dtype: str) -> Callable[[np.ndarray], np.ndarray]:
    return lambda scores: filled(scores, np.zeros(scores.shape, dtype=bool), dtype)


WAYS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "no mask": naive_softmax,
    "−10⁹ added, float64": _hidden("float64"),
    "−10⁹ added, float32": _hidden("float32"),
    "−10⁹ added, float16": _hidden("float16"),
    "−∞, formula": lambda scores: naive_softmax(np.full(scores.shape, -np.inf)),
    "−∞, this library": lambda scores: reference.softmax(np.full(scores.shape, -np.inf)),
}
"""What a program may do -> the weights of a row of scores whose keys are all hidden."""


def late_and_divided(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Weights multiplied by the mask after the softmax, and divided by their sum again."""
    kept = naive_softmax(scores) * mask
    with np.errstate(invalid="ignore"):
        return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


def bfloat16(x: np.ndarray) -> np.ndarray:
    """Round to 8 significant bits, half to even, as bfloat16 does."""
    bits = np.asarray(x, dtype=np.float32).view(np.uint32)
    bits = bits + 0x7FFF + ((bits >> 16) & 1)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)
