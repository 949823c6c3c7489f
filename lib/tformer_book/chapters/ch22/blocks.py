"""The blocks of released models, each written out with functions of the library.

`llama` is the plain block, of seven lines. Every other function is that block with some lines
changed: these lines are what the model adds. x is (T, d_model), p and c the parameters and the
configuration of the layer, mask its mask (True: may attend), turns the sines and cosines of its
RoPE, None where a layer has no positions.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from tformer.configuration import Configuration
from tformer.layer_configuration import LayerConfiguration
from tformer.layers import AttentionParameters, ExpertParameters, LayerParameters
from tformer.parameters import NormParameters
from tformer.reference import (
    delta_net,
    feed_forward,
    grouped_attention,
    layer_norm,
    merge,
    mixture_of_experts,
    project,
    rms_norm,
    rope,
    sink_attention,
    top_k_routing,
)

Array = np.ndarray
Pair = tuple[Array, Array]
Block = Callable[[Array, LayerParameters, LayerConfiguration, Array, Array | None], Array]
SILU, GELU = Configuration(activation="silu"), Configuration(activation="gelu_tanh")


def llama(x, p, c, mask, turns):
    y = rms_norm(x, p.mixer_norm, c.eps)
    q, k, v = project(y, p.attention.heads)
    q, k = rope(q, turns, "half"), rope(k, turns, "half")
    y = grouped_attention(q, k, v, mask)
    x = x + merge(y, p.attention.heads)
    y = rms_norm(x, p.feed_forward_norm, c.eps)
    return x + feed_forward(y, p.feed_forward, SILU)


def smollm3(x, p, c, mask, turns):
    y = rms_norm(x, p.mixer_norm, c.eps)
    q, k, v = project(y, p.attention.heads)
    if turns is not None:
        q, k = rope(q, turns, "half"), rope(k, turns, "half")
    y = grouped_attention(q, k, v, mask)
    x = x + merge(y, p.attention.heads)
    y = rms_norm(x, p.feed_forward_norm, c.eps)
    return x + feed_forward(y, p.feed_forward, SILU)


def qwen3(x, p, c, mask, turns):
    y = rms_norm(x, p.mixer_norm, c.eps)
    q, k, v = project(y, p.attention.heads)
    q, k = norm_heads(q, k, p.attention, c)
    q, k = rope(q, turns, "half"), rope(k, turns, "half")
    y = grouped_attention(q, k, v, mask)
    x = x + merge(y, p.attention.heads)
    y = rms_norm(x, p.feed_forward_norm, c.eps)
    return x + feed_forward(y, p.feed_forward, SILU)


def olmo2(x, p, c, mask, turns):
    q, k, v = project(x, p.attention.heads)
    q, k = norm_all(q, k, p.attention, c)
    q, k = rope(q, turns, "half"), rope(k, turns, "half")
    y = grouped_attention(q, k, v, mask)
    x = x + rms_norm(merge(y, p.attention.heads), p.mixer_norm_after, c.eps)
    y = feed_forward(x, p.feed_forward, SILU)
    return x + rms_norm(y, p.feed_forward_norm_after, c.eps)


def gemma2(x, p, c, mask, turns):
    y = rms_norm(x, p.mixer_norm, c.eps)
    q, k, v = project(y, p.attention.heads)
    q, k = rope(q, turns, "half"), rope(k, turns, "half")
    y = sink_attention(q, k, v, None, mask, c.scale, cap=c.cap)
    x = x + rms_norm(merge(y, p.attention.heads), p.mixer_norm_after, c.eps)
    y = rms_norm(x, p.feed_forward_norm, c.eps)
    y = feed_forward(y, p.feed_forward, GELU)
    return x + rms_norm(y, p.feed_forward_norm_after, c.eps)


def gemma3(x, p, c, mask, turns):
    y = rms_norm(x, p.mixer_norm, c.eps)
    q, k, v = project(y, p.attention.heads)
    q, k = norm_heads(q, k, p.attention, c)
    q, k = rope(q, turns, "half"), rope(k, turns, "half")
    y = grouped_attention(q, k, v, mask, scale=c.scale)
    x = x + rms_norm(merge(y, p.attention.heads), p.mixer_norm_after, c.eps)
    y = rms_norm(x, p.feed_forward_norm, c.eps)
    y = feed_forward(y, p.feed_forward, GELU)
    return x + rms_norm(y, p.feed_forward_norm_after, c.eps)


def cohere(x, p, c, mask, turns):
    y = layer_norm(x, p.mixer_norm, c.eps)
    q, k, v = project(y, p.attention.heads)
    q, k = rope(q, turns, "adjacent"), rope(k, turns, "adjacent")
    z = grouped_attention(q, k, v, mask)
    return x + merge(z, p.attention.heads) + feed_forward(y, p.feed_forward, SILU)


def cohere2(x, p, c, mask, turns):
    y = layer_norm(x, p.mixer_norm, c.eps)
    q, k, v = project(y, p.attention.heads)
    if turns is not None:
        q, k = rope(q, turns, "adjacent"), rope(k, turns, "adjacent")
    z = grouped_attention(q, k, v, mask)
    return x + merge(z, p.attention.heads) + feed_forward(y, p.feed_forward, SILU)


def mixtral(x, p, c, mask, turns):
    y = rms_norm(x, p.mixer_norm, c.eps)
    q, k, v = project(y, p.attention.heads)
    q, k = rope(q, turns, "half"), rope(k, turns, "half")
    y = grouped_attention(q, k, v, mask)
    x = x + merge(y, p.attention.heads)
    y = rms_norm(x, p.feed_forward_norm, c.eps)
    weights = router(y, p.experts, c)
    return x + mixture_of_experts(y, p.experts, weights)


def qwen3_moe(x, p, c, mask, turns):
    y = rms_norm(x, p.mixer_norm, c.eps)
    q, k, v = project(y, p.attention.heads)
    q, k = norm_heads(q, k, p.attention, c)
    q, k = rope(q, turns, "half"), rope(k, turns, "half")
    y = grouped_attention(q, k, v, mask)
    x = x + merge(y, p.attention.heads)
    y = rms_norm(x, p.feed_forward_norm, c.eps)
    weights = router(y, p.experts, c)
    return x + mixture_of_experts(y, p.experts, weights)


def olmoe(x, p, c, mask, turns):
    y = rms_norm(x, p.mixer_norm, c.eps)
    q, k, v = project(y, p.attention.heads)
    q, k = norm_all(q, k, p.attention, c)
    q, k = rope(q, turns, "half"), rope(k, turns, "half")
    y = grouped_attention(q, k, v, mask)
    x = x + merge(y, p.attention.heads)
    y = rms_norm(x, p.feed_forward_norm, c.eps)
    weights = router(y, p.experts, c)
    return x + mixture_of_experts(y, p.experts, weights)


def gpt_oss(x, p, c, mask, turns):
    y = rms_norm(x, p.mixer_norm, c.eps)
    q, k, v = project(y, p.attention.heads)
    q, k = rope(q, turns, "half"), rope(k, turns, "half")
    y = sink_attention(q, k, v, p.attention.sinks, mask)
    x = x + merge(y, p.attention.heads)
    y = rms_norm(x, p.feed_forward_norm, c.eps)
    weights = router(y, p.experts, c)
    return x + mixture_of_experts(y, p.experts, weights, "clipped_swiglu")


def llama4(x, p, c, mask, turns):
    y = rms_norm(x, p.mixer_norm, c.eps)
    q, k, v = project(y, p.attention.heads)
    if turns is not None:
        q, k = rope(q, turns, "adjacent"), rope(k, turns, "adjacent")
        q, k = norm_heads(q, k, p.attention, c)
    else:
        q = q * temperature(len(x), *c.temperature)
    y = grouped_attention(q, k, v, mask)
    x = x + merge(y, p.attention.heads)
    y = rms_norm(x, p.feed_forward_norm, c.eps)
    if p.experts is not None:
        weights = router(y, p.experts, c)
        x = x + mixture_of_experts(y, p.experts, weights, weigh_input=True)
    return x + feed_forward(y, p.feed_forward, SILU)


def deepseek_v3(x, p, c, mask, turns):
    y, m = rms_norm(x, p.mixer_norm, c.eps), p.latent
    a = scaled(y @ m.w_q_down, m.q_gain, c)
    q, q_r = a @ m.w_q, rope(a @ m.w_q_shared, turns, "adjacent")
    latent = scaled(y @ m.w_kv_down, m.kv_gain, c)
    k, k_r = latent @ m.w_k, rope(y @ m.w_k_shared, turns, "adjacent")
    q, k = joined(q, q_r), joined(k, shared(k_r, len(k)))
    y = grouped_attention(q, k, latent @ m.w_v, mask, scale=c.scale)
    x = x + (y @ m.w_o).sum(0)
    y = rms_norm(x, p.feed_forward_norm, c.eps)
    if p.experts is not None:
        weights = router(y, p.experts, c)
        x = x + mixture_of_experts(y, p.experts, weights)
    return x + feed_forward(y, p.feed_forward, SILU)


def qwen3_next(x, p, c, mask, turns):
    y = rms_norm(x, p.mixer_norm, c.eps)
    if p.delta is not None:
        x = x + delta_net(y, p.delta, c)
    else:
        q, k, v = project(y, p.attention.heads)
        q, k = norm_heads(q, k, p.attention, c)
        q, k = first(q, turns), first(k, turns)
        y = grouped_attention(q, k, v, mask) * expit(y @ p.attention.w_gate)
        x = x + merge(y, p.attention.heads)
    y = rms_norm(x, p.feed_forward_norm, c.eps)
    weights = router(y, p.experts, c)
    gate = expit(y @ p.experts.w_shared_gate)[:, np.newaxis]
    x = x + gate * feed_forward(y, p.feed_forward, SILU)
    return x + mixture_of_experts(y, p.experts, weights)


# what some blocks share


def norm_heads(q: Array, k: Array, p: AttentionParameters, c: LayerConfiguration) -> Pair:
    """RMSNorm of each head's queries and keys; gains (H or 1, d_k), (G or 1, d_k), or none."""

    def normed(x: Array, gain: Array | None) -> Array:
        rows = rms_norm(x, NormParameters(), c.eps)
        return rows if gain is None else np.asarray(rows * gain[:, np.newaxis])

    return normed(q, p.q_gain), normed(k, p.k_gain)


