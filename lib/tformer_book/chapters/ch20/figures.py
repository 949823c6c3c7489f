"""Figures of chapter 20: scaling laws."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tformer_book.chapters.ch20 import measured, published
from tformer_book.chapters.ch20.parabolas import vertex
from tformer_book.experiments.scaling import Law
from tformer_book.figures.style import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    QUIET,
    SKY,
    VERMILLION,
    WIDE,
    label_ends,
    panel,
)
from tformer_book.figures.tables import blank, squares

__all__ = [
    "advice",
    "attention",
    "five",
    "offset",
    "parabola",
    "predicted",
    "spend",
    "strip",
    "sweep",
]

BUDGETS = np.logspace(18, 25, 57)
BUDGET = 1e21
"""FLOPs of the strip."""
SIZES = (5e8, 1e9, 2e9, 4e9, 8e9, 1.6e10)
"""Parameters of the six models that it could buy."""
LARGE = 14
"""Points: so that exponents on the axes of a broad figure are read from the back of a hall."""
COLORS = (VERMILLION, ORANGE, GREEN, SKY, BLUE, PURPLE)


def strip(told: bool = True) -> tuple[Figure, Figure]:
    """Six models of one budget: parameters, tokens, and the loss if `told`."""
    return _bought(SIZES[:3], told), _bought(SIZES[3:], told)


def losses(sizes: Sequence[float] = SIZES, compute: float = BUDGET) -> np.ndarray:
    """What the refit says of models of one budget."""
    n = np.array(sizes)
    return published.refit().loss(n, compute / 6 / n)


def _bought(sizes: Sequence[float], told: bool) -> Figure:
    figure, ax = blank(4.4, 1.75)
    left, width, found, least = 2.9, 2.5, losses(sizes), losses().min()
    for y, name in enumerate(("parameters", "tokens", "loss")):
        ax.text(left - 0.2, y + 0.5, name, ha="right", va="center", fontsize=11)
    if told:
        squares(ax, (found - least)[None] + 0.01, (left, 2), PURPLE, most=0.25, size=(width, 1))
    for i, (n, loss) in enumerate(zip(sizes, found, strict=True)):
        middle, best = left + width * (i + 0.5), round(loss, 3) == round(least, 3)
        if told:
            weight = "bold" if best else "normal"
            ax.text(middle, 2.5, f"{loss:.3f}", ha="center", va="center", fontweight=weight)
        else:
            ax.text(middle, 2.5, "?", ha="center", va="center")
        if best or not told:
            edge = INK if told else QUIET
            ax.add_patch(Rectangle((middle - 1.13, 2.05), 2.26, 0.9, fc="none", ec=edge))
        for y, count in enumerate((n, BUDGET / 6 / n)):
            text = f"{count / 1e9:.3g} billion"
            ax.text(middle, y + 0.5, text, ha="center", va="center", fontsize=11)
    ax.set(xlim=(0, 10.5), ylim=(3.1, -0.1))
    return figure


@rc_context({"font.size": LARGE})
def sweep() -> tuple[Figure, Figure]:
    """The 24 runs and their law: against tokens, a line a size, and against sizes."""
    runs, law = measured.sweep(), measured.law()
    sizes, tokens = np.unique(runs.n), np.unique(runs.d)
    left, ax = panel(WIDE * 0.5, 3.8)
    for n, color in zip(sizes, COLORS, strict=True):
        these = runs.n == n
        at = np.geomspace(tokens[0], tokens[-1], 50)
        ax.plot(runs.d[these], runs.loss[these], "o", color=color, markersize=6)
        ax.plot(at, law.loss(n, at), color=color, label=f"N = {n:,.0f}")
    ax.set(xscale="log", yscale="log", xlabel="tokens D", ylabel="excess, nats a token")
    _plain(ax)
    label_ends(ax, gap=15)
    right, ax = panel(WIDE * 0.5, 3.8)
    for d, color in zip(tokens, COLORS[1:5], strict=True):
        these = runs.d == d
        at = np.geomspace(sizes[0], sizes[-1], 50)
        ax.plot(runs.n[these], runs.loss[these], "o", color=color, markersize=6)
        ax.plot(at, law.loss(at, d), color=color, label=f"D = {d:,.0f}")
    ax.set(xscale="log", yscale="log", xlabel="parameters N", ylabel="excess, nats a token")
    _plain(ax)
    label_ends(ax, gap=15)
    return left, right


def _plain(ax: Axes) -> None:
    ticks = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()


def predicted(told: bool = True) -> Figure:
    """The runs of the most tokens, the law beyond them, and an interval; then the run if `told`."""
    runs, out = measured.sweep(), measured.held_out()
    n, d = float(out.n[0]), float(out.d[0])
    these = (runs.d == d) & (runs.n > 5000)
    at = np.geomspace(runs.n[these].min(), 1.5 * n, 80)
    figure, ax = panel(4.8, 3.4)
    band = np.array([one.loss(at, d) for one in measured.laws()])
    low, high = np.quantile(band, (0.025, 0.975), axis=0)
    ax.fill_between(at, low, high, color=BLUE, alpha=0.15, linewidth=0)
    ax.plot(at, measured.law().loss(at, d), color=BLUE)
    ax.plot(runs.n[these], runs.loss[these], "o", color=BLUE, markersize=6)
    middle, low, high = measured.expected(n, d)
    bars = np.array([[middle - low], [high - middle]])
    ax.errorbar([n], [middle], yerr=bars, color=INK, capsize=5)
    if told:
        ax.plot([n], out.loss, "D", color=VERMILLION, markersize=8)
    else:
        ax.text(1.12 * n, middle, "?", va="center", fontsize=15)
    ax.set(xscale="log", yscale="log", xlabel="parameters N", ylabel="excess, nats a token")
    ax.set_yticks((0.012, 0.015, 0.02, 0.03, 0.04), ["0.012", "0.015", "0.02", "0.03", "0.04"])
    ax.minorticks_off()
    return figure


def attention() -> Figure:
    """The share of the FLOPs that attention takes for its weights, against the length of texts."""
    figure, ax = panel(4.8, 3.2)
    length = np.geomspace(128, 2**20, 80)
    for width, color in ((768, VERMILLION), (4096, BLUE), (16384, GREEN)):
        ax.plot(length, length / (length + 6 * width), color=color, label=f"d = {width:,}")
        ax.plot([6 * width], [0.5], "o", color=color)
    ax.set(xscale="log", xlabel="words of a text, T", ylabel="share of attention", ylim=(0, 1))
    ax.legend(fontsize=11, loc="upper left")
    return figure


@rc_context({"font.size": LARGE})
def spend() -> tuple[Figure, Figure]:
    """The loss over sizes and tokens, with budgets and their optimum; and what a miss costs."""
    law, runs = published.refit(), published.runs()
    n, d = np.geomspace(3e7, 3e11, 120), np.geomspace(1e8, 3e13, 120)
    left, ax = panel(WIDE * 0.5, 4.0)
    over = law.loss(n[None], d[:, None])
    levels = (2.0, 2.1, 2.2, 2.4, 2.7, 3.2, 4.0)
    drawn = ax.contour(n, d, over, levels=levels, colors=QUIET, linewidths=1)
    ax.clabel(drawn, fmt="%.1f", fontsize=12)
    ax.plot(runs.n, runs.d, "o", color=BLUE, markersize=3, alpha=0.5)
    for compute, color in zip((1e19, 1e21, 1e23), (ORANGE, VERMILLION, PURPLE), strict=True):
        ax.plot(n, compute / 6 / n, color=color)
        ax.plot(*law.optimum(compute), "D", color=color, markersize=7)
    ax.plot(*np.transpose([law.optimum(c) for c in np.geomspace(1e17, 1e25, 20)]), color=INK)
    limits = {"xlim": (n[0], n[-1]), "ylim": (d[0], d[-1])}
    ax.set(xscale="log", yscale="log", xlabel="parameters N", ylabel="tokens D", **limits)
    right, ax = panel(WIDE * 0.5, 4.0)
    factor = np.geomspace(1 / 30, 30, 121)
    for compute, color in zip((1e19, 1e21, 1e23), (ORANGE, VERMILLION, PURPLE), strict=True):
        best, data = law.optimum(compute)
        lost = law.loss(factor * best, data / factor) - law.loss(best, data)
        ax.plot(factor, lost, color=color, label=f"$10^{{{np.log10(compute):.0f}}}$ FLOPs")
    ax.set(xscale="log", xlabel="size over the best size", ylabel="nats lost", ylim=(-0.01, 0.5))
    ax.set_xticks([0.1, 0.5, 1, 2, 10], ["1/10", "1/2", "1", "2", "10"])
    ax.minorticks_off()
    ax.legend()
    return left, right


def offset() -> Figure:
    """A law with a floor between logarithms, and straight lines through two stretches of it."""
    law = published.refit()
    figure, ax = panel(4.8, 3.4)
    n = np.geomspace(1e6, 1e14, 160)
    ax.plot(n, law.floor + law.a / n**law.alpha, color=BLUE, label="the law")
    ax.axhline(law.floor, color=QUIET, linestyle=":", linewidth=1)
    for ends, color in zip(STRETCHES, (VERMILLION, ORANGE), strict=True):
        exponent, line = straight(*ends)
        ax.plot(n, line(n), "--", color=color, label=f"line, exponent {exponent:.3f}")
        ax.plot(ends, line(np.array(ends)), "o", color=color)
    ax.set(xscale="log", yscale="log", xlabel="parameters N", ylabel="loss", ylim=(1, 8))
    ax.set_yticks([1, 2, 4, 8], ["1", "2", "4", "8"])
    ax.minorticks_off()
    ax.legend(fontsize=11)
    return figure


STRETCHES = ((1e7, 1e8), (1e9, 1e10))
"""From where to where the lines are fitted."""


def straight(low: float, high: float) -> tuple[float, Callable[[np.ndarray], np.ndarray]]:
    """The exponent of a line through the refit's losses of models that saw endless text."""
    law, n = published.refit(), np.geomspace(low, high, 9)
    slope, at = np.polyfit(np.log(n), np.log(law.floor + law.a / n**law.alpha), 1)
    return -slope, lambda x: np.exp(at + slope * np.log(x))


