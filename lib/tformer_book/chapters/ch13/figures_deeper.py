"""The figures of the deeper page of chapter 13."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tformer_book.chapters.ch13 import cut, fit, sampled
from tformer_book.chapters.ch13.coder import encoded, laid, narrowed
from tformer_book.chapters.ch13.known import world
from tformer_book.figures.style import INK, KEY, PURPLE, QUERY, QUIET, VALUE, WIDE, panel
from tformer_book.figures.tables import blank, table

__all__ = ["FIRST", "SECOND", "SIZES", "interval", "nested", "own_text", "pairs", "telling"]

TOLD = ("cross", "wide")
"""Verb and trouble of the story with *wide*: what the picture of the coder writes."""
SIZES = (10, 30, 100, 300, 1000, 3000)
"""Stories from which a model counts."""
NOUNS, ADJECTIVES = ("animal", "street"), ("tired", "wide")
FIRST = np.array([[0.9, 0.2], [0.1, 0.8]])
"""Two answers of a model for the noun, one a column: after *tired*, after *wide*."""
SECOND = np.array([[0.6, 0.4], [0.5, 0.5]])
"""Two answers for the adjective, one a row: after *animal*, after *street*."""


def telling() -> dict[str, dict[str, Fraction]]:
    """The probabilities of the verb of a story, and of its trouble given the verb."""
    pairs = Counter((words[4], words[11]) for words in map(str.split, world()))
    verbs: Counter[str] = Counter()
    for (verb, _), n in pairs.items():
        verbs[verb] += n
    found = {"": {verb: Fraction(n, verbs.total()) for verb, n in sorted(verbs.items())}}
    for verb in verbs:
        whys = sorted(why for one, why in pairs if one == verb)
        found[verb] = {why: Fraction(pairs[verb, why], verbs[verb]) for why in whys}
    return found


def interval() -> tuple[Fraction, Fraction, str]:
    """Where the interval of `TOLD` begins, how long it is, and the bits that name it."""
    names = telling()
    verbs = list(names[""])

    def model(before: Any) -> dict[int, tuple[Fraction, Fraction]]:
        return laid(dict(enumerate(names[verbs[before[0]] if before else ""].values())))

    tokens = [verbs.index(TOLD[0]), list(names[TOLD[0]]).index(TOLD[1])]
    return *narrowed(tokens, model), encoded(tokens, model)


def nested() -> Figure:
    """The interval of a verb, in it that of a trouble, and in that the one that the bits name."""
    figure, ax = blank(WIDE, 3.1)
    ax.set_aspect("auto")
    names, (low, length, bits) = telling(), interval()
    start, size = Fraction(0), Fraction(1)
    for y, told in enumerate(TOLD):
        at = Fraction(0)
        for name, share in names["" if not y else TOLD[0]].items():
            mine = name == told
            _piece(ax, float(at), y * 1.6, float(share), name, VALUE if mine else QUIET)
            if mine:
                _zoom(ax, float(at), float(at + share), y * 1.6)
                here, size_here = start + at * size, share * size
            at += share
        start, size = here, size_here
    first = Fraction(int(bits, 2), 2 ** len(bits))
    place, width = float((first - low) / length), float(Fraction(1, 2 ** len(bits)) / length)
    _piece(ax, 0, 3.2, 1, "", VALUE)
    _piece(ax, place, 3.2, width, "." + bits, KEY)
    for x, value in ((0, low), (1, low + length)):
        side = "left" if not x else "right"
        ax.text(x, 4.5, f"{float(value):.4f}", ha=side, fontsize=11, color=INK)
    ax.set(xlim=(-0.01, 1.01), ylim=(4.7, -0.1))
    return figure


def _piece(ax: Axes, x: float, y: float, width: float, name: str, color: str) -> None:
    look: Any = {"facecolor": "none", "edgecolor": color, "linewidth": 1.6}
    ax.add_patch(Rectangle((x, y), width, 1, zorder=2 + (color != QUIET), **look))
    ax.text(x + width / 2, y + 0.5, name, ha="center", va="center", fontsize=12, color=INK)


def _zoom(ax: Axes, left: float, right: float, y: float) -> None:
    for x, to in ((left, 0), (right, 1)):
        ax.plot([x, to], [y + 1, y + 1.6], color=VALUE, linewidth=1, linestyle=":")


def own_text() -> tuple[Figure, Figure]:
    """The loss of models that counted: on their own stories, and on all; and the least loss."""
    return _own(2, "two words known"), _own(18, "all words known")


def _own(k: int, title: str) -> Figure:
    figure, ax = panel(3.3, 2.8)
    found = np.array([sampled.by_sample(n, k) for n in SIZES])
    least = cut.by_counting(cut.cuts()["words"].encode, k).nats
    ax.plot(SIZES, found[:, 1], "o-", color=KEY, label="all stories")
    ax.axhline(least, color=QUIET, linestyle="--", linewidth=1.4)
    ax.plot(SIZES, found[:, 0], "o-", color=QUERY, label="its own stories")
    ax.set(xscale="log", xlabel="stories counted", ylabel="nats a story", title=title)
    ax.set_ylim(0, 95)
    ax.legend(fontsize=10)
    return figure


def pairs() -> tuple[Figure, Figure]:
    """What drawing in turn brings, if the noun is drawn last and if the adjective is."""
    look: Any = {"rows": NOUNS, "columns": ADJECTIVES, "color": PURPLE, "most": 0.6}
    look |= {"written": "{:.3f}", "size": 0.75}
    found = fit.drawn(FIRST, SECOND)
    names = ("noun drawn last", "adjective drawn last")
    first, second = (table(one, title=name, **look) for one, name in zip(found, names, strict=True))
    return first, second
