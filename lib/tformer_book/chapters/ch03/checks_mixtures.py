"""Exercise 3.12: a sentence read back from its mixtures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.exercises.kinds import Marks
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray


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
    close = table[[2, 2, 2, 2, 0]] + 0.001 * np.array([[0, 0], [0, 1], [2, 0], [0, 2], [0, 0]])
    weights = np.array([[1, 0, 0, 0], [0.9, 0.1, 0, 0], [0.5, 0.49, 0.01, 0], [0.1, 0.2, 0.3, 0.4]])
    yield _mixture([3, 2, 1, 0], weights, close)
    yield _mixture([3, 2, 1, 0], weights, close + [0, 1000])
    yield _mixture([1, 0], weights[:2, :2], np.array([[0.04], [0.06], [3]]))
    yield _mixture([0, 0], weights[:2, :2], table[:1])
    deep = np.array([[1.0, 2, 0], [1, 2, 3], [1, 5, 3], [4, 2, 3], [-1, -2, -3], [2, 1, 3]])
    yield _mixture([1, 0, 3, 2, 4, 5], np.tri(6) / np.arange(1, 7)[:, np.newaxis], deep)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, d = 4 + seed, 1 + seed % 4
        table = rng.normal(size=(12, d)) * rng.uniform(0.5, 4, (12, 1))
        q, k = rng.normal(size=(2, n, 2))
        weights = reference.attention_weights(q, k, mask=np.tri(n, dtype=bool))
        yield _mixture(rng.integers(0, 12, n), weights, table)


def _mixture(words: Any, a: Array, table: Array, whole: bool = False) -> Case:
    return case(a=a, y=a @ table[words], table=table, want=np.asarray(words), whole=whole)


def _each_once(a: Array, y: Array, table: Array) -> list[int]:
    gaps = np.linalg.solve(a, y)[:, np.newaxis] - table
    found: list[int] = []
    for row in (gaps**2).sum(axis=-1):
        row[found] = np.inf
        found.append(int(row.argmin()))
    return found


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
    slips="""
        np.linalg.solve(a, y) → a.T @ y
            You multiplied by the transpose of the weights, which does not undo the mixing.
        np.linalg.solve(a, y) → y
            You looked for the embedding nearest to each row of y, which is a mixture. Undo the
            mixing first.
        np.linalg.solve(a, y) → np.linalg.solve(a.T, y)
            The weights were used on their side: row t of a mixed the words into row t of y.
        np.linalg.solve(a, y) → a @ y
            The weights have mixed the words once already; a second time leads farther away.
        np.linalg.solve(a, y) → y / np.diag(a)[:, np.newaxis]
            You divided each row by its own weight; the words before it are still in it.
        np.linalg.solve(a, y) → (1 / a) @ y
            One over each entry is not the inverse of a table: `a**-1` is taken entry by entry.
        np.linalg.solve(a, y) → (y - np.tril(a, -1) @ y) / np.diag(a)[:, np.newaxis]
            The words before it were taken off as they stand in y; take them off unmixed.
        distances.argmin(axis=-1) → (values @ table.T).argmax(axis=-1)
            The largest dot product goes to a long embedding. Look for the nearest one.
        distances.argmin → (-values @ table.T / np.linalg.norm(table, axis=-1)).round(9).argmin
            Embeddings 0 and 4 have the same direction, and the same cosine with every row. Look
            for the nearest one.
        distances.argmin(axis=-1) → [np.flatnonzero(row)[0] for row in (gaps == 0).all(axis=-1)]
            The unmixed rows differ from those of the table by rounding errors, so `==` finds none
            there. Look for the nearest.
        distances.argmin(axis=-1) → (gaps == 0).all(axis=-1).argmax(axis=-1)
            The unmixed rows differ from those of the table by rounding errors: `==` finds none, and
            `argmax` of no True is 0. Look for the nearest.
        distances.argmin(axis=-1) → [_places_of(x, table)[0] for x in values]
            The unmixed rows differ from those of the table by rounding errors, so a list of the
            equal ones may be empty. Look for the nearest.
        distances.argmin(axis=-1) → np.nonzero((gaps == 0).all(axis=-1))[1]
            The unmixed rows differ from those of the table by rounding errors; of all pairs that
            are equal, too few are left. Look for the nearest.
        distances.argmin(axis=-1) → np.isclose(gaps, 0).any(axis=-1).argmax(axis=-1)
            One coordinate that agrees is not enough; a word agrees in all.
        distances.argmin → np.abs(gaps[..., 0]).round(9).argmin
            The first coordinate alone does not tell the words apart; measure the distance.
        distances.argmin → np.abs(gaps[..., -1]).round(9).argmin
            The last coordinate alone does not tell the words apart; measure the distance.
        distances.argmin → _lengths_apart(values, table).argmin
            You compare the lengths of vectors; vectors of one length may lie far apart.
        distances.argmin → np.abs(gaps.sum(axis=-1)).round(9).argmin
            Differences that are added up with their signs make up for each other.
        distances.argmin(axis=-1) → distances.argmax(axis=-1)
            Those are the largest distances; the nearest embedding has the smallest.
        distances.argmin(axis=-1) → distances.argmin(axis=0)
            That is made along the wrong axis: for each embedding the nearest row, and not for each
            row the nearest embedding.
        distances.argmin(axis=-1) → values
            Those are the embeddings; their places in the table are asked for.
        distances.argmin(axis=-1) → np.eye(len(table))[$]
            Those are rows of zeros with a one; the place of the one is asked for.
        distances.argmin(axis=-1) → $[a.argmax(axis=-1)]
            Once they are unmixed, row t is word t, whichever weight is the largest.
        values[:, np.newaxis] - table → values.round(1)[:, np.newaxis] - table.round(1)
            Rounded, two embeddings may fall together.
        distances.argmin → distances.astype(np.float32).round(3).argmin
            Embeddings may lie close together: the digits that you cut off tell them apart.
        distances.argmin(axis=-1) → (distances < 0.01).argmax(axis=-1)
            The first embedding within some distance need not be the nearest one.
        gaps**2 → (np.round(values)[:, np.newaxis] - np.round(table)) ** 2
            The numbers were rounded before they were compared; words may differ by less.
        np.linalg.solve(a, y) → np.diff(y, axis=0, prepend=0 * y[:1])
            Differences of neighbouring rows are no words; take off all earlier words by their
            weights.
        np.linalg.solve(a, y) → np.linalg.solve(a.T @ a + 1e-2 * np.eye(len(a)), a.T @ y)
            Something is added to the equations, which bends their solution.
        np.linalg.solve(a, y) → np.linalg.pinv(a, rcond=0.3) @ y
            Small singular values were left out, and with them a part of the words.
    """,
    mutants={"Each word was given once; a word may stand in several places.": _each_once},
    kind=Marks(),
    otherwise="There is a word for each row of y, and a times their embeddings should give y.",
)
def recover(a: Array, y: Array, table: Array) -> Array:
    """The words behind the outputs of causal attention."""
    values = np.linalg.solve(a, y)
    gaps = values[:, np.newaxis] - table
    distances = (gaps**2).sum(axis=-1)
    return np.asarray(distances.argmin(axis=-1))


def _places_of(row: Array, table: Array) -> list[int]:
    return [i for i, embedding in enumerate(table) if (embedding == row).all()]


def _lengths_apart(values: Array, table: Array) -> Array:
    """How far the lengths of rows and embeddings differ, (T, words)."""
    lengths = (np.linalg.norm(rows, axis=-1) for rows in (values, table))
    return np.asarray(np.abs(np.subtract.outer(*lengths)).round(9))
