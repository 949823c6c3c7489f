"""Answers to exercises 4.1 to 4.5: which scale, and how far scores spread."""

import math

import numpy as np


def _scores(d, scale, trials, rng):
    q, k = rng.standard_normal((2, trials, d))
    return scale * (q * k).sum(-1)


def _one_query(d, scale, trials, rng):
    return (scale * rng.standard_normal((trials, d)) @ rng.standard_normal(d)).var()


def _every_pair(d, scale, trials, rng):
    q, k = rng.standard_normal((2, trials, d))
    return scale**2 * np.var(q @ k.T)


def _by_loop(d, scale, trials, rng):
    scores = [scale * (rng.normal(size=d) @ rng.normal(size=d)) for _ in range(trials)]
    return sum(s * s for s in scores) / trials


def _moments(d, mq, mk, vq, vk, rho):
    c = rho * math.sqrt(vq * vk)
    return d * (mq * mk + c), d * (vq * vk + c * c + mq * mq * vk + mk * mk * vq + 2 * c * mq * mk)


WRONG = {
    "4.1": {
        "Which vectors meet in a score": lambda d_model, n_heads: d_model + n_heads,
    },
    "4.2": {
        "of its own": _one_query,
        "the second time": lambda d, scale, trials, rng: _scores(
            d, scale, trials, np.random.default_rng()
        ).var(),
        "Estimate the variance from draws": lambda d, scale, trials, rng: scale**2 * d,
        "one number is asked for": _scores,
        "is never negative": lambda *inputs: _scores(*inputs).mean(),
        "has the variance 0": (
            lambda *inputs: _scores(*inputs).sum().var(),
            lambda *inputs: np.var([_scores(*inputs)[0]] * 10),
        ),
        "as many pairs as `trials` says": lambda d, scale, trials, rng: _scores(
            d, scale, 10_000, rng
        ).var(),
        "A trial is one query and one key": _every_pair,
        "a shape is one argument": lambda d, scale, trials, rng: rng.standard_normal(trials, d),
    },
    "4.3": {
        "leaves another number of keys": lambda n, d, keys: 2.0,
    },
    "4.4": {
        "The mean is right, the variance is not": lambda *inputs: (_moments(*inputs)[0], 7),
        "The variance is right, the mean is not": lambda *inputs: (7, _moments(*inputs)[1]),
        "Multiply out one product": lambda *inputs: (3, 5),
        "Two numbers are asked for": lambda *inputs: _moments(*inputs)[0],
    },
    "4.5": {
        "times your scale, should be 1": lambda q, k: 0.25,
    },
}

RIGHT = {
    "4.1": [lambda d_model, n_heads: [math.sqrt(n_heads) / math.sqrt(d_model)][0]],
    "4.2": [_by_loop, lambda *inputs: float(_scores(*inputs).var(ddof=1))],
    "4.3": [lambda n, d, keys: np.float32(math.sqrt((math.log(n) - math.log(keys)) / d))],
    "4.4": [lambda *inputs: list(_moments(*inputs)), lambda *inputs: np.array(_moments(*inputs))],
    "4.5": [lambda q, k: 1 / np.sqrt(np.cov(np.outer(q @ k.T, 1).T, ddof=0))],
}
