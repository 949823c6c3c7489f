"""Figures of chapter 6: many heads."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tformer import reference
from tformer.chapters.ch06 import layers, slots, training
from tformer.experiments.intervals import median_interval
from tformer.figures.style import INK, KEY, PURPLE, QUERY, QUIET, SKY, VALUE, WEIGHT, panel
from tformer.figures.tables import blank, squares, table
from tformer.world.lexicon import FEATURES, KINDS

HEADS = (PURPLE, SKY)
"""A colour for each of two heads, where heads are told apart."""


def concatenated() -> tuple[Figure, Figure]:
    """Two heads' outputs times W_O: side by side, and as a sum of two products."""
    y = np.array([[2.0, 1], [1, 3]])
    blocks = np.array([[[1.0, 2, 0], [0, 1, 1]], [[2, 0, 1], [1, 1, 0]]])
    whole = np.einsum("hv,hvd->d", y, blocks)[None]
    first, ax = blank(3.3, 2.1)
    for h, color in enumerate(HEADS):
        _numbers(ax, y[h : h + 1], (2 * h, 1.5), color)
        _numbers(ax, blocks[h], (5, 2 * h), color)
    _numbers(ax, whole, (9.2, 1.5), QUIET)
    for x, sign in ((4.5, "·"), (8.6, "=")):
        ax.text(x, 2, sign, ha="center", va="center", fontsize=13)
    for x, y0, name in ((2, 1.3, "concatenated"), (6.5, -0.15, "all of it"), (10.7, 1.3, "output")):
        ax.text(x, y0, name, ha="center", va="bottom", fontsize=10)
    ax.set(xlim=(-0.2, 12.4), ylim=(4.2, -0.9))
    second, ax = blank(3.3, 2.1)
    for h, color in enumerate(HEADS):
        top = 2.6 * h
        _numbers(ax, y[h : h + 1], (1, top + 0.5), color)
        _numbers(ax, blocks[h], (4, top), color)
        _numbers(ax, y[h : h + 1] @ blocks[h], (8.2, top + 0.5), color)
        ax.text(3.5, top + 1, "·", ha="center", va="center", fontsize=13)
        ax.text(7.6, top + 1, "=", ha="center", va="center", fontsize=13)
        ax.text(0.6, top + 1, f"head {h + 1}", ha="right", va="center", fontsize=10, color=INK)
    ax.text(9.7, 2.3, "+", ha="center", va="center", fontsize=13)
    ax.set(xlim=(-2.2, 11.6), ylim=(5, -0.6))
    return first, second


def _numbers(ax: Axes, values: np.ndarray, place: tuple[float, float], color: str) -> None:
    """Draw a small matrix: squares of one colour with their numbers."""
    for (i, j), value in np.ndenumerate(values):
        corner = (place[0] + j + 0.05, place[1] + i + 0.05)
        ax.add_patch(Rectangle(corner, 0.9, 0.9, facecolor=color, alpha=0.35, linewidth=0))
        middle = (corner[0] + 0.45, corner[1] + 0.45)
        ax.text(*middle, f"{value:g}", ha="center", va="center", fontsize=10)


def cut(heads: tuple[int, ...] = (1, 4, 8)) -> tuple[Figure, ...]:
    """One matrix cut into strips, and the tables of weights that come of it."""
    return tuple(_cut(n) for n in heads)


