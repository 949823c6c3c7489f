"""Attention with what released models add: QK-norm, partial RoPE, sinks, gates (chapter 22)."""

import numpy as np
from scipy.special import expit

from tformer.layer_configuration import LayerConfiguration
from tformer.layers import AttentionParameters
from tformer.parameters import KVCache, tree_map
from tformer.reference.activations import sigmoid_vjp
from tformer.reference.attention import sum_to
from tformer.reference.equation import equation
from tformer.reference.projections import (
    extend_cache,
    heads_vjp,
    merge,
    merge_vjp,
    project,
    project_vjp,
)
from tformer.reference.rotary import positions_of, rotary_sinusoids, rotate_some, rotate_some_vjp
from tformer.reference.sinks import sink_attention, sink_attention_vjp

__all__ = ["extended_attention", "extended_attention_vjp"]

NORMED_AXES = {"head": (-1,), "projection": (-3, -1)}
"""The axes of queries (..., H, T, d_k) whose mean square QK-norm takes."""
V_NORMS = {True: "head", False: "none"}


@equation
def extended_attention(
    x: np.ndarray,
    parameters: AttentionParameters,
    configuration: LayerConfiguration,
    mask: np.ndarray | None = None,
    positions: np.ndarray | None = None,
    causal: bool = False,
) -> np.ndarray:
    """Compute attention with QK-norm, RoPE, sinks, a soft cap and a gate, those that there are.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : AttentionParameters
    configuration : LayerConfiguration
        Its qk_norm, qk_norm_last, rotary, temperature, value_scale, scale, cap and eps; its window
        and chunk are masks, which `layer` makes.
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
        If an odd number of coordinates is to be rotated.

    Notes
    -----
    Equation eq-extended-attention; [vaswani2017], section 3.2.2, with the norms of [dehghani2023],
    the sinks of [openai2025] and the gate of [qiu2025].
    """
    return cached_attention(x, parameters, configuration, None, mask, positions, causal)[0]


@equation
def extended_attention_vjp(
    x: np.ndarray,
    parameters: AttentionParameters,
    configuration: LayerConfiguration,
    grad: np.ndarray,
    mask: np.ndarray | None = None,
    positions: np.ndarray | None = None,
    causal: bool = False,
) -> tuple[np.ndarray, AttentionParameters]:
    """Compute the vector-Jacobian product of `extended_attention`.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : AttentionParameters
    configuration : LayerConfiguration
        As in `extended_attention`.
    grad : (..., T, d_model) array
        Gradient of a loss with respect to what `extended_attention` returned.
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
    dparameters : AttentionParameters

    Raises
    ------
    ShapeError
        If an odd number of coordinates is to be rotated.

    Notes
    -----
    Equation eq-extended-attention-vjp; the derivatives of [vaswani2017], section 3.2.2.
    """
    p, c = parameters, configuration
    q, k, v = project(x, p.heads)
    ready_q, ready_k, ready_v = prepared(x, (q, k, v), p, c, positions, 0)
    options = (p.sinks, mask, c.scale, c.cap, causal)
    y = sink_attention(ready_q, ready_k, ready_v, *options)
    logits = None if p.w_gate is None else _gate_logits(x, p)
    gate = 1.0 if logits is None else expit(logits)
    dgated, dmerge = merge_vjp(y * gate, p.heads, grad)
    *dready, dsinks = sink_attention_vjp(ready_q, ready_k, ready_v, dgated * gate, *options)
    dq, dk, dv, dq_gain, dk_gain = prepared_vjp(x, (q, k, v), dready, p, c, positions)
    dx, dproject, _ = project_vjp(x, p.heads, dq, dk, dv)
    dw_gate = None
    if logits is not None:
        dlogits = sigmoid_vjp(logits, sum_to(logits, dgated * y))
        dx_H, dw_gate = heads_vjp(x[..., np.newaxis, :, :], p.w_gate, dlogits)
        dx = dx + dx_H[..., 0, :, :]
    heads = tree_map(np.add, dmerge, dproject)
    return sum_to(x, dx), AttentionParameters(heads, dq_gain, dk_gain, dsinks, dw_gate)


def cached_attention(
    x: np.ndarray,
    parameters: AttentionParameters,
    configuration: LayerConfiguration,
    cache: KVCache | None,
    mask: np.ndarray | None,
    positions: np.ndarray | None,
    causal: bool,
) -> tuple[np.ndarray, KVCache]:
    """Attend to the cached tokens and the new ones; also return the extended KV cache."""
    p, c, offset = parameters, configuration, 0 if cache is None else cache.length
    q, k, v = prepared(x, project(x, p.heads), p, c, positions, offset)
    cache = extend_cache(cache, k, v)
    y = sink_attention(q, cache.k, cache.v, p.sinks, mask, c.scale, c.cap, causal, offset)
    if p.w_gate is not None:
        y = y * expit(_gate_logits(x, p))
    return merge(y, p.heads), cache


def _gate_logits(x: np.ndarray, p: AttentionParameters) -> np.ndarray:
    return x[..., np.newaxis, :, :] @ p.w_gate


