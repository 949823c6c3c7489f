"""Exercises 19.6 and 19.7: what one token can move, and a carry that needs another column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.chapters.ch19.checks import Numbers
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray

# ---- 19.6 ---------------------------------------------------------------------------------


def _votes() -> Iterator[Case]:
    why = (
        "Of 5 votes the closest are 3 : 2, whose mean is 1/5. From −1 to 1 one token moves the "
        "head if 1 = 3 / (1 + 4 e^(−2B)), so e^(−2B) = 1/2. Votes of ±3 give 3/5, which is below 1."
    )
    yield case(n=5, V=3.0, gamma=1.0, want=(0.2, np.log(2) / 2, False), why=why)
    why = (
        "Of 5 votes the closest are 3 : 2, whose mean is 1/5. From −1/2 to 1/2 one token moves the "
        "head if 1/2 = 1 / (1 + 4 e^(−2B)), so e^(−2B) = 1/4."
    )
    yield case(n=5, V=1.0, gamma=0.5, want=(0.2, np.log(2), False), why=why)
    even = "Of 6 votes the closest that is no tie is 4 : 2, whose mean is 1/3. That reaches 1/4."
    yield case(n=6, V=1.0, gamma=0.25, why=even)
    low = "Of 6 votes the closest that is no tie is 4 : 2; B = 0 is enough, as V/6 reaches γ."
    yield case(n=6, V=1.0, gamma=0.125, want=(1 / 3, 0.0, True), why=low)
    why = "With B = 0 a token of 5 moves the head by 2/5, from −1/5 to 1/5: just enough."
    yield case(n=5, V=1.0, gamma=0.2, want=(0.2, 0.0, True), why=why)
    why = "Even with B = 0 a token moves the head by more than that, so the smallest B is 0."
    yield case(n=5, V=1.0, gamma=0.125, want=(0.2, 0.0, True), why=why)
    most = "No scores suffice: a mean of values stays within V, and n tokens share the weight."
    yield case(n=5, V=1.0, gamma=1.0, want=(0.2, np.inf, False), why=most)
    yield case(n=8, V=2.0, gamma=3.0, want=(0.25, np.inf, False), why=most)
    one = "One token has all the weight, with any score."
    yield case(n=1, V=2.0, gamma=2.0, want=(1.0, 0.0, True), why=f"{one} The vote margin is 1.")
    yield case(n=1, V=2.0, gamma=1.0, want=(1.0, 0.0, True), why=one)
    yield case(n=1, V=0.5, gamma=0.75, want=(1.0, np.inf, False), why=f"{one} Not beyond V.")
    yield case(n=2, V=3.0, gamma=2.0, why="Two votes differ unless they are equal: the mean is 1.")
    for n, V, gamma in ((10, 1.0, 0.9), (101, 1.0, 0.5), (1000, 3.0, 0.125), (9, 4.0, 1.5)):
        yield case(n=n, V=V, gamma=gamma)
    for n, V, gamma in ((10**9, 1.0, 0.5), (10**9 - 1, 8.0, 1e-9), (64, 0.25, 0.2), (7, 2.0, 1.0)):
        yield case(n=n, V=V, gamma=gamma, why="n may be as large as 10⁹.")


def _twice(n: int, V: float, gamma: float) -> tuple[float, float, bool]:
    margin, _, has = steep_enough(n, V, gamma)
    return margin, steep_enough(n, V, 2 * gamma)[1], has


@exercise(
    "19.6",
    praise="Odd and even numbers of votes, margins that need no scores, and some that none reach.",
    hints=(
        "Which votes are the closest that are no tie, for 5 voters, and for 6? What is their mean?",
        "No becomes yes if the output moves from −γ to γ. So the formula has to reach γ: solve it "
        "for e^(−2B).",
        "e^(−2B) is (V − γ) / (γ (n − 1)). What if that is 1 or more, and what if it is 0 or less? "
        "For n = 1 there are no others: compare V with γ.",
    ),
    cases=_votes,
    kind=Numbers(
        names=("margin of the votes", "bound B", "True or False"),
        instead="B is np.inf if no B is enough.",
    ),
    mutants={
        "You let one token reach 2γ. From −γ to γ it moves the head, so from 0 it reaches γ.": (
            _twice
        ),
    },
    otherwise=(
        "For B, one token has to reach γ; V / (1 + (n − 1) e^(−2B)) is how far it reaches, and can "
        "be solved for B. For the third answer, V times the closest vote has to reach γ."
    ),
    slips="""
        1 + (n + 1) % 2 → 1
            An even number of votes without a tie differs by two at least.
        1 + (n + 1) % 2 → 2
            An odd number of votes may differ by one.
        1 + (n + 1) % 2 → n % 2
            Ties are left out. The closest other vote of an even number differs by two.
        1 + (n + 1) % 2 → 1 + n % 2
            Odd and even are exchanged: odd numbers of votes may differ by one.
        margin = (1 + (n + 1) % 2) / n → margin = 1 + (n + 1) % 2
            That is by how many votes they differ; the head gives the mean.
        margin = (1 + (n + 1) % 2) / n → margin = (1 + (n + 1) % 2) / (2 * n)
            The mean of n votes of ±1 that differ by one is 1/n, not half of it.
        gamma * (n - 1) / (V - gamma) → gamma * (n - 1) / (2 * V - gamma)
            You let a token move the head by γ in all; from −γ to γ it takes twice that.
        gamma * (n - 1) / (V - gamma) → gamma * n / (V - gamma)
            There are n − 1 other tokens, and you counted n.
        gamma * (n - 1) / (V - gamma) → gamma * (n - 1) / V
            The token that moves keeps its own share of the weight: V − γ stands below, not V.
        gamma * (n - 1) / (V - gamma) → (V - gamma) / (gamma * (n - 1))
            The fraction in the logarithm stands upside down.
        np.log(ratio) / 2 → np.log(ratio)
            Scores differ by 2B, so B is half of the logarithm.
        np.log(ratio) / 2 → np.log(ratio) * 2
            B is half of the logarithm; you have twice the logarithm.
        np.log(ratio) / 2 → np.log2(ratio) / 2
            Exponentials have the base e, and so has the logarithm.
        np.log(ratio) / 2 → np.log(n) / 2
            ½ ln n is how B grows with n, and not B: V and γ have a part in it.
        max(0.0, np.log(ratio) / 2) → np.log(ratio) / 2
            A bound of scores is 0 or more, and yours may be below 0.
        max(0.0, np.log(ratio) / 2) → abs(np.log(ratio) / 2)
            Where equal scores suffice, B is 0.
        bound = np.inf → bound = 0.0
            No B is large enough there; you returned 0.
        bound = np.inf → bound = np.log(n) / 2
            No B is large enough there.
        gamma > V or (gamma == V and n > 1) → gamma > V
            To reach V itself the others would need no weight at all, and no finite B takes it.
        gamma > V or (gamma == V and n > 1) → gamma >= V
            A single token has all the weight, so it reaches V with any scores.
        margin, bound, V * margin >= gamma → margin, bound, V * margin > gamma
            A margin that is just reached is reached.
        margin, bound, V * margin >= gamma → margin, bound, margin >= gamma
            Votes of ±V have V times the margin of votes of ±1.
        margin, bound, V * margin >= gamma → margin, bound, V * margin < gamma
            The third answer is turned round.
        margin, bound, V * margin >= gamma → margin, bound, False
            You never say True. It is True where V times the closest vote is γ or more.
        margin, bound, V * margin >= gamma → margin, bound, True
            You never say False. It is False where V times the closest vote is below γ.
        margin, bound, V * margin >= gamma → margin, bound, n % 2 == 1 and V * margin >= gamma
            You say False for every even n. Ties are left out there, and the closest other vote
            has a margin of 2/n.
        margin, bound, V * margin >= gamma → margin, bound, bound == 0
            You asked whether B is 0, or compared V/n with γ. For even n the closest votes have a
            margin of 2V/n.
        margin, bound, V * margin >= gamma → margin, bound, V >= gamma
            Whether V reaches γ is not asked: with equal scores the output is V times the margin
            of the votes, if they are close.
        margin, bound, V * margin >= gamma → 2 / n, bound, V * margin >= gamma
            The first answer is for odd n as well, and odd numbers of votes may differ by one.
        margin, bound, V * margin >= gamma → n % 2 / n, bound, V * margin >= gamma
            An even number of votes gives 0 only with a tie, and ties are left out.
        margin, bound, V * margin >= gamma → 1 / n, bound, V * margin >= gamma
            The first answer is for even n as well: such votes differ by two at least, or tie.
        margin, bound, V * margin >= gamma → V * margin, bound, V * margin >= gamma
            The first answer is for votes of ±1.
    """,
)
def steep_enough(n: int, V: float, gamma: float) -> tuple[float, float, bool]:
    """The margin of the closest vote, the scores that a margin needs, and whether votes have it."""
    margin = (1 + (n + 1) % 2) / n
    if gamma > V or (gamma == V and n > 1):
        bound = np.inf
    elif n == 1:
        bound = 0.0
    else:
        ratio = gamma * (n - 1) / (V - gamma)
        bound = max(0.0, np.log(ratio) / 2)
    return margin, bound, V * margin >= gamma


# ---- 19.7 ---------------------------------------------------------------------------------


def _sums(m: int, n: int, carry: int, seed: int) -> tuple[Array, Array]:
    """Column sums, drawn, and the digits that are written with this carry into the first."""
    sums = np.random.default_rng(seed).integers(0, m + 1, n)
    digits = []
    for total in sums.tolist():
        digits.append((total + carry) % 2)
        carry = (total + carry) // 2
    return sums, np.array(digits)


def _few(m: int, sums: list[int], digits: list[int], **known: Any) -> Case:
    return case(m=m, sums=np.array(sums), digits=np.array(digits), **known)


def _before(sums: Array, digits: Array, carry: int) -> float:
    """The carry that came into the first column, by the one that leaves the last."""
    places = 2.0 ** np.arange(len(sums))
    return float(2.0 ** len(sums) * carry - places @ (sums - digits))


def _enough(m: int, sums: Array, digits: Array) -> int:
    """How many of the given columns leave one carry, 0 if all of them leave more."""
    for n in range(1, len(sums) + 1):
        least, largest, _ = carries(m, sums[:n], digits[:n])
        if least == largest:
            return n
    return 0


def _columns() -> Iterator[Case]:
    why = (
        "The sum 1 with the digit 0 means that 1 was carried in, as it is 0 or 1: 1 + 1 = 2, so 1 "
        "is carried on."
    )
    yield _few(m=2, sums=[1], digits=[0], want=(1, 1, 1), why=why)
    why = (
        "The sum 1 and the digit 1: either 0 came in, and 1 = 1 + 2 · 0, or 2 came in, and "
        "3 = 1 + 2 · 1. One column does not tell the carry."
    )
    yield _few(m=3, sums=[1], digits=[1], want=(0, 1, 2), why=why)
    why = (
        "Into the first column 0 or 2 came in, so 0 or 1 goes on. With 1 the second digit would be "
        "0, so it was 0."
    )
    yield _few(m=3, sums=[0, 1], digits=[0, 1], want=(0, 0, 2), why=why)
    yield _few(m=3, sums=[3, 3], digits=[1, 1], want=(2, 2, 2), why="2 + 3 = 5: digit 1, carry 2.")
    other = "1 came in, and nothing goes on. With other bits one column leaves two carries."
    yield _few(m=3, sums=[0], digits=[1], want=(0, 0, 2), why=other)
    why = (
        "After the first column the carries 0, 2 and 4 fit. The second one rules out 2 only, and "
        "with 0 and 4 the carries 1 and 2 leave it: two columns do not tell."
    )
    yield _few(m=5, sums=[2, 1], digits=[0, 0], want=(1, 2, 3), why=why)
    yield _few(m=8, sums=[4], digits=[0], why="Carries of 0, 2, 4 and 6 may have come in.")
    seed = 0
    for m in (2, 3, 4, 5, 6, 8, 9, 16, 17, 31, 33, 100):
        for n in (1, 2, 3, 4, 7):
            seed += 1
            sums, digits = _sums(m, n, seed % m, seed)
            yield case(m=m, sums=sums, digits=digits, why=f"{m} summands, {n} columns.")
    sums, digits = _sums(1000, 40, 999, 0)
    yield case(m=1000, sums=sums, digits=digits, why="There may be 1000 summands, and 40 columns.")


@exercise(
    "19.7",
    praise="Two summands to a thousand, with too few columns and with enough.",
    hints=(
        "If c comes in, what is the digit, and what goes on? What is the largest carry of m "
        "summands?",
        "Try every carry from 0 to m − 1 into the first column, and keep those that lead to the "
        "digits which were written.",
        "Each column leaves only carries that are even, or only odd ones, and halves them. After "
        "k columns two carries into the first one that fit differ by a multiple of 2^k. For which "
        "k can no two of 0 … m − 1 do so?",
    ),
    cases=_columns,
    kind=Numbers(names=("least carry", "largest carry", "number of columns")),
    otherwise="A carry that came in fits if all digits come out as they were written.",
    slips="""
        range(m) → range(2) ;; min(fits), max(fits) → min(fits, default=0), max(fits, default=0)
            With m summands carries up to m − 1 come in, and you tried 0 and 1.
        range(m) → [0] ;; min(fits), max(fits) → min(fits, default=0), max(fits, default=0)
            You tried no carry but 0. Any carry up to m − 1 may have come into the first column.
        fits.append(carry) → fits.append(2 * carry + digits[-1] - sums[-1])
            You gave the carries that came into the last column; asked for are those that leave it.
        min(fits), max(fits) → min(fits), len(fits)
            You gave how many carries fit. The second answer is the largest of them.
        (m - 1).bit_length() → np.log2(m)
            Columns are whole: round up.
        (m - 1).bit_length() → max(1, int(np.ceil(np.log2(m - 1))))
            You took m − 1 carries. There are m to be told apart, as 0 is one of them.
        (m - 1).bit_length() → _enough(m, sums, digits)
            That is how many columns are enough for these bits. They have to be enough for all
            bits.
        range(m) → range(2)
            The carry of more than two summands may be larger than 1.
        range(m) → range(m + 1)
            The largest carry is m − 1: m ones and m − 1 make 2m − 1, and m − 1 goes on.
        range(m) → [0]
            You began with no carry. The columns before are not seen, so any may come in.
        range(m) → [0] ;; if (total + carry) % 2 != digit → if False
            You added from a carry of 0 on, without a look at the digits. The columns before are
            not seen, and the digits tell something about them.
        min(fits), max(fits) → 0, m - 1
            All these may come in. Fewer may leave the last column, as the digits are known.
        zip(sums, digits, strict=True) → zip(sums[:1], digits[:1], strict=True)
            You looked at the first column alone, and gave the carries that leave it.
        range(m) → range(1, m)
            Nothing may be carried in, too.
        if (total + carry) % 2 != digit → if False
            You kept carries that do not lead to the digits which were written.
        if (total + carry) % 2 != digit → if total % 2 != digit
            The digit belongs to the sum with the carry.
        carry = (total + carry) // 2 → carry = total // 2
            The carry that came in is added before halving.
        carry = (total + carry) // 2 → carry = int(total + carry >= 2)
            More than 1 may go on: half of the sum, rounded down.
        carry = (total + carry) // 2 → carry = (total + carry + 1) // 2
            Half of the sum is rounded down; what is left is the digit.
        carry = (total + carry) // 2 → carry = total + carry
            What goes on is half of it: a column counts twice as much as the one before.
        zip(sums, digits, strict=True) → zip(sums[::-1], digits[::-1], strict=True)
            The columns come from the lowest on; you began at the last one.
        zip(sums, digits, strict=True) → zip(sums[-1:], digits[-1:], strict=True)
            You looked at the last column alone; the others say more.
        fits.append(carry) → fits.append(_before(sums, digits, carry))
            Asked for are carries that leave the last column; you gave those that came into the
            first one.
        min(fits), max(fits) → min(fits), min(fits)
            Several carries may fit. The largest of them is the second answer.
        min(fits), max(fits) → max(fits), max(fits)
            Several carries may fit. The least of them is the first answer.
        min(fits), max(fits) → max(fits), min(fits)
            The least carry comes first.
        (m - 1).bit_length() → m.bit_length()
            For some m that is a column too many: m carries, from 0 to m − 1, are to be told apart.
        (m - 1).bit_length() → m - 1
            Each column halves what is unknown, so far fewer are enough.
        (m - 1).bit_length() → (m - 1).bit_length() - 1
            With so few columns two carries may still fit.
        (m - 1).bit_length() → m.bit_length() - 1
            2 to the power of this number of columns may be less than m: round the logarithm up.
        (m - 1).bit_length() → 2
            Two columns are enough for three summands and for four, and for no more.
        (m - 1).bit_length() → 1
            One column is enough for two summands, and for no more.
        (m - 1).bit_length() → int(np.ceil(m / 2))
            That is about half of m. Each column halves what is left, again and again.
        (m - 1).bit_length() → len(sums)
            That is how many columns are given; how many always suffice depends on m.
    """,
)
def carries(m: int, sums: Array, digits: Array) -> tuple[int, int, int]:
    """The least and largest carry that fit, and the columns that always tell it."""
    fits = []
    for carry in range(m):
        for total, digit in zip(sums, digits, strict=True):
            if (total + carry) % 2 != digit:
                break
            carry = (total + carry) // 2
        else:
            fits.append(carry)
    return min(fits), max(fits), (m - 1).bit_length()
