"""Figures of chapter 6: many heads."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tformer import reference
from tformer_book.chapters.ch06 import layers, slots, training
from tformer_book.experiments.intervals import median_interval
from tformer_book.figures.strips import SIZE
from tformer_book.figures.style import (
    INK,
    KEY,
    PHONE,
    PURPLE,
    QUERY,
    QUIET,
    SKY,
    VALUE,
    WEIGHT,
    WIDE,
    Fitting,
    panel,
)
from tformer_book.figures.tables import blank, squares, table
from tformer_book.world.lexicon import FEATURES, KINDS, embed, tokenise

HEADS = (PURPLE, SKY)
"""A colour for each of two heads, where heads are told apart."""
CUT = (PURPLE, SKY, VALUE)
"""The same for three heads beside weights, which are amber."""


def concatenated() -> tuple[Figure, Figure]:
    """Two heads' outputs times W_O: side by side, and as a sum of two products."""
    y = np.array([[2.0, 1], [1, 3]])
    blocks = np.array([[[1.0, 2, 0], [0, 1, 1]], [[2, 0, 1], [1, 1, 0]]])
    whole = np.einsum("hv,hvd->d", y, blocks)[None]
    first, ax = blank(3.3, 2.1)
    for h, color in enumerate(HEADS):
        _numbers(ax, y[h : h + 1], (2 * h, 1.5), color)
        _numbers(ax, blocks[h], (5, 2 * h), color)
    _numbers(ax, whole, (9.2, 1.5), QUIET)
    for x, sign in ((4.5, "·"), (8.6, "=")):
        ax.text(x, 2, sign, ha="center", va="center", fontsize=13)
    for x, y0, name in ((2, 1.3, "concatenated"), (6.5, -0.15, "all of it"), (10.7, 1.3, "output")):
        ax.text(x, y0, name, ha="center", va="bottom", fontsize=10)
    ax.set(xlim=(-0.2, 12.4), ylim=(4.2, -0.9))
    second, ax = blank(3.3, 2.1)
    for h, color in enumerate(HEADS):
        top = 2.6 * h
        _numbers(ax, y[h : h + 1], (1, top + 0.5), color)
        _numbers(ax, blocks[h], (4, top), color)
        _numbers(ax, y[h : h + 1] @ blocks[h], (8.2, top + 0.5), color)
        ax.text(3.5, top + 1, "·", ha="center", va="center", fontsize=13)
        ax.text(7.6, top + 1, "=", ha="center", va="center", fontsize=13)
        ax.text(0.6, top + 1, f"head {h + 1}", ha="right", va="center", fontsize=10, color=INK)
    ax.text(9.7, 2.3, "+", ha="center", va="center", fontsize=13)
    ax.set(xlim=(-2.2, 11.6), ylim=(5, -0.6))
    return first, second


def _numbers(ax: Axes, values: np.ndarray, place: tuple[float, float], color: str) -> None:
    """Draw a small matrix: squares of one colour with their numbers."""
    for (i, j), value in np.ndenumerate(values):
        corner = (place[0] + j + 0.05, place[1] + i + 0.05)
        ax.add_patch(Rectangle(corner, 0.9, 0.9, facecolor=color, alpha=0.35, linewidth=0))
        middle = (corner[0] + 0.45, corner[1] + 0.45)
        ax.text(*middle, f"{value:g}", ha="center", va="center", fontsize=10)


def six_rows() -> Fitting:
    """Where "it" looks in each of six heads and in their mean, for both last words."""
    return Fitting(_six_rows(WIDE, 4.9, digits=3), _six_rows(PHONE, 4.9, digits=2))


