"""The figures of chapter 16."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tformer import reference
from tformer.models import costs
from tformer.models.known import GPT2, LLAMA, SMOL
from tformer.models.sizes import count_parameters
from tformer_book.chapters.ch16 import measured, recall, row
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
    Fitting,
    label_ends,
    panel,
)
from tformer_book.figures.tables import blank, squares

SIZE = 4
"""Words of a block of the row."""
MODELS = (("GPT-2 small", GPT2, QUERY), ("SmolLM2-135M", SMOL, KEY))


def _short(x: float, digits: int = 2) -> str:
    return f"{x:.{digits}f}".replace("0.", ".", 1) if abs(x) < 1 else f"{x:.{digits}f}"


def strip(told: bool = True) -> Fitting:
    """The weights of the row; below them those of each block alone, or what is kept, if `told`."""
    if told:
        return Fitting(_kept(), _kept_narrow())
    scores = row.scores()
    alone = np.concatenate([reference.softmax(part) for part in scores.reshape(3, SIZE)])
    named = (("whole row", reference.softmax(scores)), ("blocks, alone", alone))
    lines = [Line(name, weights, digits=3) for name, weights in named]
    return strips.strip(row.WORDS, lines, asks=row.IT)


def _states() -> list[tuple[float, float]]:
    """The largest score and the sum, after each of the three blocks."""
    states = [row.after(row.scores(), SIZE, n + 1) for n in range(3)]
    return [(float(state.top[0]), float(state.total[0])) for state in states]


def _weight(ax: Axes, t: int, place: tuple[float, float], size: float) -> None:
    """One weight of the row as a square, with its word above."""
    weight = float(reference.softmax(row.scores())[t])
    x, y = place
    squares(ax, np.array([[weight]]), place, WEIGHT, most=1.0)
    bold = "bold" if t == row.IT else "normal"
    name: Any = {"ha": "center", "va": "bottom", "fontsize": size, "fontweight": bold}
    ax.text(x + 0.5, y - 0.1, row.WORDS[t], **name)
    if weight >= 0.005:
        look: Any = {"ha": "center", "va": "center", "fontsize": size, "color": INK}
        ax.text(x + 0.5, y + 0.5, _short(weight, 3), **look)


def _kept() -> Figure:
    figure, ax = blank(WIDE, 1.9)
    ax.set_aspect("auto")
    look: Any = {"ha": "center", "va": "center", "fontsize": 11, "color": INK}
    for t in range(len(row.WORDS)):
        _weight(ax, t, (t, 0), 11)
    for i, name in enumerate(("whole row", "largest so far", "sum so far")):
        ax.text(-0.1, i + 0.5, name, ha="right", va="center", fontsize=11)
    for n, state in enumerate(_states()):
        for i, x in enumerate(state, 1):
            place = (SIZE * n + 0.05, i + 0.08)
            ax.add_patch(Rectangle(place, SIZE - 0.1, 0.84, fc="none", ec=QUIET, linewidth=1.2))
            ax.text(SIZE * (n + 0.5), i + 0.5, f"{x:.2f}", **look)
    ax.set(xlim=(-1.7, 12), ylim=(3.05, -0.6))
    return figure


def _kept_narrow() -> Figure:
    """A block in each line, and what is kept after it on the right."""
    figure, ax = blank(PHONE, 2.0)
    ax.set_aspect("auto")
    look: Any = {"ha": "center", "va": "center", "fontsize": strips.SIZE, "color": INK}
    for i, name in enumerate(("largest", "sum")):
        ax.text(4.8 + 1.2 * i, -0.75, name, **look)
    for n, state in enumerate(_states()):
        y = 1.8 * n
        for t in range(SIZE):
            _weight(ax, SIZE * n + t, (t, y), strips.SIZE)
        for i, x in enumerate(state):
            place = (4.25 + 1.2 * i, y + 0.08)
            ax.add_patch(Rectangle(place, 1.1, 0.84, fc="none", ec=QUIET, linewidth=1.2))
            ax.text(4.8 + 1.2 * i, y + 0.5, f"{x:.2f}", **look)
    ax.set(xlim=(-0.05, 6.65), ylim=(4.7, -1.1))
    return figure


def shares() -> Figure:
    """Which share of the operations attention takes, against the length of the text."""
    figure, ax = panel(4.8, 2.8)
    lengths = np.unique(np.geomspace(64, 2**17, 60).astype(int))
    for name, sizes, color in MODELS:
        full = [costs.attention_share(sizes, int(n)) for n in lengths]
        half = [costs.attention_share(sizes, int(n), causal=True) for n in lengths]
        ax.plot(lengths, full, color=color, label=name)
        ax.plot(lengths, half, "--", color=color, linewidth=1.3)
        ax.plot(costs.attention_crossover_length(sizes), 0.5, "o", color=color)
    ax.axhline(0.5, color=QUIET, linewidth=0.8)
    ax.set(xscale="log", xlabel="words of the text", ylabel="share of attention", ylim=(0, 1))
    ax.legend(fontsize=10, loc="upper left")
    return figure


def tiles() -> Figure:
    """A table of scores that is never there: one block of it, and what each row keeps."""
    figure, ax = blank(4.8, 3.0)
    n, b = 12, 3
    for i in range(0, n, b):
        for j in range(0, n, b):
            later, now, done = j > i, (i, j) == (6, 3), i < 6 or (i == 6 and j < 3)
            look: Any = {"fc": QUIET, "alpha": 0.25} if done and not later else {"fc": "none"}
            style = ":" if later else "-"
            corner = (j + 0.08, i + 0.08)
            ax.add_patch(Rectangle(corner, b - 0.16, b - 0.16, ec=QUIET, ls=style, lw=1, **look))
            if now:
                ax.add_patch(Rectangle(corner, b - 0.16, b - 0.16, fc=WEIGHT, ec=INK, lw=1.5))
                ax.text(j + b / 2, i + b / 2, "now", ha="center", va="center", fontsize=11)
    ax.add_patch(Rectangle((-1.6, 6.08), 1.1, b - 0.16, fc=QUERY, alpha=0.7))
    ax.add_patch(Rectangle((3.08, -1.6), b - 0.16, 1.1, fc=KEY, alpha=0.7))
    for x, name, wide in ((12.7, "largest", 0.8), (14.6, "sum", 0.8), (16.3, "output", 2.6)):
        ax.add_patch(Rectangle((x, 6.08), wide, b - 0.16, fc=VALUE, alpha=0.55))
        ax.text(x + wide / 2, 5.7, name, ha="center", va="bottom", fontsize=10)
    ax.text(-1.9, 7.5, "queries", ha="right", va="center", fontsize=10)
    ax.text(4.5, -1.9, "keys, values", ha="center", va="bottom", fontsize=10)
    ax.text(15.8, 9.5, "kept for these rows", ha="center", va="top", fontsize=10)
    ax.set(xlim=(-4.6, 19.2), ylim=(12.2, -3))
    return figure


def against_naive() -> tuple[Figure, Figure]:
    """The stored measurement: times over the yardstick's, and memory beyond the output."""
    found = measured.stored()["lengths"]
    one, ax = panel(3.5, 2.7)
    names = (
        ("by the table", "definition", PURPLE),
        ("by one table used again", "one table, reused", QUIET),
        ("blockwise, running maximum", "running max.", INK),
        ("blockwise", "blockwise", VALUE),
    )
    for name, label, color in names:
        rows = [x for x in found if name in x["forward"]["seconds"]]
        n = [x["length"] for x in rows]
        took = [x["forward"]["seconds"] for x in rows]
        ax.plot(n, [x[name] / x["yardstick"] for x in took], "o-", color=color, label=label, ms=4)
    _by_length(ax, "time over the yardstick")
    two, most = panel(3.5, 2.7)
    for name, label, color in (names[0], names[-1]):
        for kind, style in (("forward", "-"), ("backward", "--")):
            n = [x["length"] for x in found]
            mib = [x[kind]["mib"][name] for x in found]
            most.plot(n, mib, f"o{style}", color=color, ms=4, label=f"{label}, {kind}")
    _by_length(most, "MiB beyond the result")
    most.set(yscale="log", ylim=(0.1, 2e5))
    most.legend(fontsize=8, loc="upper left")
    ax.set(ylim=(0, 8))
    ax.legend(fontsize=9, loc="upper right", ncols=2)
    return one, two


