"""The figures of chapter 13."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tformer.models.objectives import masked_tokens, next_tokens, span_corruption
from tformer.tokens import BPE
from tformer_book.chapters.ch13 import cut, reached, real
from tformer_book.chapters.ch13.known import left, tokens, world
from tformer_book.chapters.ch13.last_words import MOST, TALES, chances
from tformer_book.figures.style import (
    INK,
    KEY,
    PURPLE,
    QUERY,
    QUIET,
    VALUE,
    WEIGHT,
    WIDE,
    WRONG,
    panel,
)
from tformer_book.figures.tables import blank, mark, squares

ROW = "because it was too tired"
LEARNT = (0, 5, 40, 400)
"""After so many merges the row is cut."""
MASKED, BATCH = 54, 48
"""A seed at which a word is masked and another stays; stories of a mean."""
ASKED_OF = ["the", "animal", "was", "too", "tired", "to", "cross"]


def _box(ax: Axes, x: float, y: float, text: str, color: str, width: float = 1.0) -> None:
    look: Any = {"facecolor": "none", "edgecolor": color, "linewidth": 1.3}
    ax.add_patch(Rectangle((x + 0.03, y + 0.1), width - 0.06, 0.8, **look))
    ax.text(x + width / 2, y + 0.5, text, ha="center", va="center", fontsize=10, color=INK)


def strip(told: bool = True) -> tuple[Figure, Figure]:
    """Under both adjectives: how many nouns may come, after more and more of the last words."""
    return _counted(TALES[0], told), _counted(TALES[1], told)


def _counted(tale: str, told: bool) -> Figure:
    figure, ax = blank(4.4, 1.35)
    words = tale.split()
    shown = {0: "nothing", 2: words[15], 11: words[6], 16: words[1]}
    ax.text(0, -0.55, f"… too {words[11]}", fontsize=12, fontweight="bold")
    ax.text(2.3, 0.5, "known, with all after it", ha="right", va="center", fontsize=9)
    ax.text(2.3, 1.5, "nouns that may come", ha="right", va="center", fontsize=9)
    for i, (k, word) in enumerate(shown.items()):
        x = 2.5 + 1.7 * i
        ax.text(x + 0.85, 0.5, word, ha="center", va="center", fontsize=11)
        number = str(len(chances(tale, k))) if told or not k else "?"
        _box(ax, x, 1, number, PURPLE if told or not k else QUIET, 1.7)
    ax.set(xlim=(-0.8, 9.4), ylim=(2.1, -1.1))
    ax.set_aspect("auto")
    return figure


def known() -> Figure:
    """What the last k words leave open of the patient, exactly, and what models reach."""
    figure, ax = panel(WIDE, 3.6)
    words = TALES[0].split()[:MOST]
    k = np.arange(MOST + 1)
    ax.step(k, [left(int(n)) for n in k], where="mid", color=QUERY, label="left open, exactly")
    for n, runs in reached.stored().items():
        ends = [run[1] for run in runs]
        name = "what models reach" if n == reached.SEEN[0] else None
        look: Any = {"linestyle": "", "markersize": 6, "fillstyle": "none", "label": name}
        ax.plot([n] * len(ends), ends, "o", color=KEY, **look)
    ax.set_xticks(k, ["nothing", *words[::-1]], rotation=40, ha="right", fontsize=11)
    ax.set(xlabel="the earliest word that is known", ylabel="nats", ylim=(-0.15, 4))
    ax.legend(fontsize=11)
    return figure


def parts() -> Figure:
    """The loss of models that count the last words: the floor of the world, and what is theirs."""
    figure, ax = panel(4.8, 2.7)
    encode, least = cut.cuts()["words"].encode, float(np.log(len(world())))
    for k in range(5):
        loss = cut.by_counting(encode, k).nats
        ax.barh(k, least, color=QUERY, height=0.65, label=None if k else "the world's entropy")
        ax.barh(k, loss - least, left=least, color=KEY, height=0.65, label=None if k else "KL")
        ax.text(loss + 0.6, k, f"{loss:.1f}", va="center", fontsize=10)
    ax.set(yticks=range(5), xlabel="nats a story", xlim=(0, 76), ylabel="words known")
    ax.legend(fontsize=10, loc="lower right")
    ax.grid(visible=False, axis="y")
    ax.invert_yaxis()
    return figure


def pieces() -> Figure:
    """The end of the row, cut after ever more merges, and by the real model's tokenizer."""
    figure, ax = blank(4.8, 2.1)
    ax.set_aspect("auto")
    names = [f"{n} merges" for n in LEARNT]
    lists = []
    for n in LEARNT:
        tokenizer = BPE.from_merges([str(one) for one in cut.merges()[:n]])
        lists.append(cut.pieces(tokenizer, f" {ROW}"))
    whole = real.stored()["pieces"][real.SHOWN[0]]
    lists.append(whole[-6:-1])
    for y, (name, row) in enumerate(zip([*names, "the real one"], lists, strict=True)):
        ax.text(-0.5, y + 0.5, name, ha="right", va="center", fontsize=10)
        x = 0.0
        for one in row:
            _box(ax, x, y, one.replace(" ", "␣"), VALUE if y < len(LEARNT) else PURPLE, len(one))
            x += len(one)
        ax.text(x + 0.4, y + 0.5, str(len(row)), va="center", fontsize=10, fontweight="bold")
    ax.set(xlim=(-5, len(ROW) + 2.5), ylim=(len(lists), 0))
    return figure


