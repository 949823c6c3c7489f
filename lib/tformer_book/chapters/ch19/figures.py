"""Figures of chapter 19."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tformer_book.chapters.ch19.adder import FOLDS
from tformer_book.chapters.ch19.claims import random_heads
from tformer_book.chapters.ch19.claims_turing import scores
from tformer_book.chapters.ch19.machines import machine
from tformer_book.chapters.ch19.stream import run
from tformer_book.chapters.ch19.turing import STREAM, Machine, layers
from tformer_book.figures import strips
from tformer_book.figures.style import (
    BLUE,
    GREEN,
    INK,
    PANEL_WIDTH,
    QUIET,
    VERMILLION,
    WEIGHT,
    WIDE,
    WRONG,
    Fitting,
    label_ends,
    panel,
)
from tformer_book.figures.tables import blank, squares, table

STEPS = 24
"""Steps of the beaver of four states that the ledger shows."""


def stream(
    one: Machine, steps: int, word: Sequence[int] = (), **settings: Any
) -> tuple[list[str], dict[str, np.ndarray]]:
    """The tokens of a run after BOS, and the columns that the layers write there, by name."""
    text = one.simulate(word, steps)[0]
    tokens = [*one.prompt(word), *(one.names.index(name) for name in text)]
    y = run(one.embedding[tokens], layers(**settings))[1:]
    return [one.vocabulary[i] for i in tokens[1:]], dict(zip(STREAM.names, y.T, strict=True))


def strip(told: bool = True) -> Fitting:
    """The run of the beaver of two states, and what the two layers find at each token."""
    names, found = stream(machine("beaver 2"), 6)
    lines = [
        strips.Line("head at cell", found["P"], True, BLUE, 2, 0),
        strips.Line("cell holds", found["cell"], True, GREEN, 1, 0),
    ]
    return strips.strip(names, lines, told, len(names) - 1)


def sink() -> Figure:
    """What a head returns for n equal keys, with sinks of three sizes and without one."""
    figure, ax = panel(2 * PANEL_WIDTH, 2.7)
    n = np.arange(0, 33)
    for m, color, name in (
        (2.0**80, GREEN, "sink M = 2⁸⁰"),
        (64.0, BLUE, "M = 64"),
        (16.0, VERMILLION, "M = 16"),
    ):
        ax.plot(n, n * m / (m + n), color=color, label=name)
    ax.plot(n[1:], np.ones(32), color=QUIET, label="no sink")
    ax.set(xlabel="keys that count, n", ylabel="read by the head", xlim=(0, 32), ylim=(0, 33))
    label_ends(ax)
    return figure


def parity() -> Figure:
    """Bits, the count that layer 1 writes, and the positions from which layer 2 fetches a sign."""
    bits = [1, 0, 1, 1, 0, 1]
    counts = np.cumsum(bits)
    figure, ax = blank(2 * PANEL_WIDTH, 3.0)
    squares(ax, np.array([[0.0, *bits]]), (0, 0), most=1)
    squares(ax, np.array([[0.0, *counts]]), (0, 1.2), BLUE, most=8)
    squares(ax, np.array([[(-1.0) ** t for t in range(7)]]), (0, 4), GREEN, most=1)
    for t in range(7):
        middle: Any = {"ha": "center", "va": "center", "fontsize": 10}
        ax.text(t + 0.5, -0.3, "BOS" if t == 0 else str(t), color=QUIET, **middle)
        if t:
            ax.text(t + 0.5, 0.5, str(bits[t - 1]), **middle)
            ax.text(t + 0.5, 1.7, str(counts[t - 1]), **middle)
            place: Any = {"color": WEIGHT, "lw": 1.4}
            ax.plot([t + 0.5, counts[t - 1] + 0.5], [2.25, 3.95], **place)
        ax.text(t + 0.5, 4.5, "+1" if t % 2 == 0 else "−1", **middle)
    for y, name in ((0.5, "bit"), (1.7, "layer 1: ones so far"), (4.5, "sign at this position")):
        ax.text(-0.3, y, name, ha="right", va="center", fontsize=10)
    ax.set(xlim=(-5, 7.1), ylim=(5.1, -0.7))
    return figure


def bag() -> tuple[Figure, Figure]:
    """The last row for abca and acba after one random layer and after two."""
    rng = np.random.default_rng(4)
    table, first, second = (
        2 * rng.normal(size=(3, 6)),
        random_heads(rng, 6, 2),
        random_heads(rng, 6, 2),
    )
    x = table[[[0, 1, 2, 0], [0, 2, 1, 0]]]
    drawn = []
    for heads, title in (([first], "one layer"), ([first, second], "two layers")):
        y = run(x, heads)[:, -1]
        figure, ax = blank(PANEL_WIDTH, 1.3)
        squares(ax, y, color=BLUE, most=4)
        for i, word in enumerate(("abca", "acba")):
            ax.text(-0.2, i + 0.5, word, ha="right", va="center", fontsize=11)
            for j, value in enumerate(y[i]):
                text = f"{value:.1f}".replace("-", "−")
                ax.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=9)
        ax.set_title(title)
        ax.set(xlim=(-1.6, 6.1), ylim=(2.1, -0.1))
        drawn.append(figure)
    return drawn[0], drawn[1]


def columns() -> tuple[Figure, Figure]:
    """The text of 6 + 3 = in columns, with the weights of one query; and the sawtooth."""
    text, n = "0110 + 1100 = 1001", 4
    bits = [int(x) for x in text.replace("+", "0").replace("=", "0").replace(" ", "")]
    left, ax = blank(PANEL_WIDTH, 2.6)
    for row, (name, start) in enumerate((("6 +", 0), ("3 =", n + 1), ("sum", 2 * n + 2))):
        ax.text(-0.3, row + 0.5, name, ha="right", va="center", fontsize=11)
        for i in range(n + 1 if row < 2 else n):
            shade = {1: 0.33, 2: 1.0}.get(i, 0.0) if row < 2 or i < 2 else 0.0
            squares(ax, np.array([[shade]]), (i, row), WEIGHT, most=1)
            sign = ("+", "=")[row] if i == n and row < 2 else str(bits[start + i])
            hidden = row == 2 and i > 1
            ax.text(i + 0.5, row + 0.5, "?" if hidden else sign, ha="center", va="center")
    for i in range(n + 1):
        ax.text(i + 0.5, -0.25, f"2{'⁰¹²³'[i]}" if i < n else "", ha="center", color=QUIET)
    ax.set(xlim=(-1.5, 5.1), ylim=(3.1, -0.6))
    right, ax = panel(PANEL_WIDTH, 2.6)
    v = np.linspace(-1.5, 16.5, 300)
    ax.plot(v, fold(v), color=QUIET, lw=1.2)
    ax.axhline(0, color=INK, lw=0.8)
    for both in range(3):
        for before in range(3):
            for bit in (0, 1):
                carry = (before + carry_in(before, bit)) // 2
                at = 6 * both + 2 * before - bit
                one = (both + carry) % 2
                look: Any = {"color": GREEN if one else BLUE, "marker": "o" if one else "s"}
                ax.plot(at, fold(np.array(at)), ms=5, **look)
    ax.set(xlabel="v", ylabel="logit of the next bit")
    return left, right


def carry_in(before: int, bit: int) -> int:
    """The carry into a column in which `before` ones stand above the bit of the sum."""
    return (bit - before) % 2


def fold(v: np.ndarray) -> np.ndarray:
    """The adder's sawtooth: v - 1.5, bent by its two ReLU units."""
    first, second = FOLDS
    return np.asarray(v - 1.5 - 2 * np.maximum(v - first, 0) + 2 * np.maximum(v - second, 0))


