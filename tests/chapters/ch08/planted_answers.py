"""Mutants of answers to the exercises of chapter 8, and right answers unlike the book's."""

import math
from fractions import Fraction

import numpy as np

from shared_answers import CUT, cut_among


def _normed_by_rows(x, eps):
    return np.array([(row - np.mean(row)) / (np.var(row) + eps) ** 0.5 for row in x])


def _forgets_by_trial(norm, change):
    x = np.array([3.0, -1.0, 4.0, 1.5, -5.0])
    changed = {"double": 2 * x, "negate": -x, "shift": x + 1, "raise one": x + np.eye(5)[0]}

    def n(x):
        x = x - x.mean() if norm == "layer" else x
        return x / np.linalg.norm(x)

    return bool(np.allclose(n(x), n(changed[change])))


def _stack_by_lengths(x, layers, order):
    x = np.array(x, dtype=float)
    for w in layers:
        length = np.linalg.norm(x, axis=1)[:, None] / x.shape[1] ** 0.5
        x = x + x @ w / (length if order == "pre" else 1)
        if order == "post":
            x = x * x.shape[1] ** 0.5 / np.linalg.norm(x, axis=1)[:, None]
    return x


def _passed_back_by_jacobian(x, dy):
    d, found = x.shape[1], []
    for row, grad in zip(x, dy, strict=True):
        square = row @ row
        found.append(grad @ (np.eye(d) - np.outer(row, row) / square) * (d / square) ** 0.5)
    return np.array(found)


def _normed_in_place(x, eps):
    x -= x.mean(axis=-1, keepdims=True)
    x /= np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)
    return x


def _mean_square_by_steps(m, a, depth, order):
    for _ in range(depth):
        m = {"none": m + a * m, "pre": m + a, "post": 1.0}[order]
    return m


def _until_at_most(most):
    def layers_until(share, T, delta):
        n, spread = 0, 1.0
        while spread > share and n < most:
            n, spread = n + 1, spread * (1 - T * delta)
        return n

    return layers_until


def _layers_with_a_guard(share, T, delta):
    return max(1, math.ceil(math.log(share) / math.log1p(-T * delta) - 1e-9))


def _layers_by_fractions(share, T, delta):
    most, left = Fraction(str(share)), 1 - T * Fraction(str(delta))
    n = max(0, math.floor(math.log(share) / math.log(left)) - 1)
    if n < 1000:
        while left**n > most:
            n += 1
        return n
    return math.ceil(math.log(share) / math.log(left))


def _fits_in_float64(x):
    return x.astype(float) / np.abs(x).max()


def _stack_with_eps(x, layers, order):
    for w in layers:
        read = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-12) if order == "pre" else x
        x = x + read @ w
        if order == "post":
            x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-12)
    return x


def _passed_back_with_eps(x, dy):
    size = np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-12)
    return (dy - x * (x * dy).mean(axis=-1, keepdims=True) / size**2) / size


def _normed_by(spread):
    def normed(x, eps):
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / np.sqrt(spread((centred**2).mean(axis=-1, keepdims=True)) + eps)

    return normed


def _folded_as_w(gain, bias, w):
    table = np.empty((len(w) + 1, w.shape[1]), dtype=w.dtype)
    table[:-1], table[-1] = gain[:, None] * w, bias @ w
    return table


MUTANTS = {
    "8.8": {"goes wrong only where whole numbers are handed over": _folded_as_w},
    "8.3": {"above a very large one, and eps is 0": _stack_with_eps},
    "8.4": {"nothing stands beside the size": _passed_back_with_eps},
    "8.1": {
        "Very small numbers above very large": (
            _normed_by(lambda variance: variance + 1e-8),
            _normed_by(lambda variance: np.where(variance < 1e-9, 0, variance)),
            _normed_by(lambda variance: np.minimum(variance, 1e8)),
        ),
        "changes the x it was given": _normed_in_place,
        "One mean and one variance": lambda x, eps: (x - x.mean()) / (x.var() + eps) ** 0.5,
    },
    "8.6": {
        "exactly the share is not more than it": lambda share, T, delta: (
            math.floor(math.log(share) / math.log(1 - T * delta)) + 1
        ),
        "and by rounding it came out a little": lambda share, T, delta: math.ceil(
            math.log(share, 1 - T * delta)
        ),
        "It was rounded down": lambda share, T, delta: math.floor(
            math.log(share) / math.log(1 - T * delta)
        ),
        "it takes very many layers": (_until_at_most(1000), _until_at_most(100_000)),
        "There are only whole layers": lambda share, T, delta: (
            math.log(share) / math.log(1 - T * delta)
        ),
    },
    "8.7": {
        "The small numbers beside the largest": (
            lambda x: np.round(x / np.abs(x).max(), 2),
            lambda x: np.round(x / np.abs(x).max(), 4),
        ),
        "These digits are more than float16 has": _fits_in_float64,
        "No fixed divisor will do": (
            lambda x: x / np.float16(256),
            lambda x: x / (np.abs(x).max() + np.float16(1e-5)),
            lambda x: x / (np.abs(x).max() + np.float16(1e-7)),
        ),
    },
}

RIGHT = {
    "8.1": [_normed_by_rows],
    "8.2": [_forgets_by_trial],
    "8.3": [_stack_by_lengths],
    "8.4": [_passed_back_by_jacobian],
    "8.5": [_mean_square_by_steps],
    "8.6": [
        _layers_with_a_guard,
        _layers_by_fractions,
    ],
    "8.7": [
        lambda x: x / max(x.max(), -x.min()),
        lambda x: (x / np.abs(x).max()).tolist(),
        lambda x: (x.astype(np.float32) / np.abs(x).max()).astype(np.float16),
    ],
    "8.8": [lambda gain, bias, w: np.vstack([np.diag(gain), bias]) @ w],
}

MUTANTS.setdefault("8.3", {})[CUT] = cut_among("8.3", 0, 1, results=(0, 1))
MUTANTS.setdefault("8.4", {})[CUT] = cut_among("8.4", 0, 1)
