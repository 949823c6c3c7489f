"""Pictures of the notation page: shapes that meet, one that is stretched, an axis of a softmax."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from tformer import reference
from tformer_book.figures.style import INK, QUIET, WEIGHT, WRONG
from tformer_book.figures.tables import blank, squares

TALL, WIDE_END = 1.0, 1.6
"""Height of a domino, and the width of each of its halves."""


def dominoes(names: dict[str, str], meet: list[tuple[str, str]]) -> Figure:
    """Draw pairs of shapes as dominoes: equal sizes touch and vanish, others do not fit.

    Parameters
    ----------
    names : how the name of a size is written.
    meet : pairs of shapes; a shape is two names with a blank between them.
    """
    width, height = 6 * WIDE_END + 1.7, 1.6 * len(meet) - 0.4
    figure, ax = blank(0.42 * width, 0.42 * height)
    for i, (left, right) in enumerate(meet):
        y = 1.6 * i
        (rows, inner), (other, columns) = left.split(), right.split()
        fits = inner == other
        gap = 0.0 if fits else 0.9
        _domino(ax, (0, y), (names[rows], names[inner]), (False, True), fits)
        start = 2 * WIDE_END + gap
        _domino(ax, (start, y), (names[other], names[columns]), (True, False), fits)
        end = 4 * WIDE_END + gap
        if fits:
            ax.text(end + 0.7, y + TALL / 2, "→", ha="center", va="center", fontsize=15)
            _domino(ax, (end + 1.4, y), (names[rows], names[columns]), (False, False), fits)
        else:
            look: Any = {"ha": "center", "va": "center", "fontsize": 14, "color": WRONG}
            ax.text(start - gap / 2, y + TALL / 2, "≠", **look)
    ax.set(xlim=(-0.1, width - 0.1), ylim=(height - 0.1, -0.1))
    return figure


def _domino(
    ax: Axes,
    place: tuple[float, float],
    halves: tuple[str, str],
    inner: tuple[bool, bool],
    fits: bool,
) -> None:
    (x, y), color = place, QUIET if fits else WRONG
    body: Any = {"boxstyle": "round,pad=0,rounding_size=0.15", "facecolor": "none"}
    edge = FancyBboxPatch((x + 0.04, y), 2 * WIDE_END - 0.08, TALL, edgecolor=color, **body)
    ax.add_patch(edge)
    ax.plot([x + WIDE_END] * 2, [y + 0.15, y + TALL - 0.15], color=color, linewidth=1)
    for half, (name, touches) in enumerate(zip(halves, inner, strict=True)):
        ink = (QUIET if fits else WRONG) if touches else INK
        middle = x + (half + 0.5) * WIDE_END
        ax.text(middle, y + TALL / 2, name, ha="center", va="center", fontsize=13, color=ink)
        if touches and fits:
            ends = [middle - 0.5, middle + 0.5], [y + TALL * 0.62, y + TALL * 0.38]
            ax.plot(*ends, color=QUIET, linewidth=1.2)


def stretched(row: np.ndarray, column: np.ndarray) -> Figure:
    """Draw a row (m,) and a column (n, 1) as they are stretched, and their differences (n, m)."""
    differences = row - column
    n, m = differences.shape
    shown = {
        f"({m},)": (np.broadcast_to(row, (n, m)), np.arange(n)[:, None] == np.zeros(m)),
        f"({n}, 1)": (np.broadcast_to(column, (n, m)), np.zeros(n)[:, None] == np.arange(m)),
        f"({n}, {m})": (differences, np.ones((n, m), bool)),
    }
    size = 4.8 / (3 * m + 3)
    figure, ax = blank(4.8, size * (n + 1.1))
    for i, (shape, (table, given)) in enumerate(shown.items()):
        x = i * (m + 1.4)
        last = i == len(shown) - 1
        most = 3 * float(np.abs(differences).max()) if last else 1.0
        squares(ax, np.abs(table) if last else 0.4 * given, (x, 0), WRONG if last else QUIET, most)
        for (r, c), value in np.ndenumerate(table):
            ink = INK if given[r, c] else QUIET
            look: Any = {"ha": "center", "va": "center", "fontsize": 11, "color": ink}
            ax.text(x + c + 0.5, r + 0.5, f"{value:g}".replace("-", "−"), **look)
        ax.text(x + m / 2, -0.3, shape, ha="center", va="bottom", fontsize=11)
    for i, sign in enumerate("−="):
        ax.text(m + 0.7 + i * (m + 1.4), n / 2, sign, ha="center", va="center", fontsize=15)
    ax.set(xlim=(-0.1, 3 * m + 2.9), ylim=(n + 0.1, -1.0))
    return figure


def along(scores: np.ndarray) -> tuple[Figure, Figure]:
    """Draw the softmax along the keys and along the queries, with what each query hands out."""
    return _shared(scores, -1, "along the keys"), _shared(scores, -2, "along the queries")


def _shared(scores: np.ndarray, axis: int, title: str) -> Figure:
    weights = reference.softmax(scores, axis=axis)
    n, m = weights.shape
    figure, ax = blank(2.9, 2.5)
    squares(ax, weights, color=WEIGHT, most=1.0)
    for (r, c), value in np.ndenumerate(weights):
        look: Any = {"ha": "center", "va": "center", "fontsize": 11}
        place = (c + 0.5, r + 0.6) if axis == -1 else (c + 0.57, r + 0.5)
        ax.text(*place, f"{value:.3f}".strip("0"), **look)
    arrow: Any = {"arrowstyle": "-|>", "mutation_scale": 11, "color": INK, "linewidth": 1}
    for k in range(n if axis == -1 else m):
        ends = ((0.1, k + 0.18), (m - 0.1, k + 0.18))
        if axis == -2:
            ends = ((k + 0.13, 0.1), (k + 0.13, n - 0.1))
        ax.add_patch(FancyArrowPatch(*ends, shrinkA=0, shrinkB=0, **arrow))
    for r, total in enumerate(weights.sum(axis=-1)):
        wrong = abs(total - 1) > 1e-9
        told: Any = {
            "color": WRONG if wrong else INK,
            "fontweight": "bold" if wrong else "normal",
        }
        ax.text(m + 0.2, r + 0.5, f"{total:.3g}", va="center", fontsize=11, **told)
        ax.text(-0.2, r + 0.5, f"query {r + 1}", ha="right", va="center", fontsize=11)
    ax.text(m + 0.2, -0.15, "sum", va="bottom", fontsize=11)
    for c in range(m):
        ax.text(c + 0.5, -0.15, f"key {c + 1}", ha="center", va="bottom", fontsize=10)
    ax.set_title(title, loc="left")
    ax.set(xlim=(-1.7, m + 1.1), ylim=(n + 0.1, -0.6))
    return figure
