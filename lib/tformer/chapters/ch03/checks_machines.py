"""Exercises 3.12 and 3.13: a sentence read back from its mixtures, and a table in strips."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tformer import reference
from tformer.chapters.ch03.checks_rows import (
    FAR,
    KEYS,
    QUERY,
    VALUES,
    Mutant,
)
from tformer.exercises import say
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.kinds import Array, Marks
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.scales import wrongly_scaled
from tformer.exercises.softmaxes import scaled_scores, wrongly_weighed
from tformer.exercises.table import Case, case


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


def _nearest_to(rows: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Mutant:
    """Return the words nearest to what a function makes of a and y in place of the values."""
    return lambda a, y, table: _distances(rows(a, y), table).argmin(axis=-1)


def _judged_by(words: Callable[[np.ndarray, np.ndarray], Any]) -> Mutant:
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


@dataclass(frozen=True)
class Rows(Array):
    """A table whose rows may be computed a few at a time."""

    def remark(self, got: Any, want: Any) -> str:
        """Say which rows of an answer are right, if only these can be."""
        if got.ndim == 2 and 0 < len(got) < len(want) and got.shape[1] == want.shape[1]:
            if np.allclose(got, want[: len(got)]):
                return "The last rows are missing: what becomes of the last strip?"
            if np.allclose(got, want[-len(got) :]):
                return "Only the last strip is there: what becomes of those before it?"
        if got.shape == want.shape:
            right = np.isclose(got, want, atol=1e-8).all(axis=-1)
            first = int(right.argmin())
            if first > 3 and not right[first:].any():
                return f"All rows before row {first} are right: what becomes of the rest?"
        return super().remark(got, want)


_WHOLE = "Whole numbers came in. Of which type is the array that you write into?"


def _strips() -> Iterator[Case | Callable[[Answer], None]]:
    yield case(q=QUERY[np.newaxis], k=KEYS, v=VALUES, want=[[4, 5]])
    two = np.array([[8.0], [16]])
    for heights, keys in (
        ([1000, 0], [1, 1]),
        ([1000, -1000, 0], [1, 0.5]),
        ([5000, 1], [1, 0]),
        ([-1], [2000, 2001]),
    ):
        q, k = (np.array(x, dtype=float)[:, np.newaxis] for x in (heights, keys))
        yield case(q=q, k=k, v=two, why=FAR)
    for n in (2, 3, 7, 64, 65, 100, 128, 130, 257):
        m = n // 2 + 2
        q, k, v = integers(n, (n, 4)), integers(n + 1, (m, 4)), integers(n + 2, (m, 2))
        said = f"{n} queries, {m} keys" if q.size > say.FEW else ""
        yield case(q=q, k=k, v=v, said=said, why=_WHOLE * (n == 7), whole=n == 7)
    q, k, v = integers(1, (5, 3)), integers(2, (200, 3)), integers(3, (200, 1))
    yield case(q=q, k=k, v=v, said="5 queries, 200 keys")
    yield _check_memory


def _key_strips(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Add up what strips of keys give, each with a softmax of its own."""
    pieces = [slice(start, start + 64) for start in range(0, len(k), 64)]
    return np.asarray(
        sum(reference.attention(q * 1.0, k[piece] * 1.0, v[piece] * 1.0) for piece in pieces)
    )


@exercise(
    "3.13",
    praise="The same numbers as from the whole table, for 1 to 257 queries, for rows of scores far "
    "apart, and with memory for a small part of the table only.",
    hints=(
        "A row of the output needs only its own row of scores. So the rows can be computed a few "
        "at a time.",
        "Take a strip of, say, 64 queries, compute its outputs, and write them into their place. "
        "The last strip may be shorter.",
        "Slices that run past the end are cut by NumPy, so `q[start : start + 64]` is right for "
        "the last strip too. The softmax is that of the definition, row by row.",
    ),
    cases=_strips,
    mutants={
        "Nothing was computed. Fewer queries than fill a strip still need one.": lambda q, k, v: (
            np.concatenate(
                [
                    reference.attention(q, k, v)[: len(q) // 64 * 64],
                    np.zeros((len(q) % 64, v.shape[1])),
                ]
            )
        ),
        "Strips of keys have been added up, each with weights that add up to one; all keys "
        "together should.": _key_strips,
    }
    | wrongly_weighed(lambda weigh, q, k, v: weigh(scaled_scores(q, k)) @ v)
    | wrongly_scaled(lambda scale, q, k, v: reference.attention(q, k, v, scale=scale(q, k))),
    kind=Rows(),
    otherwise="Compare with the definition, row by row.",
)
def attention_in_strips(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Attention without the whole table of weights."""
    return reference.attention(q, k, v)


def _check_memory(f: Answer) -> None:
    n = 1500
    q, k, v = integers(1, (n, 2)), integers(2, (n, 2)), integers(3, (n, 2))
    peak = f.peak_bytes(said=f"{n} queries and keys", q=q, k=k, v=v)
    if peak > 6e6:
        raise Wrong(
            f"The numbers are right, but for {n} queries and {n} keys {f.name} holds "
            f"{peak / 1e6:.0f} MB at once, and one table of weights takes {8 * n * n / 1e6:.0f} "
            "MB. Keep a few rows of it at a time."
        )
