"""Figures of the deeper page of chapter 18."""

from __future__ import annotations

from matplotlib.figure import Figure

from tformer_book.chapters.ch18 import emergent as sweep
from tformer_book.figures.style import BLUE, GREEN, INK, ORANGE, VERMILLION, label_ends, panel

__all__ = ["emergent"]


def emergent() -> tuple[Figure, Figure]:
    """The excess of six models, and what answers of 1 to 100 tokens make of it."""
    n, excess = sweep.runs()
    left, ax = panel(4.2, 3.2)
    ax.plot(n, excess, "o-", color=INK)
    ax.set(xscale="log", yscale="log", xlabel="parameters", ylabel="excess, nats a token")
    ticks = (0.02, 0.05, 0.1, 0.2)
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    right, ax = panel(4.6, 3.2)
    for k, color in zip(sweep.MANY, (BLUE, GREEN, ORANGE, VERMILLION), strict=True):
        name = "1 token" if k == 1 else f"{k} tokens"
        ax.plot(n, sweep.score(excess, k), "o-", color=color, label=name)
    ax.set(xscale="log", xlabel="parameters", ylabel="score", ylim=(-0.03, 1.03))
    label_ends(ax, gap=14)
    return left, right
