"""Figures of chapter 11: masks, who knows at "it", two texts, and what writing costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from tformer.models.sizes import Sizes
from tformer_book.chapters.ch11 import broken, counts, forms, tasks
from tformer_book.figures.strips import SIZE
from tformer_book.figures.style import (
    INK,
    KEY,
    PHONE,
    QUERY,
    QUIET,
    VALUE,
    WIDE,
    Fitting,
    label_ends,
    panel,
)
from tformer_book.figures.tables import blank, mark, squares

WORDS = tasks.STORIES[0].split()[: tasks.READ - 1]
IT = tasks.IT - 1
COLORS = {"encoder": VALUE, "decoder": KEY, "pair": QUERY}
GPT2 = Sizes(50257, 768, 12, 12, 3072, n_positions=1024)


def said(task: str, form: str, story: int, place: int) -> dict[str, float]:
    """The likeliest words at a place of a story, with their chances, by the first seed's run."""
    return dict(tasks.stored()[f"{task} {form}"][0]["said"][story][place])


def answers(story: int) -> dict[str, tuple[float, float]]:
    """What each architecture gives *animal* and *street*, or *es* and *sie*, and where."""
    last = tasks.READ - 1
    found = {
        "encoder, at “it”": said("refer", "encoder", story, tasks.IT),
        "decoder, at “it”": said("refer", "decoder", story, tasks.IT),
        "decoder, at the last word": said("refer", "decoder", story, last),
        "encoder–decoder, after “weil”": said("german", "pair", story, 1),
    }
    names = {"encoder–decoder, after “weil”": ("es", "sie")}
    return {
        where: tuple(p.get(word, 0.0) for word in names.get(where, ("animal", "street")))  # type: ignore[misc]
        for where, p in found.items()
    }


def strip(before: bool = False) -> Fitting:
    """Four vectors that are asked for "it": with `before` what each can know, else its answer."""
    if before:
        return Fitting(_seen(), _seen_narrow())
    return Fitting(_answers(), _answers_narrow())


def _known() -> list[tuple[str, int, np.ndarray]]:
    """Of each of the four vectors: its name, its own word, and whether it knows each word."""
    n = len(WORDS)
    asked = ((n, "encoder", IT), (n, "decoder", IT), (n, "decoder", n - 1), (n + 2, "pair", n + 1))
    return [
        (where, at, forms.known(form, length, n)[at])
        for where, (length, form, at) in zip(answers(0), asked, strict=True)
    ]


def _texts() -> list[str]:
    """The words of the sentence, and the first two of its translation."""
    return [*WORDS, *tasks.german(tasks.STORIES[0])[:2]]


def _seen() -> Figure:
    """The words on which each of the four vectors can depend; its own word is framed."""
    figure, ax = blank(10.4, 2.5)
    words = _texts()
    for i, (where, at, knows) in enumerate(_known()):
        ax.text(-0.4, i + 0.5, where, ha="right", va="center", fontsize=11)
        for j, word in enumerate(words[: len(knows)]):
            box = Rectangle((2.2 * j + 0.05, i + 0.06), 2.1, 0.88, linewidth=1.0)
            box.set(facecolor=VALUE if knows[j] else "none", edgecolor=QUIET, alpha=0.35)
            ax.add_patch(box)
            bold = "bold" if j == at else "normal"
            at_word = (2.2 * j + 1.1, i + 0.5)
            ax.text(*at_word, word, ha="center", va="center", fontsize=9, fontweight=bold)
        frame = Rectangle((2.2 * at + 0.05, i + 0.06), 2.1, 0.88, facecolor="none", edgecolor=INK)
        ax.add_patch(frame)
        frame.set(linewidth=1.8)
    ax.set(xlim=(-9.4, 2.2 * len(words) + 0.2), ylim=(4.1, -0.1))
    return figure


def _seen_narrow() -> Figure:
    """The same with the words above, a square for each."""
    figure, ax = blank(PHONE, 2.2)
    for i, (where, at, knows) in enumerate(_known()):
        y = 1.9 * i
        ax.text(-0.3, y + 0.5, _folded(where), ha="right", va="center", fontsize=SIZE)
        squares(ax, knows[None].astype(float), (0, y), VALUE, 2.0)
        ax.add_patch(Rectangle((at, y), 1, 1, facecolor="none", edgecolor=INK, linewidth=1.8))
    words = _texts()
    for j, word in enumerate(words):
        ax.text(j + 0.1, -0.2, word, rotation=60, va="bottom", fontsize=SIZE)
    ax.set(xlim=(-6.0, len(words) + 0.6), ylim=(7.0, -3.4))
    return figure


