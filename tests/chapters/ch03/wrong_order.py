"""Answers to exercises 3.5 to 3.7: a sharp lookup, a distance in a product, the order of rows."""

import itertools

import numpy as np

from shared_answers import softmax


def _lookup(scores, v, eps, count=True, far=True, worst=False, lengths=False):
    order = np.sort(scores)
    margin = order[-1] - (order[0] if worst else order[-2])
    reach = np.linalg.norm(v if lengths else v - v[scores.argmax()], axis=-1).max()
    number = (len(scores) - 1 if count else 1) * (reach if far else 1) / eps
    return np.log(number) / margin


def _lookup_far(scores, v, eps, far=None, count=-1, log=np.log):
    margin = np.diff(np.sort(scores)[-2:])[0]
    reach = np.linalg.norm(v - v[scores.argmax()], axis=-1).max() if far is None else far
    return log((len(scores) + count) * reach / eps) / margin


def _lookup_by_halving(scores, v, eps):
    best, low, high = v[scores.argmax()], 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        error = np.linalg.norm(softmax(middle * scores) @ v - best)
        low, high = (low, middle) if error <= eps else (middle, high)
    return [high]


def _lift(t, x, h, key, query=lambda t, h: t / h):
    q = np.stack([query(t, h), np.ones_like(t)], axis=-1)
    return q, np.stack([x / h, key(x, h)], axis=-1)


def _kind(layer, x, orders, same=np.allclose):
    before = layer(x)
    if all(same(layer(x[o]), before[o]) for o in orders):
        return "equivariant"
    return "invariant" if all(same(layer(x[o]), before) for o in orders) else "neither"


def _kind_exactly(layer, x):
    orders = [np.random.default_rng(i).permutation(len(x)) for i in range(20)]
    return _kind(layer, x, orders, np.array_equal)


def _kind_of_all(layer, x):
    orders = [list(o) for o in itertools.permutations(range(len(x)))]
    return np.str_(_kind(layer, x, orders))


WRONG = {
    "3.5": {
        "not over the worst": lambda *inputs: _lookup(*inputs, worst=True),
        "the factor S − 1": lambda *inputs: _lookup(*inputs, count=False),
        "from the best one matters too": lambda *inputs: _lookup(*inputs, far=False),
        "not the length of the values": lambda *inputs: _lookup(*inputs, lengths=True),
        "Which β makes": (
            lambda scores, v, eps: 1000.0,
            lambda scores, v, eps: (
                _lookup_far(scores, v, eps, np.linalg.norm(v - v[-1], axis=-1).max() or 1)
                if scores[0] < scores[1]
                else _lookup_far(scores, v, eps)
            ),
        ),
        "to be divided by the margin": lambda scores, v, eps: (
            _lookup(scores, v, eps) * np.diff(np.sort(scores)[-2:])[0]
        ),
        "upside down": lambda scores, v, eps: -_lookup(scores, v, eps),
        "A margin of 0": lambda scores, v, eps: (
            _lookup(scores, v, eps) / (np.sort(scores)[1] - np.sort(scores)[0])
        ),
        "one number above 0. For": lambda scores, v, eps: [0.0],
        "counted all S keys": lambda *inputs: _lookup_far(*inputs, count=0),
        "between any two values": lambda scores, v, eps: _lookup_far(
            scores, v, eps, np.linalg.norm(v[:, None] - v, axis=-1).max()
        ),
        "One norm was taken": lambda scores, v, eps: _lookup_far(
            scores, v, eps, np.linalg.norm(v - v[scores.argmax()])
        ),
        "in one coordinate": lambda scores, v, eps: _lookup_far(
            scores, v, eps, np.abs(v - v[scores.argmax()]).max()
        ),
        "natural one here": lambda *inputs: _lookup_far(*inputs, log=np.log10),
    },
    "3.6": {
        "Far places have long keys": lambda t, x, h: (t[:, None] / h, x[:, None] / h),
        "The 2 in the exponent": lambda t, x, h: _lift(
            t, x, h, lambda x, h: -((x / h) ** 2), lambda t, h: 2 * t / h
        ),
        "twice as large": lambda t, x, h: _lift(t, x, h, lambda x, h: -((x / h) ** 2)),
        "smallest weights": lambda t, x, h: _lift(
            t, x, h, lambda x, h: (x / h) ** 2 / 2, lambda t, h: -t / h
        ),
        "mixed term": lambda t, x, h: _lift(
            t, x, h, lambda x, h: -((x / h) ** 2) / 2, lambda t, h: t / h / 2
        ),
        "should return two arrays": lambda t, x, h: -((t[:, None] - x) ** 2) / (2 * h**2),
        "the same number of columns. For": lambda t, x, h: (t / h, x / h),
        "have changed places": lambda t, x, h: _lift(t, x, h, lambda x, h: -((x / h) ** 2) / 2)[
            ::-1
        ],
        "lie on their sides": lambda t, x, h: (
            np.stack([t / h, np.ones_like(t)]),
            np.stack([x / h, -((x / h) ** 2) / 2]),
        ),
        "h has no effect": lambda t, x, h: _lift(t, x, 1.0, lambda x, h: -(x**2) / 2),
        "has the wrong sign": lambda t, x, h: _lift(t, x, h, lambda x, h: (x / h) ** 2 / 2),
        "the two are multiplied": lambda t, x, h: tuple(
            np.stack([y / h, -((y / h) ** 2) / 2], axis=-1) for y in (t, x)
        ),
        "counted on a division by √2": lambda t, x, h: [
            2**0.25 * y for y in _lift(t, x, h, lambda x, h: -((x / h) ** 2) / 2)
        ],
        "need one shape, and these differ": lambda t, x, h: (
            np.array([t / h, 1], dtype=float),
            x / h,
        ),
    },
    "3.7": {
        "leave the first row in place": lambda layer, x: _kind(
            layer, x, [[0, 1, 2, 4, 3], [0, 2, 1, 3, 4], [0, 4, 1, 2, 3]]
        ),
        "allow for rounding errors": _kind_exactly,
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
        lambda t, x, h: _lift(t, x, h, lambda x, h: -(x * x) / (2 * h * h) + 7, lambda t, h: t / h),
        lambda t, x, h: [
            np.stack([t**2, -2 * t, 0 * t + 1], -1) / (-2 * h * h),
            np.stack([0 * x + 1, x, x**2], -1),
        ],
    ],
    "3.7": [_kind_of_all],
}
