"""Take apart an answer that consists of several arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tformer.check import say
from tformer.check.answer import Answer, Wrong


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
