"""Exercises 3.1 and 3.2: one query, and one sentence that reads another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tformer import reference
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.scales import wrongly_scaled
from tformer.exercises.softmaxes import measured_from, scaled_scores, wrongly_weighed
from tformer.exercises.table import Case, case

Mutant = Callable[..., Any]


def _single_queries() -> Iterator[Case]:
    yield case(q=QUERY, k=KEYS, v=VALUES, want=(4, 5), why=_MEAN)
    for scores in ([1000, 0], [1000, 999], [-1000, -1001], [5000, 0, 0], [-2, -2, -2, -900]):
        k = np.array(scores, dtype=float)[:, np.newaxis]
        yield case(q=np.ones(1), k=k, v=np.arange(5.0, 5 + len(k))[:, np.newaxis], why=FAR)
    for seed, (n, width, deep) in enumerate(
        [(1, 1, 1), (3, 2, 1), (2, 1, 3), (3, 3, 3), (4, 2, 2)]
    ):
        yield case(
            q=integers(seed, (width,)) * (seed < 4),
            k=integers(seed + 9, (n, width)),
            v=integers(seed, (n, deep)),
            why=_WHOLE if seed > 2 else _MEAN,
            whole=seed > 2,
        )


_MEAN = "The output is a mean of the rows of v."
_WHOLE = "Whole numbers go in, and their mean need not be whole."
FAR = (
    "Only differences of scores count. Measure all of them from the largest one, and change "
    "nothing else."
)
QUERY, VALUES = np.array([2.0, 1, 0, 0]), np.array([[6.0, 0], [0, 6], [6, 6]])
KEYS = np.array([[0.0, 0, 0, 0], [np.log(2), 0, 0, 0], [np.log(3), 0, 0, 0]])
_DIVISORS: dict[str, Mutant] = {  # the scores are 2 log 1, 2 log 2, 2 log 3; they are divided by 2
    "The scores are not scaled: divide them by √4 = 2.": lambda q, k, v: 1.0,
    "You divided the scores by d_k = 4; the scale is 1/√d_k.": lambda q, k, v: len(q),
    "You multiplied the scores by √d_k; divide by it.": lambda q, k, v: len(q) ** -0.5,
    "You divided the scores by 8: in `/ d_k**1/2` one divides by d_k, and then by 2.": (
        lambda q, k, v: 2 * len(q)
    ),
    "You divided the scores by √3, the root of the number of keys. Queries have width 4.": (
        lambda q, k, v: len(k) ** 0.5
    ),
    "You divided the scores by 3, the number of keys; take the root of the width.": (
        lambda q, k, v: len(k)
    ),
    "You divided the scores by the root of the width of the values.": (
        lambda q, k, v: v.shape[-1] ** 0.5
    ),
    "You divided the scores by the length of q, √5. Its width is 4, whatever q is.": (
        lambda q, k, v: float(reference.norm(q))
    ),
    "A single query has one axis, number 0; `q.shape[1]` asks for a second.": (
        lambda q, k, v: q.shape[1] ** 0.5
    ),
}
_WEIGHTS: dict[str, Mutant] = {  # from scaled scores to what serves as weights
    "The exponentials are not divided by their sum: the weights add up to 6.": np.exp,
    "The scaled scores served as weights; their softmax should.": lambda s: s,
    "The weights are scores divided by their sum; softmax takes the exponentials first.": (
        lambda s: s / s.sum()
    ),
    "All values got the same weight.": lambda s: np.ones_like(s) / len(s),
    "That is the value of the best key alone; all keys have a say.": (
        lambda s: np.eye(len(s))[s.argmax()]
    ),
    "exp(1000) is more than a float64 can hold. Subtract the largest score.": (
        lambda s: np.exp(s) / np.exp(s).sum()
    ),
    "You subtract the smallest score, and what lies far above it overflows.": (
        lambda s: measured_from(s, s.min())
    ),
    "You subtract the mean of the scores. The largest may lie so far above it that its exponential "
    "overflows.": lambda s: measured_from(s, s.mean()),
    "You subtract the largest magnitude. Of negative scores the largest is the one nearest to 0.": (
        lambda s: measured_from(s, np.abs(s).max())
    ),
    "Scores that are clipped lose their differences.": lambda s: measured_from(
        np.clip(s, -700, 700), 0.0
    ),
}


def _divided(divisor: Mutant, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.asarray(reference.softmax(k @ q / divisor(q, k, v)) @ v)


def _weighed(weigh: Mutant, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.asarray(weigh(k @ q / len(q) ** 0.5) @ v)


def _single(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    return reference.attention_weights(q[np.newaxis], k)[0]


@exercise(
    "3.1",
    praise="Checked by hand, for keys and values of several widths, and for scores so far apart "
    "that one value is copied.",
    hints=(
        "Three steps, each a line: scores, weights, mean. The first gives one number for each key.",
        "The weights are a softmax of the scaled scores. They say how much of each row of v is "
        "taken.",
        "A row vector of weights times the table of values adds up the rows of the table. Before "
        "the exponential, subtract the largest score.",
    ),
    cases=_single_queries,
    mutants={why: partial(_divided, divisor) for why, divisor in _DIVISORS.items()}
    | {why: partial(_weighed, weigh) for why, weigh in _WEIGHTS.items()}
    | {
        "Those are the weights; the values have not been mixed yet.": lambda q, k, v: _single(q, k),
        "The weighted rows of v have not been added up yet.": (
            lambda q, k, v: _single(q, k)[:, np.newaxis] * v
        ),
        "Each weight belongs to a row of v, not to a column.": lambda q, k, v: v @ _single(q, k),
        "You divided by √4 = 2 after the softmax; the scores are scaled, before it.": (
            lambda q, k, v: reference.softmax(k @ q) @ v / len(q) ** 0.5
        ),
        "The values are weighed and the keys handed over; it is the keys that are compared.": (
            lambda q, k, v: _single(q, k) @ k
        ),
    },
)
def answer(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Attention of one query."""
    return np.asarray(_single(q, k) @ v)


