"""Hyper-connections: a sublayer reads several residual streams and writes to all (chapter 22).

The mixing matrix is doubly stochastic (manifold-constrained hyper-connections), up to the rounds
of Sinkhorn's iteration. So mixing keeps the mean of the streams, and none becomes longer than the
longest was.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tformer.layer_configuration import Streams
from tformer.layers import HyperConnectionParameters
from tformer.parameters import NormParameters
from tformer.reference.activations import sigmoid_vjp
from tformer.reference.attention import sum_to
from tformer.reference.norms import rms_norm, rms_norm_vjp
from tformer.reference.softmax import softmax, softmax_vjp

NO_GAIN = NormParameters()
Table = np.ndarray | None


class Weights(NamedTuple):
    """The weights of each token by which streams are read, written and mixed."""

    read: np.ndarray
    """(..., T, n_streams)"""
    write: Table = None
    """(..., T, n_streams)"""
    mix: Table = None
    """(..., T, n_streams, n_streams), from stream to stream; rows and columns sum to about 1"""


def copied(x: np.ndarray, n_streams: int) -> np.ndarray:
    """Return the streams (..., T, n_streams, d_model) before the first layer, all equal to x."""
    return np.repeat(x[..., np.newaxis, :], n_streams, axis=-2)


def stream_weights(
    x: np.ndarray, p: HyperConnectionParameters, streams: Streams, eps: float
) -> Weights:
    """Return the weights for streams x (..., T, n_streams, d_model); eps is that of their norm."""
    logits = _logits(_normed(x, eps), p)
    read = expit(logits.read) + streams.eps
    if logits.write is None or logits.mix is None:
        return Weights(read)
    return Weights(read, 2 * expit(logits.write), sinkhorn(logits.mix, streams)[-1])


def stream_weights_vjp(
    x: np.ndarray,
    p: HyperConnectionParameters,
    streams: Streams,
    eps: float,
    grads: Weights,
) -> tuple[np.ndarray, HyperConnectionParameters]:
    """Return the gradients of the streams and of the parameters, for `stream_weights`."""
    normed = _normed(x, eps)
    logits = _logits(normed, p)
    dlogits = [sigmoid_vjp(logits.read, grads.read)]
    arrays = [(p.w_read, p.b_read, p.read_scale)]
    if logits.write is not None:
        write, mix = _both(logits)
        dwrite, dmix = _both(grads)
        dlogits.append(sigmoid_vjp(write, 2 * dwrite))
        dlogits.append(sinkhorn_vjp(sinkhorn(mix, streams), streams, dmix))
        arrays += [(p.w_write, p.b_write, p.write_scale), (p.w_mix, p.b_mix, p.mix_scale)]
    dnormed, found = np.zeros_like(normed), list[Table]()
    for (w, b, scale), grad in zip(arrays, dlogits, strict=True):
        behind = range(2, w.ndim)
        dnormed = dnormed + np.tensordot(scale * grad, w, (tuple(range(2 - w.ndim, 0)), behind))
        tokens = range(x.ndim - 2)
        product = np.tensordot(normed, grad, (tokens, tokens))
        found += [scale * product, sum_to(b, grad), sum_to(scale, (product * w).sum(axis=(0, 1)))]
    flat = _flat(x)
    dflat, _ = rms_norm_vjp(flat, NO_GAIN, _flat(dnormed), eps)
    return dflat.reshape(x.shape), HyperConnectionParameters(*found)


def read_streams(x: np.ndarray, read: np.ndarray) -> np.ndarray:
    """Return the weighted sum (..., T, d_model) of streams x, which a sublayer reads."""
    return np.sum(read[..., np.newaxis] * x, axis=-2)


def read_streams_vjp(
    x: np.ndarray, read: np.ndarray, grad: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradients of the streams and of the weights, for `read_streams`."""
    grad = grad[..., np.newaxis, :]
    return read[..., np.newaxis] * grad, np.sum(grad * x, axis=-1)


def write_streams(x: np.ndarray, y: np.ndarray, weights: Weights) -> np.ndarray:
    """Mix streams x (..., T, n_streams, d_model), and add what a sublayer answers, y, to each."""
    write, mix = _both(weights)
    return write[..., np.newaxis] * y[..., np.newaxis, :] + mix.mT @ x


def write_streams_vjp(
    x: np.ndarray, y: np.ndarray, weights: Weights, grad: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the gradients of x, of y, and of the weights of writing and mixing."""
    write, mix = _both(weights)
    dy = np.sum(write[..., np.newaxis] * grad, axis=-2)
    return mix @ grad, dy, np.sum(grad * y[..., np.newaxis, :], axis=-1), x @ grad.mT


def sinkhorn(logits: np.ndarray, streams: Streams) -> list[np.ndarray]:
    """Make matrices nearly doubly stochastic by Sinkhorn's iteration; the last one is the result.

    Rows begin as a softmax. Then columns and rows are divided by their sums in turn, columns first
    and last; the others are kept for the gradient.
    """
    found = [softmax(logits), softmax(logits) + streams.eps]
    for axis in _axes(streams):
        total = found[-1].sum(axis=axis, keepdims=True) + streams.eps
        found.append(found[-1] / total)
    return found


def sinkhorn_vjp(found: list[np.ndarray], streams: Streams, grad: np.ndarray) -> np.ndarray:
    """Return the gradient of the logits, given all that `sinkhorn` returned."""
    for axis, before, after in reversed(
        [*zip(_axes(streams), found[1:-1], found[2:], strict=True)]
    ):
        total = before.sum(axis=axis, keepdims=True) + streams.eps
        grad = (grad - np.sum(grad * after, axis=axis, keepdims=True)) / total
    return softmax_vjp(found[0], grad)


def _axes(streams: Streams) -> list[int]:
    """The axes along which matrices are divided by their sums, in turn."""
    return ([-2, -1] * streams.n_rounds)[:-1]


def _flat(x: np.ndarray) -> np.ndarray:
    """Return all streams of a token as one row."""
    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])


def _normed(x: np.ndarray, eps: float) -> np.ndarray:
    """Norm all streams of a token together."""
    return rms_norm(_flat(x), NO_GAIN, eps).reshape(x.shape)


def _logits(normed: np.ndarray, p: HyperConnectionParameters) -> Weights:
    read = p.read_scale * _applied(normed, p.w_read) + p.b_read
    if p.w_write is None:
        return Weights(read)
    write = p.write_scale * _applied(normed, p.w_write) + p.b_write
    return Weights(read, write, p.mix_scale * _applied(normed, p.w_mix) + p.b_mix)


def _applied(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Multiply all streams of a token by w (n_streams, d_model, ...)."""
    return np.tensordot(x, w, 2)


def _both(weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    if weights.write is None or weights.mix is None:
        raise ValueError("hyper-connections: these streams are only read; w_write is missing")
    return weights.write, weights.mix
