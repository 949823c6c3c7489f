"""Answers to exercises 4.6 and 4.12: why no gradient arrives, and where more of it does."""

import numpy as np

from shared_answers import softmax


def _jacobian(p):
    return np.diag(p) - np.outer(p, p)


def _why(q, k, scale, lit=0.05):
    p = softmax(scale * (k @ q))
    jacobian = _jacobian(p)
    at_query = np.sqrt((scale**2 * (jacobian @ k @ k.T @ jacobian)).trace())
    if at_query >= lit:
        return "lit"
    return "faint" if np.sqrt((jacobian**2).sum()) >= lit else "frozen"


def _length(z, u):
    p = softmax(z)
    return np.linalg.norm(p * (u - p @ u))


def _from_the_widest(z, u):
    alone = 1.001 * _length(z, u)
    return next((d for d in range(4096, 0, -1) if _length(d**0.5 * z, u) > alone), 0)


def _with_matrices(z, u):
    last, alone = 0, 1.001 * np.linalg.norm(u @ _jacobian(softmax(z)))
    for d in range(1, 4097):
        if np.linalg.norm(u @ _jacobian(softmax(np.sqrt(d) * z))) > alone:
            last = d
    return np.array([last])


WRONG = {
    "4.6": {
        "The lamp at the scores shows": (
            lambda q, k, scale: "frozen",
            lambda q, k, scale: _why(q, k, scale, lit=0.2),
        ),
        "none of the three names": lambda q, k, scale: "dark",
    },
    "4.12": {
        "the better one only gets farther ahead": lambda z, u: 4096,
        "tie at every width": lambda z, u: 0,
    },
}

RIGHT = {
    "4.6": [_why],
    "4.12": [_from_the_widest, _with_matrices],
}