def shorter() -> Figure:
    """How many tokens the corpus has after so many merges."""
    figure, ax = panel(4.8, 2.6)
    text, steps = cut.corpus_text(), np.arange(0, cut.MERGES + 1, 20)
    learnt = [str(one) for one in cut.merges()]
    counts = [len(BPE.from_merges(learnt[:n]).encode(text)) for n in steps]
    ax.plot(steps, counts, color=VALUE)
    theirs = real.stored()["corpus"]
    ax.axhline(theirs, color=PURPLE, linestyle=":", linewidth=1.4)
    ax.text(0, theirs - 260, "the real model's, a list of 49,152", fontsize=10, va="top")
    ax.set(xlabel="merges", ylabel="tokens of the corpus", ylim=(0, 9500))
    return figure


def objectives() -> tuple[Figure, Figure, Figure]:
    """One text, and what each objective lets a model read and asks it for."""
    tokens = np.arange(len(ASKED_OF))[None]
    given, wanted = next_tokens(tokens)
    first = _asked("next token", ASKED_OF[:-1], given[0], wanted[0])
    names = [*ASKED_OF, "▢"]
    given, wanted = masked_tokens(tokens, np.random.default_rng(MASKED), len(ASKED_OF), 7, 0.4)
    second = _asked("masked", names, given[0], wanted[0])
    names = [*ASKED_OF, "⟨1⟩", "⟨2⟩", "⟨3⟩"]
    source, target = span_corruption(
        tokens, np.random.default_rng(1), np.array([7, 8, 9]), 0.43, length=1.5
    )
    third = _spans(names, source[0], target[0])
    return first, second, third


def _asked(title: str, names: list[str], given: np.ndarray, wanted: np.ndarray) -> Figure:
    figure, ax = blank(2.8, 2.4)
    ax.set_aspect("auto")
    for t, (one, other) in enumerate(zip(given, wanted, strict=True)):
        _box(ax, 0, t, [*names, *ASKED_OF[-1:]][one], QUERY, 2)
        if other >= 0:
            _box(ax, 3, t, ASKED_OF[other], VALUE, 2)
            ax.annotate("", (3, t + 0.5), (2, t + 0.5), arrowprops={"arrowstyle": "->"})
    return _titled(figure, ax, title, len(given))


def _spans(names: list[str], source: np.ndarray, target: np.ndarray) -> Figure:
    figure, ax = blank(2.8, 2.4)
    ax.set_aspect("auto")
    for x, row, color in ((0, source, QUERY), (3, target, VALUE)):
        for t, one in enumerate(row):
            _box(ax, x, t, names[one], color, 2)
    return _titled(figure, ax, "span corruption", len(source))


def _titled(figure: Figure, ax: Axes, title: str, n: int) -> Figure:
    ax.text(1, -0.2, "is read", ha="center", va="bottom", fontsize=10)
    ax.text(4, -0.2, "is asked", ha="center", va="bottom", fontsize=10)
    ax.set_title(title, fontsize=11, fontweight="bold")
    ax.set(xlim=(-0.2, 5.2), ylim=(max(n, 7), -1))
    return figure


def compared() -> Figure:
    """Models that count, by words and by characters: perplexity of a token, and bits per byte."""
    figure, ax = panel(4.8, 3.1)
    for name, color in (("characters", KEY), ("words", QUERY)):
        encode = cut.cuts()[name].encode
        told = [cut.by_counting(encode, k) for k in range(1, 5)]
        n = told[0].tokens
        least = cut.Told(float(np.log(len(world()))), n, told[0].bytes)
        x = [one.perplexity for one in (*told, least)]
        y = [one.bits_a_byte for one in (*told, least)]
        ax.plot(x, y, ":", color=color, linewidth=1)
        first = name == "characters"
        ax.plot(x[:-1], y[:-1], "o", color=color, label="the last 1 to 4" if first else None)
        ax.plot(x[-1:], y[-1:], "*", color=color, markersize=14, label="all" if first else None)
        ax.text(x[1] + 0.15, y[1], name, color=color, va="top", fontsize=11)
    ax.set(xscale="log", yscale="log", xlabel="perplexity of a token", ylabel="bits per byte")
    ax.set_xticks([1.1, 1.5, 2, 3, 5], ["1.1", "1.5", "2", "3", "5"])
    ax.set_yticks([0.15, 0.3, 0.6, 1.2, 2.4], [".15", ".3", ".6", "1.2", "2.4"])
    ax.minorticks_off()
    legend = ax.legend(fontsize=10, loc="upper left", title="tokens known")
    for handle in legend.legend_handles:
        handle.set_color(QUIET)  # type: ignore[union-attr]
    return figure


