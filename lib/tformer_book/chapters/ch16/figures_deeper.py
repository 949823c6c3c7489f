"""The figures of chapter 16's deeper page."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tformer import reference
from tformer_book.chapters.ch16 import real
from tformer_book.chapters.ch16.fewer import BITS, measured_bits
from tformer_book.figures.style import BLUE, INK, KEY, ORANGE, QUERY, QUIET, VALUE, panel
from tformer_book.figures.tables import blank

__all__ = ["bound", "fewer_bits", "keys_and_values", "machines", "measured_bits"]


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


def fewer_bits() -> Figure:
    """The divergence that fewer bits cause, in the matrices and in the cache."""
    figure, ax = panel(4.8, 2.8)
    for (kind, found), color in zip(measured_bits().items(), (QUERY, KEY), strict=True):
        ax.plot(list(found), list(found.values()), "o-", color=color, label=kind)
    ax.set(yscale="log", xlabel="bits a number (and a scale for each block)", xticks=BITS)
    ax.set(ylabel="KL divergence, nats")
    ax.legend(fontsize=10)
    return figure


def keys_and_values() -> Figure:
    """What rounding keys or values of the real model costs each passage."""
    figure, ax = panel(6.2, 2.9)
    for y, name in enumerate(real.BITS):
        cost = real.costs(name)
        color = VALUE if "values" in name else KEY
        ax.plot(cost, [y] * len(cost), "o", color=color, ms=5, alpha=0.4, mec="none")
        ax.plot(cost.mean(), y, "|", color=color, ms=15, mew=2)
    ax.set_yticks(range(len(real.BITS)), real.BITS)
    ax.axvline(0, color=QUIET, linewidth=0.8)
    ax.set(ylim=(len(real.BITS) - 0.5, -0.5), xlabel="costs, nats a token")
    ax.set_xscale("symlog", linthresh=0.1, linscale=0.8)
    ax.set_xticks([0, 0.05, 0.1, 0.3, 1, 3], ["0", "0.05", "0.1", "0.3", "1", "3"])
    ax.minorticks_off()
    return figure


def machines() -> list[Figure]:
    """Three ways to use two machines: data, tensor and pipeline parallelism, a figure each."""
    data, ax = _panel("data", 5.4)
    for x, colour in ((0.0, BLUE), (2.8, ORANGE)):
        for layer in range(4):
            _box(ax, x, layer, 2.2, colour)
        ax.text(x + 1.1, 4.25, "half a batch", ha="center", va="top", fontsize=11)
    ax.annotate("", (2.8, 1.95), (2.2, 1.95), arrowprops={"arrowstyle": "<->", "color": INK})
    tensor, ax = _panel("tensor", 2.6)
    for layer in range(4):
        _box(ax, 0.2, layer, 1.1, BLUE)
        _box(ax, 1.3, layer, 1.1, ORANGE)
    ax.text(1.3, 4.25, "whole batch", ha="center", va="top", fontsize=11)
    pipeline, ax = _panel("pipeline", 7.4)
    for layer in range(4):
        _box(ax, 0.0, layer, 2.2, ORANGE if layer < 2 else BLUE)
    ax.text(1.1, 4.25, "micro-batches", ha="center", va="top", fontsize=11)
    for y, colour, first in ((1.0, ORANGE, 1), (2.0, BLUE, 0)):
        for step in range(5):
            batch = step - first
            works = 0 <= batch < 4
            look: Any = {"fc": to_rgba(colour, 0.45)} if works else {"fc": "none", "ls": ":"}
            place = (3.2 + 0.8 * step, y)
            ax.add_patch(Rectangle(place, 0.74, 0.85, ec=QUIET, lw=1, **look))
            if works:
                middle = (place[0] + 0.37, y + 0.43)
                ax.text(*middle, str(batch + 1), ha="center", va="center", fontsize=11)
    ax.text(5.2, 3.15, "steps →", ha="center", va="center", fontsize=11)
    return [data, tensor, pipeline]


def _panel(name: str, units: float) -> tuple[Figure, Axes]:
    """An empty drawing, so many units wide, with its name above."""
    figure, ax = blank(0.42 * units + 0.15, 2.7)
    ax.set_aspect("auto")
    ax.text(units / 2, -0.75, name, ha="center", va="center", fontsize=12, fontweight="bold")
    ax.set(xlim=(-0.2, units + 0.2), ylim=(4.9, -1.2))
    return figure, ax


def _box(ax: Axes, x: float, layer: int, wide: float, colour: str) -> None:
    place = (x, layer + 0.06)
    ax.add_patch(Rectangle(place, wide, 0.88, fc=to_rgba(colour, 0.45), ec=QUIET, lw=1))
