"""The figures of chapter 15."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tformer import reference
from tformer_book.chapters.ch15 import speculation, speed, writing
from tformer_book.figures.style import INK, KEY, PURPLE, QUERY, QUIET, VALUE, WIDE, WRONG, panel
from tformer_book.figures.tables import blank

TEMPERATURES = (2.0, 1.0, 0.5, 0.1)
FLAT = "Mia came by. The"
SHARP = "Mia came by. The dog did not cross the river because it was too tired. So Mia woke the"
"""After the first some forty words may come, after the second one."""
RULES = ("top-k, k = 5", "top-p, p = 0.9", "min-p, p = 0.1")


def strip(told: bool = True) -> Figure:
    """The storyteller's row of the next word, and what each way of choosing can write."""
    row = writing.logits()
    lines = [("the row, τ = 1", writing.shares(row))]
    lines += [
        ("greedy", writing.shares(reference.top_k(row, 1))),
        ("τ = ½, top-p ½", writing.shares(reference.top_p(reference.temperature(row, 0.5), 0.5))),
    ]
    figure, ax = blank(8.6, 1.75)
    ax.set_aspect("auto")
    ax.text(-0.1, -0.35, "… too", ha="right", va="center", fontsize=12, fontweight="bold")
    for i, word in enumerate([*writing.WORDS, "animal's"]):
        where = i + 0.3 * (i == len(writing.WORDS))
        ax.text(where + 0.5, -0.35, word, ha="center", va="center", fontsize=11)
    for y, (name, p) in enumerate(lines):
        ax.text(-0.1, y + 0.5, name, ha="right", va="center", fontsize=10.5)
        for i, share in enumerate([*p, writing.of_animal(p)]):
            known = told or y == 0
            look: Any = {"facecolor": to_rgba(PURPLE, round(float(share) * 0.7, 3) * known)}
            look |= {"edgecolor": PURPLE if known else QUIET, "linewidth": 1}
            x = i + 0.3 * (i == len(p))
            ax.add_patch(Rectangle((x + 0.03, y + 0.08), 0.94, 0.84, **look))
            text = (f"{share:.2f}" if share > 0 else "0") if known else "?"
            ax.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=10.5, color=INK)
    ax.set(xlim=(-1.8, 7.4), ylim=(3.1, -0.8))
    return figure


def paths() -> Figure:
    """The texts that greedy and two beams find, and their probability word by word."""
    figure, ax = panel(WIDE, 3.5)
    looks = (
        (1, "greedy", KEY, "o"),
        (2, "a beam of 2", PURPLE, "s"),
        (3, "a beam of 3", VALUE, "D"),
    )
    for width, name, color, mark in looks:
        words = writing.texts(writing.MISSED, width)[0].tokens[:-1]
        tokens, caches, p = writing.begun(writing.MISSED), None, [1.0]
        for word in words:
            rows, caches = writing.log_rows(tokens, caches)
            p.append(p[-1] * float(np.exp(rows[-1, word])))
            tokens = np.array([word])
        said = writing.text_of(words)
        ax.plot(range(len(p)), p, marker=mark, color=color, label=f"{name}: {said}")
    ax.set_xticks(
        range(len(p)), ["too", "trouble", ".", "So", "Mia", "cure", "the", "patient", "."]
    )
    ax.set(ylabel="probability of the text so far", ylim=(0, 0.4), xlim=(0.6, 8.4))
    ax.legend(fontsize=11, loc="upper right")
    return figure


def temperatures() -> tuple[Figure, Figure]:
    """The six words at four temperatures, and the animal's share at all."""
    own = writing.coin()
    first, ax = panel(3.9, 2.6)
    width = 0.2
    for i, tau in enumerate(TEMPERATURES):
        p = reference.softmax(reference.temperature(own, tau))
        shade = to_rgba(QUERY, 1 - 0.25 * i)
        ax.bar(np.arange(6) + (i - 1.5) * width, p, width, color=shade, label=f"τ = {tau:g}")
    ax.set_xticks(range(6), writing.WORDS, rotation=30)
    ax.set(ylabel="probability")
    ax.legend(fontsize=9)
    second, ax = panel(3.9, 2.6)
    taus = np.geomspace(0.08, 20, 80)
    for row, name, color in ((own, "the coin", QUERY), (writing.logits(), "storyteller", VALUE)):
        every = [reference.softmax(reference.temperature(row, float(t))) for t in taus]
        six = [x if len(x) == 6 else x[writing.numbers()] for x in every]
        ax.plot(taus, [writing.of_animal(x) for x in six], color=color, label=name)
    ax.axvline(1, color=QUIET, linewidth=1, linestyle=":")
    ax.set(xscale="log", xlabel="temperature", ylabel="the animal is too …", ylim=(0, 1))
    ax.set_xticks([0.1, 0.5, 1, 2, 10], [".1", "½", "1", "2", "10"])
    ax.minorticks_off()
    ax.legend(fontsize=10)
    return first, second


def kept(row: np.ndarray) -> list[np.ndarray]:
    """What each of `RULES` leaves of a row of logits."""
    return [reference.top_k(row, 5), reference.top_p(row, 0.9), reference.min_p(row, 0.1)]


def cuts() -> tuple[Figure, Figure]:
    """A flat row and a sharp one, likeliest first, and how far each rule keeps."""
    return _cut(FLAT, "flat: after “The”"), _cut(SHARP, "sharp: who is helped")


