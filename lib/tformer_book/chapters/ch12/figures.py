"""Figures of chapter 12: backpropagation through attention."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from tformer_book.chapters.ch12 import differences, kept, learning, small
from tformer_book.chapters.ch12.by_hand import passes
from tformer_book.chapters.ch12.intermediates import TOLERANCE, fingerprint
from tformer_book.chapters.ch12.row import PATHS, TIRED, row
from tformer_book.chapters.ch12.row import WIDE as TOO_WIDE
from tformer_book.figures.style import (
    INK,
    KEY,
    PURPLE,
    QUERY,
    QUIET,
    VALUE,
    WEIGHT,
    WIDE,
    WRONG,
    panel,
)
from tformer_book.figures.tables import SHADE, blank, squares

DRAWN = (
    ("z", "the mean over the words is forgotten"),
    ("u", "the slope of GELU is forgotten"),
    ("x1", "what goes past the layer is forgotten"),
    ("v", "the weights are not transposed"),
    ("s", "softmax's −pᵀ p is forgotten"),
    ("q", "the scale is forgotten"),
    ("W_q", "the sum over the texts is missing"),
    ("E", "only the head's use is counted"),
)
"""The slips whose fingerprints are drawn."""


def _number(value: float) -> str:
    text = f"{abs(value):.3f}".replace("0.", ".")
    return f"−{text}" if value < 0 else text


def _words(ax: Axes, names: tuple[str, ...], it: int) -> None:
    for t, word in enumerate(names):
        bold = "bold" if t == it else "normal"
        ax.text(t + 0.5, -0.15, word, ha="center", va="bottom", fontsize=11, fontweight=bold)


def _line(
    ax: Axes,
    values: np.ndarray,
    y: int,
    color: str,
    most: float,
    width: float = 1.0,
    left: float = 0.0,
) -> None:
    squares(ax, values[None], (left, y), color, most=most, size=(width, 1))
    for t, value in enumerate(values):
        if abs(value) >= 5e-4:
            middle = (left + (t + 0.5) * width, y + 0.5)
            ax.text(*middle, _number(value), ha="center", va="center", fontsize=11, color=INK)


def strip(told: bool = True) -> tuple[Figure, Figure]:
    """Under both adjectives: where *it* looks in layer 2, and what its scores receive if `told`."""
    return _seen(TIRED, told), _seen(TOO_WIDE, told)


def _seen(sentence: str, told: bool) -> Figure:
    figure, ax = blank(4.4, 1.55)
    found, left, width = row(sentence), 3.5, 2.3
    names = ("animal", "street", "each other")
    at = [found.words.index(name) for name in (*names[:2], "because")]
    for y, name in enumerate(("weight, layer 2", "gradient of score")):
        ax.text(left - 0.2, y + 0.5, name, ha="right", va="center", fontsize=11)
    ax.text(left, -0.25, f"… too {found.words[-1]}", fontsize=12, fontweight="bold")
    _line(ax, found.weights[1, found.it, at], 0, WEIGHT, 1.0, width, left)
    if told:
        _line(ax, found.dscores[1, found.it, at], 1, PURPLE, 0.25, width, left)
    for i, name in enumerate(names):
        middle = left + width * (i + 0.5)
        ax.text(middle, 2.45, name, ha="center", va="center", fontsize=11)
        if not told:
            box = Rectangle((middle - 1.04, 1.05), 2.07, 0.9, fc="none", ec=QUIET)
            ax.add_patch(box)
            ax.text(middle, 1.5, "?", ha="center", va="center", fontsize=11, color=INK)
    ax.set(xlim=(0, 10.5), ylim=(2.8, -0.9))
    return figure


def blame() -> Figure:
    """What comes back to the scores of *it* in both layers, and by which path to each word."""
    found = row()
    figure, ax = blank(WIDE, 4.4)
    ax.set_aspect("auto")
    lines = (
        ("of “it”, layer 2", found.dscores[1, found.it]),
        ("of “it”, layer 1", found.dscores[0, found.it]),
    )
    for y, (name, values) in enumerate(lines):
        ax.text(-0.1, y + 0.5, name, ha="right", va="center", fontsize=11)
        _line(ax, values, y, PURPLE, 0.25)
    names = {
        "key 2": "as key of layer 2",
        "query 2": "as query of layer 2",
        "value 1": "as value of layer 1",
        "key 1": "as key of layer 1",
        "query 1": "as query of layer 1",
    }
    for y, (path, values) in enumerate(zip(PATHS, found.paths, strict=True)):
        ax.text(-0.1, y + 3.5, names[path], ha="right", va="center", fontsize=11)
        _line(ax, np.linalg.norm(values, axis=-1), y + 3, VALUE, 0.9)
    look: Any = {"ha": "right", "va": "center", "fontsize": 11, "fontweight": "bold"}
    ax.text(-0.1, -0.35, "gradient of each score", **look)
    ax.text(-0.1, 2.6, "length of what reaches the word’s vector", **look)
    _words(ax, found.words, found.it)
    ax.set(xlim=(-3.6, 12), ylim=(8.1, -0.7))
    return figure


def graph(x: float = 2.0, w: float = 3.0) -> Figure:
    """Three operations: values forward above the arrows, derivatives backward below them."""
    found = passes(x, w)
    figure, ax = blank(5.0, 2.3)
    ax.set_aspect("auto")
    boxes = {(3.6, 1.0): "×", (6.4, 1.0): "+", (9.2, 1.0): "½ s²"}
    for (left, y), text in boxes.items():
        box = FancyBboxPatch(
            (left - 0.55, y - 0.4), 1.1, 0.8, boxstyle="round,pad=0,rounding_size=0.15"
        )
        box.set(facecolor="none", edgecolor=QUIET, linewidth=1.5)
        ax.add_patch(box)
        ax.text(left, y, text, ha="center", va="center", fontsize=12)
    for (left, y), text in {(0.6, 1.0): "w", (0.6, 3.2): "x", (11.8, 1.0): "ℓ"}.items():
        ax.text(left, y, text, ha="center", va="center", fontsize=14, style="italic")
    arrows = (
        ((0.9, 1.0), (3.05, 1.0), (1.95, 0.8), f"w = {w:g}", (1.95, 1.2), found.dw),
        ((0.9, 3.0), (3.2, 1.42), (1.75, 2.15), f"x = {x:g}", (2.45, 1.97), found.dx_product),
        ((0.95, 3.2), (6.1, 1.42), (4.6, 1.87), f"x = {x:g}", (4.6, 2.1), found.dx_sum),
        ((4.15, 1.0), (5.85, 1.0), (5.0, 0.8), f"m = {found.m:g}", (5.0, 1.2), found.dm),
        ((6.95, 1.0), (8.65, 1.0), (7.8, 0.8), f"s = {found.s:g}", (7.8, 1.2), found.ds),
        ((9.75, 1.0), (11.5, 1.0), (10.6, 0.8), f"{found.loss:g}", (10.6, 1.2), found.dloss),
    )
    for start, end, above, value, below, slope in arrows:
        look = {"arrowstyle": "-|>", "color": QUERY, "lw": 1.6, "shrinkA": 2, "shrinkB": 2}
        ax.annotate("", end, start, arrowprops=look)
        ends = ("right", "left") if start[1] > 2 else ("center", "center")
        ax.text(*above, value, ha=ends[0], va="bottom", fontsize=11, color=INK)
        bold = ax.text(*below, f"{slope:g}", color=PURPLE, fontsize=11, fontweight="bold")
        bold.set(ha=ends[1], va="top")
    added = f"dx = {found.dx_sum:g} + {found.dx_product:g} = {found.dx:g}"
    ax.text(0.3, 3.75, added, va="center", fontsize=11, fontweight="bold")
    ax.set(xlim=(0.2, 12.1), ylim=(4.1, 0.2))
    return figure


def uses() -> tuple[Figure, Figure]:
    """A value that three steps use: copied in the forward pass, added up in the backward pass."""
    return _fork("forward: copied", True), _fork("backward: added up", False)


def _fork(title: str, there: bool) -> Figure:
    figure, ax = blank(3.3, 2.5)
    names = ("W_Q", "W_K", "W_V", "past the layer")
    color = QUERY if there else PURPLE
    for i, name in enumerate(names):
        y = 0.5 + i
        ends = ((1.2, 2.0), (3.6, y)) if there else ((3.6, y), (1.2, 2.0))
        look = {"arrowstyle": "-|>", "color": color, "lw": 1.6, "shrinkA": 2, "shrinkB": 2}
        ax.annotate("", ends[1], ends[0], arrowprops=look)
        box = FancyBboxPatch((3.7, y - 0.32), 2.6, 0.64, boxstyle="round,pad=0,rounding_size=0.15")
        box.set(facecolor="none", edgecolor=QUIET, linewidth=1.5)
        ax.add_patch(box)
        text = name if i == 3 else f"${name}$"
        ax.text(5.0, y, text, ha="center", va="center", fontsize=10)
    ax.text(
        0.75, 2.0, "x" if there else "dx", ha="center", va="center", style="italic", fontsize=13
    )
    if not there:
        ax.text(0.75, 2.75, "sum of four", ha="center", va="center", fontsize=10)
    ax.set_title(title, fontsize=11, fontweight="bold")
    ax.set(xlim=(-0.4, 6.5), ylim=(4.1, 0))
    return figure


def shapes() -> tuple[Figure, Figure]:
    """The two products of a linear step in the backward pass, as rectangles."""
    n, d, m = 2.4, 1.6, 2.8
    rows = _product("gradient of the vectors", ("dX", n, d), ("dY", n, m), ("Wᵀ", m, d))
    matrix = _product("gradient of the matrix", ("dW", d, m), ("Xᵀ", d, n), ("dY", n, m))
    return rows, matrix


def _product(title: str, *tables: tuple[str, float, float]) -> Figure:
    figure, ax = blank(3.3, 1.9)
    left = 0.0
    for (name, height, width), sign in zip(tables, (" = ", " ", ""), strict=True):
        color = PURPLE if name.startswith("d") else KEY if "W" in name else QUERY
        box = Rectangle((left, 1.5 - height / 2), width, height, ec=color, lw=2)
        box.set_facecolor("none")
        ax.add_patch(box)
        ax.text(left + width / 2, 1.5, name, ha="center", va="center", fontsize=11)
        left += width
        ax.text(left + 0.35, 1.5, sign, ha="center", va="center", fontsize=13)
        left += 0.7 if sign.strip() else 0.35
    ax.set_title(title, fontsize=11, fontweight="bold")
    ax.set(xlim=(-0.1, left), ylim=(3.1, -0.1))
    return figure


def v() -> Figure:
    """Error of difference quotients against their step."""
    figure, ax = panel(5.6, 3.1)
    colors = {"forward": KEY, "central": QUERY, "central, float32": VALUE}
    for curve in differences.stored():
        color = colors[curve.name]
        ax.plot(differences.STEPS_TRIED, curve.error, color=color, label=curve.name)
    ax.set(xscale="log", yscale="log", xlabel="step", ylabel="error")
    ax.legend(fontsize=10, loc="upper center", ncols=3, bbox_to_anchor=(0.5, 1.18))
    return figure


def curves() -> Figure:
    """The loss of both libraries, step by step: dots on a line."""
    figure, ax = panel(5.6, 2.7)
    ours, theirs = learning.both()
    steps = np.arange(len(ours))
    ax.plot(steps, theirs, color=KEY, label="PyTorch, autograd")
    ax.plot(steps, ours, "o", color=QUERY, markersize=4, fillstyle="none", label="NumPy, derived")
    ax.set(xlabel="step", ylabel="loss, nats a word", ylim=(0, 5), xlim=(-1, len(ours)))
    ax.legend(fontsize=10)
    return figure


def memory() -> Figure:
    """Numbers that the blocks of the smallest GPT-2 keep of one text, in GB of float32."""
    figure, ax = panel(5.6, 2.9)
    words = 2 ** np.arange(6, 14)
    ways = ((0, "all activations", KEY), (1, "vectors before each block", QUERY))
    for every, name, color in ways:
        ax.plot(
            words, [kept.model(int(n), every) * 4 / 1e9 for n in words], color=color, label=name
        )
        if not every:
            tables = kept.GPT2["n_layers"] * kept.GPT2["n_heads"] * words.astype(float) ** 2
            ax.plot(words, 4e-9 * tables, ":", color=WEIGHT, label="attention weights alone")
    ax.set(xscale="log", yscale="log", xlabel="words", ylabel="GB")
    ax.set_xticks(words[::2], [str(n) for n in words[::2]])
    ax.minorticks_off()
    ax.legend(fontsize=10)
    return figure


def fingerprints() -> tuple[Figure, Figure]:
    """Which gradients are wrong for each slip; the loss that a model with it still reaches."""
    names = list(small.STEPS)
    figure, ax = blank(4.8, 2.3)
    ax.set_aspect("auto")
    for y, slip in enumerate(DRAWN):
        wrong = (fingerprint(slip) > TOLERANCE).astype(float)
        squares(ax, wrong[None], (0, y), SHADE, most=1.6)
        first = names.index(slip[0])
        squares(ax, np.ones((1, 1)), (first, y), WRONG, most=1.0)
        ax.text(-0.2, y + 0.5, f"d{slip[0]}: {slip[1]}", ha="right", va="center", fontsize=9)
    for t, name in enumerate(names):
        ax.text(t + 0.3, -0.15, f"d{name}", ha="left", va="bottom", fontsize=8, rotation=60)
    ax.set(xlim=(-18.4, len(names)), ylim=(len(DRAWN), -2.2))
    other, bars = panel(3.8, 3.1)
    ends = [learning.broken(slip)[-1] for slip in (None, *DRAWN)]
    bars.barh(range(len(ends)), ends, color=[QUIET, *[WRONG] * len(DRAWN)], height=0.7)
    bars.axvline(learning.broken()[0], color=INK, linestyle=":", linewidth=1.2)
    for i, end in enumerate(ends):
        bars.text(end + 0.05, i, f"{end:.2f}", va="center", fontsize=10)
    bars.set(yticks=range(len(ends)), xlim=(0, 4), xlabel="loss after 100 steps")
    bars.set_yticklabels(["right", *(f"d{name}" for name, _ in DRAWN)])
    bars.tick_params(axis="y", length=0)
    bars.grid(visible=False, axis="y")
    bars.invert_yaxis()
    return figure, other
