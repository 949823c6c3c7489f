"""RMSNorm computed wrongly: each mistake is one line, and each leaves a mark of its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["AXES", "EPS", "SIZES"]

EPS = 1e-5


def _over(axis: int | None) -> Callable[[np.ndarray], np.ndarray]:
    """RMSNorm with its mean along an axis, or over everything."""
    return lambda x: x / np.sqrt(np.mean(x * x, axis=axis, keepdims=True) + EPS)


def _square(x: np.ndarray) -> np.ndarray:
    return np.mean(x * x, axis=-1, keepdims=True)


AXES = {"each word": _over(-1), "over the words": _over(-2), "over the table": _over(None)}
"""What the mean runs over -> the norm of a table, (T, d) to (T, d). The first is right."""

SIZES = {
    "right": _over(-1),
    "d − 1": lambda x: x / np.sqrt(_square(x) * x.shape[-1] / (x.shape[-1] - 1) + EPS),
    "sum": lambda x: x / np.sqrt(_square(x) * x.shape[-1] + EPS),
    "ε outside": lambda x: x / (np.sqrt(_square(x)) + EPS),
    "no root": lambda x: x / (_square(x) + EPS),
}
"""By what the vector is divided -> the norm of a table, (T, d) to (T, d). The first is right."""
