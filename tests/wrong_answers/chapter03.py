"""Mistakes people make in the exercises of chapter 3, and right answers unlike the book's."""

import itertools

import numpy as np


def _softmax(x, axis=-1):
    with np.errstate(all="ignore"):
        e = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)


def _weights(q, k, scale=None):
    return _softmax(q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale))


def _answer(q, k, v, power=-0.5):
    return _softmax(k @ q * len(q) ** power) @ v


def _answer_by_loop(q, k, v):
    scores = [float(np.dot(q, row)) / len(q) ** 0.5 for row in k]
    terms = [np.exp(s - max(scores)) for s in scores]
    return sum(t * row for t, row in zip(terms, v, strict=True)) / sum(terms)


def _read(x, memory, w_q, w_k, w_v, scale=None, axis=-1):
    q, k = x @ w_q, memory @ w_k
    scale = w_q.shape[-1] ** -0.5 if scale is None else scale
    return _softmax(scale * q @ k.mT, axis) @ (memory @ w_v)


def _read_by_taste(x, memory, w_q, w_k, w_v):
    scores = np.einsum("...td,de,...se->...ts", x, w_q @ w_k.T, memory) / w_q.shape[1] ** 0.5
    terms = np.exp(scores - scores.max())
    return ((terms @ memory) / terms.sum(-1)[..., None]) @ w_v


def _slips(q, k, printed, decimals, units=0.5, scale=None):
    return np.abs(printed - _weights(q, k, scale)) > units * 10.0**-decimals


