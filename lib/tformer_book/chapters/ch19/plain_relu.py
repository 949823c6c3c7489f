"""Any Turing machine with plain ReLU units: a third layer in the place of the gated squares.

A square is the sum of odd numbers, P² = Σ (2 P m - m²) over the moves m that led to P. So a head
can add squares up, as it adds up moves. Only P·m is a product, and as m is -1, 0 or 1, ReLU units
with a large constant compute it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tformer_book.chapters.ch19.stream import FAR, SINK, Head, Layer, M, Stream, Terms, run
from tformer_book.chapters.ch19.turing import BETA, Machine

STREAM = Stream.of("one bos run move state change P PP Pm cell right left")
LARGE = 2.0**20
"""No address is as large."""


def layers(beta: float = BETA, large: float = LARGE) -> list[Layer]:
    """Three attention layers of one head, and four ReLU units; the same for every machine."""
    sink = ({"one": 1.0}, {"bos": SINK})
    hidden = ({"run": -FAR}, {"one": 1.0, "bos": -1.0, "run": -1.0})
    where: Head = ([sink, hidden], {"P": {"move": M}})
    units = STREAM.units(
        ({"P": 1, "right": 2 * large, "one": -large}, {"Pm": 1}),
        ({"right": large}, {"Pm": -1}),
        ({"P": -1, "left": 2 * large, "one": -large}, {"Pm": 1}),
        ({"left": large}, {"Pm": -1}),
    )
    odd: Head = ([sink, hidden], {"PP": {"Pm": 2 * M, "right": -M, "left": -M}})
    wrote: Terms = {"P": 1.0, "move": -1.0}
    square: Terms = {"PP": -beta, "Pm": 2 * beta, "right": -beta, "left": -beta, "bos": SINK}
    what: Head = (
        [
            ({"P": 2 * beta}, wrote),
            ({"PP": beta}, {"one": -1.0, "bos": 1.0}),
            ({"one": 1.0}, square),
        ],
        {"cell": {"change": M}},
    )
    return [STREAM.heads(where), units, STREAM.heads(odd), STREAM.heads(what)]


def embedding(machine: Machine) -> np.ndarray:
    """(n_tokens, 12): the machine's rows in this stream, with flags for moves right and left."""
    table = np.zeros((len(machine.vocabulary), len(STREAM.names)))
    table[:, :6] = machine.embedding[:, :6]
    move = table[:, STREAM.at("move")]
    table[:, STREAM.at("right")], table[:, STREAM.at("left")] = move > 0, move < 0
    return table


def written(machine: Machine, word: Any = (), steps: int = 100, **settings: Any) -> list[str]:
    """What the three layers say at each step of the true run; the settings are of `layers`."""
    truth = machine.simulate(word, steps)[0]
    prompt = machine.prompt(word)
    tokens = [*prompt, *(machine.names.index(name) for name in truth[:-1])]
    y = run(embedding(machine)[tokens], layers(**settings))[len(prompt) - 1 :]
    state, cell = y[:, STREAM.at("state")], y[:, STREAM.at("cell")]
    states = machine.states + "H"
    return [f"{states[round(q)]}{round(a)}" for q, a in zip(state, cell, strict=True)]
