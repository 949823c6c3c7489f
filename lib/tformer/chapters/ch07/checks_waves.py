"""Exercises 7.1, 7.3 and 7.11: waves, the matrix that moves them, a slower clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tformer import reference
from tformer.exercises.kinds import Number
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, case

Array = np.ndarray
BASE = 10000.0


def _sizes() -> Iterator[Case]:
    yield case(n=1, d=2, want=[[0.0, 1.0]], why="At place 0 every sine is 0 and every cosine 1.")
    fast = "With width 2 there is one hand, and it turns by one radian a place."
    yield case(
        n=3, d=2, want=[[0, 1], [0.841470985, 0.540302306], [0.909297427, -0.416146837]], why=fast
    )
    second = "With width 4 the second hand turns by 10000^(−2/4) = 1/100 a place."
    yield case(n=2, d=4, why=second)
    for n, d in ((3, 4), (5, 6), (4, 16), (40, 8), (0, 4)):
        yield case(n=n, d=d, why="Row t holds sin and cos of t · 10000^(−2i/d) for each i in turn.")


def _table(
    power: Callable[[Array, int], Array] = lambda i, d: -2 * i / d,
    first: int = 0,
    parts: tuple[Callable[[Array], Array], ...] = (np.sin, np.cos),
) -> Callable[[int, int], Array]:
    """Wrong waves: another exponent, another first place, other functions."""

    def waves(n: int, d: int) -> Array:
        angles = np.arange(first, first + n)[:, None] * BASE ** power(np.arange(d // 2), d)
        return np.stack([part(angles) for part in parts], axis=-1).reshape(n, d)

    return waves


@exercise(
    "7.1",
    praise="The table of waves, from a single place to forty and from one hand to eight.",
    hints=(
        "Make the table of angles first: a row a place, a column a hand, place times frequency.",
        "There are d/2 frequencies, with the exponents 0, −2/d, −4/d and so on.",
        "Fill the even columns with the sines of the angles and the odd ones with the cosines.",
    ),
    cases=_sizes,
    mutants={
        "The exponent is doubled: a counter of even columns is 2i already.": (
            _table(lambda i, d: -4 * i / d)
        ),
        "The exponent is halved: hand i has the exponent −2i/d, and there are d/2 hands.": (
            _table(lambda i, d: -i / d)
        ),
        "The hands become faster from column to column; the exponent is negative.": (
            _table(lambda i, d: 2 * i / d)
        ),
        "The exponents run to −1 inclusive; the last hand stops short of it, at −(d − 2)/d.": (
            _table(lambda i, d: -i / max(d // 2 - 1, 1))
        ),
        "Places are counted from 0.": _table(first=1),
        "Sine and cosine have changed columns.": _table(parts=(np.cos, np.sin)),
        "Only sines came; every second column is a cosine.": _table(parts=(np.sin, np.sin)),
        "The sines fill the first half and the cosines the second; they should alternate.": (
            lambda n, d: np.concatenate([_table()(n, d)[:, 0::2], _table()(n, d)[:, 1::2]], axis=1)
        ),
        "Sine and cosine took the angle in degrees; it is in radians.": _table(
            parts=(lambda x: np.sin(np.radians(x)), lambda x: np.cos(np.radians(x)))
        ),
        "A row belongs to a place and a column to a coordinate; yours lie on their sides.": (
            lambda n, d: _table()(n, d).T
        ),
    },
)
def waves(n: int, d: int) -> Array:
    """Waves of the places from 0."""
    return reference.sinusoidal(np.arange(n), d)


def _shifts() -> Iterator[Case]:
    yield case(delta=0, d=2, want=np.eye(2), why="No places at all: the identity.")
    yield case(delta=1, d=2, why="The row (0, 1) of place 0 becomes (sin 1, cos 1).")
    yield case(delta=-2, d=2, why="Back by two places.")
    own = "Each hand is moved by a block of its own; all else is 0 (a fit to rows is inexact)."
    for delta, d in ((1, 4), (3, 6), (-5, 8)):
        yield case(delta=delta, d=d, why=own)
    far = "A thousand places: an error that is small for one place grows with the shift."
    yield case(delta=1000, d=16, why=far)


def _blocks(delta: float, d: int, power: Callable[[int], float]) -> Array:
    matrix = np.zeros((d, d))
    for i in range(d // 2):
        c, s = np.cos(delta * BASE ** power(i)), np.sin(delta * BASE ** power(i))
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[c, -s], [s, c]]
    return matrix


@exercise(
    "7.3",
    praise="One matrix for all places, forward and back, by a thousand places too.",
    hints=(
        "Hand by hand: which 2 × 2 matrix takes (sin α, cos α) to (sin(α + φ), cos(α + φ))?",
        "Use the addition theorems. A row times a matrix takes its combinations from the columns.",
        "The block has cos φ twice on its diagonal, sin φ below it and −sin φ above.",
    ),
    cases=_shifts,
    mutants={
        "That is the transpose: it moves the rows back.": (
            lambda delta, d: _blocks(-delta, d, lambda i: -2 * i / d)
        ),
        "Both sines have one sign; one of them is negative.": (lambda delta, d: _both(delta, d)),
        "All hands are moved by the angle of the fastest.": (
            lambda delta, d: _blocks(delta, d, lambda i: 0.0)
        ),
        "The exponent is doubled: a counter of even columns is 2i already.": (
            lambda delta, d: _blocks(delta, d, lambda i: -4 * i / d)
        ),
        "Only the first two columns are moved; every hand has a block.": (
            lambda delta, d: _first(delta, d)
        ),
        "That is one place; the matrix should move by delta.": (
            lambda delta, d: _blocks(1, d, lambda i: -2 * i / d)
        ),
        "The sign of delta has no effect: it should move forward or back.": (
            lambda delta, d: _blocks(abs(delta), d, lambda i: -2 * i / d)
        ),
        "The blocks pair the first half of the coordinates with the second. In a row of waves, "
        "sine and cosine are neighbours.": lambda delta, d: _halves(delta, d),
    },
)
def shift_matrix(delta: int, d: int) -> Array:
    """The matrix by which rows of waves move on."""
    return _blocks(delta, d, lambda i: -2 * i / d)


def _both(delta: int, d: int) -> Array:
    matrix = _blocks(delta, d, lambda i: -2 * i / d)
    return np.where(np.triu(np.ones((d, d)), 1) > 0, -matrix, matrix)


def _first(delta: int, d: int) -> Array:
    matrix = np.eye(d)
    matrix[:2, :2] = _blocks(delta, d, lambda i: -2 * i / d)[:2, :2]
    return matrix


def _halves(delta: int, d: int) -> Array:
    order = np.argsort(reference.rope_permutation(d))
    return _blocks(delta, d, lambda i: -2 * i / d)[order][:, order]


def _factors() -> Iterator[Case]:
    yield case(factor=1.0, d=4, want=BASE, why="Nothing is slowed, so the base stays.")
    why = "At width 4 the slower of two hands turns by one over the root of the base."
    yield case(factor=2.0, d=4, want=40000.0, why=why)
    for factor, d in ((8.0, 16), (4.0, 128), (0.5, 6), (1.5, 64)):
        yield case(factor=factor, d=d, why="The slowest hand has the exponent −(d − 2)/d.")


@exercise(
    "7.11",
    praise="The slowest hand is slowed by the factor and the fastest not at all, for narrow heads "
    "and wide ones, and for shorter texts as well.",
    hints=(
        "Write down the slowest frequency as a power of the base, and divide it by the factor.",
        "The slowest hand has i = d/2 − 1. Solve for the base.",
        "The new base is the old one times a power of the factor, a little more than the first.",
    ),
    cases=_factors,
    kind=Number(relative=1e-9),
    mutants={
        "The base is multiplied by the factor; then the slowest hand slows down by less, since its "
        "exponent is not quite −1.": lambda factor, d: BASE * factor,
        "The power is upside down.": lambda factor, d: BASE * factor ** ((d - 2) / d),
        "That base makes the hands faster.": lambda factor, d: BASE * factor ** (-d / (d - 2)),
        "The power of the factor alone came; it multiplies the old base.": (
            lambda factor, d: factor ** (d / (d - 2))
        ),
        "A hand is two coordinates: the last hand is two of d short of the end, and not one.": (
            lambda factor, d: BASE * factor ** (d / (d - 1))
        ),
        "The whole base is raised to a power; only the factor is.": (
            lambda factor, d: (BASE * factor) ** (d / (d - 2))
        ),
    },
)
def base_for(factor: float, d: int) -> float:
    """The base that slows the slowest hand by a factor."""
    return float(BASE * factor ** (d / (d - 2)))
