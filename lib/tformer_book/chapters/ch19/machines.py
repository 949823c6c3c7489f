"""The machines that chapter 19 runs, as tables, and many random ones."""

from __future__ import annotations

import numpy as np

from tformer_book.chapters.ch19.turing import HALT, STATES, Machine, table

TABLES = {
    "beaver 2": "1RB 1LB; 1LA 1RH",
    "beaver 3": "1RB 1RH; 1LB 0RC; 1LC 1LA",
    "beaver 4": "1RB 1LB; 1LA 0LC; 1RH 1LD; 1RD 0RA",
    "bounce": "1LB 1RA; 1RA 1LB",
    "flip": "1LB 2RA 1RA; 1RA 2LB 1LB",
    "increment": "0LB 1RA 2RA; 2SH 2SH 1LB",
    "palindrome": ("1SH 0RB 0RC; 0LD 1RB 2RB; 0LE 1RC 2RC; 1SH 0LF 2SH; 1SH 2SH 0LF; 0RA 1LF 2LF"),
    "copy": "0SH 2RB 0SH; 0RC 1RB 2RB; 1LD 1RC 2RC; 0LE 1LD 2LD; 0RE 1LE 1RA",
    "add": "1RB 1RA; 0LC 1RB; 0SH 0SH",
}
"""Busy beavers: from an empty tape no halting machine of their size that moves in each step runs
longer. Bounce runs for ever between two ends that move apart; flip does, too, and changes every
cell each time. Increment adds 1 to a binary number, its digits written 1 and 2. Palindrome halts at
1 if a word of 1 and 2 reads the same from both ends, and else at 2. Copy and add work on blocks of
ones."""


def machine(name: str) -> Machine:
    """A machine of the table by its name."""
    return table(TABLES[name])


def random_machine(rng: np.random.Generator) -> Machine:
    """A machine of 1 to 6 states and 2 to 5 symbols with rules drawn at random."""
    n_states, n_symbols = int(rng.integers(1, 7)), int(rng.integers(2, 6))
    states = STATES[:n_states]
    rules = {
        (q, a): (
            int(rng.integers(n_symbols)),
            int(rng.integers(-1, 2)),
            str(rng.choice([*states, *states, *states, HALT])),
        )
        for q in states
        for a in range(n_symbols)
    }
    return Machine(rules, states, n_symbols)
