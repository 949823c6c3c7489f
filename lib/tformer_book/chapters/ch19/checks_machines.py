"""Exercise 19.3: a machine that doubles, run on tapes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from tformer_book.exercises import describe
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.kinds import Array, Parts
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

STEPS = 1000
FROM, TO = -6, 16
"""Cells that are compared, counted from the first digit of the word."""
TRIPLE = re.compile(r"[0-9][LSR][A-H]")
Rules = list[list[str]]


def words(n_digits: int) -> list[tuple[int, ...]]:
    """Words of digits, coded as symbols 1, 2, …: all short ones, and some of nine digits."""
    symbols = range(1, n_digits + 1)
    most = next((n for n in range(1, 7) if n_digits ** (n + 1) > 90), 7)
    short = [word for n in range(1, most + 1) for word in product(symbols, repeat=n)]
    rng = np.random.default_rng(n_digits)
    return short + [tuple(row.tolist()) for row in rng.integers(1, n_digits + 1, (8, 9))]


def rules_of(text: str) -> Rules:
    """The triples of a table by states, or Wrong with what is the matter with it."""
    rules = [group.split() for group in text.split(";")]
    if len(rules) == 1 and re.search(r"[,|/]|\n|[B-G]\b", text):
        raise Wrong("Only one group was found. Groups are separated by a semicolon and a space.")
    if len(rules) > 1 and not rules[-1]:
        raise Wrong("The last group is empty: put no semicolon behind it.")
    for state, group in zip("ABCDEFG", rules, strict=False):
        for triple in group:
            if not TRIPLE.fullmatch(triple):
                raise Wrong(
                    f"The table has {triple!r} in state {state}. A triple is a string of three: "
                    "a digit, one of L, S and R, and a letter from A to H."
                )
            if triple[2] != "H" and ord(triple[2]) - 65 >= len(rules):
                raise Wrong(f"The table has {triple!r} in state {state}, and no state {triple[2]}.")
            if int(triple[0]) >= len(group):
                raise Wrong(
                    f"In state {state} the table has {triple!r}, which writes the symbol "
                    f"{triple[0]}, but only {len(group)} triples. Each group has a triple for each "
                    "of the b + 1 symbols, 0 to b, the blank first."
                )
    lengths = sorted({len(group) for group in rules})
    if len(rules) > 7 or len(lengths) > 1 or lengths[0] < 2:
        raise Wrong(
            "The table should have one to seven groups, each with a triple for every symbol. It "
            f"has {len(rules)} groups of {' or '.join(map(str, lengths))} triples."
        )
    return rules


def tape_after(rules: Rules, word: tuple[int, ...]) -> list[int]:
    """What a run leaves: 1 if it does not halt, then the cells from FROM to TO."""
    tape, at, state = dict(enumerate(word)), 0, 0
    for _ in range(STEPS):
        written, way, after = tuple(rules[state][tape.get(at, 0)])
        tape[at] = int(written)
        at += {"L": -1, "S": 0, "R": 1}[way]
        if after == "H":
            far = any(symbol for cell, symbol in tape.items() if not FROM <= cell < TO)
            return [2 * far, *(tape.get(cell, 0) for cell in range(FROM, TO))]
        state = ord(after) - 65
    return [1] + [0] * (TO - FROM)


def tapes(text: str) -> np.ndarray:
    """What a machine leaves of each word: (words, 2 + cells); first how many digits it knows."""
    rules = rules_of(text)
    known = len(rules[0]) - 1
    return np.array([[known, *tape_after(rules, word)] for word in words(known)])


def _symbols(row: np.ndarray) -> str:
    marked = np.flatnonzero(row)
    return " ".join(map(str, row[marked[0] : marked[-1] + 1])) if len(marked) else "a blank tape"


def _doubled(word: tuple[int, ...], b: int) -> list[int]:
    """The cells from FROM to TO if symbols were digits and the word were doubled in base b."""
    cells, carry = [0] * (TO - FROM), 0
    for place in range(len(word) - 1, -2, -1):
        carry, kept = divmod(2 * (word[place] if place >= 0 else 0) + carry, b)
        cells[place - FROM] = kept
    return cells


class Runs(Array):
    """The table of a machine, as text. It is compared by what it leaves on the tape."""

    def read(self, f: Answer, value: Any, said: str) -> Parts:
        """Return what the machine leaves of each word, or raise Wrong where it is no table."""
        if not isinstance(value, str):
            raise Wrong(f"With {said}, {f.name} returns {describe.kind(value)}, not a string.")
        try:
            return self.plain(value)
        except Wrong as wrong:
            raise Wrong(f"With {said}: {wrong}") from None

    def plain(self, value: Any) -> Parts:
        """Return what a machine of our own leaves of each word."""
        return (tapes(value),)

    def head(self, f: Answer, got: Parts, want: Parts, said: str, place: int) -> str:
        """Say what becomes of the first word that goes wrong."""
        made, right = got[0], want[0]
        if made[0, 0] != right[0, 0]:
            return (
                f"With {said}, the table has {made[0, 0] + 1} triples for each state; there are "
                f"{right[0, 0] + 1} symbols, from 0 to b, and one triple for each."
            )
        first = int(np.flatnonzero((made != right).any(axis=1))[0])
        word = words(right[0, 0])[first]
        start = f"With {said}, the word {' '.join(map(str, word))} "
        if made[first, 1] == 1:
            return f"{start}runs for {STEPS} steps and more without halting."
        now, then = _symbols(made[first, 2:]), _symbols(right[first, 2:])
        if now == then:
            return f"{start}becomes {then}, which is right, but stands at other cells."
        return f"{start}becomes {now}; it should become {then}."

    def asked(self, want: Parts) -> str:
        """Say what form an answer should have."""
        return "a string"

    def form(self, got: Any, want: Any) -> str:
        """Say nothing: the head names what is wrong with a table."""
        return ""

    def remark(self, got: Any, want: Any) -> str:
        """Say that symbols were taken for digits; "" if not."""
        b = want[0, 0]
        given = words(b) if got.shape == want.shape and got[0, 0] == b else []
        as_digits = [
            got[k].tolist() == [b, 0, *_doubled(word, b)]
            for k, word in enumerate(given)
            if max(word) < b
        ]
        if not as_digits or not all(as_digits):
            return ""
        return "You took the symbol s for the digit s; it stands for the digit s − 1."

    def where(self, got: Any, want: Any) -> str:
        """Say nothing more than the head."""
        return ""


def _bases() -> Iterator[Case]:
    why = (
        "In base 2 the digits 0 and 1 are the symbols 1 and 2. Doubling 1 leaves 0 and carries 1: "
        "the word 2 becomes 2 1."
    )
    want = "0LB 1RA 2RA; 0SH 1LB 1LC; 2SH 2LB 2LC"
    yield case(b=2, want=want, why=why)
    yield case(
        b=3, why="In base 3, 2 · 2 + 1 is 12: the symbol 3 with a carry gives 3 and carries."
    )
    for b in (10 - 1, 4, 5, 8):
        yield case(b=b, why=f"The digits 0 to {b - 1} are the symbols 1 to {b}.")


@exercise(
    "19.3",
    praise="All short numbers, and longer ones, in bases from 2 to 9.",
    hints=(
        "Double a number on paper, from its last digit on. What do you keep in mind from one digit "
        "to the next?",
        "One state for each thing to keep in mind: a carry of 0, a carry of 1. The head starts on "
        "the first digit. How does it get to the last one?",
        "State A goes right to the first blank and one step back. In B and C the symbol s is the "
        "digit s − 1: write the last digit of twice that, plus the carry, as a symbol. On a blank, "
        "C writes the symbol 2.",
    ),
    cases=_bases,
    kind=Runs(),
    otherwise="Double digit after digit from the right, with the carry as a state.",
    slips="""
        ["0SH"] → ["0LB"]
            On the blank before the number state B goes on and on; it has to halt there.
        {doubled % b + 1}L → {doubled % b}L ;; ["2SH"] → ["1SH"]
            Digits were written as their own symbols, the carry in front as well. The digit d is
            the symbol d + 1.
        {doubled % b + 1}L → {(doubled % b + 1) * (v + carry > 0)}L
            A digit 0 stays, also in front: it is the symbol 1, and no blank.
        " ".join(state) for → " ".join(state[1:] + state[:1]) for
            The first triple of each group is for the blank, 0. Yours begin with the symbol 1.
        ["0LB"] → ["0SB"]
            Every word stays as it was. On the blank cell behind the word the machine has to step
            back before it can double a digit.
        ["0LB"] → ["0LA"]
            At the last digit the machine turns back to the right, and so on for ever: the way to
            the end and the way back need different states.
        {s}RA → {s}SB
            You double the first digit first; a carry comes from the last one.
        {s}RA → 0RA
            The way to the end of the word wipes out the digits.
        ["0SH"] → ["1SH"]
            Where no carry is left, you put a digit 0 in front.
        ["2SH"] → ["1SH"]
            A carry of 1 that is left is the digit 1, whose symbol is 2.
        ["2SH"] → ["0SH"]
            The carry that is left beyond the first digit gets lost.
        ["2SH"] → ["2LC"]
            After the last carry the machine has to halt; yours goes on writing to the left.
        2 * v + carry → 2 * v
            A carry is remembered and then not added.
        ["0SH"] → ["2SH"]
        {doubled % b + 1}L → {(v + 1) % b + 1}{'SL'[v + 1 == b]}
        'BC'[doubled // b] → 'HB'[v + 1 == b]
            You added 1 to the number; twice the number is asked for.
        ["0LB"] → ["1SH"]
            A digit 0 behind the number makes it b times as large, and its last digit has moved.
        2 * v + carry → v + 1 + carry
            You added one to each digit; twice each is asked for.
        {doubled % b + 1}L → {2 * v % b + 1}L
            A carry goes on as it should, but is not added to the digit that is written.
        2 * v + carry → 2 * (v + carry) ;; doubled // b → min(doubled // b, 1)
            The carry is doubled too; it is added after doubling.
        2 * v + carry → 3 * v + carry ;; doubled // b → min(doubled // b, 1)
            Three times each digit is written, where it should be twice.
        for v in range(b) → for v in range(1, b + 1) ;; doubled // b → min(doubled // b, 1)
            The symbol s stands for the digit s − 1; you doubled the symbol.
        {doubled % b + 1}L → {doubled % b}L
            The digit was written as its own symbol: digit 0 is then a blank in the word.
        {doubled % b + 1}L → {min(doubled, b - 1) + 1}L
            Where twice a digit is too large, the last digit of it is to be written; you wrote the
            largest one.
        {doubled % b + 1}L → {doubled % b + 1}R
            Carries go to the left, so the machine has to go left.
        'BC'[doubled // b] → 'CB'[doubled // b]
            The states for a carry of 0 and of 1 are exchanged.
        'BC'[doubled // b] → 'BC'[2 * v // b]
            Whether a carry goes on depends on the carry that came as well: 2 · 2 + 1 in base 5.
        'BC'[doubled // b] → 'BC'[doubled > b]
            Twice a digit that is exactly b carries as well.
        'BC'[doubled // b] → 'BC'[int(v >= b / 2)] ;; 2 * v + carry → 2 * v + 1 - carry
            You add 1 where nothing was carried, and nothing where 1 was.
        'BC'[doubled // b] → 'BB'[doubled // b]
            No carry is remembered.
    """,
)
def doubling(b: int) -> str:
    """The table of a machine that doubles a number in base b."""
    states = [["0LB"] + [f"{s}RA" for s in range(1, b + 1)], ["0SH"], ["2SH"]]
    for carry in (0, 1):
        for v in range(b):
            doubled = 2 * v + carry
            states[carry + 1].append(f"{doubled % b + 1}L{'BC'[doubled // b]}")
    return "; ".join(" ".join(state) for state in states)
