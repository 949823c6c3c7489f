"""Mistakes in writing, made on purpose and run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tformer import reference
from tformer.parameters import ModelParameters
from tformer_book.chapters.ch15 import writing
from tformer_book.storyteller import load

__all__ = ["dropped", "restarted", "turned_back"]


def turned_back(n: int) -> ModelParameters:
    """The storyteller's parameters with queries and keys turned back by n positions.

    What stands at position n + i is then turned as if it stood at i.
    """
    _, parameters, c = load()

    def back(w: np.ndarray) -> np.ndarray:
        waves = reference.sinusoidal(np.full(w.shape[-2], -n), w.shape[-1], c.base)
        return reference.rope(w, waves.astype(w.dtype), c.pairing)

    blocks = tuple(
        replace(x, heads=replace(x.heads, w_q=back(x.heads.w_q), w_k=back(x.heads.w_k)))
        for x in parameters.blocks
    )
    return replace(parameters, blocks=blocks)


def restarted(text: str = writing.ROW, n_tokens: int = writing.LONGEST) -> str:
    """The greedy text if the words after a beginning are read at positions from 0 again."""
    _, parameters, c = load()
    tokens = writing.begun(text)
    rows, caches = reference.cached_decoder(tokens, parameters, c)
    later, words = turned_back(len(tokens)), [int(rows[-1].argmax())]
    while words[-1] != writing.stop() and len(words) < n_tokens:
        rows, caches = reference.cached_decoder(np.array(words[-1:]), later, c, caches)
        words.append(int(rows[-1].argmax()))
    return writing.text_of(words)


def dropped(row: np.ndarray, p: float) -> np.ndarray:
    """Top-p that drops the word that reaches p; of a word that alone reaches it, nothing stays."""
    falling = np.argsort(-row)
    sums = np.cumsum(reference.softmax(row)[falling])
    cut = np.full_like(row, -np.inf)
    cut[falling[sums < p]] = row[falling[sums < p]]
    return cut
