"""Mutants of answers to the exercises of chapter 3, and right answers unlike the book's."""

import itertools
import math

import numpy as np

from shared_answers import softmax
from tformer_book.exercises.samples import columns


def _in_place(a, j, share):
    a[j] = share
    return a / a.sum()


def _by_scores(a, j, share):
    with np.errstate(divide="ignore"):
        scores = np.log(np.delete(a, j))
    return np.insert((1 - share) * softmax(scores), j, share)


def _by_difference(a, v, grad):
    return a * (v @ grad - a @ (v @ grad)) < 0


def _by_trial(a, v, grad):
    return [bool((value - a @ v) @ grad < 0) for value in v]


def _veto(n, here=8.0, other=16.0, own=-40.0):
    return np.concatenate([here * np.eye(n), other + (own - other) * np.eye(n)])


def _read(x, memory, w_q, w_k, w_v, axis=-1, turn=lambda k: k.mT, product=np.matmul):
    q, k, v = product(x, w_q), product(memory, w_k), product(memory, w_v)
    return product(softmax(product(q, turn(k)) / w_q.shape[-1] ** 0.5, axis), v)


def _read_without_keepdims(x, memory, w_q, w_k, w_v):
    scores = (x @ w_q) @ (memory @ w_k).mT / w_q.shape[-1] ** 0.5
    terms = np.exp(scores - scores.max(-1))
    return terms / terms.sum(-1) @ (memory @ w_v)


def _read_by_taste(x, memory, w_q, w_k, w_v):
    scores = np.einsum("...td,de,...se->...ts", x, w_q @ w_k.T, memory) / w_q.shape[1] ** 0.5
    terms = np.exp(scores - scores.max(-1)[..., None])
    return ((terms @ memory) / terms.sum(-1)[..., None]) @ w_v


def _masked_by_terms(q, k, v, mask, turn=lambda k: k.mT, axis=-1):
    scores = q @ turn(k) / q.shape[-1] ** 0.5
    low = scores - np.where(mask, scores, -1e300).max(axis=axis, keepdims=True)
    terms = np.where(mask, np.exp(np.where(mask, low, 0)), 0)
    total = terms.sum(axis=axis, keepdims=True)
    return terms / np.where(total == 0, 1, total) @ v


def _masked_by_deleting(q, k, v, mask):
    mask = np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2]))
    out = np.zeros((*q.shape[:-1], v.shape[-1]))
    for place in np.ndindex(q.shape[:-1]):
        seen = np.flatnonzero(mask[place])
        if seen.size:
            keys, values = k[place[:-1]][seen], v[place[:-1]][seen]
            out[place] = softmax(keys @ q[place] / len(q[place]) ** 0.5) @ values
    return out


def _masked_by_index(q, k, v, mask):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    scores[~mask] = -np.inf
    return np.nan_to_num(softmax(scores)) @ v


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


def _factors(taste, width, power=1.0):
    u, s, vt = np.linalg.svd(taste)
    return columns(u * s**power, width), columns(vt.T * s ** (1 - power), width)


def _factors_unpadded(taste, width):
    return tuple(w[:, :width] for w in _factors(taste, len(taste)))


def _factors_by_eigenvectors(taste, width):
    value, vector = np.linalg.eig(taste)
    first = np.argsort(-np.abs(value))
    return [columns(w[:, first], width) for w in (vector * value, np.linalg.pinv(vector).T)]


def _factors_by_columns(taste, width):
    chosen = []
    for i in range(len(taste)):
        if np.linalg.matrix_rank(taste[:, [*chosen, i]]) > len(chosen):
            chosen.append(i)
    w_q = taste[:, chosen]
    return [columns(w_q, width), columns(np.linalg.lstsq(w_q, taste)[0].T, width)]


def _count(d, beta, share):
    n, odds = 1, -d * np.log((1 + np.exp(-2 * beta / d)) / 2)
    n += np.floor(np.exp(np.log(1 / share - 1) + odds))
    return np.array(n)


def _circle(n, last=False):
    angle = np.linspace(0, 2 * np.pi, n, endpoint=last)
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def _line(n):
    return np.stack([np.arange(1.0, n + 1)] * 2, axis=-1)


