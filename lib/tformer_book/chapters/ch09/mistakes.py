"""Mistakes in a layer of ReLUs, and five questions; four need not know what is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tformer import reference
from tformer.parameters import FeedForwardParameters, NormParameters
from tformer_book.chapters.ch09.rows import RELU

__all__ = ["LAYERS", "QUESTIONS", "fingerprints", "odd"]

D_MODEL, D_FF, WORDS = 8, 32, 40
PLAIN = NormParameters()
QUESTIONS = (
    "distance from\nthe mean",
    "word 1 moves\nwith word 4",
    "units that\nare ever on",
    "double vector:\noff twice",
    "off a right\nprogram",
)
Unit = Callable[[np.ndarray], np.ndarray]


def _drawn() -> tuple[FeedForwardParameters, np.ndarray]:
    """A layer without biases, and vectors of length √d_model."""
    rng = np.random.default_rng(9)
    w_in = rng.standard_normal((D_MODEL, D_FF)) / np.sqrt(D_MODEL)
    w_out = rng.standard_normal((D_FF, D_MODEL)) / np.sqrt(D_FF)
    x = reference.rms_norm(rng.standard_normal((WORDS, D_MODEL)), PLAIN)
    return FeedForwardParameters(w_in, w_out), x


LAYER, X = _drawn()
CERTAIN = -np.sqrt(D_MODEL) * np.linalg.norm(LAYER.w_in, axis=0)
"""The biases at which a unit is dead for certain."""


LAYERS: Mapping[str, tuple[Unit, Unit]] = {
    "right": (lambda x: reference.relu(x @ LAYER.w_in), lambda h: h @ LAYER.w_out),
    "no activation": (lambda x: x @ LAYER.w_in, lambda h: h @ LAYER.w_out),
    "norm over words": (
        lambda x: reference.relu(reference.layer_norm(x.T, PLAIN).T @ LAYER.w_in),
        lambda h: h @ LAYER.w_out,
    ),
    "dead for certain": (
        lambda x: reference.relu(x @ LAYER.w_in + CERTAIN),
        lambda h: h @ LAYER.w_out,
    ),
    "softmax over units": (
        lambda x: reference.softmax(x @ LAYER.w_in),
        lambda h: h @ LAYER.w_out,
    ),
    "matrices exchanged": (
        lambda x: reference.relu(x @ LAYER.w_out.T),
        lambda h: h @ LAYER.w_in.T,
    ),
}
"""What is wrong -> the hidden units of vectors, and what is made of hidden units."""


def fingerprints() -> dict[str, tuple[float, ...]]:
    """The answers of each layer to `QUESTIONS`, in their order."""
    changed = X.copy()
    changed[3] = X[3, ::-1]
    right = reference.feed_forward(X, LAYER, RELU)
    found: dict[str, tuple[float, ...]] = {}
    for name, (units, out) in LAYERS.items():
        y, middle = out(units(X)), out(units((X + X[::-1]) / 2))
        found[name] = (
            float(np.abs(middle - (y + y[::-1]) / 2).max()),
            float(np.abs(out(units(changed))[0] - y[0]).max()),
            float((units(X) > 0).any(axis=0).mean()),
            float(np.abs(out(units(2 * X)) - 2 * y).max()),
            float(np.abs(y - right).max()),
        )
    return found


def odd(answers: tuple[float, ...]) -> list[bool]:
    """Which of the answers no right layer of ReLUs without biases gives."""
    straight, moved, answering, twice, off = answers
    return [straight < 1e-9, moved > 0, answering < 1, twice > 1e-9, off > 0]
