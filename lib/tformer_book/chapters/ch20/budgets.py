"""Runs of our own source that share a budget, and the parabolas through them.

Four budgets, each four times the one before, and five sizes each. Ten of the runs are of the sweep,
since its sizes and tokens grow by four as well; the other ten lie in `budgets.csv`, which
``sweep(drawn_source(), plans(), folder)`` writes. No fit of a law has used these ten.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from tformer_book.chapters.ch20 import measured
from tformer_book.experiments.scaling import Law, Runs, read

if TYPE_CHECKING:
    from tformer_book.experiments.scaling.sweep import Plan

__all__ = ["WIDTHS", "bottom", "compute", "exponent", "new", "ours", "plans"]

FIRST = 6 * 384 * 2**16
"""FLOPs of the smallest run of the sweep, as 6 N D."""
WIDTHS = {
    2: (4, 6, 8, 12, 16),
    3: (6, 8, 12, 16, 24),
    4: (8, 12, 16, 24, 32),
    5: (12, 16, 24, 32, 48),
}
"""Of the models with a budget of 4^k times that."""


def plans() -> list[Plan]:
    """The runs that the sweep has not. Tokens are cut to whole steps, a change below .2 %."""
    from tformer_book.experiments.scaling.sweep import Plan  # loads PyTorch

    found = []
    for k, widths in WIDTHS.items():
        for width in widths:
            if width & (width - 1):
                tokens = round(compute(k) / 6 / _size(width))
                step = 32 * Plan(width, tokens).batch
                found.append(Plan(width, step * round(tokens / step)))
    return found


def _size(width: int) -> int:
    """Parameters of the blocks of a model of our sweep."""
    return 24 * width**2


def compute(k: int) -> float:
    """The budget in FLOPs."""
    return FIRST * 4.0**k


@cache
def ours(k: int) -> Runs:
    """The five runs of a budget, by size."""
    every = Runs(*map(np.append, measured.sweep(), new()))
    sizes = [_size(width) for width in WIDTHS[k]]
    these = np.isin(every.n, sizes) & np.isclose(6 * every.n * every.d, compute(k), rtol=2e-3)
    return every.keep(np.flatnonzero(these)[np.argsort(every.n[these])])


@cache
def new() -> Runs:
    """The ten runs that the sweep has not."""
    return read(files(__package__) / "budgets.csv")


def bottom(k: int, law: Law | None = None, without: int | None = None) -> float:
    """The size at the vertex of the parabola through the losses of a budget against log N.

    With a law the losses are what it says in the place of what came out. One of the five may be
    left out.
    """
    runs = ours(k).keep(np.arange(5) != (-1 if without is None else without))
    loss = runs.loss if law is None else law.loss(runs.n, runs.d)
    bend, slope, _ = np.polyfit(np.log(runs.n), loss, 2)
    return float(np.exp(-slope / (2 * bend)))


def exponent(law: Law | None = None) -> float:
    """The slope of the line through the logarithms of these sizes, against those of the budgets."""
    sizes = [bottom(k, law) for k in WIDTHS]
    return float(np.polyfit(np.log([*map(compute, WIDTHS)]), np.log(sizes), 1)[0])
