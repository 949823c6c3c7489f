"""Exercises 3.5 and 3.6: a sharp lookup, and a distance in a dot product."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.exercises import kinds
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.compare import rounding
from tformer_book.exercises.describe import pair, show
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case, each

Array = np.ndarray
Parts = kinds.Parts


@dataclass(frozen=True)
class Between(kinds.Array):
    """One number between two bounds: of our own, a pair of them."""

    def read(self, f: Answer, value: Any, said: str) -> Parts:
        """Return the one number, also from an array of length one."""
        array = f.numbers(value, said)
        return (array.reshape(()) if array.size == 1 else array,)

    def same(self, got: Any, want: Any) -> bool:
        """Tell whether the number lies between the bounds, or is another number."""
        if got.shape == () and want.shape == (2,):
            off = 1e-9 + rounding(got)
            return bool(want[0] * (1 - off) <= float(got) <= want[1] * (1 + off))
        return super().same(got, want)

    def asked(self, want: Parts) -> str:
        """Say that one number is asked for, whatever our own bounds look like."""
        return "a single number"

    def form(self, got: Any, want: Any) -> str:
        """Say nothing: `remark` does."""
        return ""

    def head(self, f: Answer, got: Parts, want: Parts, said: str, place: int) -> str:
        """Say what β should be, and why."""
        low, high = (show(bound) for bound in want[0])
        return (
            f"With {said}, {f.name} gives β = {pair(got[0], want[0][1])[0]}. The output comes "
            f"within eps of the best value at {low}, and the theorem is content with {high}."
            + _side(got[0], want[0])
        )

    def remark(self, got: Any, want: Any) -> str:
        """Say that β is no number, or not positive, or infinite."""
        if got.shape == () and abs(got) == np.inf:
            return "A margin of 0 does that: which two scores differ by yours?"
        return "" if got.shape == () and got > 0 else "β is one number above 0."


def _side(got: Array, want: Array) -> str:
    if got.shape != () or not np.isfinite(got):
        return ""
    if got < want[0]:
        return " So yours is too small, and the other keys keep too much weight."
    return " So yours is larger than it may be."


Bound = Callable[[Array, Array], float]


def _beta(
    scores: Array,
    v: Array,
    eps: float,
    far: Bound = lambda s, v: reference.norm(_away(s, v)).max(),
    count: Bound = lambda s, v: len(s) - 1,
    margin: Bound = lambda s, v: np.diff(np.sort(s)[-2:])[0],
) -> float:
    """The β of the theorem, from numbers that may be others than its own."""
    return float(np.log(count(scores, v) * far(scores, v) / eps) / margin(scores, v))


def _with_far(far: Bound, scores: Array, v: Array, eps: float) -> float:
    return _beta(scores, v, eps, far)


def _fraction(scores: Array, v: Array, eps: float) -> float:
    """What stands under the logarithm."""
    return float((len(scores) - 1) * reference.norm(_away(scores, v)).max() / eps)


def _nearest(distances: Array) -> float:
    """The distance of the nearest value that is not the best one."""
    return float(distances[distances > 0].min())


def _away(scores: Array, v: Array) -> Array:
    return np.asarray(v - v[scores.argmax()])


def _least(scores: Array, v: Array, eps: float, high: float) -> float:
    """The β at which the output comes within eps of the best value, found by halving."""
    low, best = 0.0, v[scores.argmax()]
    for _ in range(60):
        middle = (low + high) / 2
        error = reference.norm(reference.softmax(scores, beta=middle) @ v - best)
        low, high = (low, middle) if error <= eps else (middle, high)
    return high


def _lookups() -> Iterator[Case]:
    for scores, values, eps in (
        ([0.5, 2.5, 1, 0.5], [[9, 4], [3, 4], [6, 8], [3, 2]], 0.01),
        ([0, 2.5, 0.5], [[3, 4], [0, 0], [3, 4]], 0.1),
        ([0, 3, 0], [[4], [0], [3]], 0.1),
        ([0, 3, 0], [[-4], [0], [3]], 0.1),
        ([3, 2.5, -4, 2.5], [[10], [30], [30], [30]], 0.5),
        ([-8, -6], [[0.5], [0]], 0.001),
        ([1, 1, 1, 5, 1, 1], [[6], [6], [6], [2], [6], [6]], 0.01),
        ([2.5, 0.5, 0.5], [[0, 0], [3, 4], [3, 4]], 0.1),
        ([-1000, 1000, 999, 999], [[0, 1], [5, 1], [1, 4], [1, 4]], 1e-6),
        ([7, 7.01, 7, 7], [[2, 2, 2], [1, 1, 1], [2, 2, 2], [2, 2, 2]], 1e-5),
    ):
        yield case(scores=scores, v=values, eps=eps)
    yield case(scores=[4.0, 1, 3], v=[[1.0, 2], [5, 2], [1, 9]], eps=0.5, whole=True)
    yield case(scores=np.eye(8)[5], v=1 - np.eye(8)[:, 5:6], eps=0.85, why="eps may be large.")
    v = np.array([[1e3, 0, 0], [0, -1e3, 0], [0, 0, 2e-3], [0, 0, 0]])
    yield case(scores=[-1e3, 0.25, 1.0, 0.75], v=v, eps=1e-8, why="Values differ in size.")


@exercise(
    "3.5",
    praise="Each β brings the output within eps of the best key's value, and none is larger than "
    "the theorem asks for.",
    hints=(
        "The theorem bounds the distance between the output and the best value. Set its right side "
        "equal to eps.",
        "The bound needs three numbers: how many other keys there are, by how much the best score "
        "beats the second best, and how far the other values lie from the best key's value.",
        "Solve (S − 1) e^{−βΔ} R = eps for β: take logarithms on both sides.",
    ),
    cases=_lookups,
    mutants=each(
        _with_far,
        {
            "How far the other values lie from the best one matters too.": lambda s, v: 1,
            "It is the distance from the best value that counts, not the length of the values.": (
                lambda s, v: reference.norm(v).max()
            ),
            "You took the largest distance between any two values; only those from the best "
            "count.": lambda s, v: reference.norm(v[:, np.newaxis] - v).max(),
            "One norm was taken of all differences together; each value has its own distance.": (
                lambda s, v: np.linalg.norm(_away(s, v))
            ),
            "That is made of the largest difference in one coordinate; take the distance.": (
                lambda s, v: np.abs(_away(s, v)).max()
            ),
            "You took the distance of the second best key's value; another may lie farther "
            "away.": lambda s, v: reference.norm(_away(s, v))[s.argsort()[-2]],
            "The distances are measured from the first value; the best key may stand elsewhere.": (
                lambda s, v: reference.norm(v - v[0]).max()
            ),
            "You took the sum of the magnitudes of a difference; take its length.": (
                lambda s, v: np.abs(_away(s, v)).sum(axis=-1).max()
            ),
            "You took the square of the distance.": (
                lambda s, v: (_away(s, v) ** 2).sum(axis=-1).max()
            ),
            "You took the distance of the nearest value. The farthest counts: the other keys may "
            "give all their weight to it.": lambda s, v: _nearest(reference.norm(_away(s, v))),
            "You added up the distances, and each key has its own in that sum already. Multiply "
            "the largest by S − 1, or take the sum alone.": (
                lambda s, v: reference.norm(_away(s, v)).sum()
            ),
        },
    )
    | {
        "Δ is the lead over the second best score, not over the worst.": partial(
            _beta, margin=lambda s, v: float(np.ptp(s))
        ),
        "Every other key may be as close as the second best: the factor S − 1 counts them.": (
            partial(_beta, count=lambda s, v: 1)
        ),
        "Δ is the lead over the second best score, not over the mean of all.": partial(
            _beta, margin=lambda s, v: s.max() - s.mean()
        ),
        "The factor before the exponential is S − 1; yours is twice as large.": partial(
            _beta, count=lambda s, v: 2 * (len(s) - 1)
        ),
        "You counted all S keys; the best one is none of the others.": partial(
            _beta, count=lambda s, v: len(s)
        ),
        "The fraction under the logarithm is upside down.": lambda *inputs: -_beta(*inputs),
        "That is a logarithm to base 2; the theorem has the natural one.": (
            lambda *inputs: _beta(*inputs) / np.log(2)
        ),
        "The logarithm is the natural one here.": lambda *inputs: _beta(*inputs) / np.log(10),
        "eps is no weight that the other keys may have; it is a distance between values.": (
            lambda s, v, eps: np.maximum(_beta(s, v, eps, lambda s, v: 1 - eps), 0)
        ),
        "The margin divides the logarithm; here it multiplies.": partial(
            _beta, margin=lambda s, v: 1 / np.diff(np.sort(s)[-2:])[0]
        ),
        "The logarithm still has to be divided by the margin.": partial(
            _beta, margin=lambda s, v: 1
        ),
        "You divided by the best score. Divide by its lead over the second best.": partial(
            _beta, margin=lambda s, v: s.max()
        ),
        "S − 2 keys are under your logarithm. All but the best one count: S − 1.": partial(
            _beta, count=lambda s, v: len(s) - 2
        ),
        "eps is missing: divide the distance by it, under the logarithm.": (
            lambda s, v, eps: _beta(s, v, 1.0)
        ),
        "The logarithm is missing. To solve for β in the exponent, take the logarithm of the "
        "fraction.": lambda s, v, eps: _fraction(s, v, eps) / np.diff(np.sort(s)[-2:])[0],
        "The factor S − 1 stands before the logarithm. It belongs under it, beside the distance.": (
            lambda s, v, eps: (len(s) - 1) * _beta(s, v, eps, count=lambda s, v: 1)
        ),
        "You made eps a share of the best value's length. It is a distance: take it as it is.": (
            lambda s, v, eps: _beta(s, v, eps * reference.norm(v[s.argmax()]))
        ),
    },
    kind=Between(),
    otherwise="Which β makes the right side of the theorem equal to eps?",
)
def beta_for_lookup(scores: Array, v: Array, eps: float) -> tuple[float, float]:
    """From and up to which β the output may be asked to be within eps of the best value."""
    high = _beta(scores, v, eps)
    return _least(scores, v, eps, high), high


@dataclass(frozen=True)
class Lift(kinds.Several):
    """Queries and keys of any width, judged by the softmax of their dot products."""

    def fit(self, f: Answer, got: Parts, want: Parts, said: str) -> None:
        """Raise Wrong unless there is a row for each place, and one number of columns."""
        (q, k), (n, m) = got, (len(part) for part in want)
        if q.ndim == k.ndim == 2 and (len(q), len(k)) == (n, m) and q.shape[1] == k.shape[1]:
            return
        sides = q.ndim == k.ndim == 2 and (q.shape[1], k.shape[1]) == (n, m)
        raise Wrong(
            f"With {said}, {f.name} returns arrays of shape {q.shape} and {k.shape}; they need a "
            f"row for each of {n} queries and {m} keys, and the same number of columns."
            + " They are transposed." * sides
            + " They have changed places." * (q.shape[:1] == (m,) and k.shape[:1] == (n,))
        )


def _lifts() -> Iterator[Case]:
    for t, x, h in (
        ([1, 4], [0, 1, 3], 0.5),
        ([1], [0, 1, 3], 1.0),
        ([-1, 0, 4], [-2, 1], 2.0),
        ([5], [4, 5, 6, 9], 0.25),
        ([100, -3], [99, 0, 2], 3.0),
        ([0, 0, -1000, 1000], [1000, -1000, 990, 990], 10.0),
        ([0, 2], [199, -200, 201], 2.0),
        ([2], [7], 1.5),
        ([0.3, -1.7, 0.25], [0.5, 0.1, -0.4, 0.1], 0.01),
        ([1e-4, 3e-4], [0, 2e-4, 5e-4], 1e-4),
    ):
        yield case(t=t, x=x, h=h)
    why = "Places may be whole numbers; an array of their type cuts whatever is written into it."
    yield case(t=[3.0, -2], x=[1.0, 4, 2], h=2, whole=True, why=why)


def _weights(scores: Array) -> Array:
    terms = np.exp(scores)
    return np.asarray(terms / terms.sum(axis=-1, keepdims=True))


@exercise(
    "3.6",
    praise="The softmax of your dot products gives the weights of the Gaussian kernel, for places "
    "near and far and for every width of the kernel.",
    hints=(
        "Write out the square in the exponent. One of the three terms is the same for all keys. "
        "What does softmax do with such a term?",
        "Of the two terms that matter, one is a product of the places and the other depends on the "
        "key alone. A dot product of vectors of width two has two terms.",
        "A key can carry a second coordinate, −x²/(2h²), if every query carries a 1 to meet it.",
    ),
    cases=_lifts,
    slips="""
        -((t - x) ** 2) / (2 * h**2) → t * x / h**2
            Those are the weights of the kernel exp(tx/h²). Far places have long keys, and win by
            their length: the term −x²/(2h²) is missing.
        / (2 * h**2) → / h**2
            The 2 in the exponent is missing: Gaussians divide by 2h².
        / (2 * h**2) → / (2 * h)
            h enters as its square.
        / (2 * h**2) → / 2
            h has no effect.
        / (2 * h**2) → * h**2 / 2
            h² divides the squared distance; here it multiplies.
        -((t - x) ** 2) → (t - x) ** 2
            The nearest places have the smallest weights: a sign is reversed.
        -((t - x) ** 2) / (2 * h**2) → (t * x + x**2 / 2) / h**2
            Your term in x² has the wrong sign.
        -((t - x) ** 2) / (2 * h**2) → (t * x - x**2) / h**2
            Your term −x²/h² is twice as large as the square asks for.
        -((t - x) ** 2) / (2 * h**2) → t * x / h**2 - x**2 / 2
            Your term in x² is not divided by h².
        -((t - x) ** 2) / (2 * h**2) → (t * x - x**2) / (2 * h**2)
            The mixed term of the square is 2tx, so it stands with tx/h² in the exponent.
        t - x → t + x
            The mixed term is reversed: that is the kernel of t + x.
        -((t - x) ** 2) / (2 * h**2) → t * x / h**2 + (t * x / h**2) ** 2 / 4
            Queries and keys both carry a square, and the two are multiplied. The term of a key
            should be the same for all queries.
        -((t - x) ** 2) / (2 * h**2) → np.exp($)
            The softmax takes the exponential; you have taken it before.
        -((t - x) ** 2) / (2 * h**2) → -np.abs(t - x) / h
            The distance itself stands in the exponent; the kernel has its square.
        / (2 * h**2) → / (np.sqrt(2) * h**2)
            The scale is 1 here; you counted on a division by √2.
        = np.exp(-(t[:, None] ** 2) / (2 * h**2)), np.exp(-(x[:, None] ** 2) / (2 * h**2))
            The softmax takes the exponential, of a sum; you have taken it of its parts before.
        -((t - x) ** 2) / (2 * h**2) → np.log(np.maximum(_weights($), 1e-300))
            The weights were made first, and then their logarithms: where all places are far, every
            exponential is rounded to 0, and 0/0 is nan.
        -((t - x) ** 2) / (2 * h**2) → np.maximum($, -700)
            Your scores end near −700, as the logarithm of a smallest number does. Where all places
            are far, it is their differences that count.
        / (2 * h**2) → // (2 * h**2)
            `//` rounds down; divide by `/`.
    """,
    kind=Lift(
        by=lambda q, k: reference.softmax(q.astype(float) @ k.astype(float).T),
        called="the softmax of your q kᵀ",
        names=("queries", "keys"),
    ),
    otherwise="Compare with exp(−(t − x)²/(2h²)), each row divided by its sum.",
)
def lifted(t: Array, x: Array, h: float) -> Parts:
    """Queries and keys whose dot products give Gaussian weights: the scores, and one-hot keys."""
    t = t[:, np.newaxis]
    return -((t - x) ** 2) / (2 * h**2), np.eye(len(x))
