"""Seeded inputs with numbers small enough to redo on paper, and a table made as wide as asked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def integers(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return whole numbers from −3 to 3, as floats."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(float)


def stacks(seed: int, shape: tuple[int, ...]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield pairs of arrays, from single vectors up to `shape`, smallest first.

    No vector in them is zero.
    """
    rng = np.random.default_rng(seed)
    for depth in range(1, len(shape) + 1):
        for _ in range(5):
            first, second = rng.integers(-3, 4, (2, *shape[-depth:])).astype(float)
            first[..., 0] += first[..., 0] == 0
            second[..., 0] += second[..., 0] == 0
            yield first, second


def columns(table: np.ndarray, width: int) -> np.ndarray:
    """Cut a table to its first columns, or fill it up with zeros."""
    return np.pad(table[:, :width], ((0, 0), (0, max(width - table.shape[1], 0))))
