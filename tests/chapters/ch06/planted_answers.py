"""Mutants of answers to the exercises of chapter 6, and right answers unlike the book's."""

from itertools import combinations
from math import comb

import numpy as np

from tformer.parameters import HeadParameters, leaves
from tformer.reference import attention, multi_head_attention, ov_circuit, qk_circuit


def _broadcast(q, k, v):
    """Return grouped attention without copies of the keys."""
    groups = k.shape[-3]
    q, k, v = (x.astype(float) for x in (q, k, v))
    wide = q.reshape(*q.shape[:-3], groups, q.shape[-3] // groups, *q.shape[-2:])
    y = attention(wide, k[..., None, :, :], v[..., None, :, :])
    return y.reshape(*q.shape[:-1], v.shape[-1])


def _by_the_library(x, w_q, w_k, w_v, w_o, n_heads):
    whole = HeadParameters.from_fused(w_q, w_k, w_v, w_o, n_heads=n_heads)
    parts = (part.astype(float) for part in leaves(whole))
    return multi_head_attention(x * 1.0, HeadParameters(*parts))


def _merged(x, w_q, w_k, w_v, w_o, n_heads):
    """Return one product for all heads, then a further axis, as programs in a hurry do."""

    def heads(w):
        return np.moveaxis((1.0 * x @ w).reshape(*x.shape[:-1], n_heads, -1), -2, -3)

    y = np.moveaxis(attention(heads(w_q), heads(w_k), heads(w_v)), -3, -2)
    return y.reshape(*x.shape[:-1], -1) @ w_o


def _by_sentences(one, other):
    """Return whether two heads add the same to some random sentences."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20, 3, len(one[0])))
    heads = (HeadParameters(*(w[None] * 1.0 for w in head)) for head in (one, other))
    added = [multi_head_attention(x, head) for head in heads]
    return np.allclose(*added)


def _upper_half(n):
    """Return sets of the larger half: for odd H as many as of the smaller."""
    n_heads = next(h for h in range(1, n + 1) if comb(h, h // 2) >= n)
    size = n_heads - n_heads // 2
    return np.array(
        [[float(h in c) for h in range(n_heads)] for c in combinations(range(n_heads), size)]
    )[:n].T


def _sets(n, n_heads, size):
    """Return the first sets of one size."""
    chosen = list(combinations(range(n_heads), size))[:n]
    return np.array([[h in c for c in chosen] for h in range(n_heads)])


def _wide_slots(m):
    """Return two heads with keys of width 3 and values as wide as both slots."""
    d = 3 * m + 3
    w_q, w_k = np.zeros((2, 2, d, 3))
    w_v, w_o = np.zeros((2, d, 2 * m)), np.zeros((2, 2 * m, d))
    w_q[:, m + 2] = 60
    w_k[0, m], w_k[1, m + 1] = 1, 1
    for h in (0, 1):
        w_v[h, :m, h * m : (h + 1) * m] = np.eye(m)
        w_o[h, :, m + 3 :] = np.eye(2 * m)
    return [w_q, w_k, w_v, w_o]


def _into_itself(m):
    """Write what is found into the verb's content too."""
    w_q, w_k, w_v, w_o = _wide_slots(m)
    w_o[:, :m, :m] = np.eye(m)
    return w_q, w_k, w_v, w_o


def _backwards(n):
    """Return the kinds on a quarter of a circle from the other end, lower and farther apart."""
    angle = np.linspace(0.05, np.pi / 2 - 0.05, n)[::-1]
    nouns = np.log([np.sin(angle), np.cos(angle)])
    return np.concatenate([nouns - 3, 20 - nouns], axis=1)


def _turned_key(w_q, w_k):
    """Return the book's matrices with queries and keys turned by the same rotation."""
    n_heads, d, d_k = w_q.shape
    wide = np.zeros((n_heads, d, n_heads * d_k))
    for h in range(n_heads):
        wide[h, :, h * d_k : (h + 1) * d_k] = w_q[h] * n_heads**0.5
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((n_heads * d_k,) * 2))
    return wide @ turn, np.concatenate(list(w_k), axis=1) @ turn


def _slots_changed(m, slots=(0, 1), factor=1.0, order=1, marks=(0, 1), content=0.0):
    """Return two heads that put something else into the slots."""
    w_q, w_k, w_v, w_o = np.zeros((4, 2, 3 * m + 3, 3 * m + 3))
    w_q[:, m + 2, 0] = 60 * (3 * m + 3) ** 0.5
    w_k[:, :m, 0] = content
    w_v[:, :m, :m] = factor * np.eye(m)[:, ::order]
    for h in (0, 1):
        w_k[h, m + marks[h], 0] = 1
        slot = m + 3 + slots[h] * m
        w_o[h, :m, slot : slot + m] = np.eye(m)
    return w_q, w_k, w_v, w_o


