"""Figures of chapter 10: the block and the stack."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from tformer.models.known import GPT, GPT2, LLAMA, SMOL
from tformer.models.sizes import count_parameters
from tformer_book.chapters.ch10 import broken, learn, lists, real, start
from tformer_book.figures.style import (
    INK,
    KEY,
    ORANGE,
    PHONE,
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
from tformer_book.figures.tables import blank, mark, squares
from tformer_book.world.sources import slips

NAMED = ("animal", "street", "horse", "dog", "river", "road")


def strip(before: bool = False) -> Figure:
    """What the trained model expects after both stories of the pair that it never saw."""
    figure, ax = blank(10.4, 1.5)
    found = learn.stored()["free"][0]
    for left, (last, told) in zip((0.0, 14.5), learn.PROMPTS.items(), strict=True):
        cure = told.split()[-2]
        shares = [0.0 if before else found[last]["p"].get(noun, 0.0) for noun in NAMED]
        ax.text(left, -0.4, f"… too {last} . so they {cure} the …", fontsize=13, fontweight="bold")
        squares(ax, np.array([shares]), (left, 0), VALUE, 1.0, (2.2, 1.3))
        for j, (noun, share) in enumerate(zip(NAMED, shares, strict=True)):
            x = left + 2.2 * (j + 0.5)
            text = "?" if before else f"{share:.3f}".lstrip("0") if share > 0.0005 else ""
            ax.text(x, 0.65, text, ha="center", va="center", fontsize=12, color=INK)
            ax.text(x, 1.75, noun, ha="center", va="center", fontsize=11)
    ax.set(xlim=(-0.2, 28.0), ylim=(2.2, -1.2))
    return figure


def assembled() -> Fitting:
    """A decoder from words to logits, one block in full, and the tables that flow through it."""
    return Fitting(_lying(), _upright())


def _lying() -> Figure:
    figure, ax = blank(WIDE, 5.3)
    stream = (1.4, 2.2, 3.6, 9.7, 10.3, 15.5, 16.1, 19.6, 21.4, 21.7, 23.5, 24.2)
    for begin, end in zip(stream[::2], stream[1::2], strict=True):
        ax.plot([begin, end], [3, 3], color=INK, linewidth=3)
    ax.plot(24.2, 3, ">", color=INK, markersize=9)
    ax.text(0.4, 3, "words", ha="center", va="center", fontsize=16)
    _box(ax, 2.9, 3, "E", QUIET, 0.7, 15)
    frame = FancyBboxPatch((4.7, 0.2), 12.1, 3.7, boxstyle="round,pad=0,rounding_size=0.3")
    frame.set(facecolor="none", edgecolor=QUIET, linestyle="--", linewidth=1.3)
    ax.add_patch(frame)
    for left, name in ((5.3, "attention"), (11.1, "feed-forward")):
        for x, y in (
            ([left, left, left + 0.35], [3, 1, 1]),
            ([left + 1.55, left + 1.8], [1, 1]),
            ([left + 4.4, left + 4.7, left + 4.7], [1, 1, 2.72]),
        ):
            ax.plot(x, y, color=QUIET, linewidth=1.6)
        _box(ax, left + 0.95, 1, "norm", QUIET, 0.6, 14)
        _box(ax, left + 3.1, 1, name, INK, 1.3, 14)
        ax.plot(left + 4.7, 3, "o", color="none", markeredgecolor=INK, markersize=18)
        ax.text(left + 4.7, 3.02, "+", ha="center", va="center", fontsize=14)
    _box(ax, 20.5, 3, "norm", QUIET, 0.9, 15)
    _box(ax, 22.6, 3, "$E^\\top$", QUIET, 0.9, 15)
    ax.text(10.7, 3.78, "a block", ha="center", va="bottom", fontsize=15, color=QUIET)
    ax.text(18.2, 2.8, "L − 1 more", ha="center", va="bottom", fontsize=15, color=QUIET)
    ax.text(25.4, 3, "logits", ha="center", va="center", fontsize=16)
    _tables(ax)
    ax.set(xlim=(-0.5, 26.5), ylim=(10.2, 0))
    return figure


def _tables(ax: Axes, top: float = 4.6, side: float = 0.36) -> None:
    """Below the decoder, the tables that it makes of a text; the vector of "it" is filled."""
    words, weights = broken.looks()
    n, it = len(words), words.index("it")
    for t, word in enumerate(words):
        bold = "bold" if t == it else "normal"
        look: Any = {"ha": "right", "va": "center", "fontsize": 13, "fontweight": bold}
        ax.text(1.8, top + side * (t + 0.5), word, **look)
    for middle, width, shape, color in (
        (2.9, 1.8, "$T \\times d$", QUIET),
        (8.4, n * side, "$T \\times T$, for each head", WEIGHT),
        (14.2, 3.2, "$T \\times d_{ff}$", QUIET),
        (18.2, 1.8, "$T \\times d$", QUIET),
        (23.3, 4.0, "$T \\times N$", QUIET),
    ):
        left = middle - width / 2
        ax.text(middle, top + n * side + 0.15, shape, ha="center", va="top", fontsize=15)
        if color == WEIGHT:
            for t, row in enumerate(weights):
                squares(ax, row[None, : t + 1], (left, top + side * t), color, 1.0, (side, side))
        else:
            box = Rectangle((left, top), width, n * side, linewidth=1.3)
            box.set(facecolor="none", edgecolor=color)
            ax.add_patch(box)
            own = Rectangle((left, top + it * side), width, side, linewidth=0)
            own.set(facecolor=color, alpha=0.7)
            ax.add_patch(own)
    frame = Rectangle((8.4 - n * side / 2, top + it * side), (it + 1) * side, side, linewidth=1.5)
    frame.set(facecolor="none", edgecolor=INK)
    ax.add_patch(frame)


def _upright() -> Figure:
    """The same from top to bottom, for a phone; each table stands beside what makes it."""
    figure, ax = blank(PHONE, 5.1)
    figure.set_layout_engine("constrained", w_pad=0.01, h_pad=0.01)
    look: Any = {"ha": "center", "va": "center", "fontsize": 9}
    frame = FancyBboxPatch((0.1, 2.7), 4.4, 6.3, boxstyle="round,pad=0,rounding_size=0.3")
    frame.set(facecolor="none", edgecolor=QUIET, linestyle="--", linewidth=1)
    ax.add_patch(frame)
    stream = (0.7, 1.2, 2.0, 5.28, 5.92, 8.28, 8.92, 9.4, 10.1, 10.6, 11.4, 11.8, 12.6, 13.0)
    for begin, end in zip(stream[::2], stream[1::2], strict=True):
        ax.plot([1.1, 1.1], [begin, end], color=INK, linewidth=2.2)
    for y, text in ((0.35, "words"), (9.75, "L − 1 more"), (13.4, "logits")):
        ax.text(1.1, y, text, **look)
    ax.text(4.3, 8.75, "a block", color=QUIET, **look | {"ha": "right"})
    for y, text, half in ((1.6, "E", 0.6), (11.0, "norm", 0.75), (12.2, "$E^\\top$", 0.6)):
        _box(ax, 1.1, y, text, QUIET, half, 9)
    for top, name in ((3.4, "attention"), (6.4, "feed-forward")):
        for across, down in (
            ([1.1, 2.25], [top, top]),
            ([3.0, 3.0], [top + 0.4, top + 0.75]),
            ([3.0, 3.0, 1.42], [top + 1.55, top + 2.2, top + 2.2]),
        ):
            ax.plot(across, down, color=QUIET, linewidth=1.3)
        _box(ax, 3.0, top, "norm", QUIET, 0.75, 9)
        _box(ax, 3.0, top + 1.15, name, INK, 1.3, 9)
        ax.plot(1.1, top + 2.2, "o", color="none", markeredgecolor=INK, markersize=13)
        ax.text(1.1, top + 2.22, "+", **look)
    words, weights = broken.looks()
    it, side = words.index("it"), 0.33
    for t, (word, row) in enumerate(zip(words, weights, strict=True)):
        y, bold = 2.7 + side * t, "bold" if t == it else "normal"
        place: Any = {"ha": "right", "fontsize": 8.3, "fontweight": bold}
        ax.text(6.2, y + side / 2, word, **look | place)
        squares(ax, row[None, : t + 1], (6.3, y), WEIGHT, 1.0, (side, side))
    own = Rectangle((6.3, 2.7 + it * side), (it + 1) * side, side, fc="none", ec=INK, lw=1.2)
    ax.add_patch(own)
    ax.text(6.3, 7.3, "$T \\times T$, for each head", **look | {"ha": "left"})
    for middle, width, shape in (
        (1.6, 1.0, "$T \\times d$"),
        (8.5, 1.8, "$T \\times d_{ff}$"),
        (11.0, 1.0, "$T \\times d$"),
        (13.0, 2.3, "$T \\times N$"),
    ):
        ax.add_patch(Rectangle((6.3, middle - 0.75), width, 1.5, fc="none", ec=QUIET))
        y = middle - 0.75 + 1.5 * it / len(words)
        ax.add_patch(Rectangle((6.3, y), width, 1.5 / len(words), fc=QUIET, lw=0, alpha=0.7))
        ax.text(6.5 + width, middle, shape, **look | {"ha": "left"})
    ax.set(xlim=(0, 10.7), ylim=(13.9, 0))
    return figure


def _box(
    ax: Axes, x: float, y: float, text: str, color: str, half: float, size: float = 12
) -> None:
    look: Any = {"boxstyle": "round,pad=0,rounding_size=0.15", "linewidth": size / 6}
    box = FancyBboxPatch((x - half, y - 0.4), 2 * half, 0.8, **look)
    box.set(facecolor="none", edgecolor=color)
    ax.add_patch(box)
    ax.text(x, y, text, ha="center", va="center", fontsize=size)


TITLES = {
    "x": "X", "values": "V", "scores": "S", "weights": "A", "outputs": "Y = A V",
    "sum": "X + Y", "normed": "normed", "inner": "into the layer", "hidden": "ReLU",
    "layer": "the layer adds", "sum 2": "sum", "rows": "normed again",
}  # fmt: skip


def beside() -> Figure:
    """Every table of "Buy milk and", and below a number what was printed if it is not that."""
    figure, ax = blank(10.4, 3.6)
    right = lists.PRINTED.right()
    wrong = {(one.table, one.row, one.column): one for one in slips(lists.PRINTED)}
    top, left, widest = 0.0, 2.0, 0.0
    for name, title in TITLES.items():
        table = right[name]
        if name == "sum":
            top, left = 5.2, 2.0
        ax.text(left, top - 0.3, title, fontsize=12.5, fontweight="bold")
        for (i, j), value in np.ndenumerate(table):
            x, y = left + 1.75 * (j + 0.5), top + 1.4 * (i + 0.5)
            slip = wrong.get((name, i, j))
            bad = slip is not None and abs(float(slip.printed) - slip.right) > 0.5
            text = f"{value:.4f}".rstrip("0").rstrip(".").replace("-", "−")
            hidden = name == "weights" and j > i
            if slip:
                box = Rectangle((x - 0.82, y - 0.6), 1.64, 1.2, linewidth=0)
                box.set(facecolor=WRONG if bad else QUIET, alpha=0.35 if bad else 0.2)
                ax.add_patch(box)
                printed = slip.printed.replace("-", "−")
                ax.text(x, y + 0.34, printed, ha="center", va="center", fontsize=10, color=INK)
            place = (x, y - (0.2 if slip else 0))
            ax.text(*place, "" if hidden else text, ha="center", va="center", fontsize=12)
        left += 1.75 * table.shape[1]
        widest, left = max(widest, left), left + 0.75
    for top in (0.0, 5.2):
        for i, word in enumerate(("Buy", "milk", "and")):
            ax.text(1.7, top + 1.4 * (i + 0.5), word, ha="right", va="center", fontsize=13)
    ax.set(xlim=(0, widest + 0.1), ylim=(9.6, -1.0))
    return figure


def bill() -> tuple[Figure, Figure]:
    """Parameters by part of two models; operations a word against the length of the text."""
    one, ax = panel(3.3, 2.7)
    models = (("GPT-2 small", GPT2, GPT), ("SmolLM2-135M", SMOL, LLAMA))
    for y, (_, sizes, c) in enumerate(models):
        left, d = 0.0, sizes.d_model
        attention = 2 * d * sizes.head_width * (sizes.n_heads + sizes.groups) * sizes.n_layers
        layers = d * sizes.d_ff * (3 if sizes.gated else 2) * sizes.n_layers
        total, words = count_parameters(sizes, c), sizes.n_vocab * d
        parts: tuple[tuple[str, int, str], ...] = (
            ("E", words, VALUE),
            ("attention", attention, QUERY),
        )
        parts += (("feed-forward", layers, ORANGE), ("", total - words - attention - layers, QUIET))
        for name, count, color in parts:
            width = count / 1e6
            ax.barh(y, width, left=left, color=color, alpha=0.6, height=0.6)
            if name:
                ax.text(left + width / 2, y, f"{width:.0f}", ha="center", va="center", fontsize=9)
                if y == 0:
                    ax.text(left + width / 2, -0.48, name, ha="center", fontsize=8)
            left += width
    names = [name for name, *_ in models]
    ax.set(ylim=(1.5, -0.85), yticks=(0, 1), yticklabels=names, xlabel="millions of parameters")
    ax.grid(visible=False, axis="y")
    two, cost = panel(3.3, 2.7)
    lengths = np.geomspace(64, 65536, 41)
    d, depth = GPT2.d_model, GPT2.n_layers
    matrices = 2 * (12 * depth * d * d + GPT2.n_vocab * d) / 1e6 + 0 * lengths
    looks = 4 * depth * d * lengths / 1e6
    for values, name, color in ((matrices, "matrices", ORANGE), (looks, "looking", QUERY)):
        cost.plot(lengths, values, color=color, label=name)
    cost.set(xscale="log", yscale="log", xlabel="words of the text", xlim=(64, 4e5))
    cost.set(title="million operations a word", xticks=(100, 1000, 10000))
    label_ends(cost)
    return one, two


def starts() -> tuple[Figure, Figure]:
    """Vectors at the start against depth; what a tied model and an untied one expect first."""
    one, ax = panel(3.3, 2.6)
    for narrow, name, color in ((False, "one spread", KEY), (True, "÷ √(2 L)", VALUE)):
        values = [start.growth(depth, narrow) for depth in start.DEPTHS]
        ax.plot(start.DEPTHS, values, "o-", color=color, label=name, markersize=4)
    ax.set(xscale="log", yscale="log", xlabel="blocks, L", title="mean square of the vectors")
    ax.set(xlim=(0.9, 160), xticks=start.DEPTHS, xticklabels=start.DEPTHS)
    ax.minorticks_off()
    label_ends(ax)
    two, bars = panel(3.3, 2.6)
    models = {"tied, silent": (True, 0), "tied, 1 block": (True, 1), "untied, 1 block": (False, 1)}
    values = [start.first_guess(*one)[0] for one in models.values()]
    bars.barh(range(3), values, color=(VALUE, VALUE, QUIET), alpha=0.7, height=0.55)
    for y, value in enumerate(values):
        bars.text(value + 0.02, y, f"{value:.4f}".lstrip("0"), va="center", fontsize=10)
    bars.set(yticks=range(3), yticklabels=models, xlim=(0, 1.12), ylim=(2.6, -0.6))
    bars.set(xticks=(0, 0.5, 1))
    bars.set(title="p of the word just read")
    bars.grid(visible=False, axis="y")
    return one, two


def answers() -> tuple[Figure, Figure]:
    """The probability of the right noun for five drawings, with free attention and equal shares."""
    made = []
    for last, noun in (("tired", "animal"), ("wide", "street")):
        figure, ax = panel(3.3, 2.2)
        for y, (kind, color) in enumerate(zip(learn.KINDS, (QUERY, QUIET), strict=True)):
            p = [one[last]["p"].get(noun, 0.0) for one in learn.stored()[kind]]
            ax.plot(p, [y] * len(p), "o", color=color, markersize=9, alpha=0.5)
        ax.set(yticks=(0, 1), yticklabels=("free", "equal shares"), ylim=(1.6, -0.6))
        ax.set(xlim=(-0.04, 1.04), title=f"… too {last}: p of {noun}")
        made.append(figure)
    return made[0], made[1]


def looks() -> Figure:
    """After the story with *wide*: what the last word looks at, and what *too* has looked at."""
    figure, ax = blank(10.4, 2.9)
    words = learn.PROMPTS["wide"].split()
    free, equal = (learn.stored()[kind][0]["wide"] for kind in learn.KINDS)
    rows = {"block 1, “too”": (0.0, free["too"][0]), "block 1, last": (1.15, free["looks"][0])}
    rows["block 2, last"] = (2.7, free["looks"][1])
    rows["equal shares"] = (4.25, equal["looks"][1])
    for name, (y, shares) in rows.items():
        squares(ax, np.array([shares]), (0, y), WEIGHT, 1.0, (1.5, 1))
        ax.text(-0.3, y + 0.5, name, ha="right", va="center", fontsize=11)
        for j, share in enumerate(shares):
            text = f"{share:.2f}".lstrip("0") if share >= 0.045 else ""
            ink = "#111111" if share > 0.6 else INK
            ax.text(1.5 * (j + 0.5), y + 0.5, text, ha="center", va="center", fontsize=9, color=ink)
    for j, word in enumerate(words):
        look: Any = {"rotation": 55, "ha": "left", "va": "bottom", "fontsize": 11}
        ax.text(1.5 * (j + 0.3), -0.15, word, **look)
    ax.set(xlim=(-4.2, 1.5 * len(words) + 1.2), ylim=(5.35, -2.4))
    return figure


def odds() -> Figure:
    """Log-odds of two nouns in the real model: under two adjectives or cures, and without."""
    figure, ax = panel(5.5, 2.6)
    found, labels = real.stored(), []
    rows = [(nouns, names, found["odds"][text]) for text, (nouns, names) in real.PAIRS.items()]
    cures = found["cured"]
    rows.append((("animal", "street"), (*cures,), [one[0] for one in cures.values()]))
    for y, (nouns, names, (one, two, *bare)) in enumerate(rows):
        ax.plot([one, two], [y, y], color=QUIET, linewidth=1.5)
        marks = ((one, VALUE, "o", names[0], 7.8), (two, KEY, "s", names[1], 11.4))
        for off, (value, color, marker, name, at) in zip((-0.15, 0.15), marks, strict=True):
            ax.plot([value, at], [y + off, y], marker, color=color, markersize=8)
            ax.text(at + 0.55, y, name, color=color, va="center", fontsize=11)
        for value in bare or [one[1] for one in cures.values()]:
            ax.plot(value, y, "|", color=INK, markersize=17, markeredgewidth=1.6)
        labels.append(" over ".join(nouns))
    ax.axvline(0, color=INK, linewidth=1)
    ax.set(yticks=range(4), yticklabels=labels, ylim=(3.6, -0.6), xlim=(-7, 15.5))
    ax.set(xticks=range(-6, 7, 2))
    ax.spines["bottom"].set_bounds(-7, 7)
    ax.set_xlabel("log-odds; left of 0 the second noun is likelier", loc="left")
    ax.grid(visible=False, axis="y")
    return figure


def wrong() -> Figure:
    """Where the last word looks in block 2, and what it says: right, and after three mistakes."""
    figure, ax = blank(4.8, 2.1)
    ax.set_aspect("auto")
    words = learn.PROMPTS["wide"].split()
    found = broken.rows()
    right = next(iter(found.values()))
    for i, (name, one) in enumerate(found.items()):
        y = i + 0.4 * (i > 0)
        ax.text(-0.3, y + 0.5, name, ha="right", va="center", fontsize=10)
        unseen = len(words) - len(one.weights)
        squares(ax, one.weights[None], (unseen, y), WEIGHT, 1.0)
        if unseen:
            mark(ax, 0, y, missing=True, width=unseen)
        for k in np.flatnonzero(np.abs(one.weights - right.weights[unseen:]) > 0.1):
            mark(ax, unseen + float(k), y)
        color = WRONG if one.p < right.p else INK
        said = f"{one.says} {one.p:.2f}".replace("0.", ".")
        ax.text(18.3, y + 0.5, said, va="center", fontsize=10, color=color)
    for j, word in enumerate(words):
        bold = "bold" if j == len(words) - 1 else "normal"
        ax.text(j - 0.2, -0.1, word, rotation=60, va="bottom", fontsize=10, fontweight=bold)
    ax.set(xlim=(-7.8, 23.6), ylim=(4.45, -3.2))
    return figure
