"""The feed-forward part of a layer of a released model: dense, experts, or both (chapter 22)."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit

from tformer.configuration import Configuration
from tformer.layer_configuration import LayerConfiguration
from tformer.layers import ExpertParameters, LayerParameters
from tformer.parameters import FeedForwardParameters, NormParameters
from tformer.reference.activations import sigmoid_vjp
from tformer.reference.attention import sum_to
from tformer.reference.blocks import NORMS
from tformer.reference.expert import expert_output, expert_vjp
from tformer.reference.experts import (
    mixture_of_experts,
    mixture_of_experts_vjp,
    top_k_routing,
    top_k_routing_vjp,
    weights_of,
    weights_of_vjp,
)
from tformer.reference.feed_forward import feed_forward, feed_forward_vjp, linear_vjp
from tformer.reference.hash_routing import named

CLIPPED = ("clipped_swiglu", "clipped_silu")
"""The activations that only experts have; a dense part is then computed as an expert."""


def normed(x: np.ndarray, norm: NormParameters | None, c: LayerConfiguration) -> np.ndarray:
    """Apply a norm if there is one."""
    return x if norm is None else NORMS[c.norm][0](x, norm, c.eps)


def norm_vjp(
    x: np.ndarray, norm: NormParameters | None, c: LayerConfiguration, grad: np.ndarray
) -> tuple[np.ndarray, NormParameters | None]:
    """Compute the vector-Jacobian product of `normed`: gradients of x and of the norm."""
    return (sum_to(x, grad), None) if norm is None else NORMS[c.norm][1](x, norm, grad, c.eps)


def feed(
    x: np.ndarray,
    fed: np.ndarray,
    p: LayerParameters,
    c: LayerConfiguration,
    chosen: np.ndarray | None = None,
) -> np.ndarray | None:
    """Return what the feed-forward part adds: the dense part, the experts, or both.

    It reads `fed`; a router and experts with norms of their own read the hidden states x. `chosen`
    (..., T, n_experts) is True for the experts of each token where no scores choose them.
    """
    dense = None
    if p.feed_forward is not None:
        dense = normed(_dense(fed, p.feed_forward, c.activation), p.dense_norm_after, c)
    if p.experts is None or c.routing is None:
        return dense
    y = normed(_mixture(x, fed, p, c, chosen), p.experts_norm_after, c)
    if dense is None:
        return y
    gate = p.experts.w_shared_gate
    return y + (dense if gate is None else expit(fed @ gate)[..., np.newaxis] * dense)


def feed_answer(
    x: np.ndarray, p: LayerParameters, c: LayerConfiguration, chosen: np.ndarray | None
) -> np.ndarray:
    """Return what the feed-forward part adds to hidden states x, with its norms."""
    answer = feed(x, normed(x, p.feed_forward_norm, c), p, c, chosen)
    return np.zeros_like(x) if answer is None else normed(answer, p.feed_forward_norm_after, c)


def feed_answer_vjp(
    x: np.ndarray,
    p: LayerParameters,
    c: LayerConfiguration,
    chosen: np.ndarray | None,
    grad: np.ndarray,
    grads: dict[str, Any],
) -> np.ndarray:
    """Return the gradient of x, for `feed_answer`; keep those of the parameters."""
    fed = normed(x, p.feed_forward_norm, c)
    if (answer := feed(x, fed, p, c, chosen)) is None:
        return np.zeros_like(x)
    norm = p.feed_forward_norm_after
    danswer, grads["feed_forward_norm_after"] = norm_vjp(answer, norm, c, grad)
    dx, dfed = feed_vjp(x, fed, p, c, danswer, grads, chosen)
    dnormed, grads["feed_forward_norm"] = norm_vjp(x, p.feed_forward_norm, c, dfed)
    return dx + dnormed


def experts_of(tokens: np.ndarray, p: LayerParameters) -> np.ndarray | None:
    """Return True for the experts (..., T, n_experts) of each token, None where scores choose."""
    if p.token_experts is None or p.experts is None:
        return None
    return named(p.token_experts[tokens], p.experts.w_router.shape[-1])


def _dense(x: np.ndarray, p: FeedForwardParameters, activation: str) -> np.ndarray:
    """Return the answer of the dense part, before the norm behind."""
    if activation not in CLIPPED:
        return feed_forward(x, p, Configuration(activation=activation))
    return expert_output(x, _as_expert(p), 0, activation)[0]


def _as_expert(p: FeedForwardParameters) -> ExpertParameters:
    """Return a dense part as the only expert, for activations that only experts have."""
    arrays = {name: None if w is None else w[np.newaxis] for name, w in vars(p).items()}
    return ExpertParameters(w_router=None, **arrays)


def _mixture(
    x: np.ndarray,
    fed: np.ndarray,
    p: LayerParameters,
    c: LayerConfiguration,
    by_token: np.ndarray | None,
) -> np.ndarray:
    """Return the answer of the experts, before the norm behind."""
    experts: Any = p.experts
    routing: Any = c.routing
    _, chosen = _routed(_own(x, fed, p.router_norm, c), p, c, by_token)
    weights = chosen if experts.scale is None else experts.scale * chosen
    inputs = _own(x, fed, p.experts_norm, c)
    return mixture_of_experts(inputs, experts, weights, c.activation, routing.weigh_input)


def _own(
    x: np.ndarray, fed: np.ndarray, norm: NormParameters | None, c: LayerConfiguration
) -> np.ndarray:
    """Return what a part reads: hidden states by a norm of its own, or what the others read."""
    return fed if norm is None else normed(x, norm, c)


def _routed(
    x: np.ndarray, p: LayerParameters, c: LayerConfiguration, chosen: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the router's logits, and the weights of the experts before their factors."""
    experts: Any = p.experts
    routing: Any = c.routing
    logits = x @ experts.w_router
    logits = logits if experts.b_router is None else logits + experts.b_router
    if chosen is not None:
        return logits, weights_of(logits, routing, chosen)
    return logits, top_k_routing(logits, routing, experts.choice_bias)


