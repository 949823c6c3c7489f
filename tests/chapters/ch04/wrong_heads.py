"""Answers to exercises 4.7 and 4.8: a scale thrice applied, normalised heads."""

import math

import numpy as np

from shared_answers import softmax


def _weights(q, k, axis=-1):
    return softmax(q @ k.mT * k.shape[-1] ** -0.5, axis)


def _maximum_dropped(q, k):
    scores = q @ k.mT / k.shape[-1] ** 0.5
    terms = np.exp(scores - scores.max(-1))
    return terms / terms.sum(-1, keepdims=True)


def _in_place(q, k):
    q /= math.sqrt(q.shape[-1])
    return softmax(q @ k.mT)


def _by_heads(q, k):
    if q.ndim > 2:
        return np.array([_by_heads(a, b) for a, b in zip(q, k, strict=True)])
    scores = q @ k.T / len(k.T) ** 0.5
    return np.exp(scores - np.logaddexp.reduce(scores, axis=-1)[:, None])


def _unit(x, eps=0.0, safe=False):
    length = np.linalg.norm(x, axis=-1, keepdims=True) + eps
    return x / (np.where(length == 0, 1, length) if safe else length)


def _qk_norm(q, k, gain, eps=0.0):
    return softmax(gain * _unit(q, eps) @ _unit(k, eps).mT)


def _qk_norm_by_table(q, k, gain):
    sizes = np.linalg.norm(q, axis=-1)[..., :, None] * np.linalg.norm(k, axis=-1)[..., None, :]
    with np.errstate(all="ignore"):
        cosine = np.where(sizes > 0, q @ k.mT / sizes, 0.0)
    return softmax(gain * cosine).tolist()


WRONG = {
    "4.7": {
        "Counted from the front": lambda q, k: _weights(q, k, axis=2),
        "reverses all axes": lambda q, k: softmax(q @ k.T / k.shape[-1] ** 0.5),
        "`keepdims=True` keeps it": _maximum_dropped,
        "changes the q it was given": _in_place,
    },
    "4.8": {
        "reverses all axes": lambda q, k, gain: softmax(
            gain * _unit(q, safe=True) @ _unit(k, safe=True).T
        ),
        "Counted from the front": lambda q, k, gain: softmax(
            gain * _unit(q, safe=True) @ _unit(k, safe=True).mT, axis=1
        ),
        "`keepdims=True` keeps it": lambda q, k, gain: softmax(
            gain * (q / np.linalg.norm(q, axis=-1)) @ (k / np.linalg.norm(k, axis=-1)).mT
        ),
        "felt by short vectors": lambda q, k, gain: _qk_norm(q, k, gain, eps=1e-12),
    },
}

RIGHT = {
    "4.7": [_by_heads],
    "4.8": [_qk_norm_by_table],
}
