"""Attention with shared keys and values: keys as values, or an earlier layer's (chapter 22).

A layer that lends its keys and values is computed twice in the uncached model: once as a layer, and
once for what it lends. So the gradient of what it lends is a function of its own, which is added.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from tformer.layer_configuration import LayerConfiguration
from tformer.layers import AttentionParameters, SharedAttentionParameters
from tformer.parameters import HeadParameters, KVCache, tree_map
from tformer.reference.attention import sum_to
from tformer.reference.extended_attention import (
    cached_attention,
    extended_attention_vjp,
    prepared,
    prepared_vjp,
    temperature,
    turned,
    turned_vjp,
)
from tformer.reference.projections import heads_vjp, project, project_vjp
from tformer.reference.sinks import sink_attention, sink_attention_vjp

Table = np.ndarray | None
Mixer = AttentionParameters | SharedAttentionParameters


def cached_shared_attention(
    x: np.ndarray,
    p: SharedAttentionParameters,
    c: LayerConfiguration,
    cache: KVCache | None,
    mask: Table,
    positions: Table,
    kv: KVCache | None,
) -> tuple[np.ndarray, KVCache | None]:
    """Attend causally to own keys, which are the values too, or to those that are borrowed."""
    if p.w_k is None:
        return _borrowed(x, p, c, mask, positions, _required(kv)), None
    return cached_attention(x, as_attention(p), c, cache, mask, positions, True)


def shared_attention_vjp(
    x: np.ndarray,
    p: SharedAttentionParameters,
    c: LayerConfiguration,
    grad: np.ndarray,
    mask: Table,
    positions: Table,
    kv: KVCache | None,
) -> tuple[np.ndarray, SharedAttentionParameters, KVCache | None]:
    """Return the gradients of x, of the parameters and of what is borrowed."""
    if p.w_k is not None:
        dx, dattention = extended_attention_vjp(x, as_attention(p), c, grad, mask, positions, True)
        return dx, _as_shared(dattention), None
    kv, x_H = _required(kv), x[..., np.newaxis, :, :]
    q = x_H @ p.w_q
    ready = turned(x, q, p.q_gain, c, positions, 0) * temperature(x, c, positions, 0)
    options = (None, mask, c.scale, c.cap, True)
    y = sink_attention(ready, kv.k, kv.v, *options)
    dy, dw_o = heads_vjp(y, p.w_o, grad[..., np.newaxis, :, :])
    dready, dk, dv, _ = sink_attention_vjp(ready, kv.k, kv.v, dy, *options)
    dready = dready * temperature(x, c, positions, 0)
    dq, dq_gain = turned_vjp(x, q, p.q_gain, c, positions, dready)
    dx_H, dw_q = heads_vjp(x_H, p.w_q, dq)
    k_gain = tree_map(np.zeros_like, p.k_gain)
    dparameters = SharedAttentionParameters(dw_q, dw_o, None, dq_gain, k_gain)
    return sum_to(x, dx_H[..., 0, :, :]), dparameters, KVCache(dk, dv)


def _borrowed(
    x: np.ndarray,
    p: SharedAttentionParameters,
    c: LayerConfiguration,
    mask: Table,
    positions: Table,
    kv: KVCache,
) -> np.ndarray:
    """Attend to the keys and values of another layer, whose last ones are those of x."""
    offset = kv.length - x.shape[-2]
    q = turned(x, x[..., np.newaxis, :, :] @ p.w_q, p.q_gain, c, positions, offset)
    q = q * temperature(x, c, positions, offset)
    y = sink_attention(q, kv.k, kv.v, None, mask, c.scale, c.cap, True, offset)
    return np.sum(y @ p.w_o, axis=-3)


def lent(x: np.ndarray, p: Mixer, c: LayerConfiguration, positions: Table) -> KVCache:
    """Return the keys and values of the tokens x, as the layers that borrow them take them."""
    p = as_attention(p)
    _, k, v = prepared(x, project(x, p.heads), p, c, positions, 0)
    return KVCache(k, v)


def lent_vjp(
    x: np.ndarray, p: Mixer, c: LayerConfiguration, grad: KVCache, positions: Table
) -> tuple[np.ndarray, Any]:
    """Return the gradients of x and of the parameters, for `lent`."""
    made = as_attention(p)
    q, k, v = project(x, made.heads)
    dready = [np.zeros_like(q), grad.k, grad.v]
    dq, dk, dv, dq_gain, dk_gain = prepared_vjp(x, (q, k, v), dready, made, c, positions)
    dx, dheads, _ = project_vjp(x, made.heads, dq, dk, dv)
    zeros = tree_map(np.zeros_like, made)
    dattention = replace(zeros, heads=dheads, q_gain=dq_gain, k_gain=dk_gain)
    return dx, dattention if isinstance(p, AttentionParameters) else _as_shared(dattention)


def as_attention(p: Mixer) -> AttentionParameters:
    """Return shared attention as attention: its keys, before norm and RoPE, are its values."""
    if isinstance(p, AttentionParameters):
        return p
    return AttentionParameters(HeadParameters(p.w_q, p.w_k, p.w_k, p.w_o), p.q_gain, p.k_gain)


def _as_shared(d: AttentionParameters) -> SharedAttentionParameters:
    """Return the gradients of `as_attention`: one matrix made the keys and the values."""
    heads = d.heads
    return SharedAttentionParameters(
        heads.w_q, heads.w_o, heads.w_k + heads.w_v, d.q_gain, d.k_gain
    )


def _required(kv: KVCache | None) -> KVCache:
    if kv is None:
        raise ValueError("layer: kv must be given where keys and values are borrowed; got None")
    return kv
