"""Multi-head latent attention (MLA): all keys and values from one latent (chapter 22)."""

from typing import Any

import numpy as np

from tformer.layer_configuration import LayerConfiguration
from tformer.layers import LatentAttentionParameters, LatentCache
from tformer.parameters import NormParameters
from tformer.reference.attention import scale_of, sum_to
from tformer.reference.equation import equation
from tformer.reference.feed_forward import linear_vjp
from tformer.reference.groups import grouped_attention, grouped_attention_vjp
from tformer.reference.norms import rms_norm, rms_norm_vjp
from tformer.reference.positions import rope, rope_vjp
from tformer.reference.projections import heads_vjp
from tformer.reference.rotary import rotary_sinusoids

__all__ = ["absorbed_latent_attention", "latent_attention", "latent_attention_vjp"]


@equation
def latent_attention(
    x: np.ndarray,
    parameters: LatentAttentionParameters,
    configuration: LayerConfiguration,
    mask: np.ndarray | None = None,
    positions: np.ndarray | None = None,
    causal: bool = False,
) -> np.ndarray:
    """Compute multi-head latent attention: keys and values of all heads from one latent a token.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : LatentAttentionParameters
    configuration : LayerConfiguration
        Its rotary, scale and latent_eps; the scale is 1/√(d_k + d_r) if omitted.
    mask : (..., T or 1, T or 1) boolean array, optional
        True where token t may attend to token s; nothing is masked if omitted.
    positions : (..., T) integer array, optional
        Position of each token; 0, 1, 2, … if omitted.
    causal : bool
        Whether to apply the causal mask.

    Returns
    -------
    (..., T, d_model) array

    Raises
    ------
    ShapeError
        If d_r is odd and there is RoPE.

    Notes
    -----
    Equation eq-latent-attention; [deepseek2024], section 2.1.2, and [deepseek2024b], section 2.1.1.
    """
    p, c = parameters, configuration
    q, latent, k_r = _queries_and_latents(x, p, c, positions, 0)
    k, v = _keys_and_values(latent, k_r, p)
    y = grouped_attention(q, k, v, mask, None, c.scale, causal)
    return np.sum(y @ p.w_o, axis=-3)


@equation
def absorbed_latent_attention(
    x: np.ndarray,
    parameters: LatentAttentionParameters,
    configuration: LayerConfiguration,
    mask: np.ndarray | None = None,
    positions: np.ndarray | None = None,
    causal: bool = False,
) -> np.ndarray:
    """Compute `latent_attention` as multi-query attention: the latents are the keys and values.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : LatentAttentionParameters
    configuration : LayerConfiguration
        Its rotary, scale and latent_eps; the scale is 1/√(d_k + d_r) if omitted.
    mask : (..., T or 1, T or 1) boolean array, optional
        True where token t may attend to token s; nothing is masked if omitted.
    positions : (..., T) integer array, optional
        Position of each token; 0, 1, 2, … if omitted.
    causal : bool
        Whether to apply the causal mask.

    Returns
    -------
    (..., T, d_model) array
        What `latent_attention` returns.

    Raises
    ------
    ShapeError
        If d_r is odd and there is RoPE.

    Notes
    -----
    Equation eq-absorbed-latent-attention; [deepseek2024], section 2.1.2 and appendix C. w_k is
    applied to the queries and w_v to the output, so no key or value of a head is computed.
    """
    p, c = parameters, configuration
    q, latent, k_r = _queries_and_latents(x, p, c, positions, 0)
    return _absorbed(q, latent, k_r, p, c, mask, causal, 0)


