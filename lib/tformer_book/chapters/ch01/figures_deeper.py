"""Figures of the deeper page of chapter 1."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tformer import reference
from tformer_book.figures.style import BLUE, INK, VERMILLION, label_ends, panel
from tformer_book.figures.tables import table


def compressed(words: Sequence[str], tables: Sequence[np.ndarray]) -> tuple[Figure, ...]:
    """One panel a table (T, T) of numbers from 0 up, rows and columns named by the words."""
    look: dict[str, Any] = {"color": INK, "written": "", "most": 3, "size": 0.24, "slant": 55}
    return tuple(table(numbers, words, words, **look) for numbers in tables)


def spread(rng: np.random.Generator, widths: Sequence[int], n: int = 20_000) -> tuple[Figure, ...]:
    """Histograms of dot products, and of cosines, of `n` standard normal pairs a width."""
    dots, left = panel()
    cosines, right = panel()
    for d, color in zip(widths, (INK, BLUE, VERMILLION), strict=True):
        q, k = rng.standard_normal((2, n, d))
        style: dict[str, Any] = {"histtype": "step", "density": True, "color": color}
        _outline(left, reference.dot(q, k), np.linspace(-50, 50, 51), f"d = {d}", style)
        cosines_of = reference.cosine_similarity(q, k)
        _outline(right, cosines_of, np.linspace(-1, 1, 61), f"d = {d}", style)
    left.set(xlabel="dot product", ylabel="density")
    right.set(xlabel="cosine", ylabel="density")
    return dots, cosines


def _outline(
    ax: Axes, values: np.ndarray, edges: np.ndarray, name: str, style: dict[str, Any]
) -> None:
    """A histogram as a line, its name a little beyond one standard deviation to the right."""
    heights, _, _ = ax.hist(values, edges.tolist(), **style)
    x = 1.1 * values.std()
    y = float(np.interp(x, (edges[1:] + edges[:-1]) / 2, np.asarray(heights)))
    place: Any = {"xytext": (2, 3), "textcoords": "offset points"}
    ax.annotate(name, (x, y), color=style["color"], **place)


def pack(
    rng: np.random.Generator,
    d: int,
    epsilon: float,
    offered: int,
) -> np.ndarray:
    """Keep each random sign vector that is nearly orthogonal to all kept before."""
    kept = np.empty((0, d))
    for u in rng.choice([-1.0, 1.0], size=(offered, d)):
        if np.all(np.abs(kept @ u) < epsilon * d):
            kept = np.vstack([kept, u])
    return kept


def packing(
    rng: np.random.Generator, widths: Sequence[int], epsilon: float, offered: int
) -> Figure:
    """The number of nearly orthogonal vectors found, guaranteed, and exactly orthogonal."""
    figure, ax = panel(3.5, 3.0)
    found = [len(pack(rng, d, epsilon, offered)) for d in widths]
    promised = [math.exp(d * epsilon**2 / 4) for d in widths]
    ax.plot(widths, found, "o-", color=BLUE, label="found")
    ax.plot(widths, promised, "s--", color=VERMILLION, label="promised")
    ax.plot(widths, widths, ":", color=INK, label="orthogonal")
    ax.set(yscale="log", xlabel="width d", ylabel="number of vectors")
    label_ends(ax)
    return figure