def _six_rows(width: float, height: float, digits: int) -> Figure:
    """Draw them with so many digits after the point; on a phone the words stand upright."""
    narrow = width == PHONE
    figure, ax = blank(width, height)
    ax.set_aspect("auto")
    left = 3.6 if narrow else 1.75  # squares
    size: Any = {"fontsize": SIZE} if narrow else {}
    top, words = 0.0, tokenise(layers.TIRED)
    for t, word in enumerate((*words[:-1], "last word")):
        bold = "bold" if word == "it" else "normal"
        look: Any = {"fontsize": 9.5, "rotation": 90} if narrow else {"fontsize": 11}
        ax.text(t + 0.5, -0.15, word, ha="center", va="bottom", fontweight=bold, **look)
    for sentence in (layers.TIRED, layers.WIDE):
        x, last = embed(tokenise(sentence)), sentence.split()[-1]
        rows = reference.multi_head_weights(x, layers.layer(layers.SIX))[:, words.index("it")]
        below, side = (-0.35, "left") if narrow else (3.7, "right")
        named: Any = {"fontsize": 11 if narrow else 13, "fontweight": "bold", "ha": side}
        ax.text(-left, top + below, last, va="center", **named)
        for i, row in enumerate((*rows, rows.mean(axis=0))):
            y, mean = top + i + 0.25 * (i == len(rows)), i == len(rows)
            squares(ax, row[None], (0, y), WEIGHT, most=1.0)
            name: Any = ("mean", "bold") if mean else (KINDS[i], "normal")
            ax.text(-0.12, y + 0.5, name[0], ha="right", va="center", fontweight=name[1], **size)
            for t, weight in enumerate(row):
                if weight >= 0.01:
                    text = f"{weight:.{digits}f}".lstrip("0").replace("1." + digits * "0", "1")
                    ax.text(t + 0.5, y + 0.5, text, ha="center", va="center", **size)
        top += len(rows) + 1.75
    ax.set(xlim=(-left - 0.1 if narrow else -2.7, 12), ylim=(top - 0.4, -3.6 if narrow else -0.9))
    return figure


def cut(heads: tuple[int, ...] = (1, 4, 8)) -> tuple[Figure, ...]:
    """One matrix cut into strips, and the tables of weights that come of it."""
    return tuple(_cut(n) for n in heads)


