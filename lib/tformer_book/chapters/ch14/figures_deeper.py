"""The figures of chapter 14's deeper page."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from tformer_book.chapters.ch14 import bench
from tformer_book.chapters.ch14.claims_measured import ends
from tformer_book.chapters.ch14.claims_recipes import COMPARED, RECIPES
from tformer_book.experiments.training import Adam
from tformer_book.figures.style import KEY, QUERY, QUIET, VALUE, label_ends, panel


def averages() -> Figure:
    """How wide a running mean of noise is, from the first step on."""
    figure, ax = panel(4.8, 2.5)
    t = np.arange(1, 61)
    for beta, color in ((0.9, QUERY), (0.5, KEY)):
        wide = (1 - beta) / (1 + beta) * (1 + beta**t) / (1 - beta**t)
        ax.plot(t, np.sqrt(wide), color=color, label=f"running, β = {beta}")
    ax.plot(t, t**-0.5, ":", color=VALUE, label="mean of all")
    label_ends(ax)
    ax.set(xlabel="step", ylabel="standard deviation", ylim=(0, 1.05))
    return figure


def first_moves() -> Figure:
    """The root mean square of moves if gradients are noise, and if they have a mean."""
    figure, ax = panel(4.8, 2.5)
    rng = np.random.default_rng(0)
    for mean, color in ((0.0, KEY), (0.3, VALUE), (1.0, QUERY)):
        adam, lengths = Adam([np.zeros(4000)], (0.9, 0.95)), []
        for _ in range(60):
            moved = adam.moves([mean + rng.standard_normal(4000)])[0]
            lengths.append(float(np.sqrt((moved**2).mean())))
        ax.plot(np.arange(1, 61), lengths, color=color, label=f"mean {mean:g}")
    label_ends(ax)
    ax.set(xlabel="step", ylabel="move", ylim=(0, 1.05))
    return figure


def started() -> Figure:
    """The last loss against the size of the first parameters."""
    figure, ax = panel(4.8, 2.5)
    runs = np.array([ends(std=std) for std in bench.STDS])
    ax.plot(bench.STDS, runs.mean(axis=1), color=QUERY)
    ax.plot(bench.STDS, runs, "o", color=QUERY, markersize=3)
    ax.axhline(bench.floor(), color=QUIET, linestyle=":")
    ax.set(xscale="log", xlabel="standard deviation of the first parameters", ylim=(7, None))
    ax.set_ylabel("nats a story")
    return figure


def rates() -> Figure:
    """The schedule of the post, with its warm-up and with one that fits."""
    figure, ax = panel(4.8, 2.5)
    t = range(1, bench.STEPS + 1)
    for n, color, name in ((40, QUERY, "40 steps"), (4000, KEY, "4,000 steps")):
        ax.plot(t, [*map(bench.Run(schedule=n).learning_rate_at, t)], color=color, label=name)
    label_ends(ax)
    ax.set(xlabel="step", ylabel="learning rate", ylim=(0, None))
    return figure


def recipes() -> Figure:
    """The last loss against the largest rate, under three recipes."""
    figure, ax = panel(4.8, 2.5)
    for (name, differs), color in zip(RECIPES.items(), (KEY, QUIET, QUERY), strict=True):
        runs = np.array([ends(rate=rate, **differs) for rate in COMPARED])
        ax.plot(COMPARED, runs.mean(axis=1), color=color, label=name)
        ax.plot(COMPARED, runs, "o", color=color, markersize=3)
    ax.set(xscale="log", xlabel="largest learning rate", ylabel="nats a story")
    label_ends(ax)
    return figure
