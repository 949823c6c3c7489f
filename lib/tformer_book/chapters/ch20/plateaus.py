"""Losses that stand still and then fall: the storyteller, seen at the steps of its training."""

from functools import cache
from importlib.resources import files

import numpy as np

from tformer_book.experiments.scaling import columns

__all__ = ["SEEN", "TOLD", "against", "losses", "power"]

TOLD = {"name again": "the name, told again", "cure": "the cure", "patient": "who is helped"}
"""What can be known from the tale alone, and so has the floor 0."""
SEEN = (75, 150)
"""Between these steps the name that is told again stands still."""


@cache
def losses(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps, each 25th from the first measured on, and the mean loss of a kind of word there."""
    table = files("tformer_book.storyteller") / "measured.csv"
    steps, loss = columns(table, "step", kind)
    return steps[1:], loss[1:]


def power(kind: str) -> tuple[float, float]:
    """A and the exponent of the power law A / step^a through the losses at both ends of `SEEN`."""
    steps, loss = losses(kind)
    (x0, x1), (y0, y1) = SEEN, (float(loss[steps == step].item()) for step in SEEN)
    found = float(np.log(y0 / y1) / np.log(x1 / x0))
    return y0 * x0**found, found


def against(kind: str, step: int) -> tuple[float, float]:
    """What this power law says of a step, and what was measured there."""
    (a, exponent), (steps, loss) = power(kind), losses(kind)
    return a / step**exponent, float(loss[steps == step].item())
