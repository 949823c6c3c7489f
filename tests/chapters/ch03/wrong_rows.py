"""Answers to exercises 3.1 to 3.4: one query, two sentences, a printed table, a mask."""

import numpy as np

from shared_answers import softmax, weights


def _answer(q, k, v, power=-0.5):
    return softmax(k @ q * len(q) ** power) @ v


def _answer_scaled(q, k, v, divisor):
    return softmax(k @ q / divisor) @ v


def _answer_by_loop(q, k, v):
    scores = [float(np.dot(q, row)) / len(q) ** 0.5 for row in k]
    terms = [np.exp(s - max(scores)) for s in scores]
    return sum(t * row for t, row in zip(terms, v, strict=True)) / sum(terms)


def _read(x, memory, w_q, w_k, w_v, scale=None, axis=-1, turn=lambda k: k.mT, product=np.matmul):
    q, k, v = product(x, w_q), product(memory, w_k), product(memory, w_v)
    scale = w_q.shape[-1] ** -0.5 if scale is None else scale
    return product(softmax(scale * product(q, turn(k)), axis), v)


def _read_without_keepdims(x, memory, w_q, w_k, w_v):
    scores = (x @ w_q) @ (memory @ w_k).mT / w_q.shape[-1] ** 0.5
    terms = np.exp(scores - scores.max(-1))
    return terms / terms.sum(-1) @ (memory @ w_v)


def _read_by_taste(x, memory, w_q, w_k, w_v):
    scores = np.einsum("...td,de,...se->...ts", x, w_q @ w_k.T, memory) / w_q.shape[1] ** 0.5
    terms = np.exp(scores - scores.max())
    return ((terms @ memory) / terms.sum(-1)[..., None]) @ w_v


def _slips(q, k, printed, decimals, units=0.5, scale=None):
    return np.abs(printed - weights(q, k, scale)) > units * 10.0**-decimals


def _masked(q, k, v, mask, hide=-np.inf, scale=None):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return softmax(np.where(mask, scale * (q @ k.mT), hide)) @ v


