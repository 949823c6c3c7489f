"""A decoder with several residual streams, from the embeddings to the norm after its layers.

A sublayer reads a weighted sum of the streams, and its answer is added to their mixture.
"""

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from tformer import reference
from tformer.layer_configuration import LayeredConfiguration
from tformer.layers import (
    HyperConnectionParameters,
    LayerCache,
    LayeredParameters,
    LayerParameters,
)
from tformer.models.layered_parts import cast, widened
from tformer.parameters import tree_map
from tformer.reference import feeds, mixers

Options = tuple[Any, Any, Any]
"""Mask, valid and positions, for all tokens."""
Weights = tuple[Any, Any, Any]
"""Of reading, writing and mixing, as `stream_weights` returns them."""


class Kept(NamedTuple):
    """Of a sublayer: the streams before it, their weights, what it read, and what it answered."""

    x: np.ndarray
    weights: Weights
    read: np.ndarray
    y: np.ndarray


def through_streams(
    tokens: Any,
    x: Any,
    p: LayeredParameters,
    c: LayeredConfiguration,
    library: ModuleType,
    options: Options,
    caches: Iterable[LayerCache],
    offset: int = 0,
) -> tuple[Any, list[LayerCache]]:
    """Return the hidden states after all layers for the embeddings x, and the new caches.

    Half precision is computed in float32, and the hidden states are rounded once.
    """
    dtype, (x, p) = x.dtype, widened((x, p))
    x, found = library.hyper_connections.copied(x, _n_streams(p)), list[LayerCache]()
    for one, choices, cache in zip(p.layers, c.layers, caches, strict=True):
        weights, read = _read(x, one.mixer_streams, c, library)
        inputs = library.feeds.normed(read, one.mixer_norm, choices)
        y, cache = library.mixers.mixer_answer(inputs, one, choices, cache, *options, offset)
        found.append(cache)
        x = library.write_streams(x, y, *weights[1:])
        weights, read = _read(x, one.feed_forward_streams, c, library)
        chosen = library.feeds.experts_of(tokens, one)
        y = library.feeds.feed_answer(read, one, choices, chosen)
        x = library.write_streams(x, y, *weights[1:])
    return cast(_read(x, p.streams, c, library)[1], dtype), found


def through_streams_vjp(
    tokens: np.ndarray,
    x: np.ndarray,
    p: LayeredParameters,
    c: LayeredConfiguration,
    options: Options,
    grad: np.ndarray,
) -> tuple[np.ndarray, list[LayerParameters], HyperConnectionParameters]:
    """Return the gradients of the embeddings x, of the layers and of the last reading."""
    last: Any = p.streams
    streams: Any = c.streams
    x, kept = reference.hyper_connections.copied(x, _n_streams(p)), list[tuple[Kept, Kept]]()
    for one, choices in zip(p.layers, c.layers, strict=True):
        weights, read = _read(x, one.mixer_streams, c, reference)
        inputs = feeds.normed(read, one.mixer_norm, choices)
        y, _ = mixers.mixer_answer(inputs, one, choices, None, *options)
        mixed = Kept(x, weights, read, y)
        x = reference.write_streams(x, y, *weights[1:])
        weights, read = _read(x, one.feed_forward_streams, c, reference)
        y = feeds.feed_answer(read, one, choices, feeds.experts_of(tokens, one))
        kept.append((mixed, Kept(x, weights, read, y)))
        x = reference.write_streams(x, y, *weights[1:])
    weights, _ = _read(x, last, c, reference)
    dx, dread = reference.read_streams_vjp(x, weights[0], grad)
    own, dstreams = reference.stream_weights_vjp(x, last, streams, dread, eps=c.eps)
    dx = dx + own
    found = list[LayerParameters]()
    for i in reversed(range(len(kept))):
        dx, dlayer = _layer_vjp(tokens, kept[i], i, p, c, options, dx)
        found.append(dlayer)
    return dx.sum(axis=-2), found[::-1], dstreams


def _layer_vjp(
    tokens: np.ndarray,
    kept: tuple[Kept, Kept],
    i: int,
    p: LayeredParameters,
    c: LayeredConfiguration,
    options: Options,
    grad: np.ndarray,
) -> tuple[np.ndarray, LayerParameters]:
    """Return the gradients of the streams before layer i and of its parameters."""
    one, choices, (mixed, fed) = p.layers[i], c.layers[i], kept
    grads: dict[str, Any] = tree_map(np.zeros_like, vars(one))
    chosen = feeds.experts_of(tokens, one)

    def feed_vjp(dy: np.ndarray) -> np.ndarray:
        return feeds.feed_answer_vjp(fed.read, one, choices, chosen, dy, grads)

    def mixer_vjp(dy: np.ndarray) -> np.ndarray:
        inputs = feeds.normed(mixed.read, one.mixer_norm, choices)
        dinputs, _ = mixers.mixer_answer_vjp(inputs, one, choices, dy, grads, *options)
        dx, grads["mixer_norm"] = feeds.norm_vjp(mixed.read, one.mixer_norm, choices, dinputs)
        return dx

    dx, dfeed = _connected_vjp(fed, one.feed_forward_streams, c, grad, feed_vjp)
    dx, dmixer = _connected_vjp(mixed, one.mixer_streams, c, dx, mixer_vjp)
    grads |= {"feed_forward_streams": dfeed, "mixer_streams": dmixer}
    return dx, LayerParameters(**grads)


def _connected_vjp(
    kept: Kept,
    p: Any,
    c: Any,
    grad: np.ndarray,
    answer_vjp: Callable[[np.ndarray], np.ndarray],
) -> tuple[np.ndarray, HyperConnectionParameters]:
    """Return the gradients of the streams before a sublayer and of how it reads and writes them."""
    x, weights, _, y = kept
    dx, dy, dwrite, dmix = reference.write_streams_vjp(x, y, *weights[1:], grad)
    more, dread = reference.read_streams_vjp(x, weights[0], answer_vjp(dy))
    own, dp = reference.stream_weights_vjp(x, p, c.streams, dread, dwrite, dmix, c.eps)
    return dx + more + own, dp


def _read(x: Any, p: Any, c: Any, library: ModuleType) -> tuple[Any, Any]:
    """Return the weights of streams x, and what a sublayer reads of them."""
    weights = library.stream_weights(x, p, c.streams, c.eps)
    return weights, library.read_streams(x, weights[0])


def _n_streams(p: Any) -> int:
    return int(p.streams.b_read.shape[-1])
