"""The feed-forward part of a layer of a released model: dense, experts, or both (chapter 22)."""

from typing import Any

import numpy as np
from scipy.special import expit

from tformer.configuration import Configuration
from tformer.layer_configuration import LayerConfiguration
from tformer.layers import LayerParameters
from tformer.reference.activations import sigmoid_vjp
from tformer.reference.experts import (
    mixture_of_experts,
    mixture_of_experts_vjp,
    top_k_routing,
    top_k_routing_vjp,
)
from tformer.reference.feed_forward import feed_forward, feed_forward_vjp, linear_vjp


def feed(x: np.ndarray, p: LayerParameters, c: LayerConfiguration) -> np.ndarray | None:
    """Return what the feed-forward part adds: the dense part, the experts, or both."""
    dense = None
    if p.feed_forward is not None:
        dense = feed_forward(x, p.feed_forward, Configuration(activation=c.activation))
    if p.experts is None or c.routing is None:
        return dense
    weights = top_k_routing(_router_logits(x, p), c.routing, p.experts.choice_bias)
    y = mixture_of_experts(x, p.experts, weights, c.activation, c.routing.weigh_input)
    if dense is None:
        return y
    gate = p.experts.w_shared_gate
    return y + (dense if gate is None else expit(x @ gate)[..., np.newaxis] * dense)


def _router_logits(x: np.ndarray, p: LayerParameters) -> np.ndarray:
    experts = p.experts
    logits = x @ experts.w_router  # type: ignore[union-attr]
    return logits if experts.b_router is None else logits + experts.b_router  # type: ignore[union-attr]


def feed_vjp(
    x: np.ndarray, p: LayerParameters, c: LayerConfiguration, grad: np.ndarray
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the gradients of x, of the dense part and of the experts, for `feed`."""
    grads: dict[str, Any] = {"feed_forward": None, "experts": None}
    dx, experts = np.zeros_like(x), p.experts
    gate = None if experts is None else experts.w_shared_gate
    dgate = None
    if p.feed_forward is not None:
        dense = Configuration(activation=c.activation)
        ddense = grad
        if gate is not None:
            column = gate[:, np.newaxis]
            ddense = expit(x @ column) * grad
            product = (grad * feed_forward(x, p.feed_forward, dense)).sum(axis=-1, keepdims=True)
            dx_gate, dcolumn, _ = linear_vjp(x, column, None, sigmoid_vjp(x @ column, product))
            dx, dgate = dx + dx_gate, dcolumn[:, 0]
        dx_dense, grads["feed_forward"] = feed_forward_vjp(x, p.feed_forward, dense, ddense)
        dx = dx + dx_dense
    elif gate is not None:
        dgate = np.zeros_like(gate)
    if experts is None or c.routing is None:
        return dx, grads
    logits = _router_logits(x, p)
    weights = top_k_routing(logits, c.routing, experts.choice_bias)
    options = (c.activation, c.routing.weigh_input)
    dx_experts, dexperts, dweights = mixture_of_experts_vjp(x, experts, weights, grad, *options)
    dlogits = top_k_routing_vjp(logits, c.routing, dweights, experts.choice_bias)
    dx_router, dw_router, db_router = linear_vjp(x, experts.w_router, experts.b_router, dlogits)
    grads["experts"] = type(dexperts)(
        **vars(dexperts) | {"w_router": dw_router, "b_router": db_router, "w_shared_gate": dgate}
    )
    return dx + dx_experts + dx_router, grads