def embedding() -> Figure:
    """The rows of the beaver of two states in the columns that an embedding fills."""
    one = machine("beaver 2")
    names = ["A0", "A1", "B0", "B1", "GO", "BOS"]
    rows = one.embedding[[one.vocabulary.index(name) for name in names], :6]
    return table(rows, names, STREAM.names[:6], size=0.42)


def ledger(which: str = "beaver 4", steps: int = STEPS, word: Sequence[int] = ()) -> Figure:
    """A run in time and space: the head's path, the changes, and what the last token adds up."""
    names, found = stream(machine(which), steps, word)
    at, change = np.round(found["P"]), found["change"]
    wrote = at - found["move"]
    figure, ax = panel(WIDE, 4.2)
    t = np.arange(len(at))
    ax.plot(t, at, color=QUIET, lw=1, ls=":")
    asks, cell = t[-1], at[-1]
    ax.axhspan(cell - 0.35, cell + 0.35, color=WEIGHT, alpha=0.15, lw=0)
    for i, name in enumerate(names):
        if name == "GO":
            continue
        if change[i] == 0:
            ax.plot(i, wrote[i], "o", color=QUIET, ms=4)
            continue
        mine = wrote[i] == cell
        color = GREEN if change[i] > 0 else VERMILLION
        text = f"{change[i]:+.0f}".replace("-", "−")
        box: Any = {"boxstyle": "round,pad=0.2", "fc": "none", "ec": color, "lw": 2 if mine else 1}
        weight: Any = {"fontweight": "bold" if mine else "normal"}
        ax.text(i, wrote[i], text, color=color, ha="center", va="center", bbox=box, **weight)
        if mine:
            arc: Any = {"arrowstyle": "-", "color": WEIGHT, "connectionstyle": "arc3,rad=.25"}
            ax.annotate("", (i, cell + 0.3), (asks, cell + 0.3), arrowprops=arc)
    ax.plot(asks, cell, "D", color=BLUE, ms=8)
    ax.set_xticks(t, names, fontsize=9.6)
    cells = np.arange(at.min(), at.max() + 1)
    ax.set_yticks(cells, [f"{c:.0f}".replace("-", "−") for c in cells])
    ax.set(ylabel="cell", ylim=(at.min() - 0.7, at.max() + 0.7))
    return figure


