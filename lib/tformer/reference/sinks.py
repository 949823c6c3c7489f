"""Attention with sinks and soft caps: where weight goes that no value shall get (chapter 22)."""

import numpy as np

from tformer.reference.attention import scale_of, sum_to
from tformer.reference.equation import equation
from tformer.reference.groups import grouped_attention, sum_over_groups
from tformer.reference.masks import causal_mask
from tformer.reference.softmax import softmax, softmax_vjp

__all__ = ["sink_attention", "sink_attention_vjp", "soft_cap", "soft_cap_vjp"]

Four = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]


@equation
def soft_cap(x: np.ndarray, cap: float) -> np.ndarray:
    """Compute cap · tanh(x / cap) elementwise: near x where x is small, always within ±cap.

    Parameters
    ----------
    x : (...) array
        Scores or logits.
    cap : float, finite and above 0

    Returns
    -------
    (...) array

    Notes
    -----
    Equation eq-soft-cap; [gemma2024], section 2.
    """
    return cap * np.tanh(x / cap)


@equation
def soft_cap_vjp(x: np.ndarray, cap: float, grad: np.ndarray) -> np.ndarray:
    """Compute the vector-Jacobian product of `soft_cap`.

    Parameters
    ----------
    x : (...) array
    cap : float, finite and above 0
    grad : (...) array
        Gradient of a loss with respect to what `soft_cap` returned.

    Returns
    -------
    (...) array
        Same shape as x.

    Notes
    -----
    Equation eq-soft-cap-vjp; the derivative of [gemma2024], section 2.
    """
    return sum_to(x, grad * (1 - np.tanh(x / cap) ** 2))


@equation
def sink_attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    sinks: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    scale: float | None = None,
    cap: float | None = None,
    causal: bool = False,
    offset: int = 0,
) -> np.ndarray:
    """Compute grouped attention with a sink in each head, and with capped scores.

    Parameters
    ----------
    q : (..., H, T, d_k) array
        Queries of each head.
    k : (..., G, S, d_k) array
        Keys of each group.
    v : (..., G, S, d_v) array
        Values of each group, one for each key.
    sinks : (H,) array, optional
        A score of each head for a further key whose value is zero; none if omitted.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may attend to key s, in every head; nothing is masked if omitted.
    scale : float, finite and above 0, optional
        Multiplies the scores, not the sinks; 1/√d_k if omitted.
    cap : float, finite and above 0, optional
        Soft cap of the scaled scores, not of the sinks; none if omitted.
    causal : bool
        Whether to mask, in addition, every key at a later position than the query.
    offset : int, at least 0
        Position of the first query, for `causal`.

    Returns
    -------
    (..., H, T, d_v) array
        With a sink the weights of a row sum to less than 1; a fully masked row is zero.

    Notes
    -----
    Equation eq-sink-attention; [openai2025] for the sinks, whose form is that of [xiao2024] with a
    key that is learned; [gemma2024] for the cap.
    """
    if sinks is None and cap is None:
        return grouped_attention(q, k, v, mask, None, scale, causal, offset)
    weights, _ = _weights(q, k, sinks, mask, scale, cap, causal, offset)
    return weights[..., : k.shape[-2]] @ _of_heads(v, q)


@equation
def sink_attention_vjp(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    grad: np.ndarray,
    sinks: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    scale: float | None = None,
    cap: float | None = None,
    causal: bool = False,
    offset: int = 0,
) -> Four:
    """Compute the vector-Jacobian product of `sink_attention`.

    Parameters
    ----------
    q : (..., H, T, d_k) array
        Queries of each head.
    k : (..., G, S, d_k) array
        Keys of each group.
    v : (..., G, S, d_v) array
        Values of each group, one for each key.
    grad : (..., H, T, d_v) array
        Gradient of a loss with respect to what `sink_attention` returned.
    sinks : (H,) array, optional
        A score of each head for a further key whose value is zero; none if omitted.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may attend to key s, in every head; nothing is masked if omitted.
    scale : float, finite and above 0, optional
        Multiplies the scores, not the sinks; 1/√d_k if omitted.
    cap : float, finite and above 0, optional
        Soft cap of the scaled scores, not of the sinks; none if omitted.
    causal : bool
        Whether to mask, in addition, every key at a later position than the query.
    offset : int, at least 0
        Position of the first query, for `causal`.

    Returns
    -------
    dq : (..., H, T, d_k) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dk : (..., G, S, d_k) array
    dv : (..., G, S, d_v) array
    dsinks : (H,) array, optional
        None without sinks.

    Notes
    -----
    Equation eq-sink-attention-vjp; the derivatives of [openai2025].
    """
    weights, scores = _weights(q, k, sinks, mask, scale, cap, causal, offset)
    n_keys, k_H, v_H = k.shape[-2], _of_heads(k, q), _of_heads(v, q)
    dweights = grad @ v_H.mT
    if sinks is not None:
        none = np.zeros((*dweights.shape[:-1], 1), dweights.dtype)
        dweights = np.concatenate([dweights, none], axis=-1)
    dscores = softmax_vjp(weights, dweights)
    dsinks = None
    if sinks is not None:
        dsinks = sum_to(sinks, dscores[..., n_keys].sum(axis=-1))
    dscores = dscores[..., :n_keys]
    if cap is not None:
        dscores = dscores * (1 - np.tanh(scores / cap) ** 2)
    scale = scale_of(q, scale)
    dq = sum_to(q, scale * (dscores @ k_H))
    dk = sum_to(k, sum_over_groups(scale * (dscores.mT @ q), k.shape[-3]))
    dv = sum_to(v, sum_over_groups(weights[..., :n_keys].mT @ grad, v.shape[-3]))
    return dq, dk, dv, dsinks


def _weights(
    q: np.ndarray,
    k: np.ndarray,
    sinks: np.ndarray | None,
    mask: np.ndarray | None,
    scale: float | None,
    cap: float | None,
    causal: bool,
    offset: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights (..., H, T, S), a column more for a sink, and the scores uncapped."""
    scores = scale_of(q, scale) * (q @ _of_heads(k, q).mT)
    seen = scores if cap is None else soft_cap(scores, cap)
    if mask is not None:
        seen = np.where(mask[..., np.newaxis, :, :], seen, -np.inf)
    if causal:
        seen = np.where(causal_mask(q.shape[-2], k.shape[-2], offset), seen, -np.inf)
    if sinks is not None:
        column = np.broadcast_to(sinks[:, np.newaxis, np.newaxis], (*seen.shape[:-1], 1))
        seen = np.concatenate([seen, column], axis=-1)
    return softmax(seen), scores


def _of_heads(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Repeat the keys or values of each group for its heads."""
    return np.repeat(x, q.shape[-3] // x.shape[-3], axis=-3)
