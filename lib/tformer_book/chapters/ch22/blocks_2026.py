"""Blocks of four families of 2026, in the form of `blocks`."""

# mypy: allow-untyped-defs

from __future__ import annotations

from scipy.special import expit

from tformer.reference import (
    delta_net,
    feed_forward,
    gated_convolution,
    grouped_attention,
    merge,
    mixture_of_experts,
    project,
    rms_norm,
    rope,
    sink_attention,
)
from tformer_book.chapters.ch22.blocks import (
    SILU,
    first,
    joined,
    norm_heads,
    router,
    scaled,
    shared,
)


def flint(x, p, c, mask, turns):
    y = rms_norm(x, p.mixer_norm, c.eps)
    q, k, v = project(y, p.attention.heads)
    q, k = norm_heads(q, k, p.attention, c)
    if turns is not None:
        q, k = rope(q, turns, "half"), rope(k, turns, "half")
    y = sink_attention(q, k, v, p.attention.sinks, mask)
    x = x + merge(y, p.attention.heads)
    y = rms_norm(x, p.feed_forward_norm, c.eps)
    if p.experts is not None:
        weights = router(y, p.experts, c)
        x = x + mixture_of_experts(y, p.experts, weights)
    return x + feed_forward(y, p.feed_forward, SILU)


def mimo_v2_flash(x, p, c, mask, turns):
    y = rms_norm(x, p.mixer_norm, c.eps)
    q, k, v = project(y, p.attention.heads)
    q, k, v = first(q, turns), first(k, turns), c.value_scale * v
    y = sink_attention(q, k, v, p.attention.sinks, mask)
    x = x + merge(y, p.attention.heads)
    y = rms_norm(x, p.feed_forward_norm, c.eps)
    if p.experts is None:
        return x + feed_forward(y, p.feed_forward, SILU)
    weights = router(y, p.experts, c)
    return x + mixture_of_experts(y, p.experts, weights)


def lfm3(x, p, c, mask, turns):
    y = rms_norm(x, p.mixer_norm, c.eps)
    if p.convolution is not None:
        y = gated_convolution(y, p.convolution)
    else:
        gate = expit(y @ p.attention.w_gate)
        q, k, v = project(y, p.attention.heads)
        q, k = norm_heads(q, k, p.attention, c)
        q, k = first(q, turns), first(k, turns)
        y = merge(gate * grouped_attention(q, k, v, mask), p.attention.heads)
    x = x + rms_norm(y, p.mixer_norm_after, c.eps)
    y = rms_norm(x, p.feed_forward_norm, c.eps)
    y = feed_forward(y, p.feed_forward, SILU)
    return x + rms_norm(y, p.feed_forward_norm_after, c.eps)


def kimi_linear(x, p, c, mask, turns):
    y = rms_norm(x, p.mixer_norm, c.eps)
    if p.delta is not None:
        x = x + delta_net(y, p.delta, c)
    else:
        m = p.latent
        latent = scaled(y @ m.w_kv_down, m.kv_gain, c)
        k = joined(latent @ m.w_k, shared(y @ m.w_k_shared, len(m.w_k)))
        q = joined(y @ m.w_q, y @ m.w_q_shared)
        y = grouped_attention(q, k, latent @ m.w_v, mask)
        x = x + (y @ m.w_o).sum(0)
    y = rms_norm(x, p.feed_forward_norm, c.eps)
    if p.experts is not None:
        weights = router(y, p.experts, c)
        x = x + mixture_of_experts(y, p.experts, weights)
    return x + feed_forward(y, p.feed_forward, SILU)