def moving() -> tuple[Figure, Figure]:
    """At the floor: the gradient of one story for the first noun's logits, and a mean of some."""
    rows = tokens()
    share = np.bincount(rows[:, 2], minlength=len(world().words)) / len(rows)
    order = np.argsort(-share, stable=True)[: int((share > 0).sum())]
    animal = world().words.index("animal")
    one = share - (np.arange(len(share)) == animal)
    drawn = rows[np.random.default_rng(0).integers(len(rows), size=BATCH), 2]
    many = share - np.bincount(drawn, minlength=len(share)) / BATCH
    titles = ("one story, of an animal", f"mean of {BATCH} stories")
    pairs = zip(titles, (one[order], many[order]), strict=True)
    first, second = (_bars(title, values) for title, values in pairs)
    return first, second


def _bars(title: str, values: np.ndarray) -> Figure:
    figure, ax = panel(3.3, 2.2)
    ax.bar(range(len(values)), values, color=PURPLE, width=0.8)
    ax.axhline(0, color=QUIET, linewidth=1)
    ax.set_title(title, fontsize=11, fontweight="bold")
    ax.set(xlabel=f"{len(values)} nouns", xticks=[], ylim=(-1.05, 0.3))
    return figure


def wrong() -> tuple[Figure, Figure, Figure]:
    """Targets not moved, a space at the end, a mean of means: right above, and wrong below."""
    return _not_moved(), _spaced(), _weighed()


def _not_moved() -> Figure:
    """What is read and asked; framed where the one is the other."""
    figure, ax = blank(3.2, 1.7)
    given, wanted = next_tokens(np.arange(5)[None])
    lines = {"is read": given[0], "is asked": wanted[0], "not moved": given[0]}
    for i, (name, row) in enumerate(lines.items()):
        y = i + 0.35 * (i > 1)
        ax.text(-0.1, y + 0.5, name, ha="right", va="center", fontsize=10)
        for t, one in enumerate(row):
            color = WRONG if one == given[0, t] else VALUE
            _box(ax, t, y, ASKED_OF[one], color if i else QUERY)
    return _named(figure, ax, "the next word", (-1.55, 4.1))


def _spaced() -> Figure:
    """The tokens of the end of the row, and of the same with the space cut off from its word."""
    figure, ax = blank(2.9, 1.7)
    tokenizer = BPE.from_merges([str(one) for one in cut.merges()])
    first, last = "too", " tired"
    right = cut.pieces(tokenizer, first + last)
    cut_off = [*cut.pieces(tokenizer, first + last[0]), *cut.pieces(tokenizer, last)]
    for y, name, row in ((0, "the text", right), (1.35, "after “too ”", cut_off)):
        x = 0
        ax.text(-0.3, y + 0.5, name, ha="right", va="center", fontsize=10)
        for one in row:
            color = VALUE if one in right else WRONG
            _box(ax, x, y, one.replace(" ", "␣"), color, len(one))
            x += len(one)
    return _named(figure, ax, "a space at the end", (-6.5, 10.2))


def _weighed(lengths: tuple[int, int] = (2, 18)) -> Figure:
    """What each token of two lines weighs in the mean over tokens, and in the mean of means."""
    figure, ax = blank(4.4, 1.7)
    short, n, gap = lengths[0], sum(lengths), 0.6
    means = [np.full(k, 1 / k / len(lengths)) for k in lengths]
    rows = {"over tokens": [np.full(k, 1 / n) for k in lengths], "over lines": means}
    for i, (name, row) in enumerate(rows.items()):
        y = 1.75 * i
        ax.text(-0.3, y + 0.5, name, ha="right", va="center", fontsize=10)
        for x, weights in zip((0, short + gap), row, strict=True):
            squares(ax, weights[None], (x, y), WEIGHT, most=float(means[0][0]))
            text = f"{weights[0]:.3f}".replace("0.", ".")
            ax.text(x + len(weights) / 2, y + 1.05, text, ha="center", va="top", fontsize=9.5)
        for t in range(short if i else 0):
            mark(ax, t, y)
    return _named(figure, ax, "the mean", (-5.6, n + gap + 0.1))


def _named(figure: Figure, ax: Axes, title: str, sides: tuple[float, float]) -> Figure:
    ax.set_aspect("auto")
    ax.set(xlim=sides, ylim=(3.45, -0.2))
    figure.suptitle(title, fontsize=11, fontweight="bold", x=0.02, ha="left")
    return figure
