"""Feed-forward layers made by hand: one that takes a mixture apart, one that says AND.

The first reads what one head of chapter 6 left: who + 2 whom, in every coordinate. The second
reads the vector of *it* in the lexicon, in which one head has put what the adjective says, and
another what kinds of nouns there are.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.parameters import FeedForwardParameters, HeadParameters
from tformer_book.world.lexicon import FEATURES, GATHER, KINDS, RESOLVE, embed, tokenise

__all__ = [
    "AND",
    "BENT",
    "PAIRS",
    "RELU",
    "SHARPEN",
    "TIRED",
    "WIDE",
    "best_affine",
    "features",
    "heard",
    "kinds",
    "mixed",
    "resolved",
]

RELU = Configuration(activation="relu")
TIRED = "The animal did not cross the street because it was too tired"
WIDE = "The animal did not cross the street because it was too wide"
PAIRS = np.array(list(product((1.0, -1.0), repeat=2)))
"""Who and whom in one coordinate, two signs: (4, 2)."""


def mixed(pairs: np.ndarray = PAIRS) -> np.ndarray:
    """What the head brings, three times its mean: who + 2 whom, and a column of 0, (..., 2)."""
    weights = np.array([1.0, 2.0]) / 3
    return np.stack([3 * pairs @ weights, np.zeros(pairs.shape[:-1])], axis=-1)


BENT = FeedForwardParameters(
    w_in=np.array([[1.0, 1.0], [0.0, 0.0]]),
    w_out=np.array([[-2.0, 1.0], [2.0, -1.0]]),
    b_in=np.array([1.0, -1.0]),
    b_out=np.array([2.0, -1.0]),
)
"""Two hidden units: added to a vector of `mixed`, they leave who in column 0, whom in 1."""


def best_affine(x: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """What the best matrix and constant make of vectors x (n, m), by least squares, (n, k)."""
    with_one = np.concatenate([x, np.ones((len(x), 1))], axis=1)
    return np.asarray(with_one @ np.linalg.lstsq(with_one, wanted)[0])


def features(verb: str) -> list[int]:
    """The columns of what a vector *is*, or of what it *says*, a column a kind."""
    return [FEATURES.index(f"{verb} {kind}") for kind in KINDS]


def _two_heads() -> HeadParameters:
    """Head 1 is the first layer of chapter 3; head 2 fetches what the nouns are."""
    d = len(FEATURES)
    w_q, w_k = np.zeros((2, 2, d, 1))
    w_v = np.zeros((2, d, d))
    w_q[0], w_k[0], w_v[0] = GATHER.w_q, GATHER.w_k, GATHER.w_v
    w_q[1, FEATURES.index("pronoun")], w_k[1, FEATURES.index("noun")] = 6.0, 1.0
    w_v[1, features("is"), features("is")] = 1.0
    return HeadParameters(w_q, w_k, w_v, np.stack([np.eye(d)] * 2))


def heard(sentence: str) -> np.ndarray:
    """The words of a sentence after two heads of a first layer, each added, (T, d_model)."""
    x = embed(tokenise(sentence))
    return np.asarray(x + reference.multi_head_attention(x, _two_heads()))


def _and() -> FeedForwardParameters:
    """One hidden unit a kind: what is said, and what there is, less 1. It writes what *it* is."""
    d, n = len(FEATURES), len(KINDS)
    w_in, w_out = np.zeros((d, n)), np.zeros((n, d))
    w_in[features("says"), range(n)] = w_in[features("is"), range(n)] = 1.0
    w_out[range(n), features("is")] = 1.0
    return FeedForwardParameters(w_in, w_out, -np.ones(n))


AND = _and()


def kinds(sentence: str, row: str = "it") -> np.ndarray:
    """What the hidden units of `AND` give for a word: one number for each of `KINDS`, (6,)."""
    x = heard(sentence)[tokenise(sentence).index(row)]
    return np.asarray(reference.feed_forward(x, AND, RELU)[features("is")])


def _sharpen() -> FeedForwardParameters:
    """Twice what is said above a half is added to what is said."""
    d, n = len(FEATURES), len(KINDS)
    w_in, w_out = np.zeros((d, n)), np.zeros((n, d))
    w_in[features("says"), range(n)], w_out[range(n), features("says")] = 1.0, 2.0
    return FeedForwardParameters(w_in, w_out, np.full(n, -0.5))


SHARPEN = _sharpen()


def resolved(sentence: str, sharpened: bool = True) -> np.ndarray:
    """The weights of *it* in layer 2 of chapter 3, with `SHARPEN` in between, (T,)."""
    tokens = tokenise(sentence)
    x = embed(tokens)
    x = x + reference.attention(x @ GATHER.w_q, x @ GATHER.w_k, x @ GATHER.w_v)
    if sharpened:
        x = x + reference.feed_forward(x, SHARPEN, RELU)
    weights = reference.attention_weights(x @ RESOLVE.w_q, x @ RESOLVE.w_k)
    return np.asarray(weights[tokens.index("it")])
