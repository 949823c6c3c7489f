"""Mutants of the scale of attention, shared by the exercises in which scores are scaled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tformer import reference

Scale = Callable[[np.ndarray, np.ndarray], float]
_BELONGS = "The scale belongs to the width of the queries."
SCALE_MUTANTS: dict[str, Scale] = {  # from queries and keys to what multiplies the scores
    "The scores are not scaled by 1/√d_k.": lambda q, k: 1.0,
    "You divided by d_k, the width of the queries; divide by its root.": lambda q, k: (
        1 / q.shape[-1]
    ),
    "You multiplied the scores by √d_k; divide by it.": lambda q, k: q.shape[-1] ** 0.5,
    f"You divided by the root of the number of keys. {_BELONGS}": lambda q, k: k.shape[-2] ** -0.5,
    f"You divided by the root of the number of queries. {_BELONGS}": lambda q, k: (
        q.shape[-2] ** -0.5
    ),
    f"You divided by the number of keys. {_BELONGS}": lambda q, k: 1 / k.shape[-2],
    "You divided by 2 d_k: in `/ d_k**1/2` one divides by d_k, and then by 2.": lambda q, k: (
        1 / (2 * q.shape[-1])
    ),
}


def scaled(scale: Scale, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return attention with a scale that is a function of queries and keys."""
    return reference.attention(q, k, v, scale=scale(q, k))
