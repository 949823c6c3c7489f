"""Figures of chapter 18: words born in a text, layers that are steps, ridge, kinds of examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tformer_book.chapters.ch18 import noisy, real, wug
from tformer_book.chapters.ch18.in_context import START
from tformer_book.chapters.ch18.regression import (
    answers,
    best_step,
    descend,
    layer,
    least_squares,
    loss_of_step,
    tokens,
    with_question_as_key,
)
from tformer_book.chapters.ch18.words import NONCE_SENTENCE
from tformer_book.figures import strips
from tformer_book.figures.style import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    QUIET,
    SKY,
    VERMILLION,
    WIDE,
    WRONG,
    Fitting,
    label_ends,
    panel,
)
from tformer_book.figures.tables import table

__all__ = [
    "BOTH",
    "ETA",
    "QUESTION",
    "TEXTS",
    "best",
    "kinds",
    "noise",
    "points",
    "residuals",
    "step",
    "strip",
    "words",
    "wrong",
]

TEXTS = {
    "no introduction": "",
    "a hungry wug": "there was a hungry wug . ",
    "… and a deep dax": "there was a hungry wug . there was a deep dax . ",
    "exchanged": "there was a hungry dax . there was a deep wug . ",
}
"""What stands before the sentence: a short name, and the text."""
BOTH = "… and a deep dax"
ETA = 0.3
QUESTION = 2.6
"""Where the line is asked for, in the pictures of one step."""
LARGE = 14
KIND_NAMES = {
    "capitals": "capitals",
    "capitals, shuffled": "capitals,\nshuffled",
    "labels": "foo / bar",
    "labels, flipped": "foo / bar,\nflipped",
    "word pairs": "word\npairs",
}


def chances(name: str, trouble: str) -> tuple[float, float]:
    """The probabilities of *wug* and *dax* behind one of `TEXTS` and the sentence."""
    return wug.asked(TEXTS[name] + NONCE_SENTENCE.format(trouble), wug.shown())


def strip(told: bool = True) -> Fitting:
    """What the model gives to *wug* and *dax*, not introduced and, if `told`, both introduced."""
    sentence = NONCE_SENTENCE.split(" . ")[0].format("tired").split()
    places = [sentence.index(noun) for noun in ("wug", "dax")]
    lines = []
    for name, begins in (("no introduction", "no introduction"), ("introduced", BOTH)):
        values = np.zeros(len(sentence))
        values[places] = chances(begins, "tired")
        lines.append(strips.Line(name, values, begins == BOTH, BLUE))
    return strips.strip(sentence, lines, told, sentence.index("it"))


@rc_context({"font.size": LARGE})
def words() -> tuple[Figure, ...]:
    """What the model answers after four texts, under both endings."""
    drawn = []
    for trouble in ("tired", "wide"):
        figure, ax = panel(WIDE * 0.5, 3.0)
        for i, name in enumerate(TEXTS):
            for j, (value, color) in enumerate(
                zip(chances(name, trouble), (BLUE, ORANGE), strict=True)
            ):
                y = -i - 0.19 + 0.38 * (1 - j)
                ax.barh(y, value, 0.36, color=color)
                noun = ("wug", "dax")[j]
                ax.text(value + 0.02, y, f"{noun} {value:.2f}", va="center", fontsize=12)
        ax.set(xlim=(0, 1.25), title=f"… because it was too {trouble} . the", xticks=(0, 0.5, 1))
        ax.set_yticks([-i for i in range(len(TEXTS))], [*TEXTS])
        ax.grid(visible=False, axis="y")
        drawn.append(figure)
    return tuple(drawn)


def points() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows (1, a), the targets, and a question of the pictures."""
    a, y = np.array(START).T
    return np.stack([np.ones_like(a), a], axis=1), y[:, None], np.array([1.0, QUESTION])


@rc_context({"font.size": LARGE})
def step() -> tuple[Figure, ...]:
    """The line after 0, 1 and 8 layers, with the residuals."""
    x, y, q = points()
    ends = np.array([[1, -3], [1, 3]])
    drawn = []
    for k in (0, 1, 8):
        figure, ax = panel(WIDE / 3 - 0.1, 3.3)
        w = descend(x, y, ETA, k)
        ax.plot(ends[:, 1], ends @ least_squares(x, y), ":", color=GREEN)
        ax.plot(ends[:, 1], ends @ w, color=INK)
        ax.vlines(x[:, 1], (x @ w)[:, 0], y[:, 0], color=VERMILLION, linewidth=2)
        ax.plot(x[:, 1], y[:, 0], "o", color=BLUE, markersize=7)
        ax.plot([QUESTION], [(q @ w)[0]], "D", color=PURPLE, markersize=8)
        layers = "1 layer" if k == 1 else f"{k} layers"
        ax.set(xlim=(-3, 3), ylim=(-2, 2.3), title=f"after {layers}", xlabel="a")
        drawn.append(figure)
    return tuple(drawn)