def _spiral(n):
    n = np.arange(1.0, n + 1)[:, None]
    return n * np.concatenate([np.cos(n / 20), np.sin(n / 20)], axis=-1)


def _round_one(n):
    return _circle(n) if n < 4 else np.concatenate([_circle(n - 1), [[0.1, 0.1]]])


def _looking(keys=_circle, query=200.0, asks=lambda keys, partner: keys[partner], has=1.0):
    """Return the answer with these keys, and with long queries made of them."""

    def answer(partner):
        rows = keys(len(partner))
        return query * asks(rows, partner), has * rows

    return answer


def _on_a_parabola(partner):
    x = np.arange(len(partner)) - len(partner) / 2
    keys = np.stack([x, -(x**2) / 2], axis=-1)
    return 60 * np.stack([x, np.ones(len(x))], axis=-1)[partner], keys


def _recover_step_by_step(a, y, table):
    found = []
    for t in range(len(y)):
        past = sum((a[t, s] * table[w] for s, w in enumerate(found)), np.zeros(table.shape[1]))
        gaps = [np.linalg.norm(row - (y[t] - past) / a[t, t]) for row in table]
        found.append(int(np.argmin(gaps)))
    return found


MUTANTS = {
    "3.1": {
        "changes the a it was given": _in_place,
        "it should be (0.25, 0.5, 0.25)": lambda a, j, share: np.delete(a, j),
    },
    "3.2": {
        "reverses all axes, the leading ones too": (
            lambda *inputs: _read(*inputs, turn=lambda k: k.T),
            lambda *inputs: _read(*inputs, turn=np.transpose),
            lambda *inputs: _read(*inputs, turn=lambda k: k.T, axis=1),
        ),
        "Counted from the front": (
            lambda *inputs: _read(*inputs, turn=lambda k: k.swapaxes(0, 1)),
            lambda *inputs: _read(*inputs, turn=lambda k: k.transpose(1, 0)),
        ),
        "takes the two stacks side by side": lambda *inputs: _read(*inputs, product=np.dot),
        "`keepdims=True` keeps it": _read_without_keepdims,
        "is a single number; it multiplies": lambda x, memory, w_q, w_k, w_v: [
            softmax(a @ w_q @ (b @ w_k)) @ (b @ w_v) for a, b in zip(x, memory, strict=False)
        ],
    },
    "3.3": {
        "it should be (False, True, True)": lambda a, v, grad: a @ v @ grad > 0,
    },
    "3.4": {
        "needs the shape of its array": _masked_by_index,
        "reverses all axes": lambda *inputs: _masked_by_terms(*inputs, turn=lambda k: k.T),
        "Counted from the front": lambda *inputs: _masked_by_terms(*inputs, axis=1),
    },
    "3.5": {
        "Which β makes": lambda scores, v, eps: 1000.0,
        "A margin of 0": lambda scores, v, eps: np.log(1 / eps) / np.diff(np.sort(scores))[0],
        "one number above 0. For": lambda scores, v, eps: [0.0],
    },
    "3.6": {
        "should return two arrays": lambda t, x, h: -((t[:, None] - x) ** 2) / (2 * h**2),
        "the same number of columns. For": lambda t, x, h: (t / h, x / h),
        "have changed places": lambda t, x, h: _lift(t, x, h)[::-1],
        "are transposed": lambda t, x, h: tuple(part.T for part in _lift(t, x, h)),
        "need one shape, and these differ": lambda t, x, h: (np.array([t / h, 1], float), x / h),
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
    "3.8": {
        "is transposed": lambda *inputs: (_factors(*inputs)[0], _factors(*inputs)[1].T),
        "Zeros may fill": (
            _factors_unpadded,
            lambda taste, width: _factors(taste, int(np.linalg.matrix_rank(taste)) or 1),
        ),
        "returns complex numbers": _factors_by_eigenvectors,
        "should return two arrays": lambda taste, width: taste,
    },
    "3.9": {
        "so two of them have just": lambda d, beta, share: int(
            1 + (1 / share - 1) * math.exp(beta) / math.cosh(beta / d) ** d if beta else 0
        ),
        "e^{−2β/d} close to 0": lambda d, beta, share: int(
            1 + 1e-12 + (1 / share - 1) * math.exp(beta) / math.cosh(beta / d) ** d
        ),
    },
    "3.10": {
        "It is transposed": lambda n: _veto(n).T,
        "it should be (4, 2). For": lambda n: _veto(n)[:n],
        "not finite": lambda n: _veto(n, own=-np.inf),
        "nothing knows which noun": lambda n: _veto(n, other=0.0, own=0.0),
        "the adjective draws": (
            lambda n: _veto(n, own=0.0),
            lambda n: _veto(n, own=16.0),
            lambda n: _veto(n, own=-6.0),
        ),
        "still gives": (
            lambda n: _veto(n, other=4.0),
            lambda n: _veto(n, other=0.0),
            lambda n: _veto(n, here=12.0, other=8.0, own=-60.0),
        ),
        "the other noun draws": lambda n: np.maximum(
            _veto(n), 8.0 * (np.arange(2 * n) < n)[:, None]
        ),
        "rows of adjectives come first": (
            lambda n: np.roll(_veto(n), n, axis=0),
            lambda n: _veto(n)[::-1],
        ),
        "its key is the sum of the rows": lambda n: _veto(n, here=8.0, own=-10.0),
        "each counts": lambda n: _veto(n, here=3.0, other=9.0),
    },
    "3.11": {
        "the word after its partner": lambda partner: _looking()((partner + 1) % len(partner)),
        "the word before its partner": lambda partner: _looking()((partner - 1) % len(partner)),
        "attends to itself": _looking(asks=lambda keys, partner: keys),
        "roles of queries and keys": lambda partner: (
            200 * _circle(len(partner)),
            _circle(len(partner))[partner],
        ),
        "too small a lead": _looking(query=5.0),
        "which has the longest key": _looking(_spiral),
        "lie on one line": (
            _looking(_line),
            _looking(lambda n: np.stack([np.arange(n), np.zeros(n, dtype=int)], axis=-1)),
        ),
        "lies among the others": _looking(_round_one),
        "Several words get the same weight": _looking(query=0.0),
        "have the same key": (
            lambda partner: np.zeros((2, len(partner), 2)),
            _looking(lambda n: _circle(n, last=True), query=2000.0),
        ),
        "it should be (4, 2). For": lambda partner: 2 * (np.eye(len(partner) + 1),),
        "is transposed": lambda partner: np.stack([part.T for part in _looking()(partner)]),
        "too large for a float64": _looking(query=1e300, has=1e10),
    },
    "3.12": {
        "of an array that is empty": lambda a, y, table: [
            np.flatnonzero((table == row).all(-1))[0] for row in y
        ],
    },
}


RIGHT = {
    "3.1": [_by_scores],
    "3.2": [_read_by_taste],
    "3.3": [_by_difference, _by_trial, lambda *inputs: np.array(_by_trial(*inputs)).astype(int)],
    "3.4": [_masked_by_terms, _masked_by_deleting],
    "3.5": [_lookup_by_halving],
    "3.6": [
        lambda t, x, h: _lift(t, x, h, constant=7),
        lambda t, x, h: [
            np.stack([t**2, -2 * t, 0 * t + 1], -1) / (-2 * h * h),
            np.stack([0 * x + 1, x, x**2], -1),
        ],
    ],
    "3.7": [_kind_of_all, _kind_by_neighbours],
    "3.8": [
        lambda taste, width: _factors(taste, width, power=0.5),
        _factors_by_columns,
    ],
    "3.9": [_count],
    "3.10": [
        lambda n: _veto(n, 20, 45, -90),
        lambda n: _veto(n, own=-16.0),
        lambda n: _veto(n).astype(int).tolist(),
    ],
    "3.11": [_on_a_parabola],
    "3.12": [
        _recover_step_by_step,
        lambda a, y, table: np.abs((np.linalg.inv(a) @ y)[:, None] - table).max(-1).argmin(-1),
    ],
}
