"""Exercise 2.2: the logarithm of a softmax."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer.chapters.ch02.checks_weights import LAID
from tformer.exercises.kinds import Array
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.table import Case, case

_SCORES = np.log([1.0, 2, 3])


def _logarithms() -> Iterator[Case]:
    yield case(x=_SCORES, want=_SCORES - np.log(6))
    yield case(x=np.array([0.0, 1000]), want=(-1000.0, 0.0))
    yield case(x=np.array([1000.0, 1000]), want=np.log([0.5, 0.5]))
    under = "exp(−1000) is rounded to 0, and its logarithm is −∞. Subtract the largest score."
    yield case(x=np.array([-1000.0, -1000]), want=np.log([0.5, 0.5]), why=under)
    none = "A score of −∞ has weight 0, and log 0 = −∞."
    for x in (0.0, -np.inf), (-2000.0, -np.inf):
        yield case(x=np.array(x), want=(0, -np.inf), why=none)
    for scores in (
        [5000.0, 0.0],
        [20_000.0, 19_999.0],
        [-20_000.0, -20_001.0],
        [0.0],
        [30.0, 0.0, -8],
    ):
        yield case(x=np.array(scores))
    rounded = "The weight is rounded to 0, or nearly, and its logarithm is not."
    for low in 0.0, 255.0, 260.0:
        yield case(x=np.array([low, 1000, 1000]), why=rounded)
    yield case(x=np.array([[0.0, 0], [-1000, -1000]]), want=np.full((2, 2), np.log(0.5)))
    for seed, shape in enumerate([(2, 2), (2, 3), (2, 2, 3), (2, 3, 2), (3, 1, 4), (4, 1)]):
        yield case(x=integers(seed + 1, shape))
    yield case(x=500 * integers(3, (3, 2)))
    yield case(x=np.array([[0.0, 1], [3, 1]]), whole=True)


def _top(x: np.ndarray) -> np.ndarray:
    return np.asarray(x.max(axis=-1, keepdims=True))


def _log_sum(x: np.ndarray, shift: np.ndarray | float = 0.0) -> np.ndarray:
    """log Σ exp(x − shift) along the last axis, which is kept."""
    return np.asarray(np.log(np.exp(x - shift).sum(axis=-1, keepdims=True)))


class Logarithms(Array):
    """Logarithms of weights, which a small number added to the weights keeps from falling."""

    def remark(self, got: np.ndarray, want: np.ndarray) -> str:
        """Say that the logarithms end at a floor."""
        if got.shape != want.shape or not np.isfinite(got).all() or not (got > want - 1e-3).all():
            return super().remark(got, want)
        low = want < -100
        if (
            low.any()
            and np.allclose(got[~low], want[~low], atol=1e-3)
            and (got[low] > want[low] + 5).all()
        ):
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
def log_softmax_along(x: np.ndarray) -> np.ndarray:
    """log softmax along the last axis without forming the softmax."""
    return reference.log_softmax(x)
