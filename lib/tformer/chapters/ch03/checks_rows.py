"""Exercises 3.1 to 3.4: a word exchanged, two sentences, scores that rise, a mask."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from tformer import reference
from tformer.exercises.kinds import Marks
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.scales import SCALE_MUTANTS, scaled
from tformer.exercises.softmaxes import (
    MASK_MUTANTS,
    OF_ITS_OWN,
    SOFTMAX_MUTANTS,
    measured_from,
    scaled_scores,
    visible,
    weighed,
)
from tformer.exercises.table import Case, Function, case, each

Array = np.ndarray
Shape = tuple[int, ...]


def _rows() -> Iterator[Case]:
    yield case(a=np.array([1, 2, 3]) / 6, j=2, share=0.25, want=(0.25, 0.5, 0.25))
    yield case(a=np.array([1, 2, 3]) / 6, j=0, share=0.5, want=(0.5, 0.2, 0.3))
    yield case(a=[0.1, 0.6, 0.3], j=1, share=0.0, want=(0.25, 0, 0.75))
    for seed in range(6):
        n = 2 + seed
        a = reference.softmax(np.random.default_rng(seed).normal(size=n))
        yield case(a=a, j=(3 * seed) % n, share=(0.7, 0.05, 0.4, 0.9, 0.3, 0.6)[seed])
    yield case(a=reference.softmax(np.array([30.0, 0, -30, 2])), j=3, share=0.5)
    whole = "Whole numbers go in, and weights are none."
    yield case(a=[0.0, 1, 0], j=0, share=0.5, want=(0.5, 0.5, 0), why=whole, whole=True)
    yield case(a=[0.0, 0.5, 0.5, 0], j=1, share=0.2, want=(0, 0.2, 0.8, 0))


def _with(a: Array, j: int, share: float) -> Array:
    changed = np.array(a, dtype=float)
    changed[j] = share
    return changed


def _others(factor: Function) -> Function:
    """Return the row in which all weights but that of word j are made by a function of them."""
    return lambda a, j, share: _with(factor(a, j, share), j, share)


@exercise(
    "3.1",
    praise="Predicted for words that drew much weight and words that drew none, for a new word "
    "that gets nothing, and for rows with hidden words.",
    hints=(
        "What does the chapter say of the ratio of two weights, when a third word is exchanged?",
        "All other weights are multiplied by the same number. What do they add up to before, and "
        "what after?",
        "Before the change the others have 1 − a[j] among them, after it 1 − share.",
    ),
    cases=_rows,
    mutants={
        "The others stayed as they were; with the new weight the row does not add up to 1.": _with,
        "The difference was shared out evenly, which changes the ratios of the others.": _others(
            lambda a, j, share: a + (a[j] - share) / (len(a) - 1)
        ),
        "Divided by the new sum: the row adds up to 1, but the new word does not get its share.": (
            lambda a, j, share: _with(a, j, share) / _with(a, j, share).sum()
        ),
        "The others have 1 − share among them now. Before, they had 1 − a[j] and not 1.": _others(
            lambda a, j, share: a * (1 - share)
        ),
        "That makes the others add up to 1 without the new word.": _others(
            lambda a, j, share: a / (1 - a[j])
        ),
        "The factor is upside down.": _others(lambda a, j, share: a * (1 - a[j]) / (1 - share)),
        "The others got equal weights; their ratios were to stay.": _others(
            lambda a, j, share: np.full(len(a), (1 - share) / (len(a) - 1))
        ),
        "The weight of the new word is given: it is `share`.": (
            lambda a, j, share: a * (1 - share) / (1 - a[j])
        ),
        "A softmax takes scores; these are weights already.": (
            lambda a, j, share: reference.softmax(_with(a, j, share))
        ),
        "The row did not change, and word j was to get another weight.": lambda a, j, share: a,
    },
    otherwise="Do two other weights still have the ratio they had, and does the row add up to 1?",
)
def after(a: Array, j: int, share: float) -> Array:
    """The row after word j was exchanged for one that gets the weight `share`."""
    return _with(a * (1 - share) / (1 - a[j]), j, share)


def _steps() -> Iterator[Case]:
    a, v = np.array([0.5, 0.25, 0.25]), np.array([[2.0, 0], [0, 4], [4, 4]])
    why = "The products of grad with the values are 2, −8 and −4; with the output it is −2."
    yield case(a=a, v=v, grad=[1.0, -2], want=[False, True, True], why=why)
    why = "The products of grad with the values are 6, 4 and 16; with the output it is 8."
    yield case(a=a, v=v, grad=[3.0, 1], want=[True, True, False], why=why)
    why = "The output is 3.5, and a larger one lowers the loss. Only 10 is larger."
    v = np.array([[3.0], [1], [10]])
    yield case(a=[0.8, 0.1, 0.1], v=v, grad=[-1.0], want=[False, False, True], why=why)
    for seed, (n, d) in enumerate([(4, 1), (3, 3), (6, 2), (5, 4), (12, 3), (7, 1)]):
        a = reference.softmax(np.random.default_rng(seed).normal(size=n))
        v, grad = integers(seed + 3, (n, d)), integers(seed + 30, (d,)) + 0.5
        why = "A score rises if more of its value, and less of the mixture, lowers the loss."
        yield case(a=a, v=v, grad=grad, why=why)


def _below(level: Function) -> Function:
    """Mark the values whose product with grad lies below a level."""
    return lambda a, v, grad: v @ grad < level(a, v, grad)


@exercise(
    "3.3",
    praise="Right for every row, with few words and many: what counts is whether a value is better "
    "than the mixture, not how much weight it has.",
    hints=(
        "If a score rises, its value gets more weight, and all the others get less. Compared with "
        "what must a value be good?",
        "Moving the output a little towards a value changes the loss by grad times the way from "
        "the output to the value.",
        "Descent makes the loss smaller: it favours values whose product with grad is smaller than "
        "that of the output.",
    ),
    cases=_steps,
    mutants={
        "Those fall: descent goes against the gradient.": (
            lambda a, v, grad: v @ grad > a @ v @ grad
        ),
        "A value that lowers the loss by itself may still be worse than the mixture.": _below(
            lambda a, v, grad: 0.0
        ),
        "You compared with the plain mean of the values; the output is their mixture by weight.": (
            _below(lambda a, v, grad: (v @ grad).mean())
        ),
        "The weight says how fast a score moves, and not which way.": (
            lambda a, v, grad: a * (v @ grad) < a @ v @ grad
        ),
        "Not only the best value gains: every value that is better than the mixture does.": (
            lambda a, v, grad: (v @ grad) == (v @ grad).min()
        ),
        "Those are the words with more than an equal share of the weight.": (
            lambda a, v, grad: a > 1 / len(a)
        ),
        "You compared with the middle value of all; the output is their mean by weight.": _below(
            lambda a, v, grad: np.median(v @ grad)
        ),
    },
    kind=Marks(),
    otherwise="Compare each value with the output, along grad.",
)
def rises(a: Array, v: Array, grad: Array) -> Array:
    """Which scores rise in a step of gradient descent."""
    return np.asarray(v @ grad < a @ v @ grad)


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
        yield _sizes(seed, (2, 2), (n, 2), width, 3)
    x, (w_q, w_k, w_v) = integers(4, (3, 2)), integers(5, (3, 2, 2))
    yield case(x=x, memory=x, w_q=w_q, w_k=w_k, w_v=w_v)
    batches = "Each batch reads its own memory."
    for seed, (n, width) in enumerate([(4, 1), (3, 2), (2, 3)]):
        yield _sizes(seed, (2, n, 2), (2, 3, 2), width, 2, batches)
    yield _sizes(7, (2, 3, 2, 2), (2, 3, 4, 2), 4, 1, batches)
    words = np.eye(3)
    far = "Only differences of scores count. Measure all of them from the largest one, and change "
    far += "nothing else."
    for heights in ([1000, -1000, 0], [5000, 0, -1]):
        w_q = np.array(heights, dtype=float)[:, np.newaxis]
        w_k, w_v = [[1.0], [2], [-1]], [[1.0], [2], [4]]
        yield case(x=words, memory=words[[0, 2, 1, 1]], w_q=w_q, w_k=w_k, w_v=w_v, why=far)
    yield case(x=words[:2], memory=words, w_q=words, w_k=2 * words, w_v=words[:, ::-1], whole=True)


def _sizes(seed: int, rows: Shape, memory: Shape, width: int, deep: int, why: str = "") -> Case:
    w_q, w_k = integers(seed + 20, (2, rows[-1], width))
    w_v = integers(seed + 1, (rows[-1], deep))
    x = integers(seed, rows)
    return case(x=x, memory=integers(seed + 5, memory), w_q=w_q, w_k=w_k, w_v=w_v, why=why)


def _attending(
    attend: Function, x: Array, memory: Array, w_q: Array, w_k: Array, w_v: Array
) -> Array:
    return np.asarray(attend(x @ w_q, memory @ w_k, memory @ w_v))


_reading = partial(_attending, reference.attention)


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
            lambda x, memory, *matrices: _reading(x, x, *matrices)
        ),
        "x and memory have changed places: the rows of x ask, those of memory answer.": (
            lambda x, memory, *matrices: _reading(memory, x, *matrices)
        ),
        "w_q and w_k have changed places.": (
            lambda x, memory, w_q, w_k, w_v: _reading(x, memory, w_k, w_q, w_v)
        ),
        "You divided by the root of the width of x. The scale belongs to the width of the "
        "queries.": lambda x, *others: _attending(
            lambda q, k, v: reference.attention(q, k, v, scale=x.shape[-1] ** -0.5), x, *others
        ),
    }
    | each(
        _attending,
        {
            "`shape[1]` is the width of the queries in a single table only; in a stack it is the "
            "number of queries. Count from the end: `shape[-1]`.": (
                lambda q, k, v: reference.attention(q, k, v, scale=q.shape[1] ** -0.5)
            ),
            "Those are the weights; the values have not been mixed yet.": (
                lambda q, k, v: reference.attention_weights(q, k)
            ),
            "You divided by √d_k after the softmax; the scores are scaled, before it.": (
                lambda q, k, v: reference.attention(q, k, v, scale=1.0) / q.shape[-1] ** 0.5
            ),
        }
        | each(weighed, SOFTMAX_MUTANTS)
        | each(scaled, SCALE_MUTANTS),
    ),
    otherwise="Compare with softmax(Q Kᵀ/√d_k) V, step by step.",
)
def read(x: Array, memory: Array, w_q: Array, w_k: Array, w_v: Array) -> Array:
    """Cross-attention from rows and three matrices."""
    return _reading(x, memory, w_q, w_k, w_v)


def _masked_tables() -> Iterator[Case]:
    q, k, v = np.array([[2.0, 1, 0, 0]]), np.zeros((3, 4)), np.array([[8.0], [16], [24]])
    k[:, 0] = np.log([1, 3, 4])
    exactly = "The visible keys have the weights 1/4 and 3/4, exactly."
    yield case(q=q, k=k, v=v, mask=np.array([[True, True, False]]), want=[[14]], why=exactly)
    nothing = "Nothing may be looked at, so nothing is handed over."
    yield case(q=q, k=k, v=v, mask=np.zeros((1, 3), dtype=bool), want=[[0]], why=nothing)
    hidden = "The answer is what it would be without the hidden keys: only scores that may be "
    hidden += "seen count."
    for scores, seen in (
        ([1, 1001], [True, False]),
        ([1001, 1], [True, False]),
        ([-1001, -1000, -1000], [True, True, False]),
        ([0, -3000, 3000], [False, True, False]),
        ([-1e10, 0], [True, False]),
        ([0, 2e10], [True, False]),
    ):
        k = np.array(scores, dtype=float)[:, np.newaxis]
        yield case(q=[[1.0]], k=k, v=v[: len(k)], mask=np.array([seen]), why=hidden)
    mask = np.tri(3, dtype=bool)
    yield case(q=integers(1, (3, 4)), k=integers(2, (3, 4)), v=integers(3, (3, 1)), mask=mask)
    yield case(q=[[1000.0], [0], [-1000]], k=[[1.0], [2], [2]], v=v, mask=mask, why=OF_ITS_OWN)
    shapes = [(1, 3), (2, 3), (2, 1, 3), (2, 2, 3), (3,), (2, 1), (1, 1, 3)]
    for seed, shape in enumerate(shapes):
        q, k = integers(seed, (2, 2, 4)), integers(seed + 5, (2, 3, 4))
        mask = integers(seed + 9, shape) > 0
        yield case(q=q, k=k, v=integers(seed, (2, 3, 1)), mask=mask, whole=seed == 3)
    q, k, v = integers(5, (3, 2, 4, 2)), integers(6, (3, 2, 5, 2)), integers(7, (3, 2, 5, 3))
    yield case(q=q, k=k, v=v, mask=integers(8, (3, 1, 4, 5)) > 0)


def _weighed(weigh: Function, q: Array, k: Array, v: Array, mask: Array) -> Array:
    """Return attention with weights made from scores and a mask."""
    return np.asarray(weigh(scaled_scores(q, k), mask) @ v)


def _shares(terms: Array, more: float = 0.0) -> Array:
    """Divide the terms of each row by their sum and some more, and by 1 where that is 0."""
    total = terms.sum(axis=-1, keepdims=True) + more
    return np.asarray(terms / np.where(total == 0, 1, total))


def _with_more(scores: Array, mask: Array) -> Array:
    high = visible(scores, mask).max(axis=-1, keepdims=True)
    return _shares(np.exp(visible(scores, mask) - np.where(high > -np.inf, high, 0)), more=1e-6)


def _all_or_none(scores: Array, mask: Array) -> Array:
    """Return zeros for all queries as soon as one row is fully masked."""
    weights = measured_from(visible(scores, mask))
    return np.zeros_like(weights) if np.isnan(weights).any() else weights


def _square(mask: Array) -> bool:
    return mask.ndim > 1 and mask.shape[-1] == mask.shape[-2]


_WEIGHT_MUTANTS: dict[str, Function] = {  # from scores and a mask
    "A nan comes of 0 · ∞, if a mask is multiplied by ∞.": lambda scores, mask: measured_from(
        scores + (1 - mask) * -np.inf
    ),
    "The softmax runs down the columns; each query needs weights that add up to one.": (
        lambda scores, mask: measured_from(visible(scores, mask), axis=-2)
    ),
    "exp(1001) is more than a float64 can hold. Subtract a score.": (
        lambda scores, mask: _shares(np.exp(scores) * mask)
    ),
    "Something is added to the sum of the exponentials, and the weights no longer add up to "
    "one. Only a sum of 0 is special.": _with_more,
    "The mask lies on its side.": lambda scores, mask: np.nan_to_num(
        measured_from(visible(scores, mask.mT if _square(mask) else mask))
    ),
    "One fully masked row does not silence the other queries.": _all_or_none,
    "Among other queries, too, a fully masked row gets zeros and not nan.": lambda scores, mask: (
        measured_from(visible(scores, mask)) if mask.any() else np.zeros_like(scores)
    ),
}


@exercise(
    "3.4",
    praise="Hidden keys have no influence, however large their scores; the others share the whole "
    "weight; and a fully masked row gets zeros. Masks of fewer axes are welcome.",
    hints=(
        "Which score gives a hidden key exactly the weight 0? The mask has to act before the "
        "softmax.",
        "Set the hidden scores to −∞. The largest score of a row, to be subtracted, is then one "
        "that the query may look at.",
        "In a row that is all −∞ the maximum is −∞ and the sum 0. Replace that maximum by 0 before "
        "you subtract and that sum by 1 before you divide.",
    ),
    cases=_masked_tables,
    mutants=each(_weighed, _WEIGHT_MUTANTS | MASK_MUTANTS)
    | each(
        lambda scale, q, k, v, mask: reference.attention(
            q, k, v, mask=np.atleast_2d(mask), scale=scale(q, k)
        ),
        SCALE_MUTANTS,
    ),
    otherwise="Row t of the mask says which keys query t may look at.",
)
def masked_attention(q: Array, k: Array, v: Array, mask: Array) -> Array:
    """Attention with a boolean mask; a fully masked row is zero."""
    return reference.attention(q, k, v, mask=np.atleast_2d(mask))
