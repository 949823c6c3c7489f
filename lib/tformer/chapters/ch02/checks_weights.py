"""Exercises 2.1 and 2.4: softmax and entropy."""

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


def _distributions() -> Iterator[Case | Test]:
    yield case(p=np.array([0.5, 0.25, 0.25]), want=1.5 * np.log(2))
    yield case(p=np.array([0.75, 0.25]))
    yield case(p=np.array([1.0, 0]), want=0.0)
    for p in (
        (0.5, 0.5, 0),
        (0, 0.25, 0.5, 0.25),
        (0.25, 0, 0, 0.75),
        (0, 0, 1, 0),
        (1e-9, 1 - 1e-9),
    ):
        yield case(p=np.array(p, dtype=float))
    yield case(p=np.array([[0.5, 0.25, 0.25], [0, 1, 0]]), want=(1.5 * np.log(2), 0.0))
    yield case(p=np.array([[0.5, 0.5, 0], [0.25, 0.75, 0]]))
    for seed, shape in enumerate([(2, 2, 3), (2, 3, 2), (3, 1, 4), (4, 1), (1, 5)]):
        yield case(p=reference.softmax(integers(seed, shape)))
    yield case(p=np.array([[1.0, 0], [0, 1]]), whole=True)
    yield _check_certain


def _check_certain(f: Answer) -> None:
    """One weight is 1: the entropy is 0, exactly."""
    for p in np.array([1.0, 0]), np.array([0, 0, 1.0]), np.ones(1):
        got = f.expect(0.0, p=p)
        if abs(float(got)) > 1e-15:
            raise Wrong(
                f"With p = {say.show(p)}, {f.name} gives {say.show(float(got))}; with no "
                "uncertainty at all the entropy is exactly 0. Do not add a small number to the "
                "weights: treat the zeros on their own."
            )


def _terms(p: np.ndarray) -> np.ndarray:
    """The terms −p log p, 0 where p is 0."""
    return np.asarray(-p * np.log(np.where(p == 0, 1, p)))


@exercise(
    "2.4",
    praise="Between 0 and log n, exactly 0 when one weight is 1, with zeros in every place, and "
    "row by row in a stack.",
    hints=(
        "The limit of p log p as p → 0 is 0. What does the computer make of 0 · log 0?",
        "Change the logarithm's argument only where p is 0. What may stand there, if it is "
        "multiplied by 0 afterwards?",
        "`np.where` chooses entry by entry: 1 where a weight is 0, the weight itself elsewhere.",
    ),
    cases=_distributions,
    mutants={
        "The sign is turned round: entropy is never negative.": lambda p: -_terms(p).sum(-1),
        "That is in bits; the book measures in nats, with the natural logarithm.": (
            lambda p: _terms(p).sum(-1) / np.log(2)
        ),
        "That is with the logarithm to base 10; the book measures in nats.": (
            lambda p: _terms(p).sum(-1) / np.log(10)
        ),
        "That is divided by log n, a share of the largest entropy; it is asked for in nats.": (
            lambda p: _terms(p).sum(-1) / np.log(p.shape[-1])
        ),
        "The terms are averaged; add them.": lambda p: _terms(p).mean(-1),
        "The terms are not added up yet.": _terms,
        "The weights are missing in front of the logarithms.": (
            lambda p: -np.log(np.where(p == 0, 1, p)).sum(-1)
        ),
        "That is the exponential of the entropy, a number of keys; the entropy is its logarithm.": (
            lambda p: np.exp(_terms(p).sum(-1))
        ),
        "That is the surprise at the likeliest entry; the entropy is a mean over all.": (
            lambda p: -np.log(p.max(-1))
        ),
        "That is the logarithm of how many weights are above 0; it is the entropy only when they "
        "are equal.": lambda p: np.log((p > 0).sum(-1)),
        "That is −log Σ p², another measure of uncertainty.": lambda p: -np.log((p * p).sum(-1)),
        "That is 1 − Σ p², another measure of uncertainty.": lambda p: 1 - (p * p).sum(-1),
        "0 · log 0 is nan for the computer. Its limit is 0, and that is what an absent key should "
        "add.": lambda p: -(p * np.log(p)).sum(-1),
        "A single weight of 0 wiped out the whole row. The zeros add nothing, and the other "
        "weights still count.": lambda p: np.nan_to_num(-(p * np.log(p)).sum(-1)),
        "A single weight of 0 anywhere wiped out every row.": (
            lambda p: np.zeros(p.shape[:-1]) if (p == 0).any() else _terms(p).sum(-1)
        ),
        "The logarithm of 0 became a huge number in the place of 0 · log 0.": (
            lambda p: -(np.where(p == 0, 1, p) * np.nan_to_num(np.log(p))).sum(-1)
        ),
        "You added up all rows; each has its own entropy.": lambda p: _terms(p).sum(),
        "You added up the columns; the weights of a row share an entropy.": (
            lambda p: _terms(p).sum(0)
        ),
        "You added up the axis in the middle; the weights lie along the last one.": (
            lambda p: _terms(p).sum(min(1, p.ndim - 1))
        ),
    },
    otherwise="Each weight above 0 adds −p log p, and a weight of 0 adds nothing.",
)
def entropy_of(p: np.ndarray) -> np.ndarray:
    """−Σ p log p along the last axis, with 0 log 0 = 0."""
    return reference.entropy(p)


_LOG3 = float(np.log(3))
_X = np.log([1.0, 2, 3])
