"""Answers to exercises 3.8 to 3.10: two thin matrices, a capacity, the gradient."""

import numpy as np

from shared_answers import softmax, weights


def _factors(taste, width, left=lambda s: s, right=np.ones_like):
    u, s, vt = np.linalg.svd(taste)
    n, d = min(width, len(taste)), len(taste)
    w_q, w_k = np.zeros((2, d, width))
    w_q[:, :n] = u[:, :n] * left(s[:n])
    w_k[:, :n] = vt[:n].T * right(s[:n])
    return w_q, w_k


def _factors_unpadded(taste, width):
    u, s, vt = np.linalg.svd(taste)
    return u[:, :width] * s[:width], vt[:width].T


def _factors_by_eigenvectors(taste, width):
    value, vector = np.linalg.eig(taste)
    first = np.argsort(-np.abs(value))[:width]
    w_q, w_k = (vector * value)[:, first], np.linalg.pinv(vector).T[:, first]
    return [np.pad(w, ((0, 0), (0, width - len(first)))) for w in (w_q, w_k)]


def _factors_by_columns(taste, width):
    columns = []
    for i in range(len(taste)):
        if np.linalg.matrix_rank(taste[:, [*columns, i]]) > len(columns):
            columns.append(i)
    w_q, w_k = np.zeros((2, len(taste), width))
    w_q[:, : len(columns)] = taste[:, columns]
    w_k[:, : len(columns)] = np.linalg.lstsq(taste[:, columns], taste)[0].T
    return [w_q, w_k]


def _count(d, beta, share):
    n, odds = 1, -d * np.log((1 + np.exp(-2 * beta / d)) / 2)
    n += np.floor(np.exp(np.log(1 / share - 1) + odds))
    return np.array(n)


def _backward(q, k, v, grad, dq=1.0, dk=1.0):
    a, scale = weights(q, k), q.shape[-1] ** -0.5
    d_scores = a * (grad @ v.mT - (a * (grad @ v.mT)).sum(-1, keepdims=True))
    return dq * scale * d_scores @ k, dk * scale * d_scores.mT @ q, a.mT @ grad


def _kept(x, axis):
    return x.sum(axis=axis, keepdims=True)


def _backward_by_axes(q, k, v, grad, turn=lambda x: x.mT, axis=-1, total=_kept):
    scale = q.shape[-1] ** -0.5
    a = softmax(scale * q @ turn(k), axis)
    d_weights = grad @ turn(v)
    d_scores = a * (d_weights - total(a * d_weights, axis=axis))
    return scale * d_scores @ k, scale * turn(d_scores) @ q, turn(a) @ grad


def _backward_by_jacobian(q, k, v, grad):
    a, scale = weights(q, k), q.shape[-1] ** -0.5
    jacobian = a[..., None] * np.eye(a.shape[-1]) - a[..., :, None] * a[..., None, :]
    d = np.einsum("...ts,...tsj->...tj", np.einsum("...tv,...sv->...ts", grad, v), jacobian)
    return [
        scale * np.einsum("...ts,...sk->...tk", d, k),
        scale * np.einsum("...ts,...tk->...sk", d, q),
        np.einsum("...ts,...tv->...sv", a, grad),
    ]


WRONG = {
    "3.8": {
        "on its side": lambda taste, width: (
            _factors(taste, width)[0],
            _factors(taste, width)[1].T,
        ),
        "Zeros may fill": (
            _factors_unpadded,
            lambda taste, width: _factors(taste, int(np.linalg.matrix_rank(taste)) or 1),
        ),
        "returns complex numbers": _factors_by_eigenvectors,
        "should return two arrays": lambda taste, width: taste,
    },
    "3.9": {},
    "3.10": {
        "The scale is missing": (
            lambda q, k, v, grad: _backward(q, k, v, grad, dq=q.shape[-1] ** 0.5),
            lambda q, k, v, grad: _backward(q, k, v, grad, dk=q.shape[-1] ** 0.5),
        ),
        "reverses all axes": lambda *inputs: _backward_by_axes(*inputs, turn=lambda x: x.T),
        "Counted from the front": lambda *inputs: _backward_by_axes(*inputs, axis=1),
        "`keepdims=True` keeps it": lambda *inputs: _backward_by_axes(*inputs, total=np.sum),
        "should return three arrays": lambda *inputs: _backward(*inputs)[:2],
    },
}

RIGHT = {
    "3.8": [
        lambda *inputs: _factors(*inputs, left=np.sqrt, right=np.sqrt),
        _factors_by_columns,
    ],
    "3.9": [_count],
    "3.10": [_backward_by_jacobian],
}
