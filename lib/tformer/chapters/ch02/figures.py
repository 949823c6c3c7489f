"""Figures of chapter 2: softmax."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from tformer import reference
from tformer.figures.style import BLUE, GREEN, INK, ORANGE, QUIET, VERMILLION, panels

COLORS = (BLUE, ORANGE, GREEN, VERMILLION)


def temperature(scores: np.ndarray) -> Figure:
    """Weights and entropy of one row of `scores` (S,) against the inverse temperature."""
    figure, (left, right) = panels(2)
    betas = np.geomspace(0.01, 100, 161)
    weights = np.array([reference.softmax(scores, beta=beta) for beta in betas])
    for score, curve, color in zip(scores, weights.T, COLORS, strict=True):
        left.plot(betas, curve, color=color, label=f"score {score:g}")
    left.set(xscale="log", xlabel="inverse temperature β", ylabel="weight")
    left.legend(fontsize=9)
    right.plot(betas, reference.entropy(weights), color=INK)
    right.axhline(math.log(len(scores)), color=QUIET, linestyle=":")
    right.annotate(f"log {len(scores)}", (100, math.log(len(scores)) - 0.04), ha="right", va="top")
    right.set(xscale="log", xlabel="inverse temperature β", ylabel="entropy (nats)", ylim=(0, 1.5))
    return figure


def saturation(n: int) -> Figure:
    """Norm of the softmax Jacobian when one of `n` scores leads by Δ, and its two bounds."""
    figure, (ax,) = panels()
    leads = np.linspace(0, 14, 141)
    weights = reference.softmax(leads[:, None] * np.eye(n)[0])
    norms = np.linalg.norm(reference.softmax_jacobian(weights), ord=2, axis=(-2, -1))
    ax.plot(leads, norms, color=BLUE, label="measured norm")
    bound = 2 * (n - 1) * np.exp(-leads)
    ax.plot(leads, bound, "--", color=VERMILLION, label="saturation bound")
    ax.axhline(0.5, color=INK, linestyle=":", label="one half")
    ax.set(yscale="log", xlabel="lead Δ of the largest score", ylabel="norm of the Jacobian")
    ax.legend()
    return figure


def soft_maximum(betas: Sequence[float]) -> Figure:
    """Log-sum-exp of the pair (x, 0) against x, with the maximum it approaches."""
    figure, (ax,) = panels()
    x = np.linspace(-3, 3, 121)
    pairs = np.stack([x, np.zeros_like(x)], axis=-1)
    for beta, color in zip(betas, COLORS, strict=False):
        ax.plot(x, reference.logsumexp(pairs, beta=beta), color=color, label=f"β = {beta:g}")
    ax.plot(x, pairs.max(axis=-1), ":", color=INK, label="maximum")
    ax.set(xlabel="x", ylabel="soft maximum of x and 0")
    ax.legend()
    return figure
