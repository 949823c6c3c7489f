"""Figures of chapter 1: dot products."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tformer import reference
from tformer.figures.style import BLUE, GREEN, INK, ORANGE, QUIET, VERMILLION, panels

ARROW: dict[str, Any] = {
    "angles": "xy",
    "scale_units": "xy",
    "scale": 1,
    "width": 0.008,
    "zorder": 3,
}


def projection(q: np.ndarray, k: np.ndarray) -> Figure:
    """The shadow of `q` (2,) on the line through `k` (2,), and the remainder."""
    figure, (ax,) = panels(height=3.6, width=5.2)
    shadow = reference.projection(q, k)
    ax.axline((0, 0), tuple(k), color=QUIET, linewidth=1, linestyle=":")
    ax.plot(*zip(shadow, q, strict=True), color=INK, linestyle="--", linewidth=1.5)
    ax.quiver(0, 0, *k, color=VERMILLION, **ARROW)
    ax.quiver(0, 0, *q, color=BLUE, **ARROW)
    ax.quiver(0, 0, *shadow, color=GREEN, **ARROW)
    along, across = -0.3 * k / np.linalg.norm(k), 0.3 * (q - shadow) / np.linalg.norm(q - shadow)
    corner = np.array([shadow + along, shadow + along + across, shadow + across])
    ax.plot(*corner.T, color=INK, linewidth=1)
    for (x, y), name, color in (
        (q + [0.1, 0.1], "q", BLUE),
        (k + [0.1, 0.1], "k", VERMILLION),
        (shadow / 2 + [0.1, -0.35], "shadow", GREEN),
        ((shadow + q) / 2 + [0.1, 0.1], "remainder", INK),
    ):
        ax.text(x, y, name, color=color)
    ax.set(xlim=(-0.3, k[0] + 0.8), ylim=(-0.4, q[1] + 0.6), aspect="equal")
    return figure


def similarity_table(words: Sequence[str], rows: np.ndarray) -> Figure:
    """Cosine similarities of `rows` (T, d_model), one row a word."""
    figure, (ax,) = panels(height=4.8, width=5.8)
    image = ax.imshow(reference.pairwise_cosine(rows, rows), cmap="Blues", vmin=0, vmax=1)
    ax.set_xticks(range(len(words)), words, rotation=90)
    ax.set_yticks(range(len(words)), words)
    ax.grid(False)
    figure.colorbar(image, ax=ax, label="cosine similarity")
    return figure


def spread(rng: np.random.Generator, widths: Sequence[int], n: int = 20_000) -> Figure:
    """Histograms of dot products and of cosines of `n` standard normal pairs a width."""
    figure, (left, right) = panels(2)
    for d, color in zip(widths, (BLUE, ORANGE, VERMILLION), strict=True):
        q, k = rng.standard_normal((2, n, d))
        style: dict[str, Any] = {
            "histtype": "step",
            "density": True,
            "color": color,
            "linewidth": 1.5,
        }
        left.hist(reference.dot(q, k), np.linspace(-50, 50, 81).tolist(), label=f"d = {d}", **style)
        right.hist(reference.cosine_similarity(q, k), np.linspace(-1, 1, 81).tolist(), **style)
    left.set(xlabel="dot product q · k", ylabel="density")
    right.set(xlabel="cosine of q and k", ylabel="density")
    figure.legend(loc="outside lower center", ncols=len(widths))
    return figure


def pack(
    rng: np.random.Generator,
    d: int,
    epsilon: float,
    offered: int,
) -> np.ndarray:
    """Keep each random sign vector that is nearly orthogonal to all kept before."""
    kept = np.empty((0, d))
    for u in rng.choice([-1.0, 1.0], size=(offered, d)):
        if np.all(np.abs(kept @ u) < epsilon * d):
            kept = np.vstack([kept, u])
    return kept


def packing(
    rng: np.random.Generator, widths: Sequence[int], epsilon: float, offered: int
) -> Figure:
    """The number of nearly orthogonal vectors found, guaranteed, and exactly orthogonal."""
    figure, (ax,) = panels()
    found = [len(pack(rng, d, epsilon, offered)) for d in widths]
    ax.plot(widths, found, "o-", color=BLUE, label=f"found among {offered} random vectors")
    promised = [math.exp(d * epsilon**2 / 4) for d in widths]
    ax.plot(widths, promised, "s--", color=VERMILLION, label="guaranteed by the theorem")
    ax.plot(widths, widths, ":", color=INK, label="exactly orthogonal")
    ax.set(yscale="log", xlabel="width d", ylabel=f"vectors with |cos| < {epsilon}")
    figure.legend(loc="outside lower center", ncols=2)
    return figure
