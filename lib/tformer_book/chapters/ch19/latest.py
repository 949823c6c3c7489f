"""The tape as its latest writes: what it costs in digits, against the ledger."""

from __future__ import annotations

from typing import Any

import numpy as np

from tformer_book.chapters.ch19.machines import machine


def visits(name: str, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A run of a machine: where each token wrote, what, and what the next token read there.

    Returns
    -------
    wrote, written : (n_steps,) integers
    at : (n_steps,) integers
        Where the head stands after each step.
    """
    one = machine(name)
    tokens = one.simulate((), steps)[0]
    rules = [one.rules[token[0], int(token[1:])] for token in tokens if token[0] != "H"]
    moves = np.array([move for _, move, _ in rules])
    at = moves.cumsum()
    return at - moves, np.array([written for written, _, _ in rules]), at


def first_wrong(name: str, steps: int, dtype: Any) -> int | None:
    """The first step whose cell the latest write gets wrong, with scores -b (P - C)² + t.

    The score of a token grows by 1 with each step, so that the latest visit wins, and b is the
    power of two above twice the number of steps, so that no recency makes up for another cell.
    As in the second layer, b C² and t are parts of one key: it is rounded to `dtype`.
    """
    wrote, written, at = visits(name, steps)
    b = dtype(2.0 ** np.ceil(np.log2(2 * steps)))
    c, time = wrote.astype(dtype), np.arange(steps).astype(dtype)
    keys = time - b * (c * c)
    tape: dict[int, int] = {}
    for t, p in enumerate(at):
        tape[int(wrote[t])] = int(written[t])
        asked = dtype(p)
        seen = slice(0, t + 1)
        scores = 2 * b * asked * c[seen] - b * (asked * asked) + keys[seen]
        best = int(np.argmax(scores))
        read = int(written[best]) if scores[best] >= 0 else 0
        if read != tape.get(int(p), 0):
            return t + 1
    return None
