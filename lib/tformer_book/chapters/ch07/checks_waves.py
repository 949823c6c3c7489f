"""Exercises 7.1, 7.3 and 7.11: waves, the matrix that moves them, a slower clock."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer_book.exercises.kinds import Number
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray
BASE = 10000.0


def _sizes() -> Iterator[Case]:
    yield case(n=1, d=2, want=[[0.0, 1.0]], why="At position 0 every sine is 0 and every cosine 1.")
    fast = "With width 2 there is one hand, and it turns by one radian per position."
    yield case(
        n=3, d=2, want=[[0, 1], [0.841470985, 0.540302306], [0.909297427, -0.416146837]], why=fast
    )
    second = "With width 4 the second hand turns by 10000^(−2/4) = 1/100 per position."
    yield case(n=2, d=4, why=second)
    for n, d in ((3, 4), (5, 6), (4, 16), (40, 8), (1, 10), (2000, 4)):
        why = "Row t holds sin and cos of t · 10000^(−2i/d) for each i in turn."
        yield case(n=n, d=d, want=reference.sinusoidal(np.arange(n), d), why=why)


@exercise(
    "7.1",
    praise="The table of waves, from a single position to two thousand and from one hand to eight.",
    hints=(
        "Make the table of angles first: a row for each position, a column for each hand, "
        "position times frequency.",
        "There are d/2 frequencies, with the exponents 0, −2/d, −4/d and so on.",
        "Fill the even columns with the sines of the angles and the odd ones with the cosines.",
    ),
    cases=_sizes,
    otherwise="Sine and cosine of position times frequency stand side by side.",
    slips="""
        -np.arange(0, d, 2) / d → 2 * ($)
            The exponent is doubled: a counter of even columns is 2i already.
        -np.arange(0, d, 2) / d → ($) / 2
            The exponent is halved: hand i has the exponent −2i/d, and there are d/2 hands.
        -np.arange(0, d, 2) / d → -($)
            The hands become faster from column to column; the exponent is negative.
        -np.arange(0, d, 2) / d → -np.arange(d // 2) / max(d // 2 - 1, 1)
            The exponents run to −1 inclusive; the last hand stops short of it, at −(d − 2)/d.
        -np.arange(0, d, 2) / d → -np.arange(0, d, 2) // d
            The exponents are cut to whole numbers: `//` drops what lies after the point.
        -np.arange(0, d, 2) / d → 0 * ($)
            All hands turn as fast as the first.
        (-np.arange(0, d, 2) / d) → -np.arange(0.0, d, 2)
            The exponent is divided by d: hand i has −2i/d.
        = np.where(np.arange(d) % 2, np.cos(np.arange(n)[:, None] * BASE ** (-np.arange(d) / d)),
        np.sin(np.arange(n)[:, None] * BASE ** (-np.arange(d) / d)))
            Each column has a frequency of its own; a hand has one for its sine and its cosine.
        BASE → np.e
            The frequencies are powers of 10000, and yours are powers of e.
        BASE → 1000
            The frequencies are powers of 10000, and yours are powers of 1000.
        np.arange(n) → np.arange(1, n + 1)
            Positions are counted from 0.
        np.arange(n) → np.ones(n)
            All rows are alike: the position has no effect.
        np.arange(n) → 2 * np.pi * $
            The angle is position times frequency, without a further 2π.
        np.sin(angles), np.cos(angles) → np.cos(angles), np.sin(angles)
            Sine and cosine have changed columns.
        np.sin(angles), np.cos(angles) → np.sin(angles), np.sin(angles)
            Only sines came; every second column is a cosine.
        np.stack → np.concatenate
            The sines fill the first half and the cosines the second; they should alternate.
        np.sin(angles), np.cos(angles) → np.sin(np.radians(angles)), np.cos(np.radians(angles))
            Sine and cosine took the angle in degrees; it is in radians.
        .reshape(n, d) → $.T
            A row belongs to a position and a column to a coordinate; yours is transposed.
    """,
)
def waves(n: int, d: int) -> Array:
    """Waves of the positions from 0."""
    angles = np.arange(n)[:, None] * BASE ** (-np.arange(0, d, 2) / d)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(n, d)


def _shifts() -> Iterator[Case]:
    one = [[0.540302306, -0.841470985], [0.841470985, 0.540302306]]
    yield case(delta=1, d=2, want=one, why="The row (0, 1) of position 0 becomes (sin 1, cos 1).")
    yield case(delta=-2, d=2, why="Back by two positions: delta may be negative.")
    yield case(delta=0, d=2, want=np.eye(2), why="No positions at all: the identity.")
    own = "Each hand is moved by a block of its own; all else is 0 (a fit to rows is inexact)."
    for delta, d in ((1, 4), (3, 6), (-5, 8)):
        turned = reference.rope(np.eye(d), reference.sinusoidal(np.full(d, -delta), d))
        yield case(delta=delta, d=d, want=turned, why=own)
    far = "A thousand positions: an error that is small for one position grows with the shift."
    for delta, d in ((1000, 16), (-1000, 4)):
        yield case(delta=delta, d=d, why=far)


@exercise(
    "7.3",
    praise="One matrix for all positions, forward and back, by a thousand positions too.",
    hints=(
        "Hand by hand: which 2 × 2 matrix takes (sin α, cos α) to (sin(α + φ), cos(α + φ))?",
        "Use the addition theorems. A row times a matrix takes its combinations from the columns.",
        "The block has cos φ twice on its diagonal, sin φ below it and −sin φ above.",
    ),
    cases=_shifts,
    otherwise="Each pair of columns is turned by delta times its frequency.",
    slips="""
        [[c, -s], [s, c]] → [[c, s], [-s, c]]
            That is the transpose: it moves the rows back.
        -s → s
            Both sines have one sign; one of them is negative.
        [[c, -s], [s, c]] → [[c, 0], [0, c]]
            Only the cosines are there; the sines mix the two columns of a hand.
        delta → (delta + 1)
            One position too many.
        delta → abs(delta)
            The sign of delta has no effect: it should move forward or back.
        [[c, -s], [s, c]] → [[s, c], [-c, s]]
            Sine and cosine have changed places: at a shift of 0 each cosine is 1.
        BASE ** (-2 * i / d) → 1.0
            All hands are moved by the angle of the fastest.
        2 * i / d → 4 * i / d
            The exponent is doubled: a counter of even columns is 2i already.
        2 * i / d → i / d
            The exponent is halved: hand i has −2i/d, and there are d/2 hands.
        -2 * i / d → 2 * i / d
            The hands become faster from block to block; the exponent is negative.
        range(d // 2) → range(1) ;; np.zeros((d, d)) → np.eye(d)
            Only the first two columns are moved; every hand has a block.
        delta → 1
            That is one position; the matrix should move by delta.
        slice(2 * i, 2 * i + 2) → slice(i, None, d // 2)
            The blocks pair the first half of the coordinates with the second. In a row of waves,
            sine and cosine are neighbours.
        = shift_matrix(delta % d, d)
            delta was taken modulo d; positions go on for ever.
        = np.roll(np.eye(d), delta, axis=0)
            Rows were exchanged; each pair of columns is turned.
        = np.eye(d) + delta * (shift_matrix(1e-6, d) - shift_matrix(-1e-6, d)) / 2e-6
            That holds for small angles only: sin φ is φ there, and cos φ is 1.
    """,
)
def shift_matrix(delta: int, d: int) -> Array:
    """The matrix by which rows of waves move on."""
    matrix = np.zeros((d, d))
    for i in range(d // 2):
        angle, pair = delta * BASE ** (-2 * i / d), slice(2 * i, 2 * i + 2)
        c, s = np.cos(angle), np.sin(angle)
        matrix[pair, pair] = [[c, -s], [s, c]]
    return matrix


def _factors() -> Iterator[Case]:
    yield case(factor=1.0, d=4, want=BASE, why="Nothing is slowed, so the base stays.")
    why = "At width 4 the slower of two hands turns by one over the root of the base."
    yield case(factor=2.0, d=4, want=40000.0, why=why)
    slowest = "The slowest hand has the exponent −(d − 2)/d."
    yield case(factor=2.0, d=6, want=BASE * 2**1.5, why=slowest)
    for factor, d in ((8.0, 16), (4.0, 128), (0.5, 6), (1.5, 64), (1000.0, 8)):
        yield case(factor=factor, d=d, why=slowest)
    yield case(factor=3, d=4, want=90000.0, why="The factor may be a whole number.")


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
    slips="""
        factor ** (d / (d - 2)) → factor
            The base is multiplied by the factor; then the slowest hand slows down by less, since
            its exponent is not quite −1.
        d / (d - 2) → (d - 2) / d
            The power is upside down.
        d / (d - 2) → d // (d - 2)
            The power is cut to a whole number by `//`.
        BASE * factor ** (d / (d - 2)) → BASE ** factor
            The base is raised to the factor; it is multiplied by a power of the factor.
        BASE * factor ** (d / (d - 2)) → round($)
            The base is rounded to a whole number; it need not be one.
        BASE * factor → BASE * max(factor, 1.0)
            A factor below 1 has no effect: for shorter texts the slowest hand becomes faster.
        d / (d - 2) → -$
            That base makes the hands faster.
        BASE * factor → factor
            The power of the factor alone came; it multiplies the old base.
        (d - 2) → (d - 1)
            A hand is two coordinates: the last hand is two of d short of the end, and not one.
        BASE * factor → (BASE * factor)
            The whole base is raised to a power; only the factor is.
        d / (d - 2) → d / (d / 2 - 1)
            The exponent of the slowest hand is halved: it is −2i/d with i = d/2 − 1.
        d / (d - 2) → 2 / (d - 2)
            That is by how much the power exceeds 1: the base grows by the factor, and by this.
        d / (d - 2) → 2
            The power is 2 at width 4 only; it depends on the width.
        (d - 2) → (d + 2)
            The last of d/2 hands is number d/2 − 1, as the first is number 0.
        d / (d - 2) → d / 2
            The slowest hand has i = d/2 − 1 and the exponent −(d − 2)/d, not −2/d.
    """,
)
def base_for(factor: float, d: int) -> float:
    """The base that slows the slowest hand by a factor."""
    return float(BASE * factor ** (d / (d - 2)))
