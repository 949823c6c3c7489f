"""Exercises 2.1 and 2.2: a softmax, and its logarithm."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.exercises import kinds
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.describe import show
from tformer_book.exercises.registry import Test, exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray
_SCORES = np.log([1.0, 2, 3])
WHOLE = (
    "The scores are integers here. An array made after them, by `zeros_like` for instance, holds "
    "whole numbers only."
)


def _scores() -> Iterator[Case | Test]:
    yield case(x=_SCORES, axis=-1, want=(1 / 6, 1 / 3, 1 / 2))
    for axis in (-1, 0):
        yield case(x=[[0.0, np.log(3)], [0, 0]], axis=axis)
    far = "Its exponentials are all ∞, or all 0: a common shift keeps the ratios, and nothing else."
    yield case(x=[1000.0, 1000], axis=-1, want=(0.5, 0.5), why=far)
    none = "A score of −∞ has weight 0."
    yield case(x=[0, -np.inf], axis=-1, want=(1, 0), why=none)
    for high, low in (800.0, 0.0), (1000.0, 999.0), (5000.0, 0.0), (-2000.0, -np.inf):
        yield case(x=[high, low], axis=-1, why=none if low == -np.inf else far)
    for high in 20_000.0, -20_000.0:
        yield case(x=[high, high - 1], axis=-1, why=far)
    yield case(x=[[0.0, 0], [-1000, -1000]], axis=-1, want=np.full((2, 2), 0.5))
    for axis, shape in (0, (2, 3, 2)), (1, (2, 3, 2)), (2, (2, 3, 2)), (-2, (3, 1, 4)), (1, (3, 2)):
        yield case(x=integers(axis + 5, shape), axis=axis)
    lowest = [-20_000.0, -20_000, -np.inf]
    yield case(x=lowest, axis=-1, want=(0.5, 0.5, 0), why=f"{none} No number serves as −∞.")
    yield case(x=[20_000, 20_000.001], axis=-1, why="High up, small differences count as well.")
    yield case(x=[[0.0, 1], [3, 1]], axis=-1, whole=True, why=WHOLE)
    bits = "Whole numbers may be larger than 32 767, the largest that 16 bits hold."
    yield case(x=[[40_000.0, 0], [0, 33_000]], axis=-1, want=np.eye(2), whole=True, why=bits)
    for small in (-5.0, -7.0, -9.5, -11.5, -14.0):
        yield case(x=[0.0, small], axis=-1, why="A small weight is a weight.")
    apart = "Whole numbers may be as large as a million, and one more counts there too."
    yield case(x=[[1e6, 1e6 - 1], [-1e6, 1e6]], axis=-1, whole=True, why=apart)
    yield case(x=integers(1, (2, 3, 1, 2, 2)) / 3, axis=2)
    yield partial(check_single, axis=-1)
    yield partial(check_default, x=np.array([[0.0, 1], [3, 1]]))


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
    slips="""
        = np.exp(x)
            The exponentials are not divided by their sum.
        / terms.sum(axis=axis, keepdims=True) →
            The shifted exponentials are not divided by their sum.
        = x / x.sum(axis=axis, keepdims=True)
            The scores are divided by their sum; their exponentials should be.
        x.max(axis=axis, keepdims=True) → x.max()
        terms.sum(axis=axis, keepdims=True) → terms.sum()
            You divided by the sum over the whole array: each row, or column, along the axis has a
            sum of its own.
        = softmax_along(x, (-1 - axis) % x.ndim)
            That is the softmax along the other axis.
        x.max(axis=axis → x.max(axis=-1 ;; terms.sum(axis=axis → terms.sum(axis=-1
            The weights sum to 1 along the last axis, whatever axis was asked for.
        x.max(axis=axis → x.max(axis=-1
            The maximum is taken along the last axis and the sum along `axis`: both belong to one
            axis.
        x.max(axis=axis, keepdims=True) → x.max(axis=axis)
        terms.sum(axis=axis, keepdims=True) → terms.sum(axis=axis)
            The numbers of each row were laid along the columns. Keep the axis with keepdims=True.
        x.max(axis=axis, keepdims=True) → x.max(axis=axis)
            The maximum of each row was laid along the columns. Keep the axis with keepdims=True.
        terms.sum(axis=axis, keepdims=True) → terms.sum(axis=axis)
            The sum of each row was laid along the columns. Keep the axis with keepdims=True.
        - x.max(axis=axis, keepdims=True) →
        terms.sum(axis=axis, keepdims=True) → terms.sum(axis=axis)
            The total of each row was laid along the columns. Keep the axis with keepdims=True.
        - x.max(axis=axis, keepdims=True) →
            exp(1000) is more than a float64 can hold, and ∞/∞ is nan. Subtract the largest score
            first.
        x.max → x.mean
            The mean cannot serve as the shift: a score far above it overflows, and a −∞ makes it
            −∞. The largest score can.
        x.max → abs(x).max
            The shift is the largest magnitude: far below 0 it is too high, and with a −∞ it is ∞.
            The largest score can serve.
        x.max(axis=axis → x.max(initial=0, axis=axis
            The shift never falls below 0, and scores far below 0 lose all their exponentials. Start
            at no number at all.
        x.max(axis=axis, keepdims=True) → x[np.isfinite(x)].min()
            You subtracted the smallest score: then the largest difference overflows, and ∞/∞ is
            nan.
        np.exp → np.exp2
            You took powers of 2; each weight is a power of e, divided by their sum.
        x - x.max(axis=axis, keepdims=True) → np.clip(x, -700, 700)
            The scores are cut off at a height, so that those beyond it become equal. Subtract the
            largest one instead.
        x.max(axis=axis, keepdims=True) → x.max()
            One maximum for the whole array pushes the lower row so far down that all its
            exponentials are 0. Each row needs its own shift.
        = softmax_along(np.nan_to_num(x, neginf=-1e4), axis)
            −∞ was replaced by a number, and finite scores may lie below it: then it takes the
            weight.
        terms.sum(axis=axis, keepdims=True) → ($ + 1e-6)
            A number is added to the denominator, and the weights no longer sum to 1.
        terms / terms.sum(axis=axis, keepdims=True) → (w := $) * (w > 1e-4)
            Small weights became 0; e to any finite number is above 0.
        = softmax_along(np.floor(x), axis)
            The scores were cut to whole numbers.
        = np.moveaxis(softmax_along(x, axis), axis, -1)
            The axis of the sum was moved to the end, and is still there.
    """,
    otherwise="Along the axis, each weight is e to the power of its score over the sum of these.",
)
def softmax_along(x: Array, axis: int) -> Array:
    """Shifted softmax along any axis."""
    terms = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(terms / terms.sum(axis=axis, keepdims=True))


def check_default(f: Answer, **inputs: Any) -> None:
    """Call the answer without its last argument, if it can be; rows of the last axis sum to 1."""
    try:
        inspect.signature(f.function).bind(*inputs.values())
    except (TypeError, ValueError):
        return
    f.expect(
        reference.softmax(inputs["x"]),
        "The last argument was left out here: keep the number that the template gives it.",
        **inputs,
    )


def check_single(f: Answer, **more: Any) -> None:
    """One score: its weight is 1, exactly."""
    got = f.expect(np.ones(1), x=np.zeros(1), **more)
    if abs(got[0] - 1) > 1e-15:
        raise Wrong(
            f"With the single score x = (0,), {f.name} gives a weight of {show(got[0], 13)}; "
            "weights sum to 1. After the shift the sum is at least 1, so nothing has to be added "
            "to the denominator."
        )


def _logarithms() -> Iterator[Case]:
    yield case(x=_SCORES, want=_SCORES - np.log(6))
    yield case(x=[0.0, 1000], want=(-1000.0, 0.0))
    yield case(x=[1000.0, 1000], want=np.log([0.5, 0.5]))
    under = "exp(−1000) is rounded to 0, and its logarithm is −∞. Subtract the largest score."
    yield case(x=[-1000.0, -1000], want=np.log([0.5, 0.5]), why=under)
    none = "A score of −∞ has weight 0, and log 0 = −∞."
    for x in (0.0, -np.inf), (-2000.0, -np.inf):
        yield case(x=np.array(x), want=(0, -np.inf), why=none)
    some: list[tuple[float, ...]] = [(5000, 0), (20_000, 19_999), (-20_000, -20_001), (0,)]
    for row in (*some, (30, 0, -8)):
        yield case(x=[*row])
    rounded = "The weight is rounded to 0, or nearly, and its logarithm is not."
    for low in 0.0, 255.0, 260.0:
        yield case(x=[low, 1000, 1000], why=rounded)
    yield case(x=[[0.0, 0], [-1000, -1000]], want=np.full((2, 2), np.log(0.5)))
    for seed, shape in enumerate([(2, 2), (2, 3), (2, 2, 3), (2, 3, 2), (3, 1, 4), (4, 1)]):
        yield case(x=integers(seed + 1, shape))
    yield case(x=500 * integers(3, (3, 2)))
    yield case(x=[-20_000.0, -20_000, -np.inf], want=(*np.log([0.5, 0.5]), -np.inf), why=none)
    yield case(x=[20_000, 20_000.001], why="High up, small differences count as well.")
    yield case(x=integers(4, (2, 1, 2, 3)) / 3)
    yield case(x=[[0.0, 1], [3, 1]], whole=True, why=WHOLE)


class Logarithms(kinds.Array):
    """Logarithms of weights, which a small number added to the weights keeps from falling."""

    def remark(self, got: Array, want: Array) -> str:
        """Say that the logarithms end at a floor."""
        if got.shape == want.shape and (np.isneginf(want) & np.isfinite(got)).any():
            return "−∞ was replaced by a number, or cut off at one: a score of −∞ gives −∞."
        if got.shape != want.shape or not np.isfinite(got).all() or not (got > want - 1e-3).all():
            return super().remark(got, want)
        low = want < -100
        above = np.allclose(got[~low], want[~low], atol=1e-3) and (got[low] > want[low] + 5).all()
        if low.any() and above:
            return (
                "A small number inside the logarithm puts a floor under every answer. Work with "
                "the exponents."
            )
        return super().remark(got, want)


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
    cases=_logarithms,
    kind=Logarithms(),
    slips="""
        np.asarray → np.exp
            That is the softmax; its logarithm is asked for.
        - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)) →
            The shifted scores are only half of it: the logarithm of their sum of exponentials is
            missing.
        np.asarray → np.negative
            The sign is reversed: logarithms of weights are never positive.
        np.log( → (
            You subtracted the sum; subtract its logarithm.
        = log_softmax_along(x) / np.log(2)
            The logarithm is the natural one; you took the one to base 2.
        np.log( → np.log2(
            The logarithm of the sum is the one to base 2; the scores are those of the natural one.
        shifted - → x -
            The maximum was subtracted in the sum and not from the score.
        np.exp(shifted).sum → np.exp(shifted).mean
            You took the logarithm of the mean of the exponentials; it is that of their sum.
        np.exp(shifted) → np.exp(x)
            The maximum was subtracted from the score and not in the sum.
        - x.max(axis=-1, keepdims=True) →
            exp(1000) is more than a float64 can hold, so the sum is ∞. Subtract the largest score
            first.
        = np.log(np.exp(log_softmax_along(x)))
            You took the logarithm of a weight that had been rounded to 0. Never form the weight:
            work with the exponents.
        = np.log(np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True))
            exp(1000) overflows. Subtract the largest score first.
        x.max → x.mean
            The logarithms are shifted by the mean, and the largest difference still overflows.
        x.max(axis=-1, keepdims=True) → x.max()
            One maximum for the whole array pushes the lower row so far down that its sum is 0. Each
            row needs its own shift.
        = log_softmax_along(x.ravel()).reshape(x.shape)
            You summed over the whole array; each row has its own sum.
        = np.moveaxis(log_softmax_along(np.moveaxis(x, 0, -1)), -1, 0)
            The columns share a sum here; the entries of a row should.
        x.max(axis=-1, keepdims=True) → x.max(axis=-1)
            The maximum of each row was laid along the columns. Keep the axis with keepdims=True.
        .sum(axis=-1, keepdims=True) → .sum(axis=-1)
            The logarithm of the sum of each row was laid along the columns. Keep the axis with
            keepdims=True.
    """,
    otherwise="It is the score minus the logarithm of the sum of the exponentials of its row.",
)
def log_softmax_along(x: Array) -> Array:
    """log softmax along the last axis without forming the softmax."""
    shifted = x - x.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))