def _quarter(n, ends=0.0, straight=False):
    """Return graded scores from the very ends of a quarter of a circle, or from a line."""
    angle = np.linspace(ends, np.pi / 2 - ends, n)
    points = np.array([np.sin(angle), np.cos(angle)]) ** (2 if straight else 1)
    return np.log(np.concatenate([points, 1e6 / points], axis=1))


def _same_by_shares(one, other):
    return all(
        np.allclose(a, b, rtol=1e-6, atol=0)
        for a, b in zip(_circuits(one), _circuits(other), strict=True)
    )


def _spread_evenly(q, k, v):
    used = np.round(np.linspace(0, k.shape[-3] - 1, q.shape[-3])).astype(int)
    return _broadcast(q, k[..., used, :, :], v[..., used, :, :])


MUTANTS = {
    "6.1": {
        "The inputs hold nan": lambda out, y, w_o, h: out - y[h] @ np.split(w_o, y.shape[-3])[h]
    },
    "6.3": {
        "It is always 1/n times what it should be.": lambda d_model, n_heads, n_groups, n: (
            2 * d_model**2 * (1 + n_groups / n_heads),
            2 * n_groups * d_model / n_heads,
            n_heads * n**2,
        )
    },
    "6.5": {"Where a product is 0, rounding leaves": _same_by_shares},
    "6.7": {"that share a table are neighbours, and equally many": _spread_evenly},
    "6.9": {
        "have 35 such sets": lambda n: _upper_half(n) if n < 21 else _sets(n, 8, 4),
        "there are more sets of another size": lambda n: (
            _upper_half(n) if n < 16 else _sets(n, 7, 2)
        ),
        "It is transposed": lambda n: _upper_half(n + 1)[:, :n].T,
        "beside True and False": lambda n: 2 * _upper_half(n),
    },
    "6.10": {
        "columns that should stay as they are": _into_itself,
        "into the first slot": lambda m: _slots_changed(m, slots=(0, 0)),
        "into the second slot": lambda m: _slots_changed(m, slots=(1, 1)),
        "with the other sign": lambda m: _slots_changed(m, factor=-1.0),
        "Half of each content": lambda m: _slots_changed(m, factor=0.5),
        "in reverse order": lambda m: _slots_changed(m, order=-1),
        "attend to the verb itself": lambda m: _slots_changed(m, marks=(2, 2)),
        "Contents take part": lambda m: _slots_changed(m, content=1.0),
        "has the shape (6, 3), not (2, 6, 3)": lambda m: [w[0] for w in _wide_slots(m)],
    },
    "6.11": {
        "have the same scores": lambda n: np.stack([_backwards(n)[0]] * 2),
        "is transposed": lambda n: _backwards(n).T,
        "on a curve that bends inwards": lambda n: _quarter(n, 0.05, straight=True),
        "not finite": lambda n: np.full((2, 2 * n), -np.inf),
    },
}

RIGHT = {
    "6.1": [
        lambda out, y, w_o, h: (
            out - y[..., h, :, :] @ w_o.reshape(y.shape[-3], -1, w_o.shape[1])[h]
        ),
    ],
    "6.2": [
        lambda x, n_heads: np.stack(np.split(x, n_heads, axis=-1), axis=-3),
        lambda x, n_heads: x.reshape(*x.shape[:-1], n_heads, -1).swapaxes(-2, -3),
    ],
    "6.3": [
        lambda d, h, g, n: [2 * d * d + 2 * d * g * (d // h), 2 * g * (d // h) * n, h * n**2],
    ],
    "6.4": [_merged, _by_the_library],
    "6.5": [
        _by_sentences,
        lambda one, other: all(
            np.allclose(a, b) for a, b in zip(_circuits(one), _circuits(other), strict=True)
        ),
    ],
    "6.6": [
        lambda w_o, order: np.concatenate([np.split(w_o, len(order))[h] for h in order]),
    ],
    "6.7": [_broadcast],
    "6.8": [_turned_key],
    "6.9": [_upper_half],
    "6.10": [_wide_slots],
    "6.11": [_backwards],
}


def _circuits(head):
    """Return what a head writes, and what it reads if it writes something."""
    weights = HeadParameters(*(w[None] * 1.0 for w in head))
    u = ov_circuit(weights)
    return u, qk_circuit(weights) / head[0].shape[1] ** 0.5 * (not np.allclose(u, 0))
