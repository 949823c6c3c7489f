"""What many wrong answers get right: the softmax, and weights with a scale of one's choice."""

import numpy as np


def softmax(x, axis=-1, eps=0.0):
    with np.errstate(all="ignore"):
        e = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return e / (e.sum(axis=axis, keepdims=True) + eps)


def weights(q, k, scale=None):
    return softmax(q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale))
