"""Digits with empty tokens behind their patches, hidden or not: what padding costs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from tformer import reference
from tformer_book.chapters.ch21 import recognise
from tformer_book.chapters.ch21.images import digits, patches
from tformer_book.chapters.ch21.stack import hidden_states

EMPTY = 48
"""How many empty tokens stand behind the sixteen patches: as if 64 were the longest row."""


@cache
def right(hide: bool) -> float:
    """The share of the test digits that the stored model recognises.

    Parameters
    ----------
    hide : bool
        Whether the mask hides the empty tokens, and the mean leaves them out.
    """
    images, labels = digits()
    model, asked = recognise.model(), recognise.split("file order")[1]
    count = recognise.T + EMPTY
    tokens = np.pad(patches(images[asked], recognise.P), ((0, 0), (0, EMPTY), (0, 0)))
    model = replace(model, positions=np.pad(model.positions, ((0, EMPTY), (0, 0))))
    real = np.arange(count) < recognise.T
    mask = reference.padding_mask(np.array(recognise.T), count) if hide else None
    x = hidden_states(tokens @ model.embedding, model, mask)
    pooled = x[:, real].mean(-2) if hide else x.mean(-2)
    found = (pooled @ model.unembedding).argmax(-1)
    return float((found == labels[asked]).mean())
