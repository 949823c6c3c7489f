"""Exercises 2.1 to 2.4: softmax, its logarithm, the soft maximum, entropy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tformer import reference
from tformer.exercises import say
from tformer.exercises.answer import Answer, Mistakes, Wrong
from tformer.exercises.registry import Test, exercise
from tformer.exercises.samples import integers
from tformer.exercises.table import Case, case


def _scores() -> Iterator[Case | Test]:
    yield case(x=_X, axis=-1, want=(1 / 6, 1 / 3, 1 / 2))
    for axis in (-1, 0):
        yield case(x=np.array([[0.0, _LOG3], [0, 0]]), axis=axis)
    yield case(x=np.array([1000.0, 1000]), axis=-1, want=(0.5, 0.5))
    none = "A score of −∞ has weight 0."
    yield case(x=np.array([0, -np.inf]), axis=-1, want=(1, 0), why=none)
    for high, low in (800.0, 0.0), (1000.0, 999.0), (5000.0, 0.0), (-2000.0, -np.inf):
        yield case(x=np.array([high, low]), axis=-1, why=none if low == -np.inf else "")
    yield case(x=np.array([[0.0, 0], [-1000, -1000]]), axis=-1, want=np.full((2, 2), 0.5))
    for axis, shape in (0, (2, 3, 2)), (1, (2, 3, 2)), (2, (2, 3, 2)), (-2, (3, 1, 4)), (1, (3, 2)):
        yield case(x=integers(axis + 5, shape), axis=axis)
    yield case(x=np.array([[0.0, 1], [3, 1]]), axis=-1, whole=True)
    yield partial(check_single, axis=-1)


def _divided(terms: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.asarray(terms / total)


def _shifted(x: np.ndarray, axis: int, shift: np.ndarray | float) -> np.ndarray:
    """The softmax of scores from which `shift` was subtracted."""
    terms = np.exp(x - shift)
    return np.asarray(terms / terms.sum(axis=axis, keepdims=True))


def _kept(x: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(np.exp(x - x.max(axis=axis, keepdims=True)))


_LAID = "of each row {} laid along the columns. Keep the axis with keepdims=True."


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
        f"The numbers {_LAID.format('were')}": lambda x, axis: _divided(
            np.exp(x - x.max(axis=axis)), np.exp(x - x.max(axis=axis)).sum(axis=axis)
        ),
        f"The maximum {_LAID.format('was')}": lambda x, axis: _shifted(x, axis, x.max(axis=axis)),
        f"The sum {_LAID.format('was')}": lambda x, axis: _divided(
            _kept(x, axis), _kept(x, axis).sum(axis=axis)
        ),
        f"The total {_LAID.format('was')}": lambda x, axis: np.exp(x) / np.exp(x).sum(axis=axis),
        "exp(1000) is more than a float64 can hold, and ∞/∞ is nan. Subtract the largest score "
        "first.": lambda x, axis: _shifted(x, axis, 0.0),
        "x holds a −∞, so its mean is −∞, and so is its smallest score. Neither can serve "
        "as the shift; the largest score can.": (
            lambda x, axis: _shifted(x, axis, x.mean(axis=axis, keepdims=True))
        ),
        "You subtracted the smallest score: then the largest difference overflows, and ∞/∞ is "
        "nan.": lambda x, axis: _shifted(x, axis, x[np.isfinite(x)].min()),
        "The scores are cut off at a height, so that those beyond it become equal. Subtract the "
        "largest one instead.": lambda x, axis: _shifted(np.clip(x, -700, 700), axis, 0.0),
        "One maximum for the whole array pushes the lower row so far down that all its "
        "exponentials are 0. Each row needs its own shift.": (
            lambda x, axis: _shifted(x, axis, x.max())
        ),
    },
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


@exercise(
    "2.2",
    praise="The logarithms stay finite where the weights themselves have long become 0, and rows "
    "keep to themselves.",
    hints=(
        "With scores (0, 1000) the first weight is e⁻¹⁰⁰⁰, which a float64 rounds to 0. Its "
        "logarithm is −1000, a harmless number. Avoid the detour.",
        "Take the logarithm of the formula for p_i on paper. A quotient becomes a difference.",
        "What remains is the shifted score minus the logarithm of a sum of exponentials, none of "
        "which exceeds 1.",
    ),
)
def log_softmax_along(f: Answer) -> None:
    """log softmax along the last axis without forming the softmax."""
    shifted = _X - _X.max()
    mistakes = {
        "That is the softmax; its logarithm is asked for.": np.exp(_X) / 6,
        "The shifted scores are only half of it: the logarithm of their sum of exponentials is "
        "missing.": shifted,
        "The sign is turned round: logarithms of weights are never positive.": np.log(6) - _X,
        "You subtracted the sum; subtract its logarithm.": shifted - np.exp(shifted).sum(),
    }
    f.expect(_X - np.log(6), mistakes, x=_X)
    far = {
        "exp(1000) is more than a float64 can hold, so the sum is ∞. Subtract the largest score "
        "first.": (-np.inf, -np.inf),
        "You took the logarithm of a weight that had been rounded to 0. Never form the weight: "
        "work with the exponents.": (-np.inf, 0),
        "exp(1000) overflows. Subtract the largest score first.": (-np.inf, np.nan),
    }
    _check_floor(f, far, np.array([0.0, 1000]))
    half = np.log([0.5, 0.5])
    f.expect(half, _OVERFLOW | _INFINITE, x=np.array([1000.0, 1000]))
    f.expect(half, why=_UNDERFLOW, x=np.array([-1000.0, -1000]))
    f.expect(
        (0, -np.inf), why="A score of −∞ has weight 0, and log 0 = −∞.", x=np.array([0, -np.inf])
    )
    for x in integers(1, (2, 2)), integers(2, (2, 2, 3)), 500 * integers(3, (3, 2)):
        one_sum = {"You summed over the whole array; each row has its own sum.": _flat(x)}
        f.expect(reference.log_softmax(x), one_sum, x=x)


def _check_floor(f: Answer, mistakes: Mistakes, x: np.ndarray) -> None:
    """Scores (0, 1000): a floor is blamed only if the first logarithm is too high and finite."""
    got, why = f.array(x=x), "Work with the exponents."
    if got.shape == (2,) and -1000 < got[0] < 0 and abs(got[1]) < 1e-3:
        why = f"A small number inside the logarithm puts a floor under every answer. {why}"
    f.judge(got, (-1000.0, 0.0), mistakes, why, f.said(x=x))


def _flat(x: np.ndarray) -> np.ndarray:
    return np.asarray(reference.log_softmax(x.ravel()).reshape(x.shape))


@exercise(
    "2.3",
    praise="It lies between the maximum and the maximum + (log n)/β, for small and large β, for "
    "scores of ±1000 and for a row that holds nothing but −∞.",
    hints=(
        "The scores are multiplied by β before the exponential. What undoes that at the end?",
        "Take the largest score out of the sum: Σ e^{βx} = e^{βm} Σ e^{β(x−m)}. What becomes of "
        "the first factor under the logarithm, and after the division by β?",
        "If every score is −∞, then so is the maximum, and −∞ − (−∞) is nan. Shift by 0 there.",
    ),
)
def soft_maximum(f: Answer) -> None:
    """(1/β) log Σ exp(βx) along the last axis."""
    f.expect(np.log(2), {"The logarithm is missing.": 2.0}, x=np.zeros(2), beta=1.0)
    x = np.array([0.0, _LOG3])
    mistakes = {
        "β multiplies the scores inside; divide by it outside.": np.log(10),
        "β is left out.": np.log(4),
        "You took the mean of the exponentials; the soft maximum adds them.": np.log(5) / 2,
        "The maximum that was subtracted has to be added again.": np.log(10 / 9) / 2,
        "You multiplied the maximum by β when you put it back, though the sum was divided by β "
        "already.": 2 * _LOG3 + np.log(10 / 9) / 2,
        "β acts inside on the scores, outside by division: here it is the other way round.": 2
        * np.log(1 + np.sqrt(3)),
        "You shifted by the maximum of x and added the maximum back before the division by β.": (
            _LOG3 + np.log(10 / 9)
        )
        / 2,
    }
    f.expect(np.log(10) / 2, mistakes, x=x, beta=2.0)
    f.expect(1000 + np.log(2), _OVERFLOW | _INFINITE, x=np.array([1000.0, 1000]), beta=1.0)
    f.expect(-1000 + np.log(2), why=_UNDERFLOW, x=np.array([-1000.0, -1000]), beta=1.0)
    f.expect(2.0, why="For large β it is the maximum.", x=np.array([1.0, 2]), beta=1000.0)
    nothing = {"−∞ − (−∞) is nan. With nothing to add up the soft maximum is −∞.": np.nan}
    f.expect(-np.inf, nothing, x=np.full(2, -np.inf), beta=1.0)
    for x in integers(4, (2, 2)), integers(5, (2, 2, 3)):
        want = reference.logsumexp(x, beta=0.5)
        all_of_it = {
            "You summed over the whole array; each row has its own.": reference.logsumexp(
                x.ravel(), beta=0.5
            )
        }
        f.expect(want, all_of_it, x=x, beta=0.5)


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
_OVERFLOW = {
    "exp(1000) is more than a float64 can hold, and ∞/∞ is nan. Subtract the largest score "
    "first.": (np.nan, np.nan)
}
_INFINITE = {
    "exp(1000) is more than a float64 can hold. Subtract the largest score first.": np.inf,
    "exp(1000) is too large for a float64. Subtract the largest score first.": (-np.inf, -np.inf),
}
_UNDERFLOW = "exp(−1000) is rounded to 0, and its logarithm is −∞. Subtract the largest score."
