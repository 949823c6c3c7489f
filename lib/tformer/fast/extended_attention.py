"""Attention with what released models add: QK-norm, partial RoPE, sinks, gates (chapter 22)."""

import math

import torch
from torch import Tensor

from tformer.fast._kernels import widened
from tformer.fast.projections import extend_cache, merge, project
from tformer.fast.rotary import positions_of, rotary_sinusoids, rotate_some
from tformer.fast.sinks import sink_attention
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.layer_configuration import LayerConfiguration
from tformer.layers import AttentionParameters
from tformer.parameters import KVCache

__all__ = ["extended_attention", "extended_attention_vjp"]

NORMED_AXES = {"head": (-1,), "projection": (-3, -1)}
"""The axes of queries (..., H, T, d_k) whose mean square QK-norm takes."""


@twin
def extended_attention(
    x: Tensor,
    parameters: AttentionParameters,
    configuration: LayerConfiguration,
    mask: Tensor | None = None,
    positions: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """On a CPU half precision is widened to float32."""
    dtype = x.dtype
    x, p = widened(x, parameters)
    return cached_attention(x, p, configuration, None, mask, positions, causal)[0].to(dtype)


@twin
def extended_attention_vjp(
    x: Tensor,
    parameters: AttentionParameters,
    configuration: LayerConfiguration,
    grad: Tensor,
    mask: Tensor | None = None,
    positions: Tensor | None = None,
    causal: bool = False,
) -> tuple[Tensor, AttentionParameters]:
    """Computed by PyTorch's autograd from `extended_attention`."""

    def attend(x: Tensor, p: AttentionParameters) -> Tensor:
        return extended_attention(x, p, configuration, mask, positions, causal)

    return vjp(attend, (x, parameters), grad)


def cached_attention(
    x: Tensor,
    parameters: AttentionParameters,
    configuration: LayerConfiguration,
    cache: KVCache | None,
    mask: Tensor | None,
    positions: Tensor | None,
    causal: bool,
) -> tuple[Tensor, KVCache]:
    """Attend to the cached tokens and the new ones; also return the extended KV cache."""
    p, c, offset = parameters, configuration, 0 if cache is None else cache.length
    q, k, v = project(x, p.heads)
    q = ready_queries(x, q, p.q_gain, c, positions, offset)
    cache = extend_cache(cache, *ready_keys(x, k, v, p.k_gain, c, positions, offset))
    y = sink_attention(q, cache.k, cache.v, p.sinks, mask, c.scale, c.cap, causal, offset)
    if p.w_gate is not None:
        y = y * torch.sigmoid(x.unsqueeze(-3) @ p.w_gate)
    return merge(y, p.heads), cache


def ready_queries(
    x: Tensor,
    q: Tensor,
    gain: Tensor | None,
    c: LayerConfiguration,
    positions: Tensor | None,
    offset: int,
) -> Tensor:
    """Return the queries of the tokens x as attention takes them."""
    q = _turned(x, q, gain, c, positions, offset)
    if c.temperature is None:
        return q
    return q * _temperature(x, c.temperature, positions, offset)


def ready_keys(
    x: Tensor,
    k: Tensor,
    v: Tensor,
    gain: Tensor | None,
    c: LayerConfiguration,
    positions: Tensor | None,
    offset: int,
) -> tuple[Tensor, Tensor]:
    """Return the keys and values of the tokens x as attention takes them."""
    v = _qk_norm(v, None, "head" if c.v_norm else "none", c.eps)
    return _turned(x, k, gain, c, positions, offset), c.value_scale * v


def _turned(
    x: Tensor,
    one: Tensor,
    gain: Tensor | None,
    c: LayerConfiguration,
    positions: Tensor | None,
    offset: int,
) -> Tensor:
    """Return queries or keys (..., T, d_k), normalised and rotated."""
    if not c.qk_norm_last:
        one = _qk_norm(one, gain, c.qk_norm, c.eps)
    sinusoids = rotary_sinusoids(x, one.shape[-1], c, positions, offset)
    if c.rotary is not None and sinusoids is not None:
        one = rotate_some(one, sinusoids.unsqueeze(-3), c.rotary.pairing)
    return _qk_norm(one, gain, c.qk_norm, c.eps) if c.qk_norm_last else one


def _temperature(
    x: Tensor, temperature: tuple[int, float], positions: Tensor | None, offset: int
) -> Tensor:
    """Return what multiplies the query of each token, as (..., 1, T, 1)."""
    floor, slope = temperature
    steps = ((positions_of(x, positions, offset).double() + 1) / floor).floor()
    return (1 + slope * steps.log1p())[..., None, :, None].to(x.dtype)


def _qk_norm(x: Tensor, gain: Tensor | None, kind: str, eps: float) -> Tensor:
    """Apply the RMSNorm of queries or keys, with its gain (H or 1, d_k) if there is one."""
    if kind == "none":
        return x
    axes = NORMED_AXES[kind]
    n = max(math.prod(x.shape[axis] for axis in axes), 1)
    y = x / ((x * x).sum(dim=axes, keepdim=True) / n + eps).sqrt()
    return y if gain is None else y * gain.unsqueeze(-2)
