"""Two things that heads learn: to veto, and to find by attributes with keys that they share.

Both are trained by Adam [kingma2015] in NumPy, several seeds at once along the first axis.
"""

import math
from collections.abc import Sequence
from functools import cache
from itertools import permutations

import numpy as np

from tformer.reference import softmax, softmax_vjp

__all__ = ["ATTRIBUTES", "SEEDS", "STORED", "finds", "veto_shares", "veto_tables"]

OTHERS = 9
"""Words of a sentence beside both nouns and the adjective; their scores are 0."""
ATTRIBUTES, STORED, SEEDS = 4, 8, 16


class Adam:
    """Adam's steps on a list of arrays, which are changed in place."""

    def __init__(self, parameters: Sequence[np.ndarray], rate: float) -> None:
        self.parameters, self.rate, self.steps = parameters, rate, 0
        self.means = [np.zeros_like(one) for one in parameters]
        self.squares = [np.zeros_like(one) for one in parameters]

    def step(self, gradients: Sequence[np.ndarray]) -> None:
        """Make one step against the gradients."""
        self.steps += 1
        every = zip(self.parameters, self.means, self.squares, gradients, strict=True)
        for parameter, mean, square, gradient in every:
            mean += 0.1 * (gradient - mean)
            square += 0.01 * (gradient**2 - square)
            length = np.sqrt(square / (1 - 0.99**self.steps)) + 1e-8
            parameter -= self.rate * mean / (1 - 0.9**self.steps) / length


def _pairs(n_kinds: int) -> np.ndarray:
    """Return all (right, wrong) pairs of different kinds, of shape (2, n)."""
    return np.array(list(permutations(range(n_kinds), 2))).T


def _weights(tables: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the weights of the right noun, the wrong one, the adjective and the others.

    From scores (..., H, 2 n_kinds), nouns before adjectives, to (..., H, n, 3 + OTHERS).
    """
    n_kinds = tables.shape[-1] // 2
    chosen = [tables[..., pairs[0]], tables[..., pairs[1]], tables[..., n_kinds + pairs[0]]]
    scores = np.stack([*chosen, *[np.zeros_like(chosen[0])] * OTHERS], axis=-1)
    return np.asarray(softmax(scores))


def veto_shares(tables: np.ndarray) -> np.ndarray:
    """Return the right noun's share of the two nouns' weight in the mean of the heads.

    From scores (..., H, 2 n_kinds) to (..., n), an entry for each sentence.
    """
    both = _weights(tables, _pairs(tables.shape[-1] // 2))[..., :2].sum(axis=-3)
    return np.asarray(both[..., 0] / both.sum(axis=-1))


def veto_tables(
    n_kinds: int, n_heads: int, seeds: int = SEEDS, steps: int = 600, rate: float = 0.1
) -> np.ndarray:
    """Train the scores that *it* gives to nouns and adjectives of some kinds, in several heads.

    The loss is the mean of −log of `veto_shares`; all sentences are seen in each step.

    Returns
    -------
    (seeds, n_heads, 2 n_kinds) array
        Scores of nouns by kind, then of adjectives by what they say.
    """
    rng, pairs = np.random.default_rng(0), _pairs(n_kinds)
    tables = 0.5 * rng.standard_normal((seeds, n_heads, 2 * n_kinds))
    seen = np.stack([pairs[0], pairs[1], n_kinds + pairs[0]], axis=-1)  # (n, 3)
    to_column = np.eye(2 * n_kinds)[seen]  # (n, 3, 2 n_kinds)
    adam = Adam([tables], rate)
    for _ in range(steps):
        p = _weights(tables, pairs)
        both = p[..., :2].sum(axis=-3, keepdims=True)
        total = both.sum(axis=-1, keepdims=True)
        grad = np.zeros_like(p)
        grad[..., :2] = (1 / total - np.array([1, 0]) / both) / pairs.shape[1]
        back = softmax_vjp(p, grad)[..., :3]
        adam.step([np.einsum("...hnj,njc->...hc", back, to_column)])
    return tables


@cache
def finds(
    n_groups: int, d_k: int, seeds: int = SEEDS, steps: int = 300, rate: float = 0.03
) -> np.ndarray:
    """Train four heads to find words by four attributes, one each, with shared keys.

    A sentence is eight words; in each of four attributes all eight differ. A query names a value of
    each attribute, and head h has to find the word that has the value of attribute h. Words and
    queries are four one-hot rows side by side. The loss is −log of the weight on the right word.

    Returns
    -------
    (seeds,) array
        Mean weight on the right word after training, on new sentences.
    """
    rng, groups = np.random.default_rng(0), np.arange(ATTRIBUTES) * n_groups // ATTRIBUTES
    d_model = ATTRIBUTES * STORED
    w_q = rng.standard_normal((seeds, ATTRIBUTES, d_model, d_k)) / math.sqrt(ATTRIBUTES)
    w_k = rng.standard_normal((seeds, n_groups, d_model, d_k)) / math.sqrt(ATTRIBUTES)
    adam = Adam([w_q, w_k], rate)
    for _ in range(steps):
        adam.step(_gradients(rng, w_q, w_k, groups))
    found = [_found(*_drawn(rng), w_q, w_k, groups)[2] for _ in range(8)]
    return np.mean(found, axis=0)


def _drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eight sentences, a query for each value: words, queries (8, 8, d_model), who is right."""
    values = rng.permuted(np.tile(np.arange(STORED), (8, ATTRIBUTES, 1)), axis=-1)
    wanted = rng.permuted(np.tile(np.arange(STORED), (8, ATTRIBUTES, 1)), axis=-1)
    words, queries = (
        np.eye(STORED)[x].swapaxes(1, 2).reshape(8, STORED, -1) for x in (values, wanted)
    )
    return words, queries, values[:, :, None, :] == wanted[..., None]


def _found(
    words: np.ndarray,
    queries: np.ndarray,
    right: np.ndarray,
    w_q: np.ndarray,
    w_k: np.ndarray,
    groups: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return queries and keys (seeds, 8, H, 8, d_k), and the mean weight on the right word."""
    q = queries[:, None] @ w_q[:, None]
    k = (words[:, None] @ w_k[:, None])[:, :, groups]
    p = softmax(q @ k.mT / math.sqrt(q.shape[-1]))
    return q, k, np.asarray((p * right).sum(axis=-1).mean(axis=(1, 2, 3)))


def _gradients(
    rng: np.random.Generator, w_q: np.ndarray, w_k: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    words, queries, right = _drawn(rng)
    q = queries[:, None] @ w_q[:, None]
    k = (words[:, None] @ w_k[:, None])[:, :, groups]
    scale = 1 / math.sqrt(q.shape[-1])
    back = scale * (softmax(scale * q @ k.mT) - right) / right[:, 0, :, 0].size
    dq = (queries.mT[:, None] @ (back @ k)).sum(axis=1)
    dk = (words.mT[:, None] @ (back.mT @ q)).sum(axis=1)
    shared = dk.reshape(len(dk), w_k.shape[1], -1, *dk.shape[2:])
    return dq, shared.sum(axis=2)
