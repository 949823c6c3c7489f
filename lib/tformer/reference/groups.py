"""Grouped-query attention: several query heads may share one key/value head (chapter 6).

The head axis of the queries is split in two, groups and heads of a group; keys and values get an
axis of size 1 for the heads of a group and broadcast. The gradients are computed in a loop over
the heads.
"""

from collections.abc import Iterator

import numpy as np

from tformer.reference.attention import attention, attention_vjp, attention_weights
from tformer.reference.equation import equation
from tformer.reference.masks import causal_mask

__all__ = ["grouped_attention", "grouped_attention_vjp", "grouped_attention_weights"]

Head = tuple[int, int, np.ndarray | None]


@equation
def grouped_attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
    causal: bool = False,
    offset: int = 0,
) -> np.ndarray:
    """Compute attention for every head; head h uses the keys and values of group h // (H / G).

    Parameters
    ----------
    q : (..., H, T, d_k) array
        Queries of each head.
    k : (..., G, S, d_k) array
        Keys of each group.
    v : (..., G, S, d_v) array
        Values of each group, one for each key.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may attend to key s, in every head; nothing is masked if omitted.
    bias : (..., H or 1, T or 1, S or 1) array, optional
        Added to the scaled scores of each head; a head axis of size 1 is shared by all heads.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√d_k if omitted.
    causal : bool
        Whether to mask, in addition, every key at a later position than the query.
    offset : int, at least 0
        Position of the first query, for `causal`: the length of the KV cache before it.

    Returns
    -------
    (..., H, T, d_v) array
        The output of each head. A fully masked row is zero.

    Notes
    -----
    Equation eq-grouped-attention; [ainslie2023], section 2.2, with one group as in [shazeer2019].
    """
    q_G, mask, bias = _split_heads(q, k, _causal(q, k, mask, causal, offset), bias)
    y = attention(q_G, k[..., np.newaxis, :, :], v[..., np.newaxis, :, :], mask, bias, scale)
    return _join_heads(y, q)


@equation
def grouped_attention_weights(
    q: np.ndarray,
    k: np.ndarray,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
    causal: bool = False,
    offset: int = 0,
) -> np.ndarray:
    """Compute the attention weights of every head; head h uses the keys of group h // (H / G).

    Parameters
    ----------
    q : (..., H, T, d_k) array
        Queries of each head.
    k : (..., G, S, d_k) array
        Keys of each group.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may attend to key s, in every head; nothing is masked if omitted.
    bias : (..., H or 1, T or 1, S or 1) array, optional
        Added to the scaled scores of each head; a head axis of size 1 is shared by all heads.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√d_k if omitted.
    causal : bool
        Whether to mask, in addition, every key at a later position than the query.
    offset : int, at least 0
        Position of the first query, for `causal`: the length of the KV cache before it.

    Returns
    -------
    (..., H, T, S) array
        Each row sums to one, or is zero if fully masked.

    Notes
    -----
    Equation eq-grouped-attention-weights; [ainslie2023], section 2.2.
    """
    q_G, mask, bias = _split_heads(q, k, _causal(q, k, mask, causal, offset), bias)
    return _join_heads(attention_weights(q_G, k[..., np.newaxis, :, :], mask, bias, scale), q)


@equation
def grouped_attention_vjp(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    grad: np.ndarray,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
    causal: bool = False,
    offset: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Compute the vector-Jacobian product of `grouped_attention`.

    Parameters
    ----------
    q : (..., H, T, d_k) array
        Queries of each head.
    k : (..., G, S, d_k) array
        Keys of each group.
    v : (..., G, S, d_v) array
        Values of each group, one for each key.
    grad : (..., H, T, d_v) array
        Gradient of a loss with respect to the output of `grouped_attention`.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may attend to key s, in every head; nothing is masked if omitted.
    bias : (..., H or 1, T or 1, S or 1) array, optional
        Added to the scaled scores of each head; a head axis of size 1 is shared by all heads.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√d_k if omitted.
    causal : bool
        Whether to mask, in addition, every key at a later position than the query.
    offset : int, at least 0
        Position of the first query, for `causal`: the length of the KV cache before it.

    Returns
    -------
    dq : (..., H, T, d_k) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dk : (..., G, S, d_k) array
        Summed over the heads of each group, as dv is.
    dv : (..., G, S, d_v) array
    dbias : (..., H or 1, T or 1, S or 1) array, optional
        None without a bias.

    Notes
    -----
    Equation eq-grouped-attention-vjp; the derivatives of [ainslie2023], section 2.2.
    """
    mask = _causal(q, k, mask, causal, offset)
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    dbias = None if bias is None else np.zeros_like(bias)
    for h, g, bias_h in _heads(q, k, bias):
        head = q[..., h, :, :], k[..., g, :, :], v[..., g, :, :], grad[..., h, :, :]
        dq_h, dk_h, dv_h, dbias_h = attention_vjp(*head, mask, bias_h, scale)
        dq[..., h, :, :] += dq_h
        dk[..., g, :, :] += dk_h
        dv[..., g, :, :] += dv_h
        if dbias is not None:
            dbias[..., h % dbias.shape[-3], :, :] += dbias_h
    return dq, dk, dv, dbias


def _causal(
    q: np.ndarray, k: np.ndarray, mask: np.ndarray | None, causal: bool, offset: int
) -> np.ndarray | None:
    """Combine the mask with the causal mask if `causal` is true."""
    if not causal or k.shape[-2] <= offset + 1:  # no key is at a later position than a query
        return mask
    past = causal_mask(q.shape[-2], k.shape[-2], offset)
    return past if mask is None else mask & past


def _heads(q: np.ndarray, k: np.ndarray, bias: np.ndarray | None) -> Iterator[Head]:
    """Yield each head with its group and its bias."""
    size = q.shape[-3] // k.shape[-3]
    for h in range(q.shape[-3]):
        yield h, h // size, None if bias is None else bias[..., h % bias.shape[-3], :, :]


def sum_over_groups(dx: np.ndarray, n_groups: int) -> np.ndarray:
    """Sum what the heads of each group have, (..., H, T, n), to (..., G, T, n)."""
    split = dx.reshape(*dx.shape[:-3], n_groups, dx.shape[-3] // n_groups, *dx.shape[-2:])
    return split.sum(axis=-3)


def _split_heads(
    q: np.ndarray, k: np.ndarray, mask: np.ndarray | None, bias: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Split the head axis of queries, mask and bias in two: groups, and heads of a group."""
    groups = (k.shape[-3], q.shape[-3] // k.shape[-3])
    q_G = q.reshape(*q.shape[:-3], *groups, *q.shape[-2:])
    if mask is not None:
        mask = mask[..., np.newaxis, np.newaxis, :, :]
    if bias is not None:
        heads = (1, 1) if bias.shape[-3] == 1 else groups
        bias = bias.reshape(*bias.shape[:-3], *heads, *bias.shape[-2:])
    return q_G, mask, bias


def _join_heads(x_G: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Join the two axes, groups and heads of a group, to one axis of heads."""
    return x_G.reshape(*x_G.shape[:-4], q.shape[-3], *x_G.shape[-2:])