def _masked_by_terms(q, k, v, mask, turn=lambda k: k.mT, axis=-1, least=0, scale=None):
    scores = q @ turn(k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    low = scores - np.where(mask, scores, -1e300).max(axis=axis, keepdims=True)
    terms = np.where(mask, np.exp(np.where(mask, low, 0)), 0)
    total = terms.sum(axis=axis, keepdims=True) + least
    return terms / np.where(total == 0, 1, total) @ v


def _masked_by_index(q, k, v, mask):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    scores[~mask] = -np.inf
    return np.nan_to_num(softmax(scores)) @ v


def _masked_without_shift(q, k, v, mask):
    terms = np.exp(q @ k.mT / q.shape[-1] ** 0.5) * mask
    total = terms.sum(-1, keepdims=True)
    return terms / np.where(total == 0, 1, total) @ v


def _zeros_for_all(q, k, v, mask):
    out = _masked(q, k, v, mask)
    return np.zeros_like(out) if np.isnan(out).any() else out


def _only_all_blind(q, k, v, mask):
    return _masked(q, k, v, mask) if mask.any() else np.zeros((len(q), v.shape[1]))


def _full_shift(q, k, v, mask):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    terms = np.exp(scores - scores.max(-1, keepdims=True)) * mask
    total = terms.sum(-1, keepdims=True)
    return terms / np.where(total == 0, 1, total) @ v


WRONG = {
    "3.1": {
        "Those are the weights": lambda q, k, v: softmax(k @ q / len(q) ** 0.5),
        "not scaled": lambda q, k, v: _answer(q, k, v, power=0),
        "divided the scores by K = 4": lambda q, k, v: _answer(q, k, v, power=-1),
        "multiplied the scores by √K": lambda q, k, v: _answer(q, k, v, power=0.5),
        "not divided by their sum": lambda q, k, v: np.exp(k @ q / len(q) ** 0.5) @ v,
        "their softmax should": lambda q, k, v: k @ q / len(q) ** 0.5 @ v,
        "the same weight": lambda q, k, v: v.mean(0),
        "√3, the root of the number of keys": lambda q, k, v: _answer_scaled(
            q, k, v, len(k) ** 0.5
        ),
        "by 3, the number of keys": lambda q, k, v: _answer_scaled(q, k, v, len(k)),
        "width of the values": lambda q, k, v: _answer_scaled(q, k, v, v.shape[1] ** 0.5),
        "by K, and then by 2": lambda q, k, v: softmax(k @ q / len(q) ** 1 / 2) @ v,
        "by the length of q": lambda q, k, v: _answer_scaled(q, k, v, np.linalg.norm(q)),
        "not been added up yet": lambda q, k, v: softmax(k @ q / len(q) ** 0.5)[:, None] * v,
        "best key alone": lambda q, k, v: v[(k @ q).argmax()],
        "takes the exponentials first": lambda q, k, v: k @ q / (k @ q).sum() @ v,
        "columns on the left: 4, rows on the right: 3": lambda q, k, v: softmax(q @ k) @ v,
        "Its parts have different shapes": lambda q, k, v: (_answer(q, k, v), k @ q),
        "after the softmax": lambda q, k, v: softmax(k @ q) @ v / len(q) ** 0.5,
        "exp(1000) is more": lambda q, k, v: (
            np.exp(k @ q / len(q) ** 0.5) / np.exp(k @ q / len(q) ** 0.5).sum() @ v
        ),
        "not to a column": lambda q, k, v: (
            v @ softmax(k @ q / len(q) ** 0.5) if len(v) == v.shape[1] == 3 else _answer(q, k, v)
        ),
    },
    "3.2": {
        "root of the number of queries": lambda x, *inputs: _read(x, *inputs, scale=len(x) ** -0.5),
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
        "You mark 0.33 too": (
            lambda q, k, printed, decimals: printed != weights(q, k),
            lambda *inputs: _slips(*inputs, scale=3**-0.5),
            lambda q, k, printed, decimals: (
                np.abs(softmax(q @ k.T, axis=0) - printed) > 0.5 * 10.0**-decimals
            ),
        ),
        "is less than 1/6": lambda q, k, printed, decimals: (
            printed - weights(q, k) > 0.5 * 10.0**-decimals
        ),
        "is more than 1/2": lambda q, k, printed, decimals: (
            weights(q, k) - printed > 0.5 * 10.0**-decimals
        ),
        "although the row adds up": (
            lambda *inputs: _slips(*inputs, units=5),
            lambda q, k, printed, decimals: (
                (np.abs(printed.sum(-1, keepdims=True) - 1) > 1e-9) & (printed > 0)
            ),
        ),
        "Those are the differences": lambda q, k, printed, decimals: np.abs(
            printed - weights(q, k)
        ),
        "Those are the places": lambda *inputs: np.argwhere(_slips(*inputs)),
        "does not say where": lambda *inputs: _slips(*inputs).any(),
        "this is a whole table of them": lambda *inputs: bool(_slips(*inputs)),
        "too much to allow": (
            lambda *inputs: _slips(*inputs, units=1.0),
            lambda q, k, printed, decimals: (
                printed != np.floor(weights(q, k) * 10**decimals) / 10**decimals
            ),
        ),
        "True marks": lambda *inputs: ~_slips(*inputs),
        "Those are the weights": lambda q, k, printed, decimals: weights(q, k),
        "four decimals are printed": lambda q, k, printed, decimals: _slips(q, k, printed, 2),
        "The scores are not scaled": lambda *inputs: _slips(*inputs, scale=1.0),
    },
    "3.4": {
        "the rest adds up to 1/2": lambda q, k, v, mask: (weights(q, k) * mask) @ v,
        "wrong way round": lambda q, k, v, mask: _masked(q, k, v, ~mask),
        "no effect": lambda q, k, v, mask: weights(q, k) @ v,
        "exp(0) = 1": lambda q, k, v, mask: softmax(mask * (q @ k.mT)) @ v,
        "0/0 is nan": _masked,
        "all hidden": (
            lambda *inputs: _masked(*inputs, hide=-1e9),
            lambda q, k, v, mask: softmax(q @ k.mT - 1e9 * ~mask) @ v,
        ),
        "used as the shift": _full_shift,
        "exp(1001) is more": _masked_without_shift,
        "A nan comes of": (
            lambda q, k, v, mask: softmax(q @ k.mT + (1 - mask) * -np.inf) @ v,
            lambda q, k, v, mask: softmax(np.where(mask, q @ k.mT, -np.inf), axis=-2) @ v,
        ),
        "1/4 and 3/4, exactly": lambda *inputs: _masked_by_terms(*inputs, least=1e-6),
        "root of the number of keys": lambda q, k, v, mask: _masked_by_terms(
            q, k, v, mask, scale=k.shape[-2] ** -0.5
        ),
        "needs the shape of its array": _masked_by_index,
        "silence the others": _zeros_for_all,
        "Among other queries": _only_all_blind,
        "reverses all axes": lambda *inputs: _masked_by_terms(*inputs, turn=lambda k: k.T),
        "Counted from the front": lambda *inputs: _masked_by_terms(*inputs, axis=1),
        "on its side": lambda q, k, v, mask: _masked_by_terms(
            q, k, v, mask.T if mask.ndim == 2 and len(mask) == mask.shape[1] else mask
        ),
        "not scaled by 1/√d_k": lambda q, k, v, mask: _masked_by_terms(
            q * q.shape[-1] ** 0.5, k, v, mask
        ),
    },
}

RIGHT = {
    "3.1": [_answer_by_loop, lambda q, k, v: (weights(q[None], k) @ v)[0].tolist()],
    "3.2": [_read_by_taste],
    "3.3": [
        lambda q, k, printed, decimals: (
            np.round(np.abs(printed - weights(q, k)) * 10**decimals, 6) > 0.5
        ).astype(int)
    ],
    "3.4": [_masked_by_terms],
}
