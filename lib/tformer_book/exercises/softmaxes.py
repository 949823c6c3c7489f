"""Mutants of softmax and its masks, shared by the exercises in which scores become weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Weigh = Callable[[np.ndarray], np.ndarray]
Masked = Callable[[np.ndarray, np.ndarray], np.ndarray]
Axis = int | tuple[int, ...] | None
OF_ITS_OWN = "Scores of another query may lie 1000 below it; each row needs a maximum of its own."


def scaled_scores(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return q·k/√d_k of every query and key."""
    return np.asarray(q @ k.mT / q.shape[-1] ** 0.5)


def weighed(weigh: Weigh, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return attention with another softmax."""
    return np.asarray(weigh(scaled_scores(q, k)) @ v)


def measured_from(scores: np.ndarray, shift: Any = None, axis: Axis = -1) -> np.ndarray:
    """Return the softmax by its formula, of scores measured from `shift`, nan included.

    Without a shift it is the largest score along the axis, or axes, whose weights sum to 1.
    """
    shift = scores.max(axis=axis, keepdims=True) if shift is None else shift
    terms = np.exp(scores - shift)
    return np.asarray(terms / terms.sum(axis=axis, keepdims=True))


SOFTMAX_MUTANTS: dict[str, Weigh] = {  # from scores, queries down and keys across, to weights
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


def visible(scores: np.ndarray, mask: np.ndarray, hidden: float = -np.inf) -> np.ndarray:
    """Return the scores with another number, −∞ mostly, in the place of the hidden ones."""
    return np.where(mask, scores, hidden)


def _added(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return measured_from(scores + np.where(mask, 0, -1e9))


def _emptied(weights: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the weights, with zeros in rows that are fully masked."""
    return np.where(np.broadcast_to(mask, weights.shape).any(-1, keepdims=True), weights, 0.0)


_LOW = "a large negative number {} in place of −∞, and only differences of scores count. "
ZEROS = "By the book's contract a fully masked row is all zeros."
MASK_MUTANTS: dict[str, Masked] = {  # from scores and a mask to weights
    "You masked after the softmax: the hidden keys still took their share of the sum, and the "
    "other weights add up to less than 1.": lambda s, mask: measured_from(s) * mask,
    "The mask is read the wrong way round: True means that the query may attend to the key.": (
        lambda s, mask: np.nan_to_num(measured_from(visible(s, ~mask)))
    ),
    "The mask has no effect.": lambda s, mask: measured_from(s),
    "A score multiplied by 0 is 0, and exp(0) = 1: the key is not hidden.": (
        lambda s, mask: measured_from(s * mask)
    ),
    "The mask was added to the scores as the numbers 0 and 1.": (
        lambda s, mask: measured_from(s + mask)
    ),
    f"The row is fully masked, and 0/0 is nan. {ZEROS}": (
        lambda s, mask: measured_from(visible(s, mask))
    ),
    f"The hidden keys take the weight: {_LOW.format('stands')}{ZEROS}": (
        lambda s, mask: measured_from(visible(s, mask, -1e9))
    ),
    f"The hidden keys take the weight: {_LOW.format('was added')}{ZEROS}": _added,
    "−10⁹ was added to the score of a hidden key, and that score is larger: no number serves for "
    "all scores as −∞ does.": lambda s, mask: _emptied(_added(s, mask), mask),
    "−10⁹ stands in the place of −∞, and the visible score lies below it: then the hidden key "
    "takes the weight. No number serves for all scores.": (
        lambda s, mask: _emptied(measured_from(visible(s, mask, -1e9)), mask)
    ),
    "−10⁹ stands in the place of −∞, and the weights were multiplied by the mask at the end: a "
    "visible score below −10⁹ loses its weight.": (
        lambda s, mask: measured_from(visible(s, mask, -1e9)) * mask
    ),
    "The hidden score was used as the shift and left every visible exponential at 0. Take the "
    "maximum over the visible keys.": lambda s, mask: np.nan_to_num(
        measured_from(visible(s, mask), s.max(axis=-1, keepdims=True))
    ),
    "exp(1000) is more than a float64 can hold, and ∞/∞ is nan. Subtract the largest visible "
    "score first.": lambda s, mask: _emptied(measured_from(visible(s, mask), 0.0), mask),
    "One maximum for the whole array pushes another row so far down that all its exponentials "
    "are 0. Each row needs its own.": lambda s, mask: np.nan_to_num(
        measured_from(visible(s, mask), np.max(s, where=mask, initial=-1e300))
    ),
}