def _cut(n_heads: int, n: int = 8) -> Figure:
    figure, ax = blank(2.15, 2.5)
    ax.text(0, -0.6, f"{n_heads} head{'s' * (n_heads > 1)}", fontsize=11, fontweight="bold")
    for h in range(n_heads):
        width = n / n_heads
        corner = (h * width + 0.06, 0)
        shade = 0.25 + 0.45 * (h % 2)
        ax.add_patch(Rectangle(corner, width - 0.12, n, facecolor=QUERY, alpha=shade, linewidth=0))
    rng, side = np.random.default_rng(n_heads), 2.0
    for h in range(n_heads):
        left, top = (h % 4) * (side + 0.3), n + 1 + (h // 4) * (side + 0.3)
        a = reference.softmax(1.5 * rng.standard_normal((4, 4)))
        squares(ax, a, (left, top), WEIGHT, 0.8, (side / 4, side / 4))
    ax.set(xlim=(-0.3, 9.3), ylim=(13.8, -1.6))
    return figure


def circuits(kind: str = "animate") -> tuple[Figure, Figure]:
    """Where one head of the veto layer attends and what it writes, in part."""
    weights = layers.layer(layers.SIX)
    h = list(layers.SIX).index(kind)
    kinds = ("animate", "place", "cargo")
    asks, given = ("pronoun", "noun"), tuple(f"is {one}" for one in kinds)
    asked = (*given, *(f"says {one}" for one in kinds))
    look: Any = {"size": 0.32, "slant": 55}
    return (
        _part(
            reference.qk_circuit(weights)[h],
            asks,
            asked,
            title="M: where it attends",
            color=KEY,
            **look,
        ),
        _part(
            reference.ov_circuit(weights)[h],
            asked,
            given,
            title="U: what it writes",
            color=VALUE,
            **look,
        ),
    )


def _part(
    matrix: np.ndarray, rows: tuple[str, ...], columns: tuple[str, ...], **look: Any
) -> Figure:
    """Return a part of a (d_model, d_model) matrix as a table: some features by some others."""
    chosen = [[FEATURES.index(name) for name in names] for names in (rows, columns)]
    return table(matrix[np.ix_(*chosen)].round(2), rows, columns, **look)


def two_by_four() -> tuple[Figure, Figure]:
    """Scores of nouns and adjectives of two kinds in two heads: made by hand, and trained."""
    kinds = ("animate", "place")
    rows = [FEATURES.index(f"{verb} {kind}") for verb in ("is", "says") for kind in kinds]
    made = np.stack([head.w_k[rows, 0] for head in layers.TWO.values()])
    trained = training.veto_tables(2, 2)[0]
    names = ("noun A", "noun B", "says A", "says B")
    look: Any = {"color": KEY, "size": 0.44, "slant": 40, "most": 16}
    heads = ("head 1", "head 2")
    return (
        table(made, heads, names, title="made by hand", **look),
        table(trained, heads, names, title="trained", written="{:.0f}", **look),
    )


def hands() -> tuple[Figure, Figure]:
    """What one mixing head and two heads write into the two slots, for two sentences."""
    said = (("dog", "cat"), ("cat", "dog"))
    return (
        _slots(said, slots.one_mixing_head(), "one head"),
        _slots(said, slots.two_heads(), "two heads"),
    )


def _slots(said: tuple[tuple[str, str], ...], weights: Any, title: str) -> Figure:
    x = np.stack([slots.embedded(*one) for one in said])
    y = reference.multi_head_attention(x, weights)[:, slots.VERB, 5:].round(2)
    names = ("dog sees cat", "cat sees dog")
    columns = ("who", "", "whom", "")
    return table(y, names, columns, VALUE, title, "{:+.0f}", most=1, size=0.46)


def groups() -> tuple[Figure, ...]:
    """Four query heads on four, two and one tables of keys and values."""
    names = ((4, "many heads"), (2, "grouped"), (1, "multi-query"))
    return tuple(_grouped(n, name) for n, name in names)


def _grouped(n_groups: int, name: str, n_heads: int = 4) -> Figure:
    figure, ax = blank(2.15, 1.7)
    ax.text(-0.1, -0.5, name, fontsize=11, fontweight="bold")
    for h in range(n_heads):
        g = h * n_groups // n_heads
        x = (g + 0.5) * n_heads / n_groups
        ax.plot([h + 0.5, x], [1, 2.1], color=QUIET, linewidth=1.5)
        ax.add_patch(Rectangle((h + 0.14, 0), 0.72, 1, facecolor=QUERY, linewidth=0))
        for left, color in ((x - 0.4, KEY), (x + 0.04, VALUE)):
            ax.add_patch(Rectangle((left, 2.1), 0.36, 1, facecolor=color, linewidth=0))
    ax.text(4.15, 0.5, "Q", va="center", fontsize=10, color=QUERY, style="italic")
    ax.text(4.15, 2.6, "K, V", va="center", fontsize=10, style="italic")
    ax.set(xlim=(-0.1, 5), ylim=(3.2, -1))
    return figure


SHARED = ((4, 4), (2, 4), (1, 4), (1, 8), (1, 16))
"""Tables of keys and their width: what the deeper page compares."""


def sharing() -> Figure:
    """How well four heads find by four attributes, with four tables of keys, two and one."""
    figure, ax = panel(3.6, 2.1)
    finds(ax, SHARED[:3])
    names = [f"{g} table{'s' * (g > 1)}" for g, _ in SHARED[:3]]
    ax.set(yticks=range(3), yticklabels=names)
    return figure


def finds(ax: Axes, sizes: Sequence[tuple[int, int]], intervals: bool = False) -> None:
    """Draw a row for each of some sizes: all starts and their median, early and late in training.

    With `intervals` each median has one; all of them hold together with 99 percent confidence.
    """
    for i, (n_groups, d_k) in enumerate(sizes):
        early, late = training.finds(n_groups, d_k)
        for found, fill, above in ((early, "white", 0.2), (late, KEY, -0.2)):
            middle, low, high = median_interval(found, points=2 * len(sizes))
            ax.plot(found, np.full(len(found), i - above) + 0.15, "|", color=QUIET, markersize=5)
            if intervals:
                ax.plot([low, high], [i - above] * 2, color=KEY, linewidth=3)
            ax.plot(middle, i - above, "o", color=fill, markersize=6, markeredgecolor=INK)
    below = len(sizes) - 0.5
    ax.set(xlim=(0, 1.03), ylim=(below, -0.5), xlabel="weight on the right word")
    ax.axvline(1 / training.STORED, color=QUIET, linewidth=1, linestyle=":")
    left = 1 / training.STORED + 0.015
    ax.text(left, below - 0.08, "chance", fontsize=9, color=QUIET, va="bottom")
    ax.grid(visible=False, axis="y")


def mistakes() -> tuple[Figure, Figure, Figure]:
    """Columns cut for the wrong heads, two layers with one mean, heads without a profession."""
    return _cut_wrong(), _averaged(), _liked()


def _cut_wrong(n_heads: int = 3, d_k: int = 2) -> Figure:
    """Which head receives each number of the queries of two words: as it should be, and not."""
    figure, ax = blank(2.35, 2.55)
    places = np.arange(2 * n_heads * d_k).reshape(2, -1)
    right = places.reshape(2, n_heads, d_k).swapaxes(0, 1)
    for i, (name, heads) in enumerate(
        (("split, then move", right), ("one reshape", places.reshape(n_heads, 2, d_k)))
    ):
        top = 3.4 * i
        ax.text(0, top - 0.15, name, ha="left", va="bottom", fontsize=10, fontweight="bold")
        for h, numbers in enumerate(heads):
            for place in numbers.ravel():
                word, column = divmod(int(place), n_heads * d_k)
                _numbers(ax, np.array([[h + 1.0]]), (column, top + word), CUT[h])
        for word in (0, 1):
            ax.text(
                -0.15, top + word + 0.5, f"word {word + 1}", ha="right", va="center", fontsize=9
            )
    ax.set(xlim=(-2.3, 6.1), ylim=(5.6, -1))
    return figure


def _averaged() -> Figure:
    """Where the verb looks in two heads that differ, their mean, and the mean of a single head."""
    verb = slots.embedded("dog", "cat")
    two, one = (
        reference.multi_head_weights(verb, layer)[:, slots.VERB]
        for layer in (slots.two_heads(), slots.one_mixing_head())
    )
    figure, ax = blank(2.35, 2.55)
    rows = (("head 1", two[0]), ("head 2", two[1]), ("their mean", two.mean(axis=0)))
    for i, (name, row) in enumerate((*rows, ("one head", one.mean(axis=0)))):
        y = i + 0.5 * (i > 1)
        squares(ax, row.round(3)[None], (0, y), WEIGHT, most=1.0)
        ax.text(-0.15, y + 0.5, name, ha="right", va="center", fontsize=9)
        for j, weight in enumerate(row):
            if weight > 0.005:
                text = f"{weight:.2g}".replace("0.", ".")
                ax.text(j + 0.5, y + 0.5, text, ha="center", va="center", fontsize=10)
    for j, word in enumerate(("dog", "cat", "sees")):
        ax.text(j + 0.5, -0.15, word, ha="center", va="bottom", fontsize=10)
    ax.set(xlim=(-2.3, 3.1), ylim=(4.6, -0.8))
    return figure


def _liked() -> Figure:
    """How many heads like each kind best: six made by hand, and twelve that were trained."""
    made = np.stack([head.w_k[:, 0] for head in layers.SIX.values()])
    own = made[:, [FEATURES.index(f"is {kind}") for kind in KINDS]]
    trained = training.veto_tables(6, 12, seeds=1)[0, :, : len(KINDS)]
    figure, ax = blank(2.35, 2.55)
    look: Any = {"facecolor": KEY, "linewidth": 0}
    for name, likes, base in (("by hand", own, 1.0), ("trained", trained, 7.0)):
        counts = np.bincount(likes.argmax(axis=1), minlength=len(KINDS))
        for kind, count in enumerate(counts):
            for n in range(count):
                ax.add_patch(Rectangle((kind + 0.1, base - n - 0.9), 0.8, 0.8, **look))
        ax.plot([0, len(KINDS)], [base, base], color=QUIET, linewidth=1)
        ax.text(0, base - 1.2, name, ha="left", va="bottom", fontsize=10, fontweight="bold")
    for kind in range(len(KINDS)):
        ax.text(kind + 0.5, 7.15, str(kind + 1), ha="center", va="top", fontsize=9)
    ax.text(-0.2, 7.15, "kind", ha="right", va="top", fontsize=9)
    ax.set(xlim=(-1.4, 6.2), ylim=(8, -0.9))
    return figure
