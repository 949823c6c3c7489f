"""Figures of chapter 11: masks, who knows at "it", two texts, and what writing costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from tformer.models.sizes import Sizes
from tformer_book.chapters.ch11 import broken, counts, forms, tasks
from tformer_book.figures.style import INK, KEY, QUERY, QUIET, VALUE, WIDE, label_ends, panel
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


def strip(before: bool = False) -> Figure:
    """Four vectors that are asked for "it": with `before` what each can know, else its answer."""
    return _seen() if before else _answers()


def _seen() -> Figure:
    """The words on which each of the four vectors can depend; its own word is framed."""
    figure, ax = blank(10.4, 2.5)
    n, german = len(WORDS), tasks.german(tasks.STORIES[0])[:2]
    words = [*WORDS, *german]
    asked = ((n, "encoder", IT), (n, "decoder", IT), (n, "decoder", n - 1), (n + 2, "pair", n + 1))
    for i, (where, (length, form, at)) in enumerate(zip(answers(0), asked, strict=True)):
        ax.text(-0.4, i + 0.5, where, ha="right", va="center", fontsize=11)
        knows = forms.known(form, length, n)[at]
        for j in range(length):
            box = Rectangle((2.2 * j + 0.05, i + 0.06), 2.1, 0.88, linewidth=1.0)
            box.set(facecolor=VALUE if knows[j] else "none", edgecolor=QUIET, alpha=0.35)
            ax.add_patch(box)
            bold = "bold" if j == at else "normal"
            at_word = (2.2 * j + 1.1, i + 0.5)
            ax.text(*at_word, words[j], ha="center", va="center", fontsize=9, fontweight=bold)
        frame = Rectangle((2.2 * at + 0.05, i + 0.06), 2.1, 0.88, facecolor="none", edgecolor=INK)
        ax.add_patch(frame)
        frame.set(linewidth=1.8)
    ax.set(xlim=(-9.4, 2.2 * len(words) + 0.2), ylim=(4.1, -0.1))
    return figure


def _answers() -> Figure:
    """What each of the four vectors gives *animal* and *street*, or *es* and *sie*."""
    figure, ax = blank(10.4, 2.1)
    places = list(answers(0))
    for i, where in enumerate(places):
        ax.text(7.6, i + 0.5, where, ha="right", va="center", fontsize=12)
    for story, left in ((0, 8.0), (1, 14.6)):
        ax.text(left, -0.25, f"… too {('tired', 'wide')[story]}", fontsize=13, fontweight="bold")
        for i, pair in enumerate(answers(story).values()):
            squares(ax, np.array(pair)[None], (left, i), VALUE, 1.0, (2.7, 1))
            names = ("es", "sie") if i == 3 else ("animal", "street")
            for j, (name, value) in enumerate(zip(names, pair, strict=True)):
                text = f"{name} {value:.2f}".replace("0.", ".")
                at = (left + 2.7 * (j + 0.5), i + 0.5)
                ink = "#FFFFFF" if value > 0.6 else INK
                ax.text(*at, text, ha="center", va="center", fontsize=11, color=ink)
    ax.set(xlim=(0, 20.4), ylim=(4.1, -1.0))
    return figure


def masks() -> Figure:
    """Three masks over the words of the sentence, side by side; the row of "it" is in full."""
    figure, ax = blank(WIDE, 5.2)
    n = len(WORDS)
    for k, (form, title) in enumerate(
        (("encoder", "encoder"), ("prefix", "prefix decoder"), ("decoder", "decoder"))
    ):
        left, color = 15.4 * k, COLORS.get(form, QUERY)
        table = forms.known(form, n, 7).astype(float)
        squares(ax, np.where(np.arange(n)[:, None] == IT, 1.0, 0.4) * table, (left, 0), color, 1.0)
        ax.add_patch(Rectangle((left, IT), n, 1, facecolor="none", edgecolor=INK, linewidth=1.8))
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


def lessons() -> Figure:
    """Which places of a pass are asked for their word: three ways of training."""
    figure, ax = blank(10.4, 2.5)
    hidden = {2, 9}
    lines = (
        ("encoder: hidden words", [w if i not in hidden else "▢" for i, w in enumerate(WORDS)]),
        ("decoder: next words", WORDS),
        ("encoder–decoder: target", ["start", "weil", "es", "zu", "müde", "war"]),
    )
    for k, (name, words) in enumerate(lines):
        y = 1.7 * k
        ax.text(-0.4, y + 0.5, name, ha="right", va="center", fontsize=12)
        for i, word in enumerate(words):
            asked = i in hidden if k == 0 else True
            box = Rectangle((2.2 * i + 0.05, y), 2.1, 1, linewidth=1.2)
            box.set(facecolor=VALUE if asked else "none", edgecolor=QUIET, alpha=0.35)
            ax.add_patch(box)
            ax.text(2.2 * i + 1.1, y + 0.5, word, ha="center", va="center", fontsize=10)
    ax.set(xlim=(-7.4, 2.2 * len(WORDS)), ylim=(4.7, -0.3))
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
