"""Figures of chapter 20: scaling laws."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from tformer.chapters.ch20 import published
from tformer.chapters.ch20.parabolas import vertex
from tformer.experiments.scaling import Law
from tformer.figures.style import BLUE, GREEN, INK, PURPLE, QUIET, VERMILLION, panel

__all__ = ["advice", "five", "parabola"]

WIDE = 1000 / 72
"""Inches of a picture across the whole page."""
BUDGETS = np.logspace(18, 25, 57)


def five() -> tuple[Figure, Figure]:
    """How far each run lies above the refit, the five marked; and the exponent without some."""
    every, law = published.runs(), published.refit()
    worst = np.argsort(-every.loss)[: published.LEFT_OUT]
    ratio, off = every.d / every.n, 100 * (every.loss / law.loss(every.n, every.d) - 1)
    left, ax = panel(7.6, 3.2)
    ax.axhline(0, color=QUIET, linewidth=1)
    ax.plot(ratio, off, "o", color=BLUE, markersize=4, alpha=0.5)
    ax.plot(ratio[worst], off[worst], "o", color=VERMILLION, markersize=7)
    ax.set(xscale="log", xlabel="tokens a parameter", ylabel="loss above the refit, %")
    right, ax = panel(5.6, 3.2)
    taken = np.arange(published.LEFT_OUT + 1)
    ax.plot(taken, [published.refit(int(k)).share for k in taken], "o-", color=VERMILLION)
    low, high = np.quantile([one.share for one in published.laws()], (0.025, 0.975))
    ax.axhspan(low, high, color=BLUE, alpha=0.15, linewidth=0)
    ax.set(xlabel="runs of the largest loss left out", ylabel="exponent of N", ylim=(0.45, 0.6))
    return left, right


def advice() -> Figure:
    """Tokens a parameter at the optimum against the budget, by five laws; a band for the refit."""
    figure, ax = panel(WIDE * 0.6, 3.8)
    band = np.array([[_ratio(one, c) for c in BUDGETS] for one in published.laws()])
    low, high = np.quantile(band, (0.025, 0.975), axis=0)
    ax.fill_between(BUDGETS, low, high, color=BLUE, alpha=0.15, linewidth=0)
    for name, law, color in (
        ("as printed", published.PRINTED, VERMILLION),
        ("the same, all digits", published.SOURCE, PURPLE),
        ("refit, 240 runs", published.refit(), BLUE),
        ("refit, 245 runs", published.refit(0), GREEN),
    ):
        ax.plot(BUDGETS, [_ratio(law, c) for c in BUDGETS], color=color, label=name)
    ax.axhline(20, color=QUIET, linewidth=1, linestyle=":")
    ax.set(xscale="log", yscale="log", xlabel="FLOPs", ylabel="tokens a parameter")
    ax.set_yticks([5, 10, 20, 50, 100], ["5", "10", "20", "50", "100"])
    ax.minorticks_off()
    ax.legend(fontsize=10, loc="upper left")
    return figure


def _ratio(law: Law, compute: float) -> float:
    n, d = law.optimum(compute)
    return d / n


def parabola(width: float = 2.5, miss: float = 0.0) -> Figure:
    """The loss along the runs of one budget, a parabola through nine of them, and both minima."""
    law, compute = Law(1.8, 480.0, 2100.0, 0.35, 0.5), 1e21
    best = np.log(law.optimum(compute)[0])
    u = np.linspace(-1.2 * width, 1.2 * width, 200) + miss
    points = np.linspace(-width, width, 9) + miss

    def loss(away: np.ndarray | float) -> np.ndarray:
        n = np.exp(best + away)
        return law.loss(n, compute / 6 / n)

    curve = np.polynomial.Polynomial.fit(points, loss(points), 2)
    figure, ax = panel(5.6, 3.2)
    ax.plot(np.exp(u), loss(u), color=QUIET)
    ax.plot(np.exp(u), curve(u), color=VERMILLION, linestyle="--")
    ax.plot(np.exp(points), loss(points), "o", color=BLUE, markersize=5)
    found = vertex(law, compute, width, miss)
    ax.plot([1], [loss(0.0)], "D", color=INK, markersize=7)
    ax.plot([np.exp(found)], [curve(found)], "D", color=VERMILLION, markersize=7)
    ax.set(xscale="log", xlabel="parameters over the best number", ylabel="loss")
    return figure
