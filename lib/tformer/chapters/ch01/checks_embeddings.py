"""Exercises 1.9 and 1.11: from counts to information, from a table to vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tformer import reference
from tformer.exercises import compare
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.kinds import Array, Parts
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.table import Case, case


def _counts() -> Iterator[Case]:
    pairs = np.array([[0.0, 3], [1, 1]])
    yield case(counts=pairs, want=np.log([[1, 5 / 4], [5 / 2, 1]]))
    yield case(counts=10 * pairs, why="Only proportions matter: all counts were multiplied by 10.")
    yield case(counts=np.array([[1.0, 0], [0, 0]]), want=np.zeros((2, 2)))
    yield case(counts=pairs, whole=True, why=_WHOLE)
    for seed, size in enumerate((3, 3, 4, 5, 1)):
        counts = np.abs(integers(seed, (size, size)))
        counts[0, 0] += 1
        yield case(counts=counts, why=_UNSEEN)
        counts[:, 1:2] = 0
        yield case(counts=10_000 * counts, whole=True, why=_UNSEEN)


def _information(counts: np.ndarray) -> np.ndarray:
    """Pointwise mutual information, −∞ and nan included."""
    return np.asarray(np.log(_ratio(counts)))


def _ratio(counts: np.ndarray) -> np.ndarray:
    product = counts.sum(-1, keepdims=True) * counts.sum(0)
    return np.asarray(counts * counts.sum() / product)


def _positive(counts: np.ndarray) -> np.ndarray:
    return np.nan_to_num(np.maximum(counts, 0))


@exercise(
    "1.9",
    praise="Checked by hand-sized tables, on words never seen, on counts that are integers, and on "
    "counts ten times as large, which change nothing.",
    hints=(
        "Three tables of probabilities are needed: of pairs, of first words, of second words. Each "
        "is a count divided by the same total.",
        "What would a pair's probability be if the two words had nothing to do with each other? "
        "The logarithm compares the true one with that.",
        "A count of zero gives log 0 = −∞, which the last step turns into 0 anyway. A word that "
        "was never seen gives 0/0: give those places a harmless number before you divide.",
    ),
    cases=_counts,
    mutants={
        "The positive part is missing: a pair rarer than chance gets 0.": _information,
        "−∞ has become 0, and other negative values should too: a pair rarer than chance gets "
        "0.": lambda counts: np.where(counts == 0, 0, _information(counts)),
        "−∞ has become the most negative number there is; a pair that was never seen gets "
        "0.": lambda counts: np.nan_to_num(_information(counts)),
        "Word 1 was never seen, so its row is 0/0; it tells nothing: 0.": (
            lambda counts: np.maximum(_information(counts), 0)
        ),
        "The row sums were laid along the columns. Keep their axis, so that row i is divided by "
        "the sum of row i.": lambda counts: _positive(
            np.log(counts * counts.sum() / (counts.sum(1) * counts.sum(0)))
        ),
        "Those are bits: the book takes natural logarithms.": (
            lambda counts: reference.ppmi(counts) / np.log(2)
        ),
        "You took logarithms to base 10: the book takes natural ones.": (
            lambda counts: reference.ppmi(counts) / np.log(10)
        ),
        "You took log(1 + ratio); the ratio itself is compared with 1.": (
            lambda counts: np.log1p(np.nan_to_num(_ratio(counts)))
        ),
        "The logarithm is missing.": lambda counts: np.nan_to_num(_ratio(counts)),
        "Every pair has become rarer than chance. Two mistakes do that: sums of counts in place "
        "of probabilities, and dividing by one of the two words only.": np.zeros_like,
        "Take the magnitude away: a negative value becomes 0, not positive.": lambda counts: (
            np.nan_to_num(np.abs(_information(counts)), posinf=0)
        ),
        "You added 1 to every count, which is another estimate of the probabilities.": (
            lambda counts: reference.ppmi(counts + 1)
        ),
        "That is weighted by the probability of the pair: its share of the mutual information.": (
            lambda counts: reference.ppmi(counts) * counts / counts.sum()
        ),
        "That is divided by −log p(i, j), which brings it below 1; the plain one is asked for.": (
            lambda counts: _positive(-_information(counts) / np.log(counts / counts.sum()))
        ),
        "Those are the counts divided by what chance would give, less 1; the logarithm of the "
        "ratio is asked for.": lambda counts: _positive(_ratio(counts) - 1),
        "Both words of a pair have sums of their own: first words those of the rows, second words "
        "those of the columns. You took those of the rows twice.": lambda counts: _positive(
            np.log(counts * counts.sum() / np.outer(counts.sum(1), counts.sum(1)))
        ),
        "First words have the sums of the rows, second words those of the columns. You exchanged "
        "the two.": lambda counts: _positive(
            np.log(counts * counts.sum() / np.outer(counts.sum(0), counts.sum(1)))
        ),
    },
    otherwise="Compare the share of each pair with the product of the shares of its two words.",
)
def positive_pmi(counts: np.ndarray) -> np.ndarray:
    """PPMI of a table of counts, in nats."""
    return reference.ppmi(counts)


class Rows(Array):
    """A table of vectors, compared by their dot products."""

    def fit(self, f: Answer, got: Parts, want: Parts, said: str) -> None:
        """Raise Wrong unless there is one row a vector, and one column a dimension."""
        if got[0].shape != want[0].shape:
            head = compare.misfit(got[0].shape, want[0].shape, said, self.name(f, 0))
            why = "One row a vector, one column a dimension."
            if want[0].shape[1] > len(want[0]):
                why += " Vectors that fill fewer dimensions have zeros in the others."
            raise Wrong(f"{head} {why}")

    def remark(self, got: np.ndarray, want: np.ndarray) -> str:
        """Say where roots of negative numbers come from."""
        if np.isnan(got).any():
            return (
                "A square root of an eigenvalue that should be 0 and was rounded below it is nan: "
                "stop at zero first."
            )
        return super().remark(got, want)


ROWS = Rows(by=lambda rows: rows @ rows.T, called="the table of your dot products")


def _gram_tables() -> Iterator[Case]:
    yield case(table=np.array([[4.0]]), width=1, want=[[2]])
    shapes = [(2, 1, 1), (2, 2, 2), (3, 2, 2), (3, 2, 3), (4, 2, 3), (5, 3, 3), (6, 3, 6)]
    for seed, (rows, rank, width) in enumerate([*shapes, (1, 1, 2), (2, 1, 4), (3, 2, 5)]):
        points = integers(seed + 21, (rows, rank))
        points[0, 0] = 2.0
        yield case(table=points @ points.T, width=width)
    yield case(table=points @ points.T, width=2, whole=True)
    yield case(table=np.ones((3, 3)), width=1)
    yield case(table=np.diag([0.0, 9, 1e-6, 1e6]), width=3)
    yield case(table=np.zeros((2, 2)), width=1)
    far = np.random.default_rng(0).normal(size=(20, 4))
    yield case(table=far @ far.T, width=6, said="the dot products of 20 vectors and width = 6")


def _eigen(
    stretch: Callable[[np.ndarray], np.ndarray], sort: int = -1
) -> Callable[[np.ndarray, int], np.ndarray]:
    """Eigenvectors times what is made of their values, the largest first for `sort` −1."""

    def rows(table: np.ndarray, width: int) -> np.ndarray:
        value, vector = np.linalg.eigh(table)
        return _columns((vector * stretch(value))[:, ::sort], width)

    return rows


def _columns(array: np.ndarray, width: int) -> np.ndarray:
    """Cut an array to its first columns, or fill it up with zeros."""
    return np.pad(array[:, :width], ((0, 0), (0, max(width - array.shape[1], 0))))


def _root(value: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.maximum(value, 0)))


@exercise(
    "1.11",
    praise="Your vectors have exactly the dot products asked for, in tables of full and of lower "
    "rank, and in more dimensions than there are vectors. Any rotation of them has too, and that "
    "is all the freedom there is.",
    hints=(
        "The table is symmetric. A symmetric matrix is a rotation, a stretch along the axes, and "
        "the rotation back. What has to be split in two halves?",
        "If table = W diag(λ) Wᵀ, then each half takes √λ.",
        "`eigh` returns eigenvalues in rising order, and rounding can leave one that should be 0 "
        "at −10⁻¹⁷. Keep the largest ones, and stop them at zero before the root.",
    ),
    cases=_gram_tables,
    kind=ROWS,
    mutants={
        "You kept the smallest eigenvalues: `eigh` lists them in rising order.": _eigen(_root, 1),
        "The eigenvectors are not stretched yet: each needs the root of its eigenvalue.": (
            _eigen(np.ones_like)
        ),
        "You stretched by the eigenvalue. It is shared between X and Xᵀ, so each takes the "
        "root.": _eigen(np.asarray),
        "The root is taken twice: of the eigenvalues, and of their roots.": (
            _eigen(lambda value: np.sqrt(_root(value)))
        ),
        "Those are columns of the table, not vectors whose dot products it holds.": _columns,
        "The eigenvectors are the columns of what `eigh` returns; you took its rows.": (
            lambda table, width: _columns(
                (np.linalg.eigh(table)[1].T * _root(np.linalg.eigh(table)[0]))[:, ::-1], width
            )
        ),
        "That root of the table has as many columns as there are vectors, and all of them count. "
        "Leave out the rotation back.": lambda table, width: _columns(
            _eigen(_root)(table, len(table)) @ np.linalg.eigh(table)[1][:, ::-1].T, width
        ),
        "Cholesky's factor exists only for tables whose vectors are linearly independent; these "
        "need not be.": lambda table, width: _columns(np.linalg.cholesky(table), width),
        "Those are vectors of the right lengths only: their angles are lost.": (
            lambda table, width: _columns(_root(table.diagonal())[:, None], width)
        ),
        "Those vectors have the right lengths and stand at right angles, which those of the table "
        "need not.": lambda table, width: _columns(np.diag(_root(table.diagonal())), width),
    },
    otherwise="Row i times row j of your array should give entry (i, j) of the table.",
)
def vectors_behind(table: np.ndarray, width: int) -> np.ndarray:
    """X (S, width) with X Xᵀ = table."""
    return _eigen(_root)(table, width)


_UNSEEN = "A pair that was never seen gets 0, and so does one that is rarer than chance."
_WHOLE = (
    "The counts are integers here, and PPMI is not. An array made after them holds whole numbers "
    "only."
)
