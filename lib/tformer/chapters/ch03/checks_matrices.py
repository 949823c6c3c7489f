"""Exercises 3.8 and 3.9: two thin matrices, a capacity."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.kinds import Parts, Several
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.table import Case, case


@dataclass(frozen=True)
class Factors(Several):
    """Two matrices of the right shapes, judged by their product."""

    def fit(self, f: Answer, got: Parts, want: Parts, said: str) -> None:
        """Raise Wrong where a matrix has a wrong shape, and say how."""
        for part, right, name in zip(got, want, self.names, strict=True):
            if part.shape == right.shape:
                continue
            why = ""
            if part.shape == right.shape[::-1]:
                why = " It lies on its side."
            elif part.ndim == 2 and part.shape < right.shape:
                why = " Zeros may fill the columns that are left over."
            raise Wrong(
                f"With {said}, {name} has shape {part.shape}; it should be {right.shape}.{why}"
            )


def _tastes() -> Iterator[Case]:
    for taste, width in (
        ([[4, 0], [3, 0]], 1),
        ([[1, 2], [2, 4]], 1),
        ([[1, 2], [3, 0]], 2),
        ([[0, -1], [1, 0]], 2),
        ([[0, 1], [0, 0]], 1),
        ([[-2, 0], [0, -3]], 2),
        ([[0, 0], [0, 0]], 1),
        ([[-5]], 1),
        ([[-5]], 3),
    ):
        yield case(taste=np.array(taste, dtype=float), width=width, whole=width == len(taste))
    for seed, (d, rank, width) in enumerate(
        [(3, 1, 1), (3, 2, 2), (3, 1, 2), (2, 2, 3), (4, 2, 3), (5, 2, 2), (6, 3, 4)]
    ):
        left, right = integers(seed + 30, (2, d, rank))
        left[0], right[-1] = 1.0, 2.0
        yield case(taste=left @ right.T, width=width)


def _decomposed(
    left: Callable[[np.ndarray], np.ndarray] = lambda s: s,
    right: Callable[[np.ndarray], np.ndarray] = np.ones_like,
    keys: Callable[..., np.ndarray] = lambda u, vt: vt.T,
) -> Callable[..., Parts]:
    """Factors from the singular values, each matrix stretched by a function of them."""

    def factors(taste: np.ndarray, width: int) -> Parts:
        u, sigma, vt = np.linalg.svd(taste)
        n = min(width, len(taste))
        w_q, w_k = np.zeros((2, len(taste), width))
        w_q[:, :n] = u[:, :n] * left(sigma[:n])
        w_k[:, :n] = keys(u, vt)[:, :n] * right(sigma[:n])
        return w_q, w_k

    return factors


def _stretched_rows(taste: np.ndarray, width: int) -> Parts:
    w_q, w_k = _decomposed(left=np.ones_like)(taste, width)
    return np.linalg.svd(taste)[1][:, np.newaxis] * w_q, w_k


def _symmetric(taste: np.ndarray, width: int) -> Parts:
    """Factors from `eigh`, with the eigenvalues of largest magnitude."""
    value, vector = np.linalg.eigh(taste)
    first = np.argsort(-np.abs(value))[:width]
    w_q, w_k = np.zeros((2, len(taste), width))
    w_q[:, : len(first)], w_k[:, : len(first)] = vector[:, first] * value[first], vector[:, first]
    return w_q, w_k


def _last_eigenvalues(taste: np.ndarray, width: int) -> Parts:
    value, vector = np.linalg.eigh(taste)
    rest = ((0, 0), (0, max(width - len(taste), 0)))
    return (
        np.pad((vector * value)[:, -width:], rest),
        np.pad(vector[:, -width:], rest),
    )


def _last_directions(taste: np.ndarray, width: int) -> Parts:
    u, sigma, vt = np.linalg.svd(taste)
    rest = ((0, 0), (0, max(width - len(taste), 0)))
    return np.pad((u * sigma)[:, -width:], rest), np.pad(vt[-width:].T, rest)


@exercise(
    "3.8",
    praise="The product is the table asked for: square and lopsided tastes, with rank below, at "
    "and far below the width, and with widths beyond that of the rows.",
    hints=(
        "The proof of the theorem is a recipe. It begins with the singular value decomposition.",
        "Only the first singular values are not zero. Which columns belong to them, and which of "
        "the two matrices takes the stretch?",
        "`np.linalg.svd` returns the right singular vectors as the rows of its third result, so "
        "they have to be transposed. If `width` exceeds d, columns of zeros fill the rest.",
    ),
    cases=_tastes,
    mutants={
        "The sign is turned round.": _decomposed(left=np.negative),
        "The stretch by the singular values is missing.": _decomposed(left=np.ones_like),
        "Both matrices are stretched by the singular values, so they count twice. One of the two "
        "is enough, or a root for each.": _decomposed(right=lambda s: s),
        "A root of the singular values stretches one matrix only; the other needs it too.": (
            _decomposed(left=np.sqrt)
        ),
        "Rows of the third result of the decomposition are the directions of the keys; you took "
        "its columns.": _decomposed(keys=lambda u, vt: vt),
        "w_q and w_k have changed places: the product is the transpose of the taste.": (
            lambda taste, width: _decomposed()(taste, width)[::-1]
        ),
        "Both matrices are stretched by a root, but the directions of the queries serve for both. "
        "That gives symmetric tables only.": _decomposed(keys=lambda u, vt: u),
        "The directions of the keys serve for both matrices. That gives symmetric tables only.": (
            lambda taste, width: _decomposed(keys=lambda u, vt: vt.T)(
                np.linalg.svd(taste)[2].T * np.linalg.svd(taste)[1] @ np.linalg.svd(taste)[2], width
            )
        ),
        "The singular values stretch the columns of their matrix, and here its rows.": (
            _stretched_rows
        ),
        "`eigh` is for symmetric tables: it reads the lower half and takes the upper for its "
        "mirror image. A taste need not be symmetric.": _symmetric,
        "`eigh` is for symmetric tables, and a taste need not be one. It also lists eigenvalues in "
        "rising order, so that negative ones come first.": _last_eigenvalues,
        "The last singular values are the smallest; keep the first.": _last_directions,
    },
    kind=Factors(
        by=lambda w_q, w_k: w_q @ w_k.T,
        called="your product w_q w_kᵀ",
        names=("w_q", "w_k"),
    ),
    otherwise="Every table whose rank is at most the width is such a product.",
)
def factors(taste: np.ndarray, width: int) -> Parts:
    """W_Q, W_K of shape (d, width) with W_Q W_Kᵀ = taste."""
    return _decomposed()(taste, width)


def _capacities() -> Iterator[Case]:
    for d, beta, share in (
        (2, 2.0, 0.05),
        (2, float(np.log(2)), 0.5),
        (4, 2.0, 0.9),
        (16, 8.0, 0.5),
        (64, 16.0, 0.8),
        (1000, 30.0, 0.5),
        (1, 1.0, 0.3),
        (8, 5, 0.99),
        (300, 20.0, 0.999),
    ):
        yield case(d=d, beta=beta, share=share)
    why = "With β = 0 all keys weigh the same, so two of them have just the share 1/2 each."
    yield case(d=3, beta=0.0, share=0.5, want=2, why=why)


def _term(d: int, beta: float) -> float:
    """Return the bound on the mean weight of a wrong key, beside the right key's 1."""
    return float(((1 + np.exp(-2 * beta / d)) / 2) ** d)