def _folded(where: str) -> str:
    return where.replace(", ", ",\n")


def _answers() -> Figure:
    """What each of the four vectors gives *animal* and *street*, or *es* and *sie*."""
    figure, ax = blank(10.4, 2.1)
    for i, where in enumerate(answers(0)):
        ax.text(7.6, i + 0.5, where, ha="right", va="center", fontsize=12)
    for story, left in ((0, 8.0), (1, 14.6)):
        _group(ax, story, (left, 0), 1.0, (13, 11))
    ax.set(xlim=(0, 20.4), ylim=(4.1, -1.0))
    return figure


def _answers_narrow() -> Figure:
    """The same with one ending above the other."""
    figure, ax = blank(PHONE, 3.6)
    for story in range(2):
        top = 7.6 * story
        for i, where in enumerate(answers(0)):
            place = (-0.2, top + 1.6 * i + 0.75)
            ax.text(*place, _folded(where), ha="right", va="center", fontsize=SIZE)
        _group(ax, story, (0, top), 1.5, (SIZE, SIZE))
    ax.set(xlim=(-3.9, 5.5), ylim=(14.0, -1.0), aspect="auto")
    return figure


def _group(
    ax: Axes, story: int, place: tuple[float, float], height: float, sizes: tuple[float, float]
) -> None:
    """The answers to one ending, two squares for each of the four vectors."""
    left, top = place
    title = f"… too {('tired', 'wide')[story]}"
    ax.text(left, top - 0.25, title, fontsize=sizes[0], fontweight="bold")
    for i, pair in enumerate(answers(story).values()):
        y = top + i * (1.0 if height == 1.0 else 1.6)
        squares(ax, np.array(pair)[None], (left, y), VALUE, 1.0, (2.7, height))
        names = ("es", "sie") if i == 3 else ("animal", "street")
        for j, (name, value) in enumerate(zip(names, pair, strict=True)):
            text = f"{name} {value:.2f}".replace("0.", ".")
            at = (left + 2.7 * (j + 0.5), y + height / 2)
            ink = "#FFFFFF" if value > 0.6 else INK
            ax.text(*at, text, ha="center", va="center", fontsize=sizes[1], color=ink)


MASKS = (("encoder", "encoder"), ("prefix", "prefix decoder"), ("decoder", "decoder"))


def masks() -> Fitting:
    """Three masks over the words of the sentence, side by side; the row of "it" is in full."""
    return Fitting(_masks(), _masks_narrow())


def _mask(ax: Axes, form: str, left: float) -> np.ndarray:
    """Draw one of the masks, its row of "it" framed; returns it."""
    n = len(WORDS)
    table = forms.known(form, n, 7).astype(float)
    shade = np.where(np.arange(n)[:, None] == IT, 1.0, 0.4) * table
    squares(ax, shade, (left, 0), COLORS.get(form, QUERY), 1.0)
    ax.add_patch(Rectangle((left, IT), n, 1, facecolor="none", edgecolor=INK, linewidth=1.8))
    return table


def _masks() -> Figure:
    figure, ax = blank(WIDE, 5.2)
    n = len(WORDS)
    for k, (form, title) in enumerate(MASKS):
        left = 15.4 * k
        table = _mask(ax, form, left)
        ax.text(left, n + 1.1, title, fontsize=14, fontweight="bold")
        for j, word in enumerate(WORDS):
            bold = "bold" if table[IT, j] else "normal"
            look: Any = {"rotation": 60, "ha": "left", "va": "bottom", "fontweight": bold}
            ax.text(left + j + 0.1, -0.1, word, fontsize=11.5, **look)
            bold = "bold" if j == IT else "normal"
            look = {"ha": "right", "va": "center", "fontweight": bold}
            ax.text(left - 0.25, j + 0.5, word, fontsize=11.5, **look)
    ax.set(xlim=(-3.1, 30.8 + n + 0.9), ylim=(n + 1.4, -3.2))
    return figure


