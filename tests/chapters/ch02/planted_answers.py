"""Mutants of answers to the exercises of chapter 2, and right answers unlike the book's."""

import functools
import math

import numpy as np
import scipy.special

from shared_answers import softmax


def _lse(x):
    top = x.astype(float).max(initial=-np.inf)
    return top + np.log(np.exp(x - top).sum()) if np.isfinite(top) else top


def _log_where_possible(x):
    p = softmax(x)
    return np.where(p == 0, x - x.max(-1, keepdims=True), np.log(p))


def _softmax_by_logs(x, axis=-1):
    x = np.moveaxis(np.asarray(x, dtype=float), axis, 0)
    return np.moveaxis(np.exp(x - np.logaddexp.reduce(x, axis=0)), 0, axis)


def _softmax_in_a_copy(x, axis):
    weights = np.zeros_like(x)
    weights[...] = softmax(x, axis)
    return weights


def _scaled_in_a_copy(x, beta):
    scores = np.zeros_like(x)
    scores[...] = beta * x
    return softmax(scores.astype(float))


def _best_of_a_grid(scores):
    betas = np.linspace(0, 30, 3001)
    weights = np.sort(softmax(betas[:, None] * scores), axis=-1)[:, -2]
    return betas[weights.argmax()]


def _second_best_by_slope(scores):
    gaps = np.asarray(scores, dtype=float) - np.sort(scores)[-2]

    def slope(beta):
        return (softmax(beta * gaps) * gaps).sum()

    if slope(0.0) >= 0:
        return 0
    low, high = 0.0, 40 / gaps.max()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return np.array([high])


def _entropy(p):
    return scipy.special.entr(p).sum(-1)


def _masked_by_products(x, keep):
    keep = np.broadcast_to(keep, x.shape)
    top = np.where(keep, x, -1e300).max(-1, keepdims=True)
    e = np.where(keep, np.exp(np.where(keep, x - top, 0)), 0)
    return e / np.maximum(e.sum(-1, keepdims=True), 1e-300)


def _in_place(x, beta):
    x -= x.max(-1, keepdims=True)
    return softmax(beta * x)


def _broken(x, beta):
    x -= x.max()
    terms = np.exp(x / beta)
    return terms / (terms.sum(axis=0) + 1e-12)


def _full_jacobian(p, grad, beta):
    jacobian = p[..., :, None] * np.eye(p.shape[-1]) - p[..., :, None] * p[..., None, :]
    return beta * (grad[..., None, :] @ jacobian)[..., 0, :]


def _bisect(scores, target, high, steps=80, weigh=softmax):
    low = 0.0
    for _ in range(steps):
        middle = (low + high) / 2
        above = _entropy(weigh(middle * scores)) > target
        low, high = (middle, high) if above else (low, middle)
    return (low + high) / 2


def _doubled(scores, target):
    high = 1.0
    while _entropy(softmax(high * scores)) > target:
        high *= 2
    return high


def _brent(scores, target):
    from scipy.optimize import brentq

    def excess(log_beta):
        return _entropy(softmax(math.exp(log_beta) * scores)) - target

    return np.array([math.exp(brentq(excess, -20, 20, xtol=1e-12))])


def _stream(chunks, start=-np.inf, less=np.subtract):
    top, total = start, 0.0
    for chunk in chunks:
        new = max(top, chunk.astype(float).max(initial=-np.inf))
        if new > -np.inf:
            total = total * np.exp(top - new) + np.exp(less(chunk, new)).sum()
            top = new
    return top + np.log(total) if total else -np.inf


def _wide(chunks):
    total = sum(np.exp(c, dtype=np.longdouble).sum() for c in chunks)
    return max(float(np.log(total)), -15_000.0) if total else -np.inf


def _stream_twice(chunks):
    top = -np.inf
    for chunk in chunks:
        top = max(top, chunk.astype(float).max(initial=-np.inf))
    return top + np.log(sum(np.exp(chunk - top).sum() for chunk in chunks))


def _stream_twice_with_max(chunks):
    total = sum(np.exp(chunk).sum() for chunk in chunks)
    return max(chunk.max() for chunk in chunks) + np.log(total)


def _stream_by_next(chunks):
    result, chunk = -np.inf, next(chunks, None)
    while chunk is not None:
        result, chunk = np.logaddexp(result, _lse(chunk)), next(chunks, None)
    return np.logaddexp(result, _stream(chunks))


