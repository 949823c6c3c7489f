"""Figures of chapter 22."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from scipy.special import expit, logsumexp

from tformer import reference
from tformer_book.chapters.ch22 import counting
from tformer_book.chapters.ch22.read_model import NAMES
from tformer_book.figures import strips
from tformer_book.figures.style import (
    GREEN,
    INK,
    KEY,
    ORANGE,
    PURPLE,
    QUERY,
    QUIET,
    SKY,
    VALUE,
    WEIGHT,
    Fitting,
    panel,
)
from tformer_book.figures.tables import blank, squares
from tformer_book.world import corpus
from tformer_book.world.sentence import ENDS, IT, LABELS, told

SINK, WINDOW = 9.0, 3
"""The score of the sink in the strip, and how far its window reaches, the token itself included."""


def row(end: str = ENDS[0]) -> np.ndarray:
    """The scores of "it" by the vectors of chapter 1, over √16, (12,)."""
    x = corpus.vectors(told(end).split(), 16)
    return np.asarray(x @ x[IT] / 4)


def readings(end: str = ENDS[0]) -> dict[str, np.ndarray]:
    """The weights of "it": plain, by normed queries and keys, in a window, with a sink."""
    scores = row(end)
    x = corpus.vectors(told(end).split(), 16)
    unit = x / np.sqrt((x * x).mean(axis=-1, keepdims=True))
    seen = abs(np.arange(len(scores)) - IT) < WINDOW
    return {
        "plain": reference.softmax(scores),
        "QK-norm": reference.softmax(unit @ unit[IT] / 4),
        "window": reference.softmax(np.where(seen, scores, -np.inf)),
        "with a sink": expit(logsumexp(scores) - SINK) * reference.softmax(scores),
    }


def strip(told: bool = True) -> Fitting:
    """The weights of "it", and what three changes make of them, only if `told`."""
    lines = [
        strips.Line(name, weights, asked=name != "plain") for name, weights in readings().items()
    ]
    return strips.strip(LABELS, lines, told, IT)


def norms() -> Figure:
    """Where the norm of a sublayer stands: before it, behind it, or both."""
    figure, ax = blank(4.6, 2.5)
    ax.set_aspect("auto")
    places = {"before": (1.35,), "behind": (3.65,), "both": (1.35, 3.65)}
    for i, (name, who) in enumerate(zip(places, ("Llama", "OLMo 2", "Gemma"), strict=True)):
        x = 3.2 * i
        ax.plot([x, x], [0, 5], color=INK, linewidth=1.6)
        boxes = [(2.5, "sublayer"), *((y, "norm") for y in places[name])]
        ends = [0.6, *sorted(y + side * 0.42 for y, _ in boxes for side in (-1, 1)), 4.4]
        ax.plot([x, x + 1.4], [0.6, 0.6], color=QUIET, linewidth=1.4)
        ax.plot([x, x + 1.4], [4.4, 4.4], color=QUIET, linewidth=1.4)
        for low, high in zip(ends[::2], ends[1::2], strict=True):
            ax.plot([x + 1.4] * 2, [low, high], color=QUIET, linewidth=1.4)
        for y, what in boxes:
            color = WEIGHT if what == "norm" else "none"
            place = (x + 0.55, y - 0.42)
            ax.add_patch(Rectangle(place, 1.7, 0.84, fc="none", ec=QUIET, linewidth=1.2))
            ax.add_patch(Rectangle(place, 1.7, 0.84, fc=color, alpha=0.35, linewidth=0))
            ax.text(x + 1.4, y, what, ha="center", va="center", fontsize=10)
        ax.plot(x, 4.4, "o", color=INK, ms=7)
        ax.text(x + 0.9, -0.35, name, ha="center", va="bottom", fontsize=11)
        ax.text(x + 0.9, 5.7, who, ha="center", va="center", fontsize=11)
    ax.set(xlim=(-0.4, 8.9), ylim=(6.0, -0.9))
    return figure


COLORS = dict(zip(counting.DEFAULTS, (INK, KEY, GREEN, WEIGHT, PURPLE, QUERY, SKY), strict=True))


def caches() -> Figure:
    """Bytes that a model keeps of a text, against its length."""
    figure, ax = panel(4.6, 3.2)
    lengths = np.unique(np.geomspace(10, 1e6, 80).round().astype(int))
    for family, color in COLORS.items():
        kept = counting.kept(family)
        ax.plot(
            lengths, [kept.total(int(n)) / 1e9 for n in lengths], color=color, label=NAMES[family]
        )
    ax.set(xscale="log", yscale="log", xlabel="tokens of the text", ylabel="cache, 10⁹ bytes")
    ax.set(ylim=(3e-5, 1e3))
    ax.legend(fontsize=9, loc="upper left", ncols=2)
    return figure


def kinds() -> Figure:
    """What a layer keeps of twelve tokens: heads, groups, a window, latents, a state."""
    figure, ax = blank(4.6, 2.7)
    n = 12
    shown = {
        "8 heads": np.ones((8, n)),
        "2 groups": np.ones((2, n)),
        "window of 4": np.ones((2, n)) * (np.arange(n) >= n - 4),
        "latents": np.ones((1, n)),
        "state": np.ones((2, 2)),
    }
    y = 0.0
    for name, table in shown.items():
        color = {"latents": ORANGE, "state": PURPLE}.get(name, KEY)
        squares(ax, table * 0.75, (0, y), color, most=1.0)
        ax.text(-0.5, y + len(table) / 2, name, ha="right", va="center", fontsize=11)
        y += len(table) + 0.7
    ax.text(6, -0.5, "tokens so far", ha="center", va="bottom", fontsize=11)
    ax.set(xlim=(-6, 12.2), ylim=(y, -1.4))
    return figure


def recall() -> Figure:
    """What is read back of pairs with random keys, by how long ago they were written."""
    figure, ax = panel(4.6, 2.8)
    ages = np.arange(32)
    for name, (color, errors) in recalled().items():
        ax.plot(ages, errors, "o-", ms=3, color=color, label=name)
    ax.set(xlabel="pairs written since", ylabel="error", ylim=(0, 2.4))
    ax.legend(fontsize=10, loc="lower right")
    return figure


def recalled(
    width: int = 16, pairs: int = 32, texts: int = 200
) -> dict[str, tuple[str, np.ndarray]]:
    """Mean squared error of a pair that is asked for, over the mean square of a value."""
    rng = np.random.default_rng(0)
    k = rng.normal(size=(texts, pairs, width))
    k /= np.linalg.norm(k, axis=-1, keepdims=True)
    v = rng.normal(size=(texts, pairs, 4))
    none, ones = np.zeros((texts, pairs, 1)), np.ones((texts, pairs))
    _, state = reference.gated_delta_rule(k, k, v, none, ones)
    added = k.mT @ v
    found = {"linear attention": (KEY, added), "delta rule": (VALUE, state)}
    return {
        name: (color, ((k @ table - v) ** 2).mean(axis=(0, 2))[::-1])
        for name, (color, table) in found.items()
    }
