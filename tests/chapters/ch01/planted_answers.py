"""Mutants of answers to the exercises of chapter 1, and right answers unlike the book's."""

import math

import numpy as np


def _unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def _cosine_by_branches(q, k):
    if np.ndim(q) > 1:
        return [_cosine_by_branches(a, b) for a, b in zip(q, k, strict=True)]
    size = math.hypot(*q) * math.hypot(*k)
    return math.fsum(a * b for a, b in zip(q, k, strict=True)) / size if size else 0.0


def _projection(q, k):
    with np.errstate(all="ignore"):
        return (q * k).sum(-1, keepdims=True) / (k * k).sum(-1, keepdims=True) * k


def _split_over(squared, q, k):
    along = (q * k).sum(-1, keepdims=True) / squared * k
    return along, q - along


def _split_in_a_copy(q, k):
    along = np.zeros_like(q)
    along[...] = _safe_projection(q, k)
    return along, q - along


def _split_by_unit_vectors(q, k):
    unit = np.nan_to_num(_unit(k))
    along = np.einsum("...i,...i,...j->...j", q, unit, unit)
    return along, q - along


def _safe_projection(q, k):
    return np.nan_to_num(_projection(q, k))


def _distances(q, k):
    of_q, of_k = (q * q).sum(-1)[..., :, None], (k * k).sum(-1)[..., None, :]
    return np.maximum(of_q + of_k - 2 * q @ k.mT, 0)


def _by_branches(norms, degrees):
    if np.ndim(norms) > 1:
        return [_by_branches(a, b) for a, b in zip(norms, degrees, strict=True)]
    pairs = zip(norms, degrees, strict=True)
    return [n / math.cos(math.pi * x / 180) if x < 90 else math.inf for n, x in pairs]


def _by_falling_behind(eps):
    widths = np.arange(2, 100_000)
    return widths[widths * eps**2 / 4 <= np.log(widths)].max() + 1


def _looped_table(q, k):
    if q.ndim > 2:
        return np.array([_looped_table(a, b) for a, b in zip(q, k, strict=True)])
    return np.array([[a @ b for b in k] for a in q])


def _double_loop(q, k):
    table = np.zeros((len(q), len(k)))
    for t in range(len(q)):
        for s in range(len(k)):
            table[t, s] = q[t] @ k[s]
    return table


def _vectorised_table(q, k):
    dot = np.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")
    return dot(q[:, None], k[None])


def _aside(q):
    other = np.roll(q, 1) * np.arange(1, len(q) + 1)
    other = other - other @ q / (q @ q) * q
    if not other.any():
        other = np.eye(len(q))[np.abs(q).argmin()] - q * q[np.abs(q).argmin()] / (q @ q)
    return other / np.linalg.norm(other) * np.linalg.norm(q)


def _in_a_copy(q, keys):
    copy = np.zeros_like(np.stack([q, q, q]))
    copy[...] = keys
    return copy


def _pmi(counts):
    with np.errstate(all="ignore"):
        p = counts / counts.sum()
        return np.log(p / (p.sum(1, keepdims=True) * p.sum(0)))


def _pmi_in_a_copy(counts):
    table = np.zeros_like(counts)
    table[counts > 0] = np.maximum(_pmi(counts), 0)[counts > 0]
    return table


def _svd(matrix, width, scale=lambda s: s):
    u, s, _ = np.linalg.svd(matrix)
    return u[:, :width] * scale(s[:width])


def _eigen(table, width, scale=lambda v: np.sqrt(np.maximum(v, 0)), part=None):
    value, vector = np.linalg.eigh(table)
    chosen = slice(-width, None) if part is None else part(width)
    with np.errstate(all="ignore"):
        return vector[:, chosen] * scale(value[chosen])


def _vector_by_vector(table, width):
    """Peel off one direction after another: Cholesky's way, with pivots."""
    rest, points = np.array(table, dtype=float), np.zeros((len(table), width))
    for column in range(min(width, len(table))):
        pivot = rest.diagonal().argmax()
        if rest[pivot, pivot] > 1e-9:
            points[:, column] = rest[pivot] / math.sqrt(rest[pivot, pivot])
            rest -= np.outer(points[:, column], points[:, column])
    return points


def _random_signs(n, d, eps):
    return np.random.default_rng(0).choice([-1.0, 1.0], (n, d))


