"""Exercise 2.1: a softmax that does not overflow."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tformer import reference
from tformer.exercises import say
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.registry import Test, exercise
from tformer.exercises.samples import integers
from tformer.exercises.softmaxes import measured_from
from tformer.exercises.table import Case, case


def _scores() -> Iterator[Case | Test]:
    yield case(x=_X, axis=-1, want=(1 / 6, 1 / 3, 1 / 2))
    for axis in (-1, 0):
        yield case(x=np.array([[0.0, _LOG3], [0, 0]]), axis=axis)
    far = "Its exponentials are all ∞, or all 0: a common shift keeps the ratios, and nothing else."
    yield case(x=np.array([1000.0, 1000]), axis=-1, want=(0.5, 0.5), why=far)
    none = "A score of −∞ has weight 0."
    yield case(x=np.array([0, -np.inf]), axis=-1, want=(1, 0), why=none)
    for high, low in (800.0, 0.0), (1000.0, 999.0), (5000.0, 0.0), (-2000.0, -np.inf):
        yield case(x=np.array([high, low]), axis=-1, why=none if low == -np.inf else far)
    for high in 20_000.0, -20_000.0:
        yield case(x=np.array([high, high - 1]), axis=-1, why=far)
    yield case(x=np.array([[0.0, 0], [-1000, -1000]]), axis=-1, want=np.full((2, 2), 0.5))
    for axis, shape in (0, (2, 3, 2)), (1, (2, 3, 2)), (2, (2, 3, 2)), (-2, (3, 1, 4)), (1, (3, 2)):
        yield case(x=integers(axis + 5, shape), axis=axis)
    yield case(x=np.array([[0.0, 1], [3, 1]]), axis=-1, whole=True)
    yield partial(check_single, axis=-1)


def _kept(x: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(np.exp(x - x.max(axis=axis, keepdims=True)))


LAID = "of each row {} laid along the columns. Keep the axis with keepdims=True."


@exercise(
    "2.1",
    praise="Checked along every axis, for scores of ±1000, for rows far apart, and for a single "
    "score, whose weight is exactly 1.",
    hints=(
        "exp(710) is more than a float64 can hold. Which theorem of the chapter lets you change "
        "the scores without changing the weights?",
        "Subtract the largest score. Largest among which scores? Those that share a sum.",
        "Both the maximum and the sum keep their axis with length one (`keepdims=True`), so that "
        "they line up with x again.",
    ),
    cases=_scores,
    mutants={
        "The exponentials are not divided by their sum.": lambda x, axis: np.exp(x),
        "The shifted exponentials are not divided by their sum.": _kept,
        "The scores are divided by their sum; their exponentials should be.": (
            lambda x, axis: x / x.sum(axis=axis, keepdims=True)
        ),
        "You divided by the sum over the whole array: each row, or column, along the axis has "
        "a sum of its own.": lambda x, axis: reference.softmax(x.ravel()).reshape(x.shape),
        "That is the softmax along the other axis.": (
            lambda x, axis: reference.softmax(x, axis=(-1 - axis) % x.ndim)
        ),
        f"The numbers {LAID.format('were')}": lambda x, axis: (
            np.exp(x - x.max(axis=axis)) / np.exp(x - x.max(axis=axis)).sum(axis=axis)
        ),
        f"The maximum {LAID.format('was')}": lambda x, axis: measured_from(
            x, x.max(axis=axis), axis
        ),
        f"The sum {LAID.format('was')}": lambda x, axis: (
            _kept(x, axis) / _kept(x, axis).sum(axis=axis)
        ),
        f"The total {LAID.format('was')}": lambda x, axis: np.exp(x) / np.exp(x).sum(axis=axis),
        "exp(1000) is more than a float64 can hold, and ∞/∞ is nan. Subtract the largest score "
        "first.": lambda x, axis: measured_from(x, 0.0, axis),
        "x holds a −∞, so its mean is −∞, and so is its smallest score. Neither can serve "
        "as the shift; the largest score can.": (
            lambda x, axis: measured_from(x, x.mean(axis=axis, keepdims=True), axis)
        ),
        "You subtracted the smallest score: then the largest difference overflows, and ∞/∞ is "
        "nan.": lambda x, axis: measured_from(x, x[np.isfinite(x)].min(), axis),
        "The scores are cut off at a height, so that those beyond it become equal. Subtract the "
        "largest one instead.": lambda x, axis: measured_from(np.clip(x, -700, 700), 0.0, axis),
        "One maximum for the whole array pushes the lower row so far down that all its "
        "exponentials are 0. Each row needs its own shift.": (
            lambda x, axis: measured_from(x, x.max(), axis)
        ),
    },
    otherwise="Along the axis, each weight is e to the power of its score over the sum of these.",
)
def softmax_along(x: np.ndarray, axis: int) -> np.ndarray:
    """Shifted softmax along any axis."""
    return reference.softmax(x, axis=axis)


def check_single(f: Answer, **more: Any) -> None:
    """One score: its weight is 1, exactly."""
    got = f.expect(np.ones(1), x=np.zeros(1), **more)
    if abs(got[0] - 1) > 1e-15:
        raise Wrong(
            f"With the single score x = (0,), {f.name} gives a weight of {say.show(got[0], 13)}; "
            "weights sum to 1. After the shift the sum is at least 1, so nothing has to be added "
            "to the denominator."
        )


_LOG3 = float(np.log(3))
_X = np.log([1.0, 2, 3])
