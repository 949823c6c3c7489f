"""How many pairs a memory can hold before attention no longer finds the right one.

A memory of n keys, independent and uniform among the sign vectors {−1, 1}^d, is asked with its
first key; the score of a key is β times its cosine with the query.
"""

import math

import numpy as np

from tformer import reference as ref


def retrieved(n: int, d: int, beta: float, trials: int = 1000, seed: int = 0) -> np.ndarray:
    """Return the weight on the right key in each of some random memories, (trials,)."""
    keys = np.random.default_rng(seed).choice([-1.0, 1.0], size=(trials, n, d))
    return ref.attention_weights(keys[:, :1], keys, scale=beta / d)[:, 0, 0]


def interference(d: int, beta: float) -> float:
    """Return E[exp(β(cos − 1))]: what a wrong key weighs on average if the right one weighs 1."""
    return ((1 + math.exp(-2 * beta / d)) / 2) ** d


def expected_weight(n: int, d: int, beta: float) -> float:
    """Return the prediction for the mean of `retrieved`, which is never above the truth."""
    return 1 / (1 + (n - 1) * interference(d, beta))


def capacity(d: int, beta: float, weight: float = 0.5) -> int:
    """Return the largest n for which the prediction is at least `weight`."""
    return 1 + math.floor((1 / weight - 1) / interference(d, beta))
