"""Exercise 3.12: a sentence read back from its mixtures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer.exercises.kinds import Marks
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, Function, case


def _mixtures() -> Iterator[Case]:
    table = np.array([[1.0, 2], [2, 0], [0, 3], [-4, -8], [5, 10], [2, 1], [-3, 3]])
    for words, weights in (
        ([0, 2, 1], [[1, 0, 0], [0.75, 0.25, 0], [0.25, 0.25, 0.5]]),
        ([2], [[1]]),
        (
            [5, 4, 6, 3],
            [[1, 0, 0, 0], [0.8, 0.2, 0, 0], [0.5, 0.25, 0.25, 0], [0.2, 0.2, 0.2, 0.4]],
        ),
        ([0, 4], [[1, 0], [0.2, 0.8]]),
        ([1, 1, 5, 1], np.tri(4) / np.arange(1, 5)[:, np.newaxis]),
    ):
        yield _mixture(words, np.array(weights, dtype=float), table)
    yield _mixture([3, 2, 2, 0], np.eye(4), table, whole=True)
    yield _mixture(
        [3, 0, 1], np.array([[1, 0, 0], [0.5, 0.5, 0], [0.9, 0.05, 0.05]]), table[:4, 1:]
    )
    deep = np.array([[1.0, 2, 0], [1, 2, 3], [1, 5, 3], [4, 2, 3], [-1, -2, -3], [2, 1, 3]])
    yield _mixture([1, 0, 3, 2, 4, 5], np.tri(6) / np.arange(1, 7)[:, np.newaxis], deep)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, d = 4 + seed, 1 + seed % 4
        table = rng.normal(size=(12, d)) * rng.uniform(0.5, 4, (12, 1))
        q, k = rng.normal(size=(2, n, 2))
        weights = reference.attention_weights(q, k, mask=np.tri(n, dtype=bool))
        yield _mixture(rng.integers(0, 12, n), weights, table)


def _mixture(words: Any, a: np.ndarray, table: np.ndarray, whole: bool = False) -> Case:
    return case(a=a, y=a @ table[words], table=table, want=np.asarray(words), whole=whole)


def _distances(rows: np.ndarray, table: np.ndarray) -> np.ndarray:
    return np.asarray(((rows[:, np.newaxis] - table) ** 2).sum(axis=-1))


def _nearest_to(rows: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Function:
    """Return the words nearest to what a function makes of a and y in place of the values."""
    return lambda a, y, table: _distances(rows(a, y), table).argmin(axis=-1)


def _judged_by(words: Callable[[np.ndarray, np.ndarray], Any]) -> Function:
    """Return what a function makes of the right values and the table."""
    return lambda a, y, table: words(np.linalg.solve(a, y), table)


def _equal(values: np.ndarray, table: np.ndarray) -> np.ndarray:
    return np.asarray((values[:, np.newaxis] == table).all(axis=-1))


_ROUNDED = "The unmixed rows differ from those of the table by rounding errors"


@exercise(
    "3.12",
    praise="Every sentence was read back from its mixed rows, with words that repeat, long "
    "embeddings beside short ones, and weights that spread over the whole past.",
    hints=(
        "The rows of y are mixtures, and you are given the weights of each mixture. Which equation "
        "ties y, the weights and the unmixed rows together?",
        "A triangular table with a positive diagonal can be inverted: the first word is not mixed "
        "at all, the second only with the first, and so on.",
        "Once the rows are unmixed, each equals a row of the table, up to rounding. Find the "
        "nearest by distance; a dot product would prefer long embeddings.",
    ),
    cases=_mixtures,
    mutants={
        "You looked for the embedding nearest to each row of y, which is a mixture. Undo the "
        "mixing first.": _nearest_to(lambda a, y: y),
        "The largest dot product goes to a long embedding. Look for the nearest one.": _judged_by(
            lambda values, table: (values @ table.T).argmax(axis=-1)
        ),
        "Embeddings 0 and 4 have the same direction, and the same cosine with every row. Look for "
        "the nearest one.": _judged_by(
            lambda values, table: (
                (values @ table.T / np.linalg.norm(table, axis=-1)).round(9).argmax(axis=-1)
            )
        ),
        "The weights were used on their side: row t of a mixed the words into row t of y.": (
            _nearest_to(lambda a, y: np.linalg.solve(a.T, y))
        ),
        "The weights have mixed the words once already; a second time leads farther away.": (
            _nearest_to(lambda a, y: a @ y)
        ),
        "You divided each row by its own weight; the words before it are still in it.": (
            _nearest_to(lambda a, y: y / np.diag(a)[:, np.newaxis])
        ),
        "One over each entry is not the inverse of a table: `a**-1` is taken entry by entry.": (
            _nearest_to(lambda a, y: (1 / a) @ y)
        ),
        "The words before it were taken off as they stand in y; take them off unmixed.": (
            _nearest_to(lambda a, y: (y - np.tril(a, -1) @ y) / np.diag(a)[:, np.newaxis])
        ),
        f"{_ROUNDED}, so `==` finds none there. Look for the nearest.": _judged_by(
            lambda values, table: [np.flatnonzero(row)[0] for row in _equal(values, table)]
        ),
        f"{_ROUNDED}: `==` finds none, and `argmax` of no True is 0. Look for the nearest.": (
            _judged_by(lambda values, table: _equal(values, table).argmax(axis=-1))
        ),
        f"{_ROUNDED}; of all pairs that are equal, too few are left. Look for the nearest.": (
            _judged_by(lambda values, table: np.nonzero(_equal(values, table))[1])
        ),
        "The first coordinate alone does not tell the words apart; measure the distance.": (
            _judged_by(
                lambda values, table: np.abs(values[:, :1] - table[:, 0]).round(9).argmin(axis=-1)
            )
        ),
        "The last coordinate alone does not tell the words apart; measure the distance.": (
            _judged_by(
                lambda values, table: np.abs(values[:, -1:] - table[:, -1]).round(9).argmin(axis=-1)
            )
        ),
        "You compare the lengths of vectors; vectors of one length may lie far apart.": _judged_by(
            lambda values, table: (
                np.abs(
                    np.linalg.norm(values, axis=-1)[:, np.newaxis] - np.linalg.norm(table, axis=-1)
                )
                .round(9)
                .argmin(axis=-1)
            )
        ),
        "Differences that are added up with their signs make up for each other.": _judged_by(
            lambda values, table: (
                np.abs((values[:, np.newaxis] - table).sum(axis=-1)).round(9).argmin(axis=-1)
            )
        ),
        "Those are the largest distances; the nearest embedding has the smallest.": _judged_by(
            lambda values, table: _distances(values, table).argmax(axis=-1)
        ),
        "That is made along the wrong axis: for each embedding the nearest row, and not for each "
        "row the nearest embedding.": _judged_by(
            lambda values, table: _distances(values, table).argmin(axis=0)
        ),
        "Those are the embeddings; their places in the table are asked for.": _judged_by(
            lambda values, table: values
        ),
        "Those are rows of zeros with a one; the place of the one is asked for.": _judged_by(
            lambda values, table: np.eye(len(table))[_distances(values, table).argmin(axis=-1)]
        ),
    },
    kind=Marks(),
    otherwise="There is a word for each row of y, and a times their embeddings should give y.",
)
def recover(a: np.ndarray, y: np.ndarray, table: np.ndarray) -> np.ndarray:
    """The words behind the outputs of causal attention."""
    return np.asarray(_distances(np.linalg.solve(a, y), table).argmin(axis=-1))
