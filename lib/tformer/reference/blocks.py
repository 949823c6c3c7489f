"""The block: attention and a feed-forward layer, each added to what was there (chapters 8, 10)."""

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
"""What the choices of a configuration do; one without an entry fails."""


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
    """Attention, then the feed-forward layer; each adds to the words what it makes of them.

    Parameters
    ----------
    x : (..., T, d_model) array
    parameters : BlockParameters
    configuration : Configuration
        Its norm, eps, order, activation, pairing and dropout.
    memory : (..., S, d_model) array, optional
        What cross-attention looks at; it is left out without a memory.
    mask : (..., T or 1, T or 1) boolean array, optional
        True where word t may look at word s; without it, everywhere.
    memory_mask : (..., T or 1, S or 1) boolean array, optional
        The same for what cross-attention looks at.
    bias : (..., H or 1, T or 1, T or 1) array, optional
        Added to the scaled scores of each head, or of all.
    sinusoids : (..., T, d_k) real array, optional
        Of the positions, by which queries and keys are turned.
    causal : bool
        Whether no word may look at a later one.
    dropout_masks : DropoutMasks, optional
        What dropout keeps; all, if left out.

    Returns
    -------
    (..., T, d_model) array

    Notes
    -----
    Equation eq-block; [vaswani2017], section 3.1, whose order is "post"; "pre" as in [xiong2020].
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
    """Vector-Jacobian product of `block`: the gradients passed back to its arguments.

    Parameters
    ----------
    x : (..., T, d_model) array
    parameters : BlockParameters
    configuration : Configuration
        Its norm, eps, order, activation, pairing and dropout.
    grad : (..., T, d_model) array
        Gradient of a loss with respect to what `block` returned.
    memory : (..., S, d_model) array, optional
        What cross-attention looks at; it is left out without a memory.
    mask : (..., T or 1, T or 1) boolean array, optional
        True where word t may look at word s; without it, everywhere.
    memory_mask : (..., T or 1, S or 1) boolean array, optional
        The same for what cross-attention looks at.
    bias : (..., H or 1, T or 1, T or 1) array, optional
        Added to the scaled scores of each head, or of all.
    sinusoids : (..., T, d_k) real array, optional
        Of the positions, by which queries and keys are turned.
    causal : bool
        Whether no word may look at a later one.
    dropout_masks : DropoutMasks, optional
        What dropout keeps; all, if left out.

    Returns
    -------
    dx : (..., T, d_model) array
        Each gradient has the shape of its argument: axes along which that was repeated are summed.
    dparameters : BlockParameters
        Zeros for cross-attention that was left out.
    dmemory : (..., S, d_model) array, optional
        None without a memory.
    dbias : (..., H or 1, T or 1, T or 1) array, optional
        None without a bias.

    Notes
    -----
    Equation eq-block-vjp; the derivatives of [vaswani2017], section 3.1. The words between the
    sublayers are computed again, not kept.
    """
    require_block("block_vjp", parameters, memory is not None, sinusoids is not None)
    p, c, dropout_masks = parameters, configuration, dropout_masks or DropoutMasks()
    found = tree_map(np.zeros_like, vars(p)) | {"memory": tree_map(np.zeros_like, memory)}
    steps = [("heads", p.heads_norm, _attention(p.heads, c, mask, bias, sinusoids, causal))]
    if memory is not None and p.cross is not None:
        steps.append(("cross", p.cross_norm, _cross(p.cross, memory, memory_mask)))
    if p.feed_forward is not None:
        steps.append(("feed_forward", p.feed_forward_norm, _feed(p.feed_forward, c)))
    words = [x]
    for name, norm, sublayer in steps:
        y = sublayer[0](_before(words[-1], norm, c))
        words.append(_after(words[-1], y, norm, c, getattr(dropout_masks, name)))
    grad = np.broadcast_to(grad, np.broadcast_shapes(grad.shape, words[-1].shape))
    for (name, norm, sublayer), before in zip(reversed(steps), words[-2::-1], strict=True):
        grad, dnorm, others = _added_vjp(
            before, norm, sublayer, c, getattr(dropout_masks, name), grad
        )
        found |= {name: others[0], f"{name}_norm": dnorm}
        found |= {"memory" if name == "cross" else "bias": others[1]} if others[1:] else {}
    dmemory, dbias = found.pop("memory"), found.pop("bias")
    return grad, BlockParameters(**found), dmemory, dbias


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
    """A block of words that stand after those in a cache, and the cache that has both."""
    p, c, dropout_masks = parameters, configuration, dropout_masks or DropoutMasks()
    given, seen = _before(x, p.heads_norm, c), (mask, bias, sinusoids)
    y, cache = _attend(given, p.heads, c, cache, *seen, causal)
    x = _after(x, y, p.heads_norm, c, dropout_masks.heads)
    if memory is not None and p.cross is not None:
        given = _before(x, p.cross_norm, c)
        y = multi_head_attention(given, p.cross, memory, memory_mask)
        x = _after(x, y, p.cross_norm, c, dropout_masks.cross)
    if p.feed_forward is not None:
        given = _before(x, p.feed_forward_norm, c)
        y = feed_forward(given, p.feed_forward, c)
        x = _after(x, y, p.feed_forward_norm, c, dropout_masks.feed_forward)
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
    """Attention of words to those in the cache and to each other."""
    q, k, v = _turned(x, parameters, c, sinusoids)
    offset = 0 if cache is None else cache.length
    cache = extend_cache(cache, k, v)
    y = grouped_attention(q, cache.k, cache.v, mask, bias, None, causal, offset)
    return merge(y, parameters), cache


def _turned(
    x: np.ndarray, parameters: HeadParameters, c: Configuration, sinusoids: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries, keys and values; the first two turned by their positions, if these are given."""
    q, k, v = project(x, parameters)
    if sinusoids is None:
        return q, k, v
    turns_H = sinusoids[..., np.newaxis, :, :]
    return rope(q, turns_H, c.pairing), rope(k, turns_H, c.pairing), v


