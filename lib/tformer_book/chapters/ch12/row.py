"""The gradient of the row: how the loss “it means that noun” goes back through two layers.

The words are the hand-made ones of the lexicon, the layers those of chapter 3, and the loss is
minus the logarithm of the weight that *it* gives the right noun in the second.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tformer import reference
from tformer_book.world.lexicon import GATHER, RESOLVE, SENTENCES, embed, tokenise

__all__ = ["PATHS", "TIRED", "WIDE", "Row", "row"]

TIRED, WIDE = list(SENTENCES)[:2]
PATHS = ("key 2", "query 2", "value 1", "key 1", "query 1")
"""The five uses of a word's vector: of what, and in which layer."""
Table = np.ndarray


class Row(NamedTuple):
    """One sentence there and back.

    Attributes
    ----------
    words : the T words.
    it, noun : the places of *it* and of the right noun.
    weights : (2, T, T) array, of both layers.
    loss : minus the logarithm of the weight of *it* on the noun in layer 2.
    dscores : (2, T, T) array, gradient of the loss with respect to the scaled scores.
    dheard : (T, d_model) array, with respect to the words between the layers.
    paths : array of (path, T, d_model), what arrives at each word by each of `PATHS`.
    """

    words: tuple[str, ...]
    it: int
    noun: int
    weights: Table
    loss: float
    dscores: Table
    dheard: Table
    paths: Table


def row(sentence: str = TIRED, w_k: Table = RESOLVE.w_k) -> Row:
    """Send a sentence through both layers, and its loss back; w_k makes the keys of layer 2."""
    words = tokenise(sentence)
    it, noun = words.index("it"), words.index(SENTENCES[sentence])
    x = embed(words)
    q1, k1, v1 = x @ GATHER.w_q, x @ GATHER.w_k, x @ GATHER.w_v
    a1 = reference.attention_weights(q1, k1)
    x1 = x + a1 @ v1
    q2, k2 = x1 @ RESOLVE.w_q, x1 @ w_k
    a2 = reference.attention_weights(q2, k2)
    ds2 = np.zeros_like(a2)
    ds2[it] = a2[it] - (np.arange(len(words)) == noun)
    c1, c2 = (1 / math.sqrt(table.shape[-1]) for table in (q1, q2))
    by_key = c2 * ds2.T @ q2 @ w_k.T
    by_query = c2 * ds2 @ k2 @ RESOLVE.w_q.T
    dx1 = by_key + by_query
    ds1 = reference.softmax_vjp(a1, dx1 @ v1.T)
    first = (
        a1.T @ dx1 @ GATHER.w_v.T,
        c1 * ds1.T @ q1 @ GATHER.w_k.T,
        c1 * ds1 @ k1 @ GATHER.w_q.T,
    )
    return Row(
        words,
        it,
        noun,
        np.array([a1, a2]),
        float(-np.log(a2[it, noun])),
        np.array([ds1, ds2]),
        dx1,
        np.array([by_key, by_query, *first]),
    )
