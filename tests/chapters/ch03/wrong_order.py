"""Answers to exercises 3.5 to 3.7: a sharp lookup, a distance in a product, the order of rows."""

import itertools

import numpy as np

from shared_answers import softmax


def _lookup_by_halving(scores, v, eps):
    best, low, high = v[scores.argmax()], 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        error = np.linalg.norm(softmax(middle * scores) @ v - best)
        low, high = (low, middle) if error <= eps else (middle, high)
    return [high]


def _lift(t, x, h, constant=0):
    q = np.stack([t / h, np.ones_like(t / h)], axis=-1)
    return q, np.stack([x / h, -((x / h) ** 2) / 2 + constant], axis=-1)


def _kind(layer, x, orders, same=np.allclose):
    before = layer(x)
    if all(same(layer(x[o]), before[o]) for o in orders):
        return "equivariant"
    return "invariant" if all(same(layer(x[o]), before) for o in orders) else "neither"


def _kind_by_neighbours(layer, x):
    places = range(len(x) - 1)
    return _kind(layer, x, [[*range(i), i + 1, i, *range(i + 2, len(x))] for i in places])


def _kind_of_all(layer, x):
    orders = [list(o) for o in itertools.permutations(range(len(x)))]
    return np.str_(_kind(layer, x, orders))


WRONG = {
    "3.5": {
        "Which β makes": lambda scores, v, eps: 1000.0,
        "A margin of 0": lambda scores, v, eps: np.log(1 / eps) / np.diff(np.sort(scores))[0],
        "one number above 0. For": lambda scores, v, eps: [0.0],
    },
    "3.6": {
        "should return two arrays": lambda t, x, h: -((t[:, None] - x) ** 2) / (2 * h**2),
        "the same number of columns. For": lambda t, x, h: (t / h, x / h),
        "have changed places": lambda t, x, h: _lift(t, x, h)[::-1],
        "lie on their sides": lambda t, x, h: tuple(part.T for part in _lift(t, x, h)),
        "need one shape, and these differ": lambda t, x, h: (
            np.array([t / h, 1], dtype=float),
            x / h,
        ),
    },
    "3.7": {
        "tries one permutation": lambda layer, x: _kind(
            layer, x, [np.random.default_rng(2).permutation(5)]
        ),
        "this is a whole table of them": lambda layer, x: (
            "equivariant" if layer(x[::-1]) == layer(x)[::-1] else "neither"
        ),
        "sees itself only": lambda layer, x: "equivariant",
        "none of the three names": lambda layer, x: "symmetric",
    },
}

RIGHT = {
    "3.5": [_lookup_by_halving],
    "3.6": [
        lambda t, x, h: _lift(t, x, h, constant=7),
        lambda t, x, h: [
            np.stack([t**2, -2 * t, 0 * t + 1], -1) / (-2 * h * h),
            np.stack([0 * x + 1, x, x**2], -1),
        ],
    ],
    "3.7": [_kind_of_all, _kind_by_neighbours],
}
