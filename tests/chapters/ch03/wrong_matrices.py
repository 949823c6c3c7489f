"""Answers to exercises 3.8 and 3.9: two thin matrices, a capacity."""

import numpy as np


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
}

RIGHT = {
    "3.8": [
        lambda *inputs: _factors(*inputs, left=np.sqrt, right=np.sqrt),
        _factors_by_columns,
    ],
    "3.9": [_count],
}
