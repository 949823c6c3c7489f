"""Figures of chapter 21: boards, patches, sets, captions and graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tformer import reference
from tformer_book.chapters.ch21 import captions, graphs, grids, life_learnt, padded, recognise, sets
from tformer_book.chapters.ch21.images import digits, patches
from tformer_book.figures.style import (
    BLUE,
    COLUMN,
    GREEN,
    INK,
    ORANGE,
    PHONE,
    PURPLE,
    QUIET,
    VERMILLION,
    WEIGHT,
    WRONG,
    Fitting,
    label_ends,
    panel,
)
from tformer_book.figures.tables import blank, squares

Array = np.ndarray
KINDS = (
    ("board", "a cell", "none, or a bias", "neighbours, or none"),
    ("image", "a patch", "a table", "none"),
    ("set", "an element", "none", "none"),
    ("image and caption", "a patch, a word", "a table", "prefix, then causal"),
    ("graph", "a node", "none", "its edges"),
    ("series", "a few months", "a table", "none"),
    ("speech", "five frames", "a table, or none", "hides padding"),
)
"""Kind of data, token, positions, mask."""


def strip(told: bool = True) -> Fitting:
    """Seven kinds of data: what a token is; and, if `told`, the positions and the mask."""
    return Fitting(_kinds(told, COLUMN, 9.5, (0, 0.27, 0.53, 0.73)), _narrow(told))


def _kinds(told: bool, width: float, size: float, lefts: tuple[float, ...]) -> Figure:
    figure, ax = blank(width, 2.3)
    ax.set_aspect("auto")
    head = ("kind of data", "token", "positions", "mask")
    for y, row in enumerate((head, *KINDS)):
        for x, text in enumerate(row):
            hidden = y and x > 1 and not told
            style: Any = {"fontweight": "bold"} if y and x > 1 and told else {}
            color = QUIET if not y or hidden else INK
            ax.text(
                lefts[x],
                y,
                "?" if hidden else text,
                fontsize=size,
                color=color,
                va="center",
                **style,
            )
    ax.axhline(0.5, color=QUIET, linewidth=0.8)
    ax.set(xlim=(0, 1), ylim=(len(KINDS) + 0.5, -0.6))
    return figure


def _narrow(told: bool) -> Figure:
    figure, ax = blank(PHONE, 3.9)
    ax.set_aspect("auto")
    for y, (kind, token, positions, mask) in enumerate(KINDS):
        ax.text(0, 2 * y, f"{kind}: {token}", fontsize=8.6, va="center")
        more = f"positions {positions}; mask {mask}" if told else "positions ?  mask ?"
        ax.text(0.05, 2 * y + 0.85, more, fontsize=8.6, va="center", color=INK if told else QUIET)
    ax.set(xlim=(0, 1), ylim=(2 * len(KINDS) - 0.3, -0.8))
    return figure


def _cells(ax: Axes, board: Array, color: str = INK) -> None:
    """A board: a square for each cell, dark where it lives."""
    h, w = board.shape
    for r in range(h):
        for c in range(w):
            fc = color if board[r, c] else "none"
            ax.add_patch(Rectangle((c, r), 1, 1, fc=fc, ec=QUIET, lw=0.6))
    ax.set(xlim=(-0.1, w + 0.1), ylim=(h + 0.1, -0.1), aspect="equal")


@rc_context({"font.size": 13})
def rule() -> tuple[Figure, Figure]:
    """A glider with the neighbourhood that one cell sees; and what the four ReLUs make of u."""
    board = np.zeros((7, 7), dtype=int)
    board[1:4, 1:4] = grids.GLIDER
    left, ax = blank(3.4, 3.6)
    _cells(ax, board)
    ax.add_patch(Rectangle((1, 2), 3, 3, fc="none", ec=VERMILLION, lw=3))
    ax.add_patch(Rectangle((2, 3), 1, 1, fc="none", ec=VERMILLION, lw=1.5))
    right, ax = panel(4.6, 3.6)
    u = np.linspace(0, 17.5, 701)
    a, b, c, d = 4.25, 4.75, 7.25, 7.75
    relu = reference.relu
    ax.plot(u, 2 * (relu(u - a) - relu(u - b) - relu(u - c) + relu(u - d)), color=BLUE)
    n = np.arange(9)
    ax.plot(2 * n, (n == 3).astype(int), "o", color=INK, mfc="white", label="dead cell, u = 2k")
    alive = ((n == 2) | (n == 3)).astype(int)
    ax.plot(2 * n + 1, alive, "o", color=INK, label="living cell, u = 2k + 1")
    ax.set(xlabel="u = 18 m − a")
    ax.set(ylabel="alive next", yticks=(0, 1), xticks=range(0, 18, 2))
    ax.legend(loc="center right")
    return left, right


def learnt() -> tuple[Figure, ...]:
    """The weight of each offset after training, around the cell itself, for three seeds."""
    found = []
    for seed, run in enumerate(life_learnt.stored()):
        weights = np.roll(np.array(run["weights"]).reshape(8, 8), (3, 3), (0, 1))
        figure, ax = blank(2.5, 2.8)
        squares(ax, weights, color=WEIGHT, most=0.13)
        for r in range(2, 5):
            for c in range(2, 5):
                text = f"{weights[r, c]:.2f}"[1:]
                ax.text(c + 0.5, r + 0.5, text, ha="center", va="center", fontsize=9)
        ax.text(4, -0.4, f"seed {seed}", ha="center", fontsize=10)
        ax.set(xlim=(-0.1, 8.1), ylim=(8.1, -1))
        found.append(figure)
    return tuple(found)


def cut() -> tuple[Figure, Figure]:
    """A digit of the file, cut into sixteen patches, which then stand in a row."""
    image = digits()[0][7]
    left, ax = blank(2.5, 2.5)
    squares(ax, image, color=INK, most=1.0)
    for edge in (2, 4, 6):
        ax.plot((edge, edge), (0, 8), color=VERMILLION, linewidth=1.5)
        ax.plot((0, 8), (edge, edge), color=VERMILLION, linewidth=1.5)
    right, ax = blank(4.2, 2.5)
    for t, patch in enumerate(patches(image, 2)):
        r, c = divmod(t, 8)
        squares(ax, patch.reshape(2, 2), (2.6 * c, 3.8 * r), INK, most=1.0)
        ax.text(2.6 * c + 1, 3.8 * r + 2.75, str(t), ha="center", va="center", fontsize=10)
    ax.set(xlim=(-0.2, 20.4), ylim=(7.2, -0.3))
    return left, right


def _filled(ax: Axes, mask: Array) -> None:
    """A large mask: one rectangle for each run of cells of a row that are open."""
    m, n = mask.shape
    ax.add_patch(Rectangle((0, 0), n, m, fc="none", ec=QUIET, lw=0.8))
    for r, line in enumerate(mask):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], line, [0]])))
        for start, end in edges.reshape(-1, 2).tolist():
            ax.add_patch(Rectangle((start, r), end - start, 1, fc=WEIGHT, alpha=0.7, lw=0))


def _dots(ax: Axes, y: float, values: list[float], color: str) -> None:
    ax.plot(values, [y] * len(values), "o", color=color, markersize=7, alpha=0.8)


def recognised() -> Figure:
    """The share of right digits: nearest image, ridge regression, transformers."""
    told = recognise.stored()
    figure, ax = panel(COLUMN, 2.9)
    names = ("nearest image", "16 patches, positions", "linear, ridge", "16 patches, no positions")
    for kind, shift, color in (("file order", 0.14, BLUE), ("random", -0.14, ORANGE)):
        both = told[kind]
        rows = (
            [recognise.nearest(kind)],
            both["positions"],
            [recognise.linear(kind)],
            both["no positions"],
        )
        for y, values in enumerate(rows):
            _dots(ax, y + shift, values, color)
        ax.plot([], [], "o", color=color, label=f"split: {kind}")
    ax.set(yticks=range(4), yticklabels=names, xlabel="share of 597 digits that is right")
    ax.set(ylim=(3.5, -0.5))
    ax.legend(loc="lower center", bbox_to_anchor=(0.35, 0.2))
    return figure


def dispersed() -> tuple[Figure, Figure]:
    """The bound on the largest weight; and the errors on sets larger than those of training."""
    n = np.geomspace(2, 4096, 80)
    left, ax = panel(3.4, 3.0)
    for most, color in ((1, PURPLE), (2, BLUE), (3, GREEN)):
        ax.plot(n, 1 / (1 + (n - 1) * np.exp(-2.0 * most)), color=color, label=f"B = {most}")
    ax.set(xscale="log", xlabel="keys n", ylabel="largest weight, at most", ylim=(0, 1.02))
    label_ends(ax)
    right, ax = panel(3.4, 3.0)
    told = sets.stored()
    names = {"mean": "mean", "attention": "attention", "largest": "maximum"}
    for pool, color in (("mean", QUIET), ("attention", BLUE), ("largest", GREEN)):
        errors = np.array([[run[str(size)] for size in sets.SIZES] for run in told[pool]])
        for one in errors:
            ax.plot(sets.SIZES, one, color=color, linewidth=0.8, alpha=0.5)
        ax.plot(sets.SIZES, errors.mean(axis=0), color=color, label=names[pool])
    ax.set(xscale="log", yscale="log", xlabel="numbers of a set", ylabel="mean error")
    ax.set_xticks(sets.SIZES, [str(size) for size in sets.SIZES])
    ax.minorticks_off()
    label_ends(ax)
    return left, right


REMOVED = (
    ("nothing hidden", "as it is"),
    ("both digits hidden", "both digits hidden from words"),
    ("one empty corner hidden", "one empty corner hidden from words"),
    ("both empty corners hidden", "both empty corners hidden from words"),
)


@rc_context({"font.size": 13})
def captioned() -> tuple[Figure, Figure, Figure]:
    """A scene; the mask of its row; and how often the relation is right with patches hidden."""
    scene = captions.scenes(np.random.default_rng(2), 1, test=True)
    left, ax = blank(3.4, 3.9)
    ax.add_patch(Rectangle((0, 0), 16, 16, fc="none", ec=QUIET, lw=0.8))
    for (r, c), ink in np.ndenumerate(scene.images[0]):
        if ink:
            ax.add_patch(Rectangle((c, r), 1, 1, fc=INK, alpha=round(float(ink), 3), lw=0))
    for edge in (4, 8, 12):
        ax.plot((edge, edge), (0, 16), color=VERMILLION, linewidth=1)
        ax.plot((0, 16), (edge, edge), color=VERMILLION, linewidth=1)
    words = [captions.WORDS[i] for i in scene.captions[0]]
    for y, part in enumerate((words[:4], words[4:])):
        ax.text(8, 17 + 1.4 * y, " ".join(part), ha="center", va="center")
    ax.set(xlim=(-0.1, 16.1), ylim=(19.3, -0.1))
    middle, ax = blank(3.6, 3.9)
    _filled(ax, captions.row_mask())
    ax.plot((16, 16, 0), (0, 16, 16), color=INK, linewidth=0.8)
    ax.plot((16, 22), (16, 16), color=INK, linewidth=0.8)
    ax.plot((16, 16), (16, 22), color=INK, linewidth=0.8)
    for at, name in ((8, "16 patches"), (19, "6 words")):
        ax.text(at, -0.9, name, ha="center", va="center")
        ax.text(-0.9, at, name, ha="center", va="center", rotation=90)
    ax.set(xlim=(-1.8, 22.1), ylim=(22.1, -1.8))
    right, ax = panel(4.6, 3.6)
    for y, (_, key) in enumerate(REMOVED):
        _dots(ax, y, [run[key]["relation"] for run in captions.stored()], VERMILLION)
    ax.axvline(0.25, color=QUIET, linestyle=":")
    ax.text(0.26, -0.38, "guessing", color=QUIET)
    ax.set(yticks=range(4), yticklabels=[name for name, _ in REMOVED], xlim=(0.1, 1))
    ax.set(ylim=(3.5, -0.6), xlabel="share of right relations")
    return left, middle, right


def hops() -> tuple[Figure, ...]:
    """The mask of the karate club, and what two and three layers can see through it."""
    n, pairs = graphs.karate()
    apart = graphs.distances(n, pairs)
    found = []
    for layers in (1, 2, 3):
        figure, ax = blank(2.6, 3.0)
        _filled(ax, apart <= layers)
        seen = int((apart <= layers).sum())
        title = "1 layer" if layers == 1 else f"{layers} layers"
        ax.text(n / 2, -2, f"{title}: {seen:,} pairs", ha="center", va="center", fontsize=11)
        ax.set(xlim=(-0.1, n + 0.1), ylim=(n + 0.1, -4))
        found.append(figure)
    return tuple(found)


def wrong() -> Figure:
    """The bugs of the chapter on digits: the share that is right, three models or the first."""
    told = recognise.stored()
    rows = (
        ("as trained", told["file order"]["positions"], BLUE),
        ("no positions at all", told["file order"]["no positions"], WRONG),
        ("other order, same table", told["permuted in the test"], WRONG),
        ("other order, table moved too", told["file order"]["positions"], BLUE),
        ("48 empty tokens not hidden", [padded.right(False)], WRONG),
        ("48 empty tokens hidden", [padded.right(True)], BLUE),
    )
    figure, ax = panel(COLUMN, 3.2)
    for y, (_, values, color) in enumerate(rows):
        _dots(ax, y, values, color)
    ax.axvline(0.1, color=QUIET, linestyle=":")
    ax.set(yticks=range(len(rows)), yticklabels=[name for name, _, _ in rows], xlim=(0, 1))
    ax.set(ylim=(len(rows) - 0.5, -0.5), xlabel="share of 597 digits that is right")
    return figure
