"""Five errors of popular explanations, drawn from the numbers that the library gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from tformer import fast
from tformer_book.figures.style import BLUE, INK, QUIET, VERMILLION, WEIGHT, label_ends, panel
from tformer_book.figures.tables import table
from tformer_book.popular import tried, tried_models
from tformer_book.popular.collection import run_listing
from tformer_book.popular.notes import example
from tformer_book.popular.post import tables_of_softmax
from tformer_book.world import buy_milk

__all__ = ["eggs", "lost_sign", "overwritten", "saturated", "softmax_of_all"]


def eggs() -> tuple[Figure, Figure]:
    """Rows that reach the first norm, by the side that it leaves; and the next words of all."""
    rng = np.random.default_rng(0)
    texts = [buy_milk.steps(x) for x in rng.normal(size=(150, 3, 2))]
    rows = np.concatenate([text["sum"] for text in texts])
    chosen = np.concatenate([text["logits"].argmax(axis=-1) for text in texts])
    left, ax = panel()
    for color, side in ((BLUE, rows[:, 0] > rows[:, 1]), (VERMILLION, rows[:, 0] <= rows[:, 1])):
        ax.plot(*rows[side].T, ".", color=color, markersize=3, alpha=0.6)
    ax.set(xlim=(-7, 7), ylim=(-7, 7), xlabel="food", ylabel="action")
    ax.plot([-7, 7], [-7, 7], color=INK, linewidth=1)
    ax.text(6.7, -6.6, "becomes (1, −1)", color=BLUE, ha="right")
    ax.text(-6.7, 5.9, "becomes (−1, 1)", color=VERMILLION)
    right, ax = panel()
    shares = np.bincount(chosen, minlength=3) / len(chosen)
    bars = ax.bar(buy_milk.VOCABULARY, shares, color=QUIET, width=0.6)
    ax.bar_label(bars, [f"{share:.0%}" for share in shares])
    ax.set(ylim=(0, 1.15), yticks=(0, 0.5, 1), ylabel="share of next words")
    return left, right


def lost_sign() -> tuple[Figure, Figure]:
    """The first row's way through the feed-forward layer: as printed, and as it comes out."""
    names = ("hidden", "after ReLU", "layer gives", "sum", "output")
    printed = [[-1, 1, 0], [0, 1, 0], [0, 1, 0], [-1, 2, 0], [-1, 1, 0]]
    hidden = example("normed", 0) @ buy_milk.W_1
    right = [
        hidden,
        example("hidden", 0),
        example("fed", 0),
        example("second sum", 0),
        example("output", 0),
    ]
    rows = np.array([np.pad(row, (0, 3 - len(row))) for row in right]).round(6)
    look: Any = {"columns": ("1", "2", "3"), "size": 0.42, "most": 2.0}
    return (
        table(np.array(printed, dtype=float), names, title="printed", **look),
        table(rows, names, title="computed", **look),
    )


def overwritten() -> Figure:
    """How much of the first row is still in the stream, layer by layer, both ways."""
    shares = {"x + attention(norm(x))": [1.0], "the snippet": [1.0]}
    x, rng = tried.words(16, 32), np.random.default_rng(1)
    for _ in range(16):
        drawn = rng.normal(size=(32, 32)) / np.sqrt(32)
        size = float(np.sqrt((x - x.mean(axis=-1, keepdims=True)).var(axis=-1)).mean())
        x = tried_models.normed(x)
        x = x + x @ drawn
        shares["the snippet"].append(shares["the snippet"][-1] / size)
        shares["x + attention(norm(x))"].append(1.0)
    figure, ax = panel(5.4, 2.8)
    for (name, line), color in zip(shares.items(), (BLUE, VERMILLION), strict=True):
        ax.plot(line, color=color, label=name)
    ax.set(yscale="log", xlabel="layers", ylabel="factor of the first row")
    label_ends(ax)
    return figure


def softmax_of_all() -> tuple[Figure, Figure]:
    """A softmax of each row, and one of the whole table; the sum of each row beside it."""
    drawn = []
    for title, weights in zip(("each row", "the whole table"), tables_of_softmax(), strict=True):
        rows = np.column_stack([weights, weights.sum(axis=-1)])
        names = [f"{i}" for i in range(1, 6)]
        look: Any = {"color": WEIGHT, "written": "{:.2f}", "size": 0.42, "most": 1.0}
        drawn.append(table(rows, names, [*names, "sum"], title=title, **look))
    return drawn[0], drawn[1]


def saturated() -> Figure:
    """The largest of three weights over many calls of the listing, and with scaled matrices."""
    generator = torch.Generator().manual_seed(0)
    listed, scaled = [], []
    for _ in range(400):
        x = torch.randn(3, 8, generator=generator)
        listed += run_listing(x, generator)[1].max(dim=-1).values.tolist()
        q, k = (x @ torch.randn(8, 8, generator=generator) / 8**0.5 for _ in range(2))
        scaled += fast.attention_weights(q, k).max(dim=-1).values.tolist()
    figure, ax = panel(5.4, 2.8)
    bins = np.linspace(1 / 3, 1, 21)
    for weights, color, name in (
        (listed, VERMILLION, "as listed: entries of variance 1"),
        (scaled, BLUE, "entries of variance 1/8"),
    ):
        heights, _ = np.histogram(weights, bins)
        ax.stairs(heights / len(weights), bins, color=color, linewidth=2, label=name)
    ax.set(xlabel="largest of three weights", ylabel="share of rows", xlim=(0.33, 1))
    ax.legend(loc="upper center")
    return figure
