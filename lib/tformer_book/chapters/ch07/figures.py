"""Figures of chapter 7: position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Circle, FancyBboxPatch, Rectangle

from tformer import reference
from tformer_book.chapters.ch07 import places
from tformer_book.chapters.ch07.scores import NEW, PROFILES, REACH, TRAINED
from tformer_book.chapters.ch07.waves_and_phases import BASE, WISHES, wishes
from tformer_book.figures.style import INK, KEY, QUERY, QUIET, VALUE, WEIGHT, WIDE, panel
from tformer_book.figures.tables import SHADE, blank, squares, table

SHADES = ("#C4C4C4", "#9A9A9A", "#6A6A6A", INK)
"""From short texts to long ones, and from slow hands to fast ones."""


def swapped() -> tuple[Figure, Figure]:
    """Where *it* looks in two orders of the same words, without places."""
    return _row(places.FIT, None), _row(places.SWAPPED, None)


def resolved() -> tuple[Figure, Figure]:
    """The same with places."""
    return _row(places.FIT, 0), _row(places.SWAPPED, 0)


def _row(sentence: str, first: int | None) -> Figure:
    tokens, weights = sentence.split(), places.read(sentence, first)
    figure, ax = panel(3.3, 2.35)
    nouns = places.NOUNS
    colors = [WEIGHT if token in nouns else QUIET for token in tokens]
    ax.barh(range(len(tokens)), weights, color=colors, height=0.72)
    for i, token in enumerate(tokens):
        if token in nouns:
            ax.text(weights[i] + 0.015, i, f"{weights[i]:.3f}", va="center", color=INK)
    ax.set(yticks=range(len(tokens)), yticklabels=tokens, xlim=(0, 1), xticks=(0, 0.5, 1))
    ax.tick_params(axis="y", length=0, labelsize=10)
    ax.grid(visible=False, axis="y")
    ax.invert_yaxis()
    return figure


def clock(ax: Axes, place: tuple[float, float], radius: float) -> None:
    """The empty face of a clock."""
    look: Any = {"facecolor": "none", "edgecolor": QUIET, "linewidth": 1}
    ax.add_patch(Circle(place, radius, **look))


def waves(d: int = 8, base: float = 100.0) -> tuple[Figure, Figure]:
    """Four hands at the first eight places, and the coordinates of their tips at forty."""
    figure, ax = blank(3.5, 2.1)
    for i, wave in enumerate(reference.sinusoidal(np.arange(8), d, base).T.reshape(4, 2, 8)):
        for t, (sine, cosine) in enumerate(wave.T):
            clock(ax, (t, i), 0.42)
            ax.plot([t, t + 0.4 * sine], [i, i - 0.4 * cosine], color=INK, linewidth=2)
    for t in range(8):
        ax.text(t, -0.6, str(t), ha="center", va="bottom", fontsize=10)
    _sides(ax, -0.7, -0.6, range(4))
    ax.set(xlim=(-1.7, 7.5), ylim=(3.5, -1.1))
    lines, many = blank(3.5, 2.1)
    tips = reference.sinusoidal(np.arange(40), d, base).T
    look: Any = {"color": SHADE, "most": 2.0, "size": (0.2, 0.5)}
    for i in range(4):  # a row of clocks, two lines; a little room between the hands
        squares(many, tips[2 * i : 2 * i + 2] + 1, (-0.1, i - 0.5), **look)
    for t in (0, 10, 20, 30):
        many.text(0.2 * t, -0.6, str(t), ha="center", va="bottom", fontsize=10)
    _sides(many, -0.35, -0.6, range(4))
    many.set(xlim=(-1.4, 8.0), ylim=(3.6, -1.1))
    return figure, lines


def _sides(ax: Axes, x: float, top: float, rows: Sequence[int]) -> None:
    """Names on the left edge: of the places above, of the fast hand and the slow one."""
    for y, name in ((rows[0], "fast"), (rows[-1], "slow")):
        ax.text(x, y, name, ha="right", va="center", fontsize=10)
    ax.text(x, top, "position", ha="right", va="bottom", fontsize=10)


def diagonals() -> tuple[Figure, Figure]:
    """Dot products of the places with each other, of waves and of a learned table's first rows."""
    words = places.FIT.split()
    rows = reference.sinusoidal(np.arange(len(words)), 16)
    drawn = np.random.default_rng(7).standard_normal((len(words), 16)) * 0.5**0.5
    tables = (reference.pairwise_dot(x, x) for x in (rows, drawn))
    one, two = (
        table(x - x.min(), words, [""] * len(words), written="", size=0.175) for x in tables
    )
    return one, two


