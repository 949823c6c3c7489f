"""Mistakes in softmax, shared by the exercises in which scores become weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Weigh = Callable[[np.ndarray], np.ndarray]
Axis = int | tuple[int, ...] | None
OF_ITS_OWN = "Scores of another query may lie 1000 below it; each row needs a maximum of its own."


def scaled_scores(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return q·k/√d_k of every query and key."""
    return np.asarray(q @ k.mT / q.shape[-1] ** 0.5)


def measured_from(scores: np.ndarray, shift: Any = None, axis: Axis = -1) -> np.ndarray:
    """Return the softmax by its formula, of scores measured from `shift`, nan included.

    Without a shift it is the largest score along the axis, or axes, whose weights sum to 1.
    """
    shift = scores.max(axis=axis, keepdims=True) if shift is None else shift
    terms = np.exp(scores - shift)
    return np.asarray(terms / terms.sum(axis=axis, keepdims=True))


WRONG_SOFTMAXES: dict[str, Weigh] = {  # from scores, queries down and keys across, to weights
    "The softmax runs down the columns; each query needs weights that add up to one.": (
        partial(measured_from, axis=-2)
    ),
    "The weights of all queries together add up to one; those of each query should.": (
        partial(measured_from, axis=(-2, -1))
    ),
    "The scaled scores served as weights; their softmax should.": lambda scores: scores,
    "exp(1000) is more than a float64 can hold. Subtract the largest score of each row.": (
        partial(measured_from, shift=0.0)
    ),
    f"One maximum was taken for all queries. {OF_ITS_OWN}": (
        lambda scores: measured_from(scores, scores.max())
    ),
}


def wrongly_weighed(attend: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return a mutant for each wrong softmax; `attend` takes it, then what an answer takes."""
    return {sentence: partial(attend, weigh) for sentence, weigh in WRONG_SOFTMAXES.items()}
