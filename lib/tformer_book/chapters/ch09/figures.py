"""Figures of chapter 9: feed-forward layers."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tformer import reference
from tformer.parameters import FeedForwardParameters
from tformer_book.chapters.ch09 import folds, measured, mistakes, rows
from tformer_book.figures.style import (
    INK,
    KEY,
    ORANGE,
    PURPLE,
    QUERY,
    QUIET,
    SKY,
    VALUE,
    WIDE,
    WRONG,
    label_ends,
    panel,
)
from tformer_book.figures.tables import blank, squares, table
from tformer_book.world.lexicon import KINDS, tokenise

CURVES = {"relu": ("ReLU", INK), "gelu": ("GELU", QUERY), "silu": ("SiLU", KEY)}
LINES = (np.array([[2, 0, -4, -4], [4, -3, 1, 4]]), np.array([6, -8, 1, -2]))
"""Four lines of the plane, no two parallel and no three through a point: w_in and b_in.

All six crossings lie well inside the drawing, so that each of the eleven regions can be seen.
"""


def strip(before: bool = False) -> Figure:
    """The vector of "it" after two heads and the layer: the columns *says* and *is*, two lines.

    With `before` the layer has not added anything yet, as at the head of the chapter.
    """
    figure, ax = blank(10.4, 1.6)
    for left, sentence in ((0.0, rows.TIRED), (14.5, rows.WIDE)):
        x = rows.heard(sentence)[tokenise(sentence).index("it")]
        last = sentence.split()[-1]
        said, there = x[rows.features("says")], x[rows.features("is")]
        is_now = there if before else there + rows.kinds(sentence)
        ax.text(left + 3, -0.35, f"… too {last}", fontsize=13, fontweight="bold")
        lines = (("says", said, KEY), ("is", is_now, VALUE))
        for i, (name, values, color) in enumerate(lines):
            y = 1.5 * i
            ax.text(left + 2.7, y + 0.6, name, ha="right", va="center", fontsize=12)
            squares(ax, values[None], (left + 3, y), color, 1.0, (1.75, 1.2))
            for j, value in enumerate(values):
                text = f"{value:.3f}".lstrip("0") if value > 0.0005 else ""
                place = (left + 3 + 1.75 * (j + 0.5), y + 0.6)
                ax.text(*place, text, ha="center", va="center", fontsize=12, color=INK)
        for j, kind in enumerate(KINDS):
            at = (left + 3 + 1.75 * (j + 0.5), 3.3)
            ax.text(*at, kind, ha="center", va="center", fontsize=10)
    ax.set(xlim=(0, 28.4), ylim=(3.8, -1.1))
    return figure


def unmixed() -> tuple[Figure, Figure]:
    """Who and whom as functions of who + 2 whom: what lines can do, and what two bends do."""
    one, ax = _mixture()
    x = rows.mixed()
    best = rows.best_affine(x, rows.PAIRS)
    order = np.argsort(x[:, 0])
    for j, color in ((0, QUERY), (1, VALUE)):
        ax.plot(x[order, 0], best[order, j], color=color, linestyle=":")
    ax.set_title("read by a matrix", fontsize=11)
    two, ax = _mixture()
    w = np.linspace(-3.4, 3.4, 141)
    flat = np.stack([w, 0 * w], axis=1)
    bent = flat + reference.feed_forward(flat, rows.BENT, rows.RELU)
    for j, (name, color) in enumerate((("who", QUERY), ("whom", VALUE))):
        ax.plot(w, bent[:, j], color=color, label=name)
    label_ends(ax)
    ax.set_title("read with two bends", fontsize=11)
    return one, two


def _mixture() -> tuple[Figure, Axes]:
    figure, ax = panel(3.3, 2.5)
    x = rows.mixed()[:, 0]
    for j, (color, marker) in enumerate(((QUERY, "o"), (VALUE, "s"))):
        ax.plot(x, rows.PAIRS[:, j], marker, color=color, markersize=7, markerfacecolor="none")
    ax.set(xlabel="who + 2 whom", xlim=(-3.6, 4.6), ylim=(-1.8, 1.8))
    ax.set(xticks=(-3, -1, 1, 3), yticks=(-1, 0, 1))
    return figure, ax


def conjunction() -> tuple[Figure, Figure]:
    """The best affine map of what is said and there, and ReLU of their sum less 1."""
    steps = np.linspace(0, 1, 5)
    p, q = np.meshgrid(steps, steps)
    names = [f"{s:g}" for s in steps]
    best = (p + q) / 2 - 0.25
    bent = reference.relu(p + q - 1)
    look: Any = {"color": VALUE, "most": 1.0, "size": 0.42, "written": "{:.2f}"}
    left = table(best[::-1], names[::-1], names, title="the best affine map", **look)
    right = table(bent[::-1], names[::-1], names, title="max(0, p + q − 1)", **look)
    return left, right


def alone() -> tuple[Figure, Figure]:
    """Which word may change which: a table of words for the layer, and one for attention."""
    words = ("the", "animal", "was", "too", "tired")
    look: Any = {"written": "", "size": 0.3, "slant": 55}
    own = table(np.eye(5), words, words, VALUE, "feed-forward", **look)
    every = table(np.ones((5, 5)), words, words, QUERY, "attention", **look)
    return own, every


def curves() -> tuple[Figure, Figure]:
    """Three activations, and their slopes."""
    x = np.linspace(-4, 3, 281)
    one, ax = panel(3.3, 2.7)
    other, slope = panel(3.3, 2.7)
    for name, (label, color) in CURVES.items():
        ax.plot(x, getattr(reference, name)(x), color=color, label=label)
        vjp = getattr(reference, f"{name}_vjp")
        slope.plot(x, vjp(x, np.ones_like(x)), color=color, label=label)
    ax.set(xlabel="x", title="activation", xlim=(-4, 4.6))
    slope.set(xlabel="x", title="slope", xlim=(-4, 4.6))
    label_ends(ax)
    label_ends(slope)
    return one, other


def tanh_error() -> tuple[Figure, Figure]:
    """The error of the tanh form in every binade of float32: absolute, and as a share of GELU."""
    found = [one for one in measured.binades() if -14 <= one["exponent"] <= 5]
    made = []
    for key, title, floor in (("error", "error", 1e-19), ("share", "error, as a share", 1e-15)):
        figure, ax = panel(3.3, 2.7)
        for sign, name, color in ((1, "above 0", QUERY), (-1, "below 0", KEY)):
            mine = [one for one in found if one["sign"] == sign]
            values = [max(one[key], floor / 10) for one in mine]
            exponents = [one["exponent"] for one in mine]
            style = "-" if sign < 0 else "--"
            ax.plot(exponents, values, style, color=color, label=name)
        ax.set(yscale="log", ylim=(floor, 10), xlabel="binade of |x|, power of 2", title=title)
        ax.set(xticks=(-12, -8, -4, 0, 4), xlim=(-14, 6))
        ax.legend(loc="upper left", fontsize=9)
        made.append(figure)
    return made[0], made[1]


def memory() -> Figure:
    """The layer AND as a memory: six keys, six values, what "it" asks, and what becomes of it."""
    figure, ax = blank(WIDE, 5.7)
    wide = rows.WIDE
    x = rows.heard(wide)[tokenise(wide).index("it")]
    shown = [*rows.features("says"), *rows.features("is")]
    units = rows.kinds(wide)
    top = 1.6
    names = [f"{verb} {kind}" for verb in ("says", "is") for kind in KINDS]
    squares(ax, x[None, shown], (0, top - 1.35), QUERY, 1.0, (0.9, 1))
    ax.text(-0.25, top - 0.85, "the vector of “it”", ha="right", va="center", fontsize=13)
    for j, name in enumerate(names):
        ax.text(0.9 * j + 0.35, top - 1.5, name, rotation=55, ha="left", va="bottom", fontsize=11.5)
    squares(ax, rows.AND.w_in.T[:, shown], (0, top), KEY, 1.0, (0.9, 0.8))
    squares(ax, rows.AND.w_out[:, rows.features("is")], (17.2, top), VALUE, 1.0, (0.9, 0.8))
    for i, kind in enumerate(KINDS):
        y = top + 0.8 * (i + 0.5)
        ax.text(-0.25, y, f"key {i + 1}", ha="right", va="center", fontsize=12)
        match = float(x @ rows.AND.w_in[:, i])
        ax.text(11.9, y, f"{match:.3f}", ha="center", va="center", fontsize=12)
        ax.text(
            14.0,
            y,
            f"{units[i]:.3f}",
            ha="center",
            va="center",
            fontsize=12,
            fontweight="bold" if units[i] > 0 else "normal",
        )
        ax.text(16.9, y, f"value {i + 1}", ha="right", va="center", fontsize=12)
        at = (17.2 + 0.9 * (i + 0.3), top - 0.15)
        ax.text(*at, f"is {kind}", rotation=55, ha="left", va="bottom", fontsize=11.5)
    for left, text in ((11.9, "x · key"), (14.0, "ReLU(… − 1)")):
        ax.text(left, top - 0.2, text, ha="center", va="bottom", fontsize=12)
    is_now = x[rows.features("is")]
    lines = (("“it” was", is_now), ("what is added", units), ("“it” becomes", is_now + units))
    for i, (name, values) in enumerate(lines):
        y = top + 5.1 + 0.95 * i
        squares(ax, values[None], (17.2, y), VALUE, 1.0, (0.9, 0.8))
        ax.text(16.9, y + 0.4, name, ha="right", va="center", fontsize=13)
        for k in np.flatnonzero(values > 0):
            text = f"{values[k]:.2f}".lstrip("0")
            ax.text(17.65 + 0.9 * float(k), y + 0.4, text, ha="center", va="center", fontsize=10)
    ax.set(xlim=(-3.1, 23.2), ylim=(9.6, -1.9))
    return figure


def share() -> Figure:
    """Parameters of a block by matrix, in units of d_model squared, with and without gates."""
    figure, ax = panel(6.8, 1.9)
    parts = (
        ("ReLU or GELU, d_ff = 4 d", (1, 1, 1, 1, 4, 4)),
        ("with gates, d_ff = 8/3 d", (1, 1, 1, 1, 8 / 3, 8 / 3, 8 / 3)),
    )
    colors = (QUERY, KEY, VALUE, QUIET, ORANGE, SKY, PURPLE)
    names = ("$W_Q$", "$W_K$", "$W_V$", "$W_O$", "in", "out", "gate")
    for y, (_, widths) in enumerate(parts):
        left = 0.0
        for width, color, name in zip(widths, colors, names, strict=False):
            box = Rectangle((left + 0.03, y - 0.32), width - 0.06, 0.64, linewidth=0)
            box.set(facecolor=color, alpha=0.6)
            ax.add_patch(box)
            ax.text(left + width / 2, y, name, ha="center", va="center", fontsize=10)
            left += width
    ax.set(xlim=(0, 12.05), ylim=(1.6, -0.6), yticks=(0, 1), yticklabels=[p[0] for p in parts])
    ax.set(xlabel="parameters of a block, in units of d²", xticks=(0, 4, 8, 12))
    ax.grid(visible=False, axis="y")
    return figure


def regions() -> tuple[Figure, Figure]:
    """Bends on a line, and lines in the plane: where a layer of four ReLUs is straight."""
    one, ax = panel(3.3, 2.7)
    layer = line_layer()
    x = np.linspace(-3, 3, 601)
    y = reference.feed_forward(x[:, None], layer, rows.RELU)[:, 0]
    ax.plot(x, y, color=VALUE)
    bends = -layer.b_in / layer.w_in[0]
    at = reference.feed_forward(bends[:, None], layer, rows.RELU)[:, 0]
    ax.plot(bends, at, "o", color=INK, markersize=5)
    ax.set(xlabel="x", title=f"{folds.pieces(layer)} pieces on a line")
    two, plane = panel(3.3, 2.7)
    w, b = LINES
    steps = np.linspace(-5, 5, 401)
    p, q = np.meshgrid(steps, steps)
    on = (p[..., None] * w[0] + q[..., None] * w[1] + b > 0) @ (2 ** np.arange(4))
    shade = np.array([i.bit_count() for i in range(16)])[on]
    plane.contourf(
        p, q, shade, levels=np.arange(6) - 0.5, cmap="Greens", alpha=0.8, antialiased=False
    )
    for i in range(4):
        plane.plot(steps, -(w[0, i] * steps + b[i]) / w[1, i], color=INK, linewidth=1.3)
    plane.set(xlim=(-5, 5), ylim=(-5, 5), title=f"{folds.regions(w, b)} regions in the plane")
    plane.grid(visible=False)
    return one, two


def line_layer() -> FeedForwardParameters:
    """Four hidden units on a line, with bends at −2, −½, 1 and 2."""
    return FeedForwardParameters(
        np.array([[1.0, -2.0, 1.0, 1.0]]),
        np.array([[1.0], [1.0], [-2.5], [2.5]]),
        np.array([2.0, -1.0, -1.0, -2.0]),
        np.zeros(1),
    )


def fingerprints() -> Figure:
    """What five layers with a mistake answer to five questions, and where they give it away."""
    figure, ax = blank(10.4, 3.6)
    width, height = 4.2, 1.0
    for j, question in enumerate(mistakes.QUESTIONS):
        at = (width * (j + 0.5), -0.25)
        ax.text(*at, question, ha="center", va="bottom", fontsize=11)
    for i, (name, answers) in enumerate(mistakes.fingerprints().items()):
        given_away = np.array(mistakes.odd(answers), dtype=float)
        weight = "bold" if i == 0 else "normal"
        ax.text(-0.3, height * (i + 0.5), name, ha="right", va="center", weight=weight)
        squares(ax, 0.35 * given_away[None], (0, height * i), WRONG, 1.0, (width, height))
        for j, value in enumerate(answers):
            at = (width * (j + 0.5), height * (i + 0.5))
            ax.text(*at, f"{abs(value):.3f}", ha="center", va="center", fontsize=12)
    ax.set(xlim=(-5.2, 21.1), ylim=(6.2, -1.9))
    return figure