def _by_length(ax: Axes, title: str) -> None:
    ax.set(xscale="log", xlabel="words, T", title=title)
    ax.set_xticks([512, 2048, 8192], ["512", "2048", "8192"])
    ax.minorticks_off()


def roofline() -> Fitting:
    """Speed against operations a byte: the roof, and the products that were measured."""
    return Fitting(_roofline(WIDE, 3.6, 11), _roofline(PHONE, 3.0, strips.SIZE))


def _roofline(width: float, height: float, size: float) -> Figure:
    figure, ax = panel(width, height)
    found = measured.stored()["roof"]
    top, slope = found["flops"] / 1e9, found["bytes"] / 1e9
    x = np.geomspace(0.2, 400, 200)
    ax.plot(x, np.minimum(top, slope * x), color=INK, label="no faster than this")
    wide = measured.WIDE
    for n, took in found["products"]:
        at = 2 * n * wide**2 / (4 * (2 * n * wide + wide**2))
        speed = 2 * n * wide**2 / took / 1e9
        ax.plot(at, speed, "o", color=QUERY, ms=7, label="one matrix, n rows" if n == 1 else None)
        above = {"ha": "center", "va": "top", "xytext": (0, -8), "textcoords": "offset points"}
        ax.annotate(str(n), (at, speed), fontsize=size, **above)  # type: ignore[arg-type]
    ax.axvline(top / slope, color=QUIET, linewidth=0.8, linestyle=":")
    ax.set(xscale="log", yscale="log", xlim=(0.2, 400), ylim=(0.8, 80))
    ax.set_xlabel("operations for each byte that is moved", fontsize=size)
    ax.set_ylabel("billion operations a second", fontsize=size)
    ax.set_yticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"], fontsize=size)
    ax.set_xticks([1, 10, 100], ["1", "10", "100"], fontsize=size)
    ax.minorticks_off()
    ax.legend(fontsize=size, loc="lower right")
    return figure


