"""Two layers that know the places of the words: who was too small, the box or the bag?

They are the layers of `tformer_book.world.lexicon` with one pair of coordinates more in the
second. It is the hand of a slow clock: queries and keys are turned by their places, so its part of
a score knows how far apart two words stand. What goes in is named before what it should go into; so
a query that has heard of an opening prefers near nouns, and one that has heard of cargo prefers far
ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.world import lexicon

FIT = "the box did not fit the bag because it was too small"
SWAPPED = "the bag did not fit the box because it was too small"
NOUNS = ("box", "bag")
"""Cargo and opening in one, here: the lexicon knows a box as cargo and a bag as an opening."""
ROUND = 32
"""Places in which the hand goes round once."""
_GATHER, _RESOLVE = lexicon.LAYERS


def embed(tokens: Sequence[str], both: Sequence[str] = NOUNS) -> np.ndarray:
    """Embeddings of some words, (T, d_model); those of `both` are cargo and opening."""
    x = lexicon.embed(tokens)
    kinds = [lexicon.FEATURES.index(f"is {kind}") for kind in ("cargo", "opening")]
    for row, token in zip(x, tokens, strict=True):
        row[kinds] = np.maximum(row[kinds], token in both)
    return x


def with_hand(strength: float) -> tuple[np.ndarray, np.ndarray]:
    """W_Q and W_K of layer 2, (d_model, 10): seven columns, an empty one, and the pair of the hand.

    A noun's hand points ahead. A query's points ahead as well if it has heard of an opening, and a
    quarter turn back if it has heard of cargo.
    """
    w_q, w_k = (np.pad(w, ((0, 0), (0, 3))) for w in (_RESOLVE.w_q, _RESOLVE.w_k))
    w_k[lexicon.FEATURES.index("noun"), 8] = 1.0
    w_q[lexicon.FEATURES.index("says opening"), 8] = strength
    w_q[lexicon.FEATURES.index("says cargo"), 9] = -strength
    return w_q, w_k


def waves(positions: np.ndarray) -> np.ndarray:
    """Waves for `rope`, (T, 10), that turn the last pair by the place and leave the others."""
    angle = 2 * np.pi * positions / ROUND
    still = np.tile([0.0, 1.0], (len(angle), 4))
    return np.concatenate([still, np.sin(angle)[:, None], np.cos(angle)[:, None]], axis=-1)


def read(
    sentence: str,
    first: int | None = 0,
    strength: float = 6.0,
    both: Sequence[str] = NOUNS,
) -> np.ndarray:
    """Weights of *it* in layer 2, (T,): without places if `first` is None.

    Parameters
    ----------
    first : the position of the first word.
    strength : of the hand, in the query.
    both : words that are cargo and opening in one.
    """
    tokens = lexicon.tokenise(sentence)
    x, it = embed(tokens, both), tokens.index("it")
    x = x + reference.attention(*(x @ w for w in (_GATHER.w_q, _GATHER.w_k, _GATHER.w_v)))
    scale = _RESOLVE.w_q.shape[-1] ** -0.5
    if first is None:
        q, k = x @ _RESOLVE.w_q, x @ _RESOLVE.w_k
    else:
        turn: Any = waves(first + np.arange(len(tokens)))
        q, k = (reference.rope(x @ w, turn) for w in with_hand(strength))
    row: np.ndarray = reference.attention_weights(q[[it]], k, scale=scale)[0]
    return row
