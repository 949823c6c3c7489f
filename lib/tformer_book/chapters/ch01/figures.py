"""Figures of chapter 1: dot products."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from tformer import reference
from tformer_book.figures.style import INK, KEY, PANEL_WIDTH, PURPLE, QUERY, QUIET, panel
from tformer_book.figures.tables import blank, squares, table

ARROW: dict[str, Any] = {
    "angles": "xy",
    "scale_units": "xy",
    "scale": 1,
    "width": 0.011,
    "zorder": 3,
}


def multiply_and_add(q: np.ndarray, k: np.ndarray) -> Figure:
    """Bars of `q` (d_k,), of `k` (d_k,) and of their products, and the sum of those at the end."""
    figure = Figure(figsize=(PANEL_WIDTH, 3.3), layout="constrained")
    axes = figure.subplots(3, 1, sharex=True)
    places = range(len(q))
    for ax, name, heights, color in zip(
        axes, ("q", "k", "q times k"), (q, k, q * k), (QUERY, KEY, INK), strict=True
    ):
        ax.bar(places, heights, width=0.7, color=color)
        ax.set_ylabel(name, color=color, rotation=0, ha="right", va="center")
        _label_bars(ax, places, heights)
    total = float(reference.dot(q, k))
    axes[2].bar([len(q) + 0.6], [total], width=0.9, color=PURPLE)
    _label_bars(axes[2], [len(q) + 0.6], [total])
    axes[2].text(len(q) + 0.6, -0.5, "sum", color=INK, ha="center", va="top")
    return figure


def _label_bars(ax: Axes, places: Sequence[float], heights: Sequence[float] | np.ndarray) -> None:
    """Write each height on its bar, draw the zero line, and leave out all else."""
    for x, y in zip(places, heights, strict=True):
        below = y < 0
        text = f"{y:.0f}".replace("-", "−")
        ax.annotate(
            text,
            (x, y),
            (0, -2 if below else 2),
            textcoords="offset points",
            ha="center",
            va="top" if below else "bottom",
            fontsize=9,
        )
    ax.axhline(0, color=QUIET, linewidth=1)
    ax.margins(y=0.3)
    ax.grid(False)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def projection(q: np.ndarray, k: np.ndarray) -> Figure:
    """The shadow of `q` (2,) on the line through `k` (2,), and the remainder."""
    figure, ax = panel(height=2.9)
    shadow = reference.projection(q, k)
    ax.axline((0, 0), tuple(k), color=QUIET, linewidth=1, linestyle=":")
    ax.plot(*zip((0, 0), shadow, strict=True), color=PURPLE, linewidth=9, alpha=0.55)
    ax.plot(*zip(shadow, q, strict=True), color=INK, linestyle="--", linewidth=1.5)
    ax.quiver(0, 0, *k, color=KEY, **ARROW)
    ax.quiver(0, 0, *q, color=QUERY, **ARROW)
    along, across = -0.3 * k / np.linalg.norm(k), 0.3 * (q - shadow) / np.linalg.norm(q - shadow)
    corner = np.array([shadow + along, shadow + along + across, shadow + across])
    ax.plot(*corner.T, color=INK, linewidth=1)
    for (x, y), name, color in (
        (q + [0.1, 0.1], "q", QUERY),
        (k + [0.1, 0.1], "k", KEY),
        (shadow / 2 + [0.1, -0.55], "shadow", INK),
        ((shadow + q) / 2 + [0.12, 0.1], "remainder", INK),
    ):
        ax.text(x, y, name, color=color)
    ax.set(xlim=(-0.3, k[0] + 0.6), ylim=(-0.6, q[1] + 0.5), aspect="equal")
    ax.set(xticks=range(int(k[0]) + 1), yticks=range(int(q[1]) + 1))
    return figure


def similarity_table(words: Sequence[str], rows: np.ndarray) -> Figure:
    """Cosine similarities of `rows` (T, d_model), one row a word: the fuller, the more alike."""
    likeness = reference.pairwise_cosine(rows, rows)
    return table(likeness, words, words, INK, written="", most=1, size=0.21, slant=55)


def row_of_scores(
    words: Sequence[str], scores: np.ndarray, asking: int, nouns: Sequence[int]
) -> Figure:
    """The scores (S,) of one word of a sentence against all, as bars in the order of the words."""
    figure, ax = panel(3.5, 3.7)
    colors = [KEY if i in nouns else QUIET for i in range(len(words))]
    ax.barh(range(len(words)), scores, height=0.72, color=colors)
    for i, score in enumerate(scores):
        ax.text(score + 0.6, i, f"{score:.1f}", va="center", fontsize=9)
    ax.set_yticks(range(len(words)), words)
    for i, label in enumerate(ax.get_yticklabels()):
        label.set_fontweight("bold" if i == asking or i in nouns else "normal")
    ax.invert_yaxis()
    ax.tick_params(length=0)
    ax.set(xticks=[], xlim=(0, scores.max() * 1.14))
    ax.grid(False)
    ax.spines[:].set_visible(False)
    return figure


def fans(rng: np.random.Generator, widths: Sequence[int], n: int = 90) -> tuple[Figure, ...]:
    """One panel a width: `n` random directions, each at its angle from one fixed direction."""
    return tuple(_fan(rng, d, n) for d in widths)


def _fan(rng: np.random.Generator, d: int, n: int) -> Figure:
    figure, ax = panel(2.1, 2.3)
    cosine = reference.cosine_similarity(rng.standard_normal((n, d)), np.eye(d)[0])
    side = rng.choice([-1.0, 1.0], size=n) * np.sqrt(np.maximum(1 - cosine**2, 0))
    ax.add_patch(Circle((0, 0), 1, fill=False, edgecolor=QUIET, linewidth=1))
    for x, y in zip(side, cosine, strict=True):
        ax.plot([0, x], [0, y], color=KEY, linewidth=0.8, alpha=0.7)
    ax.quiver(0, 0, 0, 1, color=QUERY, **{**ARROW, "width": 0.022})
    ax.set_title(f"width {d}", loc="center")
    ax.set(xlim=(-1.06, 1.06), ylim=(-1.06, 1.06), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.grid(False)
    return figure


def wrong(rng: np.random.Generator, n: int = 12) -> Figure:
    """Scores of one random query with some random keys, in four ways, in standard deviations √d.

    The last key of the last line is the query itself.
    """
    drawn = {}
    for name, d, mean in (("width 16", 16, 0), ("width 1024", 1024, 0), ("mean ½", 256, 0.5)):
        q, keys = mean + rng.standard_normal(d), mean + rng.standard_normal((n, d))
        drawn[name] = d, reference.dot(q, keys)
    q, keys = rng.standard_normal(256), rng.standard_normal((n, 256))
    drawn["with itself"] = 256, reference.dot(q, np.vstack([keys[:-1], q]))
    figure, ax = blank(4.8, 1.5)
    for y, (name, (d, scores)) in enumerate(drawn.items()):
        squares(ax, scores[None], (0, y), QUIET, most=4 * d**0.5)
        look: Any = {"va": "center", "fontsize": 10}
        ax.text(-0.15, y + 0.5, name, ha="right", **look)
        ax.text(n + 0.2, y + 0.5, f"{d**0.5:.0f}", ha="left", **look)
        for j, score in enumerate(scores):
            text = f"{score:.0f}".replace("-", "−")
            ink = "#FFFFFF" if score > 2.4 * d**0.5 else INK
            ax.text(j + 0.5, y + 0.5, text, ha="center", color=ink, **look | {"fontsize": 9})
    ax.text(n + 0.2, -0.15, "√d", ha="left", va="bottom", fontsize=10)
    ax.set(xlim=(-3.4, n + 1.4), ylim=(len(drawn) + 0.1, -0.9))
    return figure
