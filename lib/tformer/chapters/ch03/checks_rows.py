"""Exercise 3.2: one sentence that reads another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.scales import wrongly_scaled
from tformer.exercises.softmaxes import scaled_scores, wrongly_weighed
from tformer.exercises.table import Case, case

FAR = (
    "Only differences of scores count. Measure all of them from the largest one, and change "
    "nothing else."
)


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
