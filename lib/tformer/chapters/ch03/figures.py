"""Figures of chapter 3: queries, keys and values."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from tformer import reference
from tformer.chapters.ch03.retrieval import expected_weight, retrieved
from tformer.experiments.intervals import bernstein_margin
from tformer.figures.style import BLUE, GREEN, ORANGE, QUIET, VERMILLION, panels


def regression(rng: np.random.Generator, scales: Sequence[float], n: int = 40) -> Figure:
    """Attention over noisy points of a wave, at several scales of its scores.

    A point at x is the key (cos x, sin x), so that all keys have length one and the kernel is
    Gaussian; its value is its height.
    """
    figure, (ax,) = panels()
    places = np.sort(rng.uniform(0, np.pi, n))
    heights = np.sin(4 * places) + 0.25 * rng.standard_normal(n)
    queries = np.linspace(0, np.pi, 241)
    q, k = (np.stack([np.cos(x), np.sin(x)], axis=-1) for x in (queries, places))
    ax.plot(places, heights, "o", color=QUIET, markersize=4)
    for scale, color in zip(scales, (GREEN, BLUE, VERMILLION), strict=True):
        answers = reference.attention(q, k, heights[:, None], scale=scale)[:, 0]
        ax.plot(queries, answers, color=color, linewidth=1.5, label=f"scale {scale:g}")
    ax.set(xlabel="place of the query", ylabel="answer")
    figure.legend(loc="outside lower center", ncols=len(scales))
    return figure


def retrieval(d: int, betas: Sequence[float], trials: int = 50_000) -> Figure:
    """Weight of the right key among n random ones: the theorem's bound, and trials.

    The intervals hold all together with 99 percent, however skewed the weights are.
    """
    figure, (ax,) = panels()
    curve = np.geomspace(2, 20_000, 60)
    counts = (4, 16, 64, 256, 1024, 4096, 16384)
    failure = 0.01 / (len(counts) * len(betas))
    for beta, color in zip(betas, (GREEN, BLUE, ORANGE), strict=True):
        bound = [expected_weight(n, d, beta) for n in curve]
        ax.plot(curve, bound, color=color, label=f"β = {beta}")
        found = [retrieved(n, d, beta, trials) for n in counts]
        means = [weights.mean() for weights in found]
        margins = [bernstein_margin(weights, failure=failure) for weights in found]
        ax.errorbar(counts, means, margins, fmt="o", color=color, markersize=4)
    ax.set(xscale="log", xlabel="keys stored", ylabel="weight of the right key")
    figure.legend(loc="outside lower center", ncols=len(betas))
    return figure
