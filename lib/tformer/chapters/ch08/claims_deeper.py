"""The claims of the deeper page of chapter 8."""

from __future__ import annotations

from itertools import product

import numpy as np

from tformer import reference as ref
from tformer.chapters.ch08.rows import PLAIN
from tformer.claims.registry import claim, require
from tformer.claims.tools import grid, identity, near, row, show
from tformer.parameters import NormParameters


@claim(
    "prop-one-layer-back",
    "exhaustive",
    mutants={
        "the whole gradient, none along the row": {"along": 0.0},
        "not divided by the mean square": {"divided": False},
    },
    scope="d ≤ 3, entries ±α/√d, every choice of signs",
)
def one_layer_back(along: float = 1.0, divided: bool = True) -> str:
    """The exact mean over all signs, for rows and gradients that are not special."""
    tried = 0
    for d, alpha in product((1, 2, 3), (0.5, 1.0)):
        x, g = np.array([1.5, -0.4, 0.9])[:d], np.array([0.3, 1.1, -2.0])[:d]
        m = float(np.mean(x * x))
        through = (np.eye(d) - np.outer(x, x) / (m * d)) / m**0.5
        w = grid(d * d, (-1, 1)).reshape(-1, d, d) * alpha / d**0.5
        back = g + np.einsum("nij,j->ni", w, g) @ through
        got = float(np.mean(np.sum(back * back, axis=-1)))
        want = float(g @ g) * (1 + alpha**2 * (1 - along / d) / (m if divided else 1))
        require(near(got, want, 1e-9), f"d = {d}, α = {alpha}: {got:.4g}, not {want:.4g}")
        tried += 1
    return f"the mean over all signs of all entries, {tried} layers, within 1e-9"


@claim(
    "prop-centred",
    "symbolic",
    mutants={
        "without centring": {"centre": 0},
        "the bias of the norm is left out": {"bias": 0.0},
    },
    scope="d ≤ 4, symbols; the library, 40 stacks of two layers",
)
def centred(centre: int = 1, bias: float = 1.0) -> str:
    """The identity for symbols; then a small stack with gains and biases, rewritten."""
    for d in (2, 3, 4):
        x = row("x", d)
        c = x - centre * sum(x) / d
        one = x - sum(x) / d
        identity(c * sum(one * one), one * sum(c * c), "LayerNorm is RMSNorm of the centred row")
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x, gain, shift = rng.standard_normal((4, 5)), *rng.standard_normal((2, 5))
        w, last = rng.standard_normal((2, 5, 5))
        c = np.eye(5) - centre / 5
        with_mean = x + ref.layer_norm(x, NormParameters(gain, shift)) @ w
        with_mean = ref.layer_norm(with_mean, PLAIN) @ last
        without = x @ c
        folded = gain[:, None] * w @ c
        without = without + ref.rms_norm(without, PLAIN) @ folded + bias * shift @ w @ c
        without = ref.rms_norm(without, PLAIN) @ last
        said = f"stack {seed}: {show(with_mean[0])} and {show(without[0])}"
        require(near(with_mean, without, 1e-9), said)
    return "symbols, d ≤ 4; 40 stacks with gains and biases, rewritten with RMSNorm, within 1e-9"
