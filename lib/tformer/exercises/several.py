"""What the exercises share: answers of several arrays, and scales made of the wrong number."""

from __future__ import annotations

from typing import Any

import numpy as np

from tformer.exercises import say
from tformer.exercises.answer import Answer, Wrong


def parts(f: Answer, value: Any, said: str, names: tuple[str, ...]) -> list[np.ndarray]:
    """Return the arrays that `value` holds, or say that they are not there."""
    count = {2: "two", 3: "three"}[len(names)]
    needed = f"it should return {count} arrays, {', '.join(names[:-1])} and {names[-1]}."
    if isinstance(value, np.ndarray) and value.ndim < 3:
        raise Wrong(f"With {said}, {f.name} returns one array, of shape {value.shape}; {needed}")
    if not isinstance(value, tuple | list | np.ndarray):
        raise Wrong(f"With {said}, {f.name} returns {say.kind(value)}; {needed}")
    if len(value) != len(names):
        raise Wrong(f"With {said}, the answer of {f.name} has length {len(value)}; {needed}")
    return [f.numbers(part, said) for part in value]


def wrong_scales(q: np.ndarray, k: np.ndarray) -> dict[str, float]:
    """Return scales that stand where 1/√K belongs, each by what is said to it."""
    n, m, width = q.shape[-2], k.shape[-2], q.shape[-1]
    belongs = "The scale belongs to the width of the queries."
    rows = {
        f"You divided by the root of the number of keys. {belongs}": m**-0.5,
        f"You divided by the root of the number of queries. {belongs}": n**-0.5,
    }
    if n == m:
        rows = {f"You divided by the root of the number of rows. {belongs}": n**-0.5}
    return {
        "The scores are not scaled by 1/√K.": 1.0,
        "You divided by K, the width of the queries; divide by its root.": 1 / width,
        "You multiplied the scores by √K; divide by it.": width**0.5,
        **rows,
        f"You divided by the number of keys. {belongs}": 1 / m,
        "You divided by 2K: in `/ K**1/2` one divides by K, and then by 2.": 1 / (2 * width),
    }