def _cut(n_heads: int, n: int = 8) -> Figure:
    figure, ax = blank(2.15, 2.5)
    ax.text(0, -0.6, f"{n_heads} head{'s' * (n_heads > 1)}", fontsize=11, fontweight="bold")
    for h in range(n_heads):
        width = n / n_heads
        corner = (h * width + 0.06, 0)
        shade = 0.25 + 0.45 * (h % 2)
        ax.add_patch(Rectangle(corner, width - 0.12, n, facecolor=QUERY, alpha=shade, linewidth=0))
    rng, side = np.random.default_rng(n_heads), 2.0
    for h in range(n_heads):
        left, top = (h % 4) * (side + 0.3), n + 1 + (h // 4) * (side + 0.3)
        a = reference.softmax(1.5 * rng.standard_normal((4, 4)))
        squares(ax, a, (left, top), WEIGHT, 0.8, (side / 4, side / 4))
    ax.set(xlim=(-0.3, 9.3), ylim=(13.8, -1.6))
    return figure


def circuits(kind: str = "animate") -> tuple[Figure, Figure]:
    """Where one head of the veto layer looks and what it brings, in part."""
    weights = layers.layer(layers.SIX)
    h = list(layers.SIX).index(kind)
    kinds = ("animate", "place", "cargo")
    asks, given = ("pronoun", "noun"), tuple(f"is {one}" for one in kinds)
    asked = (*given, *(f"says {one}" for one in kinds))
    look: Any = {"size": 0.32, "slant": 55}
    return (
        _part(
            reference.qk_circuit(weights)[h], asks, asked, title="where it looks", color=KEY, **look
        ),
        _part(
            reference.ov_circuit(weights)[h],
            asked,
            given,
            title="what it brings",
            color=VALUE,
            **look,
        ),
    )


def _part(
    matrix: np.ndarray, rows: tuple[str, ...], columns: tuple[str, ...], **look: Any
) -> Figure:
    """Return a part of a (d_model, d_model) matrix as a table: some features by some others."""
    chosen = [[FEATURES.index(name) for name in names] for names in (rows, columns)]
    return table(matrix[np.ix_(*chosen)].round(2), rows, columns, **look)


def two_by_four() -> tuple[Figure, Figure]:
    """Scores of nouns and adjectives of two kinds in two heads: made by hand, and trained."""
    kinds = ("animate", "place")
    rows = [FEATURES.index(f"{verb} {kind}") for verb in ("is", "says") for kind in kinds]
    made = np.stack([head.w_k[rows, 0] for head in layers.TWO.values()])
    trained = training.veto_tables(2, 2)[0]
    names = ("noun A", "noun B", "says A", "says B")
    look: Any = {"color": KEY, "size": 0.44, "slant": 40, "most": 16}
    heads = ("head 1", "head 2")
    return (
        table(made, heads, names, title="made by hand", **look),
        table(trained, heads, names, title="trained", written="{:.0f}", **look),
    )


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


def hands() -> tuple[Figure, Figure]:
    """What one mixing head and two heads write into the two slots, for two sentences."""
    said = (("dog", "cat"), ("cat", "dog"))
    return (
        _slots(said, slots.one_mixing_head(), "one head"),
        _slots(said, slots.two_heads(), "two heads"),
    )


def _slots(said: tuple[tuple[str, str], ...], weights: Any, title: str) -> Figure:
    x = np.stack([slots.embedded(*one) for one in said])
    y = reference.multi_head_attention(x, weights)[:, slots.VERB, 5:].round(2)
    names = ("dog sees cat", "cat sees dog")
    columns = ("who", "", "whom", "")
    return table(y, names, columns, VALUE, title, "{:+.0f}", most=1, size=0.46)


def groups() -> tuple[Figure, ...]:
    """Four query heads on four, two and one tables of keys and values."""
    names = ((4, "many heads"), (2, "grouped"), (1, "multi-query"))
    return tuple(_grouped(n, name) for n, name in names)


def _grouped(n_groups: int, name: str, n_heads: int = 4) -> Figure:
    figure, ax = blank(2.15, 1.7)
    ax.text(-0.1, -0.5, name, fontsize=11, fontweight="bold")
    for h in range(n_heads):
        g = h * n_groups // n_heads
        x = (g + 0.5) * n_heads / n_groups
        ax.plot([h + 0.5, x], [1, 2.1], color=QUIET, linewidth=1.5)
        ax.add_patch(Rectangle((h + 0.14, 0), 0.72, 1, facecolor=QUERY, linewidth=0))
        for left, color in ((x - 0.4, KEY), (x + 0.04, VALUE)):
            ax.add_patch(Rectangle((left, 2.1), 0.36, 1, facecolor=color, linewidth=0))
    ax.text(4.15, 0.5, "Q", va="center", fontsize=10, color=QUERY, style="italic")
    ax.text(4.15, 2.6, "K, V", va="center", fontsize=10, style="italic")
    ax.set(xlim=(-0.1, 5), ylim=(3.2, -1))
    return figure


SHARED = ((4, 4), (2, 4), (1, 4), (1, 8), (1, 16))
"""Tables of keys and their width: what the deeper page compares."""


def sharing() -> Figure:
    """How well four heads find by four attributes, with four tables of keys, two and one."""
    figure, ax = panel(3.6, 2.1)
    finds(ax, SHARED[:3])
    names = [f"{g} table{'s' * (g > 1)}" for g, _ in SHARED[:3]]
    ax.set(yticks=range(3), yticklabels=names)
    return figure


def finds(ax: Axes, sizes: Sequence[tuple[int, int]], intervals: bool = False) -> None:
    """Draw a row for each of some sizes: all starts and their median, early and late in training.

    With `intervals` each median has one; all of them hold together with 99 percent confidence.
    """
    for i, (n_groups, d_k) in enumerate(sizes):
        early, late = training.finds(n_groups, d_k)
        for found, fill, above in ((early, "white", 0.2), (late, KEY, -0.2)):
            middle, low, high = median_interval(found, points=2 * len(sizes))
            ax.plot(found, np.full(len(found), i - above) + 0.15, "|", color=QUIET, markersize=5)
            if intervals:
                ax.plot([low, high], [i - above] * 2, color=KEY, linewidth=3)
            ax.plot(middle, i - above, "o", color=fill, markersize=6, markeredgecolor=INK)
    below = len(sizes) - 0.5
    ax.set(xlim=(0, 1.03), ylim=(below, -0.5), xlabel="weight on the right word")
    ax.axvline(1 / training.STORED, color=QUIET, linewidth=1, linestyle=":")
    left = 1 / training.STORED + 0.015
    ax.text(left, below - 0.08, "chance", fontsize=9, color=QUIET, va="bottom")
    ax.grid(visible=False, axis="y")
