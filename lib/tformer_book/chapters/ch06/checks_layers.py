"""Exercises 6.1, 6.2 and 6.4: cutting and adding heads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from tformer import reference
from tformer_book.exercises.promises import fractions, promised
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.softmaxes import SOFTMAX_MUTANTS, weighed
from tformer_book.exercises.table import Case, case, each


def _switched() -> Iterator[Case]:
    y, w_o = (
        np.array([[[2.0, 1]], [[1, 3]]]),
        np.array([[1.0, 2, 0], [0, 1, 1], [2, 0, 1], [1, 1, 0]]),
    )
    out = np.array([[7.0, 8, 2]])
    for h, want in ((1, [[2, 5, 1]]), (0, [[5, 3, 1]])):
        yield case(out=out, y=_known(y, h), w_o=w_o, h=h, want=want)
    shapes = (((), 3, 2, 2, 4), ((2,), 2, 3, 1, 3), ((3, 1), 4, 1, 3, 2), ((), 1, 2, 2, 2))
    for seed, (batch, n_heads, n, d_v, d) in enumerate(shapes):
        y, w_o = integers(seed, (*batch, n_heads, n, d_v)), integers(seed + 9, (n_heads * d_v, d))
        out = np.moveaxis(y, -3, -2).reshape(*batch, n, -1) @ w_o
        for h in range(n_heads):
            yield case(out=out, y=_known(y, h), w_o=w_o, h=h)
    yield from promised(fractions, out=out / 7, y=_known(y, 0), w_o=w_o / 7, h=0)


def _known(y: np.ndarray, h: int) -> np.ndarray:
    kept = np.full_like(y, np.nan)
    kept[..., h, :, :] = y[..., h, :, :]
    return kept


def _rows(w_o: np.ndarray, d_v: int, h: int) -> np.ndarray:
    return w_o[h * d_v : (h + 1) * d_v]


@exercise(
    "6.1",
    praise="Heads of every place in the layer, single sentences and batches, layers of one head.",
    hints=(
        "The output of a layer is a sum. Which term is gone?",
        "The term of a head is its output times its own block of the matrix.",
        "Block h has d_v rows and begins with row h · d_v. Subtract.",
    ),
    cases=_switched,
    mutants={
        "That is what the head wrote; what is left without it is asked for.": (
            lambda out, y, w_o, h: y[..., h, :, :] @ _rows(w_o, y.shape[-1], h)
        ),
        "The head was added once more; it is to be taken away.": (
            lambda out, y, w_o, h: out + y[..., h, :, :] @ _rows(w_o, y.shape[-1], h)
        ),
        "nan spreads from the lost output of another head; only that of head h can be used, with h "
        "counted from 0.": (
            lambda out, y, w_o, h: (
                np.moveaxis(
                    np.where(np.arange(y.shape[-3])[:, None, None] == h, 0, y), -3, -2
                ).reshape(*out.shape[:-1], -1)
                @ w_o
            )
        ),
        "The other heads do not share the gap among them: their terms stay as they were.": (
            lambda out, y, w_o, h: (
                (out - y[..., h, :, :] @ _rows(w_o, y.shape[-1], h))
                * (y.shape[-3] / max(y.shape[-3] - 1, 1))
            )
        ),
        "You took every H-th row of the matrix; the rows of a head follow each other.": (
            lambda out, y, w_o, h: out - y[..., h, :, :] @ w_o[h :: y.shape[-3]]
        ),
        "What the other heads have added is in `out`, and nowhere else.": (
            lambda out, y, w_o, h: 0.0 * out
        ),
        "That is the block of the head before: h counts from 0.": (
            lambda out, y, w_o, h: out - y[..., h, :, :] @ _rows(w_o, y.shape[-1], h - 1)
        ),
        "You took the block of the first head.": (
            lambda out, y, w_o, h: out - y[..., h, :, :] @ w_o[: y.shape[-1]]
        ),
        "A block has as many rows as y has columns; the width of the rows, shared out among the "
        "heads, is another number.": (
            lambda out, y, w_o, h: (
                out - y[..., h, :, :] @ _rows(w_o, w_o.shape[1] // y.shape[-3], h)
            )
        ),
        "The heads have no equal parts in the output: each has written something else.": (
            lambda out, y, w_o, h: out * (1 - 1 / y.shape[-3])
        ),
    },
    slips="""
