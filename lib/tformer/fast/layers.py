"""A layer of a released model: a mixer and a feed-forward part, with their norms (chapter 22)."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tformer.configuration import Configuration
from tformer.fast import activations
from tformer.fast._kernels import widened
from tformer.fast.blocks import NORMS
from tformer.fast.checks import require_values
from tformer.fast.delta_net import cached_delta_net, cached_gated_convolution
from tformer.fast.experts import mixture_of_experts, top_k_routing
from tformer.fast.extended_attention import cached_attention
from tformer.fast.feed_forward import feed_forward
from tformer.fast.latents import cached_latent_attention
from tformer.fast.shared_attention import cached_shared_attention, lent
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.layer_configuration import LayerConfiguration, require_borrowed, require_layer
from tformer.layers import LayerCache, LayerParameters
from tformer.parameters import KVCache, NormParameters

__all__ = ["layer", "layer_vjp"]

MIXERS: dict[str, Callable[..., Any]] = {
    "attention": lambda x, p, c, cache, mask, valid, at, kv: cached_attention(
        x, p, c, cache, mask, at, True
    ),
    "shared": lambda x, p, c, cache, mask, valid, at, kv: cached_shared_attention(
        x, p, c, cache, mask, at, kv
    ),
    "latent": lambda x, p, c, cache, mask, valid, at, kv: cached_latent_attention(
        x, p, c, cache, mask, at, True
    ),
    "delta": lambda x, p, c, cache, mask, valid, at, kv: cached_delta_net(x, p, c, cache, valid),
    "convolution": lambda x, p, c, cache, mask, valid, at, kv: cached_gated_convolution(
        x, p, cache, valid
    ),
}
"""Each mixer of new tokens, given a cache: its output, and the cache extended."""


@twin
def layer(
    x: Tensor,
    parameters: LayerParameters,
    configuration: LayerConfiguration,
    mask: Tensor | None = None,
    valid: Tensor | None = None,
    positions: Tensor | None = None,
    kv: KVCache | None = None,
    per_layer: Tensor | None = None,
) -> Tensor:
    """On a CPU half precision is widened to float32."""
    if parameters.experts is not None:
        require_values("layer", "x", x)
    require_borrowed("layer", x, kv)
    dtype = x.dtype
    x, p, kv, per_layer = widened(x, parameters, kv, per_layer)
    options = (mask, valid, positions, 0, kv, per_layer)
    return cached_layer(x, p, configuration, None, *options)[0].to(dtype)


@twin
def layer_vjp(
    x: Tensor,
    parameters: LayerParameters,
    configuration: LayerConfiguration,
    grad: Tensor,
    mask: Tensor | None = None,
    valid: Tensor | None = None,
    positions: Tensor | None = None,
    kv: KVCache | None = None,
    per_layer: Tensor | None = None,
) -> tuple[Tensor, LayerParameters, KVCache | None, Tensor | None]:
    """Computed by PyTorch's autograd from `layer`."""
    if parameters.experts is not None:
        require_values("layer_vjp", "x", x)
    require_layer("layer_vjp", parameters, configuration, per_layer)
    require_borrowed("layer_vjp", x, kv)

    def forward(
        x: Tensor, p: LayerParameters, kv: KVCache | None, per_layer: Tensor | None
    ) -> Tensor:
        return layer(x, p, configuration, mask, valid, positions, kv, per_layer)

    return vjp(forward, (x, parameters, kv, per_layer), grad)


def lent_keys(
    x: Tensor, p: LayerParameters, c: LayerConfiguration, positions: Tensor | None
) -> KVCache:
    """Return the keys and values of a layer, for the layers that borrow them."""
    dtype = x.dtype
    x, p = widened(x, p)
    kv = lent(normed(x, p.mixer_norm, c), mixer_of(p)[1], c, positions)
    return KVCache(kv.k.to(dtype), kv.v.to(dtype))