def _room(room: Callable[[int, float, float], float]) -> Callable[..., float]:
    """Return a mutant that finds room for so many keys beside the right one."""
    return lambda d, beta, share: float(np.floor(1 + room(d, beta, share)))


def _odds(term: Callable[[int, float], float]) -> Callable[..., float]:
    """Return a mutant with another term for a wrong key."""
    return _room(lambda d, beta, share: (1 / share - 1) / term(d, beta))


@exercise(
    "3.9",
    praise="The numbers of pairs that the theorem vouches for, from two pairs in two dimensions to "
    "more than 10¹² in a thousand.",
    hints=(
        "The theorem bounds the mean weight of the right key from below, and the bound falls as "
        "more pairs are stored. Where does it reach the share?",
        "Solve 1/(1 + (n − 1) b) ≥ share for n, where b stands for the power in the theorem.",
        "n − 1 is at most (1/share − 1)/b. A number of pairs is whole, so round down.",
    ),
    cases=_capacities,
    mutants={
        "One more: the theorem counts n − 1 wrong keys beside the right one.": (
            lambda d, beta, share: float(np.floor((1 / share - 1) / _term(d, beta)))
        ),
        "Pairs come in whole numbers.": lambda d, beta, share: 1 + (1 / share - 1) / _term(d, beta),
        "With one pair more the bound falls below the share: round down.": lambda d, beta, share: (
            float(np.ceil(1 + (1 / share - 1) / _term(d, beta)))
        ),
        "You round to the nearest whole number, which may be one too many: round down.": (
            lambda d, beta, share: float(np.round(1 + (1 / share - 1) / _term(d, beta)))
        ),
        "At least the share is asked for, so equality will do.": lambda d, beta, share: float(
            np.ceil((1 / share - 1) / _term(d, beta))
        ),
        "That is the number for a share of 1/2.": _room(lambda d, beta, share: 1 / _term(d, beta)),
        "The exponent of e is −2β/d; the 2 is missing.": _odds(
            lambda d, beta: ((1 + np.exp(-beta / d)) / 2) ** d
        ),
        "The exponent of e is −2β/d; the d is missing.": _odds(
            lambda d, beta: ((1 + np.exp(-2 * beta)) / 2) ** d
        ),
        "The exponent of e is −2β/d; the minus is missing.": _odds(
            lambda d, beta: ((1 + np.exp(2 * beta / d)) / 2) ** d
        ),
        "The exponent of e is −2β/d; yours has the root of d.": _odds(
            lambda d, beta: ((1 + np.exp(-2 * beta / d**0.5)) / 2) ** d
        ),
        "The power of d is missing.": _odds(lambda d, beta: (1 + np.exp(-2 * beta / d)) / 2),
        "The base is a mean of 1 and a power of e; the 2 below it is missing.": _odds(
            lambda d, beta: (1 + np.exp(-2 * beta / d)) ** d
        ),
        "1/share counts the right key's own term too: subtract 1.": _room(
            lambda d, beta, share: 1 / share / _term(d, beta)
        ),
        "The right key gets the share, the others the rest: their odds are 1/share − 1.": _room(
            lambda d, beta, share: (1 - share) / _term(d, beta)
        ),
        "The power divides; here it multiplies.": _odds(lambda d, beta: 1 / _term(d, beta)),
    },
    otherwise="Put your n and n + 1 into the bound: only the first may reach the share.",
)
def pairs_that_fit(d: int, beta: float, share: float) -> float:
    """The largest n whose bound on the right key's weight is at least `share`."""
    return float(np.floor(1 + (1 / share - 1) / _term(d, beta)))
