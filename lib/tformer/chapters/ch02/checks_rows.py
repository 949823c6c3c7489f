"""Exercises 2.1, 2.2, 2.5 and 2.6: a softmax, its logarithm, hidden keys, a repair."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tformer import reference
from tformer.exercises import kinds
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.describe import show
from tformer.exercises.registry import Test, exercise
from tformer.exercises.samples import integers
from tformer.exercises.softmaxes import MASK_MUTANTS, measured_from, visible
from tformer.exercises.table import Case, Function, case

Array = np.ndarray
_SCORES = np.log([1.0, 2, 3])


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
    yield case(x=[[0.0, 1], [3, 1]], axis=-1, whole=True)
    yield partial(check_single, axis=-1)


def _kept(x: Array, axis: int) -> Array:
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
def softmax_along(x: Array, axis: int) -> Array:
    """Shifted softmax along any axis."""
    return reference.softmax(x, axis=axis)


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
    yield case(x=[[0.0, 1], [3, 1]], whole=True)


def _top(x: Array) -> Array:
    return np.asarray(x.max(axis=-1, keepdims=True))


def _log_sum(x: Array, shift: Array | float = 0.0) -> Array:
    """log Σ exp(x − shift) along the last axis, which is kept."""
    return np.asarray(np.log(np.exp(x - shift).sum(axis=-1, keepdims=True)))


class Logarithms(kinds.Array):
    """Logarithms of weights, which a small number added to the weights keeps from falling."""

    def remark(self, got: Array, want: Array) -> str:
        """Say that the logarithms end at a floor."""
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
    mutants={
        "That is the softmax; its logarithm is asked for.": reference.softmax,
        "The shifted scores are only half of it: the logarithm of their sum of exponentials is "
        "missing.": lambda x: x - _top(x),
        "The sign is turned round: logarithms of weights are never positive.": (
            lambda x: -reference.log_softmax(x)
        ),
        "You subtracted the sum; subtract its logarithm.": (
            lambda x: x - _top(x) - np.exp(x - _top(x)).sum(-1, keepdims=True)
        ),
        "The logarithm is the natural one; you took the one to base 2.": (
            lambda x: reference.log_softmax(x) / np.log(2)
        ),
        "The maximum was subtracted in the sum and not from the score.": (
            lambda x: x - _log_sum(x, _top(x))
        ),
        "The maximum was subtracted from the score and not in the sum.": (
            lambda x: x - _top(x) - _log_sum(x)
        ),
        "exp(1000) is more than a float64 can hold, so the sum is ∞. Subtract the largest score "
        "first.": lambda x: x - _log_sum(x),
        "You took the logarithm of a weight that had been rounded to 0. Never form the weight: "
        "work with the exponents.": lambda x: np.log(reference.softmax(x)),
        "exp(1000) overflows. Subtract the largest score first.": (
            lambda x: np.log(np.exp(x) / np.exp(x).sum(-1, keepdims=True))
        ),
        "The logarithms are shifted by the mean, and the largest difference still overflows.": (
            lambda x: x - x.mean(-1, keepdims=True) - _log_sum(x, x.mean(-1, keepdims=True))
        ),
        "One maximum for the whole array pushes the lower row so far down that its sum is 0. Each "
        "row needs its own shift.": lambda x: x - x.max() - _log_sum(x, x.max()),
        "You summed over the whole array; each row has its own sum.": (
            lambda x: reference.log_softmax(x.ravel()).reshape(x.shape)
        ),
        "The columns share a sum here; the entries of a row should.": (
            lambda x: (
                reference.log_softmax(np.moveaxis(x, 0, -1)).swapaxes(0, -1)
                if x.ndim == 2
                else np.moveaxis(reference.log_softmax(np.moveaxis(x, 0, -1)), -1, 0)
            )
        ),
        f"The maximum {LAID.format('was')}": lambda x: x - x.max(-1) - _log_sum(x, x.max(-1)),
        f"The logarithm of the sum {LAID.format('was')}": lambda x: (
            x - _top(x) - np.log(np.exp(x - _top(x)).sum(-1))
        ),
    },
    otherwise="It is the score minus the logarithm of the sum of the exponentials of its row.",
)
def log_softmax_along(x: Array) -> Array:
    """log softmax along the last axis without forming the softmax."""
    return reference.log_softmax(x)


def _masked_rows() -> Iterator[Case]:
    yield case(x=np.log([1.0, 3, 4]), keep=np.array([True, True, False]), want=(1 / 4, 3 / 4, 0))
    yield case(x=[1.0, 2], keep=np.zeros(2, dtype=bool), want=(0.0, 0.0))
    one = np.array([True, False])
    for seen, hidden in (0.0, 1000.0), (0.0, 2e10), (-2000.0, 1e300), (0.0, -1000.0):
        yield case(x=[seen, hidden], keep=one, want=(1.0, 0.0))
    for far in -1e10, -1e300:
        why = "No number is so low that it serves as −∞: a visible score can lie lower still."
        yield case(x=[far, 5.0], keep=one, want=(1.0, 0.0), why=why)
    for x in (1000.0, 1000, 0), (0, -np.inf, 0):
        yield case(x=np.array(x), keep=np.array([True, True, False]))
    causal = np.tri(3, dtype=bool)
    yield case(x=np.zeros((3, 3)), keep=causal, want=causal / np.array([[1.0], [2], [3]]))
    keep = np.array([[True, True, False], 3 * [False]])
    yield case(x=np.log([[1.0, 3.0, 4.0], [2.0, 5.0, 1.0]]), keep=keep)
    yield case(x=[[0.0, 0], [-1000, -1000]], keep=np.ones((2, 2), dtype=bool))
    broadcast = "A mask of fewer axes serves every batch."
    shapes = ((2, 3),) * 3 + ((3,), (2, 1, 3), (2, 1), (1, 3), (2, 2, 3))
    for seed, shape in enumerate(shapes):
        keep = np.random.default_rng(seed + 9).uniform(size=shape) > 0.4
        yield case(x=integers(seed, (2, 2, 3)), keep=keep, why=broadcast)
    yield case(x=[[0.0, 1, 3]], keep=np.array([True, False, True]), whole=True)


@exercise(
    "2.5",
    praise="Hidden keys have weight 0 however large their scores, visible ones sum to 1 however "
    "small theirs, masks of fewer axes serve every batch, and a fully masked row is zero.",
    hints=(
        "A hidden key should have the weight 0. Which score gives exactly that weight?",
        "Set hidden scores to −∞ before anything else, so that neither the maximum nor the sum "
        "sees them.",
        "In a row that is all −∞ the maximum is −∞ and the sum 0. Replace that maximum by 0 before "
        "you subtract and that sum by 1 before you divide.",
    ),
    cases=_masked_rows,
    mutants={
        "A score of 0 still has e⁰ = 1 in the sum, and it was set to 0 only after that.": (
            lambda x, keep: reference.softmax(visible(x, keep, 0.0)) * keep
        ),
        "The hidden keys are left out; each keeps its place, with the weight 0.": (
            lambda x, keep: reference.softmax(x[np.broadcast_to(keep, x.shape)])
        ),
        "Only when the whole mask is False are the weights 0; one fully masked row among others is "
        "nan.": lambda x, keep: np.where(keep.any(), measured_from(visible(x, keep)), 0.0),
        "The exponentials of the visible keys are not divided by their sum.": (
            lambda x, keep: np.where(keep, np.exp(x), 0.0)
        ),
        "The whole array shares one sum; each row has its own.": lambda x, keep: np.nan_to_num(
            reference.softmax(visible(x, keep).ravel()).reshape(x.shape)
        ),
    }
    | MASK_MUTANTS,
    otherwise="The visible keys of a row share its weight as in a softmax of their own.",
)
def masked_softmax(x: Array, keep: Array) -> Array:
    """Softmax over the keys that `keep` allows; zeros where it allows none."""
    return reference.softmax(visible(x, keep))


def _broken_rows() -> Iterator[Case | Test]:
    yield case(x=[0.0, np.log(4)], beta=2.0, want=(1 / 17, 16 / 17))
    row = "Each row should sum to 1."
    yield case(x=np.log([[1.0, 3.0, 4.0], [1.0, 1.0, 2.0]]), beta=1.0, why=row)
    yield case(x=[[0.0, np.log(3)], [0, 0]], beta=1.0, why=row)
    overflow = "exp(1000) overflows: keep the shift."
    for x in (1000.0, 1000.0), (20_000.0, 20_000.0), (1000.0, 999.0):
        yield case(x=np.array(x), beta=1.0, why=overflow)
    yield case(x=[500.0, 499], beta=20.0, why=overflow)
    underflow = "Without a shift exp(−1000) is rounded to 0, and 0/0 is nan."
    for x in (-1000.0, -1000.0), (-20_000.0, -20_001.0):
        yield case(x=np.array(x), beta=1.0, why=underflow)
    for x in (5000.0, 0.0), (-2000.0, -np.inf), (0.0, -800.0):
        yield case(x=np.array(x), beta=1.0, want=(1.0, 0.0))
    yield case(x=[[0.0, 0], [-1000, -1000]], beta=1.0, want=np.full((2, 2), 0.5))
    yield partial(check_single, beta=1.0)
    for seed, shape in enumerate([(2, 2, 3), (2, 3, 2), (3, 1, 4), (4, 1), (3, 2)]):
        yield case(x=integers(seed, shape), beta=0.5)
    yield case(x=[[0.0, 1], [3, 1]], beta=2.0, whole=True)


def _shifted(x: Array, beta: float, shift: Array | float) -> Array:
    return measured_from(beta * (x - shift), 0.0)


def _summed(**how: Any) -> Function:
    """Return a repair with its sums along another axis, or laid along another."""

    def weights(x: Array, beta: float) -> Array:
        terms = np.exp(beta * (x - _top(x)))
        return np.asarray(terms / terms.sum(**how))

    return weights


@exercise(
    "2.6",
    praise="All five faults are gone: the caller's array, the shift, the inverse temperature, the "
    "axis and the denominator.",
    hints=(
        "Try it on small inputs: two scores with β = 2, two rows that differ, one single score. "
        "Look at the array you passed in, afterwards.",
        "`x -= …` changes the array that the caller still holds; `x = x − …` makes a new one. "
        "`x.max()` and `axis=0` both look in the wrong place.",
        "β is an inverse temperature: a large β makes the weights sharp. And after the shift, how "
        "small can the sum be?",
    ),
    cases=_broken_rows,
    mutants={
        "β divides the scores; an inverse temperature multiplies them.": (
            lambda x, beta: reference.softmax(x / beta)
        ),
        "β has no effect.": lambda x, beta: reference.softmax(x),
        "β is applied twice.": lambda x, beta: reference.softmax(beta * beta * x),
        "β multiplies the weights; it belongs to the scores.": (
            lambda x, beta: beta * reference.softmax(x)
        ),
        "The weights are raised to the power β, and then they no longer sum to 1.": (
            lambda x, beta: reference.softmax(x) ** beta
        ),
        "The sum runs over the whole array; the maximum is that of each row, and so should the sum "
        "be.": _summed(),
        "The maxima of the columns are subtracted, and they change the differences in a row.": (
            lambda x, beta: _shifted(x, beta, x.max(axis=0))
        ),
        "The exponentials are not divided by their sum.": (
            lambda x, beta: np.exp(beta * (x - _top(x)))
        ),
        "The columns sum to 1 instead of the rows: the sum still runs along axis 0.": (
            lambda x, beta: reference.softmax(beta * x, axis=0)
        ),
        "The columns sum to 1 instead of the rows: each row is shifted by its own maximum, and the "
        "sum still runs down.": _summed(axis=0),
        "The right axis is summed, but without keepdims the sums are lined up with the columns.": (
            _summed(axis=-1)
        ),
        "The right axis is summed, but without keepdims, and without the shift.": (
            lambda x, beta: np.exp(beta * x) / np.exp(beta * x).sum(axis=-1)
        ),
        "The maximum is taken along the right axis, but without keepdims it is lined up with the "
        "columns.": lambda x, beta: _shifted(x, beta, x.max(axis=-1)),
        "The sum runs over the whole array; each row has its own.": (
            lambda x, beta: reference.softmax(beta * x.ravel()).reshape(x.shape)
        ),
        "The shift is gone, and exp(1000) is more than a float64 can hold. It is the wrong maximum "
        "that was the fault.": lambda x, beta: _shifted(x, beta, 0.0),
        "The scores are shifted by their mean, and a score far above it still overflows. The "
        "largest score is the shift.": (
            lambda x, beta: _shifted(x, beta, x.mean(axis=-1, keepdims=True))
        ),
        "The smallest score is the shift, and the largest difference overflows.": (
            lambda x, beta: _shifted(x, beta, x.min(axis=-1, keepdims=True))
        ),
        "The scores are cut off at a height, so that those beyond it become equal.": (
            lambda x, beta: _shifted(np.clip(x, -700, 700), beta, 0.0)
        ),
        "The maximum is subtracted after the scores were multiplied by β, and not multiplied "
        "itself: with β = 20 the difference overflows.": (
            lambda x, beta: measured_from(beta * x, _top(x))
        ),
        "One maximum for the whole array pushes the lower row so far down that all its "
        "exponentials are 0. Each row needs its own shift.": (
            lambda x, beta: _shifted(x, beta, x.max())
        ),
    },
    otherwise="What should be left is the softmax of β times the scores, row by row.",
)
def repaired(x: Array, beta: float) -> Array:
    """A softmax with five faults, without them."""
    return reference.softmax(x, beta=beta)
