"""A layer of a released model: a mixer and a feed-forward part, with their norms (chapter 22)."""

from dataclasses import replace
from typing import Any

import numpy as np

from tformer.layer_checks import require_borrowed, require_layer
from tformer.layer_configuration import LayerConfiguration
from tformer.layers import LayerCache, LayerParameters, PerLayerParameters
from tformer.parameters import KVCache, tree_map
from tformer.reference import activations
from tformer.reference.attention import sum_to
from tformer.reference.equation import equation
from tformer.reference.feed_forward import linear_vjp
from tformer.reference.feeds import feed, feed_vjp, norm_vjp, normed
from tformer.reference.mixers import mixer_answer, mixer_answer_vjp, mixer_of
from tformer.reference.shared_attention import lent, lent_vjp

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
    kv: KVCache | None = None,
    per_layer: np.ndarray | None = None,
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
    kv : KVCache, optional
        Keys and values of an earlier layer for the same tokens, where this one borrows them.
    per_layer : (..., T, d_c) array, optional
        The layer's own embedding of each token, where it has parameters.per_layer.

    Returns
    -------
    (..., T, d_model) array
        The hidden states after the layer.

    Raises
    ------
    ShapeError
        If kv has not one key for each token.
    ValueError
        If there is not exactly one mixer, experts have no routing, or kv or per_layer is missing.

    Notes
    -----
    Equation eq-layer; [xiong2020] for norms before, [olmo2024] for norms behind, [zhang2019] for
    both norms by root mean squares; [wang2021] for parallel layers.
    """
    require_borrowed("layer", x, kv)
    options = (mask, valid, positions, 0, kv, per_layer)
    return cached_layer(x, parameters, configuration, None, *options)[0]


@equation
def layer_vjp(
    x: np.ndarray,
    parameters: LayerParameters,
    configuration: LayerConfiguration,
    grad: np.ndarray,
    mask: np.ndarray | None = None,
    valid: np.ndarray | None = None,
    positions: np.ndarray | None = None,
    kv: KVCache | None = None,
    per_layer: np.ndarray | None = None,
) -> tuple[np.ndarray, LayerParameters, KVCache | None, np.ndarray | None]:
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
    kv : KVCache, optional
        Keys and values of an earlier layer for the same tokens, where this one borrows them.
    per_layer : (..., T, d_c) array, optional
        The layer's own embedding of each token, where it has parameters.per_layer.

    Returns
    -------
    dx : (..., T, d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : LayerParameters
    dkv : KVCache, optional
        Zeros where keys and values are not borrowed.
    dper_layer : (..., T, d_c) array, optional
        Zeros where the layer has no parameters.per_layer.

    Raises
    ------
    ShapeError, ValueError
        As `layer`.

    Notes
    -----
    Equation eq-layer-vjp; the derivatives of [xiong2020].
    """
    p, c = parameters, configuration
    require_layer("layer_vjp", p, c, per_layer)
    require_borrowed("layer_vjp", x, kv)
    inputs, options = normed(x, p.mixer_norm, c), (mask, valid, positions)
    between = x + mixer_answer(inputs, p, c, None, *options, 0, kv)[0]
    fed = inputs if c.parallel else normed(between, p.feed_forward_norm, c)
    answer = feed(between, fed, p, c)
    added = _added(between, answer, p, c)
    grad = np.broadcast_to(grad, np.broadcast_shapes(grad.shape, added.shape))
    grads: dict[str, Any] = tree_map(np.zeros_like, vars(p))
    grad, dper_layer = _ended_vjp(added, p, c, per_layer, grad, grads)
    dbetween, dfed = _added_vjp(between, fed, answer, p, c, grad, grads)
    if not c.parallel:
        dnormed, grads["feed_forward_norm"] = norm_vjp(between, p.feed_forward_norm, c, dfed)
        dbetween = dbetween + dnormed
    dinputs, dkv = mixer_answer_vjp(inputs, p, c, dbetween, grads, *options, kv)
    dinputs = dinputs + dfed if c.parallel else dinputs
    dx, grads["mixer_norm"] = norm_vjp(x, p.mixer_norm, c, dinputs)
    dkv = tree_map(np.zeros_like, kv) if dkv is None else dkv
    return sum_to(x, dbetween) + sum_to(x, dx), LayerParameters(**grads), dkv, dper_layer


def _added(
    between: np.ndarray, answer: Table, p: LayerParameters, c: LayerConfiguration
) -> np.ndarray:
    """Add to the residual stream what the feed-forward part answers."""
    return between if answer is None else between + normed(answer, p.feed_forward_norm_after, c)