= without(out, y, w_o, max(h - 1, 0))
    You counted heads from 1; the first is 0.
    """,
    otherwise="The layer is the sum of every head's output times its block.",
)
def without(out: np.ndarray, y: np.ndarray, w_o: np.ndarray, h: int) -> np.ndarray:
    """What a layer returns without head h."""
    return np.asarray(out - y[..., h, :, :] @ _rows(w_o, y.shape[-1], h))


def _tables() -> Iterator[Case]:
    x = np.arange(12.0).reshape(2, 6)
    yield case(x=x, n_heads=3, want=[[[0, 1], [6, 7]], [[2, 3], [8, 9]], [[4, 5], [10, 11]]])
    for shape, n_heads in (
        ((4, 4), 2),
        ((4, 4), 4),
        ((3, 5), 1),
        ((1, 6), 2),
        ((2, 3, 8), 4),
        ((2, 1, 4, 6), 3),
        ((6, 6), 3),
    ):
        yield case(x=np.arange(float(np.prod(shape))).reshape(shape), n_heads=n_heads)
    yield case(x=integers(0, (5, 12)), n_heads=4, whole=True)
    yield from promised(fractions, x=integers(1, (3, 4)), n_heads=2)


@exercise(
    "6.2",
    praise="Tables that are not square, one head, one word, batches of every depth.",
    hints=(
        "Two steps: first give the last axis two parts, then move one of them.",
        "After the first step the shape is (..., T, H, d_k). Which two axes change places?",
        "Those of words and heads. Count axes from the end, since there may be others in front.",
    ),
    cases=_tables,
    mutants={
        "The shape is right, and whole words are dealt out: the first head should have the first "
        "columns of all words.": lambda x, n_heads: x.reshape(
            *x.shape[:-2], n_heads, x.shape[-2], -1
        ),
        "The axis of the heads should stand in front of that of the words.": (
            lambda x, n_heads: x.reshape(*x.shape[:-1], n_heads, x.shape[-1] // n_heads)
        ),
        "You dealt the columns out in turn; a head has columns that follow each other.": (
            lambda x, n_heads: np.moveaxis(
                x.reshape(*x.shape[:-1], x.shape[-1] // n_heads, n_heads), -1, -3
            )
        ),
        "The tables of the heads are transposed.": lambda x, n_heads: np.moveaxis(
            x.reshape(*x.shape[:-1], n_heads, x.shape[-1] // n_heads), -3, -1
        ),
        "The heads stand in reverse order: head 0 has the first columns.": (
            lambda x, n_heads: np.stack(np.split(x, n_heads, axis=-1)[::-1], axis=-3)
        ),
        "n_heads is the number of heads, not the width of one.": (
            lambda x, n_heads: np.moveaxis(
                x.reshape(*x.shape[:-1], x.shape[-1] // n_heads, n_heads), -2, -3
            )
        ),
    },
    slips="""