def _sentences() -> Iterator[Case]:
    memory = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]])
    yield case(
        x=np.eye(2, 3),
        memory=memory,
        w_q=2 * np.eye(3, 4) * [1, 0, 0, 0],
        w_k=np.log(2) * np.eye(3, 4, -1) * [1, 0, 0, 0],
        w_v=8 * np.eye(3, 2),
        want=[[3, 6], [3.2, 4.8]],
    )
    for seed, (n, width) in enumerate([(2, 2), (2, 4), (3, 2), (1, 3)]):
        yield _reading(seed, (2, 2), (n, 2), width, 3)
    x, (w_q, w_k, w_v) = integers(4, (3, 2)), integers(5, (3, 2, 2))
    yield case(x=x, memory=x, w_q=w_q, w_k=w_k, w_v=w_v)
    batches = "Each batch reads its own memory."
    for seed, (n, width) in enumerate([(4, 1), (3, 2), (2, 3)]):
        yield _reading(seed, (2, n, 2), (2, 3, 2), width, 2, batches)
    yield _reading(7, (2, 3, 2, 2), (2, 3, 4, 2), 4, 1, batches)
    words = np.eye(3)
    for heights in ([1000, -1000, 0], [5000, 0, -1]):
        w_q = np.array(heights, dtype=float)[:, np.newaxis]
        w_k, w_v = np.array([[1.0], [2], [-1]]), np.array([[1.0], [2], [4]])
        yield case(x=words, memory=words[[0, 2, 1, 1]], w_q=w_q, w_k=w_k, w_v=w_v, why=FAR)
    yield case(x=words[:2], memory=words, w_q=words, w_k=2 * words, w_v=words[:, ::-1], whole=True)


def _reading(
    seed: int,
    rows: tuple[int, ...],
    memory: tuple[int, ...],
    width: int,
    deep: int,
    why: str = "",
) -> Case:
    w_q, w_k = integers(seed + 20, (2, rows[-1], width))
    w_v = integers(seed + 1, (rows[-1], deep))
    x = integers(seed, rows)
    return case(x=x, memory=integers(seed + 5, memory), w_q=w_q, w_k=w_k, w_v=w_v, why=why)


@exercise(
    "3.2",
    praise="Checked for sentences of different lengths, for a sentence that reads itself, for keys "
    "narrower and wider than the rows, and in batches.",
    hints=(
        "Of the three tables, one is made from the rows that ask. From which rows are the other "
        "two made?",
        "Give the shapes a letter each. The table of weights has a row for each row of x and a "
        "column for each row of memory.",
        "The scale belongs to the width of the queries, not to the width of x. In a batch, only "
        "the last two axes of the keys are exchanged.",
    ),
    cases=_sentences,
    mutants={
        "The mean is taken of the rows of memory. Project them with w_v.": (
            lambda x, memory, w_q, w_k, w_v: reference.attention(x @ w_q, memory @ w_k, memory)
        ),
        "Keys and values come from x; here they come from memory.": (
            lambda x, memory, w_q, w_k, w_v: reference.attention(x @ w_q, x @ w_k, x @ w_v)
        ),
        "x and memory have changed places: the rows of x ask, those of memory answer.": (
            lambda x, memory, w_q, w_k, w_v: reference.attention(memory @ w_q, x @ w_k, x @ w_v)
        ),
        "w_q and w_k have changed places.": lambda x, memory, w_q, w_k, w_v: reference.attention(
            x @ w_k, memory @ w_q, memory @ w_v
        ),
        "You divided by the root of the width of x. The scale belongs to the width of the "
        "queries.": lambda x, memory, w_q, w_k, w_v: reference.attention(
            x @ w_q, memory @ w_k, memory @ w_v, scale=x.shape[-1] ** -0.5
        ),
        "`shape[1]` is the width of the queries in a single table only; in a stack it is the "
        "number of queries. Count from the end: `shape[-1]`.": (
            lambda x, memory, w_q, w_k, w_v: reference.attention(
                x @ w_q, memory @ w_k, memory @ w_v, scale=(x @ w_q).shape[1] ** -0.5
            )
        ),
        "Those are the weights; the values have not been mixed yet.": (
            lambda x, memory, w_q, w_k, w_v: reference.attention_weights(x @ w_q, memory @ w_k)
        ),
        "You divided by √d_k after the softmax; the scores are scaled, before it.": (
            lambda x, memory, w_q, w_k, w_v: (
                reference.attention(x @ w_q, memory @ w_k, memory @ w_v, scale=1.0)
                / w_q.shape[-1] ** 0.5
            )
        ),
    }
    | wrongly_weighed(
        lambda weigh, x, memory, w_q, w_k, w_v: (
            weigh(scaled_scores(x @ w_q, memory @ w_k)) @ (memory @ w_v)
        )
    )
    | wrongly_scaled(
        lambda scale, x, memory, w_q, w_k, w_v: reference.attention(
            x @ w_q, memory @ w_k, memory @ w_v, scale=scale(x @ w_q, memory @ w_k)
        )
    ),
    otherwise="Compare with softmax(Q Kᵀ/√d_k) V, step by step.",
)
def read(
    x: np.ndarray, memory: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, w_v: np.ndarray
) -> np.ndarray:
    """Cross-attention from rows and three matrices."""
    return reference.attention(x @ w_q, memory @ w_k, memory @ w_v)
