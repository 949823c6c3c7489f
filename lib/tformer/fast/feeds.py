"""The feed-forward part of a layer of a released model: dense, experts, or both (chapter 22)."""

import torch
from torch import Tensor

from tformer.configuration import Configuration
from tformer.fast.blocks import NORMS
from tformer.fast.experts import (
    expert_output,
    mixture_of_experts,
    top_k_routing,
    weights_of,
)
from tformer.fast.feed_forward import feed_forward
from tformer.fast.hash_routing import named
from tformer.layer_configuration import LayerConfiguration
from tformer.layers import LayerParameters
from tformer.parameters import FeedForwardParameters, NormParameters

CLIPPED = ("clipped_swiglu", "clipped_silu")
"""The activations that only experts have; a dense part is then computed as an expert."""


def normed(x: Tensor, norm: NormParameters | None, c: LayerConfiguration) -> Tensor:
    """Apply a norm if there is one."""
    return x if norm is None else NORMS[c.norm](x, norm, c.eps)


def feed(
    x: Tensor,
    fed: Tensor,
    p: LayerParameters,
    c: LayerConfiguration,
    chosen: Tensor | None = None,
) -> Tensor | None:
    """Return what the feed-forward part adds: the dense part, the experts, or both.

    It reads `fed`; a router and experts with norms of their own read the hidden states x. `chosen`
    (..., T, n_experts) is True for the experts of each token where no scores choose them.
    """
    dense = None
    if p.feed_forward is not None:
        dense = normed(_dense(fed, p.feed_forward, c.activation), p.dense_norm_after, c)
    if p.experts is None or c.routing is None:
        return dense
    routed, inputs = (
        fed if norm is None else normed(x, norm, c) for norm in (p.router_norm, p.experts_norm)
    )
    logits = routed @ p.experts.w_router
    logits = logits if p.experts.b_router is None else logits + p.experts.b_router
    if chosen is None:
        weights = top_k_routing(logits, c.routing, p.experts.choice_bias)
    else:
        weights = weights_of(logits, c.routing, chosen)
    weights = weights if p.experts.scale is None else p.experts.scale * weights
    y = mixture_of_experts(inputs, p.experts, weights, c.activation, c.routing.weigh_input)
    y = normed(y, p.experts_norm_after, c)
    if dense is None:
        return y
    gate = p.experts.w_shared_gate
    return y + (dense if gate is None else torch.sigmoid(fed @ gate).unsqueeze(-1) * dense)


def experts_of(tokens: Tensor, p: LayerParameters) -> Tensor | None:
    """Return True for the experts (..., T, n_experts) of each token, None where scores choose."""
    if p.token_experts is None or p.experts is None:
        return None
    return named(p.token_experts[tokens], p.experts.w_router.shape[-1])


def _dense(x: Tensor, p: FeedForwardParameters, activation: str) -> Tensor:
    """Return the answer of the dense part, before the norm behind."""
    if activation not in CLIPPED:
        return feed_forward(x, p, Configuration(activation=activation))
    arrays = (p.w_gate, p.w_in, p.w_out, p.b_gate, p.b_in, p.b_out)
    return expert_output(x, arrays, activation)


def feed_answer(
    x: Tensor, p: LayerParameters, c: LayerConfiguration, chosen: Tensor | None
) -> Tensor:
    """Return what the feed-forward part adds to hidden states x, with its norms."""
    answer = feed(x, normed(x, p.feed_forward_norm, c), p, c, chosen)
    return torch.zeros_like(x) if answer is None else normed(answer, p.feed_forward_norm_after, c)
