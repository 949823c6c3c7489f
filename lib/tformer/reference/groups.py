"""Attention of every head, where several heads may share keys and values (chapter 6).

Queries get an axis for the groups and one for the heads of a group, and keys and values an axis of
size 1 there: so each head finds those of its group. The gradients go through the heads in a loop.
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
    """Attention of every head; head h looks up the keys and values of group h // (H / G).

    Parameters
    ----------
    q : (..., H, T, d_k) array
        Queries of each head.
    k : (..., G, S, d_k) array
        Keys of each group.
    v : (..., G, S, d_v) array
        Values of each group, one for each key.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may look at key s, in every head; without it, everywhere.
    bias : (..., H or 1, T or 1, S or 1) array, optional
        Added to the scaled scores of each head, or of all.
    scale : float, finite and above 0, optional
        Factor of the scores; 1/√d_k if left out.
    causal : bool
        Whether keys after the position of a query are masked as well.
    offset : int, at least 0
        Position of the first query, for `causal`: the length of the cache before these words.

    Returns
    -------
    (..., H, T, d_v) array
        The output of each head. A fully masked row is zero.

    Notes
    -----
    Equation eq-grouped-attention; [ainslie2023], section 2.2, with one group as in [shazeer2019].
    """
    q_G, mask, bias = _by_groups(q, k, _causal(q, k, mask, causal, offset), bias)
    y = attention(q_G, k[..., np.newaxis, :, :], v[..., np.newaxis, :, :], mask, bias, scale)
    return _by_heads(y, q)


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
    """The table of weights of every head: how much query t takes of value s there.

    Parameters
    ----------
    q : (..., H, T, d_k) array
        Queries of each head.
    k : (..., G, S, d_k) array
        Keys of each group.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may look at key s, in every head; without it, everywhere.
    bias : (..., H or 1, T or 1, S or 1) array, optional
        Added to the scaled scores of each head, or of all.
    scale : float, finite and above 0, optional
        Factor of the scores; 1/√d_k if left out.
    causal : bool
        Whether keys after the position of a query are masked as well.
    offset : int, at least 0
        Position of the first query, for `causal`: the length of the cache before these words.

    Returns
    -------
    (..., H, T, S) array
        Each row sums to one, or is zero if fully masked.

    Notes
    -----
    Equation eq-grouped-attention-weights; [ainslie2023], section 2.2.
    """
    q_G, mask, bias = _by_groups(q, k, _causal(q, k, mask, causal, offset), bias)
    return _by_heads(attention_weights(q_G, k[..., np.newaxis, :, :], mask, bias, scale), q)


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
    """Vector-Jacobian product of `grouped_attention`: what is shared gathers from all its heads.

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
        True where query t may look at key s, in every head; without it, everywhere.
    bias : (..., H or 1, T or 1, S or 1) array, optional
        Added to the scaled scores of each head, or of all.
    scale : float, finite and above 0, optional
        Factor of the scores; 1/√d_k if left out.
    causal : bool
        Whether keys after the position of a query are masked as well.
    offset : int, at least 0
        Position of the first query, for `causal`: the length of the cache before these words.

    Returns
    -------
    dq : (..., H, T, d_k) array
        Each gradient has the shape of its argument: axes along which that was repeated are summed.
    dk : (..., G, S, d_k) array
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
    for h, g, table in _heads(q, k, bias):
        head = q[..., h, :, :], k[..., g, :, :], v[..., g, :, :], grad[..., h, :, :]
        dq_h, dk_h, dv_h, dtable = attention_vjp(*head, mask, table, scale)
        dq[..., h, :, :] += dq_h
        dk[..., g, :, :] += dk_h
        dv[..., g, :, :] += dv_h
        if dbias is not None:
            dbias[..., h % dbias.shape[-3], :, :] += dtable
    return dq, dk, dv, dbias


def _causal(
    q: np.ndarray, k: np.ndarray, mask: np.ndarray | None, causal: bool, offset: int
) -> np.ndarray | None:
    """The mask, and no key after a query's position."""
    if not causal or k.shape[-2] <= offset + 1:  # no key stands after any query
        return mask
    no_later = causal_mask(q.shape[-2], k.shape[-2], offset)
    return no_later if mask is None else mask & no_later


def _heads(q: np.ndarray, k: np.ndarray, bias: np.ndarray | None) -> Iterator[Head]:
    """Each head, its group, and its bias."""
    size = q.shape[-3] // k.shape[-3]
    for h in range(q.shape[-3]):
        yield h, h // size, None if bias is None else bias[..., h % bias.shape[-3], :, :]


def _by_groups(
    q: np.ndarray, k: np.ndarray, mask: np.ndarray | None, bias: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Queries, mask and bias with an axis for the groups and one for the heads of a group."""
    groups = (k.shape[-3], q.shape[-3] // k.shape[-3])
    q_G = q.reshape(*q.shape[:-3], *groups, *q.shape[-2:])
    if mask is not None:
        mask = mask[..., np.newaxis, np.newaxis, :, :]
    if bias is not None:
        those = (1, 1) if bias.shape[-3] == 1 else groups
        bias = bias.reshape(*bias.shape[:-3], *those, *bias.shape[-2:])
    return q_G, mask, bias


def _by_heads(x_G: np.ndarray, q: np.ndarray) -> np.ndarray:
    """What the heads of all groups give, with one axis for all heads."""
    return x_G.reshape(*x_G.shape[:-4], q.shape[-3], *x_G.shape[-2:])
