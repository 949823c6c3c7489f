"""Answers to exercises 4.6 to 4.8: predicted entropy, a scale thrice applied, normalised heads."""

import math

import numpy as np

from shared_answers import softmax


def _weights(q, k, power=-0.5, axis=-1):
    return softmax(q @ k.mT * k.shape[-1] ** power, axis)


def _all_heads_together(q, k):
    terms = np.exp(q @ k.mT / k.shape[-1] ** 0.5)
    return terms / terms.sum()


def _maximum_over_queries(q, k):
    scores = q @ k.mT / k.shape[-1] ** 0.5
    terms = np.exp(scores - scores.max(-2, keepdims=True))
    return terms / terms.sum(-1, keepdims=True)


def _maximum_dropped(q, k):
    scores = q @ k.mT / k.shape[-1] ** 0.5
    terms = np.exp(scores - scores.max(-1))
    return terms / terms.sum(-1, keepdims=True)


def _one_maximum(q, k):
    scores = q @ k.mT / math.sqrt(k.shape[-1])
    terms = np.exp(scores - scores.max())
    return terms / terms.sum(-1, keepdims=True)


def _model_width(q, k):
    return softmax(q @ k.mT / math.sqrt(q.shape[-3] * q.shape[-1]))


def _in_place(q, k):
    q /= math.sqrt(q.shape[-1])
    return softmax(q @ k.mT)


def _by_heads(q, k):
    if q.ndim > 2:
        return np.array([_by_heads(a, b) for a, b in zip(q, k, strict=True)])
    scores = q @ k.T / len(k.T) ** 0.5
    return np.exp(scores - np.logaddexp.reduce(scores, axis=-1)[:, None])


def _magnitudes(x, axis, keepdims):
    return np.abs(x).sum(axis=axis, keepdims=keepdims)


def _unit(x, eps=0.0, safe=False, axis=-1, norm=np.linalg.norm):
    length = norm(x, axis=axis, keepdims=True) + eps
    return x / (np.where(length == 0, 1, length) if safe else length)


def _qk_norm(q, k, gain, eps=0.0):
    return softmax(gain * _unit(q, eps) @ _unit(k, eps).mT)


def _qk_norm_by_table(q, k, gain):
    sizes = np.linalg.norm(q, axis=-1)[..., :, None] * np.linalg.norm(k, axis=-1)[..., None, :]
    with np.errstate(all="ignore"):
        cosine = np.where(sizes > 0, q @ k.mT / sizes, 0.0)
    return softmax(gain * cosine).tolist()


