"""Figures of the deeper page of chapter 6."""

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.polynomial import polynomial

from tformer_book.chapters.ch06 import figures, layers
from tformer_book.figures.style import BLUE, GREEN, INK, KEY, QUIET, VERMILLION, panel
from tformer_book.figures.tables import blank
from tformer_book.world.lexicon import KINDS


def sets_of_heads() -> tuple[Figure, Figure]:
    """Which of four heads each of six kinds belongs to, and who is open when a word says a kind."""
    inside = np.array([[float(h in layers.SETS[kind]) for h in range(4)] for kind in KINDS])
    return _belongs(inside, "animate"), _belongs(inside, "place")


def _belongs(inside: np.ndarray, said: str) -> Figure:
    figure, ax = blank(2.6, 2.7)
    said_row = KINDS.index(said)
    for (i, h), member in np.ndenumerate(inside):
        closed = not inside[said_row, h]
        look: Any = {"facecolor": QUIET, "alpha": 0.35 if member else 0.12}
        if member and not closed:
            look = {"facecolor": KEY, "alpha": 0.8}
        ax.add_patch(Rectangle((h + 0.06, i + 0.06), 0.88, 0.88, linewidth=0, **look))
        if closed and not i:
            ax.plot([h + 0.5] * 2, [0, len(inside)], color=QUIET, linewidth=1.5)
    for i, kind in enumerate(KINDS):
        weight = "bold" if kind == said else "normal"
        ax.text(-0.2, i + 0.5, kind, ha="right", va="center", fontsize=10, fontweight=weight)
    for h in range(4):
        ax.text(h + 0.5, -0.15, f"{h + 1}", ha="center", va="bottom", fontsize=10)
    ax.text(2, -0.95, f"the last word says {said}", ha="center", va="bottom", fontsize=10)
    ax.set(xlim=(-2.2, 4.4), ylim=(6.1, -1.7))
    return figure


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
