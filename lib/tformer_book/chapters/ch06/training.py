"""Two things that heads learn: to veto, and to find by attributes with keys that they share.

Both are trained by Adam [kingma2015] in NumPy, several seeds at once along the first axis.
"""

import math
from functools import cache
from itertools import permutations

import numpy as np

from tformer.reference import softmax, softmax_vjp
from tformer_book.experiments.training import Adam, training

__all__ = [
    "ATTRIBUTES",
    "SEEDS",
    "STORED",
    "circles",
    "finds",
    "veto_shares",
    "veto_tables",
    "weight_found",
]

OTHERS = 9
"""Words of a sentence beside both nouns and the adjective; their scores are 0."""
ATTRIBUTES, STORED, SEEDS = 4, 8, 16


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

    def gradients() -> list[np.ndarray]:
        p = _weights(tables, pairs)
        both = p[..., :2].sum(axis=-3, keepdims=True)
        total = both.sum(axis=-1, keepdims=True)
        grad = np.zeros_like(p)
        grad[..., :2] = (1 / total - np.array([1, 0]) / both) / pairs.shape[1]
        back = softmax_vjp(p, grad)[..., :3]
        return [np.einsum("...hnj,njc->...hc", back, to_column)]

    for _ in training(Adam([tables]), gradients, steps, rate):
        pass
    return tables


@cache
def finds(
    n_groups: int,
    d_k: int,
    steps: tuple[int, ...] = (300, 1000),
    seeds: int = 12,
    rate: float = 0.03,
) -> np.ndarray:
    """Train four heads to find words by four attributes, one each, with shared keys.

    A sentence is eight words; in each of four attributes all eight differ. A query names a value of
    each attribute, and head h has to find the word that has the value of attribute h. Words and
    queries are four one-hot rows side by side. The loss is −log of the weight on the right word.

    Returns
    -------
    (len(steps), seeds) array
        Mean weight on the right word after so many steps, on new sentences.
    """
    rng, d_model = np.random.default_rng(0), ATTRIBUTES * STORED
    w_q = rng.standard_normal((seeds, ATTRIBUTES, d_model, d_k)) / math.sqrt(ATTRIBUTES)
    w_k = rng.standard_normal((seeds, n_groups, d_model, d_k)) / math.sqrt(ATTRIBUTES)
    rounds = training(Adam([w_q, w_k]), lambda: _gradients(rng, w_q, w_k), max(steps), rate)
    return np.array([weight_found(w_q, w_k) for step in rounds if step in steps])


def weight_found(w_q: np.ndarray, w_k: np.ndarray) -> np.ndarray:
    """Return the mean weight on the right word in 64 sentences, for matrices of several seeds.

    From (seeds, 4, 32, d_k) and (seeds, G, 32, d_k) to (seeds,).
    """
    rng, found = np.random.default_rng(1), []
    for _ in range(8):
        words, queries, right = _drawn(rng)
        q, k = _projected(words, queries, w_q, w_k)
        p = softmax(q @ k.mT / math.sqrt(q.shape[-1]))
        found.append((p * right).sum(axis=-1).mean(axis=(1, 2, 3)))
    return np.mean(found, axis=0)


def circles(length: float = 200.0) -> tuple[np.ndarray, np.ndarray]:
    """Return matrices made by hand that find by one key of width 8: two columns an attribute.

    The eight values of an attribute stand on a circle in its two columns, and a query that names
    one points at it. Shapes (1, 4, 32, 8) and (1, 1, 32, 8).
    """
    angle = 2 * np.pi * np.arange(STORED) / STORED
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    w_k = np.kron(np.eye(ATTRIBUTES), circle)
    own = np.kron(np.eye(ATTRIBUTES), np.ones((STORED, 2)))
    of_head = np.kron(np.eye(ATTRIBUTES), np.ones(2))[:, None]
    return length * (w_k * own * of_head)[None], w_k[None, None]


def _drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw eight sentences and eight queries of each: one-hot rows (64, 32), who is right.

    The last has shape (4, 8, 8, 8): for each attribute and sentence, queries by words.
    """
    every = np.tile(np.arange(STORED), (8, ATTRIBUTES, 1))
    values, wanted = rng.permuted(every, axis=-1), rng.permuted(every, axis=-1)
    words, queries = (
        np.eye(STORED)[x].swapaxes(1, 2).reshape(8 * STORED, -1) for x in (values, wanted)
    )
    return words, queries, (values[:, :, None, :] == wanted[..., None]).swapaxes(0, 1)


def _projected(
    words: np.ndarray, queries: np.ndarray, w_q: np.ndarray, w_k: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return queries and keys of all heads, (seeds, 4, 8, 8, d_k): by sentence and place."""
    q, k = (x @ w for x, w in ((queries, w_q), (words, w_k)))
    q, k = (x.reshape(*x.shape[:2], 8, STORED, -1) for x in (q, k))
    return q, k[:, np.arange(ATTRIBUTES) * k.shape[1] // ATTRIBUTES]


def _gradients(
    rng: np.random.Generator, w_q: np.ndarray, w_k: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradients of the loss on new sentences."""
    words, queries, right = _drawn(rng)
    q, k = _projected(words, queries, w_q, w_k)
    scale = 1 / math.sqrt(q.shape[-1])
    back = scale * (softmax(scale * q @ k.mT) - right) / len(queries)
    dq, dk = (
        (part.reshape(*part.shape[:2], -1, part.shape[-1])) for part in (back @ k, back.mT @ q)
    )
    shared = (words.T @ dk).reshape(len(dk), w_k.shape[1], -1, *w_k.shape[2:])
    return queries.T @ dq, shared.sum(axis=2)
