"""Figures of chapter 8: residual stream and normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from tformer import reference
from tformer_book.chapters.ch08 import depth, real, rows, wrong
from tformer_book.figures import strips
from tformer_book.figures.strips import Line
from tformer_book.figures.style import (
    INK,
    KEY,
    PHONE,
    PURPLE,
    QUERY,
    QUIET,
    VALUE,
    WEIGHT,
    WIDE,
    WRONG,
    Fitting,
    label_ends,
    panel,
)
from tformer_book.figures.tables import blank, squares

LOOKS = {"pre": (QUERY, "before"), "post": (KEY, "after")}


def strip(told: bool = True) -> Fitting:
    """Where *it* looks after six layers, without a norm and, if `told`, with one."""
    orders = {"none": "no norm"} | ({"pre": "RMSNorm before"} if told else {})
    lines = [
        Line(name, rows.run(order).weights[-1, rows.IT], most=0.4) for order, name in orders.items()
    ]
    return strips.strip(rows.WORDS, lines, asks=rows.IT)


def stream() -> Fitting:
    """The vector of *it* in six layers: where it looks and how long it is, with and without."""
    return Fitting(_stream((WIDE, 4.1), (1, 2), 26), _stream((PHONE, 7.2), (2, 1), 20))


def _stream(size: tuple[float, float], panels: tuple[int, int], largest: float) -> Figure:
    figure = Figure(figsize=size, layout="constrained")
    titles = {"none": "no norm", "pre": "RMSNorm before each layer"}
    longest = np.linalg.norm(rows.run("none").rows[-1, rows.IT])
    letters = 11 if panels == (1, 2) else 9.5
    for ax, (order, title) in zip(figure.subplots(*panels), titles.items(), strict=True):
        found = rows.run(order)
        ax.set_axis_off()
        squares(ax, found.weights[:, rows.IT].T, (0, 0), WEIGHT, most=0.4, size=(1.6, 1))
        look: Any = {"ha": "right", "fontsize": letters}
        for t, word in enumerate(rows.WORDS):
            bold = "bold" if t == rows.IT else "normal"
            ax.text(-0.2, t + 0.5, word, va="center", fontweight=bold, **look)
        lengths = np.linalg.norm(found.rows[:, rows.IT], axis=-1)
        for layer, length in enumerate(lengths):
            middle = 1.6 * layer + 0.8
            ax.text(middle, -0.3, str(layer), ha="center", va="bottom", fontsize=letters)
            dot = largest * np.sqrt(length / longest)
            ax.plot(middle, 13.4, "o", color=VALUE, markersize=dot)
            ax.text(middle, 15.1, f"{length:.0f}", ha="center", va="center", fontsize=letters + 1)
        ax.text(-0.2, -0.3, "layers", va="bottom", **look)
        ax.text(-0.2, 13.4, "length", va="center", **look)
        ax.set_title(title, fontsize=12, fontweight="bold")
        ax.set(xlim=(-2.4, 11.4), ylim=(15.6, -1.3))
    return figure


def sphere() -> tuple[Figure, Figure]:
    """What LayerNorm leaves of two numbers, and of three: seen along the vector (1, 1, 1)."""
    figure, ax = panel(3.3, 3.1)
    points = np.random.default_rng(3).uniform(-2.6, 2.6, (14, 2))
    normed = reference.layer_norm(points, rows.PLAIN)
    ax.plot([-3, 3], [-3, 3], color=QUIET, linewidth=1)
    _arrows(ax, points, normed)
    ax.plot([-1, 1], [1, -1], "o", color=QUERY, markersize=9)
    for x, y, text in ((-2.1, 1.1, "(−1, 1)"), (2.1, -1.1, "(1, −1)")):
        ax.text(x, y, text, color=QUERY, ha="center", va="center")
    _square(ax, 3, "two numbers")
    other, plane = panel(3.3, 3.1)
    basis = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    three = np.random.default_rng(5).normal(0, 1.5, (14, 3))
    turn = np.linspace(0, 2 * np.pi, 200)
    plane.plot(3**0.5 * np.cos(turn), 3**0.5 * np.sin(turn), color=QUERY)
    _arrows(plane, three @ basis.T, reference.layer_norm(three, rows.PLAIN) @ basis.T)
    _square(plane, 3.4, "three numbers, along (1, 1, 1)")
    return figure, other


def _arrows(ax: Axes, start: np.ndarray, end: np.ndarray) -> None:
    for one, to in zip(start.tolist(), end.tolist(), strict=True):
        look = {"arrowstyle": "-|>", "color": QUIET, "lw": 0.9, "shrinkA": 0, "shrinkB": 2}
        ax.annotate("", to, one, arrowprops=look)
        ax.plot(*one, "o", color=INK, markersize=3.5)


def _square(ax: Axes, most: float, title: str) -> None:
    ax.set(xlim=(-most, most), ylim=(-most, most), xticks=[], yticks=[], aspect="equal")
    ax.set_title(title, fontsize=11, fontweight="bold")
    for side in ax.spines.values():
        side.set_visible(False)


def passed() -> tuple[Figure, Figure]:
    """The same three small changes of a short vector and of a long one, after RMSNorm."""
    return _passed(1.2, "a short vector"), _passed(3.6, "a long vector")


def _passed(length: float, title: str) -> Figure:
    figure, ax = panel(3.3, 2.9)
    turn = np.linspace(0, np.pi / 2, 100)
    ax.plot(2**0.5 * np.cos(turn), 2**0.5 * np.sin(turn), color=QUERY)
    x = length * np.array([np.cos(0.7), np.sin(0.7)])
    steps = 0.6 * np.array([[-np.sin(0.7), np.cos(0.7)], [np.cos(0.7), np.sin(0.7)]])
    ax.plot([0, x[0]], [0, x[1]], color=QUIET, linewidth=1)
    home = reference.rms_norm(x[None], rows.PLAIN)[0]
    for step, color in zip(steps, (KEY, VALUE), strict=True):
        moved = reference.rms_norm((x + step)[None], rows.PLAIN)[0]
        start, end = (x[0], x[1]), (x[0] + step[0], x[1] + step[1])
        ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": color, "lw": 2})
        ax.plot([home[0], moved[0]], [home[1], moved[1]], color=color, linewidth=5)
    ax.plot(*x, "o", color=INK)
    ax.plot(*home, "o", color=QUERY)
    ax.set(xlim=(-0.3, 3.6), ylim=(-0.2, 3.2), xticks=[], yticks=[], aspect="equal")
    ax.set_title(title, fontsize=11, fontweight="bold")
    for side in ax.spines.values():
        side.set_visible(False)
    return figure


def wirings() -> tuple[Figure, Figure]:
    """The norm on the branch, and the norm on the stream."""
    return _wiring("before: on the branch", True), _wiring("after: on the stream", False)


def _wiring(title: str, before: bool) -> Figure:
    figure, ax = blank(3.3, 2.3)
    on, over = ((1.45, 0.5) if before else (5.25, 2.2)), (2.9, 0.5)
    for start, end in [(-0.2, 3.75), (4.25, 6.4 if before else 4.7), (5.8, 6.4)][: 3 - before]:
        ax.plot([start, end], [2.2, 2.2], color=INK, linewidth=3)
    ax.plot(6.4, 2.2, ">", color=INK, markersize=9)
    cuts = [0.5, 0.9, 2.0, 2.35, 3.45, 4] if before else [0.5, 2.35, 3.45, 4]
    for start, end in zip(cuts[::2], cuts[1::2], strict=True):
        ax.plot([start, end], [0.5, 0.5], color=QUIET, linewidth=1.6)
    for x, bottom in ((0.5, 2.2), (4, 1.95)):
        ax.plot([x, x], [0.5, bottom], color=QUIET, linewidth=1.6)
    ax.plot(4, 2.2, "o", color="none", markeredgecolor=INK, markersize=15)
    ax.text(4, 2.22, "+", ha="center", va="center", fontsize=13)
    _box(ax, *over, "layer", QUIET)
    _box(ax, *on, "norm", QUERY)
    ax.text(-0.2, 2.75, "x", ha="left", va="center", style="italic")
    ax.set(xlim=(-0.3, 6.7), ylim=(3.1, -0.3))
    ax.set_title(title, fontsize=11, fontweight="bold")
    return figure


def _box(ax: Axes, x: float, y: float, text: str, color: str) -> None:
    look: Any = {"boxstyle": "round,pad=0,rounding_size=0.15", "linewidth": 2}
    box = FancyBboxPatch((x - 0.55, y - 0.35), 1.1, 0.7, **look)
    box.set(facecolor="none", edgecolor=color)
    ax.add_patch(box)
    ax.text(x, y, text, ha="center", va="center", fontsize=10)


def deep() -> tuple[Figure, Figure, Figure]:
    """Mean square, gradient and mean cosine in 64 random blocks, norms before and after."""
    titles = ("mean square of the vectors", "gradient passed back", "mean cosine of two vectors")
    figures = []
    for measure, title in enumerate(titles):
        figure, ax = panel(3.3, 2.8)
        blocks = np.arange(depth.DEPTH + 1)
        for order, (color, name) in LOOKS.items():
            mean, low, high = depth.bands(order, measure)
            ax.plot(blocks, mean, color=color, label=name)
            ax.fill_between(blocks, low, high, color=color, alpha=0.2, linewidth=0)
        if measure == 1:
            ax.set(yscale="log", ylim=(0.005, 40))
        ax.set(xlabel="block", xticks=(0, 16, 32, 48, 64), xlim=(0, 64))
        ax.set_title(title, fontsize=11, fontweight="bold")
        place = {0: (0.3, 0.8), 1: (0.65, 0.88), 2: (0.5, 0.35)}[measure]
        ax.legend(loc="center", bbox_to_anchor=place, fontsize=10)
        figures.append(figure)
    return figures[0], figures[1], figures[2]


def melting() -> tuple[Figure, Figure]:
    """The mean cosine of the sentence's vectors by layer; the vectors where nothing stays."""
    figure, ax = panel(3.6, 2.9)
    names = {"no skip": "replaced", "post": "norm after", "pre": "norm before"}
    for (order, name), color in zip(names.items(), (INK, KEY, QUERY), strict=True):
        ax.plot(rows.alike(rows.run(order).rows), color=color, label=name)
    ax.set(xlabel="layers", ylabel="mean cosine", xlim=(0, 6), ylim=(0.45, 1.02))
    label_ends(ax)
    other, table = blank(3.2, 2.9)
    table.set_aspect("auto")
    found = rows.run("no skip").rows
    for i, layer in enumerate((0, 1, 3)):
        shown = reference.rms_norm(found[layer], rows.PLAIN)
        squares(table, shown[:, :6], (7 * i, 0), most=2.0)
        table.text(7 * i + 3, -0.3, f"{layer} layer{'s' * (layer != 1)}", ha="center", fontsize=10)
    table.set(xlim=(-0.3, 20.5), ylim=(12.2, -1.2))
    return figure, other