def caches() -> Figure:
    """Bytes of the real model's cache, with its groups and without, and of its parameters."""
    figure, ax = panel(4.8, 2.7)
    lengths = np.array([256, 2**17])
    for groups, name, color in ((9, "9 groups, as heads", KEY), (3, "3 groups", VALUE)):
        a_word = costs.kv_cache_bytes(SMOL, 1) * groups / SMOL.groups
        ax.plot(lengths, a_word * lengths / 2**20, color=color, label=name)
    ax.axhline(2 * count_parameters(SMOL, LLAMA) / 2**20, color=QUIET, ls="--", lw=1.3)
    ax.text(300, 2.3 * count_parameters(SMOL, LLAMA) / 2**20, "parameters", fontsize=10)
    ax.set(xscale="log", yscale="log", xlabel="words, of all texts together", ylabel="MiB")
    ax.legend(fontsize=10, loc="lower right")
    return figure


def recalled() -> Figure:
    """The error of a pair that is asked for, against how many are stored."""
    figure, ax = panel(4.8, 2.8)
    sizes = [2, 4, 8, 12, 16, 20, 24, 32, 48, 64, 96]
    names = (("linear", "linear attention", KEY), ("best", "best table", QUERY))
    for kind, name, color in (*names, ("softmax", "softmax", WEIGHT)):
        ax.plot(sizes, [recall.error(kind, n) for n in sizes], "o-", color=color, label=name, ms=4)
    ax.axvline(recall.D, color=QUIET, linewidth=0.8, linestyle=":")
    ax.set(xlabel="pairs that are stored", ylabel="error of a pair", ylim=(-0.05, 1.05))
    ax.set(xlim=(0, 100))
    label_ends(ax)
    return figure


def patterns() -> Figure:
    """Which scores are computed: all of the past, a window, blocks that a layout names."""
    figure, ax = blank(4.8, 1.9)
    n = 12
    t, s = np.indices((n, n))
    met = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 1]], bool)
    layout = np.kron(met, np.ones((3, 3), bool))
    shown = {"all": s <= t, "window": (s <= t) & (s > t - 4), "blocks": (s <= t) & layout}
    for i, (name, mask) in enumerate(shown.items()):
        squares(ax, mask.astype(float), (14 * i, 0), most=1.4)
        ax.text(14 * i + 6, -0.6, f"{name}: {int(mask.sum())}", ha="center", fontsize=11)
    ax.set(xlim=(-0.5, 40.5), ylim=(12.5, -2))
    return figure


def wrong() -> Fitting:
    """The weights of the row, right and by two mistakes."""
    lines = [Line(name, weights, digits=3) for name, weights in mistakes().items()]
    return strips.strip(row.WORDS, lines, asks=row.IT)


def mistakes() -> dict[str, np.ndarray]:
    """Weights of the row from its blocks: merged, added without correction, averaged."""
    scores = row.scores()
    parts = row.blocks(scores, SIZE)
    added = sum(part.output[0] for part in parts) / sum(part.total[0] for part in parts)
    mean = sum(part.output[0] / part.total[0] for part in parts) / len(parts)
    return {"merged": reference.softmax(scores), "not corrected": added, "mean of blocks": mean}
