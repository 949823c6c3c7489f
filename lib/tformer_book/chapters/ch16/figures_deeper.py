"""The figure of chapter 16's deeper page."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from tformer import reference
from tformer_book.figures.style import INK, QUERY, QUIET, panel


def bound() -> Figure:
    """Largest scores of rows of several sizes, and the bound by the lengths of their vectors."""
    figure, ax = panel(4.8, 2.7)
    rng = np.random.default_rng(0)
    q, k = rng.standard_normal((2, 64, 64))
    largest = reference.pairwise_dot(q, k).max(axis=1) / 8
    bounds = reference.norm(q).max() * reference.norm(k).max() / 8
    sizes = np.linspace(0.2, 4, 20)
    for size in sizes[1::3]:
        where = np.full(len(largest), size)
        ax.plot(where, size**2 * largest, "o", color=QUERY, ms=3, alpha=0.4, mew=0)
    ax.plot(sizes, sizes**2 * bounds, color=INK, label="bound")
    ax.axhline(88, color=QUIET, linewidth=1, linestyle="--")
    ax.text(0.2, 92, "float32 overflows above", fontsize=10)
    ax.set(xlabel="size of the vectors", ylabel="score", ylim=(0, 180), xlim=(0.1, 4.2))
    ax.legend(fontsize=10, loc="upper left")
    return figure