def mixer_of(p: LayerParameters) -> tuple[str, Any]:
    """Return the name and the parameters of the one mixer."""
    return next((name, x) for name in MIXERS if (x := getattr(p, name)) is not None)


def cached_layer(
    x: Tensor,
    parameters: LayerParameters,
    configuration: LayerConfiguration,
    cache: LayerCache | None,
    mask: Tensor | None,
    valid: Tensor | None,
    positions: Tensor | None,
    offset: int = 0,
    kv: KVCache | None = None,
    per_layer: Tensor | None = None,
) -> tuple[Tensor, LayerCache]:
    """Apply a layer to the tokens after those in the cache; also return the new cache.

    `mask`, `valid`, `positions` and `kv` are for all tokens, cached ones first.
    """
    p, c = parameters, configuration
    require_layer("layer", p, c, per_layer)
    name, mixer = mixer_of(p)
    seen = layer_mask(x, c, mask, valid, positions, offset)
    new = None if valid is None else valid[..., offset:]
    inputs = normed(x, p.mixer_norm, c)
    y, cache = MIXERS[name](inputs, mixer, c, cache, seen, new, positions, kv)
    x = x + normed(y, p.mixer_norm_after, c)
    answer = _feed(x, inputs if c.parallel else normed(x, p.feed_forward_norm, c), p, c)
    if answer is not None:
        x = x + normed(answer, p.feed_forward_norm_after, c)
    if p.per_layer is not None:
        gate = getattr(activations, c.activation)(x @ p.per_layer.w_gate)
        x = x + normed((gate * per_layer) @ p.per_layer.w_out, p.per_layer_norm_after, c)
    return x if p.scale is None else p.scale * x, cache


def layer_mask(
    x: Tensor,
    c: LayerConfiguration,
    mask: Tensor | None,
    valid: Tensor | None,
    positions: Tensor | None,
    offset: int,
) -> Tensor | None:
    """Return the mask (..., T, S) of window, chunk, padding and `mask`; None if there is none."""
    found, n_all = mask, offset + x.shape[-2]
    every = torch.arange(n_all, device=x.device)
    if c.window is not None:
        near = every > every[offset:, None] - c.window
        found = near if found is None else found & near
    if c.chunk is not None:
        at = (every if positions is None else positions) // c.chunk
        same = at[..., offset:, None] == at[..., None, :]
        found = same if found is None else found & same
    if valid is not None:
        tokens = valid.unsqueeze(-2)
        found = tokens if found is None else found & tokens
    return found


def normed(x: Tensor, norm: NormParameters | None, c: LayerConfiguration) -> Tensor:
    """Apply a norm if there is one."""
    return x if norm is None else NORMS[c.norm](x, norm, c.eps)


def _feed(x: Tensor, fed: Tensor, p: LayerParameters, c: LayerConfiguration) -> Tensor | None:
    """Return what the feed-forward part adds: the dense part, the experts, or both.

    It reads `fed`; a router and experts with norms of their own read the hidden states x.
    """
    dense = None
    if p.feed_forward is not None:
        dense = feed_forward(fed, p.feed_forward, Configuration(activation=c.activation))
        dense = normed(dense, p.dense_norm_after, c)
    if p.experts is None or c.routing is None:
        return dense
    routed, inputs = (
        fed if norm is None else normed(x, norm, c) for norm in (p.router_norm, p.experts_norm)
    )
    logits = routed @ p.experts.w_router
    logits = logits if p.experts.b_router is None else logits + p.experts.b_router
    weights = top_k_routing(logits, c.routing, p.experts.choice_bias)
    weights = weights if p.experts.scale is None else p.experts.scale * weights
    y = mixture_of_experts(inputs, p.experts, weights, c.activation, c.routing.weigh_input)
    y = normed(y, p.experts_norm_after, c)
    if dense is None:
        return y
    gate = p.experts.w_shared_gate
    return y + (dense if gate is None else torch.sigmoid(fed @ gate).unsqueeze(-1) * dense)
