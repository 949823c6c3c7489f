"""Exercise 6.7: heads that share keys and values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.scales import SCALE_MUTANTS, scaled
from tformer_book.exercises.softmaxes import SOFTMAX_MUTANTS, measured_from, scaled_scores, weighed
from tformer_book.exercises.table import Case, case, each


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
            ((), 12, 3, 2, 2, 2, 1),
            ((), 10, 2, 1, 2, 1, 2),
            ((), 8, 4, 2, 2, 2, 2),
        )
    ):
        q = integers(seed, (*batch, n_heads, t, d_k))
        k, v = (
            integers(seed + 20, (*batch, n_groups, s, d_k)),
            integers(seed + 40, (*batch, n_groups, s, d_v)),
        )
        yield case(q=q, k=k, v=v, why="Heads that share a table are neighbours, and equally many.")
    yield case(q=1000 * q, k=k, v=v)


def _wide_keys() -> Case:
    """Return a case with keys of width 4, so that scores are to be halved."""
    q, k = np.zeros((2, 2, 4)), np.zeros((1, 3, 4))
    q[0, 0, 0] = q[1, 1, 0] = 1
    k[0, :, 0] = 0, 2 * np.log(3), 2 * np.log(4)
    exactly = "Halved, the scores make the weights 1/8, 3/8 and 4/8, or thirds where all are 0."
    v = np.array([[[0.0], [8], [16]]])
    return case(q=q, k=k, v=v, want=[[[11], [8]], [[8], [11]]], why=exactly)


def _flat(table: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the rows of all groups one after the other, the same for every head."""
    *batch, n_groups, n, width = table.shape
    return np.broadcast_to(
        table.reshape(*batch, 1, n_groups * n, width), (*q.shape[:-2], n_groups * n, width)
    )


def _averaged(heads: np.ndarray, times: int) -> np.ndarray:
    """Return the mean over the heads of each group."""
    shape = (*heads.shape[:-3], -1, times, *heads.shape[-2:])
    return np.asarray(heads.reshape(shape).mean(axis=-3))


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
    slips="""
        np.repeat(table, times, axis=-3) → np.concatenate([table] * times, axis=-3)
            Heads took the tables in turn; those that share one are neighbours.
        reference.attention(q, k, v) → reference.attention(q, k, _in_turn(v, times))
            The keys are those of the right tables; heads took the values in turn.
        np.repeat(table, times, axis=-3) → np.repeat(table[..., :1, :, :], q.shape[-3], axis=-3)
            All heads used the first table.
        np.repeat(table, times → np.repeat(table[..., ::-1, :, :], times
            The groups are in the opposite order.
        reference.attention(q, k, v) → _averaged($, times)
            The heads of a group were averaged; each has an output of its own.
        attention(q, k, v) → attention(np.repeat(_averaged(q, times), times, axis=-3), k, v)
            The queries of a group were averaged; each head asks for itself.
        = reference.attention(q, _flat(k, q), _flat(v, q))
            All keys of all tables were asked at once; a head uses one table.
        reference.attention(q, k, v) → np.stack(np.split($, q.shape[-3] // times, -3), axis=-4)
            The numbers are right. Groups and the heads in them are one axis, that of all heads.
        reference.attention → reference.causal_attention
            Later keys were hidden; every query attends to all keys here.
        attention(q, k, v) → attention(q, k, v, scale=v.shape[-1] ** -0.5)
            You divided by the root of the width of the values. The scale belongs to the queries.
        attention(q, k, v) → attention(q, k, v, scale=(times * q.shape[-1]) ** -0.5)
            You divided by the root of the width of all heads of a group; the scale belongs to one.
        reference.attention → _by_one_maximum
            One maximum was taken for all queries of a head; each row needs one of its own.
    """,
    mutants=each(
        lambda scale, q, k, v: scaled(scale, q, *_repeated(q, k, v)),
        SCALE_MUTANTS,
    )
    | each(
        lambda weigh, q, k, v: weighed(weigh, q, *_repeated(q, k, v)),
        SOFTMAX_MUTANTS,
    ),
    otherwise="Head h uses table number h // (H // G), for keys and for values.",
)
def grouped(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Grouped-query attention."""
    times = q.shape[-3] // k.shape[-3]
    k, v = (np.repeat(table, times, axis=-3) for table in (k, v))
    return reference.attention(q, k, v)


def _repeated(q: np.ndarray, *tables: np.ndarray) -> list[np.ndarray]:
    return [np.repeat(table, q.shape[-3] // table.shape[-3], axis=-3) for table in tables]


def _by_one_maximum(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    scores = scaled_scores(q, k)
    return measured_from(scores, scores.max(axis=(-2, -1), keepdims=True)) @ v


def _in_turn(repeated: np.ndarray, times: int) -> np.ndarray:
    """Return tables that have been repeated, as if the heads took them in turn."""
    return np.concatenate([repeated[..., ::times, :, :]] * times, axis=-3)
