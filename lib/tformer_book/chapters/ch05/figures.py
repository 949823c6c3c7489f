"""Figures of chapter 5: masking."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tformer import reference
from tformer_book.chapters.ch05 import stack
from tformer_book.chapters.ch05.fills import WAYS
from tformer_book.chapters.ch05.paths import reach
from tformer_book.figures.style import INK, ORANGE, PURPLE, QUERY, QUIET, WEIGHT, WIDE, WRONG
from tformer_book.figures.tables import blank, broken, squares, table
from tformer_book.world import lexicon, sources

TIRED, WIDE_TOO = tuple(lexicon.SENTENCES)[:2]
WORDS = lexicon.tokenise(TIRED)
"""The colour of what should not be there; neither a query's nor a key's nor a value's."""


def read_masked(sentence: str, mask: np.ndarray, layers: Sequence[lexicon.Layer]) -> np.ndarray:
    """Return the (L, T, T) weights of layers that all have this mask."""
    hidden = reference.to_additive(mask)
    return lexicon.read(sentence, [replace(layer, bias=hidden) for layer in layers]).weights


def causal_weights(last_words: Sequence[str]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Causal weights on both nouns: of *it* in layer 2, of the last word in a first layer.

    Returns
    -------
    Last word -> two arrays (animal, street).
    """
    found = {}
    for word in last_words:
        sentence = TIRED.rsplit(" ", 1)[0] + f" {word}"
        causal = reference.causal_mask(12, 12)
        it = read_masked(sentence, causal, lexicon.LAYERS)[1, 8]
        last = read_masked(sentence, causal, lexicon.LAYERS[1:])[0, 11]
        found[word] = it[[1, 6]], last[[1, 6]]
    return found


def rows() -> tuple[Figure, Figure]:
    """Where *it* and the last word look, with a view of everything and with none ahead."""
    return _rows(TIRED), _rows(WIDE_TOO)


def _rows(sentence: str) -> Figure:
    tokens = lexicon.tokenise(sentence)
    seen, causal = [1, 6, 7, 11], reference.causal_mask(12, 12)
    found = np.array(
        [
            lexicon.read(sentence).weights[1, 8],
            read_masked(sentence, causal, lexicon.LAYERS)[1, 8],
            read_masked(sentence, causal, lexicon.LAYERS[1:])[0, 11],
        ]
    )
    names = ("it, sees all", "it, causal", f"{tokens[-1]}, causal")
    columns = [tokens[s] for s in seen]
    look: Any = {"title": f"… too {tokens[-1]}", "written": "{:.3f}", "most": 1, "size": 0.56}
    return table(found[:, seen], names, columns, color=WEIGHT, **look)


def before_and_after() -> tuple[Figure, Figure, Figure]:
    """The weights of *Buy milk and*: of all words, masked before the softmax, and after it."""
    milk, words = sources.BUY_MILK, ("Buy", "milk", "and")
    whole = reference.attention_weights(milk.q, milk.k)
    drawn = {
        "no mask": whole,
        "masked before": reference.attention_weights(milk.q, milk.k, mask=milk.mask),
        "masked after": whole * milk.mask,
    }
    figures = []
    for title, weights in drawn.items():
        total = weights.sum(axis=-1, keepdims=True)
        names = [*words, "sum"]
        look: Any = {"title": title, "written": "{:.3f}", "most": 1.2, "size": 0.5, "color": WEIGHT}
        figures.append(table(np.append(weights, total, axis=1), words, names, **look))
    return figures[0], figures[1], figures[2]


def jacobians(rng: np.random.Generator) -> tuple[Figure, Figure]:
    """The Jacobian of two layers as a signed table, masked before the softmax and after it."""
    n, d = 6, 3
    layers, x = stack.random_layers(rng, 2, d), rng.standard_normal((n, d))
    mask = reference.causal_mask(n, n)
    return tuple(  # type: ignore[return-value]
        _signed(title, stack.jacobian(x, layers, mask, late=late))
        for title, late in (("masked before", False), ("masked after", True))
    )


def _signed(title: str, derivatives: np.ndarray) -> Figure:
    n, d = derivatives.shape[:2]
    square = derivatives.reshape(n * d, n * d)
    figure = Figure(figsize=(3.0, 3.2), layout="constrained")
    ax = figure.subplots()
    for i, j in zip(*np.nonzero(square), strict=True):
        share = 0.12 + 0.88 * min(1.0, abs(square[i, j])) ** 0.5
        color = ORANGE if square[i, j] > 0 else PURPLE
        ax.add_patch(Rectangle((j, i), 1, 1, color=color, alpha=round(share, 3), linewidth=0))
    for edge in range(d, n * d, d):
        ax.axvline(edge, color=QUIET, linewidth=0.6)
        ax.axhline(edge, color=QUIET, linewidth=0.6)
    middles, names = np.arange(n) * d + d / 2, [str(i + 1) for i in range(n)]
    ax.set(
        xlim=(0, n * d), ylim=(n * d, 0), aspect="equal", xlabel="input row", ylabel="output row"
    )
    ax.set(xticks=middles, yticks=middles, xticklabels=names, yticklabels=names)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set_visible(True)
    ax.set_title(title, fontsize=11, fontweight="bold")
    return figure


def paths() -> Figure:
    """All paths of two causal layers over the sentence; those that end in "it" are blue."""
    n, it = len(WORDS), WORDS.index("it")
    mask = reference.causal_mask(n, n)
    figure, ax = blank(WIDE, 3.3)
    ax.set_aspect("auto")
    for level in (1, 2):  # the lines that lead up to a layer, and which of them "it" can use
        ends = reach(mask, 2 - level)[it]
        for t, s in zip(*np.nonzero(mask), strict=True):
            used: Any = {"color": QUERY, "linewidth": 1.6, "zorder": 3}
            ax.plot([s, t], [2 - level + 1, 2 - level], **(used if ends[t] else _FINE))
    for level, name in enumerate(("words", "layer 1", "layer 2")):
        known = reach(mask, 2 - level)[it]
        ax.text(-0.5, 2 - level, name, ha="right", va="center", fontsize=11)
        for t in range(n):
            look: Any = {"markersize": 10 if known[t] else 7, "zorder": 4}
            ax.plot(t, 2 - level, "o", color=QUERY if known[t] else QUIET, **look)
    for t, word in enumerate(WORDS):
        bold = "bold" if t == it else "normal"
        ax.text(t, 2.25, word, ha="center", va="top", fontsize=12, fontweight=bold)
    ax.set(xlim=(-1.4, n - 0.4), ylim=(2.6, -0.2))
    return figure


def passes() -> tuple[Figure, Figure]:
    """Five prefixes, each read for its last row, and one text, read for all of its rows."""
    words = ("start", "Buy", "milk", "and", "bread")
    one, ax = blank(3.3, 2.6)
    for t in range(len(words)):
        _strip(ax, words[: t + 1], t, answers=[t])
    ax.set(xlim=(-0.1, 6.4), ylim=(5.1, -0.1))
    one.suptitle("five passes", fontsize=11, fontweight="bold", x=0.02, ha="left")
    other, ax = blank(3.3, 2.6)
    _strip(ax, words, 2, answers=range(len(words)), down=True)
    ax.set(xlim=(-0.1, 6.4), ylim=(5.1, -0.1))
    other.suptitle("one pass", fontsize=11, fontweight="bold", x=0.02, ha="left")
    return one, other


def _strip(
    ax: Axes, words: Sequence[str], row: int, answers: Sequence[int], down: bool = False
) -> None:
    """Draw a text as a strip of boxes; the words of `answers` have an arrow to their answer."""
    for s, word in enumerate(words):
        asked = s in answers
        look: Any = {"facecolor": QUERY if asked else "none", "edgecolor": QUIET, "linewidth": 1}
        ax.add_patch(Rectangle((s * 1.05, row + 0.12), 0.97, 0.7, **look))
        color = "#FFFFFF" if asked else INK
        place: Any = {"ha": "center", "va": "center", "fontsize": 9.5}
        ax.text(s * 1.05 + 0.485, row + 0.48, word, color=color, **place)
    for s in answers:
        start = (s * 1.05 + 0.485, row + 0.85) if down else (s * 1.05 + 1.0, row + 0.47)
        end = (start[0], start[1] + 0.75) if down else (start[0] + 0.5, start[1])
        arrow: Any = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.2, "shrinkA": 0}
        ax.annotate("", end, start, arrowprops=arrow)
        ax.text(
            end[0] + (0 if down else 0.1),
            end[1] + (0.25 if down else 0.02),
            f"$p_{s + 1}$",
            ha="center" if down else "left",
            va="center",
            fontsize=11,
        )


def family(n: int = 8) -> tuple[Figure, ...]:
    """Five masks, and one that is made of three of them."""
    causal = reference.causal_mask(n, n)
    documents = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    same = reference.packed_mask(documents, documents)
    real = reference.padding_mask(np.array(6), n)
    everywhere = np.ones((n, n), dtype=bool)
    drawn = {
        "causal": causal,
        "window of 3": reference.sliding_window_mask(n, n, 3),
        "prefix of 3": reference.prefix_mask(n, n, 3),
        "padding": real & everywhere,
        "documents": same,
        "all three": causal & same & real,
    }
    return tuple(_yes_no(title, mask) for title, mask in drawn.items())


def _yes_no(title: str, mask: np.ndarray, size: float = 0.17) -> Figure:
    n, m = mask.shape
    figure, ax = blank(m * size + 0.15, n * size + 0.4)
    squares(ax, mask.astype(float), color=QUIET)
    ax.set(xlim=(-0.2, m + 0.2), ylim=(n + 0.2, -0.2))
    figure.suptitle(title, fontsize=10, x=0.04, ha="left")
    return figure


def cones(n: int = 12) -> tuple[Figure, Figure]:
    """What a word can know through layers: the last, with windows of 3; one beside a hole."""
    hole = reference.causal_mask(n, n)
    hole[8, 11] = True
    return (
        _cone("windows of 3", reference.sliding_window_mask(n, n, 3), n - 1, 3),
        _cone("causal, with a hole", hole, 9, 2),
    )


def _cone(title: str, mask: np.ndarray, asks: int, n_layers: int) -> Figure:
    """Draw the paths that lead down from one word; what comes from a later word is red."""
    n = len(mask)
    figure, ax = blank(3.4, 0.55 + 0.45 * n_layers)
    known = [reach(mask, n_layers - level)[asks] for level in range(n_layers + 1)]
    leak: list[Any] = [reach(mask, i)[:, asks + 1 :].any(axis=1) for i in range(n_layers)]
    for level in range(n_layers, 0, -1):
        y = 2 * (n_layers - level)
        for t, s in zip(*np.nonzero(mask & known[level][:, None]), strict=True):
            bad = leak[level - 1][s]
            look: Any = {"linewidth": 2, "color": WRONG, "zorder": 3} if bad else _FINE
            ax.plot([t, s], [y, y + 2], **look)
    for level in range(n_layers + 1):
        y = 2 * (n_layers - level)
        name = f"layer {level}" if level else "words"
        ax.text(-0.8, y, name, ha="right", va="center", fontsize=9)
        for s in range(n):
            late = level == 0 and s > asks
            color = WRONG if late and known[level][s] else QUIET
            face = color if known[level][s] else "none"
            ax.plot(s, y, "o", color=color, markerfacecolor=face, markersize=5, zorder=4)
    ax.set(xlim=(-3.2, n - 0.5), ylim=(2 * n_layers + 0.6, -0.6))
    figure.suptitle(title, fontsize=11, fontweight="bold", x=0.02, ha="left")
    return figure


_FINE: Any = {"linewidth": 1, "color": QUIET, "alpha": 0.6}


def nothing_to_see() -> Figure:
    """The weights of a fully masked row with the scores 2, 1 and 0, as different programs say."""
    figure, ax = blank(3.5, 2.5)
    for i, (name, weigh) in enumerate(WAYS.items()):
        ax.text(-0.2, i + 0.5, name, ha="right", va="center", fontsize=10)
        for j, weight in enumerate(weigh(np.array([2.0, 1.0, 0.0]))):
            lost = bool(np.isnan(weight))
            squares(ax, np.array([[0.0 if lost else weight]]), (j, i), WEIGHT, most=1)
            text = "nan" if lost else f"{weight:.2f}".lstrip("0") if weight else "0"
            look: Any = {"ha": "center", "va": "center", "fontsize": 9}
            ax.text(j + 0.5, i + 0.5, text, color=WRONG if lost else INK, **look)
    ax.set(xlim=(-5.2, 3.1), ylim=(len(WAYS), -0.1))
    return figure


def mistakes() -> dict[str, np.ndarray]:
    """The row of "it" as it should be, and as five mistakes with a mask make it.

    Returns
    -------
    Name -> the weights in the second of two layers, last word "tired": (13,). The first belongs to
    a word of padding before the sentence; it is NaN where there is none.
    """
    n, it = len(WORDS), WORDS.index("it")
    corner = reference.causal_mask(n, n)
    corner[it] = reference.causal_mask(1, n)[0]
    padded = reference.causal_mask(n + 1, n + 1) & (np.arange(n + 1) > 0)[:, None]
    masks = {
        "causal, as it should be": reference.causal_mask(n, n),
        "one too many": np.tri(n, k=1, dtype=bool),
        "one too few": np.tri(n, k=-1, dtype=bool),
        "padding on the wrong axis": padded,
        "True means hide": ~reference.causal_mask(n, n),
        "a corner too high": corner,
    }
    found = {}
    for name, mask in masks.items():
        before = len(mask) - n
        text = "pad " * before + TIRED
        weights = read_masked(text, mask, lexicon.LAYERS)[1, it + before]
        found[name] = np.append(np.full(1 - before, np.nan), weights)
    return found


def wrong() -> Figure:
    """The row of "it" under a causal mask, and below it the rows of five mistakes."""
    found, seen = mistakes(), WORDS.index("it") + 1
    allowed = np.append(False, np.arange(len(WORDS)) < seen)
    wrong = {name: (weights > 0) != allowed for name, weights in found.items()}
    words = ("padding", *WORDS)
    return broken(found, words, most=0.45, wrong=wrong, bold=seen, left=7.5)
