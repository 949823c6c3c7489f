"""Exercises 3.1 to 3.3: a word exchanged, two sentences, scores that rise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer_book.exercises.kinds import Marks
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.scales import SCALE_MUTANTS, scaled
from tformer_book.exercises.softmaxes import SOFTMAX_MUTANTS, measured_from, weighed
from tformer_book.exercises.table import Case, Function, case, each

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
    hidden = "A word that was hidden may be exchanged for one that is not."
    yield case(a=[0.0, 1, 0], j=0, share=0.5, want=(0.5, 0.5, 0), why=hidden)
    yield case(a=[0.75, 0, 0, 0.25], j=2, share=0.2, want=(0.6, 0, 0.2, 0.2), why=hidden)
    whole = "Weights may come as whole numbers, and those that go out are none."
    yield case(a=[0.0, 1, 0], j=2, share=0.25, want=(0, 0.75, 0.25), why=whole, whole=True)
    rest = 2.0**-30
    most = "Word j may have had nearly all the weight: the others have what it left, in all digits."
    nearly = [0.25 * rest, 1 - rest, 0.75 * rest]
    yield case(a=nearly, j=1, share=0.5, want=(0.125, 0.5, 0.375), why=most)
    ties = "Two weights may be equal."
    yield case(a=[0.0, 0.5, 0.5, 0], j=1, share=0.2, want=(0, 0.2, 0.8, 0), why=ties)
    yield case(a=np.full(4, 0.25), j=3, share=0.4, want=(0.2, 0.2, 0.2, 0.4), why=ties)
    for two, share in (([0.002, 0.998], 0.999), ([0.5, 0.5], 0.0)):
        yield case(a=two, j=1, share=share, want=(1 - share, share), why="Two words are enough.")


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
    slips="""
        a * (1 - share) / (1 - a[j]) → a.copy()
            The others stayed as they were; with the new weight the row does not add up to 1.
        a * (1 - share) / (1 - a[j]) → a + (a[j] - share) / (len(a) - 1)
            The difference was shared out evenly, which changes the ratios of the others.
        a * (1 - share) / (1 - a[j]) → a.copy() ;; return row → $ / row.sum()
            You divided by the new sum: the row adds up to 1, but the new word does not get its
            share.
        / (1 - a[j]) →
            The others have 1 − share among them now. Before, they had 1 − a[j] and not 1.
        * (1 - share) →
            That makes the others add up to 1 without the new word.
        (1 - share) / (1 - a[j]) → (1 - a[j]) / (1 - share)
            The factor is upside down.
        a * (1 - share) / (1 - a[j]) → np.full(len(a), (1 - share) / (len(a) - 1))
            The others got equal weights; their ratios were to stay.
        row[j] = share → pass
            The weight of the new word is given: it is `share`.
        a * (1 - share) / (1 - a[j]) → a.copy() ;; return row → return reference.softmax(row)
            A softmax takes scores; these are weights already.
        = a
            The row did not change, and word j was to get another weight.
        = a if a[j] == 0 else np.where(np.arange(len(a)) == j, share, a * (1 - share) / (1 - a[j]))
            Word j was hidden and stays so in your row: the new word gets its share all the same.
        = np.append(np.delete(a, j) * (1 - share) / (1 - a[j]), share)
            The new word was put at the end; it takes place j.
        - a[j] → - a[j - 1] ;; row[j] → row[j - 1]
            The word before was exchanged: j counts from 0.
        row[j] = share → row[a == a[j]] = share
            Another word may have the same weight as word j. Go by its place, not by its weight.
        = after(a, max(j - 1, 0), share)
            You counted the words from 1; j counts from 0.
        = after(a, j, share) if share > 0 else a * 1.0
            A share of 0 leaves the others all: they still grow.
        = after(a + 1e-6, j, share)
            Something small was added to the weights, so that hidden words see.
    """,
    otherwise="Do two other weights still have the ratio they had, and does the row add up to 1?",
)
def after(a: Array, j: int, share: float) -> Array:
    """The row after word j was exchanged for one that gets the weight `share`."""
    row = a * (1 - share) / (1 - a[j])
    row[j] = share
    return row


def _steps() -> Iterator[Case]:
    a, v = np.array([0.5, 0.25, 0.25]), np.array([[2.0, 0], [0, 4], [4, 4]])
    why = "The products of grad with the values are 2, −8 and −4; with the output it is −2."
    yield case(a=a, v=v, grad=[1.0, -2], want=[False, True, True], why=why)
    why = "The products of grad with the values are 6, 4 and 16; with the output it is 8."
    yield case(a=a, v=v, grad=[3.0, 1], want=[True, True, False], why=why)
    why = "The output is 3.5, and a larger one lowers the loss. Only 10 is larger."
    v = np.array([[3.0], [1], [10]])
    yield case(a=[0.8, 0.1, 0.1], v=v, grad=[-1.0], want=[False, False, True], why=why)
    rare = "The weight may be a millionth: it says how fast a score moves, and not which way."
    v = np.array([[1.0, 2], [0, 1], [3, 0], [2, 2]])
    for weights, down in (
        ([1e-6, 0.5, 0.5 - 2e-6, 1e-6], [1.0, -1]),
        ([1e-6, 1 - 1e-6], [-1.0, 0.5]),
    ):
        yield case(a=weights, v=v[: len(weights)], grad=down, why=rare)
        close = 100 + v[: len(weights)] / 1e4
        yield case(a=weights, v=close, grad=down, why="Values may lie close together.")
    slow = "The derivatives may be small: a score that rises slowly rises."
    for size in (1.0, 1e-8):
        a, v = np.array([0.4, 0.35, 0.25]), np.array([[1.0, 2], [0, 1], [3, 0]])
        yield case(a=a, v=v, grad=size * np.array([2.0, -1]), why=slow)
    for seed, (n, d) in enumerate([(4, 1), (3, 3), (6, 2), (5, 4), (12, 3), (7, 1), (2, 2)]):
        a = reference.softmax(np.random.default_rng(seed).normal(size=n))
        v, grad = integers(seed + 3, (n, d)), integers(seed + 30, (d,)) + 0.5
        why = "A score rises if more of its value, and less of the mixture, lowers the loss."
        yield case(a=a, v=v, grad=grad, why=why)


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
    slips="""
        < → >
            Those fall: descent goes against the gradient.
        a @ v @ grad → 0.0
            A value that lowers the loss by itself may still be worse than the mixture.
        a @ v @ grad → (v @ grad).mean()
            You compared with the plain mean of the values; the output is their mixture by weight.
        v @ grad < → a * (v @ grad) <
            The weight says how fast a score moves, and not which way.
        < a @ v @ grad → == (v @ grad).min()
            Not only the best value gains: every value that is better than the mixture does.
        = np.arange(len(a)) == (v @ grad).argmin()
            One value is the best, but every value that is better than the mixture gains.
        = a > 1 / len(a)
            Those are the words with more than an equal share of the weight.
        a @ v @ grad → np.median(v @ grad)
            You compared with the middle value of all; the output is their mean by weight.
        = reference.softmax(np.log(a) - 1e-3 * a * (v @ grad - a @ v @ grad)) > a
            Those are the weights that rise. A weight also moves with the scores of the others.
        = reference.softmax(np.log(a) - 0.1 * (v @ grad)) > a
            Those are the weights that rise after a step, and not the scores.
        = a * (v @ grad - a @ v @ grad) < -1e-5
            A score that rises slowly rises. Compare with 0, without a threshold.
        < a @ v @ grad → < a @ v @ grad - 1e-2
            A value that is a little better than the mixture is better. Compare without a threshold.
    """,
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
    for seed, shape in enumerate([(1, 2), (1, 1, 2), (2, 1, 2), (1, 3, 2)]):
        yield _sizes(
            seed + 8, shape, (*shape[:-2], 4 - seed, 2), 3, 2, "An axis may have length 1."
        )
    yield _sizes(3, (3, 1), (2, 1), 1, 1, "An axis may have length 1.")
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


_attend = reference.attention


def _attending(
    attend: Function, x: Array, memory: Array, w_q: Array, w_k: Array, w_v: Array
) -> Array:
    return np.asarray(attend(x @ w_q, memory @ w_k, memory @ w_v))


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
    slips="""
        memory @ w_v → memory
            The mean is taken of the rows of memory. Project them with w_v.
        memory @ w_k, memory @ w_v → x @ w_k, x @ w_v
            Keys and values come from x; here they come from memory.
        x @ w_q, memory @ w_k, memory @ w_v → memory @ w_q, x @ w_k, x @ w_v
            x and memory have changed places: the rows of x ask, those of memory answer.
        x @ w_q, memory @ w_k → x @ w_k, memory @ w_q
            w_q and w_k have changed places.
        memory @ w_k → x @ w_k
            Keys are made from x; here they come from memory.
        memory @ w_v → x @ w_v
            Values are made from x; here they come from memory.
        weighed(measured_from, q, k, v) → reference.attention(q, k, v, scale=v.shape[-1] ** -0.5)
            You divided by the root of the width of the values. The scale belongs to that of the
            queries.
        weighed(measured_from, q, k, v) → _attend(q, k, v, np.tri(q.shape[-2], k.shape[-2]) > 0)
            A causal mask was applied, and none is asked for: every row reads the whole memory.
        weighed(measured_from, q, k, v) → reference.attention(q, k, v, scale=x.shape[-1] ** -0.5)
            You divided by the root of the width of x. The scale belongs to the width of the
            queries.
        weighed(measured_from, q, k, v) → reference.attention(q, k, v, scale=q.shape[1] ** -0.5)
            `shape[1]` is the width of the queries in a single table only; in a stack it is the
            number of queries. Count from the end: `shape[-1]`.
        weighed(measured_from, q, k, v) → reference.attention_weights(q, k)
            Those are the weights; the values have not been mixed yet.
        weighed(measured_from, q, k, v) → _attend(q, k, v, scale=1.0) / q.shape[-1] ** 0.5
            You divided by √d_k after the softmax; the scores are scaled, before it.
        weighed(measured_from, q, k, v) → np.squeeze($)
            An axis of length one is an axis, and `squeeze` takes it away.
    """,
    mutants=each(_attending, each(weighed, SOFTMAX_MUTANTS) | each(scaled, SCALE_MUTANTS)),
    otherwise="Compare with softmax(Q Kᵀ/√d_k) V, step by step.",
)
def read(x: Array, memory: Array, w_q: Array, w_k: Array, w_v: Array) -> Array:
    """Cross-attention from rows and three matrices."""
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    return weighed(measured_from, q, k, v)
