"""Pictures of the page: the same sentence through all steps, a thousand pixels wide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from tformer_book.chapters.ch00.engine import Machine, trained, untrained
from tformer_book.chapters.ch00.measure import IT, LAST, SECOND
from tformer_book.chapters.ch00.stages import PROMPTS
from tformer_book.figures.style import KEY, QUERY, QUIET, VALUE, WEIGHT
from tformer_book.world.stories import WHO

WIDTH, LEFT, STEP = 1000, 28, 52.4
"""Pixels: of a picture, of the middle of its first word, and from word to word."""
SENTENCE = PROMPTS["wide"]
WORDS = SENTENCE.split()
SHADES = 9


def canvas(height: float) -> tuple[Figure, Axes]:
    """An empty picture; coordinates are pixels, y runs downwards."""
    figure = Figure(figsize=(WIDTH / 96, height / 96))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, WIDTH), ylim=(height, 0))
    ax.set_axis_off()
    return figure, ax


def write(ax: Axes, x: float, y: float, text: str, size: float = 15, **look: Any) -> None:
    """Text whose size is in pixels, by default centred on (x, y)."""
    whole: dict[str, Any] = {"fontsize": size * 0.75, "ha": "center", "va": "center", **look}
    ax.text(x, y, text, **whole)


def at(i: float) -> float:
    """The middle of the word at place i."""
    return LEFT + STEP * i


def sentence(ax: Axes, y: float, words: Sequence[str] = WORDS, bold: Sequence[int] = ()) -> None:
    """The words of a text in one line."""
    for i, word in enumerate(words):
        weight = "bold" if i in bold else "normal"
        write(ax, at(i), y, word, 13 if len(word) > 6 else 15, fontweight=weight)


def box(ax: Axes, x: float, y: float, width: float, height: float, **look: Any) -> None:
    """A filled rectangle from its upper left corner."""
    ax.add_patch(Rectangle((x, y), width, height, **{"linewidth": 0} | look))


def strip(
    ax: Axes, x: float, y: float, values: np.ndarray, size: tuple[float, float], most: float
) -> None:
    """Numbers as squares, (m, n): blue above zero, vermillion below, pale when small."""
    width, height = size
    box(ax, x, y, width * values.shape[1], height * values.shape[0], facecolor=QUIET, alpha=0.1)
    level = np.clip(np.rint(values / most * SHADES), -SHADES, SHADES).astype(int)
    for shade in sorted({*level.ravel().tolist()} - {0}):
        corners: list[tuple[float, float]] = []
        for i, j in np.argwhere(level == shade).tolist():
            left, top = x + j * width, y + i * height
            right, low = left + width - 1, top + height - 1
            corners += [(left, top), (right, top), (right, low), (left, low), (left, top)]
        codes = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY] * (len(corners) // 5)
        color = QUERY if shade > 0 else KEY
        patch = PathPatch(Path(corners, codes), facecolor=color, linewidth=0)
        patch.set_alpha(abs(shade) / SHADES)
        ax.add_patch(patch)


def arc(ax: Axes, start: float, end: float, y: float, height: float, **look: Any) -> None:
    """A curve from place to place, above y, or below if `height` is negative."""
    x, to = at(start), at(end)
    points = [(x, y), (x, y - height), (to, y - height), (to, y)]
    path = Path(points, [Path.MOVETO, *[Path.CURVE4] * 3])
    ax.add_patch(PathPatch(path, facecolor="none", **{"capstyle": "butt"} | look))


KIN = (
    *("animal", "cow", "elephant"),
    *("street", "river", "lake"),
    *("cake", "soup", "stew"),
    *("wide", "icy", "narrowed"),
)


def vectors() -> Figure:
    """The rows of twelve words in the table E, before and after training."""
    figure, ax = canvas(360)
    for left, machine, title in (
        (82, untrained(), "step 0: random"),
        (584, trained(), "step 1000"),
    ):
        rows = np.array([machine.E[machine.words.index(word)] for word in KIN])
        write(ax, left, 22, title, 17, ha="left", fontweight="bold")
        for i, word in enumerate(KIN):
            y = 42 + 24 * i + 8 * (i // 3)
            strip(ax, left, y, rows[i : i + 1], (12.8, 22), 2.2)
            write(ax, left - 10, y + 11, word, 15, ha="right")
    return figure


def kinship(machine: Machine) -> tuple[float, float]:
    """The mean cosine of the rows of two nouns in E: of one kind, and of two."""
    kinds = [kind for kind, nouns in WHO.items() for _ in nouns]
    rows = machine.E[[machine.words.index(noun) for nouns in WHO.values() for noun in nouns]]
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    alike = np.equal.outer(kinds, kinds)
    cosines, other = rows @ rows.T, ~np.eye(len(rows), dtype=bool)
    return float(cosines[alike & other].mean()), float(cosines[~alike].mean())


def positions() -> Figure:
    """Two times "the": one row of E, two rows of P, two sums."""
    machine = trained()
    figure, ax = canvas(228)
    the = machine.E[machine.words.index("the")][None]
    columns = ((150, "word “the”: row 73 of E"), (440, "+  position: row of P"), (730, "=  vector"))
    for x, title in columns:
        write(ax, x, 24, title, 16, ha="left", fontweight="bold")
    for y, place, noun in ((56, 1, "the animal"), (126, 6, "the street")):
        write(ax, 138, y + 12, noun, 16, ha="right")
        write(ax, 138, y + 34, f"position {place}", 14, ha="right", color=QUIET)
        position = machine.P[place][None]
        for x, row in zip((150, 440, 730), (the, position, the + position), strict=True):
            strip(ax, x, y, row, (7.8, 38), 2.2)
    apart = float(np.linalg.norm(machine.P[1] - machine.P[6]))
    write(ax, 274, 205, "the same: distance 0", 16)
    write(ax, 854, 205, f"no longer the same: distance {apart:.2f}", 16)
    return figure


def attention() -> Figure:
    """The row of "it" in layer 1: scores, weights, and what it may not see."""
    reading = trained().read(SENTENCE)
    scores, weights = reading.scores[0, IT], reading.weights[0, IT]
    figure, ax = canvas(330)
    box(ax, at(IT + 0.5), 8, WIDTH - at(IT + 0.5), 314, facecolor=QUIET, alpha=0.14)
    write(ax, at(13.5), 292, "not seen: these words come later", 16)
    for i in range(IT + 1):
        top = 200 - 150 * weights[i]
        box(ax, at(i) - 17, top, 34, 200 - top, facecolor=WEIGHT)
        write(ax, at(i), top - 12, f"{weights[i]:.3f}".lstrip("0"), 14)
        write(ax, at(i), 254, f"{scores[i]:.2f}".replace("-", "−"), 15)
    sentence(ax, 222, bold=(IT,))
    write(ax, 12, 30, "weights: shares of one", 15, ha="left", fontweight="bold", color=WEIGHT)
    write(ax, 12, 292, "scores: the query of “it” times each key, divided by √32", 15, ha="left")
    return figure


def lamps() -> Figure:
    """What is lit inside the feed-forward part of block 1, for four words."""
    reading = trained().read(SENTENCE)
    figure, ax = canvas(236)
    for row, (place, name) in enumerate(((SECOND, "street"), (IT, "it"), (LAST, "the last “the”"))):
        lit = reading.lamps[0, place]
        y = 28 + 66 * row
        write(ax, 138, y + 20, name, 16, ha="right")
        strip(ax, 150, y, lit.reshape(4, 32), (23, 11), float(reading.lamps[0].max()) / 2)
        write(ax, 896, y + 20, f"{(lit > 0).sum()} of 128", 16, ha="left")
    return figure


def bars(
    ax: Axes, x: float, y: float, machine: Machine, p: np.ndarray, n: int = 3, wide: float = 120
) -> None:
    """The likeliest words of a guess, with their probabilities."""
    for row, i in enumerate(p.argsort()[::-1][:n]):
        word, top = machine.words[i], y + 21 * row
        color = VALUE if word in ("animal", "street") else QUIET
        write(ax, x, top, word, 15, ha="right")
        box(ax, x + 7, top - 6, max(1.5, wide * p[i]), 12, facecolor=color)
        write(ax, x + 12 + wide * p[i], top, f"{p[i]:.3f}".lstrip("0"), 14, ha="left")


PARTS = {
    "word and position": "“the”, position 17",
    "attention 1": "after attention 1",
    "feed-forward 1": "after feed-forward 1",
    "attention 2": "after attention 2",
    "feed-forward 2": "after feed-forward 2",
}


def lens() -> Figure:
    """What the last word would guess after each part, if it were asked."""
    machine = trained()
    found = machine.lens(SENTENCE)
    figure, ax = canvas(170)
    for column, (part, title) in enumerate(PARTS.items()):
        x = 8 + 200 * column
        write(ax, x, 24, title, 16, ha="left", fontweight="bold")
        bars(ax, x + 72, 58, machine, found[part], n=4, wide=78)
        if column:
            write(ax, x - 14, 24, "→", 18, color=QUIET)
    return figure
