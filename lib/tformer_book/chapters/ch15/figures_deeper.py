"""The figures of the deeper page of chapter 15."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tformer import reference
from tformer_book.chapters.ch15 import writing
from tformer_book.chapters.ch15.figures import FLAT, kept
from tformer_book.chapters.ch15.wider import WIDER
from tformer_book.figures.style import INK, KEY, PURPLE, QUERY, QUIET, VALUE, panel
from tformer_book.figures.tables import blank


def order() -> Figure:
    """How many words stay if the temperature comes before the cut."""
    figure, ax = panel(4.6, 2.7)
    taus = np.geomspace(0.1, 3, 40)
    row = writing.logits(FLAT)
    counts = [
        [int(np.isfinite(cut).sum()) for cut in kept(reference.temperature(row, float(tau)))]
        for tau in taus
    ]
    names = ("top-k, 5", "top-p, 0.9", "min-p, 0.1")
    for name, n, color in zip(names, zip(*counts, strict=True), (KEY, QUERY, VALUE), strict=True):
        ax.plot(taus, n, color=color, label=name)
    ax.set(xscale="log", yscale="log", xlabel="temperature", ylabel="words that stay")
    ax.set_xticks([0.1, 0.3, 1, 3], [".1", ".3", "1", "3"])
    ax.minorticks_off()
    ax.legend(fontsize=10)
    return figure


def wider() -> Figure:
    """Beginnings of one and two words, what a beam of two keeps, and the texts that are reached."""
    figure, ax = blank(4.8, 2.6)
    ax.set_aspect("auto")
    root = (4.0, 0.0)
    for i, p in enumerate(WIDER[()]):
        one = (1.3 + 2.7 * i, 1.0)
        _edge(ax, root, one, f"{p:.2f}", i < 2)
        for j, q in enumerate(WIDER[(i,)][:2]):
            two = (one[0] - 0.65 + 1.3 * j, 2.0)
            _edge(ax, one, two, f"{p * q:.3f}", i == 1)
            if (i, j) in ((0, 0), (1, 0)):
                r = p * q * WIDER[(i, j)][0]
                _edge(ax, two, (two[0], 3.0), f"{r:.3f}", i == 1)
    ax.set(xlim=(0, 8), ylim=(3.5, -0.3))
    return figure


def _edge(ax: Any, start: Any, end: Any, text: str, stays: bool) -> None:
    color = VALUE if stays else QUIET
    line = "-" if stays else ":"
    ax.plot([start[0], end[0]], [start[1] + 0.12, end[1] - 0.22], line, color=color, linewidth=1.6)
    ax.text(*end, text, ha="center", va="center", fontsize=10.5, color=INK)


def gain() -> Figure:
    """How many times as fast as the target alone, for drafts of three kinds."""
    figure, ax = panel(4.6, 2.7)
    n = np.arange(13)
    for a, color in ((0.4, KEY), (0.7, PURPLE), (0.9, QUERY)):
        faster = (1 - a ** (n + 1)) / (1 - a) / (0.1 * n + 1)
        ax.plot(n, faster, "o-", markersize=4, color=color, label=f"accepted with {a}")
    ax.axhline(1, color=QUIET, linewidth=1, linestyle=":")
    ax.set(xlabel="words proposed", ylabel="times as fast", ylim=(0, 5.4))
    ax.legend(fontsize=10)
    return figure