def _added_vjp(
    between: np.ndarray,
    fed: np.ndarray,
    answer: Table,
    p: LayerParameters,
    c: LayerConfiguration,
    grad: np.ndarray,
    grads: dict[str, Any],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradients of `between` and `fed`; keep those of the parameters."""
    dbetween = sum_to(between, grad)
    if answer is None:
        return dbetween, np.zeros_like(fed)
    norm = p.feed_forward_norm_after
    danswer, grads["feed_forward_norm_after"] = norm_vjp(answer, norm, c, grad)
    read, dfed = feed_vjp(between, fed, p, c, danswer, grads)
    return dbetween + read, dfed


def cached_layer(
    x: np.ndarray,
    parameters: LayerParameters,
    configuration: LayerConfiguration,
    cache: LayerCache | None,
    mask: Table,
    valid: Table,
    positions: Table,
    offset: int = 0,
    kv: KVCache | None = None,
    per_layer: Table = None,
) -> tuple[np.ndarray, LayerCache]:
    """Apply a layer to the tokens after those in the cache; also return the new cache.

    `mask`, `valid`, `positions` and `kv` are for all tokens, cached ones first.
    """
    p, c = parameters, configuration
    require_layer("layer", p, c, per_layer)
    inputs = normed(x, p.mixer_norm, c)
    y, cache = mixer_answer(inputs, p, c, cache, mask, valid, positions, offset, kv)
    between = x + y
    fed = inputs if c.parallel else normed(between, p.feed_forward_norm, c)
    return _ended(_added(between, feed(between, fed, p, c), p, c), p, c, per_layer), cache


def lent_keys(
    x: np.ndarray, p: LayerParameters, c: LayerConfiguration, positions: Table
) -> KVCache:
    """Return the keys and values of a layer, for the layers that borrow them."""
    return lent(normed(x, p.mixer_norm, c), mixer_of(p)[1], c, positions)


def lent_keys_vjp(
    x: np.ndarray, p: LayerParameters, c: LayerConfiguration, grad: KVCache, positions: Table
) -> tuple[np.ndarray, LayerParameters]:
    """Return the gradients of x and of the parameters, for `lent_keys`."""
    name, mixer = mixer_of(p)
    dinputs, dmixer = lent_vjp(normed(x, p.mixer_norm, c), mixer, c, grad, positions)
    dx, dnorm = norm_vjp(x, p.mixer_norm, c, dinputs)
    zeros: dict[str, Any] = tree_map(np.zeros_like, vars(p))
    return sum_to(x, dx), LayerParameters(**zeros | {name: dmixer, "mixer_norm": dnorm})


def _ended(
    x: np.ndarray, p: LayerParameters, c: LayerConfiguration, per_layer: Table
) -> np.ndarray:
    """Add the layer's own embedding of each token, gated, and scale; both where there is any."""
    if p.per_layer is not None:
        gate = getattr(activations, c.activation)(x @ p.per_layer.w_gate)
        x = x + normed((gate * per_layer) @ p.per_layer.w_out, p.per_layer_norm_after, c)
    return x if p.scale is None else p.scale * x


def _ended_vjp(
    x: np.ndarray,
    p: LayerParameters,
    c: LayerConfiguration,
    per_layer: Table,
    grad: np.ndarray,
    grads: dict[str, Any],
) -> tuple[np.ndarray, Table]:
    """Return the gradients of x and of `per_layer`, for `_ended`; keep those of its parameters."""
    if p.scale is not None:
        grads["scale"] = sum_to(p.scale, grad * _ended(x, replace(p, scale=None), c, per_layer))
        grad = p.scale * grad
    if p.per_layer is None or per_layer is None:
        return sum_to(x, grad), tree_map(np.zeros_like, per_layer)
    logits = x @ p.per_layer.w_gate
    gate = getattr(activations, c.activation)(logits)
    y = (gate * per_layer) @ p.per_layer.w_out
    grad = np.broadcast_to(grad, np.broadcast_shapes(grad.shape, y.shape))
    dy, grads["per_layer_norm_after"] = norm_vjp(y, p.per_layer_norm_after, c, grad)
    dgated, dw_out, _ = linear_vjp(gate * per_layer, p.per_layer.w_out, None, dy)
    dlogits = getattr(activations, f"{c.activation}_vjp")(logits, dgated * per_layer)
    dx, dw_gate, _ = linear_vjp(x, p.per_layer.w_gate, None, dlogits)
    grads["per_layer"] = PerLayerParameters(dw_gate, dw_out)
    return sum_to(x, grad) + dx, sum_to(per_layer, dgated * gate)
