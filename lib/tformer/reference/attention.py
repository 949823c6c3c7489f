"""Scaled dot-product attention: a weighted average of values for each query (chapter 3).

A mask is boolean; True means "may attend". Where it is False it acts as a bias of -inf on the
scores. In a fully masked row all scores are -inf: its attention weights are zeros, and so are its
output and the gradients that flow through it.
"""

import math

import numpy as np

from tformer.reference.equation import equation
from tformer.reference.softmax import softmax, softmax_vjp

__all__ = ["attention", "attention_vjp", "attention_weights"]


@equation
def attention_weights(
    q: np.ndarray,
    k: np.ndarray,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
) -> np.ndarray:
    """Compute the attention weights: row t is the softmax of the scores of query t over the keys.

    Parameters
    ----------
    q : (..., T, d_k) array
        Queries.
    k : (..., S, d_k) array
        Keys.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may attend to key s; nothing is masked if omitted.
    bias : (..., T or 1, S or 1) array, optional
        Added to the scaled scores; -inf masks a key, as `mask` does.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√d_k if omitted.

    Returns
    -------
    (..., T, S) array
        Each row sums to one, or is zero if fully masked.

    Notes
    -----
    Equation eq-attention-weights; [vaswani2017]. Departures: a row whose scores are all -inf gives
    zeros, an empty row stays empty. A score of +inf or NaN makes its row NaN, even where it is
    masked, since +inf or NaN plus -inf is NaN.
    """
    if scale is None:
        scale = 1 / math.sqrt(max(q.shape[-1], 1))
    scores_TS = scale * (q @ k.mT)
    if bias is not None:
        scores_TS = scores_TS + bias
    if mask is not None:
        scores_TS = scores_TS + np.where(mask, 0, -np.inf).astype(q.dtype)
    return softmax(scores_TS)


@equation
def attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
) -> np.ndarray:
    """Compute scaled dot-product attention: row t averages the values with the weights of query t.

    Parameters
    ----------
    q : (..., T, d_k) array
        Queries.
    k : (..., S, d_k) array
        Keys.
    v : (..., S, d_v) array
        Values, one for each key.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may attend to key s; nothing is masked if omitted.
    bias : (..., T or 1, S or 1) array, optional
        Added to the scaled scores; -inf masks a key, as `mask` does.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√d_k if omitted.

    Returns
    -------
    (..., T, d_v) array
        A fully masked row is zero.

    Notes
    -----
    Equation eq-attention; [vaswani2017]. Departures and infinite scores as in `attention_weights`.
    A mask acts on the scores, not on the values: a weight of 0 times an infinite or NaN value is
    NaN. So such a value reaches its column of every output row: as infinite where its weight is
    above 0, else as NaN.
    """
    return attention_weights(q, k, mask, bias, scale) @ v


@equation
def attention_vjp(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    grad: np.ndarray,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Compute the vector-Jacobian product of `attention`: gradients with respect to its arguments.

    Parameters
    ----------
    q : (..., T, d_k) array
        Queries.
    k : (..., S, d_k) array
        Keys.
    v : (..., S, d_v) array
        Values, one for each key.
    grad : (..., T, d_v) array
        Gradient of a loss with respect to the output of `attention`.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may attend to key s; nothing is masked if omitted.
    bias : (..., T or 1, S or 1) array, optional
        Added to the scaled scores; -inf masks a key, as `mask` does.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√d_k if omitted.

    Returns
    -------
    dq : (..., T, d_k) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dk : (..., S, d_k) array
    dv : (..., S, d_v) array
    dbias : (..., T or 1, S or 1) array, optional
        None without a bias.

    Notes
    -----
    Equation eq-attention-vjp; the derivatives of [vaswani2017]. A fully masked row contributes
    gradients of 0, a row of NaN contributes NaN.
    """
    if scale is None:
        scale = 1 / math.sqrt(max(q.shape[-1], 1))
    weights_TS = attention_weights(q, k, mask, bias, scale)
    dscores_TS = softmax_vjp(weights_TS, grad @ v.mT)
    dq = sum_to(q, scale * (dscores_TS @ k))
    dk = sum_to(k, scale * (dscores_TS.mT @ q))
    dv = sum_to(v, weights_TS.mT @ grad)
    dbias = None if bias is None else sum_to(bias, dscores_TS)
    return dq, dk, dv, dbias


def scale_of(q: np.ndarray, scale: float | None) -> float:
    """Return `scale`, or 1/√d_k if it is None."""
    return 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else scale


def sum_to(x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Return the gradient of `x` before broadcasting: `gradient` summed over the broadcast axes."""
    if gradient.shape == x.shape:
        return gradient
    gradient = np.broadcast_to(gradient, np.broadcast_shapes(gradient.shape, x.shape))
    n_new = gradient.ndim - x.ndim
    repeated = [i for i in range(gradient.ndim) if i < n_new or x.shape[i - n_new] == 1]
    return gradient.sum(axis=tuple(repeated), keepdims=True).reshape(x.shape)