def turned() -> tuple[Figure, ...]:
    """One pair of a query and a key, turned by their places: the angle knows the distance only."""
    return tuple(_turned(t, s) for t, s in ((3, 1), (8, 6), (8, 1)))


def _turned(t: int, s: int, step: float = np.pi / 8) -> Figure:
    figure, ax = blank(2.1, 2.35)
    clock(ax, (0, 0), 1)
    hands = {"q": (0.3 - step * t, QUERY, t), "k": (0.9 - step * s, KEY, s)}
    for name, (angle, color, place) in hands.items():
        x, y = np.sin(-angle), -np.cos(-angle)
        ax.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "-|>", "color": color, "lw": 2.4})
        ax.text(1.22 * x, 1.22 * y, name, color=color, ha="center", va="center", style="italic")
        side = -0.62 if name == "q" else 0.62
        ax.text(side, -1.62, f"{name} at {place}", color=color, ha="center", fontsize=10)
    one, two = sorted((np.degrees(-hands["q"][0]) - 90, np.degrees(-hands["k"][0]) - 90))
    ax.add_patch(Arc((0, 0), 0.8, 0.8, theta1=one, theta2=two, color=INK, linewidth=1.6))
    ax.set(xlim=(-1.45, 1.45), ylim=(1.45, -1.75))
    return figure


def pairings(d: int = 8) -> tuple[Figure, Figure]:
    """Which coordinates are one hand: neighbours, or one of each half."""
    half = d // 2
    return (
        _pairing("neighbours", [(2 * i, 2 * i + 1) for i in range(half)], d),
        _pairing("halves", [(i, i + half) for i in range(half)], d),
    )


def _pairing(title: str, pairs: Sequence[tuple[int, int]], d: int) -> Figure:
    figure, ax = blank(3.3, 1.75)
    for (one, two), shade in zip(pairs, reversed(SHADES), strict=True):
        for place in (one, two):
            look: Any = {"boxstyle": "round,pad=0,rounding_size=0.1", "linewidth": 2}
            box = FancyBboxPatch((place + 0.1, 0.1), 0.8, 0.8, **look)
            box.set(facecolor="none", edgecolor=shade)
            ax.add_patch(box)
            ax.text(place + 0.5, 0.5, str(place), ha="center", va="center", fontsize=11)
        width = two - one
        arc = Arc((one + 0.5 + width / 2, 0), width, 0.55 + 0.32 * width, theta1=180, theta2=360)
        arc.set(edgecolor=shade, linewidth=2.2)
        ax.add_patch(arc)
    ax.set(xlim=(-0.1, d + 0.1), ylim=(1.1, -1.3))
    ax.set_title(title, fontsize=11, fontweight="bold")
    return figure


def profiles() -> tuple[Figure, Figure]:
    """What six schemes add to a score, or make of it, over the distance of query and key."""
    names = list(PROFILES)
    return _profiles(names[:3]), _profiles(names[3:])


def _profiles(names: Sequence[str]) -> Figure:
    figure = Figure(figsize=(3.3, 2.9), layout="constrained")
    for ax, name in zip(figure.subplots(len(names), 1, sharex=True), names, strict=True):
        ax.axhline(0, color=QUIET, linewidth=1)
        for values, shade in zip(PROFILES[name](), (INK, "#9A9A9A"), strict=False):
            ax.vlines(np.arange(REACH), 0, values, color=shade, linewidth=2)
            ax.plot(np.arange(REACH), values, "o", color=shade, markersize=2.6)
        ax.set(yticks=[], xlim=(REACH, -1))
        ax.grid(visible=False)
        ax.spines["left"].set_visible(False)
        ax.set_title(name, fontsize=11, pad=3)
    ax.set(xlabel="distance, from far to near")
    return figure


