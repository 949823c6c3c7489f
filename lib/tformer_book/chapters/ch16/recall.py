"""What can be looked up again: pairs of keys and one-hot values, asked for by their keys.

The error of a pair is the squared distance of the answer from its value. Whoever answers nothing
has the error 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tformer import reference

__all__ = ["ANSWERS", "SHARP", "D", "alike", "best", "error", "keys", "least", "picked"]

D = 16
"""Width of the keys."""
SHARP = 40.0
"""Scale of the scores of the softmax, for keys of length 1."""
ANSWERS = ("linear", "best", "softmax", "sum")


def keys(n: int, seed: int = 0, d: int = D) -> np.ndarray:
    """Random directions: (n, d)."""
    x = np.random.default_rng(seed).standard_normal((n, d))
    unit: np.ndarray = x / reference.norm(x)[:, np.newaxis]
    return unit


def answers(kind: str, k: np.ndarray, sharp: float = SHARP) -> np.ndarray:
    """What comes back for each key: (n, n), the pair's own value in the diagonal."""
    values = np.eye(len(k))
    if kind == "linear":
        return reference.linear_attention(k, k, values)
    if kind == "best":
        return best(k)
    if kind == "sum":
        return reference.pairwise_dot(k, k)
    return reference.attention(k, k, values, scale=sharp)


def best(k: np.ndarray) -> np.ndarray:
    """The answers of the best table of d_k times d_v numbers for these keys: least squares."""
    found: np.ndarray = k @ np.linalg.pinv(k)
    return found


def error(kind: str, n: int, seeds: int = 5, d: int = D, sharp: float = SHARP) -> float:
    """The mean error a pair, over several draws of keys."""
    return _mean(lambda k: ((answers(kind, k, sharp) - np.eye(n)) ** 2).sum() / n, n, seeds, d)


def alike(n: int, seeds: int = 5, d: int = D) -> float:
    """The mean cosine of the features that linear attention has for two different keys."""

    def cosine(k: np.ndarray) -> float:
        x = reference.elu_feature_map(k)
        return float(reference.pairwise_cosine(x, x)[~np.eye(n, dtype=bool)].mean())

    return _mean(cosine, n, seeds, d)


def least(n: int, d: int = D) -> float:
    """No table of that width has a smaller mean error, whatever is written into it."""
    return max(0.0, 1 - d / n)


def picked(kind: str, n: int, seeds: int = 5, d: int = D) -> float:
    """The share of pairs whose own value is the largest of the answer."""
    return _mean(lambda k: (answers(kind, k).argmax(axis=1) == np.arange(n)).mean(), n, seeds, d)


def _mean(of: Callable[[np.ndarray], float], n: int, seeds: int, d: int) -> float:
    """The mean over several draws of keys."""
    return float(np.mean([of(keys(n, seed, d)) for seed in range(seeds)]))
