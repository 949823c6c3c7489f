"""Answers to exercises 3.2 and 3.4: two sentences, a mask."""

import numpy as np

from shared_answers import softmax


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


WRONG = {
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
    "3.4": {
        "needs the shape of its array": _masked_by_index,
        "reverses all axes": lambda *inputs: _masked_by_terms(*inputs, turn=lambda k: k.T),
        "Counted from the front": lambda *inputs: _masked_by_terms(*inputs, axis=1),
    },
}

RIGHT = {
    "3.2": [_read_by_taste],
    "3.4": [_masked_by_terms, _masked_by_deleting],
}