@equation
def latent_attention_vjp(
    x: np.ndarray,
    parameters: LatentAttentionParameters,
    configuration: LayerConfiguration,
    grad: np.ndarray,
    mask: np.ndarray | None = None,
    positions: np.ndarray | None = None,
    causal: bool = False,
) -> tuple[np.ndarray, LatentAttentionParameters]:
    """Compute the vector-Jacobian product of `latent_attention`.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : LatentAttentionParameters
    configuration : LayerConfiguration
        Its rotary, scale and latent_eps; the scale is 1/√(d_k + d_r) if omitted.
    grad : (..., T, d_model) array
        Gradient of a loss with respect to what `latent_attention` returned.
    mask : (..., T or 1, T or 1) boolean array, optional
        True where token t may attend to token s; nothing is masked if omitted.
    positions : (..., T) integer array, optional
        Position of each token; 0, 1, 2, … if omitted.
    causal : bool
        Whether to apply the causal mask.

    Returns
    -------
    dx : (..., T, d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : LatentAttentionParameters

    Raises
    ------
    ShapeError
        If d_r is odd and there is RoPE.

    Notes
    -----
    Equation eq-latent-attention-vjp; the derivatives of [deepseek2024], section 2.1.2.
    """
    p, c = parameters, configuration
    q, latent, k_r = _queries_and_latents(x, p, c, positions, 0)
    k, v = _keys_and_values(latent, k_r, p)
    y = grouped_attention(q, k, v, mask, None, c.scale, causal)
    dy, dw_o = heads_vjp(y, p.w_o, grad[..., np.newaxis, :, :])
    dq, dk, dv, _ = grouped_attention_vjp(q, k, v, dy, mask, None, c.scale, causal)
    d_k, latent_H = p.w_k.shape[-1], latent[..., np.newaxis, :, :]
    dlatent_k, dw_k = heads_vjp(latent_H, p.w_k, dk[..., :d_k])
    dlatent_v, dw_v = heads_vjp(latent_H, p.w_v, dv)
    dlatent = (dlatent_k + dlatent_v)[..., 0, :, :]
    dq, dq_r, dk_r = dq[..., :d_k], dq[..., d_k:], dk[..., d_k:].sum(axis=-3)
    sinusoids = _sinusoids(x, p, c, positions, 0)
    if c.rotary is not None and sinusoids is not None:
        dq_r = rope_vjp(sinusoids[..., np.newaxis, :, :], dq_r, c.rotary.pairing)
        dk_r = rope_vjp(sinusoids, dk_r, c.rotary.pairing)
    down, norm = x @ p.w_kv_down, NormParameters(p.kv_gain)
    ddown, dkv = rms_norm_vjp(down, norm, dlatent, c.latent_eps)
    dx, dw_kv_down, _ = linear_vjp(x, p.w_kv_down, None, ddown)
    dx_shared, dw_k_shared, _ = linear_vjp(x, p.w_k_shared, None, dk_r)
    dx_q, *dqueries = _queries_vjp(x, p, c, dq, dq_r)
    dw_q, dw_q_shared, dw_q_down, dq_gain = dqueries
    grads = (dw_kv_down, dkv.gain, dw_q, dw_k, dw_v, dw_o, dw_k_shared, dw_q_shared)
    dparameters = LatentAttentionParameters(*grads, dw_q_down, dq_gain)
    return sum_to(x, dx + dx_shared + dx_q), dparameters


def _queries_vjp(
    x: np.ndarray,
    p: LatentAttentionParameters,
    c: LayerConfiguration,
    dq: np.ndarray,
    dq_r: np.ndarray,
) -> tuple[Any, ...]:
    """Return the gradients of x, w_q, w_q_shared, w_q_down and q_gain, for the queries."""
    source, normed = x if p.w_q_down is None else x @ p.w_q_down, NormParameters(p.q_gain)
    inputs = source if p.q_gain is None else rms_norm(source, normed, c.latent_eps)
    dinputs, dw_q = heads_vjp(inputs[..., np.newaxis, :, :], p.w_q, dq)
    dinputs_r, dw_q_shared = heads_vjp(inputs[..., np.newaxis, :, :], p.w_q_shared, dq_r)
    dsource, dnorm, dw_q_down = (dinputs + dinputs_r)[..., 0, :, :], NormParameters(), None
    if p.q_gain is not None:
        dsource, dnorm = rms_norm_vjp(source, normed, dsource, c.latent_eps)
    if p.w_q_down is not None:
        dsource, dw_q_down, _ = linear_vjp(x, p.w_q_down, None, dsource)
    return dsource, dw_q, dw_q_shared, dw_q_down, dnorm.gain


