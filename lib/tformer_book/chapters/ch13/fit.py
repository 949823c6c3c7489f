"""Two tables of answers, each given the other's word: do they fit one distribution of pairs?

`first` (N, M) has in column y the probabilities of the first word if the second one is y, and
`second` (N, M) in row x those of the second word if the first one is x.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

__all__ = ["conditionals", "cross_ratios", "drawn", "islands", "joint", "rounds"]

Array = np.ndarray


def conditionals(r: Array) -> tuple[Array, Array]:
    """Both tables of answers of a distribution of pairs (N, M)."""
    return r / r.sum(axis=0), r / r.sum(axis=1, keepdims=True)


def cross_ratios(table: Array) -> Array:
    """For each pair of words, t[x, y] t[0, 0] / (t[x, 0] t[0, y]): (N, M)."""
    return table * table[0, 0] / (table[:, :1] * table[:1])


def joint(first: Array, second: Array) -> Array:
    """The only distribution of pairs that can have both tables of answers, (N, M)."""
    share = first[:, :1] / second[:, :1]
    r = second * share
    return r / r.sum()


def rounds(first: Array, second: Array, x: Array, n: int) -> Array:
    """The distribution of the first word (N,) after n rounds: draw the second, then the first."""
    for _ in range(n):
        x = first @ (x @ second)
    return x


def drawn(first: Array, second: Array, n: int = 200) -> tuple[Array, Array]:
    """What many rounds bring: the pairs (N, M) if the first word was drawn last, or the second."""
    x = rounds(first, second, np.full(len(first), 1 / len(first)), n)
    return first * (x @ second), second * x[:, None]


def islands(rows: Array) -> Array:
    """How many texts can be reached from each other by drawing one word anew at a time.

    Parameters
    ----------
    rows : (n, T) integer array
        All texts there are.

    Returns
    -------
    (m,) integer array
        The size of each set that is never left.
    """
    n, length = rows.shape
    rests = [
        np.unique(np.delete(rows, t, 1), axis=0, return_inverse=True)[1] for t in range(length)
    ]
    hubs = np.concatenate([n * (t + 1) + rest.ravel() for t, rest in enumerate(rests)])
    texts, size = np.tile(np.arange(n), length), n * (length + 1)
    linked = coo_array((np.ones(len(hubs)), (texts, hubs)), shape=(size, size))
    _, which = connected_components(linked, directed=False)
    return np.unique(which[:n], return_counts=True)[1]
