"""Regression in context: tokens that hold a residual, layers that are steps, and what is best.

A task is n examples, rows of `x` (n, d) with targets `y` (n, m), and a question (d,). As tokens:
row i is (x_i, y_i), the last row is (question, 0). What stands behind the d numbers of x is the
*residual*, and the answer is minus the residual of the question.
"""

from __future__ import annotations

import numpy as np

__all__ = [
    "answer",
    "answers",
    "best_loss",
    "best_step",
    "descend",
    "layer",
    "least_squares",
    "loss_of_step",
    "ridge",
    "tokens",
    "with_question_as_key",
]

Array = np.ndarray


def tokens(x: Array, y: Array, question: Array) -> Array:
    """The examples and the question as tokens.

    Parameters
    ----------
    x : (..., n, d) array
    y : (..., n, m) array
    question : (..., d) array

    Returns
    -------
    (..., n + 1, d + m) array
    """
    asked = np.concatenate([question, 0 * y[..., 0, :]], axis=-1)
    return np.concatenate([np.concatenate([x, y], axis=-1), asked[..., None, :]], axis=-2)


def layer(e: Array, d: int, eta: float) -> Array:
    """One layer of linear attention on tokens, which is one step of gradient descent.

    Queries and keys are the first `d` numbers, values are minus the rest. The last token, the
    question, is never a key.

    Parameters
    ----------
    e : (..., n + 1, d + m) array
        Tokens.
    d : int
    eta : float
        Step size; the step goes against the gradient of half the mean squared error.

    Returns
    -------
    (..., n + 1, d + m) array
    """
    x, r = e[..., :d], e[..., d:]
    keys, values = x[..., :-1, :], -r[..., :-1, :]
    r = r + eta / keys.shape[-2] * (x @ keys.mT) @ values
    return np.concatenate([x, r], axis=-1)


def with_question_as_key(e: Array, d: int, eta: float) -> Array:
    """The same layer with one mistake: the question is a key, too."""
    x, r = e[..., :d], e[..., d:]
    r = r - eta / (e.shape[-2] - 1) * (x @ x.mT) @ r
    return np.concatenate([x, r], axis=-1)


def answer(e: Array, d: int) -> Array:
    """Minus the residual of the question, (..., m)."""
    return -e[..., -1, d:]


def answers(x: Array, y: Array, question: Array, eta: float, layers: int) -> Array:
    """The answer after 0, 1, … `layers` layers, (layers + 1, ..., m)."""
    e, found = tokens(x, y, question), []
    for _ in range(layers + 1):
        found.append(answer(e, x.shape[-1]))
        e = layer(e, x.shape[-1], eta)
    return np.stack(found)


def descend(x: Array, y: Array, eta: float, steps: int) -> Array:
    """Gradient descent on half the mean squared error from w = 0; returns w, (..., d, m)."""
    w = np.zeros((*x.shape[:-2], x.shape[-1], y.shape[-1]))
    for _ in range(steps):
        w = w - eta / x.shape[-2] * x.mT @ (x @ w - y)
    return w


def ridge(x: Array, y: Array, penalty: float) -> Array:
    """The w that minimises the sum of squared errors plus `penalty` times |w|², (..., d, m)."""
    return np.linalg.solve(x.mT @ x + penalty * np.eye(x.shape[-1]), x.mT @ y)


def least_squares(x: Array, y: Array) -> Array:
    """The shortest w with the least sum of squared errors, (..., d, m)."""
    return np.linalg.pinv(x) @ y


def best_step(n: int, d: int, noise: float = 0.0) -> float:
    """The step size with the least expected error after one step from 0.

    For tasks with w ~ N(0, I), x ~ N(0, I) and targets w·x + noise N(0, 1).
    """
    return n / (n + d + 1 + noise**2)


def loss_of_step(n: int, d: int, eta: float, noise: float = 0.0) -> float:
    """The expected squared error of the answer after one step, divided by d.

    The answer is compared with w·x, without noise.
    """
    return 1 - 2 * eta + eta**2 * (n + d + 1 + noise**2) / n


def best_loss(n: int, d: int, noise: float = 0.0) -> float:
    """What `loss_of_step` is for the best step."""
    return 1 - best_step(n, d, noise)
