"""Exercises 20.1, 20.3 and 20.5: what training costs, what to buy, and a floor ignored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tformer_book.exercises import kinds
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case


@dataclass(frozen=True)
class Digits(kinds.Digits):
    """Numbers for which a search by computer will do."""

    def remark(self, got: Any, want: Any) -> str:
        """Say that a number is close."""
        if not self.is_near(got, want) or float(got).is_integer():
            return super().remark(got, want)
        return (
            "That is close, and six digits are compared. A grid leaves such errors where it is "
            "coarse."
        )


def _decoders() -> Iterator[Case]:
    one = (
        "Matrices of the block 12 · 4 = 48, of the head 3 · 2 = 6; attention to 5 words 12 · 5 · 2."
    )
    yield case(d=2, n_layers=1, n_vocab=3, T=5, want=(444.0, 360.0), why=one)
    none = "Without a block there is the head alone, and the table that is looked up."
    yield case(d=3, n_layers=0, n_vocab=10, T=7, want=(180.0, 360.0), why=none)
    known = ((768, 12, 50257, 1024), (64, 2, 768, 128), (4096, 32, 32000, 1))
    for d, n_layers, n_vocab, T in known:
        why = f"The blocks hold 12 · {n_layers} · {d}², each table {n_vocab} · {d}."
        yield case(d=d, n_layers=n_layers, n_vocab=n_vocab, T=T, why=why)
    long = "A long context: T / (6 d) is more than 1, so attention costs more than the matrices."
    yield case(d=512, n_layers=6, n_vocab=256, T=100_000, why=long)


@exercise(
    "20.1",
    praise="No block and many, short texts and long, GPT-2's sizes among them.",
    hints=(
        "How often is a number of a matrix used for one token, forward and backward?",
        "6 FLOPs for each number that a row is multiplied by; a lookup multiplies nothing.",
        "Attention: a query times T keys and T weights times values, 12 T d in each block.",
    ),
    cases=_decoders,
    otherwise="Every number of a matrix costs six FLOPs a token, and attention is added to that.",
    kind=Digits(names=("exact", "rule")),
    slips="""
        6 * (blocks + table) + 12 → 2 * (blocks + table) + 12
            The matrices are counted in the forward pass alone; going back costs twice as much.
        6 * (blocks + table) + 12 → 4 * (blocks + table) + 12
            Going back takes two products for each one forward: to the inputs and to the matrix.
        6 * (blocks + table) + 12 → 3 * (blocks + table) + 12
            A number costs a multiplication and an addition, in three products.
        6 * (blocks + table) + 12 → 6 * (blocks + 2 * table) + 12
            The table of the words read is looked up, and a lookup costs no product.
        6 * (blocks + table) + 12 → 6 * blocks + 12
            The head is a matrix as well: each token is multiplied by all its columns.
        + 12 * n_layers * T * d → + 6 * n_layers * T * d
            Half of attention is missing: scores and weighted values are products, both for all T
            words, also for those that the mask hides.
        + 12 * n_layers * T * d → + 6 * n_layers * (T + 1) * d
            You left out what the mask hides; here it is multiplied all the same.
        + 12 * n_layers * T * d → + 4 * n_layers * T * d
            Attention is counted in the forward pass alone.
        + 12 * n_layers * T * d → + 12 * n_layers * T**2 * d
            That is attention for all T tokens of the text; one token attends to T.
        + 12 * n_layers * T * d → + 12 * n_layers * T**2
            Each of the T words has a key and a value of d numbers.
        6 * (blocks + table) + 12 * n_layers → 8 * (blocks + table) + 16 * n_layers
            You count a second forward pass; nothing is computed twice here.
        + 12 * n_layers * T * d → + 12 * T * d
            Each block has attention of its own.
        + 12 * n_layers * T * d → + 0
            Attention is missing: the scores and the weighted values are products too.
        + 12 * n_layers * T * d → + 6 * n_layers * T
            A score is a product over all coordinates of a key.
        12 * n_layers * d**2 → 4 * n_layers * d**2
            The feed-forward layers are missing, 8 d² a block.
        12 * n_layers * d**2 → 8 * n_layers * d**2
            4 d² a block are missing: the four matrices of attention, or one of the two matrices of
            the layer.
        12 * n_layers * d**2 → 16 * n_layers * d**2
            The feed-forward layer has two matrices of 4 d² numbers; a third one would be a gate.
        12 * n_layers * d**2 → 9 * n_layers * d**2
            There are queries, keys, values and outputs: 4 d² a block.
        12 * n_layers * d**2 → 6 * n_layers * d**2
            The hidden layer is four times as wide: two matrices of 4 d² numbers each.
        rule = 6 * (blocks + 2 * table) → rule = 6 * (blocks + table)
            In N of the rule of thumb only one of the two tables is counted.
        rule = 6 * (blocks + 2 * table) → rule = 6 * blocks
            N of the rule holds both tables here, and not the blocks alone.
        rule = 6 * (blocks + 2 * table) → rule = 6 * (blocks + 2 * table + T * d)
            You counted a table of positions; there is none here.
        rule = 6 * (blocks + 2 * table) → rule = blocks + 2 * table
            That is N; the rule says 6 N for each token.
        exact, rule → rule, exact
            The two stand in the wrong order.
        exact = 6 * → exact = 2 *
        12 * n_layers * T → 4 * n_layers * T
            That is the forward pass alone; the backward pass costs twice as much and is missing.
    """,
)
def flops_a_token(d: int, n_layers: int, n_vocab: int, T: int) -> tuple[float, float]:
    """FLOPs of training on one token: counted, and by the rule."""
    blocks = 12 * n_layers * d**2
    table = n_vocab * d
    exact = 6 * (blocks + table) + 12 * n_layers * T * d
    rule = 6 * (blocks + 2 * table)
    return exact, rule


def _budgets() -> Iterator[Case]:
    small = "Here N D = 2, and 32 / N + 1 / D² is least where 32 / N = 2 / D²: N = 4, D = 1/2."
    law: dict[str, Any] = {"floor": 0.5, "a": 32.0, "b": 1.0, "alpha": 1.0, "beta": 2.0}
    yield case(**law, compute=12.0, want=(4.0, 0.5, 12.5), why=small)
    for floor, a, b, alpha, beta in (
        (1.69, 406.4, 410.7, 0.34, 0.28),
        (1.8172, 482.01, 2085.43, 0.3478, 0.3658),
        (0.0, 5.0, 70.0, 0.8, 0.2),
        (2.0, 90.0, 90.0, 0.5, 0.5),
    ):
        for compute in (6e3, 6e9, 5.76e23, 6e30):
            why = "At the least loss α A / N^α = β B / D^β, and N D = C / 6."
            given: dict[str, Any] = {"floor": floor, "a": a, "b": b, "alpha": alpha, "beta": beta}
            yield case(**given, compute=compute, why=why)


@exercise(
    "20.3",
    praise="Small budgets and large, steep laws and flat, with a floor and without.",
    hints=(
        "Put D = C / (6 N) into the law: one number is left to choose.",
        "Where the derivative by log N is 0, α A / N^α = β B / D^β.",
        "With P = C / 6 that is N^(α + β) = α A P^β / (β B).",
    ),
    cases=_budgets,
    otherwise="The least loss along N · D = C / 6.",
    kind=Digits(names=("n", "d", "loss"), near=0.03),
    slips="""
        alpha * a / (beta * b) * p**beta → alpha * a / (beta * b) * p**alpha
            The exponents are exchanged: N grows with the exponent of the tokens, β / (α + β).
        alpha * a / (beta * b) * p**beta → a / b * p**beta
            You made both terms equal; what is equal at the least loss is α times one and β times
            the other.
        alpha * a / (beta * b) * p**beta → beta * a / (alpha * b) * p**beta
            α and β have changed places before A and B: the derivative of A / N^α brings α down.
        alpha * a / (beta * b) * p**beta → beta * b / (alpha * a) * p**beta
            The ratio of the terms stands upside down: a larger A asks for more parameters.
        alpha * a / (beta * b) * p**beta → p**beta
            A and B have no effect on N.
        (alpha * a / (beta * b) * p**beta) → (alpha * a / (beta * b))
        (1 / (alpha + beta)) → (1 / (alpha + beta)) * p**beta
            The root of order α + β goes over P^β too.
        (alpha * a / (beta * b) * p**beta) → (p**beta)
        (1 / (alpha + beta)) → (1 / (alpha + beta)) * (alpha * a / (beta * b))
            The root of order α + β goes over the ratio of A and B too.
        (1 / (alpha + beta)) → (1 / alpha)
            The power belongs to α + β: N^α and D^β were brought to one side.
        compute / 6 → compute / 2
            A budget over 2 N pays for the forward pass alone.
        n, p / n, floor → n, p / n / n, floor
            The second number is that of tokens, and not of tokens a parameter.
        a / n**alpha + b / (p / n) ** beta → a * n**alpha + b * (p / n) ** beta
            In your loss both terms grow with size.
        compute / 6 → compute
            A token costs 6 FLOPs a parameter: N D is a sixth of the budget.
        n, p / n, floor → n, 6 * p / n, floor
            6 N D is the budget; your N and D cost six times as much.
        n, p / n, floor → p / n, n, floor
            Parameters come first and tokens second.
        floor + a → a
            The floor is missing in the loss.
        floor + a / n**alpha + b / (p / n) ** beta → floor
            The loss is the floor only for endless budgets.
        b / (p / n) ** beta → b / p**beta
            The tokens in the loss are those of one parameter: D is N D / N.
        n = (alpha * a / (beta * b) * p**beta) ** (1 / (alpha + beta)) → n = p**0.5
            Half for each, in logarithms, is right only if α A = β B and α = β.
        n = (alpha * a / (beta * b) * p**beta) ** (1 / (alpha + beta)) → n = (p / 20) ** 0.5
            Twenty tokens a parameter are one law's advice at one budget; these constants say other.
    """,
)
def spend(
    floor: float, a: float, b: float, alpha: float, beta: float, compute: float
) -> tuple[float, float, float]:
    """Best parameters and tokens, and the loss."""
    p = compute / 6
    n = (alpha * a / (beta * b) * p**beta) ** (1 / (alpha + beta))
    return n, p / n, floor + a / n**alpha + b / (p / n) ** beta


def _misled() -> Iterator[Case]:
    why = "The losses are 4 and 2, the line says log 2 / log 3, and at 9 it says 1; it will be 4/3."
    bias = float(np.log(2) / np.log(3) - 1)
    given: dict[str, Any] = {"floor": 1.0, "a": 3.0, "power": 1.0}
    yield case(**given, x1=1.0, x2=3.0, x3=9.0, want=(bias, -1 / 3), why=why)
    between = "Between the two runs the line lies above the curve."
    yield case(**given, x1=1.0, x2=9.0, x3=3.0, why=between)
    yield case(**given, x1=4.0, x2=2.0, x3=1.0, why="The runs may be named in either order.")
    zero = "Without a floor a line is right, and both numbers are 0."
    yield case(floor=0.0, a=7.0, power=0.4, x1=10.0, x2=1e3, x3=1e6, want=(0.0, 0.0), why=zero)
    far = "A floor of 1.7 under losses of 2 to 4: of the exponent little is seen."
    for power in (0.34, 0.5):
        yield case(floor=1.7, a=400.0, power=power, x1=1e7, x2=1e9, x3=1e11, why=far)
    same = "At a run that was seen the line is right."
    yield case(floor=2.0, a=5.0, power=0.7, x1=2.0, x2=8.0, x3=8.0, why=same)


@exercise(
    "20.5",
    praise="No floor and high floors, sizes between the runs and far beyond them.",
    hints=(
        "First the two losses; what slope has the line between their logarithms?",
        "The line's exponent is log(L1 / L2) / log(x2 / x1): less than the true one. Why?",
        "It says L1 (x3 / x1)^(−that) for x3. Take off what the law says.",
    ),
    cases=_misled,
    otherwise="A straight line in logarithms through two points of the law.",
    kind=Digits(names=("bias", "miss")),
    slips="""
        first * (x3 / x1) ** -seen → first - seen * (x3 - x1)
            Your line is straight in the losses themselves; it should be so in their logarithms.
        seen - power, line - third → power - seen, line - third
            The bias is what is seen less what is true; yours has the other sign.
        seen - power, line - third → seen, line - third
            You return the exponent that is seen; how far is it off?
        seen - power, line - third → -seen - power, line - third
            The slope of the line is negative; the exponent is the slope with the other sign.
        seen - power, line - third → seen / power - 1, line - third
            That is the bias as a share of the exponent.
        seen - power, line - third → seen - power, third - line
            The miss is what the line says less what comes: it is negative where the line promises
            too much.
        seen - power, line - third → seen - power, line
            You return what the line says; how far is it off?
        seen - power, line - third → seen - power, np.log(line / third)
            That is the miss between logarithms; the losses themselves are asked for.
        line = first * (x3 / x1) ** -seen → line = second * (x3 / x1) ** -seen
            The line is followed from the second run, over the way from the first one.
        seen - power, line - third → seen - power, line / third - 1
            That is the miss as a share of the loss.
        line = first * (x3 / x1) ** -seen → line = floor + (first - floor) * (x3 / x1) ** -seen
            Whoever draws the line does not know the floor: it goes through the losses themselves.
        line = first * (x3 / x1) ** -seen → line = first * (x3 / x1) ** -power
            The line goes on with the slope that it has, and not with the true exponent.
        line = first * (x3 / x1) ** -seen → line = first + (second - first) * (x3 - x1) / (x2 - x1)
            The line is straight between logarithms, of the size and of the loss.
        line = first * (x3 / x1) ** -seen → line = first * (x3 / x1) ** seen
            Your line rises from the first run on; its exponent was made positive for a fall.
        seen - power, line - third → seen - power, line - third + floor
            What the line says is compared with what lies above the floor; the loss holds it.
        line = first * (x3 / x1) ** -seen → line = first * x3**-seen
            The line begins at the first run: how much larger than that is x3?
        np.log(first / second) / np.log(x2 / x1) → power * (1 - floor / first)
            That is the slope of the curve at the first run; the line goes through two.
        np.log(first / second) / np.log(x2 / x1) → power * (1 - floor / second)
            That is the slope of the curve at the second run; the line goes through two.
        np.log(first / second) / np.log(x2 / x1) → power / (1 + floor / a * np.sqrt(x1 * x2)**power)
            That is the slope of the curve halfway; the line goes through the two losses.
        np.log(first / second) / np.log(x2 / x1) → np.log(first / second) / np.log10(x2 / x1)
            Two logarithms with different bases: the slope is 2.303 times as large.
        np.log(first / second) / np.log(x2 / x1) → np.log(first / second) / (x2 - x1)
            The sizes have to go through the logarithm as well.
        np.log(first / second) / np.log(x2 / x1) → (first - second) / np.log(x2 / x1)
            The losses have to go through the logarithm as well.
        np.log(first / second) / np.log(x2 / x1) → np.log(second / first) / np.log(x2 / x1)
            A falling loss has a positive exponent.
        floor + a * x**-power → a * x**-power
            The losses hold the floor: without it there is no bias at all.
        floor + a * x**-power → floor + a * x**power
            The loss grows with the size here.
        line = first * (x3 / x1) ** -seen → line = a * x3**-seen
            You drew the line through the law's a; it goes through the two runs.
    """,
)
def misled(
    floor: float, a: float, power: float, x1: float, x2: float, x3: float
) -> tuple[float, float]:
    """How far a straight line is off: in its exponent, and in the loss at a third size."""
    first, second, third = (floor + a * x**-power for x in (x1, x2, x3))
    seen = np.log(first / second) / np.log(x2 / x1)
    line = first * (x3 / x1) ** -seen
    return seen - power, line - third