def _masked(q, k, v, mask, hide=-np.inf, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return _softmax(np.where(mask, scale * (q @ k.mT), hide)) @ v


def _masked_by_terms(q, k, v, mask):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    low = scores - np.where(mask, scores, -1e300).max(-1, keepdims=True)
    terms = np.where(mask, np.exp(np.where(mask, low, 0)), 0)
    return terms @ v / np.maximum(terms.sum(-1, keepdims=True), 1e-300)


def _full_shift(q, k, v, mask):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    terms = np.exp(scores - scores.max(-1, keepdims=True)) * mask
    total = terms.sum(-1, keepdims=True)
    return terms / np.where(total == 0, 1, total) @ v


def _lookup(scores, v, eps, count=True, far=True, worst=False, lengths=False):
    order = np.sort(scores)
    margin = order[-1] - (order[0] if worst else order[-2])
    reach = np.linalg.norm(v if lengths else v - v[scores.argmax()], axis=-1).max()
    number = (len(scores) - 1 if count else 1) * (reach if far else 1) / eps
    return np.log(number) / margin


def _lookup_by_halving(scores, v, eps):
    best, low, high = v[scores.argmax()], 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        error = np.linalg.norm(_softmax(middle * scores) @ v - best)
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


def _factors(taste, width, left=lambda s: s, right=np.ones_like, turn=True):
    u, s, vt = np.linalg.svd(taste)
    n, d = min(width, len(taste)), len(taste)
    w_q, w_k = np.zeros((2, d, width))
    w_q[:, :n] = u[:, :n] * left(s[:n])
    w_k[:, :n] = (vt[:n].T if turn else vt[:, :n]) * right(s[:n])
    return w_q, w_k


def _factors_unpadded(taste, width):
    u, s, vt = np.linalg.svd(taste)
    return u[:, :width] * s[:width], vt[:width].T


def _factors_by_columns(taste, width):
    columns = []
    for i in range(len(taste)):
        if np.linalg.matrix_rank(taste[:, [*columns, i]]) > len(columns):
            columns.append(i)
    w_q, w_k = np.zeros((2, len(taste), width))
    w_q[:, : len(columns)] = taste[:, columns]
    w_k[:, : len(columns)] = np.linalg.lstsq(taste[:, columns], taste)[0].T
    return [w_q, w_k]


def _room(d, beta, share, factor=2):
    return (1 / share - 1) / ((1 + np.exp(-factor * beta / d)) / 2) ** d


def _count(d, beta, share):
    n, odds = 1, -d * np.log((1 + np.exp(-2 * beta / d)) / 2)
    n += np.floor(np.exp(np.log(1 / share - 1) + odds))
    return np.array(n)


def _backward(q, k, v, grad, step=None, dq=1.0, dk=1.0, dv=1.0):
    weights, scale = _weights(q, k), q.shape[-1] ** -0.5
    d_weights = grad @ v.mT
    step = step or (lambda a, g: a * (g - (a * g).sum(-1, keepdims=True)))
    d_scores = step(weights, d_weights)
    return dq * scale * d_scores @ k, dk * scale * d_scores.mT @ q, dv * weights.mT @ grad


def _backward_untransposed(q, k, v, grad):
    dq, dk, dv = _backward(q, k, v, grad)
    if q.shape[-2] == k.shape[-2]:
        dv = _weights(q, k) @ grad
    return dq, dk, dv


def _backward_by_jacobian(q, k, v, grad):
    a, scale = _weights(q, k), q.shape[-1] ** -0.5
    jacobian = a[..., None] * np.eye(a.shape[-1]) - a[..., :, None] * a[..., None, :]
    d = np.einsum("...ts,...tsj->...tj", np.einsum("...tv,...sv->...ts", grad, v), jacobian)
    return [
        scale * np.einsum("...ts,...sk->...tk", d, k),
        scale * np.einsum("...ts,...tk->...sk", d, q),
        np.einsum("...ts,...tv->...sv", a, grad),
    ]


def _circle(n):
    angle = 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def _on_a_line(partner):
    keys = np.stack([np.arange(1.0, len(partner) + 1)] * 2, axis=-1)
    return 200 * keys[partner], keys


def _on_a_parabola(partner):
    x = np.arange(len(partner)) - len(partner) / 2
    keys = np.stack([x, -(x**2) / 2], axis=-1)
    return 60 * np.stack([x, np.ones(len(x))], axis=-1)[partner], keys


def _recover(a, y, table, solve=np.linalg.solve, dots=False):
    values = solve(a, y)
    if dots:
        return (values @ table.T).argmax(-1)
    return ((values[:, None] - table) ** 2).sum(-1).argmin(-1)


def _recover_step_by_step(a, y, table):
    found = []
    for t in range(len(y)):
        past = sum((a[t, s] * table[w] for s, w in enumerate(found)), np.zeros(table.shape[1]))
        gaps = [np.linalg.norm(row - (y[t] - past) / a[t, t]) for row in table]
        found.append(int(np.argmin(gaps)))
    return found


def _attention(q, k, v, shift=lambda s: s.max(-1, keepdims=True), scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = scale * (q @ k.T)
    terms = np.exp(scores - shift(scores))
    return terms / terms.sum(-1, keepdims=True) @ v


def _strips(q, k, v, size=64, **options):
    return np.concatenate(
        [_attention(q[i : i + size], k, v, **options) for i in range(0, len(q), size)]
    )


def _whole_strips_only(q, k, v):
    n = max(len(q) // 64 * 64, min(len(q), 64))
    return _strips(q[:n], k, v)


def _last_strip_left_zero(q, k, v):
    out = np.zeros((len(q), v.shape[1]))
    done = _whole_strips_only(q, k, v)
    out[: len(done)] = done
    return out


def _by_key_blocks(q, k, v):
    top, total, out = np.full((len(q), 1), -np.inf), 0.0, 0.0
    for i in range(0, len(k), 50):
        scores = q @ k[i : i + 50].T / q.shape[-1] ** 0.5
        new = np.maximum(top, scores.max(-1, keepdims=True))
        terms = np.exp(scores - new)
        total = total * np.exp(top - new) + terms.sum(-1, keepdims=True)
        out = out * np.exp(top - new) + terms @ v[i : i + 50]
        top = new
    return out / total


WRONG = {
    "3.1": {
        "Those are the weights": lambda q, k, v: _softmax(k @ q / len(q) ** 0.5),
        "not scaled": lambda q, k, v: _answer(q, k, v, power=0),
        "divided the scores by K = 4": lambda q, k, v: _answer(q, k, v, power=-1),
        "multiplied the scores by √K": lambda q, k, v: _answer(q, k, v, power=0.5),
        "not divided by their sum": lambda q, k, v: np.exp(k @ q / len(q) ** 0.5) @ v,
        "their softmax should": lambda q, k, v: k @ q / len(q) ** 0.5 @ v,
        "the same weight": lambda q, k, v: v.mean(0),
        "after the softmax": lambda q, k, v: _softmax(k @ q) @ v / len(q) ** 0.5,
        "exp(1000) is more": lambda q, k, v: (
            np.exp(k @ q / len(q) ** 0.5) / np.exp(k @ q / len(q) ** 0.5).sum() @ v
        ),
        "not to a column": lambda q, k, v: (
            v @ _softmax(k @ q / len(q) ** 0.5) if len(v) == v.shape[1] == 3 else _answer(q, k, v)
        ),
    },
    "3.2": {
        "rows of memory. Project": lambda x, memory, w_q, w_k, w_v: (
            _weights(x @ w_q, memory @ w_k) @ memory
        ),
        "come from memory": lambda x, memory, w_q, w_k, w_v: _read(x, x, w_q, w_k, w_v),
        "x and memory have changed places": lambda x, memory, w_q, w_k, w_v: _read(
            memory, x, w_q, w_k, w_v
        ),
        "w_q and w_k have changed": lambda x, memory, w_q, w_k, w_v: _read(
            x, memory, w_k, w_q, w_v
        ),
        "down the columns": lambda *inputs: _read(*inputs, axis=-2),
        "not scaled": lambda *inputs: _read(*inputs, scale=1.0),
        "root of the width of x": lambda x, *inputs: _read(x, *inputs, scale=x.shape[-1] ** -0.5),
        "divide by its root": lambda *inputs: _read(*inputs, scale=1 / inputs[2].shape[-1]),
    },
    "3.3": {
        "may differ by rounding": lambda q, k, printed, decimals: printed != _weights(q, k),
        "too much to allow": (
            lambda *inputs: _slips(*inputs, units=1.0),
            lambda q, k, printed, decimals: (
                printed != np.floor(_weights(q, k) * 10**decimals) / 10**decimals
            ),
        ),
        "True marks": lambda *inputs: ~_slips(*inputs),
        "Those are the weights": lambda q, k, printed, decimals: _weights(q, k),
        "four decimals are printed": lambda q, k, printed, decimals: _slips(q, k, printed, 2),
        "whose scores are not scaled": lambda *inputs: _slips(*inputs, scale=1.0),
        "and not where": lambda q, k, printed, decimals: (
            (np.abs(printed.sum(-1, keepdims=True) - 1) > 1e-9) & (printed > 0)
        ),
    },
    "3.4": {
        "the rest adds up to 1/2": lambda q, k, v, mask: (_weights(q, k) * mask) @ v,
        "wrong way round": lambda q, k, v, mask: _masked(q, k, v, ~mask),
        "no effect": lambda q, k, v, mask: _weights(q, k) @ v,
        "exp(0) = 1": lambda q, k, v, mask: _softmax(mask * (q @ k.mT)) @ v,
        "0/0 is nan": _masked,
        "all hidden": (
            lambda *inputs: _masked(*inputs, hide=-1e9),
            lambda q, k, v, mask: _softmax(q @ k.mT - 1e9 * ~mask) @ v,
        ),
        "used as the shift": _full_shift,
        "on its side": lambda q, k, v, mask: _masked_by_terms(
            q, k, v, mask.T if mask.ndim == 2 and len(mask) == mask.shape[1] else mask
        ),
        "not scaled by 1/√K": lambda q, k, v, mask: _masked_by_terms(
            q * q.shape[-1] ** 0.5, k, v, mask
        ),
    },
    "3.5": {
        "not over the worst": lambda *inputs: _lookup(*inputs, worst=True),
        "the factor S − 1": lambda *inputs: _lookup(*inputs, count=False),
        "from the best one matters too": lambda *inputs: _lookup(*inputs, far=False),
        "not the length of the values": lambda *inputs: _lookup(*inputs, lengths=True),
        "Which β makes": lambda scores, v, eps: 1000.0,
        "to be divided by the margin": lambda scores, v, eps: (
            _lookup(scores, v, eps) * np.diff(np.sort(scores)[-2:])[0]
        ),
        "one number above 0": lambda scores, v, eps: -_lookup(scores, v, eps),
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
        "a row for each of": lambda t, x, h: (t / h, x / h),
    },
    "3.7": {
        "respects every shift": lambda layer, x: _kind(
            layer, x, [np.roll(np.arange(len(x)), i) for i in range(1, len(x))]
        ),
        "respects the reversal": lambda layer, x: _kind(layer, x, [np.arange(len(x))[::-1]]),
        "leave the first row in place": lambda layer, x: _kind(
            layer, x, [[0, 1, 2, 4, 3], [0, 2, 1, 3, 4], [0, 4, 1, 2, 3]]
        ),
        "allow for those": _kind_exactly,
        "fine enough": lambda layer, x: _kind(
            layer,
            x,
            [list(o) for o in itertools.permutations(range(len(x)))],
            lambda a, b: np.allclose(a, b, atol=0.01),
        ),
        "sees itself only": lambda layer, x: "equivariant",
        "none of the three names": lambda layer, x: "symmetric",
    },
    "3.8": {
        "stretch by the singular values is missing": lambda *inputs: _factors(
            *inputs, left=np.ones_like
        ),
        "count twice": lambda *inputs: _factors(*inputs, right=lambda s: s),
        "you took its columns": lambda *inputs: _factors(*inputs, turn=False),
        "changed places": lambda taste, width: _factors(taste, width)[::-1],
        "on its side": lambda taste, width: (
            _factors(taste, width)[0],
            _factors(taste, width)[1].T,
        ),
        "Zeros may fill": _factors_unpadded,
        "should return two arrays": lambda taste, width: taste,
    },
    "3.9": {
        "n − 1 wrong keys": lambda *inputs: np.floor(_room(*inputs)),
        "whole numbers": lambda *inputs: 1 + _room(*inputs),
        "round down": lambda *inputs: np.ceil(1 + _room(*inputs)),
        "share of 1/2": lambda d, beta, share: np.floor(1 + _room(d, beta, 0.5)),
        "the 2 is missing": lambda *inputs: np.floor(1 + _room(*inputs, factor=1)),
        "power of d is missing": lambda d, beta, share: np.floor(
            1 + (1 / share - 1) * 2 / (1 + np.exp(-2 * beta / d))
        ),
    },
    "3.10": {
        "is not subtracted yet": lambda *inputs: _backward(*inputs, step=lambda a, g: a * g),
        "gradient of the weights": lambda *inputs: _backward(*inputs, step=lambda a, g: g),
        "diagonal of the Jacobian": lambda *inputs: _backward(
            *inputs, step=lambda a, g: a * (1 - a) * g
        ),
        "with equal weights": lambda *inputs: _backward(
            *inputs, step=lambda a, g: a * (g - g.mean(-1, keepdims=True))
        ),
        "over everything": lambda *inputs: _backward(
            *inputs, step=lambda a, g: a * (g - (a * g).sum())
        ),
        "The scale is missing": (
            lambda q, k, v, grad: _backward(q, k, v, grad, dq=q.shape[-1] ** 0.5),
            lambda q, k, v, grad: _backward(q, k, v, grad, dk=q.shape[-1] ** 0.5),
        ),
        "came in twice": lambda q, k, v, grad: _backward(q, k, v, grad, dq=q.shape[-1] ** -0.5),
        "no place here": lambda q, k, v, grad: _backward(q, k, v, grad, dv=q.shape[-1] ** -0.5),
        "weights have to be transposed": _backward_untransposed,
        "should return three arrays": lambda *inputs: _backward(*inputs)[:2],
    },
    "3.11": {
        "looks at itself": lambda partner: (200 * _circle(len(partner)), _circle(len(partner))),
        "roles of queries and keys": lambda partner: (
            200 * _circle(len(partner)),
            _circle(len(partner))[partner],
        ),
        "too small a lead": lambda partner: (
            5 * _circle(len(partner))[partner],
            _circle(len(partner)),
        ),
        "which has the longest key": _on_a_line,
        "same weight": lambda partner: np.zeros((2, len(partner), 2)),
        "it should be (2, 2)": lambda partner: (np.eye(len(partner) + 1), np.eye(len(partner) + 1)),
        "too large for a float64": lambda partner: (
            1e300 * _circle(len(partner))[partner],
            1e10 * _circle(len(partner)),
        ),
    },
    "3.12": {
        "which is a mixture": lambda *inputs: _recover(*inputs, solve=lambda a, y: y),
        "goes to a long embedding": lambda *inputs: _recover(*inputs, dots=True),
        "on their side": lambda *inputs: _recover(
            *inputs, solve=lambda a, y: np.linalg.solve(a.T, y)
        ),
        "places in the table": lambda a, y, table: np.linalg.solve(a, y),
    },
    "3.13": {
        "at once, and one table": _attention,
        "becomes of the last strip": _whole_strips_only,
        "what becomes of the rest": _last_strip_left_zero,
        "a maximum of its own": lambda *inputs: _strips(*inputs, shift=lambda s: s.max()),
        "exp(1000) is more": lambda *inputs: _strips(*inputs, shift=lambda s: 0.0),
        "not scaled by 1/√K": lambda *inputs: _strips(*inputs, scale=1.0),
    },
}

RIGHT = {
    "3.1": [_answer_by_loop, lambda q, k, v: (_weights(q[None], k) @ v)[0].tolist()],
    "3.2": [_read_by_taste],
    "3.3": [
        lambda q, k, printed, decimals: (
            np.round(np.abs(printed - _weights(q, k)) * 10**decimals, 6) > 0.5
        ).astype(int)
    ],
    "3.4": [_masked_by_terms],
    "3.5": [_lookup_by_halving],
    "3.6": [
        lambda t, x, h: _lift(t, x, h, lambda x, h: -(x * x) / (2 * h * h) + 7, lambda t, h: t / h),
        lambda t, x, h: [
            np.stack([t**2, -2 * t, 0 * t + 1], -1) / (-2 * h * h),
            np.stack([0 * x + 1, x, x**2], -1),
        ],
    ],
    "3.7": [_kind_of_all],
    "3.8": [
        lambda *inputs: _factors(*inputs, left=np.sqrt, right=np.sqrt),
        _factors_by_columns,
    ],
    "3.9": [_count],
    "3.10": [_backward_by_jacobian],
    "3.11": [_on_a_parabola],
    "3.12": [_recover_step_by_step],
    "3.13": [_by_key_blocks, lambda *inputs: _strips(*inputs, size=1)],
}
