"""The row of *it* in blocks: its scores, and what is known after each block."""

from __future__ import annotations

from functools import cache

import numpy as np

from tformer.reference.blockwise import SoftmaxState, merge_states, softmax_state
from tformer_book.world import corpus

__all__ = ["IT", "WORDS", "after", "blocks", "scores"]

SENTENCE = "the animal did not cross the street because it was too tired"
WORDS = (*SENTENCE.split(),)
IT = WORDS.index("it")


@cache
def scores(last: str = WORDS[-1]) -> np.ndarray:
    """The scores of *it* with all words, by the vectors of chapter 1, over √16: (12,)."""
    x = corpus.vectors((*WORDS[:-1], last), 16)
    found: np.ndarray = x @ x[IT] / 4
    return found


def blocks(row: np.ndarray, size: int) -> list[SoftmaxState]:
    """The state of each block of a row by itself; the value of a word is a one in its place."""
    values = np.eye(len(row))
    cuts = [slice(s, s + size) for s in range(0, len(row), size)]
    return [softmax_state(row[np.newaxis, cut], values[cut]) for cut in cuts]


def after(row: np.ndarray, size: int, n_blocks: int) -> SoftmaxState:
    """What the row knows after so many blocks, at least one."""
    first, *others = blocks(row, size)[:n_blocks]
    for other in others:
        first = merge_states(first, other)
    return first
