"""Difference quotients of a loss against the derived gradient, for steps of every size.

Where rounding decides, the errors depend on the machine. Those that the page draws are stored in
`differences.json`; the tests measure them again.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tformer_book.chapters.ch12.small import STEPS, Table, backward, drawn, forward, loss, surprise

__all__ = [
    "STEPS_TRIED",
    "Curve",
    "curves",
    "gradient_check",
    "intermediate_check",
    "quotient",
    "stored",
    "texts",
]

FILE = Path(__file__).with_name("differences.json")
STEPS_TRIED = 10.0 ** -np.arange(0, 13.01, 0.25)


class Curve(NamedTuple):
    """The error of one kind of quotient against its step, median over directions."""

    name: str
    error: np.ndarray


def texts(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three random texts of five words, and the words that come."""
    tokens = np.random.default_rng(seed).integers(0, 7, (3, 6))
    return tokens[:, :-1], tokens[:, 1:]


def _moved(p: Table, move: Table, by: float) -> Table:
    return {name: (p[name] + by * move[name]).astype(p[name].dtype) for name in p}


def quotient(p: Table, move: Table, h: float, central: bool = True) -> float:
    """The difference quotient of the loss in a direction, by a step of h."""
    there = loss(_moved(p, move, h), *texts())
    back = loss(_moved(p, move, -h) if central else p, *texts())
    return (there - back) / ((2 if central else 1) * h)


def _directions(p: Table, number: int = 9) -> list[Table]:
    rng = np.random.default_rng(1)
    return [{name: rng.standard_normal(x.shape) for name, x in p.items()} for _ in range(number)]


def _along(p: Table, move: Table) -> float:
    f = forward(p, *texts())
    d = backward(f, p)
    return float(sum((d[name] * move[name]).sum() for name in p))


@cache
def curves() -> tuple[Curve, ...]:
    """Forward and central quotients in float64, and central ones in float32."""
    p = {name: 0.3 * x for name, x in drawn().items()}
    single = {name: x.astype(np.float32) for name, x in p.items()}
    kinds = (("forward", p, False), ("central", p, True), ("central, float32", single, True))
    moves = _directions(p)
    right = [_along(p, move) for move in moves]
    return tuple(
        Curve(name, np.array([_error(given, moves, right, h, central) for h in STEPS_TRIED]))
        for name, given, central in kinds
    )


def stored() -> tuple[Curve, ...]:
    """What `curves` returned when the file was written."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    return tuple(Curve(name, np.array(error)) for name, error in found.items())


def _error(given: Table, moves: list[Table], right: list[float], h: float, central: bool) -> float:
    pairs = zip(moves, right, strict=True)
    return float(np.median([abs(quotient(given, one, h, central) - want) for one, want in pairs]))


def gradient_check(p: Table, gradients: Table, h: float = 1e-5) -> dict[str, float]:
    """The largest relative error of each gradient against central differences, entry by entry."""
    found = {}
    for name, x in p.items():
        numbers = np.zeros_like(x)
        for place in np.ndindex(x.shape):
            move = {one: np.zeros_like(y) for one, y in p.items()}
            move[name][place] = 1
            numbers[place] = quotient(p, move, h)
        found[name] = float(np.abs(numbers - gradients[name]).max() / np.abs(numbers).max())
    return found


class _Nudged(Table):
    """Intermediates, some of which are moved as soon as they are computed."""

    def __init__(self, moves: Table) -> None:
        super().__init__()
        self.moves = moves

    def __setitem__(self, name: str, x: np.ndarray) -> None:
        super().__setitem__(name, x + self.moves[name] if name in self.moves else x)


def intermediate_check(p: Table, gradients: Table, h: float = 1e-5) -> dict[str, float]:
    """The same for the gradient of every intermediate, each number of which is moved.

    For `head` the table of words is moved while what was looked up stays as it is.
    """
    given, comes = texts()
    found, right = {}, forward(p, given, comes) | {"head": p["E"]}
    for name in (one for one in STEPS if one not in p):
        numbers = np.zeros_like(right[name])
        for place in np.ndindex(numbers.shape):
            losses = []
            for by in (h, -h):
                move = np.zeros_like(numbers)
                move[place] = by
                head = name == "head"
                table, moves = (move, {"x": -move[given]}) if head else (0 * p["E"], {name: move})
                q = p | {"E": p["E"] + table}
                losses.append(surprise(forward(q, given, comes, _Nudged(moves))))
            numbers[place] = (losses[0] - losses[1]) / (2 * h)
        found[name] = float(np.abs(numbers - gradients[name]).max() / np.abs(numbers).max())
    return found


if __name__ == "__main__":
    found = {curve.name: [float(f"{x:.3g}") for x in curve.error] for curve in curves()}
    FILE.write_text(json.dumps(found) + "\n", encoding="utf-8")
