"""The figures of chapter 17."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tformer_book.chapters.ch17 import circuits, exchanged, moved, veto, votes
from tformer_book.chapters.ch17.circuits import IT, NOUNS
from tformer_book.figures.strips import SIZE
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
    panel,
)
from tformer_book.figures.tables import blank, mark, squares

WORDS = votes.ROW.format("").split()
TROUBLES = ("tired", "wide")
MODELS = ("votes", "no picture", "picture")
COLUMNS = (
    ("right", "right", "whole"),
    ("last looks", "last layer without\n“it” → nouns", "last layer cut"),
    ("it asks", "first layer without\n“it” → trouble", "first layer cut"),
)
"""What is measured of each training, and what stands above its column, broad and narrow."""
LOOK: Any = {"ha": "center", "va": "center", "fontsize": 11, "color": INK}


def _short(x: float, digits: int = 2) -> str:
    return f"{x:.{digits}f}".replace("0.", ".", 1) if abs(x) < 1 else f"{x:.{digits}f}"


def _row(ax: Axes, row: np.ndarray, y: float, least: float = 0.05) -> None:
    """A row of weights, a square for each word; what is small stays without its number."""
    squares(ax, row[None], (0, y), WEIGHT, most=1.0)
    for t, x in enumerate(row):
        if x >= least:
            ax.text(t + 0.5, y + 0.5, _short(x), **LOOK)


def _words(ax: Axes, last: str, y: float = -0.12) -> None:
    for t, word in enumerate((*WORDS, last)):
        bold = "bold" if t == IT else "normal"
        ax.text(t + 0.5, y, word, ha="center", va="bottom", fontsize=11, fontweight=bold)


def _slanted(ax: Axes, words: Sequence[str], asks: int | None = None) -> None:
    """The words above a narrow shape."""
    for t, word in enumerate(words):
        look: Any = {"rotation": 60, "va": "bottom", "fontsize": SIZE}
        bold = "bold" if t == asks else "normal"
        ax.text(t + 0.15, -0.15, word, fontweight=bold, **look)


def strip(told: bool = True) -> Fitting:
    """The rows of "it" in the last layer of three models, and what they answer, if `told`."""
    return Fitting(_strip(told), _strip_narrow(told))


def _three(told: bool) -> list[tuple[str, float, np.ndarray, str]]:
    """For each model and trouble: its name, how far down it stands, the row, and the answer."""
    found = []
    for i, (name, trouble) in enumerate((n, t) for n in MODELS for t in TROUBLES):
        text = votes.ROW.format(trouble)
        run = votes.read(text, name)
        row = run[f"blocks.{len(circuits.shown(name).blocks) - 1}.weights"][0, IT]
        label = f"{name}, {trouble}" if told else f"model {'ABC'[i // 2]}, {trouble}"
        animal, street = votes.chances(run, text)
        best = f"animal {_short(animal)}" if animal > street else f"street {_short(street)}"
        found.append((label, i + 0.35 * (i // 2), row, best if told else "?"))
    return found


def _strip(told: bool) -> Figure:
    figure, ax = blank(WIDE, 2.9)
    ax.set_aspect("auto")
    _words(ax, "tired / wide")
    for label, y, row, best in _three(told):
        _row(ax, row, y)
        ax.text(-0.15, y + 0.5, label, ha="right", va="center", fontsize=11)
        ax.text(12.2, y + 0.5, best, ha="left", va="center", fontsize=11)
    ax.set(xlim=(-2.6, 13.9), ylim=(6.75, -0.7))
    return figure


def _strip_narrow(told: bool) -> Figure:
    figure, ax = blank(PHONE, 2.3)
    ax.set_aspect("auto")
    _slanted(ax, (*WORDS, "tired / wide"), IT)
    for label, y, row, best in _three(told):
        squares(ax, row[None], (0, y), WEIGHT, most=1.0)
        name = label.removeprefix("model ")
        ax.text(-0.2, y + 0.5, name, ha="right", va="center", fontsize=SIZE)
        ax.text(12.2, y + 0.5, best, ha="left", va="center", fontsize=SIZE)
    left, right = (5.3, 4.0) if told else (2.6, 2.6)
    ax.set(xlim=(-left, 12.2 + right), ylim=(6.75, -3.6))
    return figure


def bars_of_votes() -> tuple[Figure, Figure]:
    """What each word says for animal and for street in the model that votes, for each trouble."""
    one, two = (_bars(trouble) for trouble in TROUBLES)
    return one, two


def _bars(trouble: str) -> Figure:
    figure, ax = panel(3.5, 2.7)
    text = votes.ROW.format(trouble)
    told = votes.votes(votes.read(text, "votes"), circuits.shown("votes"))
    tokens = circuits.sentences()[1].numbers(text)
    pair = [int(tokens[place]) for place in NOUNS]
    named = [NOUNS[0], NOUNS[1], circuits.ADJECTIVE]
    rest = told.own + np.delete(told.words, named, axis=0).sum(axis=0)
    parts = [*told.words[named], rest]
    for i, (part, color) in enumerate(zip(pair, (QUERY, KEY), strict=True)):
        sizes = [float(x[part]) for x in parts]
        at, noun = (i - 0.5) * 0.36, ("animal", "street")[i]
        ax.bar(np.arange(4) + at, sizes, 0.34, color=color, label=f"for {noun}")
        ax.bar(4.4 + at, sum(sizes), 0.34, color=color, hatch="//", ec="white")
    ax.axhline(0, color=QUIET, linewidth=0.8)
    ax.axvline(3.7, color=QUIET, linewidth=0.8)
    ax.set_xticks([*range(4), 4.4], ["animal", "street", trouble, "the rest", "sum"], fontsize=9)
    ax.set(ylim=(-3.4, 9.8), ylabel="weight × vote")
    if trouble == TROUBLES[1]:
        ax.legend(fontsize=10, loc="upper left")
    return figure


def eight() -> Fitting:
    """Eight trainings that differ in their seed: the row of "it", and what two cuts leave."""
    return Fitting(_eight(narrow=False), _eight(narrow=True))


def _eight(narrow: bool) -> Figure:
    figure, ax = blank(PHONE, 3.0) if narrow else blank(WIDE, 4.3)
    ax.set_aspect("auto")
    look = {**LOOK, "fontsize": SIZE if narrow else 11}
    if narrow:
        _slanted(ax, (*WORDS, "tired"), IT)
    else:
        _words(ax, "tired")
    rows = circuits.stored()["two layers, noun"]
    looks = circuits.stored_rows()
    for seed, (found, row) in enumerate(zip(rows, looks, strict=True)):
        if narrow:
            squares(ax, np.array(row)[None], (0, seed), WEIGHT, most=1.0)
        else:
            _row(ax, np.array(row), seed)
        name: Any = {"ha": "right", "va": "center", "fontsize": look["fontsize"]}
        ax.text(-0.15, seed + 0.5, f"seed {seed}", **name)
        for i, (key, _, _) in enumerate(COLUMNS):
            x = 12.4 + 1.55 * i
            squares(ax, np.array([[found[key]]]), (x, seed), VALUE, most=1.0, size=(1.45, 1))
            ax.text(x + 0.72, seed + 0.5, _short(found[key]), **look)
    for i, (_, label, short) in enumerate(COLUMNS):
        x = 12.4 + 1.55 * i
        if narrow:
            ax.text(x + 0.3, -0.15, short, rotation=60, va="bottom", fontsize=SIZE)
        else:
            above: Any = {"ha": "center", "va": "bottom", "fontsize": 10, "linespacing": 1.0}
            ax.text(x + 0.72, -0.12, label, **above)
    if narrow:
        ax.set(xlim=(-2.6, 18.6), ylim=(8.05, -3.4))
    else:
        ax.set(xlim=(-1, 17.1), ylim=(8.05, -1.0))
    return figure


def vetoes() -> Figure:
    """Two heads of the storyteller, for both troubles."""
    figure, ax = blank(4.8, 2.5)
    ax.set_aspect("auto")
    watched = list(veto.WATCHED)
    for i, (head, trouble) in enumerate((h, t) for h in veto.HEADS for t in TROUBLES):
        found, y = veto.looks(trouble, head), i + 0.3 * (i // 2)
        squares(ax, np.array([[found[word] for word in watched]]), (0, y), WEIGHT, most=1.0)
        for t, word in enumerate(watched):
            ax.text(t + 0.5, y + 0.5, _short(found[word], 3), **LOOK)
        label = f"head {head}, {trouble}"
        ax.text(-0.08, y + 0.5, label, ha="right", va="center", fontsize=11)
    for t, word in enumerate(watched):
        ax.text(t + 0.5, -0.1, word, ha="center", va="bottom", fontsize=11)
    ax.set(xlim=(-1.3, 3.05), ylim=(4.4, -0.5))
    return figure


def instead() -> Figure:
    """The log-odds with zeros, a mean or other tales in the place of a head."""
    figure, ax = panel(6.6, 2.5)
    for y, (name, head) in enumerate(veto.CUTS):
        left = veto.left(name, head)
        sway = np.random.default_rng(0).uniform(-0.2, 0.2, len(left.others))
        other: Any = {"color": QUIET, "alpha": 0.3, "ms": 3, "mec": "none"}
        ax.plot(left.others, y + sway, "o", label="what it says in another tale", **other)
        ax.plot(left.others.mean(), y, "|", color=QUIET, ms=22, mew=2.5)
        ax.plot(left.zeros, y, "X", color=KEY, ms=9, mec="white", label="zeros")
        ax.plot(left.mean, y, "D", color=QUERY, ms=7, mec="white", label="its mean")
        ax.plot(veto.odds(veto.read(name)), y, "*", color=INK, ms=12, mec="white", label="itself")
    ax.axvline(0, color=QUIET, linewidth=0.8)
    ax.set_yticks(range(3), [f"{name}, head {head}" for name, head in veto.CUTS])
    ax.set(xlabel="log-odds, animal against street", xlim=(-15, 15), ylim=(2.5, -0.5))
    handles, labels = ax.get_legend_handles_labels()
    above: Any = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 4}
    ax.legend(handles[3::-1], labels[3::-1], fontsize=10, **above)
    return figure


def carried() -> Fitting:
    """Where the name stands: which patch brings how much of the other answer."""
    return Fitting(_carried(narrow=False), _carried(narrow=True))


def _carried(narrow: bool) -> Figure:
    figure, ax = blank(PHONE, 1.7) if narrow else blank(WIDE, 2.0)
    ax.set_aspect("auto")
    words = moved.runs("wide").words
    look = {**LOOK, "fontsize": SIZE if narrow else 11}
    if narrow:
        _slanted(ax, words)
    else:
        for t, word in enumerate(words):
            ax.text(t + 0.5, -0.1, word, ha="center", va="bottom", fontsize=10.5)
    for i, (point, label) in enumerate(
        zip(moved.POINTS, ("before first", "after first", "after second"), strict=True)
    ):
        row = moved.recovered("wide", point)
        squares(ax, row[None], (0, i), PURPLE, most=1.0)
        for t, x in enumerate(row):
            if abs(x) >= 0.05:
                text = _short(float(x))
                ax.text(t + 0.5, i + 0.5, text.removesuffix(".00") if narrow else text, **look)
        name: Any = {"ha": "right", "va": "center", "fontsize": look["fontsize"]}
        ax.text(-0.1, i + 0.5, f"{label}\nblock" if narrow else f"{label} block", **name)
    if narrow:
        ax.set(xlim=(-4.2, len(words) + 0.6), ylim=(3.05, -2.6))
    else:
        ax.set(xlim=(-2.3, len(words)), ylim=(3.05, -0.6))
    return figure


def wrong() -> Figure:
    """The row of "it" in three models, and below it with its looks at the nouns changed."""
    figure, ax = blank(4.8, 2.5)
    ax.set_aspect("auto")
    stored = circuits.stored()
    y = 0.0
    for label, name, (task, seed) in (
        ("seed 5", "picture", circuits.SHOWN["picture"]),
        ("seed 0", "no picture", circuits.SHOWN["no picture"]),
        ("votes", "votes", circuits.SHOWN["votes"]),
    ):
        found = votes.read(votes.ROW.format("tired"), name)
        row = found[f"blocks.{len(circuits.shown(name).blocks) - 1}.weights"][0, IT]
        told = stored[task][seed]
        lines = {label: (row, told["right"]), "cut": (_on_nouns(row, 0.0), told["last looks"])}
        if name == "picture":
            mean = float(row[list(NOUNS)].mean())
            lines["made equal"] = (_on_nouns(row, mean), exchanged.levelled())
        for i, (what, (weights, right)) in enumerate(lines.items()):
            squares(ax, weights[None], (0, y), WEIGHT, most=1.0)
            for t in NOUNS if i else ():
                mark(ax, t, y, missing=not weights[t])
            bold = "normal" if i else "bold"
            look: Any = {"va": "center", "fontsize": 10, "fontweight": bold}
            ax.text(-0.15, y + 0.5, what, ha="right", **look)
            ax.text(12.2, y + 0.5, f"{right:.2f}".removeprefix("0"), ha="left", **look)
            y += 1
        y += 0.35
    for t, word in enumerate((*WORDS, "tired", "right")):
        bold = "bold" if t == IT else "normal"
        place = (t + 0.1, -0.1)
        ax.text(*place, word, rotation=60, va="bottom", fontsize=10, fontweight=bold)
    ax.set(xlim=(-3.6, 13.9), ylim=(y - 0.3, -2.6))
    return figure


def _on_nouns(row: np.ndarray, weight: float) -> np.ndarray:
    """A row of weights with this one on both nouns."""
    changed = row.copy()
    changed[list(NOUNS)] = weight
    return changed
