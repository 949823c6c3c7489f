"""Exercises 6.3, 6.5 and 6.8: what a layer costs, when two heads are one, a key for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tformer.exercises.kinds import Marks, Several
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.table import Case, case

SIZES = (
    (12, 3, 1, 5),
    (8, 4, 4, 3),
    (8, 4, 2, 3),
    (8, 1, 1, 1),
    (6, 6, 2, 4),
    (768, 12, 12, 1024),
    (64, 8, 1, 100),
)


def _bills() -> Iterator[Case]:
    for i, (d_model, n_heads, n_groups, n) in enumerate(SIZES):
        want = None if i else (2 * 12 * 12 + 2 * 12 * 4, 2 * 5 * 4, 3 * 25)
        yield case(d_model=d_model, n_heads=n_heads, n_groups=n_groups, n=n, want=want)


@exercise(
    "6.3",
    praise="Many heads, grouped and multi-query layers, one head, the sizes of a small GPT-2.",
    hints=(
        "How wide is one head? How many columns have the queries of all heads, how many the keys?",
        "Queries and the output have matrices of d_model columns; keys and values of G · d_k.",
        "Keys and values of a word are 2 · G · d_k numbers; each head has n · n weights.",
    ),
    cases=_bills,
    kind=Several(names=("number of parameters", "size of the cache", "number of weights")),
    mutants={
        "Keys and values are shared: their matrices have G · d_k columns.": lambda d, h, g, n: (
            4 * d * d,
            2 * n * d * g // h,
            h * n * n,
        ),
        "There are four matrices; that of the output was forgotten.": lambda d, h, g, n: (
            d * (d + 2 * d * g // h),
            2 * n * d * g // h,
            h * n * n,
        ),
        "A head is d_model / H wide; the heads share the width.": lambda d, h, g, n: (
            2 * d * d * (h + g),
            2 * n * d * g,
            h * n * n,
        ),
        "The cache holds keys and values.": lambda d, h, g, n: (
            2 * d * (d + d * g // h),
            n * d * g // h,
            h * n * n,
        ),
        "What is shared is in the cache once, not once for each head.": lambda d, h, g, n: (
            2 * d * (d + d * g // h),
            2 * n * d,
            h * n * n,
        ),
        "Every head has a table of weights, whoever shares its keys.": lambda d, h, g, n: (
            2 * d * (d + d * g // h),
            2 * n * d * g // h,
            g * n * n,
        ),
        "A table of weights has a row and a column for each word.": lambda d, h, g, n: (
            2 * d * (d + d * g // h),
            2 * n * d * g // h,
            h * n,
        ),
    },
    otherwise="Count the columns of queries, keys, values and output, head by head.",
)
def bill(d_model: int, n_heads: int, n_groups: int, n: int) -> tuple[int, int, int]:
    """Parameters, cache and weights of a layer."""
    kept = d_model * n_groups // n_heads
    return 2 * d_model * (d_model + kept), 2 * n * kept, n_heads * n * n


Head = list[np.ndarray]


def _head(seed: int, d: int = 3, d_k: int = 2, d_v: int = 2) -> Head:
    shapes = ((d, d_k), (d, d_k), (d, d_v), (d_v, d))
    return [np.random.default_rng(10 * seed + i).standard_normal(s) for i, s in enumerate(shapes)]


def _pairs_of_heads() -> Iterator[Case]:
    turn = np.array([[2.0, 1], [1, 1]])
    back = np.linalg.inv(turn)
    w_q, w_k, w_v, w_o = one = _head(1)
    two, nothing = _head(2), np.zeros_like(w_v)
    twice = [np.concatenate([w, w], axis=1) for w in (w_q, w_k)]
    wider = [twice[0] / 2**0.5, twice[1], w_v, w_o]
    turned = [w_q @ turn, w_k @ back.T, w_v @ turn, back @ w_o]
    moved = [w_q[:, ::-1], w_k[:, ::-1], w_v[:, ::-1], w_o[::-1]]
    for said, other, want, why in (
        ("the same head", one, True, "They are one and the same."),
        ("a random one", two, False, "Nothing in them agrees."),
        ("2 W_Q and W_K/2", [2 * w_q, w_k / 2, w_v, w_o], True, "The factors cancel."),
        ("all four matrices with other signs", [-w_q, -w_k, -w_v, -w_o], True, "Signs cancel."),
        ("−W_Q", [-w_q, w_k, w_v, w_o], False, "All scores have changed their signs."),
        ("columns mixed and unmixed", turned, True, "The products of both pairs are the same."),
        (
            "the columns of W_Q and W_K mixed alike",
            [w_q @ turn, w_k @ turn, w_v, w_o],
            False,
            "That changes their product.",
        ),
        ("W_Q and W_K exchanged", [w_k, w_q, w_v, w_o], False, "Who asks and who is asked differ."),
        ("2 W_V", [w_q, w_k, 2 * w_v, w_o], False, "It brings twice as much."),
        (
            "its columns twice, and W_Q divided by √2",
            wider,
            True,
            "Sums are doubled, then divided by √2, and by √2 more in the scale.",
        ),
        (
            "its columns twice",
            [*twice, w_v, w_o],
            False,
            "Sums are doubled, the scale is not halved.",
        ),
        (
            "columns in another order",
            moved,
            True,
            "Columns that meet in a sum have moved together.",
        ),
        (
            "the columns of W_Q alone in another order",
            [w_q[:, ::-1], w_k, w_v, w_o],
            False,
            "Columns meet others than before.",
        ),
    ):
        yield case(one=one, other=other, want=want, why=why, said=f"a random head and {said}")
    dark = [np.array([[1.0, 0], [2, 0], [3, 0]]), np.array([[0.0, 0, 0], [1, 2, 3]])]
    plain, other = [np.zeros((3, 1)), np.ones((3, 1))], [np.ones((3, 1)), np.zeros((3, 1))]
    silent = "Both bring nothing, so it does not matter where they look."
    for said, first, second, want, why in (
        (
            "other heads, W_V zero in one and W_O in the other",
            [w_q, w_k, nothing, w_o],
            [*two[:2], w_v, 0 * w_o],
            True,
            silent,
        ),
        (
            "a head whose W_V W_O is zero and another with W_V zero",
            [w_q, w_k, *dark],
            [*two[:2], nothing, w_o],
            True,
            silent,
        ),
        (
            "a head with W_V zero and the same with W_V",
            [w_q, w_k, nothing, w_o],
            one,
            False,
            "One of them brings nothing.",
        ),
        (
            "a head with W_Q zero and one with W_K zero",
            [*plain, w_v, w_o],
            [*other, w_v, w_o],
            True,
            "In both all scores are 0.",
        ),
    ):
        yield case(one=first, other=second, want=want, why=why, said=said)


Circuits = tuple[np.ndarray, np.ndarray]


def _circuits(head: Head, scaled: bool = True) -> Circuits:
    w_q, w_k, w_v, w_o = head
    return w_q @ w_k.T / (w_q.shape[1] ** 0.5 if scaled else 1.0), w_v @ w_o


def _compared(
    agree: Callable[[Circuits, Circuits], Any], scaled: bool = True
) -> Callable[..., bool]:
    return lambda one, other: bool(agree(_circuits(one, scaled), _circuits(other, scaled)))


def _all_four(one: Head, other: Head) -> bool:
    return all(a.shape == b.shape and np.allclose(a, b) for a, b in zip(one, other, strict=True))


@exercise(
    "6.5",
    praise="Heads with factors, signs, turns and columns exchanged, of other widths, and heads "
    "that bring nothing.",
    hints=(
        "On which products of the four matrices does a head's output depend?",
        "Compare where they look, with the scale, and what they bring. Widths may differ.",
        "A head that brings nothing is the same as any other that brings nothing.",
    ),
    cases=_pairs_of_heads,
    kind=Marks(),
    mutants={
        "Different matrices can make the same head; it is products that count.": _all_four,
        "A head that brings nothing is the same as another that brings nothing.": _compared(
            lambda a, b: np.allclose(a[0], b[0]) and np.allclose(a[1], b[1])
        ),
        "Where a head looks is compared, and what it brings is not.": _compared(
            lambda a, b: np.allclose(a[0], b[0]) or np.allclose([a[1], b[1]], 0)
        ),
        "What a head brings is compared, and where it looks is not.": _compared(
            lambda a, b: np.allclose(a[1], b[1])
        ),
        "The width of the keys was left out: each head divides by the root of its own.": _compared(
            lambda a, b: (
                np.allclose(a[1], b[1]) and (np.allclose(a[1], 0) or np.allclose(a[0], b[0]))
            ),
            scaled=False,
        ),
        "A head looks in one direction: who asks and who is asked differ.": _compared(
            lambda a, b: (
                np.allclose(a[1], b[1])
                and (np.allclose(a[1], 0) or np.allclose(a[0], b[0]) or np.allclose(a[0], b[0].T))
            )
        ),
    },
    otherwise="Compare where the heads look and what they bring.",
)
def same_head(one: Head, other: Head) -> bool:
    """Whether two heads are the same function."""
    (m, u), (m_other, u_other) = _circuits(one), _circuits(other)
    return bool(np.allclose(u, u_other) and (np.allclose(u, 0) or np.allclose(m, m_other)))


def _tables_of_keys() -> Iterator[Case]:
    w_q = np.array([[[1.0], [0]], [[0], [2]]])
    yield case(w_q=w_q, w_k=np.array([[[1.0], [3]], [[2], [-1]]]))
    for seed, shape in enumerate(((1, 2, 2), (3, 2, 1), (2, 4, 2), (4, 3, 2), (2, 2, 5))):
        yield case(w_q=integers(seed, shape), w_k=integers(seed + 30, shape), whole=seed == 2)


def _scores(w_q: np.ndarray, w_k: np.ndarray) -> np.ndarray:
    return np.asarray(w_q @ w_k.T / w_q.shape[-1] ** 0.5)


def _placed(
    w_q: np.ndarray, w_k: np.ndarray, factor: float, keys: str = "beside"
) -> tuple[np.ndarray, np.ndarray]:
    n_heads, d, d_k = w_q.shape
    wide = np.zeros((n_heads, d, n_heads, d_k))
    wide[np.arange(n_heads), :, np.arange(n_heads)] = factor * w_q
    beside = np.concatenate(list(w_k), axis=-1)
    if keys == "in turn":
        beside = np.moveaxis(w_k, 0, -1).reshape(d, -1)
    if keys == "first":
        beside = np.tile(w_k[0], n_heads)
    return wide.reshape(n_heads, d, -1), beside


@exercise(
    "6.8",
    praise="One head, many heads, keys wider than the rows, whole numbers: every score as before.",
    hints=(
        "Put the heads' key matrices side by side. Which part of a key concerns head h?",
        "Part h. The query of head h should be zero everywhere else.",
        "The new width is H times the old one, so the scores are divided by a larger root.",
    ),
    cases=_tables_of_keys,
    kind=Several(names=("w_q", "w_k"), by=_scores, called="the table of your scores, M/√width"),
    mutants={
        "The scores are too small by √H: the new layer divides by the root of a larger width.": (
            lambda w_q, w_k: _placed(w_q, w_k, 1.0)
        ),
        "The scores are too small by H; you divided where you should multiply.": (
            lambda w_q, w_k: _placed(w_q, w_k, len(w_q) ** -0.5)
        ),
        "The scores are too large by √H: the root of the ratio of the widths is enough.": (
            lambda w_q, w_k: _placed(w_q, w_k, float(len(w_q)))
        ),
        "The columns of the keys are dealt out in turn, and those of the queries are not.": (
            lambda w_q, w_k: _placed(w_q, w_k, len(w_q) ** 0.5, "in turn")
        ),
        "All parts of the key are those of the first head.": (
            lambda w_q, w_k: _placed(w_q, w_k, len(w_q) ** 0.5, "first")
        ),
        "Every query looks at all parts of the key; the scores of all heads were added up.": (
            lambda w_q, w_k: (
                np.tile(w_q, len(w_q)) * len(w_q) ** 0.5,
                np.concatenate(list(w_k), axis=-1),
            )
        ),
    },
    otherwise="Head h should see its own part of the key, and scores as large as before.",
)
def one_key(w_q: np.ndarray, w_k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Matrices of a multi-query layer with the same scores."""
    return _placed(w_q, w_k, len(w_q) ** 0.5)
