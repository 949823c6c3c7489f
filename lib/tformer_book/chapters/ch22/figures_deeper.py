"""Figures of chapter 22's deeper page."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from tformer.layer_configuration import RopeScaling, Rotary
from tformer.rotary import rotary_frequencies
from tformer_book.chapters.ch22 import story_kept
from tformer_book.figures.style import INK, KEY, QUERY, VALUE, panel

BASE, WIDTH, FACTOR, OLD = 500000.0, 128, 8.0, 8192
SCALINGS = (
    ("linear", RopeScaling("linear", FACTOR), VALUE),
    ("Llama 3", RopeScaling("llama3", FACTOR, OLD, low=1.0, high=4.0), KEY),
    ("YaRN", RopeScaling("yarn", FACTOR, OLD), QUERY),
)


def shares() -> dict[str, np.ndarray]:
    """What is left of each frequency under each scaling."""
    plain = rotary_frequencies(Rotary(BASE), WIDTH)
    return {
        name: rotary_frequencies(Rotary(BASE, scaling=scaling), WIDTH) / plain
        for name, scaling, _ in SCALINGS
    }


def frequencies() -> Figure:
    """The share that is left of each frequency, by three ways to read longer texts."""
    figure, ax = panel(4.6, 2.7)
    for (name, share), (_, _, color) in zip(shares().items(), SCALINGS, strict=True):
        ax.plot(np.arange(len(share)), share, color=color, label=name)
    ax.set(xlabel="pair of coordinates, fast to slow", ylabel="share left", ylim=(0, 1.08))
    ax.legend(fontsize=10, loc="center left")
    return figure


def story() -> Figure:
    """Right patients of each version and seed: whole, and after two cuts."""
    figure, ax = panel(4.8, 3.6)
    versions = list(story_kept.kept())
    looks = (
        ("whole", INK, "o", "nothing hidden"),
        ("last word cut", QUERY, "s", "hidden from the last word"),
        ("others cut", KEY, "^", "hidden from all others"),
    )
    for i, (cut, color, marker, label) in enumerate(looks):
        for y, version in enumerate(versions):
            shares = story_kept.right(version, cut)
            at = y + 0.26 * (i - 1) + np.linspace(-0.07, 0.07, len(shares))
            ax.plot(shares, at, marker, color=color, ms=5, mfc="none", label=label if not y else "")
    ax.set(xlabel="right patients, held-out tales", xlim=(-0.03, 1.03))
    ax.set_yticks(range(len(versions)), versions)
    ax.set_ylim(len(versions) - 0.5, -0.5)
    ax.legend(fontsize=10, loc="upper center", bbox_to_anchor=(0.35, -0.2), ncols=1)
    return figure
