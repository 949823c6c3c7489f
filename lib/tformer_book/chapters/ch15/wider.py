"""A model of three words in which a beam of two finds less than greedy generation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tformer.models.beam_search import Hypothesis, beam_search

__all__ = ["WIDER", "found"]

WIDER: dict[tuple[int, ...], list[float]] = {
    (): [0.36, 0.34, 0.30],
    (0,): [0.40, 0.30, 0.30],
    (1,): [0.45, 0.45, 0.10],
    (2,): [0.34, 0.33, 0.33],
    (0, 0): [0.95, 0.03, 0.02],
    **{(1, b): [0.40, 0.30, 0.30] for b in range(3)},
    **{(2, b): [0.40, 0.30, 0.30] for b in range(3)},
    **{(0, b): [0.40, 0.30, 0.30] for b in (1, 2)},
}
"""What follows each beginning of two words at most, in a model of three words."""


def found(width: int) -> Hypothesis:
    """The first text of three words that a beam finds; what is kept of the words is the words."""

    def read(tokens: np.ndarray, words: tuple[int, ...] | None) -> tuple[np.ndarray, Any]:
        words = () if words is None else (*words, int(tokens[0]))
        return np.log([WIDER[words]]), words

    return beam_search(read, np.array([0]), 3, width)[0]
