"""Matrices drawn as tables of coloured squares."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tformer_book.figures.style import INK, QUERY, QUIET, WEIGHT, WRONG

__all__ = ["SHADE", "blank", "broken", "mark", "squares", "table"]

SHADE = QUIET
"""The colour of what is neither query nor key nor value; unlike ink, the same in dark mode."""


def blank(width: float, height: float) -> tuple[Figure, Axes]:
    """An empty drawing, sizes in inches: no axes, y runs downwards."""
    figure = Figure(figsize=(width, height), layout="constrained")
    ax = figure.subplots()
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.invert_yaxis()
    return figure, ax


def squares(
    ax: Axes,
    values: np.ndarray,
    place: tuple[float, float] = (0, 0),
    color: str = SHADE,
    most: float | None = None,
    size: tuple[float, float] = (1, 1),
) -> None:
    """Draw a matrix as squares: a number above zero is filled, one below zero is a frame.

    Parameters
    ----------
    values : (m, n) array.
    place : where its upper left corner stands.
    most : the absolute value that is drawn in full colour; by default the largest.
    size : width and height of a square.
    """
    most = most or float(np.abs(values).max()) or 1.0
    (x, y), (width, height) = place, size
    for (i, j), value in np.ndenumerate(values):
        share = round(min(1.0, abs(float(value)) / most), 3)
        corner = (x + j * width + 0.05 * width, y + i * height + 0.05 * height)
        inside: Any = {"width": 0.9 * width, "height": 0.9 * height}
        ax.add_patch(Rectangle(corner, **inside, facecolor=to_rgba(QUIET, 0.12), linewidth=0))
        shade = to_rgba(color, share)
        look: Any = {"facecolor": "none", "edgecolor": shade} if value < 0 else {"facecolor": shade}
        if share > 0:
            ax.add_patch(Rectangle(corner, **inside, linewidth=2 if value < 0 else 0, **look))
    ax.autoscale_view()


def mark(ax: Axes, x: float, y: float, missing: bool = False, width: float = 1) -> None:
    """Frame squares from (x, y) on as wrong: in dashes if they lack what should be in them."""
    look: Any = {"facecolor": "none", "edgecolor": WRONG, "linewidth": 1.8}
    if missing:
        look["linestyle"] = (0, (2, 1.5))
    ax.add_patch(Rectangle((x + 0.07, y + 0.07), width - 0.14, 0.86, **look))


def table(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    color: str = SHADE,
    title: str = "",
    written: str = "{:g}",
    most: float | None = None,
    size: float = 0.3,
    slant: float = 0,
) -> Figure:
    """Return a matrix as a table: coloured squares with their numbers, names on two edges.

    Parameters
    ----------
    values : (m, n) array.
    rows, columns : names, m and n of them.
    written : how a number is written; zeros stay empty, and with "" all squares do.
    most : the absolute value that is drawn in full colour; by default the largest.
    size : inches of a square.
    slant : degrees by which the names of the columns are turned.
    """
    m, n = values.shape
    longest = max(map(len, rows), default=0)
    above = 0.075 * max(map(len, columns), default=0) * (slant > 0) + 0.25
    width = n * size + 0.08 * longest + 0.2
    figure, ax = blank(width, m * size + above + (0.3 if title else 0.1))
    squares(ax, values, color=color, most=most)
    top = most or float(np.abs(values).max()) or 1.0
    for (i, j), value in np.ndenumerate(values):
        if written and abs(value) >= 0.005:
            pale = "#FFFFFF" if color in (SHADE, QUERY) else "#111111"
            ink = pale if value / top > 0.6 else INK
            text = written.format(value).replace("-", "−").replace("0.", ".")
            look: Any = {"ha": "center", "va": "center", "fontsize": 9}
            ax.text(j + 0.5, i + 0.5, text, color=ink, **look)
    for i, name in enumerate(rows):
        ax.text(-0.2, i + 0.5, name, ha="right", va="center", fontsize=10)
    for j, name in enumerate(columns):
        side: Any = {"ha": "left", "rotation": slant} if slant else {"ha": "center"}
        ax.text(j + (0.3 if slant else 0.5), -0.15, name, va="bottom", fontsize=10, **side)
    if title:
        figure.suptitle(
            title,
            fontsize=11,
            color=INK if color == SHADE else color,
            fontweight="bold",
            x=0.01,
            ha="left",
        )
    ax.set(xlim=(-0.2, n), ylim=(m, -0.2))
    return figure


def broken(
    rows: Mapping[str, np.ndarray],
    columns: Sequence[str],
    most: float = 1.0,
    wrong: Mapping[str, np.ndarray] | None = None,
    sums: bool = False,
    bold: int | None = None,
    left: float = 5.2,
) -> Figure:
    """Return a row of weights as it should be, and below it what mistakes make of it.

    Parameters
    ----------
    rows : weights (n,) by name, the right ones first; NaN is no square.
    columns : names of the n squares.
    most : the weight that is drawn in full colour.
    wrong : by name which squares of a row are framed, (n,) bool.
    sums : whether the sum stands at the end of a row, in another colour if it is not 1.
    bold : the place of the name that is bold.
    left : room for the names of the rows, in squares.
    """
    n, right = len(columns), len(columns) + (1.6 if sums else 0.1)
    slant = max(map(len, columns)) > 3
    above = 2.5 if slant else 0.9
    height = len(rows) + 0.45 + above
    size = min(4.8 / (left + right), 0.4)  # inches of a square; a phone shows 4.8 whole
    figure, ax = blank(size * (left + right), size * height)
    for i, (name, weights) in enumerate(rows.items()):
        y = i + 0.4 * (i > 0)
        look: Any = {"va": "center", "fontsize": 10}
        ax.text(-0.15, y + 0.5, name, ha="right", **look)
        for j, weight in enumerate(weights.tolist()):
            if math.isnan(weight):
                continue
            squares(ax, np.array([[weight]]), (j, y), WEIGHT, most=most)
            if wrong and name in wrong and wrong[name][j]:
                mark(ax, j, y, missing=weight == 0)
            if weight >= 0.005:
                text = f"{weight:.2f}".replace("0.", ".").replace("1.00", "1")
                ax.text(j + 0.5, y + 0.5, text, ha="center", va="center", fontsize=9.5)
        if sums:
            total = float(np.nansum(weights))
            color = INK if abs(total - 1) < 1e-9 else WRONG
            ax.text(n + 0.2, y + 0.5, f"{total:.3g}", ha="left", color=color, **look)
    for j, word in enumerate((*columns, *(["sum"] if sums else []))):
        turn: Any = {"rotation": 55} if slant else {"ha": "left" if j == n else "center"}
        place = j + (0.3 if slant else 0.5 if j < n else 0.2)
        weight_of = "bold" if j == bold else "normal"
        ax.text(place, -0.1, word, va="bottom", fontsize=10, fontweight=weight_of, **turn)
    ax.set(xlim=(-left, right), ylim=(height - above, -above))
    return figure
