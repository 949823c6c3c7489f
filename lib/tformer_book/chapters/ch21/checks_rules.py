"""Exercises 21.4 and 21.6: a layer for any rule of life, and how small weights must become."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tformer_book.exercises.kinds import Several
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray
SITUATIONS = np.array([(a, (k + a) / 9) for a in (0, 1) for k in range(9)])
"""What a cell may hold: dead, then living, with 0 to 8 living neighbours."""

# ---- 21.4 ---------------------------------------------------------------------------------


def _said_next(w_in: Array, b: Array, w_out: Array) -> Array:
    """What a layer returns for a dead cell and for a living one, with 0 to 8 neighbours: (2, 9)."""
    return np.asarray(np.maximum(SITUATIONS @ w_in + b, 0) @ w_out).reshape(2, 9)


def _rules() -> Iterator[Case]:
    def rule(births: list[int], survivals: list[int], why: str) -> Case:
        given: dict[str, Any] = {"births": _at(births), "survivals": _at(survivals)}
        said = f"births at {births or 'no number'} and survivals at {survivals or 'no number'}"
        return case(**given, said=said, why=why)

    yield rule([3], [2, 3], "Life: of 2 k + a only 5, 6 and 7 lead to 1.")
    yield rule([3, 6], [2, 3], "HighLife: a dead cell with six living neighbours is born as well.")
    yield rule([2], [], "Seeds: no cell survives.")
    yield rule([], [4, 5], "Nothing is ever born.")
    yield rule([0], [8], "A dead cell without neighbours is born, a crowded living one survives.")
    yield rule([0, 1], [0], "Births without a neighbour: the very first number is 1 already.")
    yield rule([1, 3, 5, 7], [1, 3, 5, 7], "Replicator: odd numbers of neighbours.")
    yield rule([1, 3, 5, 7], [0, 2, 4, 6, 8], "Whatever 2 k + a has, its value changes often.")
    yield rule([], [], "All die: the layer returns 0.")
    every = list(range(9))
    yield rule(every, every, "All live: the layer returns 1 always.")
    yield rule([], every, "Nothing changes: the layer returns a.")
    yield rule(every, [], "All cells change: the layer returns 1 − a.")
    yield rule([3, 6, 7, 8], [3, 4, 6, 7, 8], "Day and night: births and survivals up to 8.")
    yield rule([4], [3, 4], "Life with one neighbour more.")
    for seed in range(6):
        births, survivals = np.random.default_rng(seed).random((2, 9)) < 0.4
        names = np.flatnonzero(births).tolist(), np.flatnonzero(survivals).tolist()
        yield rule(*names, "A rule drawn at random.")


def _at(numbers: list[int]) -> Array:
    return np.isin(np.arange(9), numbers)


@exercise(
    "21.4",
    praise="Life and other known rules, births without a neighbour, and rules drawn at random.",
    hints=(
        "Which sum of a and m is a different number in each of the 18 cases?",
        "With 18 m − a these numbers are 0 to 17. A sum of ReLUs is a line with bends: where must "
        "it bend?",
        "Let ReLU j begin at j − 1. Then its weight is how much the slope changes there: the value "
        "at j, less twice that at j − 1, plus that at j − 2, with 0 before the first.",
    ),
    cases=_rules,
    kind=Several(
        names=("w_in", "b", "w_out"),
        by=_said_next,
        called="what your layer returns, for a dead cell and a living one with 0 to 8 neighbours,",
    ),
    otherwise="Row 0 is a dead cell, row 1 a living one, column k its number of living neighbours.",
    slips="""
        [[-1.0], [18.0]] → [[0.0], [18.0]]
            18 m alone is the same for a living cell with k neighbours and a dead one with k + 1:
            subtract a.
        [[-1.0], [18.0]] → [[-1.0], [2.0]]
            m is a mean over nine cells; to get their sum it is multiplied by nine.
        [[-1.0], [18.0]] → [[-1.0], [9.0]]
            9 m − a is the number of neighbours. A dead and a living cell with as many are then
            one case.
        [[-1.0], [18.0]] → [[0.0], [9.0]]
            9 m counts the cell itself: a living one with k neighbours looks like a dead one with
            k + 1.
        [[-1.0], [18.0]] → [[-1.0], [16.0]]
            m is a mean over nine cells, not over eight.
        [[-1.0], [18.0]] → [[1.0], [16.0]]
            You took m for the mean of the eight neighbours: it is that of nine cells, the middle
            one among them.
        [[-1.0], [18.0]] → [[-1.0], [1.0]]
            m changes by ninths, and your ReLUs begin at whole numbers: multiply m first.
        [[-1.0], [18.0]] → [[9.0], [9.0]]
        axis=1).ravel() → axis=0).ravel()
            9 m counts the living cell itself: 9 m + 9 a is k + 10 for it, and not k + 9.
        [[-1.0], [18.0]] → [[1.0], [18.0]]
            a is added where it is to be subtracted: the mean holds it already.
        [[-1.0], [18.0]] → [[18.0], [-1.0]]
            a and m are exchanged in w_in.
        [births, survivals] → [survivals, births]
            Births and survivals are exchanged.
        [births, survivals] → [births | survivals, births | survivals]
            You took births and survivals for one list: each belongs to one kind of cell.
        [births, survivals] → [births, births | survivals]
            A living cell follows the survivals alone; you let it live as well where a dead one is
            born.
        [births, survivals] → [births, births & survivals]
            A living cell does not need to be in both lists.
        [births, survivals] → [births, np.append(survivals[1:], False)]
            A living cell with k neighbours is treated as one with k + 1: survivals[k] counts the
            eight around it, but m holds the cell itself as well, so 9 m = k + a.
        [births, survivals] → [births, np.append(False, survivals[:-1])]
            A living cell with k neighbours is treated as one with k − 1, as if the cell had been
            subtracted once too often.
        [births, survivals] → [births, np.zeros(9)]
            No cell survives.
        [births, survivals] → [np.zeros(9), survivals]
            No cell is ever born.
        [births, survivals] → [births, np.ones(9)]
            Every living cell survives.
        [births, survivals] → [np.arange(9) == 3, (np.arange(9) == 2) | (np.arange(9) == 3)]
            That is Life, whatever the rule.
        axis=1).ravel() → axis=0).ravel()
            All births come first, and then all survivals; numbers of dead and living cells take
            turns.
        b = 1.0 - np.arange(18) → b = -1.0 * np.arange(18)
            Each ReLU begins at the number where it should be 1 already.
        b = 1.0 - np.arange(18) → b = 2.0 - np.arange(18)
            Each ReLU begins one number too early.
        b = 1.0 - np.arange(18) → b = np.arange(18) - 1.0
            The sign of b is wrong: a ReLU that begins late has a negative one.
        b = 1.0 - np.arange(18) → b = np.zeros(18)
            All ReLUs begin at 0: the layer bends nowhere else.
        np.diff(before, 2) → np.diff(before[1:])
            With these weights the slope is what the rule says; the slope has to go back as well
            after each step.
        axis=1).ravel() * 1.0 → axis=1).ravel()
        [0.0, 0.0], want → np.array([False, False]), want
            Differences of True and False only say whether two are unequal: make numbers of them
            first.
        b = 1.0 - np.arange(18) → b = -1.0 * np.arange(18) ;; np.diff(before, 2) → want
            Each ReLU begins at its number, where it is still 0, and never stops growing.
        np.diff(before, 2) → want - before[1:-1] + before[:-2]
            A tent of three ReLUs has the weight −2 in the middle; yours has −1.
        np.diff(before, 2) → want
            Each ReLU goes on growing after its number: it has to be stopped by later ones.
        np.diff(before, 2) → np.diff(np.append(before[1:], 0), 2)
            The weights stand one place too early: each ReLU has that of the next one.
        np.diff(before, 2) → np.diff(np.append(want, 0))
            With these weights the slope is what the rule says of the next number; the slope has to
            go back as well after each step.
        np.diff(before, 2) → -np.diff(before, 2)
            All signs of w_out are turned round.
        np.diff(before, 2) → np.clip(np.diff(before, 2), -1, 1)
            Where the slope changes from 1 to −1, the weight is −2.
        np.diff(before, 2) → np.abs(np.diff(before, 2))
            Weights have signs: a ReLU that stops others has a negative one.
        [0.0, 0.0], want → [want[0], want[0]], want
            What holds for the first number is missing: births without a neighbour.
        [0.0, 0.0], want → [0.0, 0.0, 0.0], want[1:]
            A dead cell without neighbours is never born: births[0] is left out.
        np.diff(before, 2) → np.append(np.diff(before, 2)[:-1], 0)
            The last ReLU is missing: a living cell with eight neighbours.
        np.diff(before, 2) → 2 * np.diff(before, 2)
            Your layer returns 2 where 1 is asked for.
    """,
)
def rule_layer(births: Array, survivals: Array) -> tuple[Array, Array, Array]:
    """Second differences of what a rule says of 2 k + a."""
    want = np.stack([births, survivals], axis=1).ravel() * 1.0
    before = np.concatenate([[0.0, 0.0], want])
    w_in = np.array([[-1.0], [18.0]]) * np.ones(18)
    b = 1.0 - np.arange(18)
    return w_in, b, np.diff(before, 2)


# ---- 21.6 ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes(Several):
    """A number of tokens, and a bound of scores."""

    scalars: bool = True

    def remark(self, got: Array, want: Array) -> str:
        """Say where no number can be right."""
        if got.shape == want.shape == () and want.dtype.kind == "i" and got % 1:
            return "There is no part of a token: the least whole number is asked for."
        if got.shape == want.shape == () and got < 0:
            return "All scores lie from minus the bound to the bound, so it is not negative."
        return super().remark(got, want)


def _sets() -> Iterator[Case]:
    why = "All scores are equal. Four weights are 1/4 each, which is not below 1/4; five are."
    even = float(np.log(3) / 2)
    three = "And 1 / (1 + 9 e^(−2B)) is 1/4 where e^(2B) = 3."
    yield case(B=0.0, most=0.25, n=10, want=(5, even), why=f"{why} {three}")
    why = "All scores are equal: two weights are 1/2 each, and three are below."
    yield case(B=0.0, most=0.5, n=2, want=(3, 0.0), why=f"{why} Of two, one has 1/2 or more.")
    why = "e² · 3 = 22.2: with 23 others the largest weight is below 1/4, with 22 it is not."
    yield case(B=1.0, most=0.25, n=4, want=(24, 0.0), why=f"{why} One of four always has 1/4.")
    why = "With e⁴ = 54.6 others the largest weight is 1/2, so it is below from 55 others on."
    yield case(B=2.0, most=0.5, n=101, want=(56, float(np.log(100) / 2)), why=why)
    why = "e^(2B) (1/most − 1) others may be there; and n − 1 others need half of a logarithm."
    for B, most, n in (
        (0.5, 0.3, 8),
        (1.5, 0.9, 1000),
        (3.0, 0.99, 64),
        (0.25, 0.05, 12),
        (4.0, 0.4, 10**6),
        (5.0, 0.1, 256),
        (1.3, 0.02, 30),
        (5.0, 0.99, 10**9),
        (0.1, 0.6, 3),
        (2.2, 0.95, 20),
    ):
        yield case(B=B, most=most, n=n, why=why)
    low = "One of n weights is always 1/n or more, however near the scores are: 0 is enough."
    for B, most, n in ((0.7, 0.01, 50), (1.1, 0.2, 5), (0.3, 0.33, 3), (2.5, 0.1, 2)):
        yield case(B=B, most=most, n=n, why=low)
    exact = "All scores are equal: eight weights are 1/8 each, which is not below 1/8."
    yield case(B=0.0, most=0.125, n=100, why=exact)


@exercise(
    "21.6",
    praise="Equal scores and large bounds, two tokens and a billion, and weights that are certain.",
    hints=(
        "Which scores give one token the largest weight that it can have?",
        "Its own is B and all others are −B. What is its weight, among n?",
        "It is below `most` if (n − 1) e^(−2B) is more than 1/most − 1. Solve for n, and for B.",
    ),
    cases=_sets,
    kind=Sizes(names=("least number of tokens", "least bound")),
    otherwise="One score at B and all others at −B, and the weight compared with `most`.",
    slips="""
        np.exp(2 * B) → np.exp(B)
            Two scores differ by up to 2 B, and you took B.
        np.exp(2 * B) → np.exp(-2 * B)
            With larger scores more tokens are needed, and yours become fewer.
        np.exp(2 * B) → np.exp(4 * B)
            Two scores differ by up to 2 B, and you took 4 B.
        np.exp(2 * B) → 1
            B has no effect on your number of tokens: with equal scores alone all weights are 1/n.
        np.exp(2 * B) → 2 * B
            The exponential is missing: weights compare exponentials of scores.
        1 / most - 1 → 1 / most
            The largest weight is divided by itself and n − 1 others; you counted it as one of n
            others.
        1 / most - 1 → 1 / most ;; + 2 → + 1
            You took e^(2B)/n for the largest weight. It is less, since its own exponential stands
            below the line with the others.
        1 / most - 1 → most / (1 - most)
            most and 1 − most are exchanged: a smaller weight needs more tokens.
        int(np.floor(others)) + 2 → int(np.floor(others)) + 1
            With that many tokens a weight can still be as large as `most`: you counted the others
            alone, or rounded down.
        int(np.floor(others)) + 2 → int(np.ceil(others)) + 1
            Where a weight can be exactly `most` your number is one too small: below is asked for.
        int(np.floor(others)) + 2 → int(np.rint(others)) + 1
            You rounded to the nearest number: rounded down, one token too few is there.
        int(np.floor(others)) + 2 → others + 1
            With that many tokens the weight is exactly `most`, and the number is not whole.
        int(np.floor(others)) + 2 → max(n, int(np.floor(others)) + 2)
            Your number of tokens depends on n, which belongs to the second question alone.
        int(np.floor(others)) + 2 → int(np.floor(others)) + 3
            One token fewer is enough.
        int(np.floor(others)) + 2 → int(np.ceil(others))
            You returned the number of the others; the token itself is one more.
        (n - 1) * most / (1 - most) → n * most / (1 - most)
            In the bound you counted n others; there are n − 1.
        (n - 1) * most / (1 - most) → (n - 1) * most
            The weights of the others add up to 1 − most, which has no effect on your bound.
        (n - 1) * most / (1 - most) → n * most
            You took e^(2B)/n for the largest weight where you solve for the bound; its own
            exponential stands below the line as well.
        (n - 1) * most / (1 - most) → (n - 1) * (1 - most) / most
            In the bound most and 1 − most are exchanged: a larger weight needs larger scores.
        max(0.0, bound) → bound
            Your bound is negative where one of n weights is always as large; then 0 is enough.
        np.log((n - 1) * most / (1 - most)) / 2 → np.log((n - 1) * most / (1 - most))
            Your second number is the distance of two scores; the bound is half of it, since they
            lie on both sides of 0.
        np.log((n - 1) * most / (1 - most)) / 2 → np.log((n - 1) * most / (1 - most)) * 2
            You multiplied by two; the distance of two scores is twice the bound.
        max(0.0, bound) → abs(bound)
            A negative logarithm means that 0 is enough; you took it without its sign.
        np.log((n - 1) → np.log2((n - 1)
            Softmax takes powers of e: the natural logarithm is asked for, and not that of base 2.
        np.log((n - 1) → np.log10((n - 1)
            Softmax takes powers of e: the natural logarithm is asked for, and not that of base 10.
        return int(np.floor(others)) + 2, max(0.0, bound) → return max(0.0, bound), int(others) + 2
            The two stand in the wrong order: first the number of tokens.
        max(0.0, bound) → np.exp(2 * bound)
            The second number is a ratio of exponentials; the bound of the scores is asked for.
        max(0.0, bound) → max(0.0, bound - B)
            The second number is what is missing beyond B; the whole bound is asked for.
        max(0.0, bound) → max(B, bound)
            The second bound stands instead of B, so it may be less.
        max(0.0, bound) → min(B, max(0.0, bound))
            The second bound stands instead of B, so it may be larger.
    """,
)
def dispersed(B: float, most: float, n: int) -> tuple[int, float]:
    """From which size all weights are below, and which scores one would need."""
    others = (1 / most - 1) * np.exp(2 * B)
    bound = np.log((n - 1) * most / (1 - most)) / 2
    return int(np.floor(others)) + 2, max(0.0, bound)