def _cut(text: str, title: str) -> Figure:
    figure, ax = panel(4.2, 2.8)
    row = writing.logits(text)
    p = np.sort(reference.softmax(row))[::-1][:50]
    ax.bar(np.arange(1, 51), p, color=to_rgba(QUIET, 0.6), width=0.9)
    for name, cut, color, height in zip(
        RULES, kept(row), (KEY, QUERY, VALUE), (0.62, 0.76, 0.9), strict=True
    ):
        n = int(np.isfinite(cut).sum())
        ax.axvline(n + 0.5, color=color, linewidth=1.6)
        ax.text(max(n, 6) + 1.5, height * p[0] * 1.05, f"{name}: {n}", color=color, fontsize=10)
    ax.set_title(title, fontsize=11, fontweight="bold")
    ax.set(xlabel="words, likeliest first", ylabel="probability", xlim=(0.3, 50))
    return figure


def triangle() -> tuple[Figure, Figure]:
    """The scores of 18 words with a cache, a row each; and without, a square each time."""
    first, ax = blank(3.3, 3.0)
    for y in range(18):
        ax.add_patch(Rectangle((0, y + 0.1), y + 1, 0.8, facecolor=to_rgba(VALUE, 0.7)))
    ax.set(xlim=(0, 18), ylim=(18, -1.5))
    ax.text(0, -0.6, "with the cache: 1 + 2 + … + 18", fontsize=10)
    second, ax = panel(4.2, 3.0)
    t = np.arange(1, 19)
    ax.bar(t, np.cumsum(t**2), color=to_rgba(KEY, 0.75), label="without")
    ax.bar(t, np.cumsum(t), color=VALUE, label="with the cache")
    ax.set(xlabel="words written", ylabel="scores so far", xticks=[1, 6, 12, 18])
    ax.legend(fontsize=10)
    return first, second


def costs() -> Figure:
    """What one more word costs after so many, measured, both ways."""
    figure, ax = panel(4.8, 2.9)
    found = speed.stored()
    for name, style in (("NumPy", "-"), ("PyTorch", "--")):
        for way, color in (("full", KEY), ("cached", VALUE)):
            said = "all words read again" if way == "full" else "with the cache"
            label = f"{said}, {name}"
            ax.plot(speed.LENGTHS[1:], found[name][way][1:], style, color=color, label=label)
    ax.set(xscale="log", yscale="log", xlabel="words", ylabel="milliseconds a word")
    ax.set_xticks([32, 128, 400, 1000], ["32", "128", "400", "1000"])
    ax.minorticks_off()
    ax.legend(fontsize=9)
    return figure


def overlap() -> Figure:
    """What two rows share is accepted; what the target has more is given in the other cases."""
    figure, ax = panel(4.8, 2.8)
    p, q, x = speculation.TARGET, speculation.DRAFT, np.arange(4)
    both = np.minimum(p, q)
    ax.bar(x, both, color=to_rgba(VALUE, 0.8), width=0.7, label="accepted")
    look: Any = {"width": 0.7, "bottom": both, "facecolor": "none", "linewidth": 1.6}
    ax.bar(x, p - both, edgecolor=QUERY, label="given instead", **look)
    ax.bar(x, q - both, edgecolor=KEY, linestyle=":", label="proposed, rejected", **look)
    ax.set_xticks(x, ["word 0", "word 1", "word 2", "word 3"])
    ax.set(ylabel="probability", ylim=(0, 0.62))
    ax.legend(fontsize=10)
    return figure


def lengths() -> Figure:
    """How many words one pass of the target writes in the mean."""
    figure, ax = panel(4.2, 2.7)
    a = np.linspace(0, 0.999, 200)
    for length, color in ((1, KEY), (3, PURPLE), (5, QUERY)):
        ax.plot(a, (1 - a ** (length + 1)) / (1 - a), color=color, label=f"{length} proposed")
        share = float(speculation.accepted(speculation.TARGET, speculation.DRAFT))
        found = speculation.lengths(speculation.TARGET, speculation.DRAFT, length, 1000)
        ax.plot(share, found.mean(), "o", color=color)
    ax.set(xlabel="probability that a word is accepted", ylabel="words a pass", ylim=(0, 6))
    ax.legend(fontsize=10)
    return figure


def mistakes() -> tuple[Figure, Figure]:
    """Rows of mistakes: temperature after softmax, and three ways to spoil a speculation."""
    first, ax = panel(3.9, 2.7)
    p = reference.softmax(writing.coin())
    width = 0.38
    right = reference.softmax(reference.temperature(writing.coin(), 0.5))
    wrong = reference.softmax(p / 0.5)
    ax.bar(np.arange(6) - width / 2, right, width, color=VALUE, label="logits divided")
    ax.bar(np.arange(6) + width / 2, wrong, width, color=WRONG, label="probabilities divided")
    ax.set_xticks(range(6), writing.WORDS, rotation=30)
    ax.set_title("τ = ½", fontsize=11, fontweight="bold")
    ax.legend(fontsize=9)
    second, ax = panel(3.9, 2.7)
    n, rules = 2000, ("", "greedily", "draft")
    names = ("the library", "accept if p ≥ q", "replace by the draft")
    for i, (rule, name) in enumerate(zip(rules, names, strict=True)):
        write = {"write": speculation.mistaken(rule)} if rule else {}
        seen = speculation.counts(n, 1, **write) / n
        color = (VALUE, WRONG, PURPLE)[i]
        ax.bar(np.arange(4) + (i - 1) * 0.26, seen, 0.26, color=color, label=name)
    for x, share in enumerate(speculation.TARGET):
        ax.plot([x - 0.4, x + 0.4], [share] * 2, color=INK, linewidth=1.6)
    ax.set_xticks(range(4), ["word 0", "word 1", "word 2", "word 3"])
    ax.set_title("lines: the target", fontsize=11, fontweight="bold")
    ax.legend(fontsize=9)
    return first, second
