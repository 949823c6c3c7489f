"""Exercises 19.5 and 19.8: the first address that floats confuse, and how sharp a look-up is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tformer_book.exercises.kinds import Number
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

# ---- 19.5 ---------------------------------------------------------------------------------


def _formats() -> Iterator[Case]:
    why = (
        "With 4 bits 16 and 9 are exact, and 25 becomes 24. At P = 4 the cell 4 has 32 − 16 − 16, "
        "which is 0, and the cell 3 has 24 − 16 − 9 = −1. But the cell 5 has 40 − 16 − 24 = 0 as "
        "well."
    )
    yield case(beta=1, p=4, want=4, why=why)
    why = "At P = 5 the cell 6 has 60 − 25 − 36. With 5 bits 35 becomes 36, so its score is 0."
    yield case(beta=1, p=5, want=5, why=why)
    why = "With β = 3 and 4 bits, 3 · 9 = 27 becomes 28."
    yield case(beta=3, p=4, why=why)
    yield case(beta=2, p=4, want=4, why="A power of two changes no digits of a number.")
    why = (
        "At P = 5 the cell 5 itself gets 16, as things are rounded, and the cell 6 gets 0. At "
        "P = 8 the cell 9 gets as much as the cell 8."
    )
    yield case(beta=15, p=6, want=8, why=why)
    why = (
        "At P = 8 the square of 9 is 81, which becomes 80, and 3 · 80 is 240. 3 · 81 and 27 · 9 "
        "would become 244."
    )
    yield case(beta=3, p=6, want=8, why=why)
    for beta, p in ((3, 8), (1, 8), (5, 8), (12, 11), (8, 11), (7, 11)):
        yield case(beta=beta, p=p, why=f"{p} bits, β = {beta}.")
    for beta in (1, 12, 5):
        yield case(beta=beta, p=22, why="There may be 22 bits.")
    for beta in (3, 9, 11, 13, 14):
        for p in (6, 9, 13, 16, 17)[beta == 3 :]:
            yield case(beta=beta, p=p, why=f"{p} bits, β = {beta}.")


def _single(beta: int, p: int) -> int:
    return first_failure(beta, 24)


@exercise(
    "19.5",
    praise="From 4 bits to 22, with powers of two and other β.",
    hints=(
        "Without rounding no neighbour ever scores as much, and the search does not end. So write "
        "a function that rounds to p bits first. np.frexp returns m from 1/2 to 1 and e with "
        "x = m · 2^e.",
        "m · 2^p has its p bits before the point. np.rint rounds it; np.ldexp goes back.",
        "Round P·P, then times β; 2β, then times P, then times C; then after each subtraction. "
        "float64 holds all of these exactly before they are rounded.",
    ),
    cases=_formats,
    mutants={
        "You rounded to float32, or for it: that has 24 bits, and p is to be given.": (_single),
    },
    otherwise="Round after each product and each subtraction, in the order of the statement.",
    slips="""
        np.rint(m * 2.0**p) → np.floor(m * 2.0**p + 0.5)
            Where two floats are as near, the one whose last bit is 0 is taken; you took the larger.
        at[failed.argmax()] → at[(near(beta * at * at) != beta * at * at).argmax()]
            That is the first address whose βP² is not exact. It does no harm until a neighbour
            reaches the score.
        np.rint → np.floor
            Digits were cut off. Rounding goes to the nearest number.
        np.rint(m * 2.0**p), e - p → np.rint(m * 2.0 ** (p + 1)), e - p - 1
            You kept one bit too many: the first one counts among the p.
        np.rint(m * 2.0**p), e - p → np.rint(m * 2.0 ** (p - 1)), e - p + 1
            You kept one bit too few; p bits count from the first one that is not 0.
        near(near(2 * beta * at) * cell) → near(near(2 * beta * at * cell))
            The query holds 2βP. It has to be multiplied and rounded before C comes in.
        near(beta * near(cell * cell)) → near(beta * cell * cell)
            The square of C is rounded before it is multiplied by β.
        near(beta * near(at * at)) → near(beta * at * at)
        near(beta * near(cell * cell)) → near(beta * cell * cell)
            You multiplied β and the squares out and rounded once. Round the square first, then β
            times the rounded square.
        near(beta * near(at * at)) → near(near(beta * at) * at)
        near(beta * near(cell * cell)) → near(near(beta * cell) * cell)
            You rounded β times the cell first. It is the square that comes first, then β times the
            rounded square.
        return near(near(product - square) - other) → return near(product - near(square + other))
            The subtractions round one after another: first the square of P, then that of C.
        near(near(2 * beta * at) * cell) → near(near(2 * beta * cell) * at)
        return near(near(product - square) - other) → return near(near(product - other) - square)
            P and C are exchanged: the query holds 2βP, and βP² is subtracted first.
        near(near(2 * beta * at) * cell) → 2 * beta * at * cell
        near(beta * near(at * at)) → beta * at * at
        near(beta * near(cell * cell)) → beta * cell * cell
            You rounded the results of the subtractions alone. Each product is rounded as well.
        return near(near(product - square) - other) → return product - square - other
            Products are rounded, and the subtractions are not.
        return near(near(product - square) - other) → return near(near(product - other) - square)
            βP² is to be subtracted first, and βC² then; you began with βC², or left βP² out.
        return near(near(product - square) - other) → return near(near(square + other) - product)
            At P = 1 nothing is rounded, so nothing fails there. Is the sign of the score turned, or
            was no failure found at all?
        left >= own → left > own
        right >= own → right > own
            A neighbour with the same score has as much weight, and that is failure enough.
        (left >= own) | (right >= own) → left >= own
            The cell on the right may win as well.
        (left >= own) | (right >= own) → (left >= own) & (right >= own)
            One neighbour that ties or wins is enough.
        left, own, right = score(at - 1), score(at) → left, own, right = score(at - 1), 0.0
            Compare with the score of the cell P, not with 0: rounding may lift it above 0 as well.
        (left >= own) | (right >= own) → own != 0
            You asked when the own score is no longer 0. What matters is whether a neighbour
            reaches it.
        at[failed.argmax()] → at[failed.argmax()] - 1
            That is one less: the last address that works, or a place in a list that begins with
            the address 1.
        at[failed.argmax()] → np.floor(2 ** (p / 2))
            That is where the squares alone begin to fail. β times a square takes more bits, if it
            is multiplied before the terms are subtracted.
        at[failed.argmax()] → np.floor(2 ** (p / 2)) + 1
            That is the first address whose square is not exact. What fails first depends on β.
        at[failed.argmax()] → np.floor((2.0 ** (p - 1) / beta) ** 0.5)
            Up to there 2βP² is below 2^p. But a product may be exact beyond, and one that is not
            need not let a neighbour win.
        at[failed.argmax()] → np.floor((2.0**p / beta) ** 0.5)
            That would be right if β counted as a whole, and if all went wrong as soon as a
            product is rounded.
    """,
)
def first_failure(beta: int, p: int) -> int:
    """The least address at which a neighbour scores as much."""
    at = np.arange(1.0, 2.0 ** (p / 2 + 2))

    def near(x: np.ndarray) -> np.ndarray:
        m, e = np.frexp(x)
        return np.ldexp(np.rint(m * 2.0**p), e - p)

    def score(cell: np.ndarray) -> np.ndarray:
        product = near(near(2 * beta * at) * cell)
        square = near(beta * near(at * at))
        other = near(beta * near(cell * cell))
        return near(near(product - square) - other)

    left, own, right = score(at - 1), score(at), score(at + 1)
    failed = (left >= own) | (right >= own)
    return int(at[failed.argmax()])


# ---- 19.8 ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sharpness(Number):
    """A number β; a near miss and a β that no search can have found are told as such."""

    def remark(self, got: Any, want: Any) -> str:
        """Say what leads to such a β."""
        words = super().remark(got, want)
        if got.shape == () and not 1e-6 < got < 40:
            own = "Does the leak never fall below the error? What the cell itself holds is no leak."
            return f"{words} {own}".strip()
        near, close, _ = words.partition(" Random draws")
        if not close:
            return words
        return (
            f"{near} For a small β cells further away leak as well, so do not cut the sum off "
            "early. Keep five digits of β, and search as finely."
        )


def _alphabets() -> Iterator[Case]:
    why = "2 (e^(−β) + e^(−4β) + …) is 1/2 at β = 1.40114."
    yield case(S=2, error=0.5, want=1.40114146, why=why)
    yield case(S=2, error=2.0, why="A larger error allows a smaller β.")
    why = "β = 4 serves 14 symbols: 26 (e^(−4) + e^(−16) + …) = 0.476."
    yield case(S=14, error=0.4762061, why=why)
    yield case(S=3, error=1.5)
    yield case(S=10, error=0.5)
    yield case(S=2, error=10.0, why="The error may be as large as 10.")
    yield case(S=2, error=8.0, why="A large error allows a small β, so distant cells leak.")
    yield case(S=5, error=10.0)
    yield case(S=1000, error=10.0, why="There may be 1000 symbols.")
    yield case(S=1000, error=0.001, why="The error may be as small as 0.001.")
    yield case(S=2, error=0.001, why="The error may be as small as 0.001.")


@exercise(
    "19.8",
    praise="Two symbols to a thousand, and errors from a thousandth to ten.",
    hints=(
        "What is the largest content of a cell? How many cells are k steps away?",
        "The worst tape has the largest symbol in all other cells, and the cell itself is read "
        "with weight 1: the error is 2 (S − 1) times a sum of e^(−βk²).",
        "That sum falls as β grows. Halve an interval, or let scipy.optimize.brentq do so. For a "
        "small β take terms until they are below 1e-12.",
    ),
    cases=_alphabets,
    kind=Sharpness(within=1e-9, relative=1.01e-4),  # five digits, rounded up or down
    otherwise="The worst tape holds S − 1 in every other cell, to both sides.",
    slips="""
        2 * (S - 1) → (S - 1)
            There are two cells at each distance, one on either side, and each may hold the largest
            symbol.
        2 * (S - 1) → 2 * S
            The symbols are 0 to S − 1, so the largest content is S − 1.
        2 * (S - 1) → 2
            You let other cells hold 1; they may hold S − 1.
        2 * (S - 1) → 2 * (S - 1) / S
            You took some mean of the symbols; the worst tape is asked for.
        2 * (S - 1) → S
            That is all symbols once. Two cells stand at each distance, with S − 1 at most.
        k**2 → k
            Scores fall with the square of the distance.
        k**2 → (k - 1) ** 2
            You let the cell itself leak; what it holds is what is to be read.
        k**2 → k**2 / 2
            The score is −β times the square, without a half.
        k**2 → 2 * k**2
            The score is −β times the square, without a factor of two.
        return (low + high) / 2 → return np.log(2 * (S - 1) / error)
            You counted the nearest cells alone. Those further away leak too, and with a small β
            much.
        np.arange(1, 500) → np.arange(1, 11)
            You counted ten cells on either side. With a small β those further away leak too.
        np.arange(1, 500) → np.arange(1, 4)
            You counted three cells on either side. With a small β those further away leak too.
        np.arange(1, 500) → np.arange(1, 3)
            You counted two cells on either side. With a small β those further away leak too.
        return (low + high) / 2 → return (S - 1) ** 2 * np.pi / error**2
            An integral replaced the sum, and the cell itself is in it.
        return (low + high) / 2 → return np.exp(-(low + high) / 2)
            That is the weight of the nearest cell; β is asked for.
        return (low + high) / 2 → return (low + high) / 2 / np.log(2)
            β belongs to powers of e, not of two.
        return (low + high) / 2 → return np.ceil((low + high) / 2)
            β need not be whole.
        leak = np.exp(-beta * k**2).sum() → leak = (1 / (np.exp(beta * k**2) + 1)).sum()
            Each cell was weighed against the own cell alone. With a strong sink the weights are
            the exponentials themselves.
        2 * (S - 1) * leak → 2 * (S - 1) * leak / (1 + 2 * leak)
            You divided by the sum over the cells. That is a head without a sink; with a strong
            one the weights are the exponentials themselves.
        > error → > error / 2
            You counted the leak twice, or allowed half of the error.
    """,
)
def sharp_enough(S: int, error: float) -> float:
    """The least β that keeps the leak within the error."""
    k = np.arange(1, 500)
    low, high = 0.0, 60.0
    for _ in range(100):
        beta = (low + high) / 2
        leak = np.exp(-beta * k**2).sum()
        low, high = (beta, high) if 2 * (S - 1) * leak > error else (low, beta)
    return (low + high) / 2
