"""Exercises 3.1 and 3.3: what a change of one word does to a row, and which scores will rise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer.exercises.kinds import Marks
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.table import Case, Function, case


def _rows() -> Iterator[Case]:
    yield case(a=np.array([1, 2, 3]) / 6, j=2, share=0.25, want=(0.25, 0.5, 0.25))
    yield case(a=np.array([1, 2, 3]) / 6, j=0, share=0.5, want=(0.5, 0.2, 0.3))
    yield case(a=np.array([0.1, 0.6, 0.3]), j=1, share=0.0, want=(0.25, 0, 0.75))
    for seed in range(6):
        n = 2 + seed
        a = reference.softmax(np.random.default_rng(seed).normal(size=n))
        yield case(a=a, j=(3 * seed) % n, share=(0.7, 0.05, 0.4, 0.9, 0.3, 0.6)[seed])
    apart = reference.softmax(np.array([30.0, 0, -30, 2]))
    yield case(a=apart, j=3, share=0.5)
    whole = "Whole numbers go in, and weights are none."
    yield case(a=np.array([0.0, 1, 0]), j=0, share=0.5, want=(0.5, 0.5, 0), why=whole, whole=True)
    yield case(a=np.array([0.0, 0.5, 0.5, 0]), j=1, share=0.2, want=(0, 0.2, 0.8, 0))


def _with(a: np.ndarray, j: int, share: float) -> np.ndarray:
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
def after(a: np.ndarray, j: int, share: float) -> np.ndarray:
    """The row after word j was exchanged for one that gets the weight `share`."""
    return _with(a * (1 - share) / (1 - a[j]), j, share)


def _steps() -> Iterator[Case]:
    a, v = np.array([2, 1, 1]) / 4, np.array([[2.0, 0], [0, 4], [4, 4]])
    yield case(
        a=a,
        v=v,
        grad=np.array([1.0, -2]),
        want=[False, True, True],
        why="The products of grad with the values are 2, −8 and −4; with the output it is −2.",
    )
    yield case(
        a=a,
        v=v,
        grad=np.array([3.0, 1]),
        want=[True, True, False],
        why="The products of grad with the values are 6, 4 and 16; with the output it is 8.",
    )
    yield case(
        a=np.array([8, 1, 1]) / 10,
        v=np.array([[3.0], [1], [10]]),
        grad=np.array([-1.0]),
        want=[False, False, True],
        why="The output is 3.5, and a larger one lowers the loss. Only 10 is larger.",
    )
    for seed, (n, d) in enumerate([(4, 1), (3, 3), (6, 2), (5, 4), (12, 3), (7, 1)]):
        a = reference.softmax(np.random.default_rng(seed).normal(size=n))
        v, grad = integers(seed + 3, (n, d)), integers(seed + 30, (d,)) + 0.5
        yield case(a=a, v=v, grad=grad, why=_WHY)


_WHY = "A score rises if more of its value, and less of the mixture, lowers the loss."


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
def rises(a: np.ndarray, v: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Which scores rise in a step of gradient descent."""
    return np.asarray(v @ grad < a @ v @ grad)
