"""Figures of the deeper page of chapter 9."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from tformer_book.chapters.ch09 import folds
from tformer_book.figures.style import GREEN, INK, KEY, QUERY, QUIET, SKY, VALUE, label_ends, panel


def approximations() -> tuple[Figure, Figure]:
    """A wave and layers of ReLUs that join points of it, and their largest errors."""
    x = np.linspace(0, 1, 2049)
    wave = np.sin(2 * np.pi * x)
    joined = {}
    for n in (4, 8, 16, 32, 64):
        t = np.linspace(0, 1, n + 1)
        joined[n] = np.interp(x, t, np.sin(2 * np.pi * t))
    one, ax = panel(3.3, 2.4)
    ax.plot(x, wave, color=QUIET, linewidth=3)
    for n, color in ((4, KEY), (8, QUERY)):
        ax.plot(x, joined[n], color=color, label=f"{n} units")
    ax.set(xlabel="x", xticks=(0, 0.5, 1), yticks=(-1, 0, 1), ylim=(-1.1, 1.1))
    ax.legend(loc="upper right", fontsize=10)
    two, ax = panel(3.3, 2.4)
    errors = [float(np.abs(y - wave).max()) for y in joined.values()]
    ax.plot(list(joined), errors, "o-", color=VALUE)
    ax.set(xscale="log", yscale="log", xlabel="units", title="largest error")
    ax.set(xticks=list(joined), xticklabels=[str(n) for n in joined])
    ax.minorticks_off()
    return one, two


def tents() -> tuple[Figure, Figure]:
    """The tent, and the tent folded over itself four times."""
    x = np.linspace(0, 1, 257)
    made = []
    for n_layers in (1, 4):
        y = x
        for _ in range(n_layers):
            y = 2 * np.maximum(0, y) - 4 * np.maximum(0, y - 0.5)
        figure, ax = panel(3.3, 2.1)
        ax.plot(x, y, color=VALUE)
        ax.set(xlabel="x", xticks=(0, 0.5, 1), yticks=(0, 1), ylim=(-0.05, 1.1))
        ax.set_title(f"{n_layers} layer{'s' * (n_layers > 1)} of two ReLUs", fontsize=11)
        made.append(figure)
    return made[0], made[1]


def patterns() -> Figure:
    """Share of all patterns of units on and off that can occur, by the number of units."""
    figure, ax = panel(3.6, 2.5)
    n = np.arange(1, 33)
    for d, color in ((2, INK), (4, KEY), (8, QUERY)):
        share = [folds.bound(int(k), d) / 2.0**k for k in n]
        ax.plot(n, share, color=color, label=f"d = {d}")
        ax.plot(4 * d, folds.bound(4 * d, d) / 2.0 ** (4 * d), "o", color=color)
    ax.set(yscale="log", xlabel="units", ylabel="share of patterns", xlim=(1, 40))
    label_ends(ax)
    return figure


def deaths() -> Figure:
    """The share of units that never answer, by what is taken off, after a norm: three widths."""
    figure, ax = panel(3.6, 2.5)
    steps = np.linspace(0, 1.1, 23)
    for d, color in ((4, SKY), (16, QUERY), (64, GREEN)):
        shares = [folds.dead_share(d, float(step)) for step in steps]
        ax.plot(steps, shares, color=color)
        ax.text(
            steps[int(np.argmax(np.array(shares) > 0.5))] - 0.08,
            0.5,
            f"d = {d}",
            color=color,
            ha="right",
            fontsize=10,
        )
    ax.axvline(1, color=QUIET, linewidth=1, linestyle=":")
    ax.set(ylabel="units never on", ylim=(-0.02, 1.05))
    ax.set_xlabel(r"$-b$, in units of $\sqrt{d}\,\Vert k \Vert$")
    return figure
