"""The figures of chapter 17's deeper page."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tformer_book.chapters.ch17 import induction, left_out, own, parked, patterns, real, veto
from tformer_book.figures.style import INK, KEY, PURPLE, QUERY, QUIET, VALUE, panel
from tformer_book.figures.tables import blank, squares

__all__ = [
    "blocks_left_out",
    "early",
    "losses",
    "parts",
    "repeating",
    "replaced_patterns",
    "sinks",
    "sinks_moved",
]


def parts() -> Figure:
    """What each part adds to the log-odds by itself, and what its silence takes away."""
    figure = Figure(figsize=(8.2, 3.9), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, name in zip(axes, veto.TALES, strict=True):
        told = own.parts(name)
        at = np.arange(len(told))
        ax.barh(at, [one.own for one in told], 0.62, color=QUERY, label="its own part")
        look: Any = {"mfc": "none", "mec": KEY, "mew": 1.6, "ms": 7}
        ax.plot([one.lost for one in told], at, "D", label="lost if it is silent", **look)
        ax.axvline(0, color=QUIET, linewidth=0.8)
        ax.set_yticks(at, [one.name for one in told])
        total = f"{veto.odds(veto.read(name)):.2f}".replace("-", "−")
        ax.set_title(f"{name}: {total}", fontsize=12)
        ax.set(xlabel="log-odds, animal against street", xlim=(-14.5, 14.5))
    axes[0].invert_yaxis()
    axes[1].legend(fontsize=10, loc="lower right")
    return figure


def early() -> Figure:
    """What the lens says at the last word of both tales, half block by half block."""
    figure, ax = blank(6.6, 2.7)
    ax.set_aspect("auto")
    for j, name in enumerate(veto.TALES):
        ax.text(2.6 * j + 1.25, -0.12, name, ha="center", va="bottom", fontsize=12)
        for i, point in enumerate(own.POINTS):
            word, p = own.likeliest(name, point)
            squares(ax, np.array([[p]]), (2.6 * j, i), PURPLE, most=1.0, size=(2.5, 1))
            said = f"{word} {p:.3f}".replace("0.", ".", 1)
            place = (2.6 * j + 1.25, i + 0.5)
            ax.text(*place, said, ha="center", va="center", fontsize=12, color=INK)
    for i, label in enumerate(own.POINTS.values()):
        ax.text(-0.12, i + 0.5, label, ha="right", va="center", fontsize=11)
    ax.set(xlim=(-2.4, 5.15), ylim=(5.05, -0.6))
    return figure


def losses() -> Figure:
    """The loss of the lens by depth, of the storyteller and the real model."""
    figure, ax = panel(5.6, 2.9)
    names = {"real": ("SmolLM2-135M", KEY, 49152), "storyteller": ("storyteller", QUERY, 605)}
    for name, (label, color, tokens) in names.items():
        found = real.stored()["lens"][name]
        depth = np.linspace(0, 1, len(found))
        ax.plot(depth, found, "o-", color=color, ms=4, label=label)
        ax.axhline(np.log(tokens), color=color, linewidth=1, linestyle="--")
    ax.set_yscale("log")
    ax.set_yticks([0.5, 1, 2, 5, 10, 20, 50, 100], ["0.5", "1", "2", "5", "10", "20", "50", "100"])
    ax.minorticks_off()
    ax.set(xlabel="share of the blocks that have run", ylabel="loss", ylim=(0.5, 160))
    ax.legend(fontsize=10, loc="upper right")
    return figure


def sinks() -> Figure:
    """The weight on the first token by block, and on the same token in second place."""
    figure, ax = panel(6.6, 2.8)
    found = real.stored()["sinks"]
    lines = (
        ("first", "the first token", QUERY, "-"),
        ("in front", "“So”, put in front", VALUE, "--"),
        ("no longer first", "the token that was first", KEY, "-"),
    )
    for name, label, color, style in lines:
        rows = np.array(found[name])
        blocks = np.arange(rows.shape[1])
        ax.fill_between(blocks, rows.min(axis=0), rows.max(axis=0), color=color, alpha=0.13, lw=0)
        ax.plot(blocks, rows.mean(axis=0), style, color=color, label=label)
    ax.axhline(np.mean(found["evenly"]), color=QUIET, linewidth=1, linestyle=":")
    ax.text(29.4, np.mean(found["evenly"]), "even", fontsize=10, va="center", color=QUIET)
    ax.set(xlabel="block", ylabel="mean weight", xlim=(-0.5, 29.2), ylim=(0, 1))
    ax.legend(fontsize=10, loc="lower right", bbox_to_anchor=(1.0, 0.1))
    return figure


def sinks_moved() -> Figure:
    """The weights on three tokens, and what the changes cost, passage by passage."""
    figure = Figure(figsize=(8.2, 3.1), layout="constrained")
    ax, beside = figure.subplots(1, 2, sharey=True, width_ratios=(1.2, 1))
    names = {
        parked.WHOLE: "whole model",
        parked.HIDDEN: "first token hidden",
        parked.UNWRITTEN: "block 11: nothing to the first token",
        parked.CHANGES[2]: "block 11: nothing to token 7",
        parked.CHANGES[3]: "block 10: nothing to the first token",
        parked.MOVED: "block 11: from the first to token 7",
    }
    marks = (("0", "first token", QUERY), ("1", "second", VALUE), ("7", "token 7", KEY))
    look: Any = {"ls": "", "mec": "none", "ms": 5, "alpha": 0.45}
    for y, name in enumerate(names):
        for i, (key, label, color) in enumerate(marks):
            x = parked.stored()[name][key]
            at = [y + 0.22 * (i - 1)] * len(x)
            ax.plot(x, at, "o", color=color, label="" if y else label, **look)
        x = parked.costs(name)
        beside.plot(x, [y] * len(x), "o", color=INK, **look)
        beside.plot(x.mean(), y, "|", color=INK, ms=15, mew=2)
    ax.set_yticks(range(len(names)), names.values())
    ax.set(xlim=(-0.02, 0.6), ylim=(len(names) - 0.5, -0.5), xlabel="mean weight, blocks 12 to 29")
    beside.set(xlabel="costs, nats a token")
    ax.legend(fontsize=10, loc="center", bbox_to_anchor=(0.5, 0.58))
    return figure


def blocks_left_out() -> Figure:
    """What leaving out each block costs each passage."""
    figure, ax = panel(6.6, 2.7)
    costs = left_out.costs()
    blocks = np.arange(costs.shape[1])
    ax.plot(blocks, costs.T, "o", color=QUERY, ms=4, alpha=0.45, mec="none")
    ax.plot(blocks, costs.mean(axis=0), "_", color=QUERY, ms=11, mew=2)
    ax.set_yscale("log")
    ax.set_yticks([0.03, 0.1, 0.3, 1, 3, 10], ["0.03", "0.1", "0.3", "1", "3", "10"])
    ax.minorticks_off()
    ax.set(xlabel="block that is left out", ylabel="costs, nats a token", xlim=(-0.7, 29.7))
    return figure


def replaced_patterns() -> Figure:
    """What replaced patterns cost each passage, in all blocks and in ten of them."""
    figure, ax = panel(6.2, 2.6)
    for y, places in enumerate(patterns.PLACES):
        for i, (kind, color) in enumerate(zip(patterns.KINDS, (QUERY, KEY), strict=True)):
            cost = patterns.costs(kind, places)
            at = y + 0.24 * (i - 0.5)
            label = None if y else kind
            look: Any = {"color": color, "alpha": 0.5, "ms": 5, "mec": "none"}
            ax.plot(cost, [at] * len(cost), "o", label=label, **look)
            ax.plot(cost.mean(), at, "|", color=color, ms=12, mew=2)
    ax.set_yticks(range(len(patterns.PLACES)), patterns.PLACES)
    ax.set(ylim=(3.5, -0.5), xlim=(0, None), xlabel="costs, nats a token")
    ax.legend(fontsize=10, loc="lower right")
    return figure


def repeating() -> Figure:
    """Decoders that learn to repeat: the loss on words met again, and the scores of two heads."""
    figure = Figure(figsize=(8.2, 3.0), layout="constrained")
    one, two = figure.subplots(1, 2)
    found = induction.stored()
    steps = induction.EVERY * np.arange(induction.STEPS // induction.EVERY + 1)
    for layers, color in (("1", QUIET), ("2", QUERY)):
        for i, told in enumerate(found[layers]):
            label = f"{layers} layer{'s' * (layers == '2')}" if i == 0 else None
            one.plot(steps, [x["again"] for x in told], color=color, label=label, lw=1.6)
    for told in found["2"]:
        first = told is found["2"][0]
        looks = (
            ("previous 0", KEY, "lower head, previous word"),
            ("induction 1", PURPLE, "upper head, induction"),
        )
        for name, color, label in looks:
            two.plot(steps, [x[name] for x in told], color=color, label=label if first else None)
    one.set(xlabel="steps", ylabel="loss, words met again", ylim=(0, None))
    two.set(xlabel="steps", ylabel="score", ylim=(0, 1))
    for ax in (one, two):
        ax.legend(fontsize=10)
    return figure
