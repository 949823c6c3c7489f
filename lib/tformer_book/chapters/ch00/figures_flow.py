"""Pictures of the page: the whole flow with its shapes, and who keeps what for the last word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from tformer_book.chapters.ch00.engine import trained
from tformer_book.chapters.ch00.figures import (
    SENTENCE,
    SHADES,
    WORDS,
    arc,
    at,
    bars,
    box,
    canvas,
    sentence,
    write,
)
from tformer_book.chapters.ch00.measure import FIRST, IT, LAST, NOT, SECOND, TROUBLE
from tformer_book.chapters.ch00.stages import PROMPTS
from tformer_book.figures.style import INK, KEY, QUERY, QUIET, VALUE, WEIGHT

Point = tuple[float, float]
SEEN = 0.12
"""Weights below this are not drawn."""


def column(i: int) -> float:
    """The middle of the word at place i, with room at both sides for what is said of the row."""
    return 140 + 45 * i


def flow() -> Figure:
    """From words to scores: a line for each word, what crosses between lines, and all shapes."""
    machine, found = trained(), trained().read(SENTENCE)
    start = found.vectors["word and position"]
    figure, ax = canvas(452)
    for i, word in enumerate(WORDS):
        color = QUERY if word == "the" else INK
        write(ax, column(i), 18, word, 12 if len(word) > 6 else 13)
        write(ax, column(i), 42, str(found.tokens[i]), 15, color=color, fontweight="bold")
    told(ax, 42, "tokens", found.tokens.shape)
    told(ax, 88, "vectors", start.shape, "row of E + row of P")
    for shade, color in ((1, QUERY), (-1, KEY)):
        for level in range(1, SHADES + 1):
            which = np.rint(SHADES * start / 2.2).clip(-SHADES, SHADES) == shade * level
            rows = [(i, 62 + 1.6 * j) for i, j in np.argwhere(which).tolist()]
            ends = [((column(i) - 11, y), (column(i) + 11, y)) for i, y in rows]
            lines(ax, ends, edgecolor=color, linewidth=1.2, alpha=level / SHADES)
    stops = ((114, 216), (232, 354), (370, 412))
    down = [((column(i), y), (column(i), end)) for i in range(len(WORDS)) for y, end in stops]
    lines(ax, down, edgecolor=QUIET, linewidth=0.7, alpha=0.6)
    for layer, (y, way) in enumerate(((124, (IT, SECOND)), (262, (LAST, IT)))):
        told(ax, y + 36, f"attention {layer + 1}", found.weights[layer].shape, "attention weights")
        crossing(ax, y, found.weights[layer], way)
        lit = (found.lamps[layer] > 0).mean(axis=-1)
        told(
            ax,
            y + 100,
            f"feed-forward {layer + 1}",
            found.lamps[layer].shape,
            "share of active units",
        )
        for i, share in enumerate(lit):
            box(ax, column(i) - 16, y + 92, 32, 16, facecolor=QUIET, alpha=0.18)
            box(ax, column(i) - 16, y + 92, 32 * share, 16, facecolor=INK, alpha=0.6)
    told(ax, 424, "scores", found.logits.shape, "likeliest next word")
    for i, best in enumerate(found.p.argmax(axis=-1)):
        last = {"color": VALUE, "fontweight": "bold"} if i == LAST else {"color": INK}
        write(ax, column(i), 424, machine.words[best], 14 if i == LAST else 12, **last)
    return figure


def lines(ax: Axes, ends: Sequence[tuple[Point, Point]], **look: Any) -> None:
    """Straight lines of one look, as one path."""
    if ends:
        codes = [Path.MOVETO, Path.LINETO] * len(ends)
        path = Path([point for pair in ends for point in pair], codes)
        ax.add_patch(PathPatch(path, facecolor="none", capstyle="butt", **look))


def told(ax: Axes, y: float, name: str, shape: tuple[int, ...], more: str = "") -> None:
    """What a row of the flow is, at the left, and its shape at the right."""
    write(ax, 4, y, name, 14, ha="left", fontweight="bold")
    write(ax, 4, y + 18, more, 11.5, ha="left", color=INK)
    write(ax, 938, y, str(tuple(shape)), 13.5, ha="left")


def crossing(
    ax: Axes, y: float, weights: np.ndarray, way: tuple[int, int], height: float = 72
) -> None:
    """What each word takes from others: from where it stands above to who asked, below."""
    for asks, asked in np.argwhere(np.tril(weights, -1) > SEEN).tolist():
        x, to, middle = column(asked), column(asks), y + height / 2
        path = Path(
            [(x, y), (x, middle), (to, middle), (to, y + height)],
            [Path.MOVETO, *[Path.CURVE4] * 3],
        )
        look = {"edgecolor": WEIGHT, "linewidth": 6 * float(weights[asks, asked])}
        look["alpha"] = 0.95 if (asks, asked) == way else 0.3
        ax.add_patch(PathPatch(path, facecolor="none", capstyle="butt", **look))


def two_hops() -> Figure:
    """Who keeps the patient, and who is asked: the same machine, two last words."""
    figure, ax = canvas(560)
    for y, (name, keeper, noun) in zip(
        (140, 416), (("tired", NOT, FIRST), ("wide", IT, SECOND)), strict=True
    ):
        _hops(ax, y, PROMPTS[name], keeper, noun)
    return figure


def _hops(ax: Axes, y: float, prompt: str, keeper: int, noun: int) -> None:
    found = trained().read(prompt)
    first, second = found.weights[0], found.weights[1][LAST]
    sentence(ax, y, prompt.split(), bold=(noun, keeper, TROUBLE, LAST))
    for place in np.flatnonzero(second[:LAST] > 0.03).tolist():
        height = 14 + 8.6 * (LAST - place)
        look = {"linewidth": 7 * second[place], "alpha": 0.85 if place == keeper else 0.4}
        arc(ax, LAST, place, y - 16, height, edgecolor=WEIGHT, **look)
    over = y - 16 - 0.75 * (14 + 8.6 * (LAST - keeper))
    middle = at((LAST + keeper) / 2)
    write(ax, middle, over - 14, f"layer 2: {second[keeper]:.2f}", 15, color=WEIGHT)
    for asks, asked in ((keeper, noun), (LAST, TROUBLE)):
        look = {"linewidth": max(7 * first[asks, asked], 0.8), "alpha": 0.85}
        arc(ax, asks, asked, y + 16, -46, edgecolor=WEIGHT, **look)
        said = f"layer 1: {first[asks, asked]:.2f}"
        write(ax, at((asks + asked) / 2), y + 68, said, 15, color=WEIGHT)
    bars(ax, at(13.4), y + 96, trained(), found.p[-1], n=2)