def five() -> tuple[Figure, Figure]:
    """How far each run lies above the refit, the five marked; and the exponent without some."""
    every, law = published.runs(), published.refit()
    worst = np.argsort(-every.loss)[: published.LEFT_OUT]
    ratio, off = every.d / every.n, 100 * (every.loss / law.loss(every.n, every.d) - 1)
    left, ax = panel(4.8, 3.2)
    ax.axhline(0, color=QUIET, linewidth=1)
    ax.plot(ratio, off, "o", color=BLUE, markersize=4, alpha=0.5)
    ax.plot(ratio[worst], off[worst], "o", color=VERMILLION, markersize=7)
    ax.set(xscale="log", xlabel="tokens a parameter", ylabel="loss above the refit, %")
    right, ax = panel(4.8, 3.2)
    taken = np.arange(published.LEFT_OUT + 1)
    ax.plot(taken, [published.refit(int(k)).share for k in taken], "o-", color=VERMILLION)
    low, high = np.quantile([one.share for one in published.laws()], (0.025, 0.975))
    ax.axhspan(low, high, color=BLUE, alpha=0.15, linewidth=0)
    ax.set(xlabel="runs of the largest loss left out", ylabel="exponent of N", ylim=(0.45, 0.6))
    return left, right


def advice() -> Figure:
    """Tokens a parameter at the optimum against the budget, by four laws; a band for the refit."""
    figure, ax = panel(4.8, 3.2)
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
    figure, ax = panel(4.8, 3.2)
    ax.plot(np.exp(u), loss(u), color=QUIET)
    ax.plot(np.exp(u), curve(u), color=VERMILLION, linestyle="--")
    ax.plot(np.exp(points), loss(points), "o", color=BLUE, markersize=5)
    found = vertex(law, compute, width, miss)
    ax.plot([1], [loss(0.0)], "D", color=INK, markersize=7)
    ax.plot([np.exp(found)], [curve(found)], "D", color=VERMILLION, markersize=7)
    ax.set(xscale="log", xlabel="parameters over the best number", ylabel="loss")
    return figure