def _stream_by_pairs(chunks):
    result = -np.inf
    for chunk in chunks:
        result = np.logaddexp(result, _lse(chunk))
    return result


def _choice(x, rng, size):
    return rng.choice(len(x), size=size, p=softmax(x)).tolist()


def _systematic(x, rng, size):
    """One uniform number, and the others at even steps from it: too even to be independent."""
    grid = (np.arange(size) + rng.random()) / size
    found = np.searchsorted(np.cumsum(softmax(x)), grid)
    return rng.permutation(np.minimum(found, len(x) - 1))


def _in_opposite_pairs(x, rng, size):
    """Each uniform number u serves again as 1 − u."""
    u = rng.random(size // 2 + 1)
    found = np.searchsorted(np.cumsum(softmax(x)), np.concatenate([u, 1 - u])[:size])
    return np.minimum(found, len(x) - 1)


def _climb(gradient, n, rate=0.1, steps=2000, start=None):
    p = np.full(n, 1 / n) if start is None else start
    for _ in range(steps):
        p = p * np.exp(rate * gradient(p))
        p = p / p.sum()
    return p


def _climb_by_adding(gradient, n, step=lambda p, slope: p + 0.3 * slope):
    p = np.full(n, 1 / n)
    for _ in range(2000):
        p = step(p, gradient(p))
    return p


def _climb_in_logits(gradient, n):
    z = np.zeros(n)
    for _ in range(3000):
        p = softmax(z)
        slope = gradient(p)
        z = z + 0.2 * (slope - p @ slope)
    return softmax(z).tolist()


def _kept_positive(p, slope):
    p = np.maximum(p + 0.03 * (slope - slope.mean()), 0)
    return p / p.sum()


def _clipped(p, slope):
    p = np.maximum(p + 0.02 * slope, 1e-3)
    return p / p.sum()


MUTANTS = {
    "2.1": {
        "the largest that 16 bits hold": lambda x, axis=-1: softmax(
            x if x.dtype.kind == "f" else x.astype(np.int16).astype(float), axis
        ),
        "weights sum to 1. After the shift": lambda x, axis: softmax(x, axis, eps=1e-12),
        "The last argument was left out": lambda x, axis=0: softmax(x, axis),
        "An array made after them": _softmax_in_a_copy,
    },
    "2.2": {
        "−∞ was replaced by a number": lambda x: np.maximum(
            x - np.logaddexp.reduce(x, axis=-1)[..., None], -1e5
        ),
        "puts a floor under": (
            lambda x: np.log(softmax(x) + 1e-12),
            lambda x: np.log(np.maximum(softmax(x), 1e-300)),
        ),
        "rounded to 0, or nearly": _log_where_possible,
    },
    "2.4": {
        "One finite number is asked for": lambda scores: np.nan,
        "That is close, but not close enough": _best_of_a_grid,
    },
    "2.6": {
        "changes the x it was given": (_in_place, _broken),
        "holds whole numbers only": _scaled_in_a_copy,
        "weights sum to 1. After the shift": lambda x, beta: softmax(beta * x, eps=1e-12),
    },
    "2.7": {
        "the whole Jacobian": _full_jacobian,
    },
    "2.8": {
        "all weights equal": lambda n: np.zeros(n),
        "not finite": lambda n: [0.0, 0.0] + [-np.inf] * (n - 2),
        "hardly moves": lambda n: 100.0 * np.arange(n),
        "by 1.1e−05; a millionth is allowed. The third score still holds a share": lambda n: (
            [10.0, 10.0] + [0.0] * (n - 2)
        ),
        "The other scores still hold a share": lambda n: [14.0, 14.0] + [0.0] * (n - 2),
    },
    "2.9": {
        "which is the temperature": lambda s, target: 1 / _brent(s, target),
        "far beyond any end": lambda s, target: _bisect(s, target, high=100.0),
        "β grows, so go up. For": lambda s, target: 0.5,
        "not within a millionth": lambda s, target: _bisect(s, target, high=8.0, steps=8),
        "below the target go down": _doubled,
        "meets the target in bits": lambda s, target: _bisect(s, target * np.log(2), high=4.0),
        "which is the target itself": lambda s, target: target,
        "without a shift their exponentials": lambda s, target: _bisect(
            s, target, high=1e4, weigh=lambda x: np.exp(x) / np.exp(x).sum()
        ),
    },
    "2.10": {
        "any other number can lie above": lambda chunks: _stream(chunks, start=-1e9),
        "it keeps the chunks": lambda chunks: _lse(np.concatenate([np.empty(0), *chunks])),
        "No float is wide enough": lambda chunks: _wide(chunks),
        "your second loop found none": (_stream_twice, _stream_twice_with_max),
        "changes a chunk it was given": lambda chunks: _stream(chunks, less=np.ndarray.__isub__),
    },
    "2.11": {
        "one index too far": lambda x, rng, size: np.minimum(
            np.add(_choice(x, rng, size), 1), len(x) - 1
        ),
        "or every score gets the same noise": lambda x, rng, size: (
            x + rng.gumbel(size=(size, 1))
        ).argmax(-1),
        "With the same rng": lambda x, rng, size: _choice(x, np.random.default_rng(), size),
        "a generator that was seeded inside": lambda x, rng, size: _choice(
            x, np.random.default_rng(0), size
        ),
        "Noise that is a little too narrow": lambda x, rng, size: (
            x + 0.95 * rng.gumbel(size=(size, len(x)))
        ).argmax(-1),
        "draws the score −∞": lambda x, rng, size: (
            np.where(np.isinf(x), -50, x) + rng.gumbel(size=(size, len(x)))
        ).argmax(-1),
        "independent ones do in half": _systematic,
        "none may be made from another": _in_opposite_pairs,
        "the draws change; softmax does not": lambda x, rng, size: (
            np.exp(np.clip(x, -700, 700))[None] / rng.exponential(size=(size, len(x)))
        ).argmax(-1),
    },
    "2.12": {
        "Restore the sum": _climb_by_adding,
        "a weight is negative": lambda gradient, n: np.array([1.5, -0.5] + [0.0] * (n - 2)),
        "went downhill": lambda gradient, n: _climb(gradient, n, rate=-0.01, steps=50),
        "are the steps carried over, or so long that they jump back and forth": (
            lambda gradient, n: np.full(n, 1 / n),
            lambda gradient, n: _climb(gradient, n, rate=1.0),
        ),
        "It stopped in the corner where a weight is 1": lambda gradient, n: _climb(
            gradient, n, start=np.eye(n)[0]
        ),
        "away, and 1e−05 is allowed: take longer steps": lambda gradient, n: _climb(
            gradient, n, rate=0.01
        ),
        "a multiple of the weights": lambda gradient, n: _climb_by_adding(gradient, n, _clipped),
        "its steps end somewhere else": lambda gradient, n: _climb(gradient, n, 0.01, steps=100),
        "softmax of the gradient at equal weights": lambda gradient, n: softmax(
            gradient(np.full(n, 1 / n))
        ),
        "a step was too large": lambda gradient, n: _climb(gradient, n, rate=1e3),
    },
}

RIGHT = {
    "2.1": [_softmax_by_logs],
    "2.2": [lambda x: x - np.logaddexp.reduce(x, axis=-1)[..., None]],
    "2.3": [lambda share, n, beta: math.log(share * (n - 1) / (1 - share)) / beta],
    "2.4": [_second_best_by_slope],
    "2.5": [_masked_by_products],
    "2.6": [lambda x, beta=1.0: _softmax_by_logs(beta * x)],
    "2.7": [
        lambda p, grad, beta: beta * (p * grad - p * np.vecdot(p, grad)[..., None]),
        lambda p, grad, beta: beta * p * (grad - np.einsum("...i,...i->...", p, grad)[..., None]),
    ],
    "2.8": [
        lambda n: [1e3] * 2 + [0.0] * (n - 2),
        lambda n: np.array([0.0] * (n - 2) + [40, 40], dtype=np.float32),
    ],
    "2.9": [_brent],
    "2.10": [
        lambda chunks: functools.reduce(np.logaddexp, (x for c in chunks for x in c), -np.inf),
        _stream_by_pairs,
        _stream,
        _stream_by_next,
    ],
    "2.11": [
        _choice,
        lambda x, rng, size: np.searchsorted(np.cumsum(softmax(x)), rng.random(size)),
        lambda x, rng, size: (x - np.log(-np.log(rng.uniform(size=(size, len(x)))))).argmax(-1),
    ],
    "2.12": [
        _climb_in_logits,
        lambda gradient, n: _climb_by_adding(gradient, n, _kept_positive),
    ],
}