def _masks_narrow() -> Figure:
    """The same without the words, but for "it"."""
    figure, ax = blank(PHONE, 1.5)
    for k, (form, title) in enumerate(MASKS):
        _mask(ax, form, 13.5 * k)
        ax.text(13.5 * k, -0.7, title, fontsize=SIZE, fontweight="bold")
    ax.text(-0.4, IT + 0.5, "it", ha="right", va="center", fontsize=SIZE)
    ax.set(xlim=(-1.8, 39.2), ylim=(12.1, -2.6))
    return figure


def known_by_pair() -> Figure:
    """Who can know whom in a pair: source and target in one table."""
    figure, ax = blank(6.6, 3.9)
    source, target = WORDS[7:], ["start", "weil", "es", "zu", "müde"]
    s, n = len(source), len(source) + len(target)
    table = forms.known("pair", n, s)
    for rows, columns, color in (
        (slice(0, s), slice(0, s), VALUE),
        (slice(s, n), slice(0, s), QUERY),
        (slice(s, n), slice(s, n), KEY),
    ):
        squares(ax, table[rows, columns].astype(float), (columns.start, rows.start), color)
    for i, word in enumerate([*source, *target]):
        ax.text(-0.3, i + 0.5, word, ha="right", va="center", fontsize=10)
        ax.text(i + 0.2, -0.1, word, rotation=60, ha="left", va="bottom", fontsize=10)
    notes = ((s / 2, "encoder"), (s + len(target) / 2, "cross-attention, then the decoder’s own"))
    for y, text in notes:
        ax.text(n + 0.4, y, text, va="center", fontsize=11)
    ax.set(xlim=(-3, n + 9), ylim=(n, -3))
    return figure


def at_places() -> Figure:
    """Right answers at "it" and the words after it, against what a causal stack can know."""
    figure, ax = panel(6.2, 2.7)
    held_out, places = tasks.ALL.split()[1], np.arange(4)
    for form in ("encoder", "decoder"):
        found = np.array([tasks.shares("refer", form, int(i)) for i in places])
        mean = found.mean(1)
        reach = np.abs(mean - [found.min(1), found.max(1)])
        ax.errorbar(places, mean, reach, color=COLORS[form], marker="o", label=form)
    best = [float(counts.best_guess(held_out, "decoder", tasks.IT + int(i))[0]) for i in places]
    ax.step(places, best, ":", where="mid", color=INK, label="bound")
    ax.set(ylim=(0, 1.08), xlim=(-0.3, 4.2), ylabel="right, new pairs of nouns")
    ax.set(xticks=places, xticklabels=["it", "was", "too", "tired, wide, …"])
    ax.legend(loc="lower right", fontsize=10)
    return figure


def crossing() -> tuple[Figure, Figure]:
    """A pair's block adds two attentions; one stack over both texts shares one."""
    made = []
    for title, steps in (
        ("encoder–decoder: two, added", (("own words", KEY), ("source", QUERY))),
        ("prefix decoder: one, shared", (("source and own words", VALUE),)),
    ):
        figure, ax = blank(3.3, 2.4)
        ax.text(0, -0.5, title, fontsize=11, fontweight="bold")
        ax.plot([1, 1], [0, 6], color=INK, linewidth=4, solid_capstyle="butt")
        for i, (name, color) in enumerate(steps):
            y = 1.2 + 2.4 * i + (1.0 if len(steps) == 1 else 0)
            _branch(ax, y, name, color)
        ax.set(xlim=(0, 10), ylim=(6.2, -1.0))
        made.append(figure)
    return made[0], made[1]


def _branch(ax: Axes, y: float, name: str, color: str) -> None:
    """An attention beside the stream: read from it, softmax, added to it."""
    for start, end in (((1, y), (3, y)), ((3, y + 1.2), (1, y + 1.2))):
        ax.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=10, color=INK))
    ax.add_patch(Rectangle((3, y - 0.3), 6.6, 1.8, facecolor="none", edgecolor=color, linewidth=2))
    ax.text(6.3, y + 0.6, name, ha="center", va="center", fontsize=11)
    ax.text(0.6, y + 1.2, "+", ha="right", va="center", fontsize=13)


