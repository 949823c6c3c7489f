"""A layer of a released model: a mixer and a feed-forward part, with their norms (chapter 22)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from tformer.configuration import Configuration
from tformer.layer_configuration import LayerConfiguration, require_layer
from tformer.layers import LayerCache, LayerParameters
from tformer.parameters import NormParameters, tree_map
from tformer.reference.activations import sigmoid_vjp
from tformer.reference.attention import sum_to
from tformer.reference.blocks import NORMS
from tformer.reference.delta_net import (
    cached_delta_net,
    cached_gated_convolution,
    delta_net_vjp,
    gated_convolution_vjp,
)
from tformer.reference.equation import equation
from tformer.reference.experts import (
    mixture_of_experts,
    mixture_of_experts_vjp,
    top_k_routing,
    top_k_routing_vjp,
)
from tformer.reference.extended_attention import cached_attention, extended_attention_vjp
from tformer.reference.feed_forward import feed_forward, feed_forward_vjp, linear_vjp
from tformer.reference.latents import cached_latent_attention, latent_attention_vjp

__all__ = ["layer", "layer_vjp"]

Table = np.ndarray | None


@equation
def layer(
    x: np.ndarray,
    parameters: LayerParameters,
    configuration: LayerConfiguration,
    mask: np.ndarray | None = None,
    valid: np.ndarray | None = None,
    positions: np.ndarray | None = None,
) -> np.ndarray:
    """Apply one layer of a released model to the residual stream; it is causal.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : LayerParameters
    configuration : LayerConfiguration
    mask : (..., T or 1, T or 1) boolean array, optional
        True where token t may attend to token s, besides the masks of the configuration; a state
        or a convolution does not see it.
    valid : (..., T) boolean array, optional
        False at left padding, which no token attends to and no state takes in.
    positions : (..., T) integer array, optional
        Position of each token; 0, 1, 2, … if omitted.

    Returns
    -------
    (..., T, d_model) array
        The hidden states after the layer.

    Raises
    ------
    ValueError
        If there is not exactly one mixer, or experts have no routing.

    Notes
    -----
    Equation eq-layer; [xiong2020] for norms before, [olmo2024] for norms behind, [zhang2019] for
    both norms by root mean squares; [wang2021] for parallel layers.
    """
    return cached_layer(x, parameters, configuration, None, mask, valid, positions)[0]


@equation
def layer_vjp(
    x: np.ndarray,
    parameters: LayerParameters,
    configuration: LayerConfiguration,
    grad: np.ndarray,
    mask: np.ndarray | None = None,
    valid: np.ndarray | None = None,
    positions: np.ndarray | None = None,
) -> tuple[np.ndarray, LayerParameters]:
    """Compute the vector-Jacobian product of `layer`: gradients with respect to its arguments.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : LayerParameters
    configuration : LayerConfiguration
    grad : (..., T, d_model) array
        Gradient of a loss with respect to what `layer` returned.
    mask : (..., T or 1, T or 1) boolean array, optional
        True where token t may attend to token s, besides the masks of the configuration.
    valid : (..., T) boolean array, optional
        False at left padding, which no token attends to and no state takes in.
    positions : (..., T) integer array, optional
        Position of each token; 0, 1, 2, … if omitted.

    Returns
    -------
    dx : (..., T, d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : LayerParameters

    Raises
    ------
    ValueError
        As `layer`.

    Notes
    -----
    Equation eq-layer-vjp; the derivatives of [xiong2020].
    """
    p, c = parameters, configuration
    require_layer("layer_vjp", p, c)
    name, mixer = mixer_of(p)
    options = (layer_mask(x, c, mask, valid, positions, 0), valid, positions)
    inputs = normed(x, p.mixer_norm, c)
    mixed = MIXERS[name](inputs, mixer, c, None, *options)[0]
    between = x + normed(mixed, p.mixer_norm_after, c)
    fed = inputs if c.parallel else normed(between, p.feed_forward_norm, c)
    grad = np.broadcast_to(grad, np.broadcast_shapes(grad.shape, between.shape))
    grads: dict[str, Any] = tree_map(np.zeros_like, vars(p))
    dfed, dbetween = _added_vjp(fed, p, c, grad, grads), sum_to(between, grad)
    if not c.parallel:
        dnormed, grads["feed_forward_norm"] = _norm_vjp(between, p.feed_forward_norm, c, dfed)
        dbetween = dbetween + dnormed
    dmixed, grads["mixer_norm_after"] = _norm_vjp(mixed, p.mixer_norm_after, c, dbetween)
    dinputs, grads[name] = _mixer_vjp(name, inputs, mixer, c, dmixed, *options)
    dinputs = dinputs + dfed if c.parallel else dinputs
    dx, grads["mixer_norm"] = _norm_vjp(x, p.mixer_norm, c, dinputs)
    return sum_to(x, dbetween) + sum_to(x, dx), LayerParameters(**grads)


def _added_vjp(
    fed: np.ndarray,
    p: LayerParameters,
    c: LayerConfiguration,
    grad: np.ndarray,
    grads: dict[str, Any],
) -> np.ndarray:
    """Return the gradient of what the feed-forward part reads; keep those of its parameters."""
    answer = _feed(fed, p, c)
    if answer is None:
        return np.zeros_like(fed)
    danswer, dnorm = _norm_vjp(answer, p.feed_forward_norm_after, c, grad)
    dfed, others = _feed_vjp(fed, p, c, danswer)
    grads |= others | {"feed_forward_norm_after": dnorm}
    return dfed


def cached_layer(
    x: np.ndarray,
    parameters: LayerParameters,
    configuration: LayerConfiguration,
    cache: LayerCache | None,
    mask: Table,
    valid: Table,
    positions: Table,
    offset: int = 0,
) -> tuple[np.ndarray, LayerCache]:
    """Apply a layer to the tokens after those in the cache; also return the new cache.

    `mask`, `valid` and `positions` are for all tokens, cached ones first.
    """
    p, c = parameters, configuration
    require_layer("layer", p, c)
    name, mixer = mixer_of(p)
    seen = layer_mask(x, c, mask, valid, positions, offset)
    new = None if valid is None else valid[..., offset:]
    inputs = normed(x, p.mixer_norm, c)
    y, cache = MIXERS[name](inputs, mixer, c, cache, seen, new, positions)
    x = x + normed(y, p.mixer_norm_after, c)
    answer = _feed(inputs if c.parallel else normed(x, p.feed_forward_norm, c), p, c)
    return x if answer is None else x + normed(answer, p.feed_forward_norm_after, c), cache


def mixer_of(p: LayerParameters) -> tuple[str, Any]:
    """Return the name and the parameters of the one mixer."""
    return next((name, x) for name in MIXERS if (x := getattr(p, name)) is not None)


MIXERS: dict[str, Callable[..., Any]] = {
    "attention": lambda x, p, c, cache, mask, valid, at: cached_attention(
        x, p, c, cache, mask, at, True
    ),
    "latent": lambda x, p, c, cache, mask, valid, at: cached_latent_attention(
        x, p, c, cache, mask, at, True
    ),
    "delta": lambda x, p, c, cache, mask, valid, at: cached_delta_net(x, p, c, cache, valid),
    "convolution": lambda x, p, c, cache, mask, valid, at: cached_gated_convolution(
        x, p, cache, valid
    ),
}
"""Each mixer of new tokens, given a cache: its output, and the cache extended."""


def _mixer_vjp(
    name: str,
    x: np.ndarray,
    p: Any,
    c: LayerConfiguration,
    grad: np.ndarray,
    mask: Table,
    valid: Table,
    positions: Table,
) -> tuple[np.ndarray, Any]:
    if name == "attention":
        return extended_attention_vjp(x, p, c, grad, mask, positions, True)
    if name == "latent":
        return latent_attention_vjp(x, p, c, grad, mask, positions, True)
    if name == "delta":
        return delta_net_vjp(x, p, c, grad, valid)
    return gated_convolution_vjp(x, p, grad, valid)


def layer_mask(
    x: np.ndarray,
    c: LayerConfiguration,
    mask: Table,
    valid: Table,
    positions: Table,
    offset: int,
) -> Table:
    """Return the mask (..., T, S) of window, chunk, padding and `mask`; None if there is none."""
    n_new, found = x.shape[-2], mask
    n_all = offset + n_new
    if c.window is not None:
        near = np.arange(n_all) > np.arange(offset, n_all)[:, np.newaxis] - c.window
        found = near if found is None else found & near
    if c.chunk is not None:
        at = (np.arange(n_all) if positions is None else positions) // c.chunk
        same = at[..., offset:, np.newaxis] == at[..., np.newaxis, :]
        found = same if found is None else found & same
    if valid is not None:
        tokens = valid[..., np.newaxis, :]
        found = tokens if found is None else found & tokens
    return found


def normed(x: np.ndarray, norm: NormParameters | None, c: LayerConfiguration) -> np.ndarray:
    """Apply a norm if there is one."""
    return x if norm is None else NORMS[c.norm][0](x, norm, c.eps)


def _norm_vjp(
    x: np.ndarray, norm: NormParameters | None, c: LayerConfiguration, grad: np.ndarray
) -> tuple[np.ndarray, NormParameters | None]:
    """Compute the vector-Jacobian product of `normed`: gradients of x and of the norm."""
    return (sum_to(x, grad), None) if norm is None else NORMS[c.norm][1](x, norm, grad, c.eps)


def _feed(x: np.ndarray, p: LayerParameters, c: LayerConfiguration) -> Table:
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


def _feed_vjp(
    x: np.ndarray, p: LayerParameters, c: LayerConfiguration, grad: np.ndarray
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the gradients of x, of the dense part and of the experts, for `_feed`."""
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