def cached_latent_attention(
    x: np.ndarray,
    parameters: LatentAttentionParameters,
    configuration: LayerConfiguration,
    cache: LatentCache | None,
    mask: np.ndarray | None,
    positions: np.ndarray | None,
    causal: bool,
) -> tuple[np.ndarray, LatentCache]:
    """Attend, absorbed, to the cached tokens and the new ones; also return the extended cache."""
    p, c, offset = parameters, configuration, 0 if cache is None else cache.length
    q, latent, k_r = _queries_and_latents(x, p, c, positions, offset)
    if cache is not None:
        latent = np.concatenate([cache.latent, latent], axis=-2)
        k_r = np.concatenate([cache.k, k_r], axis=-2)
    return _absorbed(q, latent, k_r, p, c, mask, causal, offset), LatentCache(latent, k_r)


def _queries_and_latents(
    x: np.ndarray,
    p: LatentAttentionParameters,
    c: LayerConfiguration,
    positions: np.ndarray | None,
    offset: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return queries (..., H, T, d_k + d_r), latents (..., T, d_c), shared keys (..., T, d_r)."""
    source = x if p.w_q_down is None else x @ p.w_q_down
    if p.q_gain is not None:
        source = rms_norm(source, NormParameters(p.q_gain), c.latent_eps)
    source_H = source[..., np.newaxis, :, :]
    q, q_r, k_r = source_H @ p.w_q, source_H @ p.w_q_shared, x @ p.w_k_shared
    latent = rms_norm(x @ p.w_kv_down, NormParameters(p.kv_gain), c.latent_eps)
    sinusoids = _sinusoids(x, p, c, positions, offset)
    if c.rotary is not None and sinusoids is not None:
        q_r = rope(q_r, sinusoids[..., np.newaxis, :, :], c.rotary.pairing)
        k_r = rope(k_r, sinusoids, c.rotary.pairing)
        q = np.broadcast_to(q, (*q_r.shape[:-1], q.shape[-1]))
        latent = np.broadcast_to(latent, (*k_r.shape[:-1], latent.shape[-1]))
    return np.concatenate([q, q_r], axis=-1), latent, k_r


def _sinusoids(
    x: np.ndarray,
    p: LatentAttentionParameters,
    c: LayerConfiguration,
    positions: np.ndarray | None,
    offset: int,
) -> np.ndarray | None:
    return rotary_sinusoids(x, p.w_k_shared.shape[-1], c, positions, offset, whole=True)


def _keys_and_values(
    latent: np.ndarray, k_r: np.ndarray, p: LatentAttentionParameters
) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys and the values of each head."""
    latent_H, k_r_H = latent[..., np.newaxis, :, :], k_r[..., np.newaxis, :, :]
    k, v = latent_H @ p.w_k, latent_H @ p.w_v
    shared = np.broadcast_to(k_r_H, (*k.shape[:-1], k_r.shape[-1]))
    return np.concatenate([k, shared], axis=-1), v


def _absorbed(
    q: np.ndarray,
    latent: np.ndarray,
    k_r: np.ndarray,
    p: LatentAttentionParameters,
    c: LayerConfiguration,
    mask: np.ndarray | None,
    causal: bool,
    offset: int,
) -> np.ndarray:
    """Attend from absorbed queries to the latents, and apply w_v and w_o to what comes out."""
    d_k = p.w_k.shape[-1]
    q_c = np.concatenate([q[..., :d_k] @ p.w_k.mT, q[..., d_k:]], axis=-1)
    k = np.concatenate([latent, k_r], axis=-1)[..., np.newaxis, :, :]
    scale = scale_of(q, c.scale)
    v = latent[..., np.newaxis, :, :]
    y = grouped_attention(q_c, k, v, mask, None, scale, causal, offset)
    return np.sum(y @ p.w_v @ p.w_o, axis=-3)