def norm_all(q: Array, k: Array, p: AttentionParameters, c: LayerConfiguration) -> Pair:
    """RMSNorm of the queries of all heads of a token at once, and of its keys."""

    def normed(x: Array, gain: Array) -> Array:
        size = np.sqrt((x * x).mean(axis=(0, 2), keepdims=True) + c.eps)
        return np.asarray(x / size * gain[:, np.newaxis])

    return normed(q, p.q_gain), normed(k, p.k_gain)


def router(y: Array, p: ExpertParameters, c: LayerConfiguration) -> Array:
    """The weight of each expert for each token, (T, E)."""
    if c.routing is None:
        raise ValueError("router: the layer has no routing")
    logits = y @ p.w_router + (0 if p.b_router is None else p.b_router)
    return top_k_routing(logits, c.routing, p.choice_bias)


def scaled(x: Array, gain: Array, c: LayerConfiguration) -> Array:
    """RMSNorm of latents."""
    return rms_norm(x, NormParameters(gain), c.latent_eps)


def first(x: Array, turns: Array) -> Array:
    """RoPE of the first coordinates, as many as there are sines and cosines; the rest stays."""
    n = turns.shape[-1]
    return joined(rope(x[..., :n], turns, "half"), x[..., n:])


def shared(k: Array, n_heads: int) -> Array:
    """The same key for every head."""
    return np.broadcast_to(k, (n_heads, *k.shape))


def joined(*parts: Array) -> Array:
    """Arrays side by side."""
    return np.concatenate(parts, axis=-1)


def temperature(n_tokens: int, floor: int, slope: float) -> Array:
    """1 + slope log(1 + ⌊(t + 1) / floor⌋) for each token, (T, 1)."""
    steps = np.floor((np.arange(n_tokens) + 1) / floor)
    return np.asarray(1 + slope * np.log1p(steps))[:, np.newaxis]


BLOCKS: dict[str, Block] = {
    name: value
    for name, value in list(globals().items())
    if getattr(value, "__code__", None) and value.__code__.co_varnames[:3] == ("x", "p", "c")
}
"""Name of a family -> its block; `delta_net` is the library's."""