def border() -> Figure:
    """What an address reads in float32 if only one cell, at most two away, holds 1."""
    at, steps = np.arange(4090, 4104), np.arange(-2, 3)
    got = np.exp([scores(at, at + step, 32.0, np.float32) for step in steps])
    figure, ax = blank(2 * PANEL_WIDTH, 2.3)
    squares(ax, np.minimum(got, 1), color=GREEN, most=1)
    for i, step in enumerate(steps):
        name = "itself" if step == 0 else f"{abs(step)} {'above' if step > 0 else 'below'}"
        ax.text(-0.2, i + 0.5, name, ha="right", va="center", fontsize=10)
        for j, value in enumerate(got[i]):
            if (value > 0.5) != (step == 0) or value > 1.5:
                look: Any = {"ha": "center", "va": "center", "fontsize": 11, "color": WRONG}
                ax.text(j + 0.5, i + 0.5, "×", fontweight="bold", **look)
    for j in range(0, len(at), 3):
        ax.text(j + 0.5, -0.2, f"{at[j]:,}", ha="center", va="bottom", fontsize=10)
    ax.set(xlim=(-2.2, len(at) + 0.1), ylim=(5.1, -1))
    return figure


def sensitivity() -> Figure:
    """The most by which one token moves a head's output, against the number of tokens."""
    figure, ax = panel(2 * PANEL_WIDTH, 2.7)
    n = np.geomspace(2, 1e5, 100)
    for b, color in ((0, QUIET), (2, BLUE), (4, GREEN)):
        ax.loglog(n, 2 / (1 + (n - 1) * np.exp(-2 * b)), color=color, label=f"B = {b}")
    ax.set(xlabel="tokens, n", ylabel="largest move, V = 1", xlim=(2, 1e5))
    label_ends(ax)
    return figure


def finite_sink() -> Figure:
    """The content that a bouncing machine reads, with finite sinks, over 1,500 steps."""
    figure, ax = panel(2 * PANEL_WIDTH, 2.7)
    for k, color in ((24, GREEN), (20, BLUE), (16, VERMILLION)):
        names, found = stream(machine("bounce"), 1500, k=k)
        right = [int(name[1:]) for name in names[1:]]
        error = np.maximum.accumulate(np.abs(found["cell"][:-1] - right))
        ax.semilogy(error + 1e-12, color=color, label=f"M = 2{_raised(k)}")
    ax.axhline(0.5, color=WRONG, lw=1, ls="--")
    ax.set(xlabel="step", ylabel="largest error so far", xlim=(0, 1500), ylim=(1e-7, 3))
    label_ends(ax)
    return figure


def _raised(number: int) -> str:
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(number))