def holds_up() -> tuple[Figure, Figure]:
    """Lengths of vectors in the real model, and its loss with single numbers changed."""
    found = real.stored()
    figure, ax = panel(3.6, 2.9)
    for name, color, said in (("first", KEY, "first"), ("others", QUERY, "others")):
        ax.plot(found[name], color=color, label=said)
    ax.set(xlabel="block", ylabel="length of the vector", yscale="log", xlim=(0, 30), ylim=(1, 1e5))
    label_ends(ax)
    other, dots = panel(3.6, 2.9)
    rows = {
        "as it is": [found["loss"]],
        f"number {found['coordinate']} off": [found["changed"]],
        "next largest off": found["controls"],
        "as much, other words": found["other words"],
        "as much, other numbers": found["as large"],
        "moved to another": found["moved"],
        "its sign turned": [found["turned"]],
    }
    for i, (name, losses) in enumerate(rows.items()):
        look: Any = {"color": KEY if name.endswith("507 off") else QUERY, "alpha": 0.7}
        dots.plot(losses, [i] * len(losses), "o", ms=7, mec="none", **look)
    dots.axvline(found["loss"], color=QUIET, linewidth=0.8)
    dots.set(yticks=range(len(rows)), yticklabels=[*rows], xlim=(0, 14), xlabel="loss")
    dots.tick_params(axis="y", length=0)
    dots.invert_yaxis()
    return figure, other


