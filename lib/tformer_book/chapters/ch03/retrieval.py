"""How many pairs a memory can hold before attention no longer finds the right one.

A memory of n keys, independent and uniform among the sign vectors {−1, 1}^d, is asked with its
first key; the score of a key is β times its cosine with the query.
"""

import math

import numpy as np
from scipy.special import comb


def retrieved(n: int, d: int, beta: float, trials: int = 100_000, seed: int = 0) -> np.ndarray:
    """Return the weight on the right key in each of some random memories, (trials,).

    Only cosines count, so no keys are drawn: each wrong key differs from the query in a binomial
    number of signs, and how many of them differ in 0, 1, …, d signs is drawn at once.
    """
    signs = np.arange(d + 1)
    chances = comb(d, signs) / 2.0**d
    keys = np.random.default_rng(seed).multinomial(n - 1, chances, size=trials)
    return 1 / (1 + keys @ np.exp(-2 * beta * signs / d))


def interference(d: int, beta: float) -> float:
    """Return E[exp(β(cos − 1))]: what a wrong key weighs on average if the right one weighs 1."""
    return ((1 + math.exp(-2 * beta / d)) / 2) ** d


def expected_weight(n: int, d: int, beta: float) -> float:
    """Return the prediction for the mean of `retrieved`, which is never above the truth."""
    return 1 / (1 + (n - 1) * interference(d, beta))


def capacity(d: int, beta: float, weight: float = 0.5) -> int:
    """Return the largest n for which the prediction is at least `weight`."""
    return 1 + math.floor((1 / weight - 1) / interference(d, beta))
