"""The small world's exact uncertainty: of the last noun, of any word, and of a word taken out.

The sentence of the row opens a story here: *The animal did not cross the street because it was too
tired. So they woke the animal.* Who "it" is shows in the last noun, the *patient*.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from tformer_book.world.stories import Stories, stories

__all__ = ["LAST", "contexts", "given", "left", "masked", "ngrams", "tokens"]
__all__ += ["uncertainties", "uncertainty", "world"]

LAST = 18
"""The place of the patient, after the full stop at 0."""


@cache
def world() -> Stories:
    """The stories of the opening page, all alike."""
    return stories()


@cache
def tokens() -> np.ndarray:
    """The stories as numbers of words, (n, T + 1)."""
    return world().tokens()


def uncertainty(rows: np.ndarray, p: np.ndarray) -> float:
    """The entropy of rows (n, T), in nats, drawn with probabilities p."""
    return float(uncertainties(rows, p)[-1])


def uncertainties(rows: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The entropy of the first 0, 1, …, T columns of rows (n, T), in nats."""
    which, found = np.zeros(len(rows), dtype=int), [0.0]
    for column in rows.T:
        _, which = np.unique(which * (column.max() + 2) + column + 1, return_inverse=True)
        total = np.bincount(which, weights=p)
        total = total[total > 0]
        found.append(float(-(total * np.log(total)).sum()))
    return np.array(found)


def contexts(rows: np.ndarray, k: int) -> np.ndarray:
    """A number for the k columns before each column of rows (n, T), and for what is in them."""
    seen, n = np.zeros(rows.shape, dtype=int), rows.shape[1]
    for back in range(1, k + 1):
        before = np.pad(rows, ((0, 0), (back, 0)), constant_values=-1)[:, :n]
        _, seen = np.unique(seen * (rows.max() + 2) + before + 1, return_inverse=True)
        seen = seen.reshape(rows.shape)
    return seen


def given(rows: np.ndarray, p: np.ndarray, asked: int, told: list[int]) -> float:
    """H(asked | told): the uncertainty of one column of a table, given some others."""
    return uncertainty(rows[:, [*told, asked]], p) - uncertainty(rows[:, told], p)


@cache
def left(k: int) -> float:
    """What the last k words before the patient leave open, in nats."""
    one = world()
    return given(tokens(), one.p, LAST, list(range(LAST - k, LAST)))


@cache
def ngrams(k: int) -> float:
    """The uncertainty of a word given the last k words, on average over the places of a story.

    Words before the full stop that a story follows are not told.
    """
    one = world()
    rows = np.pad(tokens(), ((0, 0), (k, 0)), constant_values=-1)
    length = rows.shape[1] - k - 1
    windows = np.concatenate([rows[:, t : t + k + 1] for t in range(1, length + 1)])
    return given(windows, np.tile(one.p, length) / length, k, list(range(k)))


def masked() -> np.ndarray:
    """The uncertainty of each word of a story given all others, (T,)."""
    one = world()
    rows = tokens()[:, 1:]
    places = range(rows.shape[1])
    return np.array([given(rows, one.p, t, [s for s in places if s != t]) for t in places])
