"""Exercise 6.7: heads that share keys and values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from tformer import reference
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.scales import SCALE_MUTANTS, scaled
from tformer.exercises.table import Case, case, each

Attend = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def _groups() -> Iterator[Case]:
    q = np.array([[[0.0]], [[1]], [[0]], [[1]]])
    k, v = (
        np.array([[[0.0], [np.log(3)]], [[np.log(3)], [0]]]),
        np.array([[[0.0], [8]], [[80], [160]]]),
    )
    exactly = (
        "Heads 0 and 1 use the first table, heads 2 and 3 the second; all weights are quarters."
    )
    yield case(q=q, k=k, v=v, want=[[[4]], [[6]], [[120]], [[100]]], why=exactly)
    yield _wide_keys()
    for seed, (batch, n_heads, n_groups, t, s, d_k, d_v) in enumerate(
        (
            ((), 6, 2, 2, 3, 2, 1),
            ((), 6, 3, 1, 4, 1, 2),
            ((), 4, 1, 3, 2, 2, 2),
            ((), 3, 3, 2, 2, 4, 1),
            ((2,), 4, 2, 2, 3, 2, 3),
            ((2, 1), 6, 2, 2, 5, 3, 2),
            ((), 8, 4, 2, 2, 2, 2),
        )
    ):
        q = integers(seed, (*batch, n_heads, t, d_k))
        k, v = (
            integers(seed + 20, (*batch, n_groups, s, d_k)),
            integers(seed + 40, (*batch, n_groups, s, d_v)),
        )
        yield case(q=q, k=k, v=v)
    yield case(q=1000 * q, k=k, v=v)


def _wide_keys() -> Case:
    """Return a case with keys of width 4, so that scores are to be halved."""
    q, k = np.zeros((2, 2, 4)), np.zeros((1, 3, 4))
    q[0, 0, 0] = q[1, 1, 0] = 1
    k[0, :, 0] = 0, 2 * np.log(3), 2 * np.log(4)
    exactly = "Halved, the scores make the weights 1/8, 3/8 and 4/8, or thirds where all are 0."
    v = np.array([[[0.0], [8], [16]]])
    return case(q=q, k=k, v=v, want=[[[11], [8]], [[8], [11]]], why=exactly)


def _chosen(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    which: Callable[[int, int], np.ndarray],
    attend: Attend,
) -> np.ndarray:
    tables = which(q.shape[-3], k.shape[-3])
    return attend(q, k[..., tables, :, :], v[..., tables, :, :])


def _flat(table: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the rows of all groups one after the other, the same for every head."""
    *batch, n_groups, n, width = table.shape
    return np.broadcast_to(
        table.reshape(*batch, 1, n_groups * n, width), (*q.shape[:-2], n_groups * n, width)
    )


def _neighbours(n_heads: int, n_groups: int) -> np.ndarray:
    return np.arange(n_heads) * n_groups // n_heads


def _heads(which: Callable[[int, int], np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda q, k, v: _chosen(q, k, v, which, reference.attention)


@exercise(
    "6.7",
    praise="Every number of tables from one to as many as heads, other numbers of keys than of "
    "queries, batches, and scores of thousands.",
    hints=(
        "Which table does head h use, if there are H/G heads to a table?",
        "Table h // (H // G). Repeat each table as often as it is used.",
        "np.repeat repeats an entry next to itself, np.tile the whole row.",
    ),
    cases=_groups,
    mutants={
        "Heads took the tables in turn; those that share one are neighbours.": _heads(
            lambda h, g: np.arange(h) % g
        ),
        "All heads used the first table.": _heads(lambda h, g: np.zeros(h, dtype=int)),
        "The groups are in the opposite order.": _heads(lambda h, g: _neighbours(h, g)[::-1]),
        "The heads of a group were averaged; each has an output of its own.": lambda q, k, v: (
            _heads(_neighbours)(q, k, v)
            .reshape(
                *q.shape[:-3], k.shape[-3], q.shape[-3] // k.shape[-3], q.shape[-2], v.shape[-1]
            )
            .mean(axis=-3)
        ),
        "All keys of all tables were asked at once; a head looks at one table.": lambda q, k, v: (
            reference.attention(q, _flat(k, q), _flat(v, q))
        ),
    }
    | each(
        lambda scale, q, k, v: _chosen(q, k, v, _neighbours, partial(scaled, scale)), SCALE_MUTANTS
    ),
    otherwise="Head h uses table number h // (H // G), for keys and for values.",
)
def grouped(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Grouped-query attention."""
    return _heads(_neighbours)(q, k, v)
