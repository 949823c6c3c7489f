"""A step of gradient descent by two softmax heads with opposite queries."""

from __future__ import annotations

import numpy as np

from tformer import reference
from tformer.parameters import HeadParameters

__all__ = ["centred_step", "mirrored", "pair", "pair_layer"]


def pair(d: int, m: int, eta: float, epsilon: float) -> HeadParameters:
    """Two heads on tokens (x, residual): queries x and -x, outputs of opposite sign."""
    first = np.eye(d + m)[:, :d]
    rest = np.eye(d + m)[:, d:]
    return HeadParameters(
        w_q=np.stack([first, -first]),
        w_k=np.stack([first, first]),
        w_v=np.stack([rest, rest]),
        w_o=np.stack([-rest.T, rest.T]) * eta / (2 * epsilon),
    )


def pair_layer(e: np.ndarray, d: int, eta: float, epsilon: float) -> np.ndarray:
    """One layer of the two heads; the last token, the question, is no key.

    Parameters
    ----------
    e : (n + 1, d + m) array
    d : int
    eta, epsilon : float
        The step size, and what scores are multiplied by.
    """
    keep = np.ones((1, len(e)), bool)
    keep[:, -1] = False
    heads = pair(d, e.shape[-1] - d, eta, epsilon)
    return e + reference.multi_head_attention(e, heads, mask=keep, scale=epsilon)


def centred_step(e: np.ndarray, d: int, eta: float) -> np.ndarray:
    """A step whose keys are the x of the examples minus their mean."""
    x, r = e[:, :d], e[:, d:]
    keys = x[:-1] - x[:-1].mean(axis=0)
    return np.concatenate([x, r - eta / len(keys) * x @ keys.T @ r[:-1]], axis=1)


def mirrored(e: np.ndarray) -> np.ndarray:
    """The examples, each of them again with opposite signs, and the question."""
    return np.concatenate([e[:-1], -e[:-1], e[-1:]])
