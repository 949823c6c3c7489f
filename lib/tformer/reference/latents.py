"""Multi-head latent attention (MLA): all keys and values from one latent (chapter 22)."""

import math

import numpy as np

from tformer.layer_configuration import LayerConfiguration
from tformer.layers import LatentAttentionParameters, LatentCache
from tformer.parameters import NormParameters
from tformer.reference.attention import sum_to
from tformer.reference.equation import equation
from tformer.reference.feed_forward import linear_vjp
from tformer.reference.groups import grouped_attention, grouped_attention_vjp
from tformer.reference.norms import rms_norm, rms_norm_vjp
from tformer.reference.rotary import rotary_sinusoids, rotate_some, rotate_some_vjp

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
    dy, dw_o = _rows_vjp(y, p.w_o, grad[..., np.newaxis, :, :])
    dq, dk, dv, _ = grouped_attention_vjp(q, k, v, dy, mask, None, c.scale, causal)
    d_k, latent_H = p.w_k.shape[-1], latent[..., np.newaxis, :, :]
    dlatent_k, dw_k = _rows_vjp(latent_H, p.w_k, dk[..., :d_k])
    dlatent_v, dw_v = _rows_vjp(latent_H, p.w_v, dv)
    dlatent = (dlatent_k + dlatent_v)[..., 0, :, :]
    dk_r = dk[..., d_k:].sum(axis=-3)

    down = x @ p.w_kv_down
    d_c = p.kv_gain.shape[-1]
    sinusoids = _sinusoids(x, p, c, positions, 0)
    if sinusoids is not None:
        dk_r = rotate_some_vjp(dk_r, sinusoids, c.rotary.pairing)
        sinusoids_H = sinusoids[..., np.newaxis, :, :]
        dq = np.concatenate(
            [dq[..., :d_k], rotate_some_vjp(dq[..., d_k:], sinusoids_H, c.rotary.pairing)], axis=-1
        )
    dplain, dkv = rms_norm_vjp(down[..., :d_c], NormParameters(p.kv_gain), dlatent, c.latent_eps)
    ddown = np.concatenate([dplain, dk_r], axis=-1)
    dx, dw_kv_down, _ = linear_vjp(x, p.w_kv_down, None, ddown)
    source = x if p.w_q_down is None else x @ p.w_q_down
    normed = (
        source if p.q_gain is None else rms_norm(source, NormParameters(p.q_gain), c.latent_eps)
    )
    dnormed, dw_q = _rows_vjp(normed[..., np.newaxis, :, :], p.w_q, dq)
    dnormed, dq_gain, dw_q_down = dnormed[..., 0, :, :], None, None
    if p.q_gain is not None:
        dnormed, dnorm = rms_norm_vjp(source, NormParameters(p.q_gain), dnormed, c.latent_eps)
        dq_gain = dnorm.gain
    if p.w_q_down is not None:
        dnormed, dw_q_down, _ = linear_vjp(x, p.w_q_down, None, dnormed)
    grads = (dw_kv_down, dkv.gain, dw_q, dw_k, dw_v, dw_o, dw_q_down, dq_gain)
    return sum_to(x, dx + dnormed), LatentAttentionParameters(*grads)


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
    q, d_k = source[..., np.newaxis, :, :] @ p.w_q, p.w_k.shape[-1]
    down, d_c = x @ p.w_kv_down, p.kv_gain.shape[-1]
    latent = rms_norm(down[..., :d_c], NormParameters(p.kv_gain), c.latent_eps)
    k_r, sinusoids = down[..., d_c:], _sinusoids(x, p, c, positions, offset)
    if sinusoids is None:
        return q, latent, k_r
    rotated = rotate_some(q[..., d_k:], sinusoids[..., np.newaxis, :, :], c.rotary.pairing)
    plain = np.broadcast_to(q[..., :d_k], (*rotated.shape[:-1], d_k))
    k_r = rotate_some(k_r, sinusoids, c.rotary.pairing)
    return np.concatenate([plain, rotated], axis=-1), latent, k_r


def _sinusoids(
    x: np.ndarray,
    p: LatentAttentionParameters,
    c: LayerConfiguration,
    positions: np.ndarray | None,
    offset: int,
) -> np.ndarray | None:
    width = p.w_kv_down.shape[-1] - p.kv_gain.shape[-1]
    return rotary_sinusoids(x, width, c, positions, offset, whole=True)


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
    scale = 1 / math.sqrt(max(q.shape[-1], 1)) if c.scale is None else c.scale
    v = latent[..., np.newaxis, :, :]
    y = grouped_attention(q_c, k, v, mask, None, scale, causal, offset)
    return np.sum(y @ p.w_v @ p.w_o, axis=-3)


def _rows_vjp(x: np.ndarray, w: np.ndarray, grad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradients of x (..., H or 1, T, n) and w (H, n, m), for x @ w."""
    return sum_to(x, grad @ w.mT), sum_to(w, x.mT @ grad)