def lessons() -> Fitting:
    """Which places of a pass are asked for their word: three ways of training."""
    return Fitting(_lessons(10.4, 12, 12), _lessons(PHONE, 6, SIZE))


def _lessons(width: float, across: int, size: float) -> Figure:
    """With so many words in a line; the names stand on the left, or above if lines are short."""
    hidden, left = {2, 9}, across == len(WORDS)
    lines = (
        ("encoder: hidden words", [w if i not in hidden else "▢" for i, w in enumerate(WORDS)]),
        ("decoder: next words", WORDS),
        ("encoder–decoder: target", ["start", "weil", "es", "zu", "müde", "war"]),
    )
    figure, ax = blank(width, 2.5)
    y = 0.0 if left else 1.0
    for k, (name, words) in enumerate(lines):
        where: Any = {"ha": "right", "va": "center"} if left else {"va": "bottom"}
        ax.text(-0.4 if left else 0, y + (0.5 if left else -0.15), name, fontsize=size, **where)
        for i, word in enumerate(words):
            asked = i in hidden if k == 0 else True
            x, below = 2.2 * (i % across), y + i // across
            box = Rectangle((x + 0.05, below + 0.04), 2.1, 0.92, linewidth=1.2)
            box.set(facecolor=VALUE if asked else "none", edgecolor=QUIET, alpha=0.35)
            ax.add_patch(box)
            look: Any = {"ha": "center", "va": "center", "fontsize": min(size, 10)}
            ax.text(x + 1.1, below + 0.5, word, **look)
        y += -(-len(words) // across) + (0.7 if left else 1.2)
    ax.set(xlim=(-7.4 if left else 0, 2.2 * across), ylim=(y - 0.4, -0.3))
    return figure


def bills() -> tuple[Figure, Figure]:
    """Vectors and operations to write up to 200 words after 100, anew and with a cache."""
    n = np.array([1, 2, 5, 10, 20, 50, 100, 200])
    rows, ax = panel(3.3, 2.6)
    names = {"encoder": "anew", "decoder": "cache", "pair": "encoder–decoder"}
    for form, label in names.items():
        taken = [counts.rows_to_write(form, 100, int(k)) for k in n]
        style = "--" if form == "pair" else "-"
        ax.plot(n, taken, style, color=COLORS[form], label=label)
    ax.set(xscale="log", yscale="log", xlabel="words written", title="vectors", xlim=(1, 4000))
    label_ends(ax)
    flops, ax = panel(3.3, 2.6)
    for form in ("encoder", "decoder"):
        billions = [counts.flops_to_write(form, GPT2, 100, int(k)) / 1e9 for k in n]
        ax.plot(n, billions, color=COLORS[form], label=names[form])
    ax.set(xscale="log", yscale="log", xlabel="words written", xlim=(1, 420))
    ax.set(title="10⁹ operations, GPT-2 small")
    label_ends(ax)
    return rows, flops


def wrong() -> tuple[Figure, ...]:
    """Which words a vector knows, as it should be, and below as a mistake makes it: three times."""
    return tuple(_broken(one) for one in broken.found())


def _broken(one: broken.Broken) -> Figure:
    n = len(one.words)
    figure, ax = blank(0.27 * (n + 4.2 + 1.2 * bool(one.right)), 1.8)
    right = next(iter(one.rows.values()))
    for i, (name, knows) in enumerate(one.rows.items()):
        y = 1.3 * i
        ax.text(-0.2, y + 0.5, name, ha="right", va="center", fontsize=10)
        squares(ax, knows[None].astype(float), (0, y))
        for at in np.flatnonzero(knows != right):
            mark(ax, float(at), y, missing=not knows[at])
        if one.right:
            share = f"{one.right[i]:.2f}".replace("0.", ".")
            ax.text(n + 0.2, y + 0.5, share, va="center", fontsize=10)
    for j, word in enumerate(one.words):
        bold = "bold" if j == one.asks else "normal"
        ax.text(j + 0.1, -0.1, word, rotation=60, va="bottom", fontsize=10, fontweight=bold)
    ax.set(xlim=(-4.1, n + 0.1 + 1.2 * bool(one.right)), ylim=(2.4, -2.8))
    figure.suptitle(one.title, fontsize=11, fontweight="bold", x=0.02, ha="left")
    return figure