WRONG = {
    "4.6": {
        "half of it is lost": lambda n, d, scale: max(0, math.log(n) - scale**2 * d),
        "whatever the scale": lambda n, d, scale: max(0, math.log(n) - 0.5),
        "as its square": lambda n, d, scale: max(0, math.log(n) - scale * d / 2),
        "The width is missing": lambda n, d, scale: max(0, math.log(n) - scale**2 / 2),
        "cannot be negative": lambda n, d, scale: math.log(n) - scale**2 * d / 2,
        "in bits": lambda n, d, scale: max(0, math.log(n) - scale**2 * d / 2) / math.log(2),
        "Leaving out the sign": lambda n, d, scale: abs(math.log(n) - scale**2 * d / 2),
        "The wider the vectors": lambda n, d, scale: max(0, math.log(n) - scale**2 / d / 2),
        "nothing to cut off": (
            lambda n, d, scale: max(0, math.log(n) - (scale * d) ** 2 / 2),
            lambda n, d, scale: min(0, math.log(n) - scale**2 * d / 2),
        ),
        "take the logarithm of n": lambda n, d, scale: max(0, n - scale**2 * d / 2),
        "that are really looked at": lambda n, d, scale: n * math.exp(-(scale**2) * d),
        "to base 2": lambda n, d, scale: max(0, math.log2(n) - scale**2 * d / 2),
        "is 4.605, and the scaled scores": lambda n, d, scale: max(
            0, math.log(n) / 2 - scale**2 * d / 2
        ),
        "half of the standard deviation": lambda n, d, scale: math.log(n) - scale * d**0.5 / 2,
    },
    "4.7": {
        "both roots are √4": lambda q, k: _weights(q, k, power=-1),
        "still divided by √4": lambda q, k: _weights(q, k) / math.sqrt(k.shape[-1]),
        "once more after": lambda q, k: _weights(q, k, power=-1) / math.sqrt(k.shape[-1]),
        "The scores are not scaled": (
            lambda q, k: _weights(q, k, power=0),
            lambda q, k: softmax(q @ k.mT / q.shape[-3] ** 0.5),
        ),
        "the number of keys": lambda q, k: softmax(q @ k.mT / k.shape[-2] ** 0.5),
        "as if the sum ran over the queries, of which there is one. It should run over the keys. "
        "For": lambda q, k: _weights(q, k, axis=-2),
        "Counted from the front": lambda q, k: _weights(q, k, axis=2),
        "as if all scores were 0": _maximum_over_queries,
        "divided by the 4 heads": lambda q, k: softmax(
            q @ k.mT / (q.shape[-1] // q.shape[-3]) ** 0.5
        ),
        "all heads together": _all_heads_together,
        "the mean of the heads": lambda q, k: _weights(q, k).mean(-3, keepdims=True),
        "reverses all axes": lambda q, k: softmax(q @ k.T / k.shape[-1] ** 0.5),
        "`keepdims=True` keeps it": _maximum_dropped,
        "the width of the model; the scale": _model_width,
        "a maximum of its own": _one_maximum,
        "changes the q it was given": _in_place,
    },
    "4.8": {
        "The gain has no effect": lambda q, k, gain: _qk_norm(gain * q, k, 1),
        "divided by √K as well": lambda q, k, gain: _qk_norm(q, k, gain / q.shape[-1] ** 0.5),
        "came in twice": lambda q, k, gain: _qk_norm(q, k, gain**2),
        "not divided by the lengths": lambda q, k, gain: softmax(gain * q @ k.mT),
        "length of the key only": lambda q, k, gain: softmax(gain * q @ _unit(k).mT),
        "length of the query only": lambda q, k, gain: softmax(gain * _unit(q) @ k.mT),
        "0/0 is nan": _qk_norm,
        "here it divides": lambda q, k, gain: softmax(_unit(q) @ _unit(k).mT / gain),
        "multiplies the weights": lambda q, k, gain: gain * _qk_norm(q, k, 1),
        "root of the mean square": lambda q, k, gain: _qk_norm(q, k, gain * q.shape[-1]),
        "whole table of keys was taken, √34": lambda q, k, gain: softmax(
            gain * (q / np.linalg.norm(q)) @ (k / np.linalg.norm(k)).mT
        ),
        "The norm of a whole table": lambda q, k, gain: softmax(
            gain * _unit(q) @ _unit(k).mT
            if len(q) == 1
            else gain * (q / np.linalg.norm(q)) @ (k / np.linalg.norm(k)).mT
        ),
        "The norm runs down the columns": lambda q, k, gain: softmax(
            gain * _unit(q, axis=-2, safe=True) @ _unit(k, axis=-2, safe=True).mT
        ),
        "The sum of magnitudes": lambda q, k, gain: softmax(
            gain * _unit(q, norm=_magnitudes) @ _unit(k, norm=_magnitudes).mT
        ),
        "The softmax runs down": lambda q, k, gain: softmax(gain * _unit(q) @ _unit(k).mT, axis=-2),
        "softmax is missing": lambda q, k, gain: gain * _unit(q) @ _unit(k).mT,
        "softmax are missing": lambda q, k, gain: _unit(q) @ _unit(k).mT,
        "reverses all axes": lambda q, k, gain: softmax(
            gain * _unit(q, safe=True) @ _unit(k, safe=True).T
        ),
        "Counted from the front": (
            lambda q, k, gain: softmax(gain * _unit(q, safe=True) @ _unit(k, safe=True).mT, axis=1),
        ),
        "`keepdims=True` keeps it": lambda q, k, gain: softmax(
            gain * (q / np.linalg.norm(q, axis=-1)) @ (k / np.linalg.norm(k, axis=-1)).mT
        ),
        "felt by short vectors": lambda q, k, gain: _qk_norm(q, k, gain, eps=1e-12),
        "exp(1000) is more": lambda q, k, gain: (
            np.exp(gain * _unit(q, safe=True) @ _unit(k, safe=True).mT)
            / np.exp(gain * _unit(q, safe=True) @ _unit(k, safe=True).mT).sum(-1, keepdims=True)
        ),
    },
}

RIGHT = {
    "4.6": [lambda n, d, scale: np.maximum(math.log(n) - (scale * math.sqrt(d)) ** 2 / 2, 0)],
    "4.7": [_by_heads],
    "4.8": [_qk_norm_by_table],
}
