"""The figure of the deeper page of chapter 12."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from tformer_book.figures.style import KEY, QUERY, VALUE, panel

__all__ = ["groups"]

RATIO = 16


def groups() -> Figure:
    """Numbers kept against the size of a group, in tables of vectors, for three depths."""
    figure, ax = panel(5.6, 2.9)
    for depth, color in ((24, QUERY), (96, KEY), (384, VALUE)):
        sizes = np.array([n for n in range(1, depth + 1) if depth % n == 0])
        kept = depth / sizes + sizes * RATIO
        ax.plot(sizes, kept, "o-", color=color, markersize=4, label=f"{depth} blocks")
    ax.set(xscale="log", yscale="log", xlabel="blocks in a group", ylabel="tables of vectors kept")
    ax.set_xticks([1, 2, 4, 8, 24, 96, 384], ["1", "2", "4", "8", "24", "96", "384"])
    ax.minorticks_off()
    ax.legend(fontsize=10)
    return figure
