"""Answers to exercises 4.1 to 4.5: which scale, and how far scores spread."""

import math

import numpy as np


def _scores(d, scale, trials, rng, draw="standard_normal"):
    q, k = getattr(rng, draw)((2, trials, d))
    return scale * (q * k).sum(-1)


def _one_query(d, scale, trials, rng):
    return (scale * rng.standard_normal((trials, d)) @ rng.standard_normal(d)).var()


def _by_loop(d, scale, trials, rng):
    scores = [scale * (rng.normal(size=d) @ rng.normal(size=d)) for _ in range(trials)]
    return sum(s * s for s in scores) / trials


def _tied(d, scale, trials, rng):
    q = rng.standard_normal((trials, d))
    return (scale * (q * q).sum(-1)).var()


def _moments(d, mq, mk, vq, vk, rho, square=1, cross=2, shared=1):
    c = rho * math.sqrt(vq * vk)
    spread = vq * vk + square * c * c + mq * mq * vk + mk * mk * vq + cross * c * mq * mk
    return d * (mq * mk + shared * c), d * spread


WRONG = {
    "4.1": {
        "made of the width of the model": lambda d_model, n_heads: d_model**-0.5,
        "by which the scores are divided": lambda d_model, n_heads: (d_model / n_heads) ** 0.5,
        "with its root, and once": lambda d_model, n_heads: n_heads / d_model,
        "made of the number of heads": lambda d_model, n_heads: n_heads**-0.5,
        "the scale is made from it": lambda d_model, n_heads: d_model // n_heads,
        "multiplied by their number": lambda d_model, n_heads: (d_model * n_heads) ** -0.5,
        "belongs under the root too": lambda d_model, n_heads: n_heads / d_model**0.5,
        "not the scale": lambda d_model, n_heads: d_model**-0.5 / n_heads,
        "rounded down": lambda d_model, n_heads: 1 // (d_model / n_heads) ** 0.5,
        "Which vectors meet in a score": lambda d_model, n_heads: (d_model * n_heads) ** 0.5,
    },
    "4.2": {
        "near the standard deviation": lambda *inputs: _scores(*inputs).std(),
        "near the variance of one product": lambda d, scale, trials, rng: (
            scale * rng.standard_normal((trials, d)) * rng.standard_normal((trials, d))
        ).var(),
        "without the scale": lambda d, scale, trials, rng: _scores(d, 1, trials, rng).var(),
        "as its square": lambda d, scale, trials, rng: scale * _scores(d, 1, trials, rng).var(),
        "between 0 and 1 would give": lambda *inputs: _scores(*inputs, draw="random").var(),
        "equals its query": _tied,
        "of its own": _one_query,
        "the second time": lambda d, scale, trials, rng: _scores(
            d, scale, trials, np.random.default_rng()
        ).var(),
        "for six different generators": lambda d, scale, trials, rng: scale**2 * d,
        "one number is asked for": _scores,
        "is never negative": lambda *inputs: _scores(*inputs).mean(),
        "has the variance 0": (
            lambda *inputs: _scores(*inputs).sum().var(),
            lambda *inputs: np.var([_scores(*inputs)[0]] * 10),
        ),
        "you divided by it": lambda d, scale, trials, rng: _scores(d, 1 / scale, trials, rng).var(),
        "a mean of products": lambda d, scale, trials, rng: _scores(
            d, scale / d, trials, rng
        ).var(),
        "a shape is one argument": lambda d, scale, trials, rng: rng.standard_normal(trials, d),
    },
    "4.3": {
        "the square of the scale": lambda n, d, keys: math.log(n / keys) / d,
        "The width d is missing": lambda n, d, keys: math.sqrt(math.log(n / keys)),
        "half as large": lambda n, d, keys: math.sqrt(math.log(n / keys) / 2 / d),
        "twice as large": lambda n, d, keys: math.sqrt(2 * math.log(n / keys) / d),
        "natural one here": lambda n, d, keys: math.sqrt(math.log10(n / keys) / d),
        "Divide by √d": lambda n, d, keys: math.sqrt(math.log(n / keys) * d),
        "not by d. For": lambda n, d, keys: math.sqrt(math.log(n / keys)) / d,
        "one over the scale": lambda n, d, keys: math.sqrt(d / math.log(n / keys)),
        "to base 2": lambda n, d, keys: math.sqrt(math.log2(n / keys) / d),
        "The root of a negative number": lambda n, d, keys: np.sqrt(np.log(keys / n) / d),
        "leaves one key in e": lambda n, d, keys: d**-0.5,
        "the formula leaves 20 keys": lambda n, d, keys: math.sqrt(math.log(keys) / d),
    },
    "4.4": {
        "ρ changes both": lambda *inputs: _moments(*inputs[:-1], 0),
        "The mean lacks": lambda *inputs: _moments(*inputs, shared=0),
        "The variance is that of independent": lambda *inputs: (
            _moments(*inputs)[0],
            _moments(*inputs[:-1], 0)[1],
        ),
        "lacks the term with ρ²": lambda *inputs: _moments(*inputs, square=0),
        "are correlated: their": lambda *inputs: _moments(*inputs, cross=0),
        "you have it once": lambda *inputs: _moments(*inputs, cross=1),
        "for one coordinate": lambda d, *inputs: _moments(1, *inputs),
        "not with d²": lambda d, *inputs: (
            _moments(d, *inputs)[0],
            d * _moments(d, *inputs)[1],
        ),
        "standard deviation beside": lambda *inputs: (
            _moments(*inputs)[0],
            math.sqrt(_moments(*inputs)[1]),
        ),
        "comes second": lambda *inputs: _moments(*inputs)[::-1],
        "In the mean, ρ is": lambda d, mq, mk, vq, vk, rho: (
            d * (mq * mk + rho),
            _moments(d, mq, mk, vq, vk, rho)[1],
        ),
        "you took the variances": lambda d, mq, mk, vq, vk, rho: _moments(
            d, mq, mk, vq, vk, rho * math.sqrt(vq * vk)
        ),
        "you took that of q": lambda d, mq, mk, vq, vk, rho: (
            _moments(d, mq, mk, vq, vk, rho)[0],
            _moments(d, mq, mk, vq, vk, rho)[1] + d * (mq**2 - mk**2) * (vq - vk),
        ),
        "enters the variance as its square": lambda d, mq, mk, vq, vk, rho: (
            _moments(d, mq, mk, vq, vk, rho)[0],
            _moments(d, mq, mk, vq, vk, rho)[1] + d * ((mq - mq**2) * vk + (mk - mk**2) * vq),
        ),
        "is still to be subtracted": lambda d, *inputs: (
            _moments(d, *inputs)[0],
            _moments(d, *inputs)[1] + _moments(d, *inputs)[0] ** 2 / d,
        ),
        "The means and the correlation are missing": lambda d, mq, mk, vq, vk, rho: (
            _moments(d, mq, mk, vq, vk, rho)[0],
            d * vq * vk,
        ),
        "missing in both": lambda d, mq, mk, vq, vk, rho: (d * mq * mk, d * vq * vk),
        "The mean is right, the variance is not": lambda *inputs: (_moments(*inputs)[0], 7),
        "The variance is right, the mean is not": lambda *inputs: (7, _moments(*inputs)[1]),
        "Two numbers are asked for": lambda *inputs: _moments(*inputs)[0],
    },
    "4.5": {
        "divide by its root": lambda q, k: 1 / (q @ k.T).var(),
        "That is the standard deviation": lambda q, k: (q @ k.T).std(),
        "root of the mean square": lambda q, k: ((q @ k.T) ** 2).mean() ** -0.5,
        "four scores, not two": lambda q, k: 1 / (q[: len(k)] * k[: len(q)]).sum(-1).std(),
        "relies on assumptions": lambda q, k: q.shape[-1] ** -0.5,
        "not by 3": lambda q, k: 1 / (q @ k.T).std(ddof=1),
        "means matter": lambda q, k: 1 / (q.std() * k.std()) / q.shape[-1] ** 0.5,
        "the deviations of the rows": lambda q, k: 1 / (q @ k.T).std(axis=-1).mean(),
        "scales for each row": lambda q, k: 1 / (q @ k.T).std(axis=-1),
        "Those are the scaled scores": lambda q, k: q @ k.T / (q @ k.T).std(),
        "sum of the squares is to be divided": lambda q, k: 1 / np.linalg.norm(q @ k.T),
        "it is a root already": lambda q, k: (q @ k.T).std() ** -0.5,
        "their spread is asked for": lambda q, k: 1 / (q @ k.T).max(),
        "Those scores are scaled already": lambda q, k: 1 / (q @ k.T / q.shape[-1] ** 0.5).std(),
    },
}

RIGHT = {
    "4.1": [lambda d_model, n_heads: [math.sqrt(n_heads) / math.sqrt(d_model)][0]],
    "4.2": [_by_loop],
    "4.3": [lambda n, d, keys: np.float32(math.sqrt((math.log(n) - math.log(keys)) / d))],
    "4.4": [lambda *inputs: list(_moments(*inputs))],
    "4.5": [lambda q, k: 1 / np.sqrt(np.cov(np.outer(q @ k.T, 1).T, ddof=0))],
}