= split_heads(np.roll(x, 1, axis=-1), n_heads)
    The columns are one place off.
    """,
    otherwise="Head h has the columns from h · d_k on, of every word.",
)
def split_heads(x: np.ndarray, n_heads: int) -> np.ndarray:
    """(..., T, H d_k) to (..., H, T, d_k)."""
    return np.moveaxis(x.reshape(*x.shape[:-1], n_heads, x.shape[-1] // n_heads), -2, -3)


Attend = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
Cut = Callable[..., np.ndarray]


def _layer(attend: Attend, *inputs: np.ndarray, n_heads: int, cut: str = "blocks") -> np.ndarray:
    """Return a layer whose heads attend in some way, with matrices cut in some way."""
    x, w_q, w_k, w_v, w_o = inputs

    def of_head(w: np.ndarray, h: int) -> np.ndarray:
        width = w.shape[1] // n_heads
        return w[:, h::n_heads] if cut == "in turn" else w[:, h * width : (h + 1) * width]

    total = np.zeros_like(x)
    for h in range(n_heads):
        y = attend(x @ of_head(w_q, h), x @ of_head(w_k, h), x @ of_head(w_v, h))
        total = total + y @ of_head(w_o.T, n_heads - 1 - h if cut == "turned" else h).T
    return np.asarray(total)


def _layers() -> Iterator[Case]:
    x, w_o = np.array([[1.0, 0, 0], [0, 1, 0]]), np.eye(2, 3)
    w_k = np.array([[0.0, 0], [np.log(3), np.log(4)], [0, 0]])
    exactly = (
        "The second word has the weights 1/4 and 3/4 in one head, and 1/5 and 4/5 in the other."
    )
    w_q, w_v = np.array([[0.0, 0], [1, 1], [0, 0]]), np.array([[4.0, 0], [0, 10], [0, 0]])
    want = [[2, 5, 0], [1, 8, 0]]
    yield case(x=x, w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o, n_heads=2, want=want, why=exactly)
    yield from _wide_keys(exactly)
    for seed, (batch, n, d, n_heads, d_k, d_v) in enumerate(
        (
            ((), 3, 4, 2, 2, 2),
            ((), 3, 4, 4, 1, 1),
            ((), 2, 4, 1, 4, 4),
            ((2,), 4, 3, 3, 2, 1),
            ((2, 2), 5, 2, 2, 3, 4),
            ((), 1, 4, 2, 2, 2),
            ((3,), 3, 6, 2, 3, 3),
        )
    ):
        shapes = ((d, n_heads * d_k), (d, n_heads * d_k), (d, n_heads * d_v), (n_heads * d_v, d))
        w = [integers(10 * seed + i, shape) / (4 if i < 2 else 1) for i, shape in enumerate(shapes)]
        w_q, w_k, w_v, w_o = w
        x = integers(seed + 70, (*batch, n, d))
        yield case(x=x, w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o, n_heads=n_heads)
    x, one = np.array([[1.0], [0.5]]), np.eye(1)
    yield case(x=x, w_q=40 * one, w_k=40 * one, w_v=one, w_o=one, n_heads=1, want=[[1], [1]])
    x, far = np.array([[1.0, 0], [0, -1], [1, 1]]), 40 * np.eye(2)
    yield case(x=x, w_q=far, w_k=far, w_v=np.eye(2), w_o=np.eye(2), n_heads=2)


def _wide_keys(why: str) -> Iterator[Case]:
    """Yield the first case again with keys of width 4, and scores that are to be halved."""
    w_q, w_k = np.zeros((2, 2, 8))
    w_q[1, [0, 4]], w_k[1, [0, 4]] = 1, (2 * np.log(3), 2 * np.log(4))
    w_v, want = np.array([[4.0, 0], [0, 10]]), [[2, 5], [1, 8]]
    yield case(x=np.eye(2), w_q=w_q, w_k=w_k, w_v=w_v, w_o=np.eye(2), n_heads=2, want=want, why=why)


def _with(attend: Attend, cut: str = "blocks") -> Callable[..., np.ndarray]:
    return lambda x, w_q, w_k, w_v, w_o, n_heads: _layer(
        attend, x, w_q, w_k, w_v, w_o, n_heads=n_heads, cut=cut
    )


def _split(x: np.ndarray, w: np.ndarray, n_heads: int) -> np.ndarray:
    return np.stack(np.split(x @ w, n_heads, axis=-1), axis=-3)


def _joined(y: np.ndarray) -> np.ndarray:
    return np.concatenate([y[..., h, :, :] for h in range(y.shape[-3])], axis=-1)


def _stacking(split: Cut = _split, join: Cut = _joined) -> Callable[..., np.ndarray]:
    """Return a layer with all heads on an axis of their own, split and joined in some way."""

    def made(x: np.ndarray, *w: np.ndarray, n_heads: int) -> np.ndarray:
        q, k, v = (split(x, one, n_heads) for one in w[:3])
        return np.asarray(join(reference.attention(q, k, v)) @ w[3])

    return lambda *inputs: made(*inputs[:-1], n_heads=inputs[-1])


def _model_width(x: np.ndarray, *rest: np.ndarray, n_heads: int) -> np.ndarray:
    width = x.shape[-1]
    return _layer(
        lambda q, k, v: reference.attention(q, k, v, scale=width**-0.5), x, *rest, n_heads=n_heads
    )


@exercise(
    "6.4",
    praise="Heads of several widths, values of other widths than keys, one head and one word, "
    "batches, scores of ±1600.",
    hints=(
        "The layer is a sum over heads. What does one head add?",
        "A head has its own columns of three matrices and its own rows of the fourth.",
        "np.split cuts an array into equal blocks along an axis.",
    ),
    cases=_layers,
    mutants={
        "Columns were dealt out in turn; a head has columns that follow each other.": (
            _with(reference.attention, "in turn")
        ),
        "The heads meet the blocks of the last matrix in the opposite order.": (
            _with(reference.attention, "turned")
        ),
        "One head was made of all columns: all scores were added up before the softmax.": (
            lambda x, w_q, w_k, w_v, w_o, n_heads: (
                reference.attention(
                    x @ w_q, x @ w_k, x @ w_v, scale=(w_q.shape[1] // n_heads) ** -0.5
                )
                @ w_o
            )
        ),
        "The root of the width of the rows was taken; that of one head is asked for.": (
            lambda x, w_q, w_k, w_v, w_o, n_heads: _model_width(
                x, w_q, w_k, w_v, w_o, n_heads=n_heads
            )
        ),
        "The root of the width of all heads together was taken; the scale belongs to one.": (
            lambda x, w_q, w_k, w_v, w_o, n_heads: _layer(
                lambda q, k, v: reference.attention(q, k, v, scale=w_q.shape[1] ** -0.5),
                x,
                w_q,
                w_k,
                w_v,
                w_o,
                n_heads=n_heads,
            )
        ),
        "The scores are not scaled by 1/√d_k.": _with(partial(reference.attention, scale=1.0)),
        "You divided by d_k, the width of the queries; divide by its root.": (
            _with(lambda q, k, v: reference.attention(q, k, v, scale=1 / q.shape[-1]))
        ),
        "You divided by the root of the width of the values. The scale belongs to the keys.": (
            _with(lambda q, k, v: reference.attention(q, k, v, scale=v.shape[-1] ** -0.5))
        ),
        "The width of a head need not be d/H: the columns of W_Q tell it.": (
            lambda x, w_q, w_k, w_v, w_o, n_heads: _with(
                partial(reference.attention, scale=(x.shape[-1] / n_heads) ** -0.5)
            )(x, w_q, w_k, w_v, w_o, n_heads)
        ),
        "The outputs were joined before the axis of the heads stood after that of the words: rows "
        "of the heads are mixed.": _stacking(
            join=lambda y: y.reshape(*y.shape[:-3], y.shape[-2], -1)
        ),
        "A reshape of the matrices deals out their rows; heads have columns.": _stacking(
            split=lambda x, w, n_heads: x[..., None, :, :] @ w.reshape(n_heads, len(w), -1),
        ),
        "A reshape of queries, keys and values deals out whole words; heads have columns of all "
        "words.": _stacking(
            split=lambda x, w, n_heads: (x @ w).reshape(*x.shape[:-2], n_heads, x.shape[-2], -1),
        ),
        "Queries and keys have changed places.": _with(
            lambda q, k, v: reference.attention(k, q, v)
        ),
        "Later words were hidden; here every word attends to all words.": _with(
            reference.causal_attention
        ),
        "What the heads add was averaged; it is added up.": lambda *inputs: (
            _with(reference.attention)(*inputs) / inputs[-1]
        ),
        "The input was added to the output; that is for a later chapter.": lambda *inputs: (
            _with(reference.attention)(*inputs) + inputs[0]
        ),
    }
    | each(lambda weigh, *inputs: _with(partial(weighed, weigh))(*inputs), SOFTMAX_MUTANTS),
    otherwise="Check the columns of the second head, the scale, and the rows of its block.",
)
def layer(
    x: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, w_v: np.ndarray, w_o: np.ndarray, n_heads: int
) -> np.ndarray:
    """Multi-head self-attention with fused matrices."""
    return _with(reference.attention)(x, w_q, w_k, w_v, w_o, n_heads)
