"""The figures of chapter 17 that show the real model."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tformer_book.chapters.ch17 import real, real_looks
from tformer_book.figures.style import INK, KEY, PURPLE, QUERY, QUIET, VALUE, WIDE, panel
from tformer_book.figures.tables import blank, squares

__all__ = ["induction", "looks", "patched"]

CUTS = (
    ("whole", "whole model"),
    ("nouns", "both nouns unseen"),
    ("others", "“did”, “not” unseen"),
    ("adjective", "adjective unseen"),
)
ENDINGS = (("statement", "It was the …", QUERY), ("question", "What was too …? The …", KEY))


def induction() -> Figure:
    """The loss on the repeat with heads cut, and on the first half and on plain text."""
    figure, ax = panel(7.0, 2.9)
    found = real.stored()["induction"]
    previous = found["previous"][0]
    names = (
        ("whole model", [found["whole"]]),
        ("without induction heads", [found["induction"]]),
        ("without other heads", found["others"]),
        ("without head 16.0", [previous]),
    )
    kinds = (("repeat", QUERY), ("first", QUIET))
    for y, (_, runs) in enumerate(names):
        for part, color in kinds:
            x = [loss for run in runs for loss in run[part]]
            ax.plot(x, [y] * len(x), "o", color=color, alpha=0.35, ms=5, mec="none")
            ax.plot(np.mean(x), y, "|", color=color, ms=17, mew=2.5)
        plain = [run["plain"] for run in runs]
        ax.plot(plain, [y] * len(plain), "D", color=VALUE, ms=5, mec="none")
    ax.set_yticks(range(len(names)), [name for name, _ in names])
    ax.set(xlabel="loss", xlim=(0, 15), ylim=(3.5, -0.5))
    dots: Any = {"ls": "", "mec": "none", "ms": 6}
    handles = [
        Line2D([], [], marker="D", color=VALUE, label="plain text", **dots),
        Line2D([], [], marker="o", color=QUERY, label="repeat", **dots),
        Line2D([], [], marker="o", color=QUIET, label="first half", **dots),
    ]
    above: Any = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 3}
    ax.legend(handles=handles, fontsize=10, **above)
    return figure


def looks() -> tuple[Figure, Figure]:
    """Probability of the nouns, and by how much the shift changes in each pair, with looks cut."""
    one, ax = panel(4.5, 2.7)
    two, beside = panel(3.1, 2.7)
    found = real.stored()["looks"]
    for i, (ending, _, color) in enumerate(ENDINGS):
        sums = real_looks.summary(found[ending])
        for y, (cut, _) in enumerate(CUTS):
            place = y + 0.24 * (i - 0.5)
            _interval(ax, sums[cut]["p"], place, color)
            if cut == "whole":
                continue
            pairs = real_looks.changed(found[ending], cut)
            beside.plot(pairs, [place] * len(pairs), "o", color=color, alpha=0.3, ms=4, mec="none")
            lost, half = sums[cut]["lost"]
            _interval(beside, [-lost, half], place, color)
        beside.axvline(-sums["whole"]["shift"][0], color=color, linewidth=1, linestyle="--")
    beside.axvline(0, color=QUIET, linewidth=0.8)
    beside.text(
        -0.66, -0.25, "all lost", fontsize=10, ha="center", va="center", backgroundcolor="w"
    )
    ax.set_yticks(range(len(CUTS)), [name for _, name in CUTS])
    beside.set_yticks(range(len(CUTS)), [""] * len(CUTS))
    for each in (ax, beside):
        each.set(ylim=(3.5, -0.5))
    ax.set(xlim=(0, 0.22), title="probability of the nouns")
    beside.set(xlim=(-2.5, 1.3), title="change of the shift, by pair")
    (_, one_name, blue), (_, other_name, red) = ENDINGS
    ax.text(0.097, -0.16, one_name, color=blue, fontsize=10, va="center")
    ax.text(0.166, 0.42, other_name, color=red, fontsize=10, ha="center", va="center")
    return one, two


def _interval(ax: Axes, found: list[float], y: float, color: str) -> None:
    mean, half = found
    ax.errorbar(mean, y, xerr=half, fmt="o", color=color, ms=5, lw=1.8, capsize=3)


def patched() -> Figure:
    """The share of the shift that one vector brings along, by block and by place."""
    figure, ax = blank(WIDE, 3.0)
    ax.set_aspect("auto")
    shares = real.stored()["patched"]
    table = np.array([shares[name] for name in real_looks.PLACES])
    squares(ax, table, color=PURPLE, most=1.0)
    look: Any = {"ha": "center", "va": "center", "color": INK}
    for (row, layer), share in np.ndenumerate(table):
        if share >= 0.05 or real_looks.PLACES[row] == "it":
            shown = f"{share:.2f}".lstrip("0") if share else "0"
            ax.text(layer + 0.5, row + 0.5, shown, fontsize=11, **look)
    swapped = f"{real_looks.ANECDOTE.means_first} → {real_looks.ANECDOTE.means_second}"
    for row, name in enumerate(real_looks.PLACES):
        label = swapped if name == "adjective" else name
        ax.text(-0.2, row + 0.5, label, ha="right", va="center", fontsize=12)
    for layer in range(table.shape[1]):
        ax.text(layer + 0.5, -0.1, str(layer), ha="center", va="bottom", fontsize=11)
    ax.text(-0.2, -0.1, "after block", ha="right", va="bottom", fontsize=11)
    ax.set(xlim=(-2.8, table.shape[1]), ylim=(len(table) + 0.05, -0.75))
    return figure
