"""Figures of the deeper page of chapter 3."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from tformer import reference
from tformer_book.chapters.ch03.one_query import ANIMAL, tables
from tformer_book.chapters.ch03.retrieval import expected_weight, retrieved
from tformer_book.experiments.intervals import bernstein_margin
from tformer_book.figures.style import (
    INK,
    KEY,
    ORANGE,
    PURPLE,
    QUERY,
    QUIET,
    SKY,
    VALUE,
    WEIGHT,
    label_ends,
    panel,
)
from tformer_book.figures.tables import blank, squares
from tformer_book.world import lexicon


def there_and_back() -> tuple[Figure, Figure]:
    """The row of *it* in layer 2, and the gradient of a loss that wants the animal, drawn alike."""
    tokens = lexicon.tokenise(ANIMAL[0])
    found, it = tables(ANIMAL[0]), tokens.index("it")
    q, dy = found.q[[it]], np.zeros((1, len(found.given)))
    dy[0, found.given.index("is animate")] = -1.0
    dq, dk, dv, _ = reference.attention_vjp(q, found.k, found.v, dy)
    dz = reference.softmax_vjp(found.weights[[it]], dy @ found.v.T)
    ahead = (q, found.k, found.scores[[it]], found.weights[[it]], found.v, found.y[[it]])
    back = (dq, dk, dz, dy @ found.v.T, dv, dy)
    return _machine(tokens, ahead), _machine(tokens, back)


def _machine(tokens: tuple[str, ...], parts: tuple[np.ndarray, ...]) -> Figure:
    """Draw query, keys, scores, weights, values and output where the figure to touch has them."""
    q, k, z, a, v, y = parts
    figure, ax = blank(3.5, 3.5)
    squares(ax, q, (0, -2), QUERY)
    squares(ax, k, (0, 0), KEY)
    squares(ax, z.T, (8.2, 0))
    squares(ax, a.T, (10.4, 0), WEIGHT)
    squares(ax, v, (12.6, 0), VALUE)
    squares(ax, y, (12.6, len(tokens) + 1), VALUE)
    for s, token in enumerate(tokens):
        ax.text(-0.4, s + 0.5, token, ha="right", va="center", fontsize=9)
    names = (
        ("q", 3.5, -2.3),
        ("K", 3.5, -0.1),
        ("Z", 8.7, -0.1),
        ("A", 10.9, -0.1),
        ("V", 15.6, -0.1),
    )
    for name, x, above in (*names, ("Y", 12.0, len(tokens) + 1.9)):
        ax.text(x, above, name, ha="center", va="bottom", fontsize=11, fontstyle="italic")
    ax.set(xlim=(-4.6, 18.8), ylim=(len(tokens) + 2.2, -3.6))
    return figure


def regression(rng: np.random.Generator, scales: Sequence[float], n: int = 40) -> Figure:
    """Attention over noisy points of a wave, at several scales of its scores.

    A point at x is the key (cos x, sin x), so that all keys have length one and the kernel is
    Gaussian; its value is its height.
    """
    figure, ax = panel(3.6, 2.8)
    places = np.sort(rng.uniform(0, np.pi, n))
    heights = np.sin(4 * places) + 0.25 * rng.standard_normal(n)
    queries = np.linspace(0, np.pi, 241)
    q, k = (np.stack([np.cos(x), np.sin(x)], axis=-1) for x in (queries, places))
    ax.plot(places, heights, "o", color=QUIET, markersize=4)
    for scale, color in zip(scales, (SKY, INK, PURPLE), strict=True):
        answers = reference.attention(q, k, heights[:, None], scale=scale)[:, 0]
        ax.plot(queries, answers, color=color, linewidth=1.5, label=f"{scale:g}")
    ax.set(xlabel="place of the query", ylabel="answer")
    label_ends(ax)
    return figure


def retrieval(d: int, betas: Sequence[float], trials: int = 50_000) -> Figure:
    """Weight of the right key among n random ones: the theorem's bound, and trials.

    The intervals hold all together with 99 percent, however skewed the weights are.
    """
    figure, ax = panel(3.6, 2.8)
    curve = np.geomspace(2, 20_000, 60)
    counts = (4, 16, 64, 256, 1024, 4096, 16384)
    failure = 0.01 / (len(counts) * len(betas))
    for beta, color in zip(betas, (SKY, INK, ORANGE), strict=True):
        bound = [expected_weight(n, d, beta) for n in curve]
        ax.plot(curve, bound, color=color, label=f"β = {beta}")
        found = [retrieved(n, d, beta, trials) for n in counts]
        means = [weights.mean() for weights in found]
        margins = [bernstein_margin(weights, failure=failure) for weights in found]
        ax.errorbar(counts, means, margins, fmt="o", color=color, markersize=4)
    ax.set(xscale="log", xlabel="keys stored", ylabel="weight of the right key")
    label_ends(ax)
    return figure
