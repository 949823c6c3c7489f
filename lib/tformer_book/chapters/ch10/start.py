"""Models at their first parameters: how long vectors become, and which word a tied one expects."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise

__all__ = ["DEPTHS", "first_guess", "growth"]

DEPTHS = (1, 2, 4, 8, 16, 32)
CONFIGURATION = Configuration(activation="gelu_tanh")
WIDTH, TEXT, STACKS, STD = 32, 12, 4, 0.1
N_VOCAB, READ, DRAWINGS = 5000, 64, 3


@cache
def growth(n_layers: int, narrow: bool = True) -> float:
    """Mean square of the vectors after the last block over that of the first ones, a mean."""
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
    """The block with what writes to the vectors multiplied by a factor."""
    heads = replace(block.heads, w_o=factor * block.heads.w_o)
    layer = replace(block.feed_forward, w_out=factor * block.feed_forward.w_out)
    return replace(block, heads=heads, feed_forward=layer)


@cache
def first_guess(tied: bool, n_layers: int = 0) -> tuple[float, float]:
    """The p of the word just read, and the loss of a word at random: means over `DRAWINGS` models.

    They have GPT-2's width and spread, and 5000 words. Without a layer no block adds anything.
    """
    own, losses = [], []
    for seed in range(DRAWINGS):
        rng = np.random.default_rng(seed)
        sizes = Sizes(N_VOCAB, 768, n_layers, 12, 3072, n_positions=READ, tied=tied)
        model = initialise(sizes, CONFIGURATION, rng)
        words, others = rng.integers(0, N_VOCAB, (2, READ))
        z = reference.decoder(words, model, CONFIGURATION)
        own.append(reference.softmax(z)[np.arange(READ), words].mean())
        losses.append(reference.cross_entropy(z, others).mean())
    return float(np.mean(own)), float(np.mean(losses))
