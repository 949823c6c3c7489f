"""Models at their first parameters: how long rows become, and which word a tied one expects."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import ModelParameters, NormParameters

__all__ = ["DEPTHS", "first_guess", "growth"]

DEPTHS = (1, 2, 4, 8, 16, 32)
CONFIGURATION = Configuration(activation="gelu_tanh")
WIDTH, TEXT, STACKS, STD = 32, 12, 4, 0.1


@cache
def growth(n_layers: int, narrow: bool = True) -> float:
    """Mean square of the rows behind the last block over that of the first rows, a mean."""
    found = []
    for seed in range(STACKS):
        rng = np.random.default_rng(seed)
        sizes = Sizes(TEXT, WIDTH, n_layers, 4, 4 * WIDTH, n_positions=TEXT)
        model = initialise(sizes, CONFIGURATION, rng, std=STD)
        x = first = model.embedding + model.positions
        for block in model.blocks:
            block = block if narrow else _widened(block, (2 * n_layers) ** 0.5)
            x = reference.block(x, block, CONFIGURATION, causal=True)
        found.append(np.mean(x * x) / np.mean(first * first))
    return float(np.mean(found))


def _widened(block: Any, factor: float) -> Any:
    """The block with what writes to the rows multiplied by a factor."""
    heads = replace(block.heads, w_o=factor * block.heads.w_o)
    layer = replace(block.feed_forward, w_out=factor * block.feed_forward.w_out)
    return replace(block, heads=heads, feed_forward=layer)


def first_guess(tied: bool, n_vocab: int = 5000, d_model: int = 768) -> tuple[float, float]:
    """Of a model whose blocks add nothing: p of the word just read, loss of a word at random.

    Embeddings and positions are drawn as GPT-2 draws them, with a spread of 0.02.
    """
    rng = np.random.default_rng(0)
    e, places = rng.normal(0, 0.02, (n_vocab, d_model)), rng.normal(0, 0.02, (TEXT, d_model))
    out = None if tied else rng.normal(0, 0.02, (d_model, n_vocab))
    norm = NormParameters(np.ones(d_model), np.zeros(d_model))
    model = ModelParameters(e, (), norm, places, None, out)
    words, others = rng.integers(0, n_vocab, (2, TEXT))
    z = reference.decoder(words, model, CONFIGURATION)
    own = reference.softmax(z)[np.arange(TEXT), words].mean()
    return float(own), float(reference.cross_entropy(z, others).mean())
