"""The vector of *it* in six layers that all are one: words ask, answer and hand over themselves.

The words are the count vectors of chapter 1, and no layer has matrices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tformer import reference
from tformer.parameters import NormParameters
from tformer_book.world import corpus, lexicon

__all__ = ["IT", "LAYERS", "ORDERS", "PLAIN", "WORDS", "Run", "alike", "run"]

WORDS = lexicon.tokenise(next(iter(lexicon.SENTENCES)))
IT, LAYERS = WORDS.index("it"), 6
PLAIN = NormParameters(None, None)
"""A norm without gain and bias."""
ORDERS = ("none", "pre", "post", "no skip")
"""Without norms; with RMSNorm before each layer; with RMSNorm after each sum; the vectors are not
added to but replaced, with RMSNorm before each layer."""


class Run(NamedTuple):
    """What became of the words: before the first layer, and after each.

    Attributes
    ----------
    rows : (L + 1, T, d_model) array
    weights : (L + 1, T, T) array
        Those of a layer that would come next.
    """

    rows: np.ndarray
    weights: np.ndarray


def run(order: str = "pre", n_layers: int = LAYERS, words: tuple[str, ...] = WORDS) -> Run:
    """Send words through layers that are all alike; `order` is one of `ORDERS`."""
    x, rows, weights = corpus.vectors(words), [], []
    for _ in range(n_layers + 1):
        n = reference.rms_norm(x, PLAIN) if order in ("pre", "no skip") else x
        rows.append(x)
        weights.append(reference.attention_weights(n, n))
        y = weights[-1] @ n
        x = y if order == "no skip" else x + y
        x = reference.rms_norm(x, PLAIN) if order == "post" else x
    return Run(np.array(rows), np.array(weights))


def alike(x: np.ndarray) -> np.ndarray:
    """The mean cosine of two different vectors of a table, (..., T, d_model) to (...)."""
    directions = x / np.linalg.norm(x, axis=-1, keepdims=True)
    table, n = directions @ directions.mT, x.shape[-2]
    return np.asarray((table.sum(axis=(-2, -1)) - n) / (n * (n - 1)))
