"""Exercises 2.3 and 2.4: how far ahead a winner must be, and the best time of the second best."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tformer.exercises.kinds import Number
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, case


def _leads() -> Iterator[Case]:
    yield case(share=0.5, n=3, beta=1.0, want=np.log(2))
    yield case(share=0.75, n=4, beta=2.0, want=np.log(3))
    yield case(share=0.5, n=2, beta=3.0, want=0.0, why="Two equal scores share alike.")
    yield case(share=0.1, n=10, beta=1.0, want=0.0, why="Ten equal scores share alike.")
    less = "Less than an equal share asks for a score below the others: the lead is negative."
    yield case(share=0.01, n=10, beta=0.5, why=less)
    yield case(share=1e-9, n=2, beta=1.0, why=less)
    for n in (1000, 1_000_000, 10**12):
        yield case(share=0.5, n=n, beta=1.0)
    yield case(share=1 - 1e-9, n=100, beta=0.01)


def _odds(share: float) -> float:
    return share / (1 - share)


@exercise(
    "2.3",
    praise="The lead is right for two keys and for a million million, for shares near 0 and near "
    "1. A thousand times as many rivals cost ln 1000 more, wherever you start.",
    hints=(
        "All rivals have the same weight. What is it, if the leader has `share`?",
        "The ratio of two weights depends on the difference of their scores alone.",
        "e to the power β times the lead is the leader's weight over the weight of one rival.",
    ),
    cases=_leads,
    kind=Number(within=1e-6, relative=1e-9),
    mutants={
        "The rest is shared by the n − 1 others; the leader is not among them.": (
            lambda share, n, beta: np.log(_odds(share) * n) / beta
        ),
        "That is the lead over a single rival; there are n − 1.": (
            lambda share, n, beta: np.log(_odds(share)) / beta
        ),
        "β is left out.": lambda share, n, beta: np.log(_odds(share) * (n - 1)),
        "You multiplied by β: the sharper softmax is, the smaller the lead that is needed.": (
            lambda share, n, beta: np.log(_odds(share) * (n - 1)) * beta
        ),
        "That lead is enough and more than is needed: you solved the bound of the chapter and not "
        "the definition.": lambda share, n, beta: np.log((n - 1) / (1 - share)) / beta,
        "A ratio of weights belongs to a difference of scores by way of a logarithm.": (
            lambda share, n, beta: _odds(share) * (n - 1) / beta
        ),
        "The logarithm is the natural one; you took the one to base 2.": (
            lambda share, n, beta: np.log2(_odds(share) * (n - 1)) / beta
        ),
        "The sign is turned round.": lambda share, n, beta: -np.log(_odds(share) * (n - 1)) / beta,
        "You compared the leader with the rest as a whole, and divided where there are more rivals "
        "to beat.": lambda share, n, beta: np.log(_odds(share) / (n - 1)) / beta,
    },
    otherwise="Write down the weight of the leader, and solve for the lead.",
)
def lead_for(share: float, n: int, beta: float) -> float:
    """The lead over n − 1 equal scores that gives the weight `share`."""
    return float((np.log(share) - np.log1p(-share) + np.log(n - 1)) / beta)


def _races() -> Iterator[Case]:
    yield case(scores=np.array([1.0, 0, -2]), want=np.log(2) / 3)
    yield case(scores=np.array([-8.0, 1, 0]), want=np.log(8) / 9)
    never = "Its score lies below the mean of all, so its weight falls from the start: β = 0."
    yield case(scores=np.array([3.0, 1, 0]), want=0.0, why=never)
    yield case(scores=np.array([0.0, 1]), want=0.0, why=never)
    yield case(scores=np.array([0.0, -3, 1, -2, -6]))
    yield case(scores=np.array([5.0, 2, 4.5, 1]))
    together = "Scores that lie close together need a large β."
    yield case(scores=np.array([0.0, 0.001, -0.002]), want=np.log(2) / 0.003, why=together)
    yield case(scores=np.array([0.0, -2000, 1000]), want=np.log(2) / 3000)
    for far in (1000.0, -1000.0, 20_000.0):
        over = "Without a shift the exponentials are all ∞ or all 0. Subtract the largest score."
        yield case(scores=far + np.array([-2.0, 0, 1]), want=np.log(2) / 3, why=over)
    yield case(scores=np.array([0, 10.0, 9.9, -5, 3, 1]))
    yield case(scores=np.array([-2.0, 1, 0]), want=np.log(2) / 3, whole=True)


def _crossing(ahead: Callable[[float], float], low: float = 0.0, most: float = np.inf) -> float:
    """Where a rising function passes zero, from `low` on; `low` itself if it begins above."""
    if ahead(low) >= 0:
        return low
    high = 1.0
    while ahead(high) < 0:
        low, high = high, 2 * high
        if high > most:
            return most
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if ahead(middle) < 0 else (low, middle)
    return (low + high) / 2


def _ahead(scores: np.ndarray, own: float, shift: float | None = None) -> Callable[[float], float]:
    """The mean score under softmax less the score `own`, as a function of β, without its scale."""
    shift = scores.max() if shift is None else shift

    def ahead(beta: float) -> float:
        terms = np.exp(beta * (scores - shift))
        return float((terms * (scores - own)).sum())

    return ahead


def _ranked(rank: int, low: float = 0.0, most: float = 1e9) -> Callable[[np.ndarray], float]:
    """The best β of the score of a rank from below."""

    def best(scores: np.ndarray) -> float:
        return _crossing(_ahead(scores, np.sort(scores)[rank]), low, most)

    return best


@exercise(
    "2.4",
    praise="Your β is right for two scores and for six, close together and far apart, and 0 where "
    "the second best never rises.",
    hints=(
        "How does a weight change with β? The derivative of log p with respect to β is short.",
        "The slope of a weight is the weight times (its score − the mean score under the weights). "
        "When is that zero?",
        "The mean score rises with β, from the plain mean to the largest score. So it passes the "
        "second score once or, if it begins above it, never. Double and halve.",
    ),
    cases=_races,
    kind=Number(within=1e-6, relative=1e-6),
    mutants={
        "A negative β turns the order of the scores round. From 0 on this weight only falls.": (
            _ranked(-2, low=-50.0)
        ),
        "That is the temperature; β is its inverse.": lambda scores: 1 / _ranked(-2)(scores),
        "That is the second score from below; the second best is the second from above.": (
            _ranked(1)
        ),
        "That is for the third best.": _ranked(-3),
        "You took the second score as it stands in the list; sort first.": (
            lambda scores: _crossing(_ahead(scores, scores[1]), 0.0, 1e9)
        ),
        "The search ends at 10, and the best β may lie far beyond.": _ranked(-2, most=10.0),
        "Without a shift the exponentials are all ∞ or all 0, and nothing is found.": (
            lambda scores: _crossing(_ahead(scores, np.sort(scores)[-2], shift=0.0), 0.0, 1e9)
        ),
        "That is a share and no β: the largest one that the second best gets.": (
            lambda scores: _share(scores, _ranked(-2)(scores))
        ),
    },
    otherwise="It is the β at which the mean score equals the second score.",
)
def second_best(scores: np.ndarray) -> float:
    """The β at which the weight of the second largest score is largest."""
    return _ranked(-2)(scores)


def _share(scores: np.ndarray, beta: float) -> float:
    terms = np.exp(beta * (scores - scores.max()))
    return float(np.sort(terms / terms.sum())[-2])