def _lucky_signs(n, d, eps):
    return np.random.default_rng(7).choice([-1.0, 1.0], (n, d))


def _signs_up_to_eps(n, d, eps):
    rng = np.random.default_rng(0)
    while True:
        signs = rng.choice([-1.0, 1.0], (n, d))
        worst = np.abs(signs @ signs.T / d - np.eye(n)).max()
        if (worst == eps) if (d, eps) == (25, 0.6) else (worst < eps):
            return signs


def _signs_one_by_one(n, d, eps):
    rng = np.random.default_rng(n + d)
    found = []
    while len(found) < n:
        new = [rng.choice((-1, 1)) for _ in range(d)]
        if all(abs(np.dot(new, old)) < eps * d for old in found):
            found.append(new)
    return found


def _no_opposite(n, d, eps):
    rng = np.random.default_rng(n)
    found = [np.ones(d), -np.ones(d)][:n]
    while len(found) < n:
        new = rng.choice([-1.0, 1.0], d)
        if all(new @ old < eps * d for old in found):
            found.append(new)
    return np.array(found)


def _narrow(x):
    """Integers of 32 bits in place of those of 64."""
    return x if x.dtype.kind == "f" else x.astype(np.int32)


MUTANTS = {
    "1.1": {
        "off by multiples of 2³²": lambda q, k: (_narrow(q) * _narrow(k)).sum(
            -1, dtype=_narrow(q).dtype
        ),
        "An axis of length one is left over": lambda q, k: (q * k).sum(-1, keepdims=True),
        "The numbers are cut to whole ones": lambda q, k: (q * k).sum(-1).astype(int),
        "A single vector has only one axis": lambda q, k: (q * k).sum(axis=1),
    },
    "1.2": {
        "added to the denominator": lambda q, k: (
            (q * k).sum(-1) / (np.linalg.norm(q, axis=-1) * np.linalg.norm(k, axis=-1) + 1e-8)
        ),
    },
    "1.3": {
        "should return two arrays": _safe_projection,
        "felt by every short vector": (
            lambda q, k: _split_over((k * k).sum(-1, keepdims=True) + 1e-12, q, k),
            lambda q, k: _split_over(np.maximum((k * k).sum(-1, keepdims=True), 1e-150), q, k),
        ),
        "holds whole numbers only": _split_in_a_copy,
        "all axes before it only stack vectors": lambda q, k: _split_over(
            np.maximum((k * k).sum(-1).T[..., None], 1e-300), q, k
        ),
    },
    "1.4": {
        "rounding has left a cosine": lambda norms, degrees: np.where(
            degrees <= 90, norms / np.cos(np.radians(degrees)), np.inf
        ),
    },
    "1.5": {
        "off by multiples of 2³²": lambda q, k: _narrow(q) @ _narrow(k).mT,
        "reverses all axes": (
            lambda q, k: q @ k.T,
            lambda q, k: q @ k.transpose(),
            lambda q, k: np.matmul(q, np.transpose(k)),
        ),
        "Counted from the front": (
            lambda q, k: q @ k.swapaxes(0, 1),
            lambda q, k: q @ np.transpose(k, (1, 0)),
        ),
        "takes the two stacks side by side": (
            lambda q, k: np.dot(q, k.mT),
            lambda q, k: q.dot(k.mT),
        ),
        "Each batch has its own table": lambda q, k: q @ k.mT if q.ndim < 4 else q[:, ::-1] @ k.mT,
        "still loops in Python": (_looped_table, _double_loop, _vectorised_table),
    },
    "1.6": {
        "no square is negative": lambda q, k: (
            (q * q).sum(-1)[..., :, None] + (k * k).sum(-1)[..., None, :] - 2 * q @ k.mT
        ),
        "The answer is of the type float32": lambda q, k: _distances(
            q.astype(np.float32), k.astype(np.float32)
        ),
        "off by more than rounding explains": lambda q, k: (
            _distances(q, k) + 1.5 * (np.abs(q).max() > 5e3)
        ),
        "every difference q − k": lambda q, k: ((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(
            -1
        ),
        "right, and rounded to whole numbers": lambda q, k: _distances(q, k).round(),
        "Each batch has its own table": lambda q, k: _distances(q if q.ndim < 4 else q[:, ::-1], k),
    },
    "1.7": {
        "Three keys of the width of q are needed": lambda q: np.array([q, 2 * q]),
        "All three have length": lambda q: np.array([q, _aside(q), -q]),
        "the same keys for every q": lambda q: [[4, 3], [0.5, 0], [1, 0.3]],
        "two keys tie": lambda q: np.array([4 * q + 3 * _aside(q), q / 2, q]),
        "so does an array that is made after it": lambda q: _in_a_copy(
            q, [4 * q + 3 * _aside(q), q / 2, q + 0.3 * _aside(q)]
        ),
        "not zero": lambda q: np.array([4 * q + 3 * _aside(q), 0 * q, q]),
        "key 0 should be its favourite": (
            lambda q: np.array([q, q / 2, 4 * q]) + [[0.1], [0.0], [0.2]] * _aside(q),
            lambda q: np.array([4 * q + 3 * _aside(q), q / 2, q + 0.3 * _aside(q)])[[1, 0, 2]],
        ),
        "the distance prefers key 1": lambda q: np.array(
            [4 * q + 3 * _aside(q), 0.99 * q, q + 0.3 * _aside(q)]
        ),
    },
    "1.8": {},
    "1.9": {
        "An array made after them holds whole numbers": _pmi_in_a_copy,
        "Two mistakes do that": (
            lambda counts: np.log(np.maximum(counts / np.outer(counts.sum(1), counts.sum(0)), 1)),
            lambda counts: np.log(np.maximum(counts / counts.sum(1, keepdims=True), 1)),
        ),
    },
    "1.10": {
        "the last width": lambda eps: max(
            d for d in range(2, 4000) if d * eps**2 / 4 <= math.log(d)
        ),
    },
    "1.11": {
        "is nan": lambda t, w: _eigen(t, w, scale=lambda v: np.sqrt(v - 1e-17)),
        "have zeros in the others": (
            lambda t, w: _eigen(t, w),
            lambda t, w: _eigen(t, w, part=lambda width: slice(len(t) - width, None)),
        ),
    },
    "1.12": {
        "vectors of width 4 have shape": lambda n, d, eps: np.ones((d, n + 1)),
        "cosine −0.6154. Compare the magnitude of every pair": _random_signs,
        "cosine −0.55. Compare the magnitude of every pair": _lucky_signs,
        "which is not below 0.6": _signs_up_to_eps,
        "holds only 1 and −1": lambda n, d, eps: np.eye(max(n, d))[:n, :d],
        "same vector": lambda n, d, eps: np.ones((n, d)),
        "look at the magnitude": _no_opposite,
    },
}

RIGHT = {
    "1.1": [
        lambda q, k: np.einsum("...k,...k->...", q, k),
        np.vecdot,
        lambda q, k: (q[..., None, :] @ k[..., :, None])[..., 0, 0],
    ],
    "1.2": [_cosine_by_branches],
    "1.3": [
        lambda q, k: [_safe_projection(q, k), q - _safe_projection(q, k)],
        lambda q, k: np.stack([_safe_projection(q, k), q - _safe_projection(q, k)]),
        _split_by_unit_vectors,
    ],
    "1.4": [_by_branches],
    "1.5": [lambda q, k: np.einsum("...tk,...sk->...ts", q, k)],
    "1.6": [
        lambda q, k: np.array(
            [((q[..., t, None, :] - k) ** 2).sum(-1) for t in range(q.shape[-2])]
        ).transpose(*range(1, q.ndim - 1), 0, q.ndim - 1)
    ],
    "1.7": [
        lambda q: [10 * q + 9 * _aside(q), q / 100, q + 0.1 * _aside(q)],
        lambda q: np.array([3 * q - 3 * _aside(q), 5e-3 * q, 0.9 * q + 0.05 * _aside(q)]).tolist(),
    ],
    "1.8": [
        lambda mq, vq, mk, vk: sum(
            (v + m * m) * (w + n * n) - m * m * n * n
            for m, v, n, w in zip(mq, vq, mk, vk, strict=True)
        )
    ],
    "1.9": [lambda counts: np.nan_to_num(np.maximum(_pmi(counts), 0)).tolist()],
    "1.10": [_by_falling_behind],
    "1.11": [
        lambda t, w: np.pad(_svd(t, w, scale=np.sqrt), ((0, 0), (0, max(w - len(t), 0)))),
        lambda t, w: np.pad(-_eigen(t, w)[:, ::-1], ((0, 0), (max(w - len(t), 0), 0))),
        _vector_by_vector,
    ],
    "1.12": [_signs_one_by_one],
}
