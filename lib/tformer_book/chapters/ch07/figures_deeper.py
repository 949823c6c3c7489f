"""Figures of chapter 7's deeper page: decay with distance, and how far the hands have gone."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Wedge

from tformer import reference
from tformer_book.chapters.ch07 import loading
from tformer_book.chapters.ch07.figures import clock
from tformer_book.chapters.ch07.scores import BASE, TRAINED, changed_base, turned
from tformer_book.figures.style import INK, PURPLE, QUIET, WRONG, panel
from tformer_book.figures.tables import blank

WIDTH, LONG = 16, 256
DISTANCES = np.unique(np.round(np.geomspace(1, 4096, 60)).astype(int))


def decay(rng: np.random.Generator, d: int = 64, n: int = 40) -> tuple[Figure, Figure]:
    """Scores over distance: rows of ones, and random queries and keys."""
    ones, ax = panel(3.3, 2.4)
    ax.plot(DISTANCES, turned(np.ones(d), np.ones(d), DISTANCES) / d, "o-", color=INK, markersize=3)
    ax.axhline(0, color=QUIET, linewidth=1)
    ax.set(title="ones", xscale="log", xlabel="distance", ylabel="score / d", ylim=(-0.6, 1.1))
    drawn, ax = panel(3.3, 2.4)
    pairs = rng.standard_normal((n, 2, d))
    scores = np.array([turned(q, k, DISTANCES) for q, k in pairs])
    for one in scores:
        ax.plot(DISTANCES, one / d**0.5, "o", color=QUIET, markersize=1.8, alpha=0.5)
    ax.plot(DISTANCES, scores.std(axis=0) / d**0.5, "o-", color=INK, markersize=3)
    ax.set(title="random rows", xscale="log", xlabel="distance", ylabel="score / √d", ylim=(-4, 4))
    return ones, drawn


def rounds() -> Figure:
    """Which part of its circle each hand covers: in training, and on a text eight times as long."""
    figure, ax = blank(3.6, 2.3)
    factor = LONG / TRAINED
    changed = changed_base(factor, WIDTH)
    lines: dict[str, dict[str, Any]] = {
        "32 positions": {"length": TRAINED},
        "256 positions": {"length": LONG},
        "interpolated": {"length": LONG, "slow": factor},
        "base changed": {"length": LONG, "base": changed},
    }
    for line, (name, how) in enumerate(lines.items()):
        for i in range(WIDTH // 2):
            seen = _angle(i, TRAINED)
            gone = _angle(i, **how)
            clock(ax, (i, line), 0.42)
            for angle, color in ((gone, PURPLE), (min(gone, seen), QUIET)):
                # angles of a wedge run against the clock where y points up: here y points down
                ax.add_patch(Wedge((i, line), 0.42, -90, angle - 90, color=color, linewidth=0))
        ax.text(-0.7, line, name, ha="right", va="center", fontsize=10)
    ax.set(xlim=(-3.4, 7.5), ylim=(3.5, -0.6))
    return figure


def _angle(i: int, length: int, slow: float = 1.0, base: float = BASE) -> float:
    """Degrees by which a hand has turned at the last place of a text, at most a round."""
    return float(min(360.0, np.degrees((length - 1) / slow * base ** (-2 * i / WIDTH))))


def hills(scores: np.ndarray) -> Figure:
    """Mean score of a head at each distance: black where training went, grey beyond."""
    figure, ax = panel(3.6, 2.4)
    at = np.arange(len(scores))
    ax.plot(at[TRAINED - 1 :], scores[TRAINED - 1 :], color=QUIET, linewidth=1)
    ax.plot(at[:TRAINED], scores[:TRAINED], color=INK, linewidth=1.6)
    for top in (int(scores[:TRAINED].argmax()), TRAINED + int(scores[TRAINED:].argmax())):
        ax.plot(top, scores[top], "o", color=INK, markersize=4)
        ax.text(top + 4, scores[top], str(top), va="bottom", color=INK)
    ax.margins(y=0.15)
    ax.set(xlabel="distance", ylabel="mean score")
    return figure


def nearest_repeats(reach: int = 1000) -> Figure:
    """How far a row of waves of width 2 is from the row of place 0, for each place."""
    figure, ax = panel(3.6, 2.2)
    places = np.arange(1, reach)
    rows = reference.sinusoidal(places, 2) - reference.sinusoidal(np.array([0]), 2)
    ax.plot(places, reference.norm(rows), ".", color=INK, markersize=2)
    ax.set(yscale="log", xlabel="position", ylabel="distance of encodings")
    return figure


def loading_mistakes() -> tuple[Figure, Figure]:
    """What each mistake costs, and how far it moves a logit of each of the passages."""
    names = loading.MISTAKES[::-1]
    cost, ax = panel(4.6, 2.7)
    ax.barh(names, [loading.costs(name).mean() for name in names], color=WRONG, height=0.7)
    ax.set(title="loss", xlabel="costs, nats a token")
    apart, ax = panel(4.6, 2.7)
    for i, name in enumerate(names):
        moved = loading.stored()[name]["apart"]
        ax.plot(moved, [i] * len(moved), "o", color=WRONG, markersize=4)
    right = max(loading.stored()[loading.RIGHT]["apart"])
    ax.axvline(right, color=INK, linewidth=1.2)
    ax.annotate("loaded rightly", (right, 2.4), (5, 0), textcoords="offset points")
    ax.set_yticks(range(len(names)), names)
    ax.set(
        title="logits, beside transformers'", xscale="log", xlabel="largest difference of a logit"
    )
    ax.set(xlim=(2e-5, 200))
    return cost, apart
