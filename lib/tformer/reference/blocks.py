"""The transformer block: attention and feed-forward on the residual stream (chapters 8, 10)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tformer.configuration import Configuration, require_block
from tformer.parameters import (
    BlockParameters,
    DropoutMasks,
    FeedForwardParameters,
    HeadParameters,
    KVCache,
    NormParameters,
    tree_map,
)
from tformer.reference.attention import sum_to
from tformer.reference.equation import equation
from tformer.reference.feed_forward import (
    dropout,
    dropout_vjp,
    feed_forward,
    feed_forward_vjp,
)
from tformer.reference.groups import grouped_attention, grouped_attention_vjp
from tformer.reference.heads import multi_head_attention, multi_head_attention_vjp
from tformer.reference.norms import layer_norm, layer_norm_vjp, rms_norm, rms_norm_vjp
from tformer.reference.positions import rope, rope_vjp
from tformer.reference.projections import (
    extend_cache,
    merge,
    merge_vjp,
    project,
    project_vjp,
)

__all__ = ["block", "block_vjp"]

Gradients = tuple[np.ndarray, BlockParameters, np.ndarray | None, np.ndarray | None]
Sublayer = tuple[Callable[..., Any], Callable[..., Any]]
NORMS = {"layer": (layer_norm, layer_norm_vjp), "rms": (rms_norm, rms_norm_vjp)}
NORM_FIRST = {"pre": True, "post": False}
"""What each choice of `Configuration.norm` and `Configuration.order` means."""


@equation
def block(
    x: np.ndarray,
    parameters: BlockParameters,
    configuration: Configuration,
    memory: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    memory_mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    sinusoids: np.ndarray | None = None,
    causal: bool = False,
    dropout_masks: DropoutMasks | None = None,
) -> np.ndarray:
    """Apply one transformer block: attention, then feed-forward, each added to the residual stream.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : BlockParameters
    configuration : Configuration
        Its norm, eps, order, activation, pairing and dropout.
    memory : (..., S, d_model) array, optional
        Hidden states that cross-attention attends to; without them there is no cross-attention.
    mask : (..., T or 1, T or 1) boolean array, optional
        True where token t may attend to token s; nothing is masked if omitted.
    memory_mask : (..., T or 1, S or 1) boolean array, optional
        True where token t may attend to position s of the memory; nothing is masked if omitted.
    bias : (..., H or 1, T or 1, T or 1) array, optional
        Added to the scaled scores of each head; a head axis of size 1 is shared by all heads.
    sinusoids : (..., T, d_k) real array, optional
        What `sinusoidal` returns for the positions; queries and keys are rotated by it (RoPE).
    causal : bool
        Whether to apply the causal mask.
    dropout_masks : DropoutMasks, optional
        Dropout keep masks; nothing is dropped if omitted.

    Returns
    -------
    (..., T, d_model) array
        The hidden states after the block.

    Notes
    -----
    Equation eq-block; [vaswani2017], section 3.1, for the order "post"; [xiong2020] for "pre".
    """
    require_block("block", parameters, memory is not None, sinusoids is not None)
    options = (memory, mask, memory_mask, bias, sinusoids, causal, dropout_masks)
    return cached_block(x, parameters, configuration, None, *options)[0]


@equation
def block_vjp(
    x: np.ndarray,
    parameters: BlockParameters,
    configuration: Configuration,
    grad: np.ndarray,
    memory: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    memory_mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    sinusoids: np.ndarray | None = None,
    causal: bool = False,
    dropout_masks: DropoutMasks | None = None,
) -> Gradients:
    """Compute the vector-Jacobian product of `block`: gradients with respect to its arguments.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    parameters : BlockParameters
    configuration : Configuration
        Its norm, eps, order, activation, pairing and dropout.
    grad : (..., T, d_model) array
        Gradient of a loss with respect to what `block` returned.
    memory : (..., S, d_model) array, optional
        Hidden states that cross-attention attends to; without them there is no cross-attention.
    mask : (..., T or 1, T or 1) boolean array, optional
        True where token t may attend to token s; nothing is masked if omitted.
    memory_mask : (..., T or 1, S or 1) boolean array, optional
        True where token t may attend to position s of the memory; nothing is masked if omitted.
    bias : (..., H or 1, T or 1, T or 1) array, optional
        Added to the scaled scores of each head; a head axis of size 1 is shared by all heads.
    sinusoids : (..., T, d_k) real array, optional
        What `sinusoidal` returns for the positions; queries and keys are rotated by it (RoPE).
    causal : bool
        Whether to apply the causal mask.
    dropout_masks : DropoutMasks, optional
        Dropout keep masks; nothing is dropped if omitted.

    Returns
    -------
    dx : (..., T, d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : BlockParameters
        Zeros for cross-attention if there is no memory.
    dmemory : (..., S, d_model) array, optional
        None without a memory.
    dbias : (..., H or 1, T or 1, T or 1) array, optional
        None without a bias.

    Notes
    -----
    Equation eq-block-vjp; the derivatives of [vaswani2017], section 3.1. The hidden states
    between the sublayers are recomputed, not stored.
    """
    require_block("block_vjp", parameters, memory is not None, sinusoids is not None)
    p, c, dropout_masks = parameters, configuration, dropout_masks or DropoutMasks()
    grads = tree_map(np.zeros_like, vars(p)) | {"memory": tree_map(np.zeros_like, memory)}
    steps = [("heads", p.heads_norm, _self_attention(p.heads, c, mask, bias, sinusoids, causal))]
    if memory is not None and p.cross is not None:
        steps.append(("cross", p.cross_norm, _cross_attention(p.cross, memory, memory_mask)))
    if p.feed_forward is not None:
        steps.append(("feed_forward", p.feed_forward_norm, _feed_forward(p.feed_forward, c)))
    hidden = [x]
    for name, norm, sublayer in steps:
        y = sublayer[0](sublayer_input(hidden[-1], norm, c))
        hidden.append(add_residual(hidden[-1], y, norm, c, getattr(dropout_masks, name)))
    grad = np.broadcast_to(grad, np.broadcast_shapes(grad.shape, hidden[-1].shape))
    for (name, norm, sublayer), x_in in zip(reversed(steps), hidden[-2::-1], strict=True):
        grad, dnorm, others = _residual_vjp(
            x_in, norm, sublayer, c, getattr(dropout_masks, name), grad
        )
        grads |= {name: others[0], f"{name}_norm": dnorm}
        grads |= {"memory" if name == "cross" else "bias": others[1]} if others[1:] else {}
    dmemory, dbias = grads.pop("memory"), grads.pop("bias")
    return grad, BlockParameters(**grads), dmemory, dbias


def cached_block(
    x: np.ndarray,
    parameters: BlockParameters,
    configuration: Configuration,
    cache: KVCache | None,
    memory: np.ndarray | None,
    mask: np.ndarray | None,
    memory_mask: np.ndarray | None,
    bias: np.ndarray | None,
    sinusoids: np.ndarray | None,
    causal: bool,
    dropout_masks: DropoutMasks | None,
) -> tuple[np.ndarray, KVCache]:
    """Apply a block to the tokens that follow those in the KV cache; also return the new cache."""
    p, c, dropout_masks = parameters, configuration, dropout_masks or DropoutMasks()
    inputs = sublayer_input(x, p.heads_norm, c)
    y, cache = _attend(inputs, p.heads, c, cache, mask, bias, sinusoids, causal)
    x = add_residual(x, y, p.heads_norm, c, dropout_masks.heads)
    if memory is not None and p.cross is not None:
        inputs = sublayer_input(x, p.cross_norm, c)
        y = multi_head_attention(inputs, p.cross, memory, memory_mask)
        x = add_residual(x, y, p.cross_norm, c, dropout_masks.cross)
    if p.feed_forward is not None:
        inputs = sublayer_input(x, p.feed_forward_norm, c)
        y = feed_forward(inputs, p.feed_forward, c)
        x = add_residual(x, y, p.feed_forward_norm, c, dropout_masks.feed_forward)
    return x, cache


def _attend(
    x: np.ndarray,
    parameters: HeadParameters,
    c: Configuration,
    cache: KVCache | None,
    mask: np.ndarray | None,
    bias: np.ndarray | None,
    sinusoids: np.ndarray | None,
    causal: bool,
) -> tuple[np.ndarray, KVCache]:
    """Attend to the cached tokens and the new ones; also return the extended KV cache."""
    q, k, v = _project_rotated(x, parameters, c, sinusoids)
    offset = 0 if cache is None else cache.length
    cache = extend_cache(cache, k, v)
    y = grouped_attention(q, cache.k, cache.v, mask, bias, None, causal, offset)
    return merge(y, parameters), cache


def _project_rotated(
    x: np.ndarray, parameters: HeadParameters, c: Configuration, sinusoids: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return queries, keys and values; queries and keys are rotated if sinusoids are given."""
    q, k, v = project(x, parameters)
    if sinusoids is None:
        return q, k, v
    sinusoids_H = sinusoids[..., np.newaxis, :, :]
    return rope(q, sinusoids_H, c.pairing), rope(k, sinusoids_H, c.pairing), v


def _self_attention(
    parameters: HeadParameters,
    c: Configuration,
    mask: np.ndarray | None,
    bias: np.ndarray | None,
    sinusoids: np.ndarray | None,
    causal: bool,
) -> Sublayer:
    """Return self-attention as a sublayer: its forward function and its VJP."""

    def forward(x: np.ndarray) -> np.ndarray:
        return _attend(x, parameters, c, None, mask, bias, sinusoids, causal)[0]

    def backward(x: np.ndarray, grad: np.ndarray) -> tuple[Any, ...]:
        q, k, v = _project_rotated(x, parameters, c, sinusoids)
        y = grouped_attention(q, k, v, mask, bias, None, causal)
        dy, dmerge = merge_vjp(y, parameters, grad)
        dq, dk, dv, dbias = grouped_attention_vjp(q, k, v, dy, mask, bias, None, causal)
        if sinusoids is not None:
            sinusoids_H = sinusoids[..., np.newaxis, :, :]
            dq, dk = (rope_vjp(sinusoids_H, grad, c.pairing) for grad in (dq, dk))
        dx, dproject, _ = project_vjp(x, parameters, dq, dk, dv)
        return dx, tree_map(np.add, dmerge, dproject), dbias

    return forward, backward


def _cross_attention(
    parameters: HeadParameters, memory: np.ndarray, mask: np.ndarray | None
) -> Sublayer:
    """Return cross-attention as a sublayer: its forward function and its VJP."""

    def backward(x: np.ndarray, grad: np.ndarray) -> tuple[Any, ...]:
        return multi_head_attention_vjp(x, parameters, grad, memory, mask)[:3]

    return lambda x: multi_head_attention(x, parameters, memory, mask), backward


def _feed_forward(parameters: FeedForwardParameters, c: Configuration) -> Sublayer:
    """Return the feed-forward layer as a sublayer: its forward function and its VJP."""
    return (
        lambda x: feed_forward(x, parameters, c),
        lambda x, grad: feed_forward_vjp(x, parameters, c, grad),
    )


def sublayer_input(x: np.ndarray, norm: NormParameters | None, c: Configuration) -> np.ndarray:
    """Return the input of a sublayer: normalised under pre-norm, x itself under post-norm."""
    return apply_norm(x, norm, c) if NORM_FIRST[c.order] else x


def add_residual(
    x: np.ndarray,
    y: np.ndarray,
    norm: NormParameters | None,
    c: Configuration,
    keep_mask: np.ndarray | None,
) -> np.ndarray:
    """Return x + dropout(y), normalised under post-norm."""
    x = x + (y if keep_mask is None else dropout(y, keep_mask, c))
    return x if NORM_FIRST[c.order] else apply_norm(x, norm, c)


def _residual_vjp(
    x: np.ndarray,
    norm: NormParameters | None,
    sublayer: Sublayer,
    c: Configuration,
    keep_mask: np.ndarray | None,
    grad: np.ndarray,
) -> tuple[np.ndarray, NormParameters | None, tuple[Any, ...]]:
    """Return the gradients of x, of the norm, and the others that the sublayer's VJP returns."""
    forward, backward = sublayer
    inputs, dnorm = sublayer_input(x, norm, c), None
    y = forward(inputs)
    if not NORM_FIRST[c.order]:
        total = x + (y if keep_mask is None else dropout(y, keep_mask, c))
        grad, dnorm = apply_norm_vjp(total, norm, c, grad)
    dy = sum_to(y, grad) if keep_mask is None else dropout_vjp(y, keep_mask, c, grad)
    dinputs, *others = backward(inputs, dy)
    if NORM_FIRST[c.order]:
        dinputs, dnorm = apply_norm_vjp(x, norm, c, dinputs)
    return sum_to(x, grad) + dinputs, dnorm, tuple(others)


def apply_norm(x: np.ndarray, norm: NormParameters | None, c: Configuration) -> np.ndarray:
    """Apply the norm that the configuration names; return x itself if there is none."""
    if norm is None:
        return x
    return NORMS[c.norm][0](x, norm, c.eps)


def apply_norm_vjp(
    x: np.ndarray, norm: NormParameters | None, c: Configuration, grad: np.ndarray
) -> tuple[np.ndarray, NormParameters | None]:
    """Compute the vector-Jacobian product of `apply_norm`: gradients of x and of the norm."""
    if norm is None:
        return sum_to(x, grad), None
    return NORMS[c.norm][1](x, norm, grad, c.eps)