def feed_vjp(
    x: np.ndarray,
    fed: np.ndarray,
    p: LayerParameters,
    c: LayerConfiguration,
    grad: np.ndarray,
    grads: dict[str, Any],
    chosen: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradients of x and `fed`, for `feed`; keep those of its parameters."""
    dx, dfed, dgate = np.zeros_like(x), np.zeros_like(fed), None
    if p.feed_forward is not None:
        dfed, dgate = _dense_vjp(fed, p, c, grad, grads)
    if p.experts is None or c.routing is None:
        return dx, dfed
    own, routed = _mixture_vjp(x, fed, p, c, grad, grads, chosen)
    if dgate is not None:
        grads["experts"] = replace(grads["experts"], w_shared_gate=dgate)
    for name, d in (("experts_norm", own), ("router_norm", routed)):
        if (norm := getattr(p, name)) is None:
            dfed = dfed + d
        else:
            more, grads[name] = norm_vjp(x, norm, c, d)
            dx = dx + more
    return dx, dfed


def _dense_vjp(
    fed: np.ndarray,
    p: LayerParameters,
    c: LayerConfiguration,
    grad: np.ndarray,
    grads: dict[str, Any],
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the gradients of `fed` and of the gate, for the dense part; keep the others."""
    dense: Any = p.feed_forward
    y = _dense(fed, dense, c.activation)
    gate = None if p.experts is None else p.experts.w_shared_gate
    dfed, dgate, dy = np.zeros_like(fed), None, grad
    if gate is not None:
        column = gate[:, np.newaxis]
        dy = expit(fed @ column) * grad
        product = (grad * normed(y, p.dense_norm_after, c)).sum(axis=-1, keepdims=True)
        dfed, dcolumn, _ = linear_vjp(fed, column, None, sigmoid_vjp(fed @ column, product))
        dgate = dcolumn[:, 0]
    dy, grads["dense_norm_after"] = norm_vjp(y, p.dense_norm_after, c, dy)
    if c.activation in CLIPPED:
        one = _as_expert(dense)
        _, kept = expert_output(fed, one, 0, c.activation)
        more, found = expert_vjp(fed, one, 0, c.activation, kept, dy)
        grads["feed_forward"] = FeedForwardParameters(**found)
    else:
        choices = Configuration(activation=c.activation)
        more, grads["feed_forward"] = feed_forward_vjp(fed, dense, choices, dy)
    return dfed + more, dgate


def _mixture_vjp(
    x: np.ndarray,
    fed: np.ndarray,
    p: LayerParameters,
    c: LayerConfiguration,
    grad: np.ndarray,
    grads: dict[str, Any],
    by_token: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradients of what experts and router read; keep those of their parameters."""
    experts: Any = p.experts
    routing: Any = c.routing
    inputs, read = _own(x, fed, p.experts_norm, c), _own(x, fed, p.router_norm, c)
    logits, chosen = _routed(read, p, c, by_token)
    scale = 1 if experts.scale is None else experts.scale
    options = (c.activation, routing.weigh_input)
    y = mixture_of_experts(inputs, experts, scale * chosen, *options)
    dy, grads["experts_norm_after"] = norm_vjp(y, p.experts_norm_after, c, grad)
    dinputs, found, dweights = mixture_of_experts_vjp(inputs, experts, scale * chosen, dy, *options)
    if by_token is not None:
        dlogits = weights_of_vjp(logits, routing, by_token, scale * dweights)
    else:
        dlogits = top_k_routing_vjp(logits, routing, scale * dweights, experts.choice_bias)
    dread, dw_router, db_router = linear_vjp(read, experts.w_router, experts.b_router, dlogits)
    if experts.scale is not None:
        found = replace(found, scale=sum_to(experts.scale, dweights * chosen))
    grads["experts"] = replace(found, w_router=dw_router, b_router=db_router)
    return dinputs, dread
