"""Exercises 20.7 and 20.8: a parabola through one budget, and the advice of two laws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.chapters.ch20.checks import Digits
from tformer_book.exercises.kinds import Number
from tformer_book.exercises.promises import promised, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import INTEGERS, Case, case

Array = np.ndarray


class Vertex(Number):
    """Where a parabola has its vertex; the losses may lie on a floor of the reader's own."""

    def remark(self, got: Any, want: Any) -> str:
        """Say what leaves small errors."""
        if got.shape == () and 0 < abs(float(got) - float(want)) < 0.01 * abs(float(want)):
            return (
                "That is close, and four digits are compared. Beside a floor, or with a large "
                "budget, the two terms may be so small that digits are lost: what if both are left "
                "out? A grid over log N leaves such errors too."
            )
        return super().remark(got, want)


def _by_squares(alpha: float, beta: float, away: Array) -> float:
    """The chapter's formula, which takes the runs to lie evenly."""
    middle, half, p = np.mean(away), (np.max(away) - np.min(away)) / 2, len(away)
    part = (3 * p**2 - 7) / (30 * (p - 1) ** 2)
    return float((beta - alpha) * (middle**2 / 2 - part * half**2))


def _by_three(alpha: float, beta: float, away: Array) -> float:
    u = np.sort(away)[[0, len(away) // 2, -1]]
    bend, slope, _ = np.polyfit(u, np.exp(-alpha * u) / alpha + np.exp(beta * u) / beta, 2)
    return float(-slope / (2 * bend))


def _windows() -> Iterator[Case]:
    small = "The three losses are 2.125, 1.5 and 2.5, at steps of log 2."
    step = float(np.log(2))
    want = -0.375 * step / 3.25
    yield case(alpha=1.0, beta=2.0, away=[-step, 0, step], want=want, why=small)
    even = "Equal exponents and runs as far to either side: the curve is even, and nothing is off."
    yield case(alpha=0.4, beta=0.4, away=[-2, -1, 0, 1, 2], want=0.0, why=even)
    yield case(alpha=0.4, beta=0.4, away=[-1, 0, 1, 2, 3], why="The window stands off by 1.")
    yield case(alpha=0.35, beta=0.5, away=np.linspace(-2.5, 2.5, 9), why="A wide window.")
    yield case(alpha=0.5, beta=0.35, away=np.linspace(0.2, 1.2, 4), why="The best size is outside.")
    mixed = "Runs need not lie evenly, nor in order."
    yield case(alpha=0.7, beta=0.2, away=[1.5, -2.0, 0.3, 1.1, -0.4, 1.5], why=mixed)
    yield from promised(whole, alpha=0.3, beta=0.6, away=np.array([-3.0, -1.0, 2.0, 4.0]))


@exercise(
    "20.7",
    praise="Narrow windows and wide ones, off to either side, runs in any order.",
    hints=(
        "At the best size α A / N^α = β B / D^β. Call that 1: what are the two terms there?",
        "They are 1/α and 1/β. Going u to the right in log N, log D goes u to the left.",
        "The loss is e^(−αu) / α + e^(βu) / β. np.polyfit finds the parabola.",
    ),
    cases=_windows,
    kind=Vertex(relative=1e-4, within=1e-9, near=0.0),
    mutants={
        "Your formula is right for a narrow window alone: it leaves out all that is smaller than "
        "a square. The runs are given, so the parabola itself can be found.": _by_squares,
        "Your parabola goes through three of the runs; least squares takes them all.": _by_three,
    },
    slips="""
        np.exp(-alpha * away) / alpha → np.exp(alpha * away) / alpha
        np.exp(beta * away) / beta → np.exp(-beta * away) / beta
            The signs are turned: with more parameters the term of the model falls, and that of the
            tokens grows.
        np.exp(-alpha * away) / alpha → np.exp(-alpha * away)
        np.exp(beta * away) / beta → np.exp(beta * away)
            This curve is not least at 0: there its two terms are equal, and they should be as 1/α
            is to 1/β.
        np.exp(-alpha * away) / alpha → np.exp(-alpha * away) * alpha
        np.exp(beta * away) / beta → np.exp(beta * away) * beta
            The terms are to each other as 1/α to 1/β at the best size; you have α to β.
        np.exp(beta * away) / beta → np.exp(-beta * away) / beta
            With one budget, more parameters leave fewer tokens: the second term grows with u.
        model + tokens → np.log(model + tokens)
            The parabola goes through the losses, not through their logarithms.
        np.exp(-alpha * away) / alpha → 10 ** (-alpha * away) / alpha
        np.exp(beta * away) / beta → 10 ** (beta * away) / beta
            Powers of ten belong to logarithms of base ten; these are natural ones.
        -slope / (2 * bend) → _ - slope**2 / (4 * bend)
            That is the loss at the vertex; the exercise asks where it lies.
        bend, slope, _ = np.polyfit → _, slope, bend = np.polyfit
            The coefficient of the square comes first from np.polyfit.
        -slope / (2 * bend) → 0 * bend
            At 0 the law is least; the parabola is another curve, with another vertex.
        np.exp(-alpha * away) / alpha → np.exp(-alpha * (away - np.mean(away))) / alpha
        np.exp(beta * away) / beta → np.exp(beta * (away - np.mean(away))) / beta
            You took the middle of the runs for the best size.
        -slope / (2 * bend) → slope / (2 * bend)
            The sign of the vertex is turned.
        -slope / (2 * bend) → -slope / bend
            The derivative of the square brings a 2 down.
        -slope / (2 * bend) → -2 * slope / bend
            The derivative of the square brings a 2 down, and it stands below.
        -slope / (2 * bend) → away[loss.argmin()]
            That is the run of least loss; the vertex of the parabola lies between runs.
        -slope / (2 * bend) → np.mean(away) - slope / (2 * bend)
            You measure from the middle of the runs; 0 is the best size.
    """,
)
def missed(alpha: float, beta: float, away: Array) -> float:
    """How far the vertex of a parabola lies from the best log N."""
    model = np.exp(-alpha * away) / alpha
    tokens = np.exp(beta * away) / beta
    loss = model + tokens
    bend, slope, _ = np.polyfit(away, loss, 2)
    return -slope / (2 * bend)


def _more(slopes: list[float], starts: list[float]) -> int:
    """Which law advises more tokens a parameter at one budget, 10^24."""
    one, other = np.log(1e24 / 6) * np.array(slopes) + starts
    return 1 if one > other else 2


def _pairs() -> Iterator[Case]:
    small = (
        "The first law advises 2 tokens a parameter whatever the budget; the second (C/6)^(1/3) / 4"
    )
    one, other = [1.8, 1.0, 2.0, 1.0, 1.0], [1.7, 4.0, 1.0, 2.0, 1.0]
    yield case(one=one, other=other, want=(3072.0, 2.0, 2), why=f"{small}.")
    yield case(one=other, other=one, want=(3072.0, 2.0, 1), why=f"{small}; they are exchanged.")
    whole = [2.0, 1.0, 2.0, 1.0, 1.0], [1.0, 4.0, 1.0, 2.0, 1.0]
    yield case(one=whole[0], other=whole[1], want=(3072.0, 2.0, 2), why=f"{small}.")
    printed, refit = [1.69, 406.4, 410.7, 0.34, 0.28], [1.8172, 482.01, 2085.43, 0.3478, 0.3658]
    for pair in ((printed, refit), (refit, printed)):
        why = "Tokens a parameter grow as C^((α − β) / (α + β))."
        yield case(one=pair[0], other=pair[1], why=why)
    steep, flat = [0.0, 9000.0, 5.0, 0.6, 0.3], [2.0, 500.0, 400.0, 0.3, 0.5]
    why = "One advice grows with the budget, and the other falls."
    yield case(one=steep, other=flat, why=why)
    both = "Both advise fewer tokens a parameter with a larger budget; one falls more slowly."
    yield case(one=flat, other=[1.0, 450.0, 90.0, 0.4, 0.45], why=both)
    same = [[1.0, 400.0, 900.0, 0.5, 0.4], [2.0, 300.0, 2000.0, 0.5, 0.45]]
    yield case(one=same[0], other=same[1], why="Both advise more with a larger budget.")
    near = [1.8, 100.0, 100.0, 0.3, 0.2], [1.8, 100.0, 100.0, 1.0, 0.8]
    far = [1.7, 4.0, 1.0, 0.2, 0.1], [1.8, 1.0, 2.0, 0.9, 0.7]
    for one, other in (near, near[::-1], far, far[::-1]):
        why = "Beyond the crossing, wherever it lies, the faster power of the budget is higher."
        yield case(one=one, other=other, why=why)
    beside = [1.0, 4.0, 1.0, 2.0, 1.0], [1.5, 1.0, 2.5, 1.25, 0.75]
    for one, other in (beside, beside[::-1]):
        yield case(one=one, other=other, whole=True, why=INTEGERS)
    slow = [1.8, 400.0, 900.0, 0.35, 0.37], [1.8, 400.0, 887.0, 0.3507, 0.37]
    why = "The two change at nearly the same rate."
    for one, other in (slow, slow[::-1]):
        yield case(one=one, other=other, why=why)


@exercise(
    "20.8",
    praise="Laws whose advice grows, falls and stands still, in either order.",
    hints=(
        "How does D / N depend on the budget, if both are the best ones? A power: which?",
        "With P = C / 6, log N = (log r + β log P) / (α + β) for r = α A / (β B); D / N is P / N².",
        "Logarithms of D / N are two straight lines over log P; where do they cross?",
    ),
    cases=_pairs,
    kind=Digits(names=("compute", "ratio", "more")),
    otherwise="Beyond the crossing the law whose ratio grows faster asks for more tokens.",
    slips="""
        6 * np.exp(p) → np.exp(p)
            That is N D, a sixth of the budget.
        6 * np.exp(p) → 6 * 10**p
            A natural logarithm is undone by a power of e.
        np.exp(slopes[0] * p + starts[0]) → np.exp(slopes[0] * p + starts[1])
            The slope is that of one law, and the height that of the other.
        (alpha - beta) / (alpha + beta) → beta / (alpha + beta)
            You let the numbers of parameters cross, and not the tokens a parameter.
        (alpha - beta) / (alpha + beta) → alpha / (alpha + beta)
            You let the numbers of tokens cross, and not the tokens a parameter.
        (alpha - beta) / (alpha + beta) → (beta - alpha) / (alpha + beta)
            Tokens a parameter grow with the budget where α is the larger exponent.
        np.log(alpha * a / (beta * b)) → np.log(a / b)
            At the best size α times one term is β times the other; the terms are not equal.
        np.log(alpha * a / (beta * b)) → np.log(beta * b / (alpha * a))
            A larger A asks for more parameters, and so for fewer tokens each.
        np.log(alpha * a / (beta * b)) → np.log(beta * a / (alpha * b))
            α and β have changed places before A and B: the derivative of A / N^α brings α down.
        np.log(alpha * a / (beta * b)) / (alpha + beta) → np.log(alpha * a / (beta * b))
            At N D = 1 the best N is a root of order α + β; you left out the root.
        (alpha - beta) / (alpha + beta) → alpha - beta
            The advice grows with the power (α − β) / (α + β), and not with α − β.
        starts[1] - starts[0] → starts[0] - starts[1]
            The crossing lies on the other side of N D = 1: set both lines equal, and sort again.
        -2 * np.log → -np.log
            D / N is P / N²: N stands in it twice.
        np.exp(slopes[0] * p + starts[0]) → np.exp(-slopes[0] * p - starts[0])
            That is how many parameters there are for a token.
        np.exp(slopes[0] * p + starts[0]) → np.exp(slopes[0] * (p + np.log(6)) + starts[0])
            The advice depends on N D, a sixth of the budget.
        1 if slopes[0] > slopes[1] else 2 → 2 if slopes[0] > slopes[1] else 1
            Below the crossing it is that one; beyond it the steeper line is higher.
        1 if slopes[0] > slopes[1] else 2 → 1 if slopes[0] > slopes[1] else 0
            The laws bear the numbers 1 and 2.
        1 if slopes[0] > slopes[1] else 2 → 1 if one[3] - one[4] > other[3] - other[4] else 2
            You compared α − β; the advice grows with the power (α − β) / (α + β).
        1 if slopes[0] > slopes[1] else 2 → _more(slopes, starts)
            That is who asks for more at one budget; the crossing may lie above it.
        1 if slopes[0] > slopes[1] else 2 → 1 if one[3] > other[3] else 2
            A larger α alone does not decide it: β works the other way.
    """,
)
def crossing(one: Array, other: Array) -> tuple[float, float, int]:
    """The budget where two laws advise the same, the advice, and who says more beyond."""
    slopes, starts = [], []
    for _, a, b, alpha, beta in (one, other):
        slopes.append((alpha - beta) / (alpha + beta))
        starts.append(-2 * np.log(alpha * a / (beta * b)) / (alpha + beta))
    p = (starts[1] - starts[0]) / (slopes[0] - slopes[1])
    return 6 * np.exp(p), np.exp(slopes[0] * p + starts[0]), 1 if slopes[0] > slopes[1] else 2
