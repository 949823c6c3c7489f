"""Figures of the deeper page of chapter 6."""

from itertools import combinations
from math import comb

import numpy as np
from matplotlib.figure import Figure
from numpy.polynomial import polynomial

from tformer.chapters.ch06 import figures
from tformer.figures.style import BLUE, GREEN, INK, KEY, QUIET, VERMILLION, panel
from tformer.figures.tables import blank


def lattice(n_heads: int = 4) -> Figure:
    """All sets of heads, those of half the heads filled, and one way from none to all."""
    figure, ax = blank(3.5, 2.9)
    sets = [c for size in range(n_heads + 1) for c in combinations(range(n_heads), size)]
    spot = {}
    for size in range(n_heads + 1):
        level = [c for c in sets if len(c) == size]
        for i, one in enumerate(level):
            spot[one] = (1.15 * (i - (len(level) - 1) / 2), 1.1 * size)
    way = [tuple(sorted((1, 2, 3, 0)[:size])) for size in range(n_heads + 1)]
    for small in sets:
        for large in (c for c in sets if len(c) == len(small) + 1 and set(small) < set(c)):
            thick = small in way and large in way
            color, width = (INK, 2.5) if thick else (QUIET, 0.5)
            ends = np.transpose([spot[small], spot[large]])
            ax.plot(*ends, zorder=1, color=color, linewidth=width)
    for one, place in spot.items():
        chosen = len(one) == n_heads // 2
        ax.plot(*place, "o", color=KEY if chosen else "white", markeredgecolor=INK, markersize=13)
        name = "all" if len(one) == n_heads else "".join(str(h + 1) for h in one) or "–"
        ax.text(*place, name, ha="center", va="center", fontsize=8, color="#111111")
    half = 1.15 * comb(n_heads, n_heads // 2) / 2
    ax.set(xlim=(-half, half), ylim=(-0.5, 1.1 * n_heads + 0.5))
    return figure


def moments(n: int = 9) -> Figure:
    """Scores of keys on a curve of powers, each highest at two chosen words."""
    figure, ax = panel(3.5, 2.4)
    t, fine = np.linspace(-1, 1, n), np.linspace(-1.06, 1.06, 200)
    for color, chosen in ((BLUE, (1, 6)), (VERMILLION, (3, 4)), (GREEN, (0, 8))):
        score = -(polynomial.polyfromroots(np.repeat(t[list(chosen)], 2)))
        ax.plot(fine, polynomial.polyval(fine, score), color=color, linewidth=1.2)
        ax.plot(t, polynomial.polyval(t, score), "o", color=color, markersize=3)
        ax.plot(t[list(chosen)], np.zeros(2), "o", color=color, markeredgecolor=INK, markersize=8)
    ax.set(xticks=t, xticklabels=range(1, n + 1), ylim=(-1.6, 0.2), xlabel="word", ylabel="score")
    return figure


def sharing() -> Figure:
    """How well four heads find by four attributes, with fewer tables of keys and wider ones."""
    figure, ax = panel(3.6, 3.0)
    figures.finds(ax, figures.SHARED, intervals=True)
    names = [f"{g} × {d_k}" for g, d_k in figures.SHARED]
    ax.set(yticks=range(len(names)), yticklabels=names, ylabel="tables × key width")
    return figure