def counting(n: int = 6) -> tuple[Figure, Figure, Figure]:
    """A layer that looks at all words so far alike, and a value that marks the first: 1/t comes."""
    marked = np.eye(n)[:, :1]
    weights = reference.attention_weights(np.zeros((n, 1)), marked, mask=np.tri(n, dtype=bool))
    names = [str(t) for t in range(1, n + 1)]
    look: Any = {"written": "{:.2f}", "most": 1.0, "size": 0.38}
    return (
        table(weights, names, names, WEIGHT, "weights", **look),
        table(marked, names, [""], VALUE, "values", size=0.38),
        table(weights @ marked, names, [""], VALUE, "outputs", **look),
    )


def ways(read: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """How the last of 256 letters is read: which keys are seen, and as how far away.

    Of each way a pair of arrays, (256,): whether a key counts, and the distance that is told of it.
    """
    figure, ax = blank(WIDE, 2.7)
    ax.set_aspect("auto")
    look: Any = {"ha": "center", "va": "center", "fontsize": 10.5}
    for i, (name, (seen, told)) in enumerate(read.items()):
        top, n = 1.5 * i, len(seen)
        ax.add_patch(Rectangle((0, top), n, 1, facecolor="none", edgecolor=QUIET, linewidth=0.8))
        drawn = np.flatnonzero(told != np.arange(n)[::-1])  # keys nearer than all of these are true
        true = np.arange(n) > drawn.max(initial=-1)
        kinds = np.where(seen > 0, 1 + true + 2 * (told >= TRAINED), 0)
        for start, end in pairwise([0, *(np.flatnonzero(np.diff(kinds)) + 1), n]):
            if not seen[start]:
                continue
            face = to_rgba(QUIET, 0.3) if told[start] < TRAINED else WEIGHT
            box = Rectangle((start, top), end - start, 1, facecolor=face, edgecolor="white")
            ax.add_patch(box)
            word = "true" if true[start] else "drawn"
            ax.text((start + end) / 2, top + 0.5, word, color=INK, **look)
        ax.text(-4, top + 0.5, name, ha="right", va="center", fontsize=12)
    for distance in (0, 31, 63, 127, 255):
        x = n - 0.5 - distance
        ax.text(x, -0.2, str(distance), ha="center", va="bottom", fontsize=10.5)
    ax.text(-4, -0.2, "positions back", ha="right", va="bottom", fontsize=10.5)
    ax.set(xlim=(-68, n + 3), ylim=(top + 1.15, -0.75))
    return figure


def longer(runs: Mapping[str, Mapping[str, np.ndarray]]) -> tuple[Figure, ...]:
    """Share of right letters, a table a task, a row a scheme: what is new from left to right."""
    return tuple(_longer(task, found) for task, found in runs.items())


def _longer(task: str, found: Mapping[str, np.ndarray]) -> Figure:
    shares = np.nan_to_num([np.median(one, axis=-1) for one in found.values()])
    look: Any = {"written": "{:.2f}", "most": 1.0, "size": 0.42, "slant": 50}
    return table(shares, list(found), NEW, title=task, **look)


def mistakes(reach: int = 12, sharp: float = 2.0) -> Figure:
    """The weights of a query that likes what is five places back: right, and with two mistakes."""
    like = wishes()[WISHES[1]]
    q, k = (sharp * np.tile(row, (reach, 1)) for row in like)
    at = reference.sinusoidal(np.arange(reach), like[0].size, BASE)
    kept, asked = reference.rope(k, at), at[-1:]
    other = reference.rope(q[-1:], asked, "half") @ reference.rope(k, at, "half").T
    rows = {
        "right": reference.rope(q[-1:], asked) @ kept.T,
        "the other pairing": other,
        "no offset": reference.rope(q[-1:], at[:1]) @ kept.T,
    }
    weights = reference.softmax(np.concatenate(list(rows.values())) / like[0].size ** 0.5)
    back = [str(reach - 1 - s) for s in range(reach)]
    look: Any = {"written": "{:.2f}", "most": 1.0, "size": 0.34}
    return table(weights.round(3), list(rows), back, WEIGHT, **look)
