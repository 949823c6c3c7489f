"""Figures of the deeper page of chapter 20: budgets of our own, and losses that stand still."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from tformer_book.chapters.ch20 import budgets, measured, plateaus, widths
from tformer_book.chapters.ch20 import quick as brief
from tformer_book.figures.style import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    QUIET,
    VERMILLION,
    label_ends,
    panel,
)
from tformer_book.storyteller.tales import NAMES

__all__ = ["ours", "plateau", "quick", "sizes"]

COLORS = (VERMILLION, ORANGE, GREEN, BLUE)


def ours() -> tuple[Figure, Figure]:
    """Runs of four budgets with law and parabolas; and the best sizes that either gives."""
    left, ax = panel(4.8, 3.8)
    for k, color in zip(budgets.WIDTHS, COLORS, strict=True):
        runs = budgets.ours(k)
        at = np.geomspace(runs.n[0] / 1.3, runs.n[-1] * 1.3, 60)
        bow = np.polynomial.Polynomial.fit(np.log(runs.n), runs.loss, 2)
        ax.plot(at, measured.law().loss(at, budgets.compute(k) / 6 / at), color=color)
        ax.plot(at, bow(np.log(at)), color=color, linestyle="--", linewidth=1)
        label = f"{budgets.compute(k):.1e} FLOPs"
        ax.plot(runs.n, runs.loss, "o", color=color, markersize=6, label=label)
        best = budgets.bottom(k)
        ax.plot([best], [bow(np.log(best))], "D", color=INK, markersize=6)
    ax.set(xscale="log", yscale="log", xlabel="parameters N", ylabel="excess, nats a token")
    ticks = (0.03, 0.05, 0.1, 0.2)
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.legend(fontsize=10)
    right, ax = panel(4.8, 3.8)
    spent = np.geomspace(budgets.compute(2) / 2, budgets.compute(5) * 2, 30)
    many = np.array([[one.optimum(c)[0] for c in spent] for one in measured.laws()])
    low, high = np.quantile(many, (0.025, 0.975), axis=0)
    ax.fill_between(spent, low, high, color=BLUE, alpha=0.15, linewidth=0)
    law = [measured.law().optimum(c)[0] for c in spent]
    ax.plot(spent, law, color=BLUE, label="the law of the 24")
    found = [budgets.bottom(k) for k in budgets.WIDTHS]
    paid = [budgets.compute(k) for k in budgets.WIDTHS]
    ax.plot(paid, found, "D", color=INK, markersize=7, label="vertices")
    ax.set(xscale="log", yscale="log", xlabel="FLOPs, 6 N D", ylabel="best number of parameters")
    ax.legend(fontsize=11)
    return left, right


def plateau() -> Figure:
    """Losses of three kinds of word against steps, and a power law that goes on from a plateau."""
    figure, ax = panel(4.8, 3.6)
    for kind, color in zip(plateaus.TOLD, (BLUE, GREEN, VERMILLION), strict=True):
        steps, loss = plateaus.losses(kind)
        early = steps <= 1000
        ax.plot(steps[early], loss[early], color=color, label=plateaus.TOLD[kind])
    scale, exponent = plateaus.power("name again")
    ends, at = np.array(plateaus.SEEN), np.array([50, 800])
    ax.plot(at, scale / at**exponent, "--", color=QUIET)
    ax.plot(ends, scale / ends**exponent, "o", color=BLUE, markersize=6)
    ax.set(xscale="log", yscale="log", xlabel="steps", ylabel="loss, nats", ylim=(1e-3, 9))
    ax.set_xticks([25, 50, 100, 200, 500, 1000], ["25", "50", "100", "200", "500", "1000"])
    ax.minorticks_off()
    ax.legend(fontsize=11, loc="lower left")
    return figure


def sizes() -> Figure:
    """Losses of three kinds of word at the end of training, against width: runs and medians."""
    figure, ax = panel(4.8, 3.6)
    at = np.array(widths.WIDTHS)
    for i, (kind, color) in enumerate(zip(plateaus.TOLD, (BLUE, GREEN, VERMILLION), strict=True)):
        loss, moved = widths.stored(kind), at * 1.04 ** (i - 1)
        ax.plot(np.repeat(moved, widths.SEEDS), loss.ravel(), "o", color=color, markersize=4)
        ax.plot(moved, np.median(loss, axis=1), color=color, label=plateaus.TOLD[kind])
    ax.axhline(np.log(len(NAMES)), color=QUIET, linestyle="--", linewidth=1)
    ax.set(xscale="log", yscale="log", xlabel="width", ylabel="loss, nats", ylim=(1e-7, 9))
    ax.set_xticks(at, [str(width) for width in at])
    ax.minorticks_off()
    ax.legend(fontsize=11, loc="lower left")
    return figure


def quick() -> Figure:
    """The runs of the quick sweep with their law, and the law of the chapter (dashed)."""
    runs = brief.sweep()
    figure, ax = panel(5.6, 3.8)
    at = np.geomspace(2**14, 2**22, 60)
    for n, color in zip(np.unique(runs.n)[[0, 1, 3, 5]], COLORS, strict=True):
        these = runs.n == n
        ax.plot(runs.d[these], runs.loss[these], "o", color=color, markersize=6)
        ax.plot(at, brief.law().loss(n, at), color=color, label=f"N = {n:,.0f}")
        ax.plot(at, measured.law().loss(n, at), "--", color=color, linewidth=1)
    ax.set(xscale="log", yscale="log", xlabel="tokens D", ylabel="excess, nats a token")
    ticks = (0.03, 0.05, 0.1, 0.2, 0.5)
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    label_ends(ax)
    return figure