def residuals() -> Figure:
    """What stands behind x in each token, after each of four layers."""
    x, y, q = points()
    e = tokens(x, y, q)
    found = []
    for _ in range(5):
        found.append(e[:, 2])
        e = layer(e, 2, ETA)
    rows = [f"after {k}" if k else "at first" for k in range(5)]
    columns = [f"a = {a:g}" for a in x[:, 1]] + ["question"]
    return table(
        np.array(found) + 0.0, rows, columns, VERMILLION, written="{:.2f}", size=0.62, most=2
    )


def best(found: Sequence[tuple[float, float]] = (), d: int = 5) -> Figure:
    """The expected error over the step size, for three numbers of examples; trained layers."""
    figure, ax = panel(5.4, 3.4)
    etas = np.linspace(0, 1.2, 121)
    for n, color in ((5, ORANGE), (10, BLUE), (40, GREEN)):
        ax.plot(etas, loss_of_step(n, d, etas), color=color, label=f"n = {n}")  # type: ignore[arg-type]
        at = best_step(n, d)
        ax.plot([at], [loss_of_step(n, d, at)], "o", color=color, markersize=7)
    for eta, error in found:
        ax.plot([eta], [error], "x", color=INK, markersize=9, markeredgewidth=2)
    ax.set(xlabel="step size η", ylabel="error of the answer ÷ d", ylim=(0, 1.45), xlim=(0, 1.2))
    label_ends(ax, gap=14)
    return figure


def noise() -> Figure:
    """The error by the number of examples: least squares, ridge, and decoders of two depths."""
    figure, ax = panel(5.6, 3.6)
    tasks = noisy.held()
    n = np.arange(noisy.COUNT)
    clean = tasks.clean[..., 0]
    for name, penalty, color, look in (
        ("least squares", 0.0, GREEN, "--"),
        ("ridge, λ = σ²", noisy.NOISE**2, PURPLE, "-"),
    ):
        ax.plot(n, noisy.errors(noisy.by_ridge(tasks, penalty), clean), look, color=color)
        height = 2.2 if penalty == 0 else 0.075
        ax.text((3.6, 4.0)[penalty > 0], height, name, color=color)
    for layers, color, height in ((1, SKY, 0.62), (3, INK, 0.15)):
        for run in noisy.stored()[str(layers)]:
            ax.plot(n, run["error"], "o", color=color, markersize=4, alpha=0.7)
        words = "1 layer" if layers == 1 else f"{layers} layers"
        ax.text(5.4, height, words, color=color)
    ax.set(yscale="log", ylim=(0.02, 4), xlabel="examples", ylabel="error of the answer ÷ d")
    ticks = (0.03, 0.1, 0.3, 1.0, 3.0)
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    return figure


@rc_context({"font.size": LARGE})
def kinds() -> Figure:
    """The share of right answers of the real model, whole and with heads cut."""
    figure, ax = panel(WIDE * 0.62, 3.4)
    found = real.summary()
    looks = {"whole": (BLUE, "whole"), "induction": (WRONG, "induction heads cut")}
    looks["others"] = (QUIET, "four others cut")
    for i, kind in enumerate(KIND_NAMES):
        for j, (name, (color, label)) in enumerate(looks.items()):
            mean, off = found[kind][name]
            named = label if i == 0 else None
            bar = ax.bar(i + 0.27 * (j - 1), mean, 0.25, yerr=off, color=color, label=named)
            bar.errorbar.lines[2][0].set_color(INK)  # type: ignore[union-attr]
    ax.axhline(0.5, 0.41, 0.79, color=QUIET, linestyle=":")
    ax.set_xticks(range(len(KIND_NAMES)), [*KIND_NAMES.values()])
    ax.set(ylabel="right answers", ylim=(0, 1.32), yticks=(0, 0.5, 1))
    ax.legend(loc="upper right", ncols=3, fontsize=12)
    return figure


def wrong() -> tuple[Figure, Figure]:
    """The answer after each layer: right, and with three mistakes; then least squares."""
    x, y, q = points()
    right = answers(x, y, q, ETA, 8)[:, 0]
    e = tokens(x, y, q)
    asked_too = []
    for _ in range(9):
        asked_too.append(float(-e[-1, 2]))
        e = with_question_as_key(e, 2, ETA)
    left, ax = panel(4.2, 3.2)
    _lines(ax, right, {"question is a key": np.array(asked_too)})
    ax.set_title("the question as a key")
    middle, ax = panel(4.2, 3.2)
    turned = answers(x, y, q, -ETA, 8)[:, 0]
    whole = answers(x, y, q, ETA * len(x), 8)[:, 0]
    _lines(ax, right, {"wrong sign": turned, "not ÷ n": whole})
    ax.set(ylim=(-6, 6), title="sign, and n")
    return left, middle


def _lines(ax: Axes, right: np.ndarray, others: dict[str, np.ndarray]) -> None:
    ax.plot(right, color=INK, marker="o", markersize=4, label="right")
    for i, (name, row) in enumerate(others.items()):
        ax.plot(row, "--" if i == 0 else ":", color=WRONG, marker="s", markersize=4, label=name)
    ax.set(xlabel="layers", ylabel="answer")
    ax.legend(fontsize=10)