def prepared(
    x: np.ndarray,
    qkv: tuple[np.ndarray, np.ndarray, np.ndarray],
    p: AttentionParameters,
    c: LayerConfiguration,
    positions: np.ndarray | None,
    offset: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return queries, keys and values as attention takes them: normalised, rotated, scaled."""
    q, k, v = qkv
    q, k = (
        turned(x, q, p.q_gain, c, positions, offset),
        turned(x, k, p.k_gain, c, positions, offset),
    )
    v = _qk_norm(v, None, V_NORMS[c.v_norm], c.eps)
    return q * temperature(x, c, positions, offset), k, c.value_scale * v


def prepared_vjp(
    x: np.ndarray,
    qkv: tuple[np.ndarray, np.ndarray, np.ndarray],
    dready: list[np.ndarray],
    p: AttentionParameters,
    c: LayerConfiguration,
    positions: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return the gradients of q, k, v and of the gains, for `prepared`."""
    (q, k, v), (dq, dk, dv) = qkv, dready
    dq = dq * temperature(x, c, positions, 0)
    dq, dq_gain = turned_vjp(x, q, p.q_gain, c, positions, dq)
    dk, dk_gain = turned_vjp(x, k, p.k_gain, c, positions, dk)
    dv, _ = _qk_norm_vjp(v, None, V_NORMS[c.v_norm], c.eps, c.value_scale * dv)
    return dq, dk, dv, dq_gain, dk_gain


def turned(
    x: np.ndarray,
    one: np.ndarray,
    gain: np.ndarray | None,
    c: LayerConfiguration,
    positions: np.ndarray | None,
    offset: int,
) -> np.ndarray:
    """Return the queries or the keys (..., T, d_k) of the tokens x, normalised and rotated."""
    if not c.qk_norm_last:
        one = _qk_norm(one, gain, c.qk_norm, c.eps)
    if (sinusoids := _sinusoids(x, one, c, positions, offset)) is not None:
        one = rotate_some(one, sinusoids, c.rotary.pairing)  # type: ignore[union-attr]
    return _qk_norm(one, gain, c.qk_norm, c.eps) if c.qk_norm_last else one


def turned_vjp(
    x: np.ndarray,
    one: np.ndarray,
    gain: np.ndarray | None,
    c: LayerConfiguration,
    positions: np.ndarray | None,
    grad: np.ndarray,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the gradients of the queries or the keys and of their gain, for `turned`."""
    sinusoids, dgain = _sinusoids(x, one, c, positions, 0), None
    if c.qk_norm_last:
        rotated = one if sinusoids is None else rotate_some(one, sinusoids, c.rotary.pairing)  # type: ignore[union-attr]
        grad, dgain = _qk_norm_vjp(rotated, gain, c.qk_norm, c.eps, grad)
    if sinusoids is not None:
        grad = rotate_some_vjp(grad, sinusoids, c.rotary.pairing)  # type: ignore[union-attr]
    if c.qk_norm_last:
        return grad, dgain
    return _qk_norm_vjp(one, gain, c.qk_norm, c.eps, grad)


def _sinusoids(
    x: np.ndarray,
    one: np.ndarray,
    c: LayerConfiguration,
    positions: np.ndarray | None,
    offset: int,
) -> np.ndarray | None:
    found = rotary_sinusoids(x, one.shape[-1], c, positions, offset)
    return None if found is None else found[..., np.newaxis, :, :]


def temperature(
    x: np.ndarray, c: LayerConfiguration, positions: np.ndarray | None, offset: int
) -> np.ndarray | float:
    """Return what multiplies the query of each token, as (..., 1, T, 1)."""
    if c.temperature is None:
        return 1.0
    floor, slope = c.temperature
    at = positions_of(x, positions, offset)
    factors = 1 + slope * np.log1p(np.floor((at + 1) / floor))
    return factors[..., np.newaxis, :, np.newaxis].astype(x.dtype)


def _qk_norm(x: np.ndarray, gain: np.ndarray | None, kind: str, eps: float) -> np.ndarray:
    """Apply the RMSNorm of queries or keys, with its gain (H or 1, d_k) if there is one."""
    if kind == "none":
        return x
    y, _ = _over_size(x, kind, eps)
    return y if gain is None else y * gain[:, np.newaxis, :]


def _qk_norm_vjp(
    x: np.ndarray, gain: np.ndarray | None, kind: str, eps: float, grad: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Compute the vector-Jacobian product of `_qk_norm`: gradients of x and of the gain."""
    if kind == "none":
        return grad, None if gain is None else np.zeros_like(gain)
    y, size = _over_size(x, kind, eps)
    dgain = None if gain is None else sum_to(gain, (grad * y).sum(axis=-2))
    dy = grad if gain is None else grad * gain[:, np.newaxis, :]
    return (dy - y * _mean(dy * y, NORMED_AXES[kind])) / size, dgain


def _over_size(x: np.ndarray, kind: str, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """Return queries or keys divided by their root mean square, and that."""
    size = np.sqrt(_mean(x * x, NORMED_AXES[kind]) + eps)
    return x / size, size


def _mean(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return the mean over the axes, which are kept with size 1; 0 for empty ones."""
    n = max(int(np.prod([x.shape[axis] for axis in axes])), 1)
    return x.sum(axis=axes, keepdims=True) / n
