"""The claims of the deeper page of chapter 8."""

from __future__ import annotations

from itertools import product

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.parameters import NormParameters
from tformer_book.chapters.ch08.rows import PLAIN
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, grid, identity, near, row, show


@claim(
    "prop-one-layer-back",
    "numeric",
    mutants={
        "the whole gradient, none along the vector": {"along": 0.0},
        "not divided by the mean square": {"divided": False},
    },
    scope="d ≤ 3, entries ±α/√d, every choice of signs",
)
def one_layer_back(along: float = 1.0, divided: bool = True) -> str:
    """The exact mean over all signs, for vectors and gradients that are not special."""
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
        "the gain of the last norm is left out": {"last_gain": 0.0},
        "a bias of a layer is not centred": {"centre_bias": 0},
        "tied whatever the gain": {"uneven": 1.0},
    },
    scope="d ≤ 4, symbols and ε; the library, 40 stacks, 40 tied models",
)
def centred(
    centre: int = 1,
    bias: float = 1.0,
    last_gain: float = 1.0,
    centre_bias: int = 1,
    uneven: float = 0.0,
) -> str:
    """The identity for symbols; two curved layers with scores, rewritten; tied embeddings."""
    eps = sp.Symbol("epsilon", positive=True)
    for d in (2, 3, 4):
        x = row("x", d)
        c = x - centre * sum(x) / d
        one = x - sum(x) / d
        left, right = c * (sum(one * one) / d + eps), one * (sum(c * c) / d + eps)
        identity(left, right, "LayerNorm is RMSNorm of the centred vector")
    for seed, small in product(range(20), (1e-5, 0.5)):
        rng = np.random.default_rng(seed)
        x, gains, shifts = rng.standard_normal((4, 5)), *rng.standard_normal((2, 3, 5))
        w_in, w_out, b_in, b_out = (
            rng.standard_normal((2, *of)) for of in ((5, 7), (7, 5), (7,), (5,))
        )
        scores, c = rng.standard_normal((5, 6)), np.eye(5) - centre / 5
        with_mean, without = x, x @ c
        for gain, shift, *layer in zip(
            gains[:2], shifts[:2], w_in, b_in, w_out, b_out, strict=True
        ):
            read = ref.layer_norm(with_mean, NormParameters(gain, shift), small)
            with_mean = with_mean + _curved(read, *layer)
            w, b, out, last = layer
            folded = (
                gain[:, None] * w,
                bias * shift @ w + b,
                out @ c,
                last @ (c if centre_bias else np.eye(5)),
            )
            without = without + _curved(ref.rms_norm(without, PLAIN, small), *folded)
        gain = gains[2] if last_gain else np.ones(5)
        with_mean = ref.layer_norm(with_mean, NormParameters(gains[2], shifts[2]), small) @ scores
        without = ref.rms_norm(without, PLAIN, small) @ (gain[:, None] * scores)
        without = without + bias * shifts[2] @ scores
        said = f"stack {seed}: {show(with_mean[0])} and {show(without[0])}"
        require(near(with_mean, without, 1e-9), said)
        x, table = rng.standard_normal((4, 5)), rng.standard_normal((6, 5))
        norm = NormParameters(1.5 + uneven * np.linspace(-1, 1, 5), None)
        with_mean = ref.layer_norm(x, norm, small) @ table.T
        without = ref.rms_norm(x @ c, norm, small) @ (table @ c).T
        said = f"tied model {seed}: {show(with_mean[0])} and {show(without[0])}"
        require(near(with_mean, without, 1e-9), said)
    return (
        "symbols and ε, d ≤ 4; 40 stacks of two curved layers with gains and biases, rewritten "
        "with RMSNorm, give the same scores within 1e-9; with one gain for all coordinates, 40 "
        "models stay tied"
    )


def _curved(x: Array, w_in: Array, b_in: Array, w_out: Array, b_out: Array) -> Array:
    """A layer with a bend and two biases."""
    return np.tanh(x @ w_in + b_in) @ w_out + b_out
