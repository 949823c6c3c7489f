"""Exercises 3.5 and 3.6: a sharp lookup, and a distance in a dot product."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tformer import reference
from tformer.exercises import say
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.kinds import Array, Parts, Several
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, case


@dataclass(frozen=True)
class Between(Array):
    """One number between two bounds: of our own, a pair of them."""

    def read(self, f: Answer, value: Any, said: str) -> Parts:
        """Return the one number, also from an array of length one."""
        array = f.numbers(value, said)
        return (array.reshape(()) if array.size == 1 else array,)

    def same(self, got: Any, want: Any) -> bool:
        """Tell whether the number lies between the bounds, or is another number."""
        if got.shape == () and want.shape == (2,):
            return bool(want[0] * (1 - 1e-9) <= got <= want[1] * (1 + 1e-9))
        return super().same(got, want)

    def head(self, f: Answer, got: Parts, want: Parts, said: str, place: int) -> str:
        """Say what β should be, and why."""
        low, high = (say.show(bound) for bound in want[0])
        return (
            f"With {said}, {f.name} gives β = {say.pair(got[0], want[0][1])[0]}. The output comes "
            f"within eps of the best value at {low}, and the theorem is content with {high}."
        )

    def remark(self, got: Any, want: Any) -> str:
        """Say that β is no number, or not positive, or infinite."""
        if got.shape == () and abs(got) == np.inf:
            return "A margin of 0 does that: which two scores differ by yours?"
        return "" if got.shape == () and got > 0 else "β is one number above 0."


Bound = Callable[[np.ndarray, np.ndarray], float]


def _beta(
    scores: np.ndarray,
    v: np.ndarray,
    eps: float,
    count: Bound = lambda s, v: len(s) - 1,
    far: Bound = lambda s, v: reference.norm(_away(s, v)).max(),
    margin: Bound = lambda s, v: np.diff(np.sort(s)[-2:])[0],
) -> float:
    """The β of the theorem, from numbers that may be others than its own."""
    return float(np.log(count(scores, v) * far(scores, v) / eps) / margin(scores, v))


def _away(scores: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.asarray(v - v[scores.argmax()])


def _least(scores: np.ndarray, v: np.ndarray, eps: float, high: float) -> float:
    """The β at which the output comes within eps of the best value, found by halving."""
    low, best = 0.0, v[scores.argmax()]
    for _ in range(60):
        middle = (low + high) / 2
        error = reference.norm(reference.softmax(scores, beta=middle) @ v - best)
        low, high = (low, middle) if error <= eps else (middle, high)
    return high


def _lookups() -> Iterator[Case]:
    tried: list[tuple[list[float], list[list[float]], float]] = [
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
    ]
    for scores, values, eps in tried:
        yield case(scores=np.array(scores, dtype=float), v=np.array(values, dtype=float), eps=eps)
    v = np.array([[1.0, 2], [5, 2], [1, 9]])
    yield case(scores=np.array([4.0, 1, 3]), v=v, eps=0.5, whole=True)


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
    mutants={
        "Δ is the lead over the second best score, not over the worst.": partial(
            _beta, margin=lambda s, v: float(np.ptp(s))
        ),
        "Every other key may be as close as the second best: the factor S − 1 counts them.": (
            partial(_beta, count=lambda s, v: 1)
        ),
        "You counted all S keys; the best one is none of the others.": partial(
            _beta, count=lambda s, v: len(s)
        ),
        "How far the other values lie from the best one matters too.": partial(
            _beta, far=lambda s, v: 1
        ),
        "It is the distance from the best value that counts, not the length of the values.": (
            partial(_beta, far=lambda s, v: reference.norm(v).max())
        ),
        "You took the largest distance between any two values; only those from the best count.": (
            partial(_beta, far=lambda s, v: reference.norm(v[:, np.newaxis] - v).max())
        ),
        "One norm was taken of all differences together; each value has its own distance.": (
            partial(_beta, far=lambda s, v: float(np.sqrt((_away(s, v) ** 2).sum())))
        ),
        "That is made of the largest difference in one coordinate; take the distance.": (
            partial(_beta, far=lambda s, v: np.abs(_away(s, v)).max())
        ),
        "You took the distance of the second best key's value; another may lie farther away.": (
            partial(_beta, far=lambda s, v: reference.norm(_away(s, v))[s.argsort()[-2]])
        ),
        "The distances are measured from the first value; the best key may stand elsewhere.": (
            partial(_beta, far=lambda s, v: reference.norm(v - v[0]).max())
        ),
        "The fraction under the logarithm is upside down.": lambda *inputs: -_beta(*inputs),
        "You took the square of the distance.": partial(
            _beta, far=lambda s, v: (_away(s, v) ** 2).sum(axis=-1).max()
        ),
        "That is a logarithm to base 2; the theorem has the natural one.": lambda *inputs: (
            _beta(*inputs) / np.log(2)
        ),
        "The logarithm is the natural one here.": lambda *inputs: _beta(*inputs) / np.log(10),
        "The margin divides the logarithm; here it multiplies.": lambda scores, v, eps: _beta(
            scores, v, eps, margin=lambda s, v: 1 / np.diff(np.sort(s)[-2:])[0]
        ),
        "The logarithm still has to be divided by the margin.": partial(
            _beta, margin=lambda s, v: 1
        ),
    },
    kind=Between(),
    otherwise="Which β makes the right side of the theorem equal to eps?",
)
def beta_for_lookup(scores: np.ndarray, v: np.ndarray, eps: float) -> tuple[float, float]:
    """From and up to which β the output may be asked to be within eps of the best value."""
    high = _beta(scores, v, eps)
    return _least(scores, v, eps, high), high


@dataclass(frozen=True)
class Lift(Several):
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
            + " They lie on their sides." * sides
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
        ([2], [7], 1.5),
    ):
        yield case(t=np.array(t, dtype=float), x=np.array(x, dtype=float), h=h)
    yield case(t=np.array([3.0, -2]), x=np.array([1.0, 4, 2]), h=2, whole=True)


def _scored(scores: Callable[[np.ndarray, np.ndarray, float], np.ndarray]) -> Callable[..., Parts]:
    """Return queries and keys with scores made from t in a column, x in a row, and h."""
    return lambda t, x, h: (scores(t[:, np.newaxis], x, h), np.eye(len(x)))


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
    mutants={
        "Those are the weights of the kernel exp(tx/h²). Far places have long keys, and win by "
        "their length: the term −x²/(2h²) is missing.": _scored(lambda t, x, h: t * x / h**2),
        "The 2 in the exponent is missing: Gaussians divide by 2h².": _scored(
            lambda t, x, h: -((t - x) ** 2) / h**2
        ),
        "h enters as its square.": _scored(lambda t, x, h: -((t - x) ** 2) / (2 * h)),
        "h has no effect.": _scored(lambda t, x, h: -((t - x) ** 2) / 2),
        "h² divides the squared distance; here it multiplies.": _scored(
            lambda t, x, h: -((t - x) ** 2) * h**2 / 2
        ),
        "The nearest places have the smallest weights: a sign is turned round.": _scored(
            lambda t, x, h: (t - x) ** 2 / (2 * h**2)
        ),
        "Your term in x² has the wrong sign.": _scored(lambda t, x, h: (t * x + x**2 / 2) / h**2),
        "Your term −x²/h² is twice as large as the square asks for.": _scored(
            lambda t, x, h: (t * x - x**2) / h**2
        ),
        "Your term in x² is not divided by h².": _scored(lambda t, x, h: t * x / h**2 - x**2 / 2),
        "The mixed term of the square is 2tx, so it stands with tx/h² in the exponent.": _scored(
            lambda t, x, h: (t * x - x**2) / (2 * h**2)
        ),
        "The mixed term is turned round: that is the kernel of t + x.": _scored(
            lambda t, x, h: -((t + x) ** 2) / (2 * h**2)
        ),
        "Queries and keys both carry a square, and the two are multiplied. The term of a key "
        "should be the same for all queries.": _scored(
            lambda t, x, h: t * x / h**2 + (t * x / h**2) ** 2 / 4
        ),
        "The softmax takes the exponential; you have taken it before.": _scored(
            lambda t, x, h: np.exp(-((t - x) ** 2) / (2 * h**2))
        ),
        "The distance itself stands in the exponent; the kernel has its square.": _scored(
            lambda t, x, h: -np.abs(t - x) / h
        ),
        "The scale is 1 here; you counted on a division by √2.": _scored(
            lambda t, x, h: -((t - x) ** 2) / (np.sqrt(2) * h**2)
        ),
    },
    kind=Lift(
        by=lambda q, k: reference.softmax(q.astype(float) @ k.astype(float).T),
        called="the softmax of your q kᵀ",
        names=("queries", "keys"),
    ),
    otherwise="Compare with exp(−(t − x)²/(2h²)), each row divided by its sum.",
)
def lifted(t: np.ndarray, x: np.ndarray, h: float) -> Parts:
    """Queries and keys whose dot products give Gaussian weights."""
    return (
        np.stack([t / h, np.ones_like(t)], axis=-1),
        np.stack([x / h, -((x / h) ** 2) / 2], axis=-1),
    )