def mistakes() -> tuple[Figure, Figure, Figure]:
    """What norms over other axes mix, what other divisors leave, what mistakes cost."""
    return _mixed(), _left(), _costs()


def _mixed() -> Figure:
    figure, ax = blank(3.3, 2.9)
    x = np.random.default_rng(1).standard_normal((5, 4))
    other = x.copy()
    other[4, 1] += 1
    for i, (name, norm) in enumerate(wrong.AXES.items()):
        squares(ax, np.abs(norm(other) - norm(x)), (5.4 * i, 0), QUIET, most=0.2)
        ax.text(5.4 * i + 2, 5.3, name, ha="center", va="top", fontsize=9.5)
    ax.set(xlim=(-0.7, 15.5), ylim=(8, -2))
    ax.set_title("what the last word moves", fontsize=11, fontweight="bold")
    return figure


def _left() -> Figure:
    figure, ax = panel(3.3, 2.9)
    row = np.random.default_rng(0).standard_normal((1, 8))
    row /= np.sqrt(np.mean(row * row))
    sizes = 10 ** np.linspace(-6, 2, 81)
    colors = (INK, VALUE, PURPLE, QUERY, KEY)
    for (name, norm), color in zip(wrong.SIZES.items(), colors, strict=True):
        made = norm(sizes[:, None] * row)
        ax.plot(sizes, np.sqrt(np.mean(made * made, axis=-1)), color=color, label=name)
    ax.set(xscale="log", yscale="log", xlim=(1e-6, 100), ylim=(0.01, 300))
    ax.set(xlabel="size of the vector", ylabel="size after the norm")
    ax.set_title("what comes out", fontsize=11, fontweight="bold")
    label_ends(ax)
    return figure


def _costs() -> Figure:
    figure, ax = panel(3.3, 2.9)
    costs = real.stored()["mistakes"]
    ax.barh(
        range(len(costs)), costs.values(), color=[QUIET, *[WRONG] * (len(costs) - 1)], height=0.7
    )
    for i, loss in enumerate(costs.values()):
        ax.text(1.1 * loss, i, f"{loss:.2f}", va="center", fontsize=10)
    ax.set(xscale="log", xlim=(1, 500), xlabel="loss of the real model")
    ax.set_title("what it costs", fontsize=11, fontweight="bold")
    ax.set(yticks=range(len(costs)), yticklabels=costs)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    ax.invert_yaxis()
    return figure