def _attention(
    parameters: HeadParameters,
    c: Configuration,
    mask: np.ndarray | None,
    bias: np.ndarray | None,
    sinusoids: np.ndarray | None,
    causal: bool,
) -> Sublayer:
    """Attention of the words among themselves as a sublayer, and its gradients."""

    def forward(x: np.ndarray) -> np.ndarray:
        return _attend(x, parameters, c, None, mask, bias, sinusoids, causal)[0]

    def backward(x: np.ndarray, grad: np.ndarray) -> tuple[Any, ...]:
        q, k, v = _turned(x, parameters, c, sinusoids)
        y = grouped_attention(q, k, v, mask, bias, None, causal)
        dy, of_outputs = merge_vjp(y, parameters, grad)
        dq, dk, dv, dbias = grouped_attention_vjp(q, k, v, dy, mask, bias, None, causal)
        if sinusoids is not None:
            turns_H = sinusoids[..., np.newaxis, :, :]
            dq, dk = (rope_vjp(turns_H, rows, c.pairing) for rows in (dq, dk))
        dx, of_inputs, _ = project_vjp(x, parameters, dq, dk, dv)
        return dx, tree_map(np.add, of_outputs, of_inputs), dbias

    return forward, backward


def _cross(parameters: HeadParameters, memory: np.ndarray, mask: np.ndarray | None) -> Sublayer:
    """Cross-attention as a sublayer, and its gradients."""

    def backward(x: np.ndarray, grad: np.ndarray) -> tuple[Any, ...]:
        return multi_head_attention_vjp(x, parameters, grad, memory, mask)[:3]

    return lambda x: multi_head_attention(x, parameters, memory, mask), backward


def _feed(parameters: FeedForwardParameters, c: Configuration) -> Sublayer:
    """The feed-forward layer as a sublayer, and its gradients."""
    return (
        lambda x: feed_forward(x, parameters, c),
        lambda x, grad: feed_forward_vjp(x, parameters, c, grad),
    )


def _before(x: np.ndarray, norm: NormParameters | None, c: Configuration) -> np.ndarray:
    """What a sublayer is given of the words: their norm, if the norms stand before."""
    return apply_norm(x, norm, c) if NORM_FIRST[c.order] else x


def _after(
    x: np.ndarray,
    y: np.ndarray,
    norm: NormParameters | None,
    c: Configuration,
    keep_mask: np.ndarray | None,
) -> np.ndarray:
    """The words and what a sublayer gave; of the sum the norm, if the norms stand after it."""
    x = x + (y if keep_mask is None else dropout(y, keep_mask, c))
    return x if NORM_FIRST[c.order] else apply_norm(x, norm, c)


def _added_vjp(
    x: np.ndarray,
    norm: NormParameters | None,
    sublayer: Sublayer,
    c: Configuration,
    keep_mask: np.ndarray | None,
    grad: np.ndarray,
) -> tuple[np.ndarray, NormParameters | None, tuple[Any, ...]]:
    """Gradients of words and norm, and those that the sublayer gives besides."""
    forward, backward = sublayer
    before, dnorm = _before(x, norm, c), None
    y = forward(before)
    if not NORM_FIRST[c.order]:
        added = x + (y if keep_mask is None else dropout(y, keep_mask, c))
        grad, dnorm = apply_norm_vjp(added, norm, c, grad)
    dy = sum_to(y, grad) if keep_mask is None else dropout_vjp(y, keep_mask, c, grad)
    dbefore, *others = backward(before, dy)
    if NORM_FIRST[c.order]:
        dbefore, dnorm = apply_norm_vjp(x, norm, c, dbefore)
    return sum_to(x, grad) + dbefore, dnorm, tuple(others)


def apply_norm(x: np.ndarray, norm: NormParameters | None, c: Configuration) -> np.ndarray:
    """The rows through the norm of a configuration, if there is one."""
    if norm is None:
        return x
    return NORMS[c.norm][0](x, norm, c.eps)


def apply_norm_vjp(
    x: np.ndarray, norm: NormParameters | None, c: Configuration, grad: np.ndarray
) -> tuple[np.ndarray, NormParameters | None]:
    """Gradients of rows and norm from that of `apply_norm`."""
    if norm is None:
        return sum_to(x, grad), None
    return NORMS[c.norm][1](x, norm, grad, c.eps)
