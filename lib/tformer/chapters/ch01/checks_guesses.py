"""Exercises 1.4 and 1.10: how long a key must be to win, and where a promise begins to pay."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from tformer.exercises.kinds import Number
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, case

_AWAY = "From a right angle on, no length is enough, and the answer is ∞."
_SAME_WAY = "At 0 degrees a key draws level when it is as long as q: at 60 it takes twice that."


def _angles() -> Iterator[Case]:
    def of(norms: object, degrees: object, want: object = None, why: str = "") -> Case:
        inputs = {"norms": np.array(norms, float), "degrees": np.array(degrees, float)}
        return Case(inputs, want, why)

    yield of([5], [60], want=[10.0])
    yield of([2, 2], [0, 60], want=[2.0, 4.0], why=_SAME_WAY)
    yield of([3], [120], want=[np.inf], why=_AWAY)
    yield of([3, 4], [180, 60], want=[np.inf, 8.0], why=_AWAY)
    yield of([3], [90], want=[np.inf], why=_AWAY)
    yield of([6.4, 0.5, 1e-9], [45, 89.9, 30])
    yield of([[1, 2], [3, 4]], [[10, 95], [90, 80]], why=_AWAY)


def _shadow(degrees: np.ndarray) -> np.ndarray:
    return np.asarray(np.cos(np.radians(degrees)))


def _before_90(length: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    """A wrong length for keys on the side of q, and ∞ for the others."""
    return lambda norms, degrees: np.where(degrees < 90, length(norms, degrees), np.inf)


@exercise(
    "1.4",
    praise="At 60 degrees a key must be twice as long as q, at 89.9 more than five hundred times; "
    "from a right angle on no length helps.",
    hints=(
        "What has to be as long as q, for the key to score as high with q as q itself does?",
        "The dot product is the length of q times the signed length of a shadow: that of the key "
        "on q. How long is the shadow of a key of length L at a given angle?",
        "From 90 degrees on that shadow has no length, or a negative one. Decide by the angle and "
        "not by its cosine: in floating point cos 90° is not zero.",
    ),
    cases=_angles,
    mutants={
        "A key that points aside has to be longer than q, not shorter.": (
            lambda norms, degrees: norms * _shadow(degrees)
        ),
        "NumPy's cosine takes radians; the angles are in degrees.": (
            lambda norms, degrees: norms / np.cos(degrees)
        ),
        "A length is not negative. A key that points away scores below zero, the lower the longer "
        "it is.": lambda norms, degrees: norms / _shadow(degrees),
        "The minus sign is gone, but a key that points away scores below zero, the lower the "
        "longer it is.": lambda norms, degrees: norms / np.abs(_shadow(degrees)),
        "At a right angle the score is 0 for every length; rounding has left a cosine of about "
        "6·10⁻¹⁷ there.": lambda norms, degrees: np.where(
            _shadow(degrees) > 0, norms / _shadow(degrees), np.inf
        ),
        "No length at all is enough here, which is not the length 0.": lambda norms, degrees: (
            np.where(degrees < 90, norms / _shadow(degrees), 0)
        ),
        "No length at all is enough here: that is the answer ∞, not nan.": lambda norms, degrees: (
            np.where(degrees < 90, norms / _shadow(degrees), np.nan)
        ),
        "That is how many times as long as q the key must be; its length is asked for.": (
            _before_90(lambda norms, degrees: 1 / _shadow(degrees))
        ),
        "That is the dot product it has to reach, over the cosine; one factor ‖q‖ belongs to q "
        "itself.": _before_90(lambda norms, degrees: norms**2 / _shadow(degrees)),
        "The sine belongs to the remainder; the score comes from the shadow.": (
            _before_90(lambda norms, degrees: norms / np.sin(np.radians(degrees)))
        ),
        "The cosine enters once: it turns the key's length into that of its shadow.": _before_90(
            lambda norms, degrees: norms / _shadow(degrees) ** 2
        ),
    },
    otherwise="The key wins when its shadow on q is longer than q.",
)
def length_to_win(norms: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """The length at which k·q reaches q·q, for a key at an angle to a q of length `norms`."""
    with np.errstate(all="ignore"):
        return np.where(degrees < 90, norms / _shadow(degrees), np.inf)


def _bounds() -> Iterator[Case]:
    yield case(eps=1.0, want=9, why="At ε = 1 the promise is e^(d/4): 7.39 at d = 8, 9.49 at 9.")
    yield case(eps=0.5, want=68, why="The deeper page finds 68 for ε = 0.5.")
    for eps in (0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.25, 0.2, 0.1):
        yield case(eps=eps)


def _first(promise: Callable[[int, float], float], start: int = 2) -> Callable[[float], int]:
    """A wrong answer: the first width, from `start`, at which another promise exceeds d."""

    def width(eps: float) -> int:
        d = start
        while promise(d, eps) <= d:
            d += 1
        return d

    return width


def _width(eps: float) -> int:
    """Count upwards from 2, where the promise is behind."""
    return _first(lambda d, eps: math.exp(d * eps**2 / 4))(eps)


def _root(eps: float) -> float:
    """Where e^(dε²/4) = d for the second time, by bisection."""
    low, high = _width(eps) - 1.0, float(_width(eps))
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.exp(middle * eps**2 / 4) <= middle else (low, middle)
    return high


_PROMISE = "The promise is e^(dε²/4)"


@exercise(
    "1.10",
    praise="Right for eleven values of ε. Halving ε from 0.5 takes the width from 68 to 381: more "
    "than four times, because the promise has to beat a d that has grown as well.",
    hints=(
        "Put d = 1, 2 and 3 in. Which of the two numbers is ahead in each case, and which must be "
        "ahead in the end?",
        "The promise is ahead at d = 1, falls behind, and overtakes once more. The second time is "
        "for good, because an exponential is convex.",
        "Start where the promise is behind, at d = 2, and count upwards until it is ahead.",
    ),
    cases=_bounds,
    kind=Number(),
    mutants={
        "At that width the promise is ahead, but not at all widths after it: at d = 2 it has "
        "fallen behind.": _first(lambda d, eps: math.exp(d * eps**2 / 4), start=1),
        "That is the last width at which the promise is still behind.": (
            lambda eps: _width(eps) - 1
        ),
        f"{_PROMISE}: the 4 is missing.": _first(lambda d, eps: math.exp(d * eps**2)),
        f"{_PROMISE}, with 4 and not 2: the 2 belongs to the bound for a single pair.": (
            _first(lambda d, eps: math.exp(d * eps**2 / 2))
        ),
        f"{_PROMISE}: ε enters with its square.": _first(lambda d, eps: math.exp(d * eps / 4)),
        "The base of the power is e.": _first(lambda d, eps: 2 ** (d * eps**2 / 4)),
        "That is the number of vectors promised there; the width is asked for.": (
            lambda eps: int(math.exp(_width(eps) * eps**2 / 4))
        ),
        "That is a solution between two whole numbers; the first width is a whole number above "
        "it.": _root,
    },
    otherwise="Compare e^(dε²/4) with d, width by width.",
)
def pays_from(eps: float) -> int:
    """The first width from which on e^(dε²/4) exceeds d."""
    return _width(eps)
