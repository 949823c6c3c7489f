"""Exercises 19.1 and 19.2: what a head reads with a sink, and a machine's table as an embedding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.kinds import Parts, Several
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray


@dataclass(frozen=True)
class Numbers(Several):
    """Several single numbers; None among them is answered by what to return `instead`."""

    scalars: bool = True
    instead: str = ""

    def read(self, f: Answer, value: Any, said: str) -> Parts:
        """Return the numbers, or raise Wrong where one is None or they are not there."""
        if isinstance(value, tuple | list) and any(part is None for part in value):
            raise Wrong(f"With {said}, {f.name} returns None for a number. {self.instead}")
        return super().read(f, value, said)


# ---- 19.1 ---------------------------------------------------------------------------------


def _sinks() -> Iterator[Case]:
    why = (
        "The mean is 8 / 4. With the sink the weights are 1/16 for each token, so the head gives "
        "8/16, and 12 times that is 6. With M = 12 and ones, 2 tokens give 24/14, off by 4/14, "
        "and 3 give 36/15, off by 9/15."
    )
    yield case(v=[1, 2, 5, 0], M=12, want=(2.0, 6.0, 2), why=why)
    why = "One token with a sink of the same weight: half of 3. Even one token is off by 1/2."
    yield case(v=[3], M=1, want=(3.0, 1.5, 0), why=why)
    half = "Two ones give 12/8, which is off by exactly 1/2: that is not below 1/2."
    yield case(v=[1, -1, 4], M=6, want=(4 / 3, 8 / 3, 1), why=half)
    half = "Three ones give 45/18, which is off by exactly 1/2: that is not below 1/2."
    yield case(v=[2, 2, 2, 2, 2], M=15, want=(2.0, 7.5, 2), why=half)
    yield case(v=[7.5, -2.5], M=7, why="Two ones give 14/9, which is off by 4/9.")
    yield case(v=[0, 0, 3], M=16, why="Three ones give 48/19, which is off by 9/19.")
    zero = "The values add up to 0: the output is 0, whatever the sink."
    yield case(v=[4, -4], M=29, want=(0.0, 0.0, 4), why=zero)
    rng = np.random.default_rng(0)
    for n, M in ((3, 100), (20, 50), (200, 65_536), (500, 1000)):
        yield case(v=rng.integers(-3, 6, n).astype(float), M=M)
    yield case(v=integers(3, (1000,)) + 1, M=2**40, why="M may be as large as 2⁴⁰.")
    yield case(v=integers(4, (9,)) / 4 + 1, M=2**40 - 1, why="M may be as large as 2⁴⁰.")
    for n in (3, 40, 1000):
        for M in (2 * n * n - n - 1, 2 * n * n - n, 2 * n * n - n + 1):
            yield case(v=[1, 2, 4], M=M, why=f"With {n} ones the error is close to 1/2.")


@exercise(
    "19.1",
    praise="Short texts and long ones, weak sinks and strong ones, and errors of exactly one half.",
    hints=(
        "Write down the exponentials: 1 for each token, and for the first one M. What do they add "
        "up to?",
        "The weights are 1/n each without the first token, and 1/(M + n) with it.",
        "k ones are read as k M / (M + k). For which k does that lie less than 1/2 below k?",
    ),
    cases=_sinks,
    kind=Numbers(
        names=("output without a sink", "output with it", "largest k"),
        instead="The largest k is 0 if there is none.",
    ),
    slips="""
        M * total / (M + n) → M * total / (np.log(M) + n)
            Below the line you put ln M, which is the score of the sink. Its exponential, M, belongs
            there.
        n), most → n), min(most, n)
            You stopped at the length of v. The number asked for does not depend on v.
        n), most → n), (M - 1) // 2
            That is where k/M stays below 1/2. The count itself is to be off by less than 1/2: the
            difference between k and k M / (M + k).
        n), most → n), M - 1
            That is where the share that is lost, k/(M + k), stays below 1/2. The count itself, k
            less k M / (M + k), is to be off by less than 1/2.
        total / n → total
            Without a sink the weights add up to one over the tokens, so the head gives a mean.
        total / n → total / (n + 1)
            The first head sees no further token: you counted one too many below the line.
        M * total / (M + n) → total / (M + n)
            The output with the sink has yet to be multiplied by M.
        M * total / (M + n) → total
            The sum is what comes out for M → ∞; here the tokens take a part of the weight away.
        M * total / (M + n) → M * total / (M + 1)
            Below the line stand all n tokens beside the sink, and you counted one.
        M * total / (M + n) → M * total / n
            The exponential of the sink is missing below the line.
        M * total / (M + n) → M * total / (M + n + 1)
            The first token weighs M, and no 1 besides.
        M * total / (M + n) → M * total / (M + n - 1)
            The sink is a token beside the n, not one of them.
        M * total / (M + n) → M * (total + M) / (M + n)
            You gave the sink the value 1, and its value is 0.
        M * total / (M + n) → M * total / (np.exp(min(M, 700)) + n)
            M is the exponential of the sink already: its score is ln M.
        M * total / (M + n) → M * n / (M + n)
            You counted the tokens; their values are to be added up.
        M * total / (M + n) → M * (total / n) / (M + 1)
            You put the mean beside the sink as if it were one token.
        M * total / (M + n) → np.log(M) * total / (np.log(M) + n)
            ln M is the score; what is added up is its exponential.
        M * total / (M + n) → M * total / n / (M + n)
            You let the sink work on the mean; its weights multiply the values themselves.
        2 * most**2 - most >= M → 2 * most**2 - most > M
        2 * (most + 1) ** 2 - (most + 1) < M → 2 * (most + 1) ** 2 - (most + 1) <= M
            An error of exactly one half is not below one half.
        2 * most**2 - most >= M → most**2 - most >= M
        2 * (most + 1) ** 2 - (most + 1) < M → (most + 1) ** 2 - (most + 1) < M
            You allowed errors up to 1; rounding goes wrong beyond one half.
        2 * most**2 - most >= M → 2 * most**2 >= M
        2 * (most + 1) ** 2 - (most + 1) < M → 2 * (most + 1) ** 2 < M
            You took k²/M for the error; k stands below the line as well.
        n), most → n), most + 1
            That is the first number of tokens that goes wrong; the last one that goes right is
            asked for.
        n), most → n), (1 + (1 + 8 * M) ** 0.5) / 4
            That is where the error is one half. A number of tokens is whole, and the error less.
        n), most → n), int(M**0.5)
            There k²/M is 1: the error may be less than one half.
        n), most → n), int(M / 2)
            You compared k/M with 1/2, which is the error as a share. Rounding asks for the error.
        n), most → n), most if most * n > 0 and most >= n else n
            The largest k is asked for another text, of ones and of any length, not for this one.
    """,
    otherwise="The weights are exponentials of scores, divided by their sum over all tokens.",
)
def reads(v: Array, M: int) -> tuple[float, float, int]:
    """A head without a sink, one with it, and how many ones the latter counts."""
    n = len(v)
    total = v.sum()
    most = int((1 + (1 + 8 * M) ** 0.5) / 4)
    while 2 * most**2 - most >= M:
        most -= 1
    while 2 * (most + 1) ** 2 - (most + 1) < M:
        most += 1
    return total / n, M * total / (M + n), most


# ---- 19.2 ---------------------------------------------------------------------------------


def _table(text: str, why: str = "", want: object = None) -> Case:
    return case(text=text, want=want, why=why, said=f"text = {text!r}")


def _texts() -> Iterator[Case]:
    why = (
        "In A the machine reads 0, writes 1 and goes right to B: move 1, next state 1, change 1. "
        "In A it reads 1 and writes 1, which changes nothing."
    )
    want = np.array([[1, 1, 1], [-1, 1, 0], [-1, 0, 1], [1, 2, 0]])
    yield _table("1RB 1LB; 1LA 1RH", why, want)
    why = "The triples stand in the order of the symbols that are read: 0, 1, 2."
    want = np.array([[0, 1, 2], [-1, 0, -1], [1, 0, -1], [1, 2, 1], [-1, 1, -1], [0, 0, 0]])
    yield _table("2SB 0LA 1RA; 1RH 0LB 2SA", why, want)
    yield _table("1RB 1RH; 0RC 1RB; 1LC 1LA", "The busy beaver of three states.")
    yield _table("1RB 1LB; 1LA 0LC; 1RH 1LD; 1RD 0RA", "The busy beaver of four states.")
    yield _table("0SH 3LA 1SB 0RA; 2LB 0SH 3RA 1RB", "A machine may stay, and have four symbols.")
    yield _table("1RH", "A single state and a single symbol is a table, too.")
    yield _table("0RA 2LH 0SA", "One state and three symbols.")
    most = "; ".join(
        " ".join(
            f"{(7 * q + 3 * a) % 10}{'LSR'[(q + a) % 3]}{'ABCDEFGH'[(q * a + q) % 8]}"
            for a in range(10)
        )
        for q in range(7)
    )
    yield _table(most, "There may be seven states and ten symbols.")


@exercise(
    "19.2",
    praise="One state to seven, one symbol to ten, machines that stay and machines that halt.",
    hints=(
        "How many rows are there? Which one belongs to the token of state B that has read 0?",
        "text.split(';') gives the groups, and .split() the triples of a group. Each triple is "
        "written symbol, direction, next state.",
        "The place of a triple in its group is the symbol that was read. Subtract it from the "
        "symbol that is written.",
    ),
    cases=_texts,
    slips="""
        int(written) - read → int(written)
            That is the symbol that is written. A head that adds up would count what stood there
            before as well.
        int(written) - read → read - int(written)
            The change has the wrong sign: what is written less what was read.
        int(written) - read → int(int(written) != read)
            You marked whether the cell changes; what is asked for is by how much.
        int(written) - read → (int(written) - read) % len(group)
            A change may be below 0: a sum of remainders is not the content of a cell.
        int(written) - read → abs($)
            A change is below 0 where a smaller symbol is written than was read.
        int(written) - read → int(written) - len(found)
            You counted the symbols that are read on and on; each state begins with 0 again.
        int(written) - read → read
            That is the symbol that was read.
        "L": -1, "S": 0, "R": 1 → "L": 1, "S": 0, "R": -1
            Left and right are exchanged: a step to the right counts as 1.
        "S": 0 → "S": 1
            A machine that stays was moved to the right.
        "S": 0 → "S": -1
            A machine that stays was moved to the left.
        "L": -1, "S": 0, "R": 1 → "L": 0, "S": 1, "R": 2
            Moves were numbered from 0. A sum of moves is the position only if left is
            below 0.
        len(groups) if after → 7 if after
            H got the number of its letter. Halting comes next after the states that there are.
        len(groups) if after → sum(map(len, groups)) if after
            H got the number of triples; states are numbered, and halting comes after the last one.
        return np.array(found) → return np.array(found + [[0, len(groups), 0]] * len(groups[0]))
            You added rows for H. Asked for are the tokens that have a triple in the table.
        len(groups) if after → -1 if after
            H got −1. Halting comes next after the states that there are.
        len(groups) if after → 0 if after
            H got the number of the first state.
        len(groups) if after → len(groups) - 1 if after
            H got the number of the last state; halting comes after it.
        "ABCDEFG".index(after) → "ABCDEFG".index(after) + 1
            A to G were numbered from 1; A is 0.
        found.append([move, state, → found.append([move, state + 1,
            All next states, and H among them, are one too large: A is 0.
        for group in groups → for q, group in enumerate(groups)
        len(groups) if after == "H" else "ABCDEFG".index(after) → q
            You gave the state that the machine is in; the row holds the one that follows.
        return np.array(found) → $.reshape(len(groups), -1, 3).swapaxes(0, 1).reshape(-1, 3)
            Your rows go through all states for the symbol 0, then for 1. All symbols of state A
            come first.
        return np.array(found) → $[:, [2, 0, 1]]
            The numbers of a row stand in another order: move, next state, change.
        return np.array(found) → $[:, [1, 0, 2]]
            Move and next state are exchanged in each row.
        return np.array(found) → $[:, [0, 2, 1]]
            Next state and change are exchanged in each row.
        return np.array(found) → $.T
            A token has a row, and you gave it a column.
        return np.array(found) → $.reshape(len(groups), -1, 3)
            The tokens stand in one list, of shape (Q · S, 3); yours are grouped by states.
    """,
    otherwise="Each triple gives one row: its move, its next state, written less read.",
)
def rows_of(text: str) -> Array:
    """Move, next state and change for each state and symbol."""
    groups = [group.split() for group in text.split(";")]
    found = []
    for group in groups:
        for read, (written, way, after) in enumerate(map(tuple, group)):
            move = {"L": -1, "S": 0, "R": 1}[way]
            state = len(groups) if after == "H" else "ABCDEFG".index(after)
            found.append([move, state, int(written) - read])
    return np.array(found)
